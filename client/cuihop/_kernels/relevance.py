"""nn-IoU of query images with every image of a corpus, through an inverted index.

Equal concept sets share one row: a "set" below is a distinct set, of the queries or of the corpus. Arguments that
recur, all compressed rows (``indptr`` int64, values int32):

- ``query_*``: query set → its concepts.
- ``near_*``: concept → the concepts within n hops of it, in the direction from query to corpus, itself left out.
- ``holder_*``: concept → the corpus sets that hold it.
- ``near_holder_*``: concept → the corpus sets that do not hold it, but a concept within n hops of it.
- ``member_*``: corpus set → its images, as ranks in the order of their names, ascending.

A long row of ``holder_*`` or ``near_holder_*`` is also, or instead, a line of ``lines``, uint8, shape (lines, corpus
sets): 1 for each set in the row. Adding a line is a loop over memory in order, many sets an instruction; adding a row
is one random access for each set. ``holder_line`` and ``near_holder_line``, int32, shape (concepts,), give the line,
`ROW`, or `NOT_KEPT` where the sets are computed anew each time.

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

from cuihop._kernels.best_images import NOBODY, at_least, best, gain_of_counts
from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]
Counters = npt.NDArray[Any]
"""uint8, uint16 or uint32."""

ROW = -1
"""In place of the number of a line: the sets are a compressed row."""

NOT_KEPT = -2
"""In place of the number of a line: neither line nor row is stored."""

_FIRST_SETS = 512  # enough for a good lower bound of the last gain among the best


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
    """Build the rows and lines ``near_holder_*`` of the concepts with one in ``near_holder_line``, and all lengths.

    Args:
        near_indptr, …: see the module.
        seen: int32, shape (corpus sets,), zeros. Scratch.
        lengths: int64, shape (concepts,): receives the number of sets of each concept.
        indptr, found: offsets of the rows, and their values. ``found`` may be empty where there are no rows.
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
def add_line(counts: Counters, line: UInt8) -> None:
    """Add 1 to the counter of each set of a line."""
    for i in range(counts.size):
        counts[i] += line[i]


@compiled
def add_row(counts: Counters, sets: Int32, low: int, high: int) -> None:
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
def _count(
    query: int,
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
    shared: Counters,
    near: Counters,
    seen: UInt8,
    stamps: Int32,
) -> None:
    """Count |A ∩ B| into ``shared`` and |rel_n(A, B)| into ``near`` for a query set A and each corpus set B."""
    stamp = query + 1
    low = query_indptr[query]
    high = query_indptr[query + 1]
    shared.fill(0)
    near.fill(0)
    for i in range(low, high):
        stamps[query_concepts[i]] = stamp
    for i in range(low, high):
        a = query_concepts[i]
        if holder_line[a] >= 0:
            add_line(shared, lines[holder_line[a]])
        else:
            add_row(shared, holders, holder_indptr[a], holder_indptr[a + 1])
        if near_holder_line[a] >= 0:
            add_line(near, lines[near_holder_line[a]])
        elif near_holder_line[a] == ROW:
            add_row(near, near_holders, near_holder_indptr[a], near_holder_indptr[a + 1])
        else:
            _add_near_holders(near, a, near_indptr, near_indices, holder_indptr, holders, seen)
        for j in range(near_indptr[a], near_indptr[a + 1]):
            b = near_indices[j]
            if stamps[b] != stamp:
                stamps[b] = stamp
                if holder_line[b] >= 0:
                    add_line(near, lines[holder_line[b]])
                else:
                    add_row(near, holders, holder_indptr[b], holder_indptr[b + 1])


@compiled
def rarest(concepts: Int32, holder_indptr: Int64, wanted: int) -> np.int32:
    """The concept with the fewest sets among those with as many as wanted, or `NOBODY`."""
    found = NOBODY
    for i in range(concepts.size):
        a = concepts[i]
        length = holder_indptr[a + 1] - holder_indptr[a]
        if length >= wanted and (found == NOBODY or length < holder_indptr[found + 1] - holder_indptr[found]):
            found = a
    return found


@compiled
def lower_bound(
    shared: Counters,
    near: Counters,
    size: int,
    sizes: Counters,
    of_rarest: np.int32,
    holder_indptr: Int64,
    holders: Int32,
    member_indptr: Int64,
    members: Int32,
    lam: float,
    best_gains: Float64,
    best_images: Int32,
) -> float:
    """Lower bound of the last gain among the best of one query: -1, or that of the images left in the heap."""
    if of_rarest == NOBODY:
        return -1.0
    begin = holder_indptr[of_rarest]
    return at_least(
        shared, near, size, sizes, holders, begin, min(begin + _FIRST_SETS, holder_indptr[of_rarest + 1]),
        member_indptr, members, lam, best_gains, best_images,
    )  # fmt: skip


@compiled
def choose(
    shared: Counters,
    near: Counters,
    size: int,
    sizes: Counters,
    member_indptr: Int64,
    members: Int32,
    set_of: Int32,
    lam: float,
    least: float,
    targets: Int32,
    best_gains: Float64,
    best_images: Int32,
    target_gains: Float64,
) -> None:
    """Choose the best images of one query for one λ, and look up the gains of its targets, shape (rows, depth)."""
    best(shared, near, size, sizes, member_indptr, members, set_of, lam, least, best_gains, best_images)
    look_up(shared, near, size, sizes, lam, targets, target_gains)


