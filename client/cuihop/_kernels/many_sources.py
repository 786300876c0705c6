"""Breadth-first searches from many sources at once, a bit for each: Then et al., "The More the Merrier", VLDB 2014.

What the searches have in common, most of the graph, is walked once for all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

WORDS = 4
SOURCES = 64 * WORDS
"""How many sources one call takes at the most."""

BEYOND = 255
"""Stands for a distance beyond the bound, and for no path."""


@compiled
def hops_among(
    indptr: Int32,
    indices: Int32,
    sources: Int32,
    columns: Int32,
    bound: int,
    seen: UInt64,
    here: UInt64,
    there: UInt64,
    hops: UInt8,
) -> None:
    """Distances from some nodes to others.

    Args:
        indptr, indices: the graph in compressed rows, as in `cuihop._kernels.bfs`.
        sources: nodes, at most `SOURCES`.
        columns: int32, shape (nodes,): the column of ``hops`` of each node that is asked for; -1 for others.
        bound: the largest distance to tell, below `BEYOND`.
        seen, here, there: scratch, uint64, shape (nodes, `WORDS`), of any content.
        hops: receives the distances, shape (sources, columns); `BEYOND` where there is none within the bound.
    """
    seen.fill(0)
    here.fill(0)
    hops.fill(BEYOND)
    for i in range(sources.size):
        node = sources[i]
        bit = np.uint64(1) << np.uint64(i & 63)
        seen[node, i >> 6] |= bit
        here[node, i >> 6] |= bit
        if columns[node] >= 0:
            hops[i, columns[node]] = 0
    nodes = indptr.size - 1
    for level in range(1, bound + 1):
        there.fill(0)
        for node in range(nodes):
            w0, w1, w2, w3 = here[node, 0], here[node, 1], here[node, 2], here[node, 3]
            if w0 | w1 | w2 | w3:
                for edge in range(indptr[node], indptr[node + 1]):
                    other = indices[edge]
                    there[other, 0] |= w0
                    there[other, 1] |= w1
                    there[other, 2] |= w2
                    there[other, 3] |= w3
        some = np.uint64(0)
        for node in range(nodes):
            for word in range(WORDS):
                new = there[node, word] & ~seen[node, word]
                here[node, word] = new
                if new:
                    some |= new
                    seen[node, word] |= new
                    column = columns[node]
                    if column >= 0:
                        source = word << 6
                        while new:
                            if new & np.uint64(1):
                                hops[source, column] = level
                            new >>= np.uint64(1)
                            source += 1
        if not some:
            return
