"""nn-IoU of query images with every image of a corpus, through an inverted index.

Equal concept sets are one row: "set" below is a distinct set, of the queries or of the corpus. Arguments that recur,
all compressed rows (``indptr`` int64, values int32):

- ``query_*``: query set → its concepts.
- ``near_*``: concept → the concepts within n hops of it, in the direction from query to corpus, itself left out.
- ``holder_*``: concept → the corpus sets that hold it.
- ``near_holder_*``: concept → the corpus sets that do not hold it, but a concept within n hops of it.
- ``member_*``: corpus set → its images, as ranks in the order of their names, ascending.

Of a query set A and a corpus set B they give, by counting:

- |A ∩ B|: the concepts of A that B holds;
- |rel_n(A, B)|: the concepts of A that B does not hold but that are near to B, and the concepts of B that A does not
  hold but that are near to A. These two halves are the sum over A of ``near_holder`` and the sum of ``holder`` over
  the neighbourhood of A without A.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop.measures.nn_iou import nn_iou_of_counts

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

NOBODY = np.int32(-1)
"""Stands for the image where a corpus has fewer than asked for."""

_SHARED = 1 << 32  # one counter for both numbers: |A ∩ B| above, |rel| in the lower 32 bits
_NEAR_BITS = _SHARED - 1

_BELOW_ONE = 1.0 - 1e-9  # far more than rounding can do, so that nothing is passed over that belongs in

_gain = compiled(nn_iou_of_counts)


@compiled
def near_holders(
    near_indptr: Int64,
    near_indices: Int32,
    holder_indptr: Int64,
    holders: Int32,
    seen: Int32,
    indptr: Int64,
    found: Int32,
) -> None:
    """The rows ``near_holder_*``: their ends into ``indptr``, and where ``found`` has room for all, their values.

    Called twice: with an empty ``found`` it counts. ``seen``: int32, shape (corpus sets,), zeros.
    """
    filled = 0
    for concept in range(near_indptr.size - 1):
        stamp = concept + 1
        for i in range(holder_indptr[concept], holder_indptr[concept + 1]):
            seen[holders[i]] = stamp
        for j in range(near_indptr[concept], near_indptr[concept + 1]):
            other = near_indices[j]
            for i in range(holder_indptr[other], holder_indptr[other + 1]):
                holder = holders[i]
                if seen[holder] != stamp:
                    seen[holder] = stamp
                    if found.size > 0:
                        found[filled] = holder
                    filled += 1
        indptr[concept + 1] = filled


@compiled
def _count(counts: Int64, touched: Int32, used: int, sets: Int32, low: int, high: int, weight: int) -> int:
    """Add ``weight`` to the counter of each of ``sets[low:high]``; list those not yet in ``touched[:used]``."""
    for i in range(low, high):
        other = sets[i]
        if counts[other] == 0:
            touched[used] = other
            used += 1
        counts[other] += weight
    return used


@compiled
def _worse(gain: float, image: int, other_gain: float, other_image: int) -> bool:
    """Whether the first comes after the second: gain descending, then image ascending."""
    return gain < other_gain or (gain == other_gain and image > other_image)


@compiled
def _sink(gains: Float64, images: Int32, size: int) -> None:
    """Let the root of a heap (the worst at the root) go down to its place."""
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
def _best(
    counts: Int64,
    touched: Int32,
    used: int,
    size: int,
    sizes: Int64,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lam: float,
    gains: Float64,
    images: Int32,
) -> None:
    """The best images into ``images`` and their gains into ``gains``, best first. Shape (as many as wanted,)."""
    kept = gains.size
    total = set_of.size
    gains.fill(-1.0)
    images.fill(total)
    for i in range(used):
        other = touched[i]
        shared = counts[other] >> 32
        near = counts[other] & _NEAR_BITS
        union = size + sizes[other] - shared
        if shared + near < gains[0] * union * _BELOW_ONE:  # for no λ up to 1 good enough: saves the division
            continue
        gain = _gain(shared, near, union, lam)
        if gain == 0.0:
            continue
        for j in range(member_indptr[other], member_indptr[other + 1]):
            if not _worse(gains[0], images[0], gain, members[j]):
                break  # nor is any later image of the same set
            gains[0] = gain
            images[0] = members[j]
            _sink(gains, images, kept)
    # Images without any gain take the places that are left, in the order of their names.
    image = 0
    while image < total and gains[0] < 0.0:
        found = counts[set_of[image]]
        if found == 0 or (found >> 32) + lam * (found & _NEAR_BITS) == 0.0:
            gains[0] = 0.0
            images[0] = image
            _sink(gains, images, kept)
        image += 1
    for end in range(kept - 1, 0, -1):
        gain = gains[0]
        image = images[0]
        gains[0] = gains[end]
        images[0] = images[end]
        gains[end] = gain
        images[end] = image
        _sink(gains, images, end)
    for i in range(kept):
        if gains[i] < 0.0:
            gains[i] = 0.0
            images[i] = NOBODY


@compiled
def score(
    first: int,
    query_indptr: Int64,
    query_concepts: Int32,
    near_indptr: Int64,
    near_indices: Int32,
    holder_indptr: Int64,
    holders: Int32,
    near_holder_indptr: Int64,
    near_holders: Int32,
    sizes: Int64,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lams: Float64,
    asker_indptr: Int64,
    asked: Int32,
    counts: Int64,
    touched: Int32,
    stamps: Int32,
    best_gains: Float64,
    best_images: Int32,
    asked_gains: Float64,
) -> None:
    """Score the query sets ``first``, ``first + 1``, … against the whole corpus.

    Args:
        first, …: see the module.
        sizes: concepts of each corpus set. set_of: corpus set of each image, images by their rank.
        lams: the values of λ.
        asker_indptr, asked: query set → rows of ``asked``; shape (rows, depth): corpus sets to look up, -1 for none.
            Both begin with this block's.
        counts, touched, stamps: scratch of one thread: zeros (corpus sets,), (corpus sets,), zeros (concepts,).
            ``stamps`` must not be shared between two runs.
        best_gains, best_images: receive the best of the corpus, shape (λ, query sets of the block, wanted).
        asked_gains: receives the gains looked up, shape (λ, rows of ``asked``, depth).
    """
    for row in range(best_gains.shape[1]):
        query = first + row
        stamp = query + 1
        low = query_indptr[query]
        high = query_indptr[query + 1]
        size = high - low
        used = 0
        for i in range(low, high):
            stamps[query_concepts[i]] = stamp
        for i in range(low, high):
            a = query_concepts[i]
            used = _count(counts, touched, used, holders, holder_indptr[a], holder_indptr[a + 1], _SHARED)
            used = _count(counts, touched, used, near_holders, near_holder_indptr[a], near_holder_indptr[a + 1], 1)
            for j in range(near_indptr[a], near_indptr[a + 1]):
                b = near_indices[j]
                if stamps[b] != stamp:
                    stamps[b] = stamp
                    used = _count(counts, touched, used, holders, holder_indptr[b], holder_indptr[b + 1], 1)
        for level in range(lams.size):
            lam = lams[level]
            _best(
                counts, touched, used, size, sizes, member_indptr, members, set_of, lam,
                best_gains[level, row], best_images[level, row],
            )  # fmt: skip
            for asker in range(asker_indptr[row], asker_indptr[row + 1]):
                for rank in range(asked.shape[1]):
                    other = asked[asker, rank]
                    if other >= 0:
                        shared = counts[other] >> 32
                        union = size + sizes[other] - shared
                        asked_gains[level, asker, rank] = _gain(shared, counts[other] & _NEAR_BITS, union, lam)
        for i in range(used):
            counts[touched[i]] = 0
