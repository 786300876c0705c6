"""nn-IoU whose near concepts weigh a similarity: every gain that counts exactly, the others by an upper bound.

The weight of a near concept is its largest similarity to a concept of the other set within n hops, times λ. Rounded up
to a multiple of 1 / `UNITS`, weights are small whole numbers, and the upper bounds of all gains of a query are added as
`cuihop._kernels.relevance` adds counts. Gains are then computed exactly for the retrieved images and for those whose
upper bound reaches the lower bound of the last gain among the best. So results are exact, and rounding costs only time.

Arguments as in `cuihop._kernels.relevance`, and:

- ``near_*``: only concepts with a similarity above 0, given by ``near_weights``, float64, and rounded up by
  ``near_units``, uint8, as long as ``near_indices``.
- ``near_holder_units``: uint8, as long as ``near_holders``: units of the concept in each set. The lines of
  ``near_holder_line`` hold units too.
- ``corpus_*``: corpus set → its concepts, ascending.

Sums are in a fixed order, of the near concepts of A and of B apart, by the number of the concept: see
`cuihop.measures.near_weight.credit_of_near`. So gains depend neither on memory nor on threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.best_images import candidates, complete, enter, gain_of_counts, reaches
from cuihop._kernels.jit import compiled
from cuihop._kernels.relevance import ROW, add_line, add_row, look_up, lower_bound, rarest

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Counters = npt.NDArray[Any]
"""uint8, uint16 or uint32."""

UNITS = 255
"""Units of a similarity of 1."""


@compiled
def near_holders_in_units(
    near_indptr: Int64,
    near_indices: Int32,
    near_units: UInt8,
    holder_indptr: Int64,
    holders: Int32,
    near_holder_line: Int32,
    seen: Int32,
    units: UInt8,
    indptr: Int64,
    found: Int32,
    found_units: UInt8,
    lines: UInt8,
) -> None:
    """Build the rows and lines ``near_holder_*`` with their units, of rows whose lengths are known.

    Args:
        near_indptr, …: see the module. seen: int32, zeros, and units: uint8, shape (corpus sets,). Scratch.
        indptr, found, found_units: the rows. lines: receives the lines, zeros before.
    """
    for concept in range(near_indptr.size - 1):
        line = near_holder_line[concept]
        if line < 0 and indptr[concept] == indptr[concept + 1]:
            continue
        _units_of_holders(
            concept, near_indptr, near_indices, near_units, holder_indptr, holders, seen, units,
        )  # fmt: skip
        stamp = concept + 1
        filled = indptr[concept]
        for j in range(near_indptr[concept], near_indptr[concept + 1]):
            other = near_indices[j]
            for i in range(holder_indptr[other], holder_indptr[other + 1]):
                holder = holders[i]
                if seen[holder] == stamp:
                    seen[holder] = -stamp
                    if line >= 0:
                        lines[line, holder] = units[holder]
                    else:
                        found[filled] = holder
                        found_units[filled] = units[holder]
                        filled += 1


@compiled
def _units_of_holders(
    concept: int,
    near_indptr: Int64,
    near_indices: Int32,
    near_units: UInt8,
    holder_indptr: Int64,
    holders: Int32,
    seen: Int32,
    units: UInt8,
) -> None:
    """Units of a concept in each set that does not hold it, but a near one; such a set is stamped in ``seen``."""
    stamp = concept + 1
    for i in range(holder_indptr[concept], holder_indptr[concept + 1]):
        seen[holders[i]] = -stamp
    for j in range(near_indptr[concept], near_indptr[concept + 1]):
        other = near_indices[j]
        for i in range(holder_indptr[other], holder_indptr[other + 1]):
            holder = holders[i]
            if seen[holder] == stamp:
                units[holder] = max(units[holder], near_units[j])
            elif seen[holder] != -stamp:
                seen[holder] = stamp
                units[holder] = near_units[j]


@compiled
def _add_line_times(counts: Counters, line: UInt8, unit: int) -> None:
    """Add units to the counter of each set of a line of zeros and ones."""
    small = counts.dtype.type(unit)
    for i in range(counts.size):
        counts[i] += small * line[i]


@compiled
def _add_row_units(counts: Counters, sets: Int32, units: UInt8, low: int, high: int) -> None:
    """Add ``units[low:high]`` to the counters of ``sets[low:high]``."""
    for i in range(low, high):
        counts[sets[i]] += units[i]


@compiled
def _near_of_query(
    stamp: int,
    concepts: Int32,
    near_indptr: Int64,
    near_indices: Int32,
    near_weights: Float64,
    near_units: UInt8,
    stamps: Int32,
    places: Int32,
    firsts: Int32,
    largest: Float64,
    units: UInt8,
    touched: Int32,
    following: Int32,
    owners: Int32,
    weights: Float64,
) -> int:
    """List the concepts near to a query set, with their weights; the number of those outside it, in ``touched``.

    Args:
        stamp: marks the concepts of this query in ``stamps``. concepts: of the query.
        places: receives the place of a concept of the query in it, -1 for others.
        largest, units: receive the largest weight of each concept, and its units.
        firsts, following: receive a linked list for each concept: of the links to concepts of the query, whose places
            are in ``owners`` and weights in ``weights``. Ends with -1.
    """
    for i in range(concepts.size):
        a = concepts[i]
        stamps[a] = stamp
        places[a] = i
        firsts[a] = -1
    links = 0
    count = 0
    for i in range(concepts.size):
        for j in range(near_indptr[concepts[i]], near_indptr[concepts[i] + 1]):
            b = near_indices[j]
            if stamps[b] != stamp:
                stamps[b] = stamp
                places[b] = -1
                firsts[b] = -1
                largest[b] = 0.0
                units[b] = 0
                touched[count] = b
                count += 1
            following[links] = firsts[b]
            owners[links] = i
            weights[links] = near_weights[j]
            firsts[b] = links
            links += 1
            largest[b] = max(largest[b], near_weights[j])
            units[b] = max(units[b], near_units[j])
    return count


@compiled
def _weight_of_near(
    stamp: int,
    size: int,
    concepts: Int32,
    stamps: Int32,
    places: Int32,
    firsts: Int32,
    largest: Float64,
    following: Int32,
    owners: Int32,
    weights: Float64,
    own: Float64,
) -> float:
    """The sum of the weights of the near concepts of a query set and of ``concepts``, a corpus set, without λ."""
    for i in range(size):
        own[i] = 0.0
    of_b = 0.0
    for i in range(concepts.size):
        b = concepts[i]
        if stamps[b] != stamp:
            continue
        link = firsts[b]
        while link >= 0:
            if own[owners[link]] >= 0.0:
                own[owners[link]] = max(own[owners[link]], weights[link])
            link = following[link]
        if places[b] >= 0:
            own[places[b]] = -1.0  # shared
        else:
            of_b += largest[b]
    of_a = 0.0
    for i in range(size):
        if own[i] > 0.0:
            of_a += own[i]
    return of_a + of_b


@compiled
def _add_exactly(
    other: int, stamp: int, size: int, bound: Counters, sums: Float64, corpus_indptr: Int64, corpus_concepts: Int32,
    near: tuple[Any, ...],
) -> None:  # fmt: skip
    """Compute the sum of one corpus set, unless it is 0 or known. ``near``: the last arguments of `_weight_of_near`."""
    if bound[other] > 0 and sums[other] == 0.0:
        concepts = corpus_concepts[corpus_indptr[other] : corpus_indptr[other + 1]]
        sums[other] = _weight_of_near(stamp, size, concepts, *near)


@compiled
def score_by_similarity(
    first: int,
    query_indptr: Int64,
    query_concepts: Int32,
    near_indptr: Int64,
    near_indices: Int32,
    near_weights: Float64,
    near_units: UInt8,
    holder_indptr: Int64,
    holders: Int32,
    holder_line: Int32,
    near_holder_indptr: Int64,
    near_holders: Int32,
    near_holder_units: UInt8,
    near_holder_line: Int32,
    lines: UInt8,
    corpus_indptr: Int64,
    corpus_concepts: Int32,
    sizes: Counters,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lams: Float64,
    target_indptr: Int64,
    targets: Int32,
    shared: Counters,
    bound: Counters,
    sums: Float64,
    flags: UInt8,
    found: Int32,
    seen: Int32,
    seen_units: UInt8,
    stamps: Int32,
    places: Int32,
    firsts: Int32,
    largest: Float64,
    units: UInt8,
    touched: Int32,
    following: Int32,
    owners: Int32,
    weights: Float64,
    own: Float64,
    best_gains: Float64,
    best_images: Int32,
    target_gains: Float64,
) -> None:
    """`cuihop._kernels.relevance.score` with the weight λ times the largest similarity.

    Args:
        first, …: see the module and `cuihop._kernels.relevance.score`.
        shared, bound, sums: scratch, shape (corpus sets,): |A ∩ B|, the upper bound of the weights in units, and
            their exact sum where it was computed, else 0. flags, found: as in `cuihop._kernels.best_images.candidates`.
        seen, seen_units: as in `near_holders_in_units`. stamps: int32, zeros, shape (concepts,), of one thread.
        places, …, own: as in `_near_of_query` and `_weight_of_near`.
    """
    for row in range(best_gains.shape[1]):
        query = first + row
        concepts = query_concepts[query_indptr[query] : query_indptr[query + 1]]
        size = concepts.size
        stamp = query + 1
        count = _near_of_query(
            stamp, concepts, near_indptr, near_indices, near_weights, near_units, stamps, places, firsts, largest,
            units, touched, following, owners, weights,
        )  # fmt: skip
        shared.fill(0)
        bound.fill(0)
        sums.fill(0.0)
        for i in range(size):
            a = concepts[i]
            if holder_line[a] >= 0:
                add_line(shared, lines[holder_line[a]])
            else:
                add_row(shared, holders, holder_indptr[a], holder_indptr[a + 1])
            if near_holder_line[a] >= 0:
                add_line(bound, lines[near_holder_line[a]])
            elif near_holder_line[a] == ROW:
                _add_row_units(bound, near_holders, near_holder_units, near_holder_indptr[a], near_holder_indptr[a + 1])
            else:
                seen.fill(0)
                _units_of_holders(a, near_indptr, near_indices, near_units, holder_indptr, holders, seen, seen_units)
                for other in range(seen.size):
                    if seen[other] > 0:
                        bound[other] += seen_units[other]
        for i in range(count):
            b = touched[i]
            if holder_line[b] >= 0:
                _add_line_times(bound, lines[holder_line[b]], units[b])
            else:
                for j in range(holder_indptr[b], holder_indptr[b + 1]):
                    bound[holders[j]] += units[b]
        near = (stamps, places, firsts, largest, following, owners, weights, own)
        start = target_indptr[row]
        end = target_indptr[row + 1]
        for line in range(start, end):
            for rank in range(targets.shape[1]):
                if targets[line, rank] >= 0:
                    _add_exactly(targets[line, rank], stamp, size, bound, sums, corpus_indptr, corpus_concepts, near)
        rarest_concept = rarest(concepts, holder_indptr, best_gains.shape[2])
        for level in range(lams.size):
            lam = lams[level]
            gains = best_gains[level, row]
            images = best_images[level, row]
            least = lower_bound(
                shared, bound, size, sizes, rarest_concept, holder_indptr, holders, member_indptr, members,
                lam / UNITS, gains, images,
            )  # fmt: skip
            if least >= 0.0:  # of upper bounds: the exact gains of any images, as many as wanted, give a lower bound
                for i in range(images.size):
                    other = set_of[images[i]]
                    _add_exactly(other, stamp, size, bound, sums, corpus_indptr, corpus_concepts, near)
                    both = int(shared[other])
                    least = min(least, gain_of_counts(both, sums[other], size + int(sizes[other]) - both, lam))
            reaching = candidates(shared, bound, size, sizes, lam / UNITS, least, flags, found)
            gains.fill(-1.0)
            images.fill(set_of.size)
            for i in range(reaching):
                other = found[i]
                floor = max(least, gains[0])
                if not reaches(shared[other], bound[other], size, sizes[other], lam / UNITS, floor):
                    continue
                _add_exactly(other, stamp, size, bound, sums, corpus_indptr, corpus_concepts, near)
                both = int(shared[other])
                gain = gain_of_counts(both, sums[other], size + int(sizes[other]) - both, lam)
                if gain > 0.0 and gain >= floor:
                    enter(gain, members, member_indptr[other], member_indptr[other + 1], gains, images)
            complete(shared, sums, size, sizes, set_of, lam, gains, images)
            look_up(shared, sums, size, sizes, lam, targets[start:end], target_gains[level, start:end])
