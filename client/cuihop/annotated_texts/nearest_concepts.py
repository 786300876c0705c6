"""Hops from each concept of a text to the nearest concept of its other annotation, for many texts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.graph import ConceptGraph, Direction
from cuihop.snapshot.string_table import bounds_of

__all__ = ["BEYOND", "FARTHEST", "NumberedText", "ScoredConcepts", "nearest_concepts"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

FARTHEST = 5
"""Hops that are told apart beyond those of near concepts."""

BEYOND = 1 << 30
"""In place of hops: farther than the bound, without a path, or outside the graph."""

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

    Attributes, each of shape (concepts,):
        texts: int32, place of the text.
        concepts: int32, number of the concept; of alternatives the nearest, of equally near ones the first.
        hops: int32, to the nearest concept of the other side: 0 for the same, `BEYOND` for none within the bound.
        nearest: int32, number of that concept, of equally near ones the first; -1 for none.
    """

    texts: Int32
    concepts: Int32
    hops: Int32
    nearest: Int32

    def __len__(self) -> int:
        return len(self.texts)

    def count(self, which: npt.NDArray[np.bool_], texts: int) -> Int64:
        """The number of some concepts in each text."""
        return np.bincount(self.texts[which], minlength=texts)


def nearest_concepts(
    texts: Sequence[NumberedText],
    names: Sequence[str],
    held: int,
    graph: ConceptGraph | None,
    *,
    direction: Direction,
    bound: int,
) -> tuple[ScoredConcepts, ScoredConcepts]:
    """The true and the predicted concepts of all texts, with their hops to the nearest of the other side.

    Args:
        texts: the concepts of each text.
        names: of the concepts, by number. held: the first concepts, which the graph holds.
        graph: the source of distances; without one a concept matches only itself.
        direction: direction of the hops from a true concept to a predicted one.
        bound: the most hops.
    """
    true, predicted = _Columns(), _Columns()

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

    for first, last in _blocks(texts):
        _add_block(first, texts[first:last], len(names), distances, true, predicted)
    return true.concepts(), predicted.concepts()


class _Columns:
    """Columns of `ScoredConcepts` in the making."""

    def __init__(self) -> None:
        self._parts: list[Int32] = []

    def add(self, text: int, concepts: npt.ArrayLike, hops: npt.ArrayLike, nearest: npt.ArrayLike) -> None:
        columns = np.array([concepts, hops, nearest], dtype=np.int32)
        self._parts.append(np.vstack([np.full((1, columns.shape[1]), text, dtype=np.int32), columns]))

    def concepts(self) -> ScoredConcepts:
        whole = np.hstack(self._parts) if self._parts else np.empty((4, 0), dtype=np.int32)
        return ScoredConcepts(*whole)


def _blocks(texts: Sequence[NumberedText]) -> Iterable[tuple[int, int]]:
    """Texts, first and one past the last, whose pairs of concepts fit a block."""
    first, pairs = 0, 0
    for place, text in enumerate(texts):
        pairs += sum(map(len, text.true)) * len(text.predicted)
        if pairs >= _PAIRS_A_BLOCK:
            yield first, place + 1
            first, pairs = place + 1, 0
    if first < len(texts):
        yield first, len(texts)


def _add_block(
    first: int, texts: Sequence[NumberedText], concepts: int, distances: Callable[[Int64], Int32], true: _Columns,
    predicted: _Columns,
) -> None:  # fmt: skip
    flat = [np.array([concept for group in text.true for concept in group], dtype=np.int64) for text in texts]
    other = [np.array(text.predicted, dtype=np.int64) for text in texts]
    pairs = [np.add.outer(ours * concepts, theirs).ravel() for ours, theirs in zip(flat, other, strict=True)]
    distinct, places = np.unique(np.concatenate(pairs), return_inverse=True)
    hops = distances(distinct)[places]
    bounds = _bounds(pairs)
    for place, (text, ours, theirs) in enumerate(zip(texts, flat, other, strict=True)):
        table = hops[bounds[place] : bounds[place + 1]].reshape(len(ours), len(theirs))
        groups = _bounds(text.true)[:-1]
        if not table.size:
            for side, numbers in ((true, ours[groups]), (predicted, theirs)):
                side.add(first + place, numbers, np.full(len(numbers), BEYOND), np.full(len(numbers), -1))
            continue
        by_predicted, nearest = table.min(axis=0), ours[table.argmin(axis=0)]
        predicted.add(first + place, theirs, by_predicted, np.where(by_predicted < BEYOND, nearest, -1))
        best = _first_smallest(table.min(axis=1), groups)
        by_true, nearest = table.min(axis=1)[best], theirs[table.argmin(axis=1)[best]]
        true.add(first + place, ours[best], by_true, np.where(by_true < BEYOND, nearest, -1))


def _bounds(rows: Sequence[Sized]) -> Int64:
    return bounds_of(np.array([len(row) for row in rows], dtype=np.int64))


def _first_smallest(values: Int32, groups: Int64) -> Int64:
    """The place of the smallest value of each group, of equal ones the first."""
    smallest = np.minimum.reduceat(values, groups)
    lengths = np.diff(groups, append=len(values))
    reached = np.flatnonzero(values == np.repeat(smallest, lengths))
    owner = np.repeat(np.arange(len(groups)), lengths)[reached]
    return reached[np.searchsorted(owner, np.arange(len(groups)))]
