"""Distances from 2-hop labels: a label lists hubs and the hops to them, and some common hub lies on a shortest path.

Arguments that recur; `cuihop.snapshot.distance_index` explains them:

- ``rank_bits`` int32 (concepts,): twice the rank of the concept with the label, plus 1 where that is the only
  neighbour of the concept and not the concept itself.
- ``records`` uint16 (ranks, `RECORD`): what a distance reads first of each rank, in one line of the cache. Hops to
  the roots of its component, 4 bits each, as `MIDDLE` plus hops to the root less hops to the component's first rank,
  or `NO_ROOT`; then, from `COMPONENT`, the first rank of its component (2 words, low bits first); `BASE`, the hops to
  that; `BEGIN`, where its label begins (3 words); and from `ENDS` how far the hubs of each level reach from there,
  with a last number for the end of the label.
- ``words`` uint16: the labels. A level lists the hubs at as many hops, ascending. A hub from `NARROW` on or at
  `LEVELS` hops or more stands behind all levels, in two words: its low bits; its high bits, and the hops in 8 bits.
  Such pairs ascend by hub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.ir as llvm
import numba.core.cgutils
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from cuihop._kernels.bfs import NO_PATH, UNKNOWN
from cuihop._kernels.jit import compiled, prefetch, signed
from cuihop._kernels.lookup import NOWHERE, two_positions
from cuihop.resources.arrays import Int32, UInt8, UInt16, UInt64

cgutils: Any = numba.core.cgutils

RECORD, COMPONENT, BASE, BEGIN, ENDS = 32, 16, 18, 19, 22
LEVELS = RECORD - ENDS - 1
NARROW = 1 << 16
ROOTS = 4 * COMPONENT
"""Most roots of a component."""

MIDDLE, NO_ROOT = 7, 15

LINE = 32
"""Words in a line of the cache; a line follows the last label."""

UNREACHED = 255
"""Value in rank_bits of hops where there is no path."""

_ABSENT = 255  # above any hops to a hub, and any distance
_FAR = 1 << 20
_SOON, _LATER, _LATEST = 6, 16, 24  # pairs ahead: labels, their records, their ranks
_SCANNED = 1 << 16  # comparisons from which on a bitmap is faster


def least_sum(records: UInt16, a: int, b: int) -> int:
    """The least sum of two ranks' numbers of one root. For ranks of one component."""
    low, high = (np.asarray(records[rank])[:COMPONENT].view(np.uint8) for rank in (a, b))
    return int(min(((low & 15) + (high & 15)).min(), ((low >> 4) + (high >> 4)).min()))


def any_common(words: UInt16, i: int, i_end: int, j: int, j_end: int) -> bool:
    """Compare all of ``words[i:i_end]`` with all of ``words[j:j_end]``; true if two are equal.

    Vectors are read, so `LINE` words must follow.
    """
    return bool(np.isin(words[i:i_end], words[j:j_end]).any())


def _splat(builder: Any, value: Any, count: int) -> Any:
    vector = llvm.VectorType(value.type, count)
    first = builder.insert_element(llvm.Constant(vector, llvm.Undefined), value, llvm.Constant(llvm.IntType(32), 0))
    return builder.shuffle_vector(first, first, llvm.Constant(llvm.VectorType(llvm.IntType(32), count), None))


def _constant(kind: Any, values: Any) -> Any:
    return llvm.Constant(kind, [llvm.Constant(kind.element, value) for value in values])


def _least(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", one, other), one, other)


def _least_of(builder: Any, vector: Any) -> Any:
    kind = vector.type
    name = f"llvm.vector.reduce.umin.v{kind.count}i{kind.element.width}"
    reduce = cgutils.get_or_insert_function(builder.module, llvm.FunctionType(kind.element, [kind]), name)
    return builder.call(reduce, [vector])


def _vector(builder: Any, data: Any, index: Any, kind: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(data, [index]), kind.as_pointer()), align=2)


