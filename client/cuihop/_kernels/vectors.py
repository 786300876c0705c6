"""The nearest of many binary codes, and inner products added in one fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Float64, Int32, Int64, UInt64

Words = UInt64

_AT_ONCE = 64
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_1, _2, _4, _56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@compiled
def rank(queries: Words, corpus: Words, own: Int32, beyond: int, distances: npt.NDArray[Any], ranking: Int32) -> None:
    """The positions of the nearest codes, by ascending distance, then by position.

    Args:
        queries, corpus: shapes (queries, words) and (words, images).
        own: the position of each query in the corpus, which comes last; -1 where it is absent.
        beyond: a distance larger than any. distances: unsigned, shape (images,). Scratch.
        ranking: receives the positions, shape (queries, depth); ``depth`` must not exceed the images.
    """
    depth = ranking.shape[1]
    images = corpus.shape[1]
    begins = np.empty(beyond + 2, dtype=np.int64)
    for query in range(len(queries)):
        distances[:] = 0
        for word in range(queries.shape[1]):
            code = queries[query, word]
            for image in range(images):
                # Population count of the differing bits, a pattern that compilers turn into one instruction.
                bits = code ^ corpus[word, image]
                bits -= (bits >> _1) & _PAIRS
                bits = (bits & _FOURS) + ((bits >> _2) & _FOURS)
                bits = (bits + (bits >> _4)) & _BYTES
                distances[image] += (bits * _ONES) >> _56
        if own[query] >= 0:
            distances[own[query]] = beyond
        begins.fill(0)
        for image in range(images):
            begins[np.int64(distances[image]) + 1] += 1
        last = 0
        while last + 1 < begins.size and begins[last] < depth:
            last += 1
            begins[last] += begins[last - 1]
        # Distances below ``last`` may be in the ranking; begins[x] is the position of the first equal to x.
        begin = 0
        while begin < images:
            end = min(begin + _AT_ONCE, images)
            hits = np.int64(0)
            for image in range(begin, end):
                hits += np.int64(distances[image]) < last
            if hits > 0:
                for image in range(begin, end):
                    distance = np.int64(distances[image])
                    if distance < last:
                        at = begins[distance]
                        if at < depth:
                            ranking[query, at] = image
                            begins[distance] = at + 1
            begin = end


@compiled
def inner_product(a: Float64, b: Float64) -> float:
    """The sum of the products, added in eight lanes in one fixed order: the same on every processor."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    in_lanes = len(a) // 8 * 8
    for at in range(0, in_lanes, 8):
        s0 += a[at] * b[at]
        s1 += a[at + 1] * b[at + 1]
        s2 += a[at + 2] * b[at + 2]
        s3 += a[at + 3] * b[at + 3]
        s4 += a[at + 4] * b[at + 4]
        s5 += a[at + 5] * b[at + 5]
        s6 += a[at + 6] * b[at + 6]
        s7 += a[at + 7] * b[at + 7]
    rest = 0.0
    for at in range(in_lanes, len(a)):
        rest += a[at] * b[at]
    return float(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + rest)


@compiled
def inner_products(ours: Float64, theirs: Float64, which: Int64, where: Int64, pairs: Int64, products: Float64) -> None:
    """The inner products of some pairs of vectors of one length, each computed alone.

    Pair i is of ``ours[which[i]]`` and ``theirs[where[i]]``, and its product goes to ``products[pairs[i]]``.
    """
    for number in range(len(pairs)):
        products[pairs[number]] = inner_product(ours[which[number]], theirs[where[number]])
