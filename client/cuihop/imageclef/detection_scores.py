"""Scores of detected concepts beside the means over images: averages, and scores of each concept and frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.added_names import names_of
from cuihop.collection.columns import Columns
from cuihop.errors import InputError
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.evaluation.resampling import checked_resampling, interval_of, mean_interval, resampled_sums
from cuihop.files.input_file import Readable
from cuihop.files.text_lines import counted, quoted
from cuihop.graph import ConceptGraph
from cuihop.imageclef.concept_detection import NEAR, PRIMARY, DetectionEvaluation
from cuihop.imageclef.detected_concepts import DetectedConcepts
from cuihop.imageclef.frequency_ranges import frequency_range, range_text
from cuihop.measures.match_counts import MatchCounts, precision_recall_f1
from cuihop.measures.measure import Measure
from cuihop.notebooks.table import Table

__all__ = [
    "AverageScore",
    "ConceptScore",
    "FrequencyScore",
    "TrainingConcepts",
    "average_scores",
    "average_table",
    "concept_scores",
    "concept_table",
    "frequency_scores",
    "frequency_table",
]

Float64 = npt.NDArray[np.float64]
Average: TypeAlias = Literal["images", "micro", "concepts"]

_UNITS: Mapping[Average, str] = {"images": "image", "micro": "image", "concepts": "concept"}


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
    found: DetectionEvaluation, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0,
    threads: int | None = None,
) -> list[AverageScore]:  # fmt: skip
    """The averages under F1, F1(of=manual) and nn-F1, as far as they were measured.

    They are scikit-learn's ``samples`` over the images with a true concept, ``micro``, and ``macro`` over the concepts
    that are true or predicted in an image, with ``zero_division=0``. A concept predicted for an image without a true
    one is wrong in the last two. nn-F1 has no average over concepts.

    Args:
        found: the result of a detection.
        confidence: of the intervals. resamples: number of resamples. seed: the same gives the same.
        threads: number of threads; ``None`` is one for each core. The numbers do not depend on it.

    Raises:
        InputError: a parameter is out of its range.
    """
    checked_resampling(resamples, confidence, seed)
    counts = {measure: matches.of_images() for measure, matches in found.matches.items()}
    values = {measure: found.values[:, found.measures.index(measure)] for measure in counts}
    whole = [measure for measure, column in values.items() if not np.isnan(column).any()]
    columns = np.hstack([*counts.values(), *(values[measure][:, np.newaxis] for measure in whole)])
    drawn = resampled_sums(np.ascontiguousarray(columns, dtype=np.float64), resamples, seed, threads)
    width, images = len(MatchCounts._fields), len(found.queries)

    def interval_of_mean(measure: Measure) -> tuple[float, float] | tuple[None, None]:
        if measure in whole:
            return interval_of(drawn[:, width * len(counts) + whole.index(measure)] / images, confidence)
        scored = values[measure][~np.isnan(values[measure])]
        if not len(scored):
            return None, None
        return mean_interval(scored, confidence=confidence, resamples=resamples, seed=seed, threads=threads)

    scores: list[AverageScore] = []
    for place, (measure, matches) in enumerate(found.matches.items()):
        lam, scored = matches.nearness.lam, ~np.isnan(values[measure])
        precision, recall, _ = map(mean_of, precision_recall_f1(counts[measure][scored], lam).T)
        means = (precision, recall, mean_of(values[measure]))
        scores.append(_average(measure, "images", means, interval_of_mean(measure), int(scored.sum())))
        total = precision_recall_f1(counts[measure].sum(axis=0, keepdims=True), lam)[0].tolist()
        resampled = precision_recall_f1(drawn[:, width * place : width * (place + 1)], lam)[:, 2]
        scores.append(_average(measure, "micro", total, interval_of(resampled, confidence), images))
        if measure != NEAR:
            each = precision_recall_f1(matches.of_concepts())
            scores.append(_average(measure, "concepts", list(map(mean_of, each.T)), (None, None), len(each)))
    return scores


def _average(
    measure: Measure, average: Average, shares: Sequence[float | None], span: tuple[float | None, float | None],
    number: int,
) -> AverageScore:  # fmt: skip
    precision, recall, f1 = shares
    low, high = span
    return AverageScore(str(measure), average, precision, recall, f1, low, high, number)


def average_table(scores: Mapping[str, Sequence[AverageScore]], confidence: float) -> Table:
    """A row for each measure, average and system; of several systems the best first, by F1.

    Args:
        scores: name of a system → its scores; one without others has no column.
        confidence: of the intervals.
    """
    rows = []
    several = len(scores) > 1
    for place in range(min(map(len, scores.values()))):
        for name, found in sorted(scores.items(), key=lambda item: -(item[1][place].f1 or 0.0)):
            s = found[place]
            rows.append(
                (s.measure, s.average, *([name] if several else []), *map(number_text, (s.precision, s.recall, s.f1)),
                 "" if s.average == "concepts" else span_of(s.low, s.high), counted(s.number, _UNITS[s.average]))
            )  # fmt: skip
    titles = ("measure", "average", *(["system"] if several else []), "P", "R", "F1",
              f"{100 * confidence:.4g}% interval", "over")  # fmt: skip
    caption = "Means over images (images) and over concepts (concepts), and scores of all images together (micro)."
    return Table(titles, rows, "averages", caption)


@dataclass(frozen=True, slots=True)
class ConceptScore:
    """Scores of one concept.

    Attributes:
        concept: identifier. name: ``None`` where none is given.
        true, predicted: images that have it on each side. right: images that have it on both.
        precision, recall, f1: over all images; 0 where their divisor is 0.
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
    found: DetectionEvaluation, names: ConceptGraph | Mapping[str, str] | None = None
) -> list[ConceptScore]:
    """Scores of each concept that is true or predicted in an image, those with the most true images first.

    Args:
        found: the result of a detection.
        names: a graph, or concept → name.
    """
    matches = found.matches[PRIMARY]
    counts, listed = matches.of_concepts(), matches.concepts
    named = _names(listed, names)
    order = np.lexsort((np.arange(len(listed)), -counts[:, 1], -counts[:, 0])).tolist()
    rows = zip(counts[:, [0, 1, 3]].tolist(), precision_recall_f1(counts).tolist(), strict=True)
    scores = [ConceptScore(cui, named.get(cui), *row, *shares) for cui, (row, shares) in zip(listed, rows, strict=True)]
    return [scores[place] for place in order]


