"""nn-IoU whose near concepts weigh a similarity: every gain that counts exactly, the others by an upper bound.

The weight of a near concept is its largest similarity to a concept of the other set within n hops, times λ. Rounded up
to a multiple of 1 / `UNITS`, weights are small whole numbers, and the upper bounds of all gains of a query are added as
`cuihop._kernels.relevance` adds counts. Gains are then computed exactly for the retrieved images and for those whose
upper bound reaches the lower bound of the last gain among the best. So results are exact, and rounding costs only time.

Sums are in a fixed order, of the near concepts of A and of B apart, by the number of the concept: see
`cuihop.measures.nearness.credit_of_near`. So gains depend neither on memory nor on threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cuihop._kernels.best_images import (
    Corpus,
    Counters,
    Counts,
    candidates,
    clear,
    complete,
    enter,
    gain_of,
    lower_bound,
    reaches,
)
from cuihop._kernels.jit import compiled
from cuihop._kernels.relevance import (
    ROW,
    Block,
    Results,
    add_line,
    add_row,
    holders_of_rarest,
    look_up,
)
from cuihop.resources.arrays import Float64, Int32, Int64, UInt8

UNITS = 255
"""Units of a similarity of 1."""


class WeightedIndex(NamedTuple):
    """`cuihop._kernels.relevance.Index` with weights.

    Attributes:
        near_indptr, near_indices: only concepts with a similarity above 0, given by ``near_weights``, float64, and
            rounded up by ``near_units``, uint8, as long as ``near_indices``.
        near_holder_units: uint8, as long as ``near_holders``: units of the concept in each set. The lines of
            ``near_holder_line`` hold units too.
        corpus_indptr, corpus_concepts: corpus set → its concepts, ascending.
    """

    near_indptr: Int64
    near_indices: Int32
    near_weights: Float64
    near_units: UInt8
    holder_indptr: Int64
    holders: Int32
    holder_line: Int32
    near_holder_indptr: Int64
    near_holders: Int32
    near_holder_units: UInt8
    near_holder_line: Int32
    lines: UInt8
    corpus_indptr: Int64
    corpus_concepts: Int32


class Links(NamedTuple):
    """Concepts near to a query set, each with a linked list of links to concepts of the query. Scratch of one thread.

    Attributes:
        stamps: zeros: marks the concepts of the query and those near to it; shape (concepts,), as the next five.
        positions: of a concept of the query in it, -1 for others. firsts: the first link of each concept, -1 for none.
        largest, units: the largest weight of each concept, and its units. touched: the near concepts outside the query.
        following, owners, weights: of each link: the next one or -1, the position of its concept of the query, its
            weight.
        own: scratch of `_weight_of_near`, shape (concepts of the query,).
    """

    stamps: Int32
    positions: Int32
    firsts: Int32
    largest: Float64
    units: UInt8
    touched: Int32
    following: Int32
    owners: Int32
    weights: Float64
    own: Float64


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
    sets: Int32,
    set_units: UInt8,
    lines: UInt8,
) -> None:
    """Build the rows and lines ``near_holder_*`` with their units, of rows whose lengths are known.

    Args:
        near_indptr, …: see `WeightedIndex`. seen, which holds zeros, and units: shape (corpus sets,). Scratch.
        indptr, sets, set_units: the rows. lines: receives the lines, zeros before.
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
                        sets[filled] = holder
                        set_units[filled] = units[holder]
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
def _near_of_query(stamp: int, concepts: Int32, index: WeightedIndex, links: Links) -> int:
    """Link the concepts near to a query set; return the number of those outside it, in ``touched``."""
    stamps, positions, firsts, largest, units, touched, following, owners, weights, _ = links
    near_indptr, near_indices, near_weights, near_units = index[:4]
    for i in range(concepts.size):
        a = concepts[i]
        stamps[a] = stamp
        positions[a] = i
        firsts[a] = -1
    link = 0
    count = 0
    for i in range(concepts.size):
        for j in range(near_indptr[concepts[i]], near_indptr[concepts[i] + 1]):
            b = near_indices[j]
            if stamps[b] != stamp:
                stamps[b] = stamp
                positions[b] = -1
                firsts[b] = -1
                largest[b] = 0.0
                units[b] = 0
                touched[count] = b
                count += 1
            following[link] = firsts[b]
            owners[link] = i
            weights[link] = near_weights[j]
            firsts[b] = link
            link += 1
            largest[b] = max(largest[b], near_weights[j])
            units[b] = max(units[b], near_units[j])
    return count


