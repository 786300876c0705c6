"""Number of descendants of every concept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

__all__ = ["descendant_counts"]

Int32 = npt.NDArray[np.int32]


@compiled
def descendant_counts(up_indptr: Int32, up_indices: Int32, most: int) -> npt.NDArray[np.int64]:
    """Descendants of each concept, int64, shape (concepts,).

    A concept counts for its nearest ``most`` ancestors, breadth first; itself never, in a cycle neither.
    """
    concepts = up_indptr.size - 1
    counts = np.zeros(concepts, dtype=np.int64)
    mark = np.full(concepts, -1, dtype=np.int32)
    queue = np.empty(most + 1, dtype=np.int32)
    for start in range(concepts):
        mark[start] = start
        queue[0] = start
        filled = 1
        at = 0
        while at < filled:
            for edge in range(up_indptr[queue[at]], up_indptr[queue[at] + 1]):
                parent = up_indices[edge]
                if mark[parent] != start and filled <= most:
                    mark[parent] = start
                    queue[filled] = parent
                    filled += 1
                    counts[parent] += 1
            at += 1
    return counts
