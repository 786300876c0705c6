"""Distances from 2-hop labels: a label lists hubs and the hops to them, and some common hub lies on a shortest path.

Arguments that recur; `cuihop.snapshot.distance_index` explains them:

- ``rank_bits`` int32 (concepts,): twice the rank of the concept with the label, plus 1 where that is the only
  neighbour of the concept and not the concept itself.
- ``indptr`` int64 (ranks + 1,), ``entries`` uint32: the label of each rank, ``hub << 8 | hops``, ascending, with
  `END` behind the last.
- ``root_hops`` uint8 (ranks, roots): hops to each root; `UNREACHED` where there is no path.
- ``root_sets`` uint64 (ranks, roots, 2): the root's selected neighbours that are nearer than the root, by one hop,
  and those as far as the root.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.bfs import NO_PATH, UNKNOWN
from cuihop._kernels.jit import compiled, prefetch, signed
from cuihop._kernels.lookup import NOWHERE, two_positions
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32, UInt64

END = np.uint32(2**32 - 1)
"""End of a label."""

UNREACHED = 255
"""Value in place of hops where there is no path."""

_ABSENT = 255  # above any hops to a hub, and any distance
_FAR = 1 << 20
_LINE = 16  # entries in a cache line
_SOON, _LATER, _LATEST = 6, 16, 24  # pairs ahead: labels, their offsets, their ranks


@compiled
def _through_roots(root_hops: UInt8, root_sets: UInt64, a: int, b: int, best: int) -> int:
    """The least hops between two ranks through a root or a selected neighbour of one; ``best`` where that is less."""
    for root in range(root_hops.shape[1]):
        from_a = signed(root_hops[a, root])
        from_b = signed(root_hops[b, root])
        if max(from_a, from_b) == UNREACHED or from_a + from_b - 2 >= best:
            continue
        hops = from_a + from_b
        if root_sets[a, root, 0] & root_sets[b, root, 0]:
            hops -= 2
        elif (root_sets[a, root, 0] & root_sets[b, root, 1]) | (root_sets[a, root, 1] & root_sets[b, root, 0]):
            hops -= 1
        best = min(best, hops)
    return best


@compiled
def meeting(
    rank_bits: Int32, indptr: Int64, entries: UInt32, root_hops: UInt8, root_sets: UInt64, start: int, end: int
) -> int:
    """The distance from start to end, or `NO_PATH`."""
    if start == end:
        return 0
    lifted = int(rank_bits[start] & 1) + int(rank_bits[end] & 1)
    a = rank_bits[start] >> 1
    b = rank_bits[end] >> 1
    if a == b:
        return lifted
    best = _FAR
    i = indptr[a]
    j = indptr[b]
    x = entries[i]
    y = entries[j]
    while True:
        if (x ^ y) < 256:  # the same hub
            if x == END:
                break
            best = min(best, signed(x & np.uint32(255)) + signed(y & np.uint32(255)))
            i += 1
            j += 1
            x = entries[i]
            y = entries[j]
        elif x < y:
            i += 1
            x = entries[i]
        else:
            j += 1
            y = entries[j]
    best = _through_roots(root_hops, root_sets, a, b, best)
    return lifted + best if best < _FAR else NO_PATH


@compiled
def _fetch_label(indptr: Int64, entries: UInt32, rank: int) -> None:
    for entry in range(indptr[rank], indptr[rank + 1], _LINE):
        prefetch(entries, entry)


@compiled
def _fetch_row(indptr: Int64, root_hops: UInt8, root_sets: UInt64, rank: int) -> None:
    roots = root_hops.shape[1]
    prefetch(indptr, rank)
    prefetch(root_hops, rank * roots)
    for word in range(0, 2 * roots, 8):
        prefetch(root_sets, rank * 2 * roots + word)


@compiled
def distances(
    rank_bits: Int32,
    indptr: Int64,
    entries: UInt32,
    root_hops: UInt8,
    root_sets: UInt64,
    starts: Int32,
    ends: Int32,
    bound: int,
    hops: Int32,
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
        _fetch_row(indptr, root_hops, root_sets, rank_bits[starts[ahead]] >> 1)
        _fetch_row(indptr, root_hops, root_sets, rank_bits[ends[ahead]] >> 1)
        ahead = min(pair + _SOON, last)
        _fetch_label(indptr, entries, rank_bits[starts[ahead]] >> 1)
        _fetch_label(indptr, entries, rank_bits[ends[ahead]] >> 1)
        distance = meeting(rank_bits, indptr, entries, root_hops, root_sets, starts[pair], ends[pair])
        hops[pair] = distance if distance <= bound else NO_PATH


@compiled
def distance_of_keys(
    keys: UInt64,
    start: int,
    end: int,
    tables: tuple[Int32, Int64, UInt32, UInt8, UInt64],
    bound: int,
) -> int:
    """The distance of one pair, given by its keys in an identifier table; `UNKNOWN` where the table lacks one."""
    a, b = two_positions(keys, start, end)
    if min(a, b) == NOWHERE:
        return UNKNOWN
    rank_bits, indptr, entries, root_hops, root_sets = tables
    prefetch(rank_bits, a)
    prefetch(rank_bits, b)
    for end_of_pair in (a, b):
        _fetch_row(indptr, root_hops, root_sets, rank_bits[end_of_pair] >> 1)
    for end_of_pair in (a, b):
        _fetch_label(indptr, entries, rank_bits[end_of_pair] >> 1)
    distance = meeting(rank_bits, indptr, entries, root_hops, root_sets, a, b)
    return distance if distance <= bound else NO_PATH


@compiled
def hops_to_all(
    tables: tuple[Int32, Int64, UInt32, UInt8, UInt64],
    starts: Int32,
    ends: Int32,
    bound: int,
    hops: UInt8,
) -> None:
    """Distances from each of some concepts to all of others; each start's label is read once for all ends.

    ``hops`` uint8 (starts, ends) receives them, `UNREACHED` where there is none within ``bound`` (below `UNREACHED`).
    """
    rank_bits, indptr, entries, root_hops, root_sets = tables
    to_hub = np.full(indptr.size - 1, _ABSENT, dtype=np.uint8)
    for row in range(starts.size):
        start = starts[row]
        a = rank_bits[start] >> 1
        for i in range(indptr[a], indptr[a + 1] - 1):
            to_hub[entries[i] >> np.uint32(8)] = entries[i] & np.uint32(255)
        for column in range(ends.size):
            end = ends[column]
            b = rank_bits[end] >> 1
            best = _FAR
            if a == b:
                best = 0
            else:
                for j in range(indptr[b], indptr[b + 1] - 1):
                    hub, hops_from = entries[j] >> np.uint32(8), entries[j] & np.uint32(255)
                    best = min(best, signed(to_hub[hub]) + signed(hops_from))
                best = _through_roots(root_hops, root_sets, a, b, best if best < _ABSENT else _FAR)
            best += int(rank_bits[start] & 1) + int(rank_bits[end] & 1)
            if start == end:
                best = 0
            hops[row, column] = best if best <= bound else UNREACHED
        for i in range(indptr[a], indptr[a + 1] - 1):
            to_hub[entries[i] >> np.uint32(8)] = _ABSENT