def _least_sum_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    kind = llvm.VectorType(llvm.IntType(8), 2 * COMPONENT)
    four, low = _constant(kind, [4] * kind.count), _constant(kind, [15] * kind.count)
    one, other = (
        _vector(builder, data, builder.mul(rank, llvm.Constant(rank.type, RECORD)), kind) for rank in arguments[1:]
    )
    lows = builder.add(builder.and_(one, low), builder.and_(other, low))
    highs = builder.add(builder.lshr(one, four), builder.lshr(other, four))
    return builder.zext(_least_of(builder, _least(builder, lows, highs)), llvm.IntType(64))


def _any_common_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    i, i_end, j, j_end = arguments[1:]
    kind = llvm.VectorType(llvm.IntType(16), LINE)
    ones = _constant(kind, [0xFFFF] * LINE)
    differences, of_line = cgutils.alloca_once(builder, kind), cgutils.alloca_once(builder, kind)
    builder.store(ones, differences)  # 0 where two are equal
    step = llvm.Constant(j.type, LINE)
    with cgutils.for_range_slice(builder, j, j_end, step) as (position, _):
        builder.store(ones, of_line)
        line = _vector(builder, data, position, kind)
        with cgutils.for_range_slice(builder, i, i_end, llvm.Constant(i.type, 1)) as (single, _):
            word = _splat(builder, builder.load(builder.gep(data, [single])), LINE)
            builder.store(_least(builder, builder.load(of_line), builder.xor(line, word)), of_line)
        left = builder.sub(j_end, position)
        left = builder.select(builder.icmp_signed("<", left, step), left, step)
        lanes = _splat(builder, builder.trunc(left, kind.element), LINE)
        beyond = builder.sext(builder.icmp_unsigned(">=", _constant(kind, range(LINE)), lanes), kind)
        line = builder.or_(builder.load(of_line), beyond)
        builder.store(_least(builder, builder.load(differences), line), differences)
    least = _least_of(builder, builder.load(differences))
    return builder.icmp_unsigned("==", least, llvm.Constant(least.type, 0))


def _typed_sum(context: Any, records: Any, a: Any, b: Any) -> Any:
    return types.int64(records, types.int64, types.int64), _least_sum_code


def _typed_common(context: Any, words: Any, i: Any, i_end: Any, j: Any, j_end: Any) -> Any:
    return types.boolean(words, types.int64, types.int64, types.int64, types.int64), _any_common_code


_sum: Any = intrinsic(_typed_sum)
_common: Any = intrinsic(_typed_common)


def _compiled_sum(records: Any, a: Any, b: Any) -> Callable[..., int]:
    def call(records: Any, a: Any, b: Any) -> Any:  # numba compares the two signatures, annotations and all
        return _sum(records, a, b)

    return call


def _compiled_common(words: Any, i: Any, i_end: Any, j: Any, j_end: Any) -> Callable[..., bool]:
    def call(words: Any, i: Any, i_end: Any, j: Any, j_end: Any) -> Any:
        return _common(words, i, i_end, j, j_end)

    return call


overload(least_sum, inline="always")(_compiled_sum)
overload(any_common, inline="always")(_compiled_common)


@compiled
def _begin(records: UInt16, rank: int) -> int:
    begin: int = signed(records[rank, BEGIN]) | signed(records[rank, BEGIN + 1]) << 16
    begin |= signed(records[rank, BEGIN + 2]) << 32
    return begin


@compiled
def _through_roots(records: UInt16, a: int, b: int) -> int:
    """The least hops between two ranks through a root; `NO_PATH` if no path can be, `_FAR` if a root is on none."""
    if records[a, COMPONENT] != records[b, COMPONENT] or records[a, COMPONENT + 1] != records[b, COMPONENT + 1]:
        return NO_PATH
    least = least_sum(records, a, b)
    hops: int = signed(records[a, BASE]) + signed(records[b, BASE])
    return hops + least - 2 * MIDDLE if least < 2 * NO_ROOT else _FAR


