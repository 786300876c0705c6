"""Breadth-first searches from many sources at once, a bit for each: Then et al., "The More the Merrier", VLDB 2014.

The part of the graph that the searches have in common, most of it, is traversed once for all.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, UInt8, UInt64

WORDS = 4
SOURCES = 64 * WORDS
"""The most sources of one call."""

_FEW = 16  # below one node in 16, the nodes reached are few

BEYOND = 255
"""Value in place of a distance beyond the bound, or without a path."""


@compiled
def _pass_on(indptr: Int32, indices: Int32, here: UInt64, there: UInt64) -> None:
    there.fill(0)
    for node in range(indptr.size - 1):
        w0, w1, w2, w3 = here[node, 0], here[node, 1], here[node, 2], here[node, 3]
        if w0 | w1 | w2 | w3:
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                there[other, 0] |= w0
                there[other, 1] |= w1
                there[other, 2] |= w2
                there[other, 3] |= w3


@compiled
def _look_around(indptr: Int32, indices: Int32, everyone: UInt64, seen: UInt64, here: UInt64, there: UInt64) -> None:
    e0, e1, e2, e3 = everyone[0], everyone[1], everyone[2], everyone[3]
    for node in range(indptr.size - 1):
        m0, m1, m2, m3 = e0 & ~seen[node, 0], e1 & ~seen[node, 1], e2 & ~seen[node, 2], e3 & ~seen[node, 3]
        w0 = w1 = w2 = w3 = np.uint64(0)
        if m0 | m1 | m2 | m3:
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                w0 |= here[other, 0]
                w1 |= here[other, 1]
                w2 |= here[other, 2]
                w3 |= here[other, 3]
                if not ((m0 & ~w0) | (m1 & ~w1) | (m2 & ~w2) | (m3 & ~w3)):
                    break
        there[node, 0], there[node, 1], there[node, 2], there[node, 3] = w0, w1, w2, w3


@compiled
def begin(sources: Int32, columns: Int32, seen: UInt64, here: UInt64, everyone: UInt64, hops: UInt8) -> None:
    """Start each search at its source, at distance 0.

    Args:
        sources: nodes, at most `SOURCES`.
        columns: shape (nodes,): the column of ``hops`` of each requested node; -1 for others.
        seen, here: scratch, shape (nodes, `WORDS`), of any content.
        everyone: receives a bit for each source; shape (`WORDS`,).
        hops: receives the distances, shape (sources, columns); `BEYOND` where there is none within the bound.
    """
    seen.fill(0)
    here.fill(0)
    everyone.fill(0)
    hops.fill(BEYOND)
    for i in range(sources.size):
        node = sources[i]
        bit = np.uint64(1) << np.uint64(i & 63)
        everyone[i >> 6] |= bit
        seen[node, i >> 6] |= bit
        here[node, i >> 6] |= bit
        if columns[node] >= 0:
            hops[i, columns[node]] = 0


@compiled
def one_hop(
    out_indptr: Int32,
    out_indices: Int32,
    in_indptr: Int32,
    in_indices: Int32,
    columns: Int32,
    level: int,
    reached: int,
    everyone: UInt64,
    seen: UInt64,
    here: UInt64,
    there: UInt64,
    hops: UInt8,
) -> tuple[int, int]:
    """Advance all searches by one hop, and return the numbers of nodes reached and of distances written.

    Top-down while the last hop reached few nodes: these pass their bits on. Bottom-up when it reached many: the nodes
    that some search has yet to reach collect the bits of their neighbours (Beamer et al., "Direction-optimizing
    breadth-first search", SC 2012). A search is over when a hop reaches no node.

    Args:
        level: the distance of the nodes reached now. reached: number of nodes that the last hop reached.
        there: scratch as ``here``, of any content.
        columns, everyone, seen, here, hops: as `begin` left them.
    """
    nodes = out_indptr.size - 1
    if reached < nodes // _FEW:
        _pass_on(out_indptr, out_indices, here, there)
    else:
        _look_around(in_indptr, in_indices, everyone, seen, here, there)
    reached = distances = 0
    for node in range(nodes):
        any_new = np.uint64(0)
        for word in range(WORDS):
            new = there[node, word] & ~seen[node, word]
            here[node, word] = new
            any_new |= new
            if new:
                seen[node, word] |= new
                column = columns[node]
                if column >= 0:
                    source = word << 6
                    while new:
                        if new & np.uint64(1):
                            hops[source, column] = level
                            distances += 1
                        new >>= np.uint64(1)
                        source += 1
        if any_new:
            reached += 1
    return reached, distances
