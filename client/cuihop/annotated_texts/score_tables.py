"""Tables of scored annotations: scores with intervals, near misses, hops of false positives, semantic types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from cuihop.added_names import without_added_names
from cuihop.annotated_texts.nearest_concepts import BEYOND, ScoredConcepts
from cuihop.annotated_texts.scoring import AnnotationScores
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.evaluation.resampling import checked_resampling, interval_of, resampled_sums
from cuihop.graph import ConceptGraph
from cuihop.measures.match_counts import MatchCounts, precision_recall_f1
from cuihop.measures.nearness import Nearness
from cuihop.notebooks.table import Table
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

_Types: TypeAlias = tuple[tuple[str, str], ...]

NOT_IN_GRAPH, FARTHER = "not in the graph", "farther"
_OUTSIDE, _UNTYPED, _OTHERS = ("", NOT_IN_GRAPH), ("", "without a type"), ("", "types of no true concept")


class MatchedConcepts(Protocol):
    """Concepts of texts or images, each with the nearest one of the other side; `AnnotationScores` has them."""

    @property
    def true(self) -> ScoredConcepts:
        """The true concepts of all texts."""

    @property
    def predicted(self) -> ScoredConcepts:
        """The predicted concepts of all texts."""

    @property
    def concepts(self) -> Sequence[str]:
        """Names of the concepts, by number."""

    @property
    def held(self) -> int:
        """The number of concepts in the graph, which come first."""

    @property
    def nearness(self) -> Nearness:
        """n, λ and direction."""


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 under a measure.

    Attributes:
        measure: its name.
        precision, recall, f1: of all texts together (micro average).
        low, high: confidence interval of f1, by the bootstrap over texts.
        macro_precision, macro_recall, macro_f1: means over the texts.
        macro_low, macro_high: confidence interval of macro_f1.
    """

    measure: str
    precision: float
    recall: float
    f1: float
    low: float
    high: float
    macro_precision: float
    macro_recall: float
    macro_f1: float
    macro_low: float
    macro_high: float


def scores_of(
    scores: AnnotationScores, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0,
    threads: int | None = None,
) -> list[Score]:  # fmt: skip
    """The scores under each measure.

    The intervals are those of the percentiles of resampled texts (Efron and Tibshirani 1993, chapter 13): of the F1 of
    their summed counts, and of the mean of their F1.

    Args:
        scores: the result of a scoring.
        confidence: of the intervals. resamples: number of resamples. seed: the same gives the same.
        threads: number of threads; ``None`` is one for each core. The numbers do not depend on it.

    Raises:
        InputError: a parameter is out of its range.
    """
    checked_resampling(resamples, confidence, seed)
    width = len(MatchCounts._fields)
    columns = np.hstack([*(scores.matches[measure] for measure in scores.measures), scores.values])
    drawn = resampled_sums(np.ascontiguousarray(columns, dtype=np.float64), resamples, seed, threads)
    found = []
    for place, measure in enumerate(scores.measures):
        lam, micro = scores.weight(measure), scores.micro(measure)
        sums = drawn[:, place * width : (place + 1) * width]
        low, high = interval_of(precision_recall_f1(sums, lam)[:, 2], confidence)
        means = drawn[:, len(scores.measures) * width + place] / len(scores.queries)
        macro = [mean_of(values) or 0.0 for values in precision_recall_f1(scores.matches[measure], lam).T]
        macro += interval_of(means, confidence)
        found.append(Score(str(measure), micro.precision(lam), micro.recall(lam), micro.f1(lam), low, high, *macro))
    return found