@compiled
def _meet(words: UInt16, i: int, i_end: int, j: int, j_end: int) -> bool:
    if (i_end - i) * (j_end - j) < _SCANNED:
        return any_common(words, i, i_end, j, j_end)
    held = np.zeros(NARROW, dtype=np.bool_)
    for position in range(i, i_end):
        held[words[position]] = True
    common = False
    for position in range(j, j_end):
        common |= held[words[position]]
    return common


@compiled
def _through_levels(records: UInt16, words: UInt16, a: int, b: int, levels: int, least: int, best: int) -> int:
    """The least hops through a hub in few words, at fewer than ``levels`` hops of a and ``least`` or more of b."""
    first, begin = _begin(records, a), _begin(records, b)
    skipped = begin + (signed(records[b, ENDS + least - 1]) if least > 0 else 0)
    ends = first
    for level in range(levels):
        last = ends + signed(records[a, ENDS + level])
        other = min(best - 1 - level, LEVELS - 1)
        while other >= least and _meet(words, first, last, skipped, begin + signed(records[b, ENDS + other])):
            best = level + other
            other -= 1
        first = last
    return best


@compiled
def _hub(words: UInt16, i: int) -> int:
    """The hub of two words."""
    hub: int = signed(words[i]) | signed(words[i + 1] >> 8) << 16
    return hub


@compiled
def _through_pairs(records: UInt16, words: UInt16, a: int, b: int, best: int) -> int:
    """The least hops through a hub that is in two words in one label or both; ``best`` where that is less."""
    i = _begin(records, a)
    j = _begin(records, b)
    i_end = i + signed(records[a, ENDS + LEVELS])
    j_end = j + signed(records[b, ENDS + LEVELS])
    i += signed(records[a, ENDS + LEVELS - 1])
    j += signed(records[b, ENDS + LEVELS - 1])
    if best > LEVELS:  # a hub at many hops of one may be at few of the other
        best = _through_deep(records, words, i, i_end, b, best)
        best = _through_deep(records, words, j, j_end, a, best)
    while i < i_end and j < j_end:
        one = _hub(words, i)
        other = _hub(words, j)
        if one == other:
            best = min(best, signed(words[i + 1] & 255) + signed(words[j + 1] & 255))
        i += 2 * int(one <= other)
        j += 2 * int(other <= one)
    return best


@compiled
def _through_deep(records: UInt16, words: UInt16, i: int, i_end: int, b: int, best: int) -> int:
    """The least hops through a hub that is at many hops of one, in ``words[i:i_end]``, and at few of b."""
    begin = _begin(records, b)
    while i < i_end and _hub(words, i) < NARROW:
        hops = signed(words[i + 1] & 255)
        level = min(best - 1 - hops, LEVELS - 1)
        while level >= 0 and any_common(words, i, i + 1, begin, begin + signed(records[b, ENDS + level])):
            best = hops + level
            level -= 1
        i += 2
    return best


@compiled
def meeting(rank_bits: Int32, records: UInt16, words: UInt16, start: int, end: int) -> int:
    """The distance from start to end, or `NO_PATH`."""
    if start == end:
        return 0
    lifted = int(rank_bits[start] & 1) + int(rank_bits[end] & 1)
    a = rank_bits[start] >> 1
    b = rank_bits[end] >> 1
    if a == b:
        return lifted
    best = _through_roots(records, a, b)
    if best == NO_PATH:
        return NO_PATH
    # Of a shorter path over a hub, one part is at most half: few hubs are that near, and are compared with many.
    near = min((best + 1) >> 1, LEVELS)
    best = _through_levels(records, words, a, b, near, 0, best)
    best = _through_levels(records, words, b, a, min(max(best - near, 0), LEVELS), near, best)
    best = _through_pairs(records, words, a, b, best)
    return lifted + best if best < _FAR else NO_PATH


