"""Scores of concepts and errors of codes by their frequency in training (ImageCLEFmed 2007, Figure 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cuihop.annotated_texts.score_tables import COUNT_COLUMNS, count_cells
from cuihop.collection.concept_rows import IMAGES_AND_CONCEPTS
from cuihop.errors import InputError
from cuihop.evaluation.means import number_text, span_text
from cuihop.files.input_file import Readable
from cuihop.files.text_lines import quoted
from cuihop.imageclef.concept_detection import PRIMARY, DetectionEvaluation
from cuihop.imageclef.detected_concepts import DetectedConcepts
from cuihop.imageclef.irma_codes import IrmaCodes, IrmaEvaluation
from cuihop.measures.f1 import MatchCounts, precision_recall_f1
from cuihop.measures.irma_error import WILDCARD
from cuihop.notebooks.figures import drawing, saved_figure
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CodeErrors",
    "FrequencyScore",
    "TrainingFrequencies",
    "code_errors",
    "code_frequency_figure",
    "code_frequency_table",
    "frequency_scores",
    "frequency_table",
]


def frequency_range(times: int) -> tuple[int, int]:
    """The first and the last number of the range that holds a number of training images.

    >>> frequency_range(0), frequency_range(9), frequency_range(10)
    ((0, 0), (1, 9), (10, 99))
    """
    low = 10 ** (len(str(times)) - 1) if times else 0
    return low, 10 * low - 1 if low else 0


@dataclass(frozen=True)
class TrainingFrequencies:
    """Numbers of training images.

    Attributes:
        times: concept or code → number of images that have it. account: how the file was read.
    """

    times: Mapping[str, int]
    account: str

    @classmethod
    def of_concepts(
        cls, path: Readable, *, image_column: str | None = None, concept_column: str | None = None
    ) -> TrainingFrequencies:
        """Read images and concepts in any form of the ground truth.

        Raises:
            InputError: as `DetectedConcepts.read`.
        """
        schema = IMAGES_AND_CONCEPTS.naming(image_column, concept_column)
        images = DetectedConcepts.read(path, schema, most=None)
        times = Counter(concept for concepts in images.listed.values() for concept in concepts if concept)
        return cls(times, f"training: {images.account}")

    @classmethod
    def of_codes(cls, path: Readable) -> TrainingFrequencies:
        """Read images and codes in any form of `IrmaCodes.read`.

        Raises:
            InputError: as `IrmaCodes.read`; or a code is not fully specified.
        """
        codes = IrmaCodes.read(path)
        for image, code in codes.axes.items():
            if any(WILDCARD in axis for axis in code):
                problem = "a code of training is not wholly specified"
                raise codes.rows.error_of(image, problem, 1, quoted("-".join(code)), f"no {WILDCARD!r}")
        return cls(Counter("-".join(code) for code in codes.axes.values()), f"training: {codes.account}")


@dataclass(frozen=True, slots=True)
class FrequencyScore:
    """Scores of the concepts of one range of frequencies.

    Attributes:
        low, high: the first and the last number of training images of the range.
        concepts: number of concepts that are true or predicted in an image.
        true, predicted, right: their occurrences, and those that are both.
        precision, recall, f1: of the summed counts; 0 if their divisor is 0, and ``None`` without a concept.
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


def frequency_scores(evaluation: DetectionEvaluation, training: Mapping[str, int]) -> list[FrequencyScore]:
    """Scores of the concepts by their frequency in training: 0, 1 to 9, 10 to 99, 100 to 999, and on by powers of ten.

    Args:
        evaluation: the result of a detection.
        training: concept → number of training images that have it. Those without are never seen in training.

    Raises:
        InputError: no concept stands in training: another vocabulary.
    """
    matches = evaluation.matches[PRIMARY]
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
        FrequencyScore(*span, number, *occurrences, *(shares if number else (None, None, None)))
        for span, number, occurrences, shares in rows
    ]


def frequency_table(scores: Mapping[str, Sequence[FrequencyScore]]) -> Table:
    """A row for each range of frequencies and system.

    Args:
        scores: name of a system → its scores; a single system has no column.
    """
    several = len(scores) > 1
    rows = [
        (span_text((s.low, s.high)), *([name] if several else []), f"{s.concepts:,}", *count_cells(s))
        for span in sorted({(s.low, s.high) for rows in scores.values() for s in rows})
        for name, rows in scores.items()
        for s in rows
        if (s.low, s.high) == span
    ]
    titles = ("images in training", *(["system"] if several else []), "concepts", *COUNT_COLUMNS)
    return Table(titles, rows, "frequencies", "Concepts by the number of training images that have them.")


@dataclass(frozen=True, slots=True)
class CodeErrors:
    """Errors of one correct code, relative to its images.

    Attributes:
        code: the code. training: number of training images that have it. images: number that have it here.
        error: the mean hierarchical error of these images, over all systems. error_rate: of these images.
    """

    code: str
    training: int
    images: int
    error: float
    error_rate: float


def code_errors(evaluations: Sequence[IrmaEvaluation], training: TrainingFrequencies) -> list[CodeErrors]:
    """Errors of each correct code, the least frequent in training first, equal ones by name.

    Args:
        evaluations: the results of one or more systems on the same images. training: codes of the training images.

    Raises:
        InputError: there is no system, or no code stands in training: other axes, or another collection.
    """
    if not evaluations:
        raise InputError("no system to score", expected="one or more")
    codes = np.array(evaluations[0].codes)
    if not any(code in training.times for code in evaluations[0].codes):
        raise InputError(
            "no correct code is among those of the training images", found=evaluations[0].codes[0],
            expected=f"codes such as {next(iter(training.times))}", advice="Are they of another collection?",
        )  # fmt: skip
    means = np.mean([each.values for each in evaluations], axis=0)
    errors = []
    for code in sorted(set(evaluations[0].codes), key=lambda each: (training.times.get(each, 0), each)):
        error, rate = means[codes == code].mean(axis=0).tolist()
        errors.append(CodeErrors(code, training.times.get(code, 0), int((codes == code).sum()), error, rate))
    return errors


def code_frequency_table(errors: Sequence[CodeErrors]) -> Table:
    """A row for each range of frequencies: 0, 1 to 9, 10 to 99, and on by powers of ten; means over the codes.

    Args:
        errors: of `code_errors`.
    """
    ranges: dict[tuple[int, int], list[CodeErrors]] = {}
    for each in errors:
        ranges.setdefault(frequency_range(each.training), []).append(each)
    rows = [
        (span_text((low, high)), f"{len(of):,}", f"{sum(each.images for each in of):,}",
         number_text(float(np.mean([each.error for each in of]))),
         number_text(float(np.mean([each.error_rate for each in of]))))
        for (low, high), of in sorted(ranges.items())
    ]  # fmt: skip
    titles = ("training images", "codes", "images", "mean error", "mean ER")
    return Table(titles, rows, "frequency", "Errors of the codes by their frequency in training.")


def code_frequency_figure(errors: Sequence[CodeErrors], path: str | Path | None = None) -> Figure:
    """The error rate of each code against its frequency in training, on a logarithmic axis with 0 at its left.

    Written to ``path`` (.svg, .png, .pdf) if given.

    Raises:
        ModuleNotFoundError: matplotlib is not installed. InputError: another suffix. OutputError: it cannot be written.
    """
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.scatter([each.training for each in errors], [each.error_rate for each in errors], s=14, alpha=0.7)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("images of the code in training")
        axes.set_ylabel("error rate of the code")
    return saved_figure(figure, path)
