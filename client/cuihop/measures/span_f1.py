"""F1 of mentions: spans with concepts, equal or overlapping, matched one to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from typing import Literal, TypeAlias, TypeVar, get_args

from cuihop.measures.bipartite_matching import best_matching
from cuihop.measures.family import Family, Option
from cuihop.measures.match_counts import MatchCounts

SpanMatch: TypeAlias = Literal["strict", "overlap"]
"""Spans that match: equal ones, or those that share a character."""

C = TypeVar("C", bound=Hashable)


def span_counts(
    true: Collection[tuple[int, int, Collection[C]]],
    predicted: Collection[tuple[int, int, C]],
    match: SpanMatch = "strict",
) -> MatchCounts:
    """The counts of a largest one-to-one matching of predicted mentions with true ones.

    Args:
        true: start, end (one past the last character) and concepts, any of which is right.
        predicted: start, end and concept.
        match: ``strict`` for equal spans, ``overlap`` for spans that share a character.

    >>> true, predicted = [(0, 9, frozenset({"C1"}))], [(4, 9, "C1"), (0, 3, "C1")]
    >>> span_counts(true, predicted).right, span_counts(true, predicted, "overlap").right
    (0, 1)
    """
    by_concept: defaultdict[C, list[tuple[int, int, int]]] = defaultdict(list)
    for column, (start, end, concepts) in enumerate(true):
        for concept in concepts:
            by_concept[concept].append((column, start, end))
    pairs = [
        (row, column)
        for row, (start, end, concept) in enumerate(predicted)
        for column, first, last in by_concept.get(concept, ())
        if (start, end) == (first, last) or (match == "overlap" and start < last and first < end)
    ]
    matched = _largest_matching(pairs)
    return MatchCounts(len(true), len(predicted), matched, matched)


def _largest_matching(pairs: Sequence[tuple[int, int]]) -> int:
    """The size of a largest matching; pairs that compete with no other are matched at once."""
    rows: defaultdict[int, list[int]] = defaultdict(list)
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for row, column in pairs:
        rows[row].append(column)
        columns[column].append(row)
    alone = [(r, c) for r, c in pairs if len(rows[r]) == len(columns[c]) == 1]
    contested = set(pairs).difference(alone)
    if not contested:
        return len(alone)
    left, right = ({pair[side] for pair in contested} for side in (0, 1))
    weights = [[float((row, column) in contested) for column in sorted(right)] for row in sorted(left)]
    return len(alone) + round(sum(weights[row][column] for row, column in best_matching(weights)))


FAMILY = Family(
    "span-F1", "F1 of the mentions of each text", "annotation",
    options=(Option.of_words("match", *get_args(SpanMatch)),),
)  # fmt: skip
