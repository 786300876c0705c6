"""Weakly connected components by union and find."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled


@compiled
def _root(parent: npt.NDArray[np.int32], node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def weak_components(indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
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
