"""Compressed sparse rows (CSR) from other compressed sparse rows, in time linear in the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]


@compiled
def transposed(indptr: Int32, indices: Int32) -> tuple[Int32, Int32]:
    """The rows of the other direction, each ascending."""
    n = indptr.size - 1
    ends = np.zeros(n + 1, dtype=np.int32)
    for edge in range(indices.size):
        ends[indices[edge] + 1] += 1
    for row in range(n):
        ends[row + 1] += ends[row]
    columns = np.empty(indices.size, dtype=np.int32)
    place = ends[:-1].copy()
    for row in range(n):
        for edge in range(indptr[row], indptr[row + 1]):
            column = indices[edge]
            columns[place[column]] = row
            place[column] += 1
    return ends, columns


@compiled
def union(a_indptr: Int32, a_indices: Int32, b_indptr: Int32, b_indices: Int32) -> tuple[Int32, Int32]:
    """Row by row the union of two graphs, ascending and without repeats; the rows given must ascend."""
    n = a_indptr.size - 1
    indptr = np.zeros(n + 1, dtype=np.int32)
    indices = np.empty(a_indices.size + b_indices.size, dtype=np.int32)
    filled = 0
    for row in range(n):
        a, a_end = a_indptr[row], a_indptr[row + 1]
        b, b_end = b_indptr[row], b_indptr[row + 1]
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and a_indices[a] <= b_indices[b]):
                column = a_indices[a]
                if b < b_end and b_indices[b] == column:
                    b += 1
                a += 1
            else:
                column = b_indices[b]
                b += 1
            indices[filled] = column
            filled += 1
        indptr[row + 1] = filled
    return indptr, indices[:filled].copy()
