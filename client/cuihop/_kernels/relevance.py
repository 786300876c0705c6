"""nn-IoU of query images with every image of a corpus, through an inverted index.

Equal concept sets are one row: "set" below is a distinct set, of the queries or of the corpus. Arguments that recur,
all compressed rows (``indptr`` int64, values int32):

- ``query_*``: query set → its concepts.
- ``near_*``: concept → the concepts within n hops of it, in the direction from query to corpus, itself left out.
- ``holder_*``: concept → the corpus sets that hold it.
- ``near_holder_*``: concept → the corpus sets that do not hold it, but a concept within n hops of it.
- ``member_*``: corpus set → its images, as ranks in the order of their names, ascending.

A long row of ``holder_*`` or ``near_holder_*`` is also, or instead, a line of ``lines``, uint8, shape (lines, corpus
sets): 1 for each set in the row. Adding a line is a loop over memory in order, many sets an instruction; adding a row
is one random access for each set. ``holder_line`` and ``near_holder_line``, int32, shape (concepts,), say which line,
or that there is a row, or none of both, so that the sets are found anew each time.

Of a query set A and a corpus set B they give, by counting:

- |A ∩ B|: the concepts of A that B holds;
- |rel_n(A, B)|: the concepts of A that B does not hold but that are near to B, and the concepts of B that A does not
  hold but that are near to A. These two halves are the sum over A of ``near_holder`` and the sum of ``holder`` over
  the neighbourhood of A without A.

Counters are as small as the largest sets allow: see `counter_type`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop.measures.nn_iou import nn_iou_of_counts

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Counters = npt.NDArray[Any]
"""uint8, uint16 or uint32."""

NOBODY = np.int32(-1)
"""Stands for the image where a corpus has fewer than asked for."""

ROW = -1
"""In place of the number of a line: the sets are a compressed row."""

NOT_KEPT = -2
"""In place of the number of a line: neither line nor row was kept."""

_SETS_A_LOOK = 32  # a look at so many sets at once tells whether one of them may be good enough
_FIRST_SETS = 512  # enough to learn how good the last of the best is at least
_ROUNDING = 1e-5  # far more than single precision errs in a gain, so that nothing is passed over that belongs in

_gain = compiled(nn_iou_of_counts)


def counter_type(largest_query: int, largest_image: int) -> npt.DTypeLike:
    """The smallest type that holds |rel| of any two sets, which is at most the sum of their sizes."""
    largest = largest_query + largest_image
    return np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32


@compiled
def near_holders(
    near_indptr: Int64,
    near_indices: Int32,
    holder_indptr: Int64,
    holders: Int32,
    near_holder_line: Int32,
    seen: Int32,
    lengths: Int64,
    indptr: Int64,
    found: Int32,
    lines: UInt8,
) -> None:
    """Rows and lines ``near_holder_*`` of those concepts that ``near_holder_line`` gives one, and all lengths.

    Args:
        near_indptr, …: see the module.
        seen: int32, shape (corpus sets,), zeros. Scratch.
        lengths: int64, shape (concepts,): receives how many sets each concept has.
        indptr, found: where the rows stand, and their values. ``found`` may be empty where there are no rows.
        lines: receives the lines, zeros before.
    """
    for concept in range(near_indptr.size - 1):
        if near_indptr[concept] == near_indptr[concept + 1]:
            lengths[concept] = 0
            continue
        line = near_holder_line[concept]
        stamp = concept + 1
        for i in range(holder_indptr[concept], holder_indptr[concept + 1]):
            seen[holders[i]] = stamp
        filled = indptr[concept]
        length = 0
        for j in range(near_indptr[concept], near_indptr[concept + 1]):
            other = near_indices[j]
            for i in range(holder_indptr[other], holder_indptr[other + 1]):
                holder = holders[i]
                if seen[holder] != stamp:
                    seen[holder] = stamp
                    length += 1
                    if line >= 0:
                        lines[line, holder] = 1
                    elif line == ROW:
                        found[filled] = holder
                        filled += 1
        lengths[concept] = length


@compiled
def _add_line(counts: Counters, line: UInt8) -> None:
    """Add 1 to the counter of each set of a line."""
    for i in range(counts.size):
        counts[i] += line[i]


@compiled
def _add_row(counts: Counters, sets: Int32, low: int, high: int) -> None:
    """Add 1 to the counter of each of ``sets[low:high]``."""
    for i in range(low, high):
        counts[sets[i]] += 1


@compiled
def _add_near_holders(
    counts: Counters,
    concept: int,
    near_indptr: Int64,
    near_indices: Int32,
    holder_indptr: Int64,
    holders: Int32,
    seen: UInt8,
) -> None:
    """Add 1 to the counter of each near holder of a concept that has neither line nor row. ``seen``: scratch."""
    seen.fill(0)
    for i in range(holder_indptr[concept], holder_indptr[concept + 1]):
        seen[holders[i]] = 1
    for j in range(near_indptr[concept], near_indptr[concept + 1]):
        other = near_indices[j]
        for i in range(holder_indptr[other], holder_indptr[other + 1]):
            holder = holders[i]
            counts[holder] += 1 - seen[holder]
            seen[holder] = 1


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
def _enter(gain: float, members: Int32, low: int, high: int, gains: Float64, images: Int32) -> None:
    """Let the images of a set, ``members[low:high]``, into the heap as far as they are good enough."""
    for j in range(low, high):
        if not _worse(gains[0], images[0], gain, members[j]):
            break  # nor is any later image of the same set
        gains[0] = gain
        images[0] = members[j]
        _sink(gains, images, gains.size)


@compiled
def _at_least(
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
    """A gain that the last of the best has at least, from the sets ``holders[low:high]``; the heap is scratch."""
    gains.fill(-1.0)
    images.fill(NOBODY)
    for i in range(low, high):
        other = holders[i]
        both = int(shared[other])
        gain = _gain(both, int(near[other]), size + int(sizes[other]) - both, lam)
        _enter(gain, members, member_indptr[other], member_indptr[other + 1], gains, images)
    return float(gains[0])


@compiled
def _best(
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
    """The best images into ``images`` and their gains into ``gains``, best first. Shape (as many as wanted,).

    ``least``: a gain that the last of them has at least, or a negative number.
    """
    kept = gains.size
    total = set_of.size
    gains.fill(-1.0)
    images.fill(total)
    single_lam = np.float32(lam)
    for low in range(0, shared.size, _SETS_A_LOOK):
        high = min(low + _SETS_A_LOOK, shared.size)
        floor = max(least, gains[0])
        bar = np.float32(floor - _ROUNDING)
        bar_a = np.float32(size) * bar
        hits = 0
        for i in range(low, high):
            both = np.float32(shared[i])
            enough = both + single_lam * np.float32(near[i]) >= bar_a + bar * (np.float32(sizes[i]) - both)
            hits += int(enough)
        if hits == 0:
            continue
        for i in range(low, high):
            both = np.float32(shared[i])
            if both + single_lam * np.float32(near[i]) < bar_a + bar * (np.float32(sizes[i]) - both):
                continue
            common = int(shared[i])
            gain = _gain(common, int(near[i]), size + int(sizes[i]) - common, lam)
            if gain > 0.0 and gain >= floor:
                _enter(gain, members, member_indptr[i], member_indptr[i + 1], gains, images)
    # Images without any gain take the places that are left, in the order of their names.
    image = 0
    while image < total and gains[0] < 0.0:
        other = int(set_of[image])
        if int(shared[other]) + lam * int(near[other]) == 0.0:
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
    holder_line: Int32,
    near_holder_indptr: Int64,
    near_holders: Int32,
    near_holder_line: Int32,
    lines: UInt8,
    sizes: Counters,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lams: Float64,
    asker_indptr: Int64,
    asked: Int32,
    shared: Counters,
    near: Counters,
    seen: UInt8,
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
        shared, near, seen, stamps: scratch of one thread: (corpus sets,) thrice, and zeros (concepts,). ``stamps``
            must not be shared between two runs.
        best_gains, best_images: receive the best of the corpus, shape (λ, query sets of the block, wanted).
        asked_gains: receives the gains looked up, shape (λ, rows of ``asked``, depth).
    """
    wanted = best_gains.shape[2]
    for row in range(best_gains.shape[1]):
        query = first + row
        stamp = query + 1
        low = query_indptr[query]
        high = query_indptr[query + 1]
        size = high - low
        shared.fill(0)
        near.fill(0)
        rarest = NOBODY
        for i in range(low, high):
            stamps[query_concepts[i]] = stamp
        for i in range(low, high):
            a = query_concepts[i]
            begin = holder_indptr[a]
            length = holder_indptr[a + 1] - begin
            if length >= wanted and (rarest == NOBODY or length < holder_indptr[rarest + 1] - holder_indptr[rarest]):
                rarest = a
            if holder_line[a] >= 0:
                _add_line(shared, lines[holder_line[a]])
            else:
                _add_row(shared, holders, begin, begin + length)
            if near_holder_line[a] >= 0:
                _add_line(near, lines[near_holder_line[a]])
            elif near_holder_line[a] == ROW:
                _add_row(near, near_holders, near_holder_indptr[a], near_holder_indptr[a + 1])
            else:
                _add_near_holders(near, a, near_indptr, near_indices, holder_indptr, holders, seen)
            for j in range(near_indptr[a], near_indptr[a + 1]):
                b = near_indices[j]
                if stamps[b] != stamp:
                    stamps[b] = stamp
                    if holder_line[b] >= 0:
                        _add_line(near, lines[holder_line[b]])
                    else:
                        _add_row(near, holders, holder_indptr[b], holder_indptr[b + 1])
        for level in range(lams.size):
            lam = lams[level]
            least = -1.0
            if rarest != NOBODY:
                begin = holder_indptr[rarest]
                least = _at_least(
                    shared, near, size, sizes, holders, begin, min(begin + _FIRST_SETS, holder_indptr[rarest + 1]),
                    member_indptr, members, lam, best_gains[level, row], best_images[level, row],
                )  # fmt: skip
            _best(
                shared, near, size, sizes, member_indptr, members, set_of, lam, least,
                best_gains[level, row], best_images[level, row],
            )  # fmt: skip
            for asker in range(asker_indptr[row], asker_indptr[row + 1]):
                for rank in range(asked.shape[1]):
                    other = asked[asker, rank]
                    if other >= 0:
                        both = int(shared[other])
                        union = size + int(sizes[other]) - both
                        asked_gains[level, asker, rank] = _gain(both, int(near[other]), union, lam)
