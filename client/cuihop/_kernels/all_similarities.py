"""Similarities of all rows with all columns, a row at a time, and of pairs of sets by their common ancestors.

Arguments as in `cuihop._kernels.hierarchy`; ``rows`` and ``columns`` int32 are nodes, and ``values`` float64, shape
(rows, columns), receives the result, NaN for none. Row i takes the stamp ``stamp + i``.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.hierarchy import UNRELATED, ancestors_of, ancestors_of_all, value_by_content
from cuihop._kernels.jit import compiled
from cuihop._kernels.similarity import ratio
from cuihop.resources.arrays import Float64, Int32, Int64


@compiled
def ancestor_counts(
    up_indptr: Int32, up_indices: Int32, columns: Int32, mark: Int32, queue: Int32, counts: Int32, below: Int64
) -> None:
    """Count the ancestors of each column, and the columns below each node. ``mark`` holds no index of a column."""
    for j in range(columns.size):
        counts[j] = ancestors_of(up_indptr, up_indices, columns[j], mark, queue, j)
        for i in range(counts[j]):
            below[queue[i]] += 1


@compiled
def columns_below(
    up_indptr: Int32, up_indices: Int32, columns: Int32, mark: Int32, queue: Int32, filled: Int64, below: Int32
) -> None:
    """List the columns below each node, ascending, in ``below``. ``mark``: as in `ancestor_counts`.

    ``filled``, shape (nodes,): where the list of each node begins; afterwards, where it ends.
    """
    for j in range(columns.size):
        for i in range(ancestors_of(up_indptr, up_indices, columns[j], mark, queue, j)):
            below[filled[queue[i]]] = j
            filled[queue[i]] += 1


@compiled
def overlap_rows(
    up_indptr: Int32,
    up_indices: Int32,
    bounds: Int64,
    below: Int32,
    counts: Int32,
    rows: Int32,
    mark: Int32,
    queue: Int32,
    stamp: int,
    values: Float64,
) -> None:
    """simUI: common ancestors of united ones.

    ``bounds``, ``below``: the columns below each node, compressed rows. ``counts``: the ancestors of each column.
    """
    shared = np.empty(counts.size, dtype=np.int32)
    for i in range(rows.size):
        filled = ancestors_of(up_indptr, up_indices, rows[i], mark, queue, stamp + i)
        shared[:] = 0
        for at in range(filled):
            node = queue[at]
            for entry in range(bounds[node], bounds[node + 1]):
                shared[below[entry]] += 1
        for j in range(counts.size):
            values[i, j] = ratio(float(shared[j]), float(filled + counts[j] - shared[j]), True)


@compiled
def content_rows(
    up_indptr: Int32,
    up_indices: Int32,
    ic: Float64,
    measure: int,
    rows: Int32,
    columns: Int32,
    mark: Int32,
    queue: Int32,
    stamp: int,
    values: Float64,
) -> None:
    """Resnik, Lin or Jiang-Conrath, with the greatest content of a common ancestor passed down from parent to child."""
    nodes = up_indptr.size - 1
    most = np.empty(nodes, dtype=np.float64)
    for i in range(rows.size):
        ancestors_of(up_indptr, up_indices, rows[i], mark, queue, stamp + i)
        for node in range(nodes):
            best = ic[node] if mark[node] == stamp + i else UNRELATED
            for edge in range(up_indptr[node], up_indptr[node + 1]):
                best = max(best, most[up_indices[edge]])
            most[node] = best
        for j in range(columns.size):
            values[i, j] = value_by_content(measure, ic[rows[i]], ic[columns[j]], most[columns[j]])


@compiled
def ancestor_overlaps(
    up_indptr: Int32, up_indices: Int32, weight: Float64, bounds: Int64, members: Int32, marks: Int32, queue: Int32,
    values: Float64,
) -> None:  # fmt: skip
    """Weight of the common ancestors of two sets over that of all their ancestors; NaN where a weight is infinite.

    Args:
        up_indptr, up_indices: the parents of each node, compressed rows. weight: shape (nodes,).
        bounds, members: the nodes of each set, compressed rows. Sets 2i and 2i + 1 are pair i.
        marks: shape (2, nodes), all 0. queue: shape (nodes,). Scratch.
        values: shape (pairs,): receives the result. 0 where one set is empty, NaN where both are.
    """
    for pair in range(values.size):
        x, y = 2 * pair, 2 * pair + 1
        if bounds[x] == bounds[x + 1] or bounds[y] == bounds[y + 1]:
            values[pair] = np.nan if bounds[x] == bounds[y + 1] else 0.0
            continue
        if _after(bounds, members, x, y):  # so that the sums have the same bits in both orders
            x, y = y, x
        stamp = pair + 1
        united = 0.0
        of_x = ancestors_of_all(up_indptr, up_indices, members[bounds[x] : bounds[x + 1]], marks[0], queue, stamp)
        for i in range(of_x):
            united += weight[queue[i]]
        shared = 0.0
        related = False
        of_y = ancestors_of_all(up_indptr, up_indices, members[bounds[y] : bounds[y + 1]], marks[1], queue, stamp)
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
