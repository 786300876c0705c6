"""The best images of a corpus for one query, from the counts of every corpus set; see `cuihop._kernels.relevance`.

A heap holds the best so far, ``gains`` and ``images``, shape (images wanted,), the worst of them at its root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled, signed
from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.resources.arrays import Float64, Int32, Int64, UInt8

Counters = npt.NDArray[Any]
"""uint8, uint16 or uint32; float64 for sums of weights."""

NOBODY = np.int32(-1)
"""Placeholder for an image where a corpus has fewer than wanted."""

_SETS_A_LOOK = 32  # sets compared with the bar together
_ROUNDING = 1e-5  # far above the error of a gain in single precision, so that no image is missed

gain_of_counts = compiled(nn_iou_of_counts)


class Corpus(NamedTuple):
    """The distinct concept sets of a corpus, and their images.

    Attributes:
        sizes: |B| for each set B.
        member_indptr, members: set → its images, as ranks in the order of their names, ascending; compressed rows.
        set_of: the set of each image, images by their rank.
    """

    sizes: Counters
    member_indptr: Int64
    members: Int32
    set_of: Int32


class Counts(NamedTuple):
    """Counts of one query set A, of ``size`` concepts, with each set B of the corpus, for one λ.

    Attributes:
        shared: |A ∩ B|.
        near: |rel_n(A, B)|; or, with λ = 1, the sum of the weights of rel_n(A, B), float64.
    """

    shared: Counters
    near: Counters
    size: int
    lam: float


@compiled
def gain_of(other: int, counts: Counts, corpus: Corpus) -> float:
    """The gain of one corpus set."""
    shared = signed(counts.shared[other])
    union = counts.size + signed(corpus.sizes[other]) - shared
    return gain_of_counts(shared, counts.near[other], union, counts.lam)


@compiled
def _worse(gain: float, image: int, other_gain: float, other_image: int) -> bool:
    """Compare two images; true where the first ranks below the second: by gain, then by ascending image."""
    return gain < other_gain or (gain == other_gain and image > other_image)


@compiled
def _sink(gains: Float64, images: Int32, size: int) -> None:
    """Sift the root of a heap (the worst at the root) down the heap."""
    gain = gains[0]
    image = images[0]
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and _worse(gains[child + 1], images[child + 1], gains[child], images[child]):
            child += 1
        if not _worse(gains[child], images[child], gain, image):
            break
        gains[position] = gains[child]
        images[position] = images[child]
        position = child
    gains[position] = gain
    images[position] = image


@compiled
def enter(other: int, gain: float, corpus: Corpus, gains: Float64, images: Int32) -> None:
    """Push the images of a corpus set onto the heap as far as they are good enough."""
    for j in range(corpus.member_indptr[other], corpus.member_indptr[other + 1]):
        if not _worse(gains[0], images[0], gain, corpus.members[j]):
            break  # nor is any later image of the same set
        gains[0] = gain
        images[0] = corpus.members[j]
        _sink(gains, images, gains.size)


@compiled
def reaches(both: int, near: float, size: int, other_size: int, lam: float, least: float) -> bool:
    """Compare the gain of one corpus set with a lower bound in single precision; false only where it is smaller."""
    bar = np.float32(least - _ROUNDING)
    common = np.float32(both)
    needed = np.float32(size) * bar + bar * (np.float32(other_size) - common)
    return bool(common + np.float32(lam) * np.float32(near) >= needed)


@compiled
def candidates(counts: Counts, corpus: Corpus, least: float, flags: UInt8, sets: Int32) -> int:
    """List the corpus sets whose gain may reach a lower bound, ascending, in ``sets``; return their number.

    ``flags``: shape (corpus sets, up to the next multiple of 8), zeros beyond the sets. Scratch.
    """
    shared, near, size, lam = counts
    sizes = corpus.sizes
    for i in range(shared.size):
        flags[i] = reaches(shared[i], near[i], size, sizes[i], lam, least)
    eights = flags.view(np.uint64)
    count = 0
    for eight in range(eights.size):
        if eights[eight]:
            for i in range(8 * eight, 8 * eight + 8):
                if flags[i]:
                    sets[count] = i
                    count += 1
    return count


@compiled
def clear(gains: Float64, images: Int32, corpus: Corpus) -> None:
    """Fill the heap with gains, and images, that are worse than all."""
    for i in range(gains.size):
        gains[i] = -1.0
        images[i] = corpus.set_of.size


@compiled
def lower_bound(
    counts: Counts, corpus: Corpus, sets: Int32, bounds: tuple[int, int], gains: Float64, images: Int32
) -> float:
    """Lower bound of the last gain among the best, from those of some of ``sets``; -1 without any. Uses the heap."""
    clear(gains, images, corpus)
    for k in range(bounds[0], bounds[1]):
        other = signed(sets[k])  # each type of number would be compiled by itself
        enter(other, gain_of(other, counts, corpus), corpus, gains, images)
    return float(gains[0])


@compiled
def best(counts: Counts, corpus: Corpus, least: float, gains: Float64, images: Int32) -> None:
    """Write the best images into ``images`` and their gains into ``gains``, best first. Shape (images wanted,).

    ``least``: a lower bound of the last gain among them, or a negative number.
    """
    shared, near, size, lam = counts
    sizes = corpus.sizes
    clear(gains, images, corpus)
    for low in range(0, shared.size, _SETS_A_LOOK):
        high = low + _SETS_A_LOOK if low + _SETS_A_LOOK < shared.size else shared.size
        floor = least if least > gains[0] else gains[0]
        hits = 0
        for i in range(low, high):
            hits += reaches(shared[i], near[i], size, sizes[i], lam, floor)
        if hits == 0:
            continue
        for i in range(low, high):
            if not reaches(shared[i], near[i], size, sizes[i], lam, floor):
                continue
            gain = gain_of(i, counts, corpus)
            if gain > 0.0 and gain >= floor:
                enter(i, gain, corpus, gains, images)
    complete(counts, corpus, gains, images)


@compiled
def complete(counts: Counts, corpus: Corpus, gains: Float64, images: Int32) -> None:
    """Fill the rest of the heap with images without any gain, in the order of their names, and sort it."""
    image = 0
    while image < corpus.set_of.size and gains[0] < 0.0:
        if gain_of(signed(corpus.set_of[image]), counts, corpus) == 0.0:
            gains[0] = 0.0
            images[0] = image
            _sink(gains, images, gains.size)
        image += 1
    for end in range(gains.size - 1, 0, -1):
        gains[0], gains[end] = gains[end], gains[0]
        images[0], images[end] = images[end], images[0]
        _sink(gains, images, end)
    for i in range(gains.size):
        if gains[i] < 0.0:
            gains[i] = 0.0
            images[i] = NOBODY
