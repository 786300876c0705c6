"""Precision, recall and F1 from counts: of predicted concepts, with near misses (nn-F1), and of mentions (span-F1).

The credit of a near concept is that of nn-IoU (Wei, Kurtz, Cloppet 2025, equation 2); the definition of nn-F1 is
cuihop's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.bipartite_matching import best_matching
from cuihop.measures.family import Family, Option
from cuihop.measures.nearness import checked_lam
from cuihop.measures.nn_iou import HOPS, LAMBDA, concept_overlap
from cuihop.measures.resolution import Unknown
from cuihop.resources.arrays import Float64, Int64

MANUAL_CONCEPTS = frozenset([
    "C0002978", "C0040405", "C0024485", "C0032743", "C0041618", "C1306645", "C1140618", "C0037949",
    "C0030797", "C0023216", "C0037303", "C0817096", "C0006141", "C0000726", "C0920367",
])  # fmt: skip
"""Manually annotated concepts, modalities and body regions, to which the secondary score of 2025 is restricted."""

SpanMatch: TypeAlias = Literal["strict", "overlap"]
"""Spans that match: equal ones, or those that share a character."""

C = TypeVar("C", bound=Hashable)


class MatchCounts(NamedTuple):
    """Counts of true and predicted items, and their precision, recall and F1.

    Sums of counts are counts: those of all texts give the micro averages.

    Attributes:
        true, predicted: items of each side.
        found: true items that were predicted. right: predicted items that are true. The two differ only where a true
            item has alternatives.
        near_true, near_predicted: other items of each side that are near to an item of the other.
    """

    true: int
    predicted: int
    found: int
    right: int
    near_true: int = 0
    near_predicted: int = 0

    def precision(self, lam: float = 0.0) -> float:
        """(right + λ · near_predicted) / predicted."""
        return self._shares(lam)[0]

    def recall(self, lam: float = 0.0) -> float:
        """(found + λ · near_true) / true."""
        return self._shares(lam)[1]

    def f1(self, lam: float = 0.0) -> float:
        """The harmonic mean of precision and recall; 0 where both are 0."""
        return self._shares(lam)[2]

    def _shares(self, lam: float) -> tuple[float, float, float]:
        precision, recall, f1 = precision_recall_f1(np.array([self]), lam)[0].tolist()
        return precision, recall, f1


def precision_recall_f1(counts: Int64 | Float64, lam: float = 0.0) -> Float64:
    """Precision, recall and F1 of many counts at once, shape (rows, 3), by fields of `MatchCounts`, shape (rows, 6).

    All three are 1 where nothing is true and nothing predicted, and 0 where only one side is empty.

    >>> precision_recall_f1(np.array([[1, 2, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0]]), 0.5).tolist()
    [[0.75, 1.0, 0.8571428571428571], [1.0, 1.0, 1.0]]
    """
    true, predicted, recalled, right, near_true, near_predicted = np.asarray(counts, dtype=np.float64).T
    empty = np.where(true == predicted, 1.0, 0.0)
    precision = _quotients(right + lam * near_predicted, predicted, empty)
    recall = _quotients(recalled + lam * near_true, true, empty)
    f1 = _quotients(2 * precision * recall, precision + recall, np.zeros_like(empty))
    return np.stack([precision, recall, f1], axis=1)


def _quotients(numbers: Float64, totals: Float64, without: Float64) -> Float64:
    """The quotients; the values of ``without`` where a divisor is 0."""
    return np.divide(numbers, totals, out=without.copy(), where=totals != 0)


def concept_f1(true: Collection[str], predicted: Collection[str]) -> float | None:
    """F1 = 2 |T ∩ P| / (|T| + |P|): that of the binary labels over T ∪ P, as scikit-learn's ``average="binary"``.

    ``None`` where T is empty: such an image is left out of the mean. Identifiers are compared literally.
    Source: ImageCLEFmedical caption 2025, task description and evaluator.

    >>> concept_f1({"C0040405", "C0000726"}, {"C0040405"})
    0.6666666666666666
    >>> concept_f1(set(), {"C0040405"}) is None
    True
    """
    true, predicted = frozenset(true), frozenset(predicted)
    if not true:
        return None
    return 2 * len(true & predicted) / (len(true) + len(predicted))


def match_counts(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> MatchCounts:
    """The counts behind `nn_f1`. Arguments and errors as there."""
    overlap = concept_overlap(true, predicted, graph, n, direction=direction, unknown=unknown)
    near, shared = Counter(concept.side for concept in overlap.related), len(overlap.shared)
    return MatchCounts(len(overlap.A), len(overlap.B), shared, shared, near["A"], near["B"])


def nn_precision(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """Share of the predicted concepts that are true, a near one counting λ. Arguments, empty sets, errors: `nn_f1`."""
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).precision(lam)


def nn_recall(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """Share of the true concepts that were predicted, a near one counting λ. Arguments, empty sets, errors: `nn_f1`."""
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).recall(lam)


def nn_f1(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """The harmonic mean of nn-precision and nn-recall, between 0 and 1; 0 where both are 0.

    near(P, T) are the predicted concepts that are not true, but have a true one within n hops; near(T, P) the true
    ones that were not predicted, but have a predicted one within n hops. Each counts λ. If both sets are empty,
    all three values are 1; where one of them is, they are 0.

    Args:
        true, predicted: concepts of one text, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        n: the most hops to a near concept, 0 or more. 0 gives F1.
        lam: λ, the weight of a near concept, from 0 to 1. 0 gives F1.
        direction: direction of the hops from a true concept to a predicted one: ``up`` credits only predictions
            that are more general than the truth.
        unknown: as in `cuihop.measures.nn_iou`.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> nn_f1("C0042449", "C0005847;C0018670", graph)  # precision 0.5 / 2, recall 0.5 / 1
    0.3333333333333333
    """
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).f1(lam)


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


F1_FAMILIES = (
    Family("F1", "F1 of detected concepts, mean over images", "detection",
           options=(Option.of_words("of", "all", "manual"),)),
    Family("precision", "precision of detected concepts, mean over images", "detection"),
    Family("recall", "recall of detected concepts, mean over images", "detection"),
)  # fmt: skip
ANNOTATION_FAMILIES = (
    Family("nn-F1", "F1 of the concepts of each text or image that counts near misses", "annotation",
           options=(HOPS, LAMBDA), spellings=("nnF1",)),
    Family("document-F1", "F1 of the concepts of each text", "annotation"),
    Family("span-F1", "F1 of the mentions of each text", "annotation",
           options=(Option.of_words("match", *get_args(SpanMatch)),)),
)  # fmt: skip