def _names(concepts: Sequence[str], names: ConceptGraph | Mapping[str, str] | None) -> Mapping[str, str | None]:
    if names is None or isinstance(names, Mapping):
        return names or {}
    current = {answer.requested: answer.cui for answer in names.resolve(concepts) if answer.cui is not None}
    found = names_of(names, sorted(set(current.values())), [cui for cui in concepts if cui not in current])
    return {cui: found.get(current.get(cui, cui)) for cui in concepts}


def concept_table(scores: Sequence[ConceptScore]) -> Table:
    """A row for each concept."""
    rows = [
        (f"{s.concept} {s.name or ''}".strip() or "without a name", *_cells(s.true, s.predicted, s.right),
         *map(number_text, (s.precision, s.recall, s.f1)))
        for s in scores
    ]  # fmt: skip
    titles = ("concept", "true", "predicted", "right", "P", "R", "F1")
    return Table(titles, rows, "concepts", "Each concept, over all images.")


@dataclass(frozen=True, slots=True)
class FrequencyScore:
    """Scores of the concepts of one range of frequencies.

    Attributes:
        low, high: the first and the last number of training images of the range.
        concepts: number of concepts that are true or predicted in an image.
        true, predicted, right: their occurrences, and those that are both.
        precision, recall, f1: of the summed counts; 0 where their divisor is 0, and ``None`` without a concept.
    """

    low: int
    high: int
    concepts: int
    true: int
    predicted: int
    right: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class TrainingConcepts:
    """Concepts of the training images.

    Attributes:
        times: concept → number of images that have it. account: how the file was read.
    """

    times: Mapping[str, int]
    account: str

    @classmethod
    def read(
        cls, path: Readable, *, image_column: str | None = None, concept_column: str | None = None
    ) -> TrainingConcepts:
        """Read images and concepts in any form of the ground truth.

        Raises:
            InputError: as `DetectedConcepts.read`.
        """
        read = DetectedConcepts.read(path, Columns(image_column, concept_column), most=None)
        times = Counter(concept for concepts in read.listed.values() for concept in concepts if concept)
        return cls(times, f"training: {read.account}")


def frequency_scores(found: DetectionEvaluation, training: Mapping[str, int]) -> list[FrequencyScore]:
    """Scores of the concepts by their frequency in training: 0, 1 to 9, 10 to 99, 100 to 999, and on by powers of ten.

    Args:
        found: the result of a detection.
        training: concept → number of training images that have it. Those without are never seen in training.

    Raises:
        InputError: no concept stands in training: another vocabulary.
    """
    matches = found.matches[PRIMARY]
    concepts_here = [concept for concept in matches.concepts if concept]
    if concepts_here and training and training.keys().isdisjoint(concepts_here):
        raise InputError(
            "no concept of the images is among those of the training images", found=quoted(concepts_here[0]),
            expected=f"concepts such as {quoted(min(training))}", advice="Are they of another vocabulary?",
        )  # fmt: skip
    times = np.array([training.get(concept, 0) for concept in matches.concepts], dtype=np.int64)
    ranges = [frequency_range(0)]
    while ranges[-1][1] < times.max(initial=0):
        ranges.append(frequency_range(ranges[-1][1] + 1))
    which = np.searchsorted([high for _, high in ranges], times)
    counts = np.zeros((len(ranges), len(MatchCounts._fields)), dtype=np.int64)
    np.add.at(counts, which, matches.of_concepts())
    concepts = np.bincount(which, minlength=len(ranges)).tolist()
    rows = zip(ranges, concepts, counts[:, [0, 1, 3]].tolist(), precision_recall_f1(counts).tolist(), strict=True)
    return [
        FrequencyScore(*span, number, *some, *(shares if number else (None, None, None)))
        for span, number, some, shares in rows
    ]


def frequency_table(scores: Mapping[str, Sequence[FrequencyScore]]) -> Table:
    """A row for each range of frequencies and system.

    Args:
        scores: name of a system → its scores; one without others has no column.
    """
    several = len(scores) > 1
    spans = sorted({(s.low, s.high) for found in scores.values() for s in found})
    rows = [
        (range_text(s.low, s.high), *([name] if several else []),
         *_cells(s.concepts, s.true, s.predicted, s.right),
         *map(number_text, (s.precision, s.recall, s.f1)))
        for span in spans
        for name, found in scores.items()
        for s in found
        if (s.low, s.high) == span
    ]  # fmt: skip
    titles = ("images in training", *(["system"] if several else []), "concepts", "true", "predicted", "right", "P",
              "R", "F1")  # fmt: skip
    return Table(titles, rows, "frequencies", "Concepts by the number of training images that have them.")


def _cells(*counts: int) -> Iterable[str]:
    return (f"{count:,}" for count in counts)