@compiled
def _fetch_label(records: UInt16, words: UInt16, rank: int) -> None:
    begin = _begin(records, rank)
    for word in range(begin, begin + signed(records[rank, ENDS + LEVELS]), LINE):
        prefetch(words, word)


@compiled
def distances(
    rank_bits: Int32, records: UInt16, words: UInt16, starts: Int32, ends: Int32, bound: int, hops: Int32
) -> None:
    """Write the distance of each (start, end) into ``hops``; `NO_PATH` where there is none within ``bound``.

    Tables of a million concepts exceed every cache, so the data of the next pairs is fetched while a pair is read.
    """
    last = starts.size - 1
    for pair in range(starts.size):
        ahead = min(pair + _LATEST, last)
        prefetch(rank_bits, starts[ahead])
        prefetch(rank_bits, ends[ahead])
        ahead = min(pair + _LATER, last)
        prefetch(records, (rank_bits[starts[ahead]] >> 1) * RECORD)
        prefetch(records, (rank_bits[ends[ahead]] >> 1) * RECORD)
        ahead = min(pair + _SOON, last)
        _fetch_label(records, words, rank_bits[starts[ahead]] >> 1)
        _fetch_label(records, words, rank_bits[ends[ahead]] >> 1)
        distance = meeting(rank_bits, records, words, starts[pair], ends[pair])
        hops[pair] = distance if distance <= bound else NO_PATH


@compiled
def distance_of_keys(numbers: UInt64, tables: tuple[Int32, UInt16, UInt16], bound: int, start: int, end: int) -> int:
    """The distance of a pair of keys of an identifier table; `UNKNOWN` if the table lacks one.

    ``numbers`` as for `cuihop._kernels.lookup.two_positions`.
    """
    a, b = two_positions(numbers, start, end)
    if min(a, b) == NOWHERE:
        return UNKNOWN
    rank_bits, records, words = tables
    prefetch(rank_bits, a)
    prefetch(rank_bits, b)
    prefetch(records, (rank_bits[a] >> 1) * RECORD)
    prefetch(records, (rank_bits[b] >> 1) * RECORD)
    _fetch_label(records, words, rank_bits[a] >> 1)
    _fetch_label(records, words, rank_bits[b] >> 1)
    distance = meeting(rank_bits, records, words, a, b)
    return distance if distance <= bound else NO_PATH


@compiled
def hops_to_all(tables: tuple[Int32, UInt16, UInt16], starts: Int32, ends: Int32, bound: int, hops: UInt8) -> None:
    """Distances from each of some concepts to all of others; each start's label is read once for all ends.

    ``hops`` uint8 (starts, ends) receives them, `UNREACHED` where there is none within ``bound`` (below `UNREACHED`).
    """
    rank_bits, records, words = tables
    to_hub = np.full(NARROW, _ABSENT, dtype=np.uint8)
    for row in range(starts.size):
        start = starts[row]
        a = rank_bits[start] >> 1
        begin = _begin(records, a)
        word = begin
        for level in range(LEVELS):
            for i in range(word, begin + signed(records[a, ENDS + level])):
                to_hub[words[i]] = level
            word = begin + signed(records[a, ENDS + level])
        for column in range(ends.size):
            end = ends[column]
            b = rank_bits[end] >> 1
            best = 0 if a == b else _through_roots(records, a, b)
            if best == NO_PATH:
                best = _FAR
            elif best > 0:
                j = from_b = _begin(records, b)
                for level in range(min(LEVELS, best)):
                    least = _ABSENT
                    j_end = from_b + signed(records[b, ENDS + level])
                    while j < j_end:
                        least = min(least, signed(to_hub[words[j]]))
                        j += 1
                    if least < _ABSENT:
                        best = min(best, least + level)
                best = _through_pairs(records, words, a, b, best)
            best += int(rank_bits[start] & 1) + int(rank_bits[end] & 1)
            if start == end:
                best = 0
            hops[row, column] = best if best <= bound else UNREACHED
        for i in range(begin, word):
            to_hub[words[i]] = _ABSENT
