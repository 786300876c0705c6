"""nn-IoU of query images with every image of a corpus, through an inverted index.

Equal concept sets share one row: a "set" below is a distinct set, of the queries or of the corpus.

A long row of ``holder_*`` or ``near_holder_*`` is also, or instead, a line of ``lines``, uint8, shape (lines, corpus
sets): 1 for each set in the row. Adding a line is a loop over memory in order, many sets an instruction; adding a row
is one random access for each set. ``holder_line`` and ``near_holder_line``, int32, shape (concepts,), give the line,
`ROW`, or `NOT_KEPT` where the sets are computed again each time.

Counting them gives, for a query set A and a corpus set B:

- |A ∩ B|: the concepts of A that B holds;
- |rel_n(A, B)|: the concepts of A that B does not hold but that are near to B, and the concepts of B that A does not
  hold but that are near to A. These two halves are the sum over A of ``near_holder`` and the sum of ``holder`` over
  the neighbourhood of A without A.

Counters are as small as the largest sets allow: see `counter_type`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop._kernels.best_images import Corpus, Counters, Counts, best, gain_of, lower_bound
from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Float64, Int32, Int64, UInt8

ROW = -1
"""In place of the number of a line: the sets are a compressed row."""

NOT_KEPT = -2
"""In place of the number of a line: neither line nor row is stored."""

_FIRST_SETS = 512  # enough for a good lower bound of the last gain among the best


class Index(NamedTuple):
    """Sets that hold a concept, or a concept near to it: compressed rows (``indptr`` int64, values int32), and lines.

    Attributes:
        near_indptr, near_indices: concept → the concepts within n hops of it, in the direction from query to corpus,
            itself left out.
        holder_indptr, holders, holder_line: concept → the corpus sets that hold it.
        near_holder_indptr, near_holders, near_holder_line: concept → the corpus sets that do not hold it, but a concept
            within n hops of it.
        lines: see the module.
    """

    near_indptr: Int64
    near_indices: Int32
    holder_indptr: Int64
    holders: Int32
    holder_line: Int32
    near_holder_indptr: Int64
    near_holders: Int32
    near_holder_line: Int32
    lines: UInt8


class Block(NamedTuple):
    """Query sets to score from number ``first`` on, the levels of λ, and the images whose gains are looked up.

    Attributes:
        indptr, concepts: query set → its concepts.
        target_indptr, targets: query set of the block → rows of ``targets``, shape (rows, depth): corpus sets, or -1.
    """

    first: int
    indptr: Int64
    concepts: Int32
    lams: Float64
    target_indptr: Int64
    targets: Int32


class Results(NamedTuple):
    """The results for a block.

    Attributes:
        gains, images: the best of the corpus, shape (λ, query sets of the block, images wanted).
        target_gains: the gains looked up, shape (λ, rows of ``targets``, depth).
    """

    gains: Float64
    images: Int32
    target_gains: Float64


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
    sets: Int32,
    lines: UInt8,
) -> None:
    """Build the rows and lines ``near_holder_*`` of the concepts with one in ``near_holder_line``, and all lengths.

    Args:
        near_indptr, …: see `Index`. seen: shape (corpus sets,), zeros. Scratch.
        lengths: shape (concepts,): receives the number of sets of each concept.
        indptr, sets: offsets of the rows, and their values. ``sets`` may be empty where there are no rows.
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
                        sets[filled] = holder
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
def _add_near_holders(counts: Counters, concept: int, index: Index, seen: UInt8) -> None:
    """Add 1 to the counter of each near holder of a concept that has neither line nor row. ``seen``: scratch."""
    near_indptr, near_indices, holder_indptr, holders = index[:4]
    for i in range(seen.size):
        seen[i] = 0
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
    stamp: int, concepts: Int32, index: Index, shared: Counters, near: Counters, seen: UInt8, stamps: Int32
) -> None:
    """Count |A ∩ B| into ``shared`` and |rel_n(A, B)| into ``near`` for a query set A and each corpus set B."""
    near_indptr, near_indices, holder_indptr, holders, holder_line = index[:5]
    near_holder_indptr, near_holders, near_holder_line, lines = index[5:]
    for i in range(shared.size):
        shared[i] = near[i] = 0
    for a in concepts:
        stamps[a] = stamp
    for a in concepts:
        if holder_line[a] >= 0:
            add_line(shared, lines[holder_line[a]])
        else:
            add_row(shared, holders, holder_indptr[a], holder_indptr[a + 1])
        if near_holder_line[a] >= 0:
            add_line(near, lines[near_holder_line[a]])
        elif near_holder_line[a] == ROW:
            add_row(near, near_holders, near_holder_indptr[a], near_holder_indptr[a + 1])
        else:
            _add_near_holders(near, a, index, seen)
        for j in range(near_indptr[a], near_indptr[a + 1]):
            b = near_indices[j]
            if stamps[b] != stamp:
                stamps[b] = stamp
                if holder_line[b] >= 0:
                    add_line(near, lines[holder_line[b]])
                else:
                    add_row(near, holders, holder_indptr[b], holder_indptr[b + 1])