def score_table(scores: Mapping[str, Sequence[Score]], confidence: float) -> Table:
    """A row for each measure and system; of several systems the best first, by micro F1.

    Args:
        scores: name of a system → its scores; one without a name has no column.
        confidence: of the intervals.
    """
    rows = []
    for place in range(min(map(len, scores.values()))):
        ranked = sorted(scores.items(), key=lambda item: -item[1][place].f1)
        for name, found in ranked:
            s = found[place]
            rows.append(
                [s.measure, *([name] if len(scores) > 1 else []),
                 *map(number_text, (s.precision, s.recall, s.f1)), span_of(s.low, s.high),
                 *map(number_text, (s.macro_precision, s.macro_recall, s.macro_f1)), span_of(s.macro_low, s.macro_high)]
            )  # fmt: skip
    interval = f"{100 * confidence:.4g}% interval"
    columns = ["P", "R", "F1", interval, "macro P", "macro R", "macro F1", interval]
    titles = ["measure", *(["system"] if len(scores) > 1 else []), *columns]
    return Table(titles, rows, "scores", "Scores of all texts together, and means over the texts (macro).")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A predicted concept that is near to a true one.

    Attributes:
        predicted, true: the two concepts. predicted_name, true_name: their names; ``None`` where the release has none.
        hops: between them. texts: the number of texts, or of images.
    """

    predicted: str
    predicted_name: str | None
    true: str
    true_name: str | None
    hops: int
    texts: int


def near_misses(scores: MatchedConcepts, graph: ConceptGraph) -> list[NearMiss]:
    """False positives within n hops of a true concept, with the nearest: fewest hops first, then by number of texts.

    Args:
        scores: the result of a scoring. graph: gives the names.
    """
    side = scores.predicted
    which = (side.hops > 0) & (side.hops <= scores.nearness.n)
    columns = (column[which].tolist() for column in (side.hops, side.concepts, side.nearest))
    times = Counter(zip(*columns, strict=True))
    ranked = sorted(times.items(), key=lambda item: (item[0][0], -item[1], item[0][1:]))
    cited = sorted({concept for (_, *both), _ in ranked for concept in both})
    names = dict(zip(cited, graph.names([scores.concepts[c] for c in cited]), strict=True))
    return [
        NearMiss(scores.concepts[guess], names[guess], scores.concepts[true], names[true], hops, number)
        for (hops, guess, true), number in ranked
    ]


def false_positives_by_hops(scores: MatchedConcepts) -> dict[str, int]:
    """Number of false positives by their hops to the nearest true concept of their text."""
    side = scores.predicted
    wrong = side.hops > 0
    found = {str(hops): int((side.hops == hops).sum()) for hops in range(1, side.farthest + 1)}
    outside = wrong & (side.concepts >= scores.held)
    found[FARTHER] = int((wrong & (side.hops == BEYOND) & ~outside).sum())
    found[NOT_IN_GRAPH] = int(outside.sum())
    return found


@dataclass(frozen=True, slots=True)
class TypeScore:
    """Scores of the concepts of one semantic type.

    Attributes:
        tui, type: of the true concepts; of the last rows no type, with ``tui`` empty.
        true, predicted: concepts of the type, each counted once in a text. right: of those, predicted and true.
        precision, recall, f1: over all texts.
    """

    tui: str
    type: str
    true: int
    predicted: int
    right: int
    precision: float
    recall: float
    f1: float


def type_scores(scores: MatchedConcepts, graph: ConceptGraph) -> list[TypeScore]:
    """Scores of each semantic type that a true concept has, the most frequent first.

    A concept of two types counts in both. Predicted concepts whose types no true concept has are a row of their own,
    as are concepts outside the graph.

    Args:
        scores: the result of a scoring.
        graph: gives the types; a neighbour dictionary holds none, and there are no rows.
    """
    if isinstance(without_added_names(graph), NeighbourDictionary):
        return []
    records = graph.concepts(list(scores.concepts[: scores.held]))
    types: list[_Types] = [record.semantic_types or (_UNTYPED,) for record in records]
    types += [(_OUTSIDE,)] * (len(scores.concepts) - scores.held)
    true, found = _times(scores.true, types), _times(scores.true, types, right=True)
    listed = [tuple(kind for kind in kinds if kind in true or not kind[0]) or (_OTHERS,) for kinds in types]
    guessed, right = _times(scores.predicted, listed), _times(scores.predicted, listed, right=True)
    rows = []
    for kind in sorted({*true, *guessed}, key=lambda kind: (not kind[0], -true[kind], kind)):
        counts = MatchCounts(true[kind], guessed[kind], found[kind], right[kind])
        rows.append(
            TypeScore(*kind, true[kind], guessed[kind], right[kind], counts.precision(), counts.recall(), counts.f1())
        )
    return rows


def _times(side: ScoredConcepts, types: Sequence[_Types], *, right: bool = False) -> Counter[tuple[str, str]]:
    """The number of concepts of each type; of those that are right."""
    times = Counter[tuple[str, str]]()
    concepts = side.concepts[side.hops == 0] if right else side.concepts
    for kinds, number in zip(types, np.bincount(concepts, minlength=len(types)).tolist(), strict=True):
        times.update(dict.fromkeys(kinds, number) if number else {})
    return times


def type_table(rows: Sequence[TypeScore], things: str = "texts") -> Table:
    """A row for each semantic type.

    Args:
        rows: the scores. things: the members of the collection, such as images.
    """
    return Table(
        ("semantic type", "true", "predicted", "right", "P", "R", "F1"),
        [
            (f"{row.tui} {row.type}".strip(), f"{row.true:,}", f"{row.predicted:,}", f"{row.right:,}",
             *map(number_text, (row.precision, row.recall, row.f1)))
            for row in rows
        ],
        "types",
        f"Concepts of all {things}, by semantic type.",
    )  # fmt: skip


def miss_table(misses: Sequence[NearMiss], things: str = "texts") -> Table:
    """A row for each near miss.

    Args:
        misses: the near misses. things: the members of the collection, such as images.
    """
    return Table(
        ("hops", things, "predicted", "nearest true concept"),
        [
            (str(miss.hops), f"{miss.texts:,}", f"{miss.predicted} {miss.predicted_name or ''}".rstrip(),
             f"{miss.true} {miss.true_name or ''}".rstrip())
            for miss in misses
        ],
        "near_misses",
        "Predicted concepts that are near to a true one.",
    )  # fmt: skip


def hops_table(hops: Mapping[str, int]) -> Table:
    """A row for each number of hops of false positives."""
    rows = [(name, f"{number:,}") for name, number in hops.items()]
    return Table(("hops", "false positives"), rows, "hops", "False positives by hops to the nearest true concept.")
