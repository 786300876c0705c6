"""Averages of detected concepts, and scores of each concept over all images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cuihop.annotated_texts.score_tables import COUNT_COLUMNS, averages, count_cells, rows_by_system
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.graph_wrapper import names_of
from cuihop.imageclef.concept_detection import NEAR, PRIMARY, DetectionEvaluation
from cuihop.measures.f1 import precision_recall_f1
from cuihop.notebooks.table import Table

__all__ = ["AverageScore", "ConceptScore", "average_scores", "average_table", "concept_scores", "concept_table"]

Average: TypeAlias = Literal["images", "micro", "concepts"]


@dataclass(frozen=True, slots=True)
class AverageScore:
    """Averages of precision, recall and F1.

    Attributes:
        measure: F1, F1(of=manual) or nn-F1.
        average: ``images``: means over the images with a true concept, as the organisers score. ``micro``: of the
            summed counts of all images. ``concepts``: means over the concepts, each counted over all images.
        precision, recall, f1: the averages.
        low, high: confidence interval of f1, by the bootstrap over images; ``None`` over concepts.
        number: of the images, or concepts, that the average is over.
    """

    measure: str
    average: Average
    precision: float | None
    recall: float | None
    f1: float | None
    low: float | None
    high: float | None
    number: int


def average_scores(
    evaluation: DetectionEvaluation, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0,
    threads: int | None = None,
) -> list[AverageScore]:  # fmt: skip
    """The averages under F1, F1(of=manual) and nn-F1, as far as they were measured.

    They are scikit-learn's ``samples`` over the images with a true concept, ``micro``, and ``macro`` over the concepts
    that are true or predicted in an image, with ``zero_division=0``. A concept predicted for an image without a true
    one is wrong in the last two. nn-F1 has no average over concepts.

    Args:
        evaluation: the result of a detection.
        confidence, resamples, seed, threads: as in `cuihop.evaluation.group_means`.

    Raises:
        InputError: a parameter is out of its range.
    """
    matches = evaluation.matches
    values = {measure: evaluation.values[:, evaluation.measures.index(measure)] for measure in matches}
    results = averages(
        {measure: each.of_texts() for measure, each in matches.items()}, values,
        {measure: each.nearness.lam for measure, each in matches.items()},
        confidence=confidence, resamples=resamples, seed=seed, threads=threads,
    )  # fmt: skip
    scores: list[AverageScore] = []
    for measure, each in results.items():
        name = str(measure)
        scores.append(AverageScore(name, "images", *each.macro, each.scored))
        scores.append(AverageScore(name, "micro", *each.micro, len(evaluation.queries)))
        if measure != NEAR:
            shares = precision_recall_f1(matches[measure].of_concepts())
            precision, recall, f1 = map(mean_of, shares.T)
            scores.append(AverageScore(name, "concepts", precision, recall, f1, None, None, len(shares)))
    return scores


def average_table(scores: Mapping[str, Sequence[AverageScore]], confidence: float) -> Table:
    """A row for each measure, average and system, the best system first, by F1.

    Args:
        scores: name of a system → its scores; a single system has no column. confidence: of the intervals.
    """
    rows = [
        (s.measure, s.average, *system, *map(number_text, (s.precision, s.recall, s.f1)),
         "" if s.average == "concepts" else span_of(s.low, s.high),
         counted(s.number, "concept" if s.average == "concepts" else "image"))
        for system, s in rows_by_system(scores, lambda score: score.f1)
    ]  # fmt: skip
    titles = ("measure", "average", *(["system"] if len(scores) > 1 else []), "P", "R", "F1",
              f"{100 * confidence:.4g}% interval", "over")  # fmt: skip
    caption = "Means over images (images) and over concepts (concepts), and scores of all images together (micro)."
    return Table(titles, rows, "averages", caption)


@dataclass(frozen=True, slots=True)
class ConceptScore:
    """Scores of one concept.

    Attributes:
        concept: identifier. name: ``None`` if none is given.
        true, predicted: images that have it on each side. right: images that have it on both.
        precision, recall, f1: over all images; 0 if their divisor is 0.
    """

    concept: str
    name: str | None
    true: int
    predicted: int
    right: int
    precision: float
    recall: float
    f1: float


def concept_scores(
    evaluation: DetectionEvaluation, names: ConceptGraph | Mapping[str, str] | None = None
) -> list[ConceptScore]:
    """Scores of each concept that is true or predicted in an image, those with the most true images first.

    Args:
        evaluation: the result of a detection.
        names: a graph, or concept → name.
    """
    matches = evaluation.matches[PRIMARY]
    counts, listed = matches.of_concepts(), matches.concepts
    named = _names(listed, names)
    order = np.lexsort((np.arange(len(listed)), -counts[:, 1], -counts[:, 0])).tolist()
    rows = zip(counts[:, [0, 1, 3]].tolist(), precision_recall_f1(counts).tolist(), strict=True)
    scores = [ConceptScore(cui, named.get(cui), *row, *shares) for cui, (row, shares) in zip(listed, rows, strict=True)]
    return [scores[index] for index in order]


def _names(concepts: Sequence[str], names: ConceptGraph | Mapping[str, str] | None) -> Mapping[str, str | None]:
    if names is None or isinstance(names, Mapping):
        return names or {}
    current = {answer.requested: answer.cui for answer in names.resolve(concepts) if answer.cui is not None}
    name_of = names_of(names, sorted(set(current.values())), [cui for cui in concepts if cui not in current])
    return {cui: name_of.get(current.get(cui, cui)) for cui in concepts}


def concept_table(scores: Sequence[ConceptScore]) -> Table:
    """A row for each concept."""
    rows = [(f"{s.concept} {s.name or ''}".strip() or "without a name", *count_cells(s)) for s in scores]
    return Table(("concept", *COUNT_COLUMNS), rows, "concepts", "Each concept, over all images.")