@compiled
def _weight_of_near(other: int, stamp: int, size: int, index: WeightedIndex, links: Links) -> float:
    """The sum of the weights of the near concepts of a query set and of a corpus set, without λ."""
    for i in range(size):
        links.own[i] = 0.0
    of_b = 0.0
    for b in index.corpus_concepts[index.corpus_indptr[other] : index.corpus_indptr[other + 1]]:
        if links.stamps[b] != stamp:
            continue
        link = links.firsts[b]
        while link >= 0:
            owner = links.owners[link]
            if links.own[owner] >= 0.0:
                links.own[owner] = max(links.own[owner], links.weights[link])
            link = links.following[link]
        if links.positions[b] >= 0:
            links.own[links.positions[b]] = -1.0  # shared
        else:
            of_b += links.largest[b]
    of_a = 0.0
    for i in range(size):
        if links.own[i] > 0.0:
            of_a += links.own[i]
    return of_a + of_b


@compiled
def _bound_of_query(
    concepts: Int32, index: WeightedIndex, touched: Int32, units: UInt8, shared: Counters, bound: Counters, seen: Int32,
    seen_units: UInt8,
) -> None:  # fmt: skip
    """Count |A ∩ B| into ``shared``, and the upper bound of the weights into ``bound``, for each corpus set B."""
    near_indptr, near_indices, _, near_units, holder_indptr, holders, holder_line = index[:7]
    near_holder_indptr, near_holders, near_holder_units, near_holder_line, lines = index[7:12]
    shared.fill(0)
    bound.fill(0)
    for a in concepts:
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
    for b in touched:
        if holder_line[b] >= 0:
            _add_line_times(bound, lines[holder_line[b]], units[b])
        else:
            for j in range(holder_indptr[b], holder_indptr[b + 1]):
                bound[holders[j]] += units[b]


@compiled
def score_by_similarity(
    block: Block, index: WeightedIndex, corpus: Corpus, scratch: tuple[Any, ...], results: Results
) -> None:
    """`cuihop._kernels.relevance.score` with the weight λ times the largest similarity.

    Args:
        scratch: of one thread: ``shared``, ``bound`` and ``sums``, shape (corpus sets,): |A ∩ B|, the upper bound of
            the weights in units, and their exact sum where it was computed, else 0; ``flags`` and ``sets`` as in
            `cuihop._kernels.best_images.candidates`; ``seen`` and ``units`` as in `near_holders_in_units`; `Links`.
    """
    shared, bound, sums, flags, sets, seen, seen_units = scratch[:7]
    links = Links(*scratch[7:])
    for row in range(results.gains.shape[1]):
        concepts = block.concepts[block.indptr[block.first + row] : block.indptr[block.first + row + 1]]
        size = concepts.size
        stamp = block.first + row + 1
        count = _near_of_query(stamp, concepts, index, links)
        _bound_of_query(concepts, index, links.touched[:count], links.units, shared, bound, seen, seen_units)
        sums.fill(0.0)
        for line in range(block.target_indptr[row], block.target_indptr[row + 1]):
            for rank in range(block.targets.shape[1]):
                other = block.targets[line, rank]
                if other >= 0 and bound[other] > 0 and sums[other] == 0.0:
                    sums[other] = _weight_of_near(other, stamp, size, index, links)
        rarest = holders_of_rarest(concepts, index.holder_indptr, results.gains.shape[2])
        for level in range(block.lams.size):
            lam = block.lams[level]
            gains, images = results.gains[level, row], results.images[level, row]
            bounds, counts = Counts(shared, bound, size, lam / UNITS), Counts(shared, sums, size, lam)
            least = lower_bound(bounds, corpus, index.holders, rarest, gains, images)
            if least >= 0.0:  # of upper bounds: the exact gains of any images, as many as wanted, give a lower bound
                for i in range(images.size):
                    other = corpus.set_of[images[i]]
                    if bound[other] > 0 and sums[other] == 0.0:
                        sums[other] = _weight_of_near(other, stamp, size, index, links)
                    least = min(least, gain_of(other, counts, corpus))
            reaching = candidates(bounds, corpus, least, flags, sets)
            clear(gains, images, corpus)
            for i in range(reaching):
                other = sets[i]
                floor = max(least, gains[0])
                if not reaches(shared[other], bound[other], size, corpus.sizes[other], bounds.lam, floor):
                    continue
                if bound[other] > 0 and sums[other] == 0.0:
                    sums[other] = _weight_of_near(other, stamp, size, index, links)
                gain = gain_of(other, counts, corpus)
                if gain > 0.0 and gain >= floor:
                    enter(other, gain, corpus, gains, images)
            complete(counts, corpus, gains, images)
            look_up(row, level, counts, block, corpus, results)
