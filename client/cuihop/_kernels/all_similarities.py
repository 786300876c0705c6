"""Similarities of all rows with all columns, a row at a time.

Numba does not notice that compiled code on disk was made from an older function: a change in
`cuihop._kernels.hierarchy` or `cuihop._kernels.similarity` must come with one here.

Arguments as in `cuihop._kernels.hierarchy`; ``rows`` and ``columns`` int32 are nodes, and ``values`` float64, shape
(rows, columns), receives the result, NaN for none. Row i takes the stamp ``stamp + i``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.hierarchy import UNRELATED, ancestors_of, value_by_content
from cuihop._kernels.jit import compiled
from cuihop._kernels.similarity import ratio

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


@compiled
def united_ancestors(up_indptr: Int32, up_indices: Int32, nodes: Int32, mark: Int32, united: Int32) -> int:
    """Write all ancestors of some nodes, these included, each once, in no order; return their number.

    ``mark`` holds no 1.
    """
    filled = 0
    for node in nodes:
        if mark[node] == 1:
            continue
        mark[node] = 1
        united[filled] = node
        at = filled
        filled += 1
        while at < filled:
            for edge in range(up_indptr[united[at]], up_indptr[united[at] + 1]):
                parent = up_indices[edge]
                if mark[parent] != 1:
                    mark[parent] = 1
                    united[filled] = parent
                    filled += 1
            at += 1
    return filled


@compiled
def ancestor_counts(
    up_indptr: Int32, up_indices: Int32, columns: Int32, mark: Int32, queue: Int32, counts: Int32, below: Int64
) -> None:
    """Count the ancestors of each column, and the columns below each node. ``mark`` holds no column's place."""
    for j in range(columns.size):
        counts[j] = ancestors_of(up_indptr, up_indices, columns[j], mark, queue, j)
        for i in range(counts[j]):
            below[queue[i]] += 1


@compiled
def columns_below(
    up_indptr: Int32, up_indices: Int32, columns: Int32, mark: Int32, queue: Int32, filled: Int64, below: Int32
) -> None:
    """List the columns below each node, ascending.

    Args:
        filled: int64, shape (nodes,): where the list of each node begins; afterwards, where it ends.
        below: receives the lists. mark: as in `ancestor_counts`.
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

    Args:
        bounds, below: the columns below each node, compressed rows. counts: the ancestors of each column.
    """
    shared = np.empty(counts.size, dtype=np.int32)
    for i in range(rows.size):
        filled = ancestors_of(up_indptr, up_indices, rows[i], mark, queue, stamp + i)
        shared[:] = 0
        for at in range(filled):
            node = queue[at]
            for place in range(bounds[node], bounds[node + 1]):
                shared[below[place]] += 1
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
