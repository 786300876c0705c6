"""The nearest of many binary codes, in order, by a counting sort of their distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_AT_ONCE = 64
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_1, _2, _4, _56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@compiled
def rank(queries: Words, corpus: Words, own: Int32, beyond: int, distances: npt.NDArray[Any], found: Int32) -> None:
    """The positions of the nearest codes, by ascending distance, then by position.

    Args:
        queries: shape (queries, words).
        corpus: shape (words, images).
        own: the position of each query in the corpus, which comes last; -1 where it is absent.
        beyond: a distance larger than any.
        distances: unsigned, shape (images,). Scratch.
        found: receives the positions, shape (queries, wanted); ``wanted`` must not exceed the images.
    """
    wanted = found.shape[1]
    images = corpus.shape[1]
    begins = np.empty(beyond + 2, dtype=np.int64)
    for query in range(len(queries)):
        distances[:] = 0
        for word in range(queries.shape[1]):
            code = queries[query, word]
            for place in range(images):
                # Population count of the differing bits, a pattern that compilers turn into one instruction.
                bits = code ^ corpus[word, place]
                bits -= (bits >> _1) & _PAIRS
                bits = (bits & _FOURS) + ((bits >> _2) & _FOURS)
                bits = (bits + (bits >> _4)) & _BYTES
                distances[place] += (bits * _ONES) >> _56
        if own[query] >= 0:
            distances[own[query]] = beyond
        begins.fill(0)
        for place in range(images):
            begins[np.int64(distances[place]) + 1] += 1
        last = 0
        while last + 1 < begins.size and begins[last] < wanted:
            last += 1
            begins[last] += begins[last - 1]
        # Distances below ``last`` may be among the wanted; begins[x] is the position of the first equal to x.
        begin = 0
        while begin < images:
            end = min(begin + _AT_ONCE, images)
            hits = np.int64(0)
            for place in range(begin, end):
                hits += np.int64(distances[place]) < last
            if hits > 0:
                for place in range(begin, end):
                    distance = np.int64(distances[place])
                    if distance < last:
                        at = begins[distance]
                        if at < wanted:
                            found[query, at] = place
                            begins[distance] = at + 1
            begin = end
