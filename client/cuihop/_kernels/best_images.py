"""The best images of a corpus for one query, from the counts of every corpus set; see `cuihop._kernels.relevance`.

A heap holds the best so far, the worst of them at its root. Arguments that recur:

- ``shared``, ``near``: |A ∩ B| and |rel_n(A, B)| for each corpus set B; or, with λ = 1, the sum of the weights of
  rel_n(A, B), float64. ``size``: |A|. ``sizes``: |B| for each B.
- ``member_*``: corpus set → its images, as ranks in the order of their names, ascending.
- ``gains``, ``images``: the heap, shape (images wanted,).

`cuihop._kernels.relevance` and `cuihop._kernels.weighted_relevance` hold this code inlined. Numba does not notice that
compiled code on disk was made from an older one: a change of this module must come with a change of those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop._kernels.shared import nn_iou_of_counts

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Counters = npt.NDArray[Any]
"""uint8, uint16 or uint32; float64 for sums of weights."""

NOBODY = np.int32(-1)
"""Placeholder for an image where a corpus has fewer than wanted."""

SETS_A_LOOK = 32  # sets compared with the bar together
_ROUNDING = 1e-5  # far above the error of a gain in single precision, so that no image is missed

gain_of_counts = compiled(nn_iou_of_counts)


@compiled
def _worse(gain: float, image: int, other_gain: float, other_image: int) -> bool:
    """Compare two images; true where the first ranks below the second: by gain, then by ascending image."""
    return gain < other_gain or (gain == other_gain and image > other_image)


@compiled
def _sink(gains: Float64, images: Int32, size: int) -> None:
    """Sift the root of a heap (the worst at the root) down to its place."""
    gain = gains[0]
    image = images[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _worse(gains[child + 1], images[child + 1], gains[child], images[child]):
            child += 1
        if not _worse(gains[child], images[child], gain, image):
            break
        gains[place] = gains[child]
        images[place] = images[child]
        place = child
    gains[place] = gain
    images[place] = image


@compiled
def enter(gain: float, members: Int32, low: int, high: int, gains: Float64, images: Int32) -> None:
    """Push the images of a set, ``members[low:high]``, onto the heap as far as they are good enough."""
    for j in range(low, high):
        if not _worse(gains[0], images[0], gain, members[j]):
            break  # nor is any later image of the same set
        gains[0] = gain
        images[0] = members[j]
        _sink(gains, images, gains.size)


@compiled
def reaches(both: int, near: float, size: int, other_size: int, lam: float, least: float) -> bool:
    """Compare the gain of one corpus set with a lower bound in single precision; false only where it is smaller."""
    bar = np.float32(least - _ROUNDING)
    common = np.float32(both)
    needed = np.float32(size) * bar + bar * (np.float32(other_size) - common)
    return bool(common + np.float32(lam) * np.float32(near) >= needed)


@compiled
def candidates(
    shared: Counters, near: Counters, size: int, sizes: Counters, lam: float, least: float, flags: UInt8, found: Int32
) -> int:
    """List the corpus sets whose gain may reach a lower bound, ascending; their number.

    Args:
        flags: uint8, shape (corpus sets, up to the next multiple of 8), zeros beyond the sets. Scratch.
        found: receives the list, int32, shape (corpus sets,).
    """
    for i in range(shared.size):
        flags[i] = reaches(shared[i], near[i], size, sizes[i], lam, least)
    eights = flags.view(np.uint64)
    count = 0
    for eight in range(eights.size):
        if eights[eight]:
            for i in range(8 * eight, 8 * eight + 8):
                if flags[i]:
                    found[count] = i
                    count += 1
    return count


@compiled
def at_least(
    shared: Counters,
    near: Counters,
    size: int,
    sizes: Counters,
    holders: Int32,
    low: int,
    high: int,
    member_indptr: Int64,
    members: Int32,
    lam: float,
    gains: Float64,
    images: Int32,
) -> float:
    """Lower bound of the last gain among the best, from the sets ``holders[low:high]``; the heap is scratch."""
    gains.fill(-1.0)
    images.fill(NOBODY)
    for i in range(low, high):
        other = holders[i]
        both = int(shared[other])
        gain = gain_of_counts(both, near[other], size + int(sizes[other]) - both, lam)
        enter(gain, members, member_indptr[other], member_indptr[other + 1], gains, images)
    return float(gains[0])


@compiled
def best(
    shared: Counters,
    near: Counters,
    size: int,
    sizes: Counters,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lam: float,
    least: float,
    gains: Float64,
    images: Int32,
) -> None:
    """Write the best images into ``images`` and their gains into ``gains``, best first. Shape (images wanted,).

    ``least``: a lower bound of the last gain among them, or a negative number.
    """
    gains.fill(-1.0)
    images.fill(set_of.size)
    for low in range(0, shared.size, SETS_A_LOOK):
        high = min(low + SETS_A_LOOK, shared.size)
        floor = max(least, gains[0])
        hits = 0
        for i in range(low, high):
            hits += int(reaches(shared[i], near[i], size, sizes[i], lam, floor))
        if hits == 0:
            continue
        for i in range(low, high):
            if not reaches(shared[i], near[i], size, sizes[i], lam, floor):
                continue
            common = int(shared[i])
            gain = gain_of_counts(common, near[i], size + int(sizes[i]) - common, lam)
            if gain > 0.0 and gain >= floor:
                enter(gain, members, member_indptr[i], member_indptr[i + 1], gains, images)
    complete(shared, near, size, sizes, set_of, lam, gains, images)


@compiled
def complete(
    shared: Counters, near: Counters, size: int, sizes: Counters, set_of: Int32, lam: float, gains: Float64,
    images: Int32,
) -> None:  # fmt: skip
    """Give the places left in the heap to images without any gain, in the order of their names, and sort it."""
    wanted = gains.size
    total = set_of.size
    image = 0
    while image < total and gains[0] < 0.0:
        other = int(set_of[image])
        common = int(shared[other])
        if gain_of_counts(common, near[other], size + int(sizes[other]) - common, lam) == 0.0:
            gains[0] = 0.0
            images[0] = image
            _sink(gains, images, wanted)
        image += 1
    for end in range(wanted - 1, 0, -1):
        gain = gains[0]
        image = images[0]
        gains[0] = gains[end]
        images[0] = images[end]
        gains[end] = gain
        images[end] = image
        _sink(gains, images, end)
    for i in range(wanted):
        if gains[i] < 0.0:
            gains[i] = 0.0
            images[i] = NOBODY
