"""Compressed sparse rows (CSR): their transposition and union, components, and numbers of descendants."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch
from cuihop.resources.arrays import Int32

_BEGIN, _END, _MARK, COUNT = range(4)
_RECORDS_AHEAD, _EDGES_AHEAD = 2, 8  # in the queue of a search, at which memory is fetched


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
    filled = ends[:-1].copy()
    for row in range(n):
        for edge in range(indptr[row], indptr[row + 1]):
            column = indices[edge]
            columns[filled[column]] = row
            filled[column] += 1
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


@compiled
def _root(parent: Int32, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def weak_components(indptr: Int32, indices: Int32) -> Int32:
    """For each node the smallest node of its component; edges count both ways. Compressed rows in."""
    nodes = indptr.size - 1
    parent = np.arange(nodes).astype(np.int32)
    for node in range(nodes):
        for k in range(indptr[node], indptr[node + 1]):
            a = _root(parent, node)
            b = _root(parent, indices[k])
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
    for node in range(nodes):
        parent[node] = _root(parent, node)
    return parent


@compiled
def count_descendants(up_indices: Int32, most: int, first: int, last: int, records: Int32) -> None:
    """Let the concepts ``first`` up to ``last`` count for their nearest ``most`` ancestors, breadth first.

    A concept never counts for itself, not even in a cycle.

    Args:
        records: of each concept its bounds in ``up_indices``, a mark, -1 before the first call, and its count, which
            accumulates; shape (concepts, 4): in one cache line, for that of a parent is rarely in the cache.
    """
    queue = np.empty(most + 1, dtype=np.int32)
    flat = records.reshape(-1)
    for start in range(first, last):
        records[start, _MARK] = start
        queue[0] = start
        filled = 1
        at = 0
        while at < filled <= most:
            if at + _RECORDS_AHEAD < filled:
                ahead = queue[at + _RECORDS_AHEAD]
                for edge in range(records[ahead, _BEGIN], records[ahead, _END]):
                    prefetch(flat, 4 * up_indices[edge])
            if at + _EDGES_AHEAD < filled:
                prefetch(up_indices, records[queue[at + _EDGES_AHEAD], _BEGIN])
            for edge in range(records[queue[at], _BEGIN], records[queue[at], _END]):
                parent = up_indices[edge]
                if records[parent, _MARK] != start and filled <= most:
                    records[parent, _MARK] = start
                    records[parent, COUNT] += 1
                    queue[filled] = parent
                    filled += 1
            at += 1
