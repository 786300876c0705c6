"""Breadth-first searches over compressed sparse rows (CSR).

Arguments that recur: ``indptr`` int32 (n + 1,) and ``indices`` int32 (edges,), each row ascending. ``mark`` int32 (n,)
and ``queue`` int32 (n,) are scratch that belongs to one call at a time. ``mark`` holds only values below ``epoch``; a
search stamps nodes with values from ``epoch`` on, so nothing has to be cleared between searches.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch, signed
from cuihop._kernels.lookup import NOWHERE, two_positions
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64

DISTANCE_EPOCHS = 2
"""Stamps that one distance takes."""

PATH_EPOCHS = 2
"""Stamps that one path takes for each node of the graph plus one."""


NO_PATH = -1
UNKNOWN = -2

LARGE = 1 << 17
"""Nodes whose marks, and what else a search reads of them, are more than the cache of a core holds."""

_FURTHER = 3  # hops, or more, or no path
_FEW, _SCANNED = 64, 8  # neighbours
_SOON, _LATER = 8, 24  # pairs ahead: neighbours, and where they begin
_SPARSE = 32  # columns for each distance of a row that is sorted


@compiled
def meeting(
    out_indptr: Int32,
    out_indices: Int32,
    in_indptr: Int32,
    in_indices: Int32,
    start: int,
    end: int,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
) -> int:
    """The distance from start to end, or `NO_PATH` where there is none within ``bound``.

    Two searches grow level by level, forwards from the start and backwards from the end, always the one whose next
    level has fewer edges. The two balls are disjoint until they meet, so the first edge between them lies
    on a shortest path. For the same reason both fit into one queue, from its two ends. Nodes with a later stamp are
    blocked: no path leads over them.
    """
    if start == end:
        return 0
    last = mark.size - 1
    near_start = np.int32(epoch)
    near_end = np.int32(epoch + 1)
    mark[start] = near_start
    mark[end] = near_end
    queue[0] = start
    queue[last] = end
    a_low, a_high = 0, 1  # the forward frontier is queue[a_low:a_high]
    b_low, b_high = last, last - 1  # the backward frontier is queue[b_low:b_high:-1]
    a_work = out_indptr[start + 1] - out_indptr[start]
    b_work = in_indptr[end + 1] - in_indptr[end]
    depth = 0
    # A side without edges left holds all nodes it can reach, and the other end is not one of them.
    while depth < bound and a_work > 0 and b_work > 0:
        depth += 1
        only_meet = depth == bound  # at the bound nothing new needs to be queued
        if a_work <= b_work:
            tail = a_high
            a_work = 0
            for i in range(a_low, a_high):
                node = queue[i]
                for edge in range(out_indptr[node], out_indptr[node + 1]):
                    other = out_indices[edge]
                    stamp = mark[other]
                    if stamp == near_end:
                        return depth
                    if stamp < near_start and not only_meet:
                        mark[other] = near_start
                        queue[tail] = other
                        tail += 1
                        a_work += out_indptr[other + 1] - out_indptr[other]
            a_low, a_high = a_high, tail
        else:
            tail = b_high
            b_work = 0
            for i in range(b_low, b_high, -1):
                node = queue[i]
                for edge in range(in_indptr[node], in_indptr[node + 1]):
                    other = in_indices[edge]
                    stamp = mark[other]
                    if stamp == near_start:
                        return depth
                    if stamp < near_start and not only_meet:
                        mark[other] = near_end
                        queue[tail] = other
                        tail -= 1
                        b_work += in_indptr[other + 1] - in_indptr[other]
            b_low, b_high = b_high, tail
    return NO_PATH


@compiled
def _compared(few: Int32, i: int, i_end: int, many: Int32, j: int, j_end: int, sought: int) -> int:
    """Compare two rows: 1 if ``few[i:i_end]`` holds ``sought``, 2 if both rows hold a common node, else `_FURTHER`.

    `UNKNOWN` if ``few[i:i_end]`` is too long to compare.
    """
    if i_end - i > _FEW:
        return UNKNOWN
    hops = _FURTHER
    for position in range(i, i_end):
        node = few[position]
        if node == sought:
            return 1
        low, high = j, j_end
        while high - low > _SCANNED:
            middle = (low + high) >> 1
            if many[middle] <= node:
                low = middle
            else:
                high = middle
        for other in range(low, high):
            if many[other] == node:
                hops = 2
    return hops


@compiled
def _near(
    out_indptr: Int32, out_indices: Int32, in_indptr: Int32, in_indices: Int32,
    start: int, end: int, bound: int, nodes: int,
) -> int:  # fmt: skip
    """The distance of nodes up to 2 hops apart, by comparing their neighbours; `UNKNOWN` if it takes a search.

    `NO_PATH` if they are further apart than the bound. Only in a graph of `LARGE` nodes or more, or within 2 hops, is
    this quicker than a search, which waits for the memory of its marks.
    """
    if bound > 2 and nodes < LARGE:
        return UNKNOWN
    if start == end:
        return 0
    i, i_end = out_indptr[start], out_indptr[start + 1]
    j, j_end = in_indptr[end], in_indptr[end + 1]
    if i_end - i <= j_end - j:
        hops = _compared(out_indices, i, i_end, in_indices, j, j_end, end)
    else:
        hops = _compared(in_indices, j, j_end, out_indices, i, i_end, start)
    if hops == _FURTHER and bound > 2:
        return UNKNOWN
    return hops if hops <= bound else NO_PATH


@compiled
def distances(
    out_indptr: Int32,
    out_indices: Int32,
    in_indptr: Int32,
    in_indices: Int32,
    starts: Int32,
    ends: Int32,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
    hops: Int32,
) -> None:
    """Write the distance of each (start, end), or `NO_PATH`, into ``hops``."""
    last = starts.size - 1
    for pair in range(starts.size):
        soon, later = min(pair + _SOON, last), min(pair + _LATER, last)
        prefetch(out_indptr, starts[later])
        prefetch(in_indptr, ends[later])
        prefetch(out_indices, out_indptr[starts[soon]])
        prefetch(in_indices, in_indptr[ends[soon]])
        start, end = starts[pair], ends[pair]
        distance = _near(out_indptr, out_indices, in_indptr, in_indices, start, end, bound, mark.size)
        if distance == UNKNOWN:
            distance = meeting(out_indptr, out_indices, in_indptr, in_indices, start, end, bound, mark, queue, epoch)
        hops[pair] = distance
        epoch += DISTANCE_EPOCHS


@compiled
def distance_of_keys(
    numbers: UInt64,
    start: int,
    end: int,
    out_indptr: Int32,
    out_indices: Int32,
    in_indptr: Int32,
    in_indices: Int32,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
) -> int:
    """The distance of a pair of keys of an identifier table; `UNKNOWN` if the table lacks one.

    ``numbers`` as for `cuihop._kernels.lookup.two_positions`.
    """
    a, b = two_positions(numbers, start, end)
    if min(a, b) == NOWHERE:
        return UNKNOWN
    return meeting(out_indptr, out_indices, in_indptr, in_indices, a, b, bound, mark, queue, epoch)


@compiled
def _paths_over(
    indptr: Int32, indices: Int32, node: int, stamp: int, mark: Int32, slots: Int32, counts: Int64, most: int
) -> int:
    """Shortest paths from a node to the end, over its neighbours with the stamp ``stamp``; at most ``most``."""
    total = 0
    for edge in range(indptr[node], indptr[node + 1]):
        other = indices[edge]
        if mark[other] == stamp:
            total = min(total + counts[slots[other]], most)
    return total


@compiled
def shortest_path(
    out_indptr: Int32,
    out_indices: Int32,
    in_indptr: Int32,
    in_indices: Int32,
    start: int,
    end: int,
    bound: int,
    which: int,
    most: int,
    mark: Int32,
    queue: Int32,
    slots: Int32,
    epoch: int,
) -> tuple[Int32, int]:
    """The shortest path of rank ``which`` (from 1, at most ``most``) in the order of nodes, and the number of them.

    The number is exact below ``most``, and ``most`` where there are as many or more. The path is empty where there
    is none of that rank. Stamps tell the level: ``epoch + i`` for i hops after the start, ``epoch + (n + 1) + j`` for
    j hops before the end. ``slots`` int32 (n,) is scratch: the index of a visited node among the counts of paths from
    it to the end.
    """
    n = mark.size
    if start == end:
        return np.full(1 if which == 1 else 0, start, dtype=np.int32), 1
    to_end = epoch + n + 1
    mark[start] = epoch
    mark[end] = to_end
    queue[0] = start
    queue[n - 1] = end
    a_low, a_high = 0, 1
    b_low, b_high = n - 1, n - 2
    a_level = b_level = 0
    a_work = out_indptr[start + 1] - out_indptr[start]
    b_work = in_indptr[end + 1] - in_indptr[end]
    met = False
    while a_level + b_level < bound and a_work > 0 and b_work > 0:
        if a_work <= b_work:
            tail = a_high
            a_work = 0
            for i in range(a_low, a_high):
                node = queue[i]
                for edge in range(out_indptr[node], out_indptr[node + 1]):
                    other = out_indices[edge]
                    stamp = mark[other]
                    if stamp >= to_end:
                        met = True
                        break
                    if stamp < epoch:
                        mark[other] = epoch + a_level + 1
                        queue[tail] = other
                        tail += 1
                        a_work += out_indptr[other + 1] - out_indptr[other]
                if met:
                    break
            if met:
                break
            a_low, a_high = a_high, tail
            a_level += 1
        else:
            tail = b_high
            b_work = 0
            for i in range(b_low, b_high, -1):
                node = queue[i]
                for edge in range(in_indptr[node], in_indptr[node + 1]):
                    other = in_indices[edge]
                    stamp = mark[other]
                    if epoch <= stamp < to_end:
                        met = True
                        break
                    if stamp < epoch:
                        mark[other] = to_end + b_level + 1
                        queue[tail] = other
                        tail -= 1
                        b_work += in_indptr[other + 1] - in_indptr[other]
                if met:
                    break
            if met:
                break
            b_low, b_high = b_high, tail
            b_level += 1
    if not met:
        return np.empty(0, dtype=np.int32), 0
    # Both balls are complete up to a_level and b_level, and every shortest path has one edge between their rims. Paths
    # to the end are counted from the end back to the start; a node off all shortest paths counts 0.
    hops = a_level + b_level + 1
    counts = np.zeros(a_high + n - 1 - b_high, dtype=np.int64)
    for i in range(n - 1, b_high, -1):
        node = queue[i]
        slots[node] = n - 1 - i
        before = mark[node] - 1
        counts[n - 1 - i] = (
            1 if node == end
            else _paths_over(out_indptr, out_indices, node, before, mark, slots, counts, most)
        )  # fmt: skip
    for i in range(a_high - 1, -1, -1):
        node = queue[i]
        level = mark[node] - epoch
        next_stamp = to_end + b_level if level == a_level else epoch + level + 1
        slots[node] = n - 1 - b_high + i
        counts[slots[node]] = _paths_over(out_indptr, out_indices, node, next_stamp, mark, slots, counts, most)
    total = counts[slots[start]]
    if which > total:
        return np.empty(0, dtype=np.int32), total
    path = np.empty(hops + 1, dtype=np.int32)
    path[0] = start
    left = which
    for position in range(1, hops + 1):
        next_stamp = epoch + position if position <= a_level else to_end + hops - position
        node = path[position - 1]
        for edge in range(out_indptr[node], out_indptr[node + 1]):
            other = out_indices[edge]
            if mark[other] == next_stamp:
                if left <= counts[slots[other]]:
                    path[position] = other
                    break
                left -= counts[slots[other]]
    return path, total


@compiled
def ball(
    indptr: Int32,
    indices: Int32,
    centre: int,
    bound: int,
    mark: Int32,
    queue: Int32,
    levels: Int32,
    epoch: int,
) -> int:
    """All nodes within ``bound`` hops, nearest first: ``queue[:count]`` with their distances in ``levels[:count]``.

    Returns the count, the centre included.
    """
    stamp = np.int32(epoch)
    mark[centre] = stamp
    queue[0] = centre
    levels[0] = 0
    count = 1
    i = 0
    while i < count:
        node = queue[i]
        level = levels[i] + 1
        if level > bound:
            break
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            if mark[other] != stamp:
                mark[other] = stamp
                queue[count] = other
                levels[count] = level
                count += 1
        i += 1
    return count


@compiled
def pack(
    indptr: Int32,
    indices: Int32,
    centres: Int32,
    local: Int32,
    bound: int,
    mark: Int32,
    queue: Int32,
    levels: Int32,
    epoch: int,
    columns: Int32,
    hops: UInt8,
    row_ends: Int64,
) -> int:
    """Distances up to ``bound`` from each centre to the nodes that have a column in ``local``, from 0 on (-1: none).

    Fills ``columns`` and ``hops`` row by row, each row ascending by column, and ``row_ends``. Stops before a row
    that might not fit. Returns the number of rows done.
    """
    most = 0
    for node in range(local.size):
        if local[node] >= 0:
            most += 1
    filled = signed(0)  # for a literal, its callees would be compiled again
    for row in range(centres.size):
        if filled + most > columns.size:
            return row
        count = ball(indptr, indices, centres[row], bound, mark, queue, levels, epoch + row)
        begin = filled
        for i in range(count):
            column = local[queue[i]]
            if column >= 0:
                columns[filled] = column
                hops[filled] = levels[i]
                filled += 1
        if _SPARSE * (filled - begin) < most:
            _sort(columns, hops, begin, filled)
        else:  # a hop for each column, in place of the columns, then those that have one
            for column in range(most):
                columns[begin + column] = -1
            for i in range(count):
                if local[queue[i]] >= 0:
                    columns[begin + local[queue[i]]] = levels[i]
            filled = begin
            for column in range(most):
                hop = columns[begin + column]
                columns[filled], hops[filled] = column, hop
                filled += hop >= 0
        row_ends[row] = filled
    return centres.size


@compiled
def _sort(columns: Int32, hops: UInt8, begin: int, end: int) -> None:
    """Sort a short row by column (Shell 1959, gaps by Knuth): `numpy.argsort` compiles for longer."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            column, hop = columns[i], hops[i]
            k = i - gap
            while k >= begin and columns[k] > column:
                columns[k + gap], hops[k + gap] = columns[k], hops[k]
                k -= gap
            columns[k + gap], hops[k + gap] = column, hop
        gap //= 3
