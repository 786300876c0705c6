"""Common ancestors of pairs of sets, counted or weighted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop._kernels.similarity import ratio

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


@compiled
def ancestor_overlaps(
    up_indptr: Int32, up_indices: Int32, weight: Float64, bounds: Int64, members: Int32, marks: Int32, queue: Int32,
    values: Float64,
) -> None:  # fmt: skip
    """Weight of the common ancestors of two sets over that of all their ancestors; NaN where a weight is infinite.

    Args:
        up_indptr, up_indices: int32: the parents of each node, compressed rows.
        weight: float64, shape (nodes,).
        bounds, members: int64 and int32: the nodes of each set, compressed rows. Sets 2i and 2i + 1 are pair i.
        marks: int32, shape (2, nodes), all 0. queue: int32, shape (nodes,). Scratch.
        values: float64, shape (pairs,): receives the result. 0 where one set is empty, NaN where both are.
    """
    for pair in range(values.size):
        x, y = 2 * pair, 2 * pair + 1
        if bounds[x] == bounds[x + 1] or bounds[y] == bounds[y + 1]:
            values[pair] = np.nan if bounds[x] == bounds[y + 1] else 0.0
            continue
        if _after(bounds, members, x, y):  # sums of equal bits either way
            x, y = y, x
        stamp = pair + 1
        united = 0.0
        of_x = _ancestors(up_indptr, up_indices, members[bounds[x] : bounds[x + 1]], marks[0], queue, stamp)
        for i in range(of_x):
            united += weight[queue[i]]
        shared = 0.0
        related = False
        of_y = _ancestors(up_indptr, up_indices, members[bounds[y] : bounds[y + 1]], marks[1], queue, stamp)
        for i in range(of_y):
            if marks[0, queue[i]] == stamp:
                shared += weight[queue[i]]
                related = True
            else:
                united += weight[queue[i]]
        values[pair] = ratio(shared, united, related) if np.isfinite(united) else np.nan


@compiled
def _after(bounds: Int64, members: Int32, x: int, y: int) -> bool:
    """True where set x comes after set y in the order of their members."""
    of_x, of_y = bounds[x + 1] - bounds[x], bounds[y + 1] - bounds[y]
    for i in range(min(of_x, of_y)):
        a, b = members[bounds[x] + i], members[bounds[y] + i]
        if a != b:
            return bool(a > b)
    return bool(of_x > of_y)


@compiled
def _ancestors(up_indptr: Int32, up_indices: Int32, nodes: Int32, mark: Int32, queue: Int32, stamp: int) -> int:
    """Fill the queue with the nodes and all their ancestors, and return their number."""
    filled = 0
    for node in nodes:
        if mark[node] != stamp:
            mark[node] = stamp
            queue[filled] = node
            filled += 1
    at = 0
    while at < filled:
        for edge in range(up_indptr[queue[at]], up_indptr[queue[at] + 1]):
            parent = up_indices[edge]
            if mark[parent] != stamp:
                mark[parent] = stamp
                queue[filled] = parent
                filled += 1
        at += 1
    return filled
