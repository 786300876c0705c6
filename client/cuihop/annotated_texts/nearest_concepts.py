"""Hops from each concept of a text to the nearest concept of its other annotation, for many texts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from cuihop.added_names import without_added_names
from cuihop.graph import ConceptGraph, Direction
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_FARTHEST = 5  # the largest number of hops that is counted by itself, beyond those of near concepts

BEYOND = 1 << 30
"""In place of hops: farther than the bound, without a path, or outside the graph."""

_NONE = np.uint64(2**64 - 1)
_PAIRS_A_BLOCK = 1 << 20  # bounds the memory: 40 MB of numbers


@dataclass(frozen=True, slots=True)
class NumberedText:
    """The concepts of a text, by number.

    Attributes:
        true: distinct true concepts, each with its alternatives, any of which is right.
        predicted: distinct predicted concepts.
    """

    true: Sequence[tuple[int, ...]]
    predicted: Sequence[int]


@dataclass(frozen=True, eq=False)
class ScoredConcepts:
    """The concepts of one side of all texts, each with the nearest concept of the other side.

    Attributes, the first four of shape (concepts,):
        texts: int32, place of the text.
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

    def where(self, which: npt.NDArray[np.bool_]) -> ScoredConcepts:
        """Some of the concepts; ``which`` has the shape (concepts,)."""
        texts, concepts, hops, nearest = (each[which] for each in (self.texts, self.concepts, self.hops, self.nearest))
        return ScoredConcepts(texts, concepts, hops, nearest, self.farthest)

    def count(self, which: npt.NDArray[np.bool_], texts: int) -> Int64:
        """The number of some concepts in each text."""
        return np.bincount(self.texts[which], minlength=texts)


def matches_of_texts(true: ScoredConcepts, predicted: ScoredConcepts, texts: int, n: int) -> Int64:
    """The fields of `cuihop.measures.MatchCounts` of each text, shape (texts, 6). Near is within n hops."""
    sides = true, predicted
    everything = [side.count(side.hops >= 0, texts) for side in sides]
    same = [side.count(side.hops == 0, texts) for side in sides]
    near = [side.count((side.hops > 0) & (side.hops <= n), texts) for side in sides]
    return np.stack([*everything, *same, *near], axis=1)


def nearest_concepts(
    texts: Sequence[NumberedText],
    names: Sequence[str],
    held: int,
    graph: ConceptGraph | None,
    *,
    direction: Direction,
    n: int,
) -> tuple[ScoredConcepts, ScoredConcepts]:
    """The true and the predicted concepts of all texts, with their hops to the nearest of the other side.

    Args:
        texts: the concepts of each text.
        names: of the concepts, by number. held: the first concepts, which the graph holds.
        graph: the source of distances; without one a concept matches only itself.
        direction: direction of the hops from a true concept to a predicted one.
        n: of the measures. Nearest concepts are sought beyond n, up to 5 hops, or as far as a neighbour dictionary
            reaches.
    """
    source = None if graph is None else without_added_names(graph)
    reach = min(source.hops, _FARTHEST) if isinstance(source, NeighbourDictionary) else _FARTHEST
    bound = max(n, reach)

    def distances(pairs: Int64) -> Int32:
        """Hops of distinct pairs, each the number of the true concept times the concepts, plus the predicted one."""
        first, second = np.divmod(pairs, len(names))
        hops = np.where(first == second, 0, BEYOND).astype(np.int32)
        searched = np.flatnonzero((first < held) & (second < held) & (first != second))
        if graph is not None and len(searched):
            ends = zip(first[searched].tolist(), second[searched].tolist(), strict=True)
            found = graph.distances([(names[a], names[b]) for a, b in ends], direction=direction, max_hops=bound)
            hops[searched] = np.where(found.reached, found.hops, BEYOND)
        return hops

    blocks = [_nearest_of_block(texts[a:b], a, len(names), distances) for a, b in _blocks(texts)]

    def scored(side: int) -> ScoredConcepts:
        of_text, concepts, hops, nearest = np.hstack([block[side] for block in blocks])
        return ScoredConcepts(of_text, concepts, hops, nearest, bound)

    return scored(0), scored(1)


def _blocks(texts: Sequence[NumberedText]) -> Iterator[tuple[int, int]]:
    """Texts, first and one past the last, whose pairs of concepts fit a block; at least one block."""
    first, pairs = 0, 0
    for place, text in enumerate(texts):
        pairs += sum(map(len, text.true)) * len(text.predicted)
        if pairs >= _PAIRS_A_BLOCK:
            yield first, place + 1
            first, pairs = place + 1, 0
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
    distinct, places = np.unique(true[ours] * concepts + predicted[theirs], return_inverse=True)
    hops = distances(distinct)[places]
    first_of_group = np.searchsorted(group_of, np.arange(len(groups)))
    pair_of_true = _nearest_pairs(hops, group_of[ours], len(groups))
    pair_of_predicted = _nearest_pairs(hops, theirs, len(predicted))

    def columns(pair: Int64, text: Int64, own: Int64, own_of: Int64, other_of: Int64) -> Int32:
        paired = pair >= 0
        found = np.full((4, len(pair)), -1, dtype=np.int32)
        found[0], found[1], found[2] = text + first_text, own, BEYOND
        found[1, paired], found[2, paired] = own_of[pair[paired]], hops[pair[paired]]
        near = found[2] < BEYOND
        found[3, near] = other_of[pair[near]]
        return found

    return (
        columns(pair_of_true, group_text, true[first_of_group], true[ours], predicted[theirs]),
        columns(pair_of_predicted, text_of_predicted, predicted, predicted[theirs], true[ours]),
    )


def _numbers(values: Iterable[int]) -> Int64:
    return np.fromiter(values, dtype=np.int64)


def _nearest_pairs(hops: Int32, owner: Int64, owners: int) -> Int64:
    """The place of the pair of fewest hops of each owner, of equal ones the first; -1 for an owner without pairs."""
    keys = hops.astype(np.int64) << 32 | np.arange(len(hops))
    smallest = np.full(owners, _NONE)
    np.minimum.at(smallest, owner, keys.astype(np.uint64))
    return np.where(smallest == _NONE, -1, (smallest & np.uint64(2**32 - 1)).astype(np.int64))
