"""Hops from each concept of a text to the nearest concept of its other annotation, for many texts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from cuihop.graph import ConceptGraph
from cuihop.graph_wrapper import without_added_names
from cuihop.measures.nearness import Nearness
from cuihop.resources.arrays import Bool, Int32, Int64
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

_FARTHEST = 5  # the largest number of hops that is counted by itself, beyond those of near concepts

BEYOND = 1 << 30
"""In place of hops: farther than the bound, without a path, or outside the graph."""

_NONE = np.uint64(2**64 - 1)
_PAIRS_A_BLOCK = 1 << 20  # bounds the memory: 40 MB of numbers


@dataclass(frozen=True, slots=True)
class NumberedText:
    """Numbers of the distinct concepts of a text; of a true one all its alternatives, any of which is right."""

    true: Sequence[tuple[int, ...]]
    predicted: Sequence[int]


@dataclass(frozen=True, eq=False)
class ScoredConcepts:
    """The concepts of one side of all texts, each with the nearest concept of the other side.

    Attributes, the first four of shape (concepts,):
        texts: int32, index of the text.
        concepts: int32, number of the concept; of alternatives the nearest, of equally near ones the first.
        hops: int32, to the nearest concept of the other side: 0 for the same, `BEYOND` for none within `farthest`.
        nearest: int32, number of that concept, of equally near ones the first; -1 for none.
        farthest: the most hops that were searched.
    """

    texts: Int32
    concepts: Int32
    hops: Int32
    nearest: Int32
    farthest: int

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchedConcepts:
    """True and predicted concepts of texts or images, each with the nearest concept of the other side.

    Attributes:
        texts: their number.
        concepts: names of their numbers. held: the number of those in the graph, which come first.
        nearness: n, λ and direction; n is 0 if only the same concept matches.
    """

    texts: int
    true: ScoredConcepts
    predicted: ScoredConcepts
    concepts: Sequence[str]
    held: int
    nearness: Nearness

    def of_texts(self, n: int | None = None, among: Bool | None = None) -> Int64:
        """The fields of `cuihop.measures.MatchCounts` of each text, shape (texts, 6).

        Args:
            n: the most hops of near concepts; by default that of the nearness.
            among: shape (concepts,), true for each that counts; all by default.
        """
        columns = []
        for first, last in ((0, BEYOND), (0, 0), (1, self.nearness.n if n is None else n)):
            for side in (self.true, self.predicted):
                counted = (side.hops >= first) & (side.hops <= last)
                if among is not None:
                    counted &= among[side.concepts]
                columns.append(np.bincount(side.texts[counted], minlength=self.texts))
        return np.stack(columns, axis=1)

    def of_concepts(self) -> Int64:
        """The fields of `MatchCounts` of each concept, without near ones, shape (concepts, 6)."""
        true, predicted, right = (
            np.bincount(numbers, minlength=len(self.concepts))
            for numbers in (self.true.concepts, self.predicted.concepts, self.true.concepts[self.true.hops == 0])
        )
        return np.stack([true, predicted, right, right, 0 * right, 0 * right], axis=1)


def nearest_concepts(
    texts: Sequence[NumberedText], names: Sequence[str], held: int, graph: ConceptGraph | None, nearness: Nearness
) -> MatchedConcepts:
    """The true and the predicted concepts of all texts, with their hops to the nearest of the other side.

    Args:
        names: of the concepts, by number. held: the first concepts, which the graph holds.
        graph: the source of distances; without one a concept matches only itself.
        nearness: direction of the hops from a true concept to a predicted one, and n. Nearest concepts are sought
            beyond n, up to 5 hops, or as far as a neighbour dictionary reaches.
    """
    source = None if graph is None else without_added_names(graph)
    reach = min(source.hops, _FARTHEST) if isinstance(source, NeighbourDictionary) else _FARTHEST
    bound = max(nearness.n, reach)

    def distances(pairs: Int64) -> Int32:
        """Hops of distinct pairs, each the number of the true concept times the concepts, plus the predicted one."""
        first, second = np.divmod(pairs, len(names))
        hops = np.where(first == second, 0, BEYOND).astype(np.int32)
        searched = np.flatnonzero((first < held) & (second < held) & (first != second))
        if graph is not None and len(searched):
            ends = zip(first[searched].tolist(), second[searched].tolist(), strict=True)
            answers = graph.distances(
                [(names[a], names[b]) for a, b in ends], direction=nearness.direction, max_hops=bound
            )
            hops[searched] = np.where(answers.reached, answers.hops, BEYOND)
        return hops

    blocks = [_nearest_of_block(texts[a:b], a, len(names), distances) for a, b in _blocks(texts)]

    def scored(side: int) -> ScoredConcepts:
        of_text, concepts, hops, nearest = np.hstack([block[side] for block in blocks])
        return ScoredConcepts(of_text, concepts, hops, nearest, bound)

    return MatchedConcepts(
        texts=len(texts), true=scored(0), predicted=scored(1), concepts=names, held=held, nearness=nearness
    )


def _blocks(texts: Sequence[NumberedText]) -> Iterator[tuple[int, int]]:
    """Texts, first and one past the last, whose pairs of concepts fit a block; at least one block."""
    first, pairs = 0, 0
    for index, text in enumerate(texts):
        pairs += sum(map(len, text.true)) * len(text.predicted)
        if pairs >= _PAIRS_A_BLOCK:
            yield first, index + 1
            first, pairs = index + 1, 0
    yield first, len(texts)


def _nearest_of_block(
    texts: Sequence[NumberedText], first_text: int, concepts: int, distances: Callable[[Int64], Int32]
) -> tuple[Int32, Int32]:
    """The columns of `ScoredConcepts`, shape (4, concepts of the side), of the true and of the predicted concepts."""
    groups = [group for text in texts for group in text.true]
    true = _numbers(chain.from_iterable(groups))
    predicted = _numbers(chain.from_iterable(text.predicted for text in texts))
    group_text, text_of_predicted = (
        np.repeat(np.arange(len(texts)), _numbers(map(len, side)))
        for side in ([text.true for text in texts], [text.predicted for text in texts])
    )
    group_of = np.repeat(np.arange(len(groups)), _numbers(map(len, groups)))
    bounds = np.searchsorted(text_of_predicted, np.arange(len(texts) + 1))
    begins, ends = (bounds[side][group_text[group_of]] for side in (slice(0, -1), slice(1, None)))
    ours = np.repeat(np.arange(len(true)), ends - begins)  # a pair for each predicted concept of the same text
    theirs = np.arange(len(ours)) + np.repeat(ends - np.cumsum(ends - begins), ends - begins)
    distinct, pair_indices = np.unique(true[ours] * concepts + predicted[theirs], return_inverse=True)
    hops = distances(distinct)[pair_indices]
    first_of_group = np.searchsorted(group_of, np.arange(len(groups)))
    pair_of_true = _nearest_pairs(hops, group_of[ours], len(groups))
    pair_of_predicted = _nearest_pairs(hops, theirs, len(predicted))

    def columns(pair: Int64, text: Int64, own: Int64, own_of: Int64, other_of: Int64) -> Int32:
        paired = pair >= 0
        rows = np.full((4, len(pair)), -1, dtype=np.int32)
        rows[0], rows[1], rows[2] = text + first_text, own, BEYOND
        rows[1, paired], rows[2, paired] = own_of[pair[paired]], hops[pair[paired]]
        near = rows[2] < BEYOND
        rows[3, near] = other_of[pair[near]]
        return rows

    return (
        columns(pair_of_true, group_text, true[first_of_group], true[ours], predicted[theirs]),
        columns(pair_of_predicted, text_of_predicted, predicted, predicted[theirs], true[ours]),
    )


def _numbers(values: Iterable[int]) -> Int64:
    return np.fromiter(values, dtype=np.int64)


def _nearest_pairs(hops: Int32, owner: Int64, owners: int) -> Int64:
    """The index of the first pair of fewest hops of each owner; -1 for an owner without pairs."""
    keys = hops.astype(np.int64) << 32 | np.arange(len(hops))
    smallest = np.full(owners, _NONE)
    np.minimum.at(smallest, owner, keys.astype(np.uint64))
    return np.where(smallest == _NONE, -1, (smallest & np.uint64(2**32 - 1)).astype(np.int64))
