"""Scores of matched concepts: averages with intervals, near misses, hops of false positives, semantic types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from cuihop.annotated_texts.nearest_concepts import BEYOND, MatchedConcepts, ScoredConcepts
from cuihop.annotated_texts.scoring import AnnotationScores
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.evaluation.resampling import checked_resampling, interval_of, mean_interval, resampled_sums
from cuihop.graph import ConceptGraph
from cuihop.graph_wrapper import without_added_names
from cuihop.measures.f1 import MatchCounts, precision_recall_f1
from cuihop.measures.measure import Measure
from cuihop.notebooks.table import Table
from cuihop.resources.arrays import Float64, Int64
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

Row = TypeVar("Row")
_Types: TypeAlias = tuple[tuple[str, str], ...]

NOT_IN_GRAPH, FARTHER = "not in the graph", "farther"
_OUTSIDE, _UNTYPED, _OTHERS = ("", NOT_IN_GRAPH), ("", "without a type"), ("", "types of no true concept")


class Averages(NamedTuple):
    """Averages under one measure.

    Attributes:
        micro: precision, recall and F1 of the summed counts of all texts, and the interval of F1.
        macro: means of the scored texts, and the interval of F1; ``None`` without a scored text.
        scored: number of these texts.
    """

    micro: tuple[Any, Any, Any, Any, Any]
    macro: tuple[Any, Any, Any, Any, Any]
    scored: int


def averages(
    counts: Mapping[Measure, Int64], values: Mapping[Measure, Float64],
    weights: Mapping[Measure, float], *, confidence: float, resamples: int, seed: int, threads: int | None,
) -> dict[Measure, Averages]:  # fmt: skip
    """Precision, recall and F1 under each measure, with intervals of F1 of resampled texts.

    The intervals are those of the percentiles (Efron and Tibshirani 1993, chapter 13): of the F1 of the summed counts,
    and of the mean of the texts' F1.

    Args:
        counts: fields of `MatchCounts` of each text, shape (texts, 6). values: F1 of each text; NaN leaves the mean.
        weights: λ of a near concept.
        confidence, resamples, seed, threads: see `cuihop.evaluation.resampling.mean_interval`.

    Raises:
        InputError: a parameter is out of its range.
    """
    checked_resampling(resamples, confidence, seed)
    complete = [measure for measure in counts if not np.isnan(values[measure]).any()]
    columns = np.column_stack([*counts.values(), *(values[measure] for measure in complete)])
    sums = resampled_sums(np.ascontiguousarray(columns, dtype=np.float64), resamples, seed, threads)
    width = len(MatchCounts._fields)

    def macro_interval(measure: Measure) -> tuple[float | None, float | None]:
        if measure in complete:
            means = sums[:, width * len(counts) + complete.index(measure)] / len(columns)
            return interval_of(means, confidence)
        return mean_interval(values[measure], confidence=confidence, resamples=resamples, seed=seed, threads=threads)

    results = {}
    for index, (measure, rows) in enumerate(counts.items()):
        lam, is_scored = weights[measure], ~np.isnan(values[measure])
        total = precision_recall_f1(rows.sum(axis=0, keepdims=True), lam)[0].tolist()
        resampled = precision_recall_f1(sums[:, width * index : width * (index + 1)], lam)[:, 2]
        precision, recall, _ = map(mean_of, precision_recall_f1(rows[is_scored], lam).T)
        results[measure] = Averages(
            (total[0], total[1], total[2], *interval_of(resampled, confidence)),
            (precision, recall, mean_of(values[measure]), *macro_interval(measure)),
            int(is_scored.sum()),
        )
    return results


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 under a measure.

    Attributes:
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
    """The scores under each measure: see `averages`.

    Args:
        scores: the result of a scoring.
        confidence, resamples, seed, threads: as in `cuihop.evaluation.group_means`.

    Raises:
        InputError: a parameter is out of its range.
    """
    values = dict(zip(scores.measures, scores.values.T, strict=True))
    weights = {measure: scores.weight(measure) for measure in values}
    results = averages(
        {measure: scores.matches[measure] for measure in values}, values, weights,
        confidence=confidence, resamples=resamples, seed=seed, threads=threads,
    )  # fmt: skip
    return [Score(str(measure), *each.micro, *each.macro) for measure, each in results.items()]


def rows_by_system(
    scores: Mapping[str, Sequence[Row]], f1: Callable[[Row], float | None]
) -> Iterator[tuple[list[str], Row]]:
    """The first rows of all systems, best first, then the second ones: each with a cell of the system's name.

    Args:
        scores: name of a system → its rows; a single system has no cell. f1: value of a row.
    """
    for rows in zip(*scores.values(), strict=False):
        for name, row in sorted(zip(scores, rows, strict=True), key=lambda named: -(f1(named[1]) or 0.0)):
            yield [name] if len(scores) > 1 else [], row


def score_table(scores: Mapping[str, Sequence[Score]], confidence: float) -> Table:
    """A row for each measure and system, the best system first, by micro F1; a single system has no column."""
    rows = [
        [s.measure, *system, *map(number_text, (s.precision, s.recall, s.f1)), span_of(s.low, s.high),
         *map(number_text, (s.macro_precision, s.macro_recall, s.macro_f1)), span_of(s.macro_low, s.macro_high)]
        for system, s in rows_by_system(scores, lambda score: score.f1)
    ]  # fmt: skip
    interval = f"{100 * confidence:.4g}% interval"
    columns = ["P", "R", "F1", interval, "macro P", "macro R", "macro F1", interval]
    titles = ["measure", *(["system"] if len(scores) > 1 else []), *columns]
    return Table(titles, rows, "scores", "Scores of all texts together, and means over the texts (macro).")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A predicted concept that is near to a true one.

    Attributes:
        predicted, true: the two concepts. predicted_name, true_name: their names; ``None`` if the release has none.
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
    near = (side.hops > 0) & (side.hops <= scores.nearness.n)
    columns = (column[near].tolist() for column in (side.hops, side.concepts, side.nearest))
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
    outside = (side.hops > 0) & (side.concepts >= scores.held)
    return {
        **{str(hops): int((side.hops == hops).sum()) for hops in range(1, side.farthest + 1)},
        FARTHER: int(((side.hops == BEYOND) & ~outside).sum()),
        NOT_IN_GRAPH: int(outside.sum()),
    }


@dataclass(frozen=True, slots=True)
class TypeScore:
    """Scores of the concepts of one semantic type.

    Attributes:
        tui, type: of the true concepts; the last rows have no type, and an empty ``tui``.
        true, predicted: concepts of the type, each counted once in a text. right: those both predicted and true.
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
    records = graph.concepts(list(scores.concepts[: scores.held]), codes=False)
    types: list[_Types] = [record.semantic_types or (_UNTYPED,) for record in records]
    types += [(_OUTSIDE,)] * (len(scores.concepts) - scores.held)
    true, matched = _times(scores.true, types), _times(scores.true, types, right=True)
    listed = [tuple(kind for kind in kinds if kind in true or not kind[0]) or (_OTHERS,) for kinds in types]
    guessed, right = _times(scores.predicted, listed), _times(scores.predicted, listed, right=True)
    rows = []
    for kind in sorted({*true, *guessed}, key=lambda kind: (not kind[0], -true[kind], kind)):
        counts = MatchCounts(true[kind], guessed[kind], matched[kind], right[kind])
        rows.append(
            TypeScore(*kind, true[kind], guessed[kind], right[kind], counts.precision(), counts.recall(), counts.f1())
        )
    return rows


