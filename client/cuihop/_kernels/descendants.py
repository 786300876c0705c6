"""Number of descendants of every concept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]


@compiled
def count_descendants(
    up_indptr: Int32, up_indices: Int32, most: int, first: int, last: int, counts: Int32, mark: Int32
) -> None:
    """Let the concepts ``first`` up to ``last`` count for their nearest ``most`` ancestors, breadth first.

    A concept never counts for itself, not even in a cycle. ``counts`` accumulates; ``mark`` is scratch, int32, shape
    (concepts,), filled with -1 before the first call.
    """
    queue = np.empty(most + 1, dtype=np.int32)
    for start in range(first, last):
        mark[start] = start
        queue[0] = start
        filled = 1
        at = 0
        while at < filled <= most:
            for edge in range(up_indptr[queue[at]], up_indptr[queue[at] + 1]):
                parent = up_indices[edge]
                if mark[parent] != start and filled <= most:
                    mark[parent] = start
                    queue[filled] = parent
                    filled += 1
                    counts[parent] += 1
            at += 1
