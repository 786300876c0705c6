"""All distances among a list of concepts, computed on all cores: the arrays of a `cuihop.graph.DistancePack`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from cuihop.resources.arrays import Int32, Int64, UInt8, bounds_of
from cuihop.resources.cores import in_threads
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.distance_index import Tables
from cuihop.snapshot.scratch import Scratch, ScratchPool

NEAR = 3
"""Bound up to which each centre is searched by itself; beyond it, searches have most of the graph in common."""

TOGETHER = 64
"""Fewest centres that are searched together beyond `NEAR` hops."""

_FEW = 1024
"""Nodes from which on a search up to `NEAR` hops is faster than the index, which reads each pair."""

_CENTRES_A_CALL = 256
_FIRST_CENTRES = 4  # in the first compiled call: one search of a large graph takes a tenth of a second
_SHORT_SECONDS, _LONG_SECONDS = 0.03, 0.25  # after a call as short, four times as many centres; as long, a quarter
_DISTANCES_A_CALL = 1 << 16  # read from the index
_BEYOND = 255  # stands for no distance within the bound, where centres are answered together


def united(packs: Sequence[tuple[Int64, Int32, UInt8]]) -> tuple[Int64, Int32, UInt8]:
    """The pack of the smallest distances of several packs among the same nodes, each as from `packed`."""
    if len(packs) == 1:
        return packs[0]
    nodes = len(packs[0][0]) - 1
    rows = [np.repeat(np.arange(nodes, dtype=np.int64), np.diff(indptr)) for indptr, _, _ in packs]
    positions = np.concatenate([row * nodes + indices for row, (_, indices, _) in zip(rows, packs, strict=True)])
    hops = np.concatenate([hops for _, _, hops in packs])
    order = np.lexsort((hops, positions))
    positions = positions[order]
    first = np.diff(positions, prepend=-1) != 0
    starts, columns = np.divmod(positions[first], nodes)
    return bounds_of(np.bincount(starts, minlength=nodes)), columns.astype(np.int32), hops[order][first]


def packed(
    forwards: tuple[Int32, Int32],
    backwards: tuple[Int32, Int32],
    tables: Tables | None,
    positions: Int32,
    bound: int,
    scratch: ScratchPool[Scratch],
) -> tuple[Int64, Int32, UInt8]:
    """Distances up to a bound among some nodes.

    Args:
        forwards, backwards: the graph in compressed rows, for hops from and to the row's node.
        tables: of the distance index; ``None`` to search.
        positions: the nodes, distinct.
        bound: 0 to 255.

    Returns:
        ``indptr`` int64 (positions + 1,), ``indices`` int32 and ``hops`` uint8, as in `cuihop.graph.DistancePack`.
    """
    indptr, indices = forwards
    firsts = range(0, len(positions), _CENTRES_A_CALL)
    results: dict[int, list[tuple[Int64, Int32, UInt8]]] = {}
    memory = threading.local()
    at_a_time = _FIRST_CENTRES

    def near(local: Int32, first: int) -> None:
        from cuihop._kernels import bfs

        nonlocal at_a_time
        position, capacity = first, max(1 << 16, 2 * len(positions))
        last = min(first + _CENTRES_A_CALL, len(positions))
        blocks = []
        while position < last:
            check_interruption()
            centres = positions[position : min(position + at_a_time, last)]
            started = time.monotonic()
            columns, hops = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.uint8)
            ends = np.empty(len(centres), dtype=np.int64)
            with scratch.leased() as arrays:
                count = bfs.pack(
                    indptr, indices, centres, local, bound, arrays.mark, arrays.queue, arrays.levels,
                    arrays.stamps(len(centres)), columns, hops, ends,
                )  # fmt: skip
            filled = int(ends[count - 1])
            blocks.append((np.diff(ends[:count], prepend=0), columns[:filled].copy(), hops[:filled].copy()))
            position += count
            spent = time.monotonic() - started
            if spent < _SHORT_SECONDS:
                at_a_time = min(4 * len(centres), _CENTRES_A_CALL)
            elif spent > _LONG_SECONDS:
                at_a_time = max(1, len(centres) // 4)
        results[first] = blocks

    def far(local: Int32, first: int) -> None:
        from cuihop._kernels import many_sources

        if not hasattr(memory, "words"):
            memory.words = [np.empty((len(indptr) - 1, many_sources.WORDS), dtype=np.uint64) for _ in range(3)]
        sources = positions[first : first + _CENTRES_A_CALL]
        hops = np.empty((len(sources), len(positions)), dtype=np.uint8)
        seen, here, there = memory.words
        everyone = np.empty(many_sources.WORDS, dtype=np.uint64)
        many_sources.begin(sources, local, seen, here, everyone, hops)
        missing, reached, level = hops.size - len(sources), len(sources), 0  # sources are at distance 0 from themselves
        while level < bound and reached and missing:
            check_interruption()
            level += 1
            reached, new = many_sources.one_hop(
                *forwards, *backwards, local, level, reached, everyone, seen, here, there, hops
            )
            missing -= new
        store(first, hops)

    def read(tables: Tables, first: int) -> None:
        from cuihop._kernels import labels

        sources = positions[first : first + _CENTRES_A_CALL]
        hops = np.empty((len(sources), len(positions)), dtype=np.uint8)
        step = max(1, _DISTANCES_A_CALL // len(positions))
        for row in range(0, len(sources), step):
            check_interruption()
            rows = slice(row, row + step)
            labels.hops_to_all(tables, sources[rows], positions, min(bound, _BEYOND - 1), hops[rows])
        store(first, hops)

    def store(first: int, hops: UInt8) -> None:
        within = hops != _BEYOND
        rows, columns = np.nonzero(within)
        counts = np.bincount(rows, minlength=len(hops)).astype(np.int64)
        results[first] = [(counts, columns.astype(np.int32), hops[within])]

    together = bound > NEAR and bound < _BEYOND and len(positions) >= TOGETHER
    if tables is not None and (bound > NEAR or len(positions) < _FEW):
        in_threads(partial(read, tables), firsts)
    else:
        local = np.full(len(indptr) - 1, -1, dtype=np.int32)
        local[positions] = np.arange(len(positions), dtype=np.int32)
        in_threads(partial(far if together else near, local), firsts)
    blocks = [columns_of_blocks for first in firsts for columns_of_blocks in results[first]]
    if not blocks:
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    counts, columns, hops = (np.concatenate(columns_of_blocks) for columns_of_blocks in zip(*blocks, strict=True))
    return bounds_of(counts), columns, hops
