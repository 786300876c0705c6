"""The longest path of a graph without cycles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]


@compiled
def longest_path(indptr: Int32, indices: Int32) -> int:
    """Edges on the longest path of a graph without cycles, in compressed rows (Kahn 1962: topological order)."""
    nodes = indptr.size - 1
    waiting = np.zeros(nodes, dtype=np.int32)  # edges into the node from unfinished nodes
    for edge in range(indices.size):
        waiting[indices[edge]] += 1
    level = np.zeros(nodes, dtype=np.int32)
    queue = np.empty(nodes, dtype=np.int32)
    tail = 0
    for node in range(nodes):
        if waiting[node] == 0:
            queue[tail] = node
            tail += 1
    longest = 0
    head = 0
    while head < tail:
        node = queue[head]
        head += 1
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            level[other] = max(level[other], level[node] + 1)
            waiting[other] -= 1
            if waiting[other] == 0:
                longest = max(longest, level[other])
                queue[tail] = other
                tail += 1
    return longest