@compiled
def holders_of_rarest(concepts: Int32, holder_indptr: Int64, least: int) -> tuple[int, int]:
    """Bounds of the first sets that hold the rarest concept among those in ``least`` sets or more; 0, 0 without one."""
    begin, end = 0, 0
    for a in concepts:
        length = holder_indptr[a + 1] - holder_indptr[a]
        if length >= least and (end == 0 or length < end - begin):
            begin, end = holder_indptr[a], holder_indptr[a + 1]
    return begin, end if end - begin < _FIRST_SETS else begin + _FIRST_SETS


@compiled
def look_up(row: int, level: int, counts: Counts, block: Block, corpus: Corpus, results: Results) -> None:
    """Look up the gains of the targets of one query."""
    for line in range(block.target_indptr[row], block.target_indptr[row + 1]):
        for rank in range(block.targets.shape[1]):
            other = signed(block.targets[line, rank])
            if other >= 0:
                results.target_gains[level, line, rank] = gain_of(other, counts, corpus)


@compiled
def score(block: Block, index: Index, corpus: Corpus, scratch: tuple[Any, ...], results: Results) -> None:
    """Score the query sets of a block against the whole corpus.

    Args:
        scratch: of one thread, not shared between two runs: counters ``shared`` and ``near``, shape (corpus sets,);
            ``seen``, uint8, same shape; ``stamps``, int32, zeros, shape (concepts,).
    """
    shared, near, seen, stamps = scratch
    for row in range(results.gains.shape[1]):
        concepts = block.concepts[block.indptr[block.first + row] : block.indptr[block.first + row + 1]]
        _count(block.first + row + 1, concepts, index, shared, near, seen, stamps)
        rarest = holders_of_rarest(concepts, index.holder_indptr, results.gains.shape[2])
        for level in range(block.lams.size):  # as in `score_by_hops`: a function for both is a tenth more to compile
            counts = Counts(shared, near, concepts.size, block.lams[level])
            gains, images = results.gains[level, row], results.images[level, row]
            least = lower_bound(counts, corpus, index.holders, rarest, gains, images)
            best(counts, corpus, least, gains, images)
            look_up(row, level, counts, block, corpus, results)


@compiled
def score_by_hops(block: Block, index: Index, corpus: Corpus, scratch: tuple[Any, ...], results: Results) -> None:
    """`score` with the weight λ^d of a concept whose nearest concept is d hops away, for d from 1 to n.

    |rel_d| - |rel_{d-1}| concepts are d hops away. Their weights are summed in the order of d, as in
    `cuihop.measures.nn_iou.credit_of_near`.

    Args:
        index: ``near_indptr`` and ``near_holder_indptr`` have the shape (n, concepts + 1), and ``near_holder_line`` (n,
            concepts): of rel_1, rel_2, …, with all rows of one kind in one array.
        scratch: as `score`; but ``near``, shape (2, corpus sets), and ``stamps``, shape (n, concepts); and ``sums``,
            float64, shape (λ, corpus sets).
    """
    shared, near, seen, stamps, sums = scratch
    for row in range(results.gains.shape[1]):
        concepts = block.concepts[block.indptr[block.first + row] : block.indptr[block.first + row + 1]]
        near.fill(0)
        sums.fill(0.0)
        for layer in range(index.near_indptr.shape[0]):
            within = near[layer % 2]
            nearer = near[1 - layer % 2]
            of_layer = Index(
                index.near_indptr[layer], index.near_indices, index.holder_indptr, index.holders, index.holder_line,
                index.near_holder_indptr[layer], index.near_holders, index.near_holder_line[layer], index.lines,
            )  # fmt: skip
            _count(block.first + row + 1, concepts, of_layer, shared, within, seen, stamps[layer])
            for level in range(block.lams.size):
                power = block.lams[level]
                for _ in range(layer):
                    power *= block.lams[level]
                _add_weights(sums[level], within, nearer, power)
        rarest = holders_of_rarest(concepts, index.holder_indptr, results.gains.shape[2])
        for level in range(block.lams.size):
            counts = Counts(shared, sums[level], concepts.size, 1.0)
            gains, images = results.gains[level, row], results.images[level, row]
            least = lower_bound(counts, corpus, index.holders, rarest, gains, images)
            best(counts, corpus, least, gains, images)
            look_up(row, level, counts, block, corpus, results)


@compiled
def _add_weights(sums: Float64, within: Counters, nearer: Counters, weight: float) -> None:
    """Add the weight for each concept counted in ``within`` but not in ``nearer``."""
    for i in range(sums.size):
        sums[i] += weight * (float(within[i]) - float(nearer[i]))