def _times(side: ScoredConcepts, types: Sequence[_Types], *, right: bool = False) -> Counter[tuple[str, str]]:
    """The number of concepts of each type, or only of the right ones."""
    times = Counter[tuple[str, str]]()
    concepts = side.concepts[side.hops == 0] if right else side.concepts
    for kinds, number in zip(types, np.bincount(concepts, minlength=len(types)).tolist(), strict=True):
        times.update(dict.fromkeys(kinds, number) if number else {})
    return times


COUNT_COLUMNS = ("true", "predicted", "right", "P", "R", "F1")
"""Titles of the cells of `count_cells`."""


def count_cells(score: Any) -> list[str]:
    """The cells of a score with the fields true, predicted, right, precision, recall and f1."""
    counts = (f"{count:,}" for count in (score.true, score.predicted, score.right))
    return [*counts, *map(number_text, (score.precision, score.recall, score.f1))]


def type_table(rows: Sequence[TypeScore], things: str = "texts") -> Table:
    """A row for each semantic type of the concepts of the texts, or of other things such as images."""
    cells = [(f"{row.tui} {row.type}".strip(), *count_cells(row)) for row in rows]
    return Table(("semantic type", *COUNT_COLUMNS), cells, "types", f"Concepts of all {things}, by semantic type.")


def miss_table(misses: Sequence[NearMiss], things: str = "texts") -> Table:
    """A row for each near miss in the texts, or in other things such as images."""
    cells = [
        (str(miss.hops), f"{miss.texts:,}", f"{miss.predicted} {miss.predicted_name or ''}".rstrip(),
         f"{miss.true} {miss.true_name or ''}".rstrip())
        for miss in misses
    ]  # fmt: skip
    titles = ("hops", things, "predicted", "nearest true concept")
    return Table(titles, cells, "near_misses", "Predicted concepts that are near to a true one.")


def hops_table(hops: Mapping[str, int]) -> Table:
    """A row for each number of hops of false positives."""
    rows = [(name, f"{number:,}") for name, number in hops.items()]
    return Table(("hops", "false positives"), rows, "hops", "False positives by hops to the nearest true concept.")