@compiled
def look_up(
    shared: Counters, near: Counters, size: int, sizes: Counters, lam: float, targets: Int32, target_gains: Float64
) -> None:
    """Look up the gains of the targets of one query, shape (rows, depth)."""
    for row in range(targets.shape[0]):
        for rank in range(targets.shape[1]):
            other = targets[row, rank]
            if other >= 0:
                both = int(shared[other])
                union = size + int(sizes[other]) - both
                target_gains[row, rank] = gain_of_counts(both, near[other], union, lam)


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
    target_indptr: Int64,
    targets: Int32,
    shared: Counters,
    near: Counters,
    seen: UInt8,
    stamps: Int32,
    best_gains: Float64,
    best_images: Int32,
    target_gains: Float64,
) -> None:
    """Score the query sets ``first``, ``first + 1``, … against the whole corpus.

    Args:
        first, …: see the module.
        sizes: concepts of each corpus set. set_of: corpus set of each image, images by their rank.
        lams: the values of λ.
        target_indptr, targets: query set → rows of ``targets``, shape (rows, depth): corpus sets to look up, or -1.
            Both begin with this block's.
        shared, near, seen, stamps: scratch of one thread: (corpus sets,) thrice, and zeros (concepts,). ``stamps``
            must not be shared between two runs.
        best_gains, best_images: receive the best of the corpus, shape (λ, query sets of the block, wanted).
        target_gains: receives the gains looked up, shape (λ, rows of ``targets``, depth).
    """
    for row in range(best_gains.shape[1]):
        query = first + row
        low = query_indptr[query]
        high = query_indptr[query + 1]
        _count(
            query, query_indptr, query_concepts, near_indptr, near_indices, holder_indptr, holders, holder_line,
            near_holder_indptr, near_holders, near_holder_line, lines, shared, near, seen, stamps,
        )  # fmt: skip
        rarest_concept = rarest(query_concepts[low:high], holder_indptr, best_gains.shape[2])
        start = target_indptr[row]
        end = target_indptr[row + 1]
        for level in range(lams.size):
            least = lower_bound(
                shared, near, high - low, sizes, rarest_concept, holder_indptr, holders, member_indptr, members,
                lams[level], best_gains[level, row], best_images[level, row],
            )  # fmt: skip
            choose(
                shared, near, high - low, sizes, member_indptr, members, set_of, lams[level], least,
                targets[start:end], best_gains[level, row], best_images[level, row], target_gains[level, start:end],
            )  # fmt: skip


@compiled
def score_by_hops(
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
    target_indptr: Int64,
    targets: Int32,
    shared: Counters,
    near: Counters,
    seen: UInt8,
    stamps: Int32,
    sums: Float64,
    best_gains: Float64,
    best_images: Int32,
    target_gains: Float64,
) -> None:
    """`score` with the weight λ^d of a concept whose nearest concept is d hops away, for d from 1 to n.

    |rel_d| - |rel_{d-1}| concepts are d hops away. Their weights are summed in the order of d, as in
    `cuihop.measures.nn_iou.credit_of_near`.

    Args:
        near_indptr, near_holder_indptr: shape (n, concepts + 1); near_holder_line: shape (n, concepts): of rel_1,
            rel_2, …, with all rows of one kind in one array.
        near: shape (2, corpus sets), scratch. stamps: shape (n, concepts), zeros, scratch.
        sums: float64, shape (λ, corpus sets), scratch.
        first, …: as in `score`.
    """
    for row in range(best_gains.shape[1]):
        query = first + row
        low = query_indptr[query]
        high = query_indptr[query + 1]
        near.fill(0)
        sums.fill(0.0)
        for layer in range(near_indptr.shape[0]):
            within = near[layer % 2]
            nearer = near[1 - layer % 2]
            _count(
                query, query_indptr, query_concepts, near_indptr[layer], near_indices, holder_indptr, holders,
                holder_line, near_holder_indptr[layer], near_holders, near_holder_line[layer], lines, shared, within,
                seen, stamps[layer],
            )  # fmt: skip
            for level in range(lams.size):
                power = lams[level]
                for _ in range(layer):
                    power *= lams[level]
                _add_weights(sums[level], within, nearer, power)
        rarest_concept = rarest(query_concepts[low:high], holder_indptr, best_gains.shape[2])
        start = target_indptr[row]
        end = target_indptr[row + 1]
        for level in range(lams.size):
            least = lower_bound(
                shared, sums[level], high - low, sizes, rarest_concept, holder_indptr, holders, member_indptr,
                members, 1.0, best_gains[level, row], best_images[level, row],
            )  # fmt: skip
            choose(
                shared, sums[level], high - low, sizes, member_indptr, members, set_of, 1.0, least,
                targets[start:end], best_gains[level, row], best_images[level, row], target_gains[level, start:end],
            )  # fmt: skip


@compiled
def _add_weights(sums: Float64, within: Counters, nearer: Counters, weight: float) -> None:
    """Add the weight for each concept counted in ``within`` but not in ``nearer``."""
    for i in range(sums.size):
        sums[i] += weight * (float(within[i]) - float(nearer[i]))
