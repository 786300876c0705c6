"""Concept detection as ImageCLEFmedical scores it: F1 of each image, and their mean."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.content_digest import content_digest
from cuihop.evaluation.image_concepts import check_image
from cuihop.evaluation.result import MeasuredQueries, versions
from cuihop.measures.concept_f1 import MANUAL_CONCEPTS, concept_f1
from cuihop.measures.measure import Measure
from cuihop.text_lines import decoded_lines, shown

__all__ = ["DetectedConcepts", "DetectionCounts", "DetectionEvaluation", "evaluate_detection"]

MOST_CONCEPTS = 100
PRIMARY, SECONDARY = Measure("F1"), Measure("F1", options=(("of", "manual"),))

_EXPECTED = "the image, and after a comma its concepts, separated by ';'"
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class DetectedConcepts:
    """Image → its concepts as they are listed, in upper case.

    Attributes:
        listed: an empty tuple for a line without a comma. ``("",)`` for an empty field after one: the organisers'
            evaluator takes it for one concept without a name.
        lines: image → the line it stands in.
        source: the file.
    """

    listed: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]
    source: str

    @classmethod
    def read(cls, path: str | Path, *, most: int | None = MOST_CONCEPTS) -> DetectedConcepts:
        """Read ImageCLEF's CSV: image, concepts. A first line such as ``ID,CUIs`` is a header.

        Args:
            path: plain or gzipped, UTF-8.
            most: more concepts in a line are an error.

        Raises:
            InputError: a line has more than two columns or too many concepts, a concept or an image stands twice, or
                a concept is missing between two ``;``. Names the line.
        """
        path = Path(path)
        listed: dict[str, tuple[str, ...]] = {}
        lines: dict[str, int] = {}
        reader = csv.reader(decoded_lines(path), strict=True)
        line = 1
        try:
            for fields in reader:
                if fields and not (line == 1 and _is_header(fields)):
                    image = fields[0].strip()
                    listed[image] = _checked(fields, image, lines, most, path, line)
                    lines[image] = line
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=path, line=line, expected=_EXPECTED) from None
        if not listed:
            raise InputError("the file holds no image", file=path, expected=_EXPECTED)
        return cls(listed, lines, str(path))

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest({image: sorted(concepts) for image, concepts in self.listed.items()})

    def concepts(self, image: str, *, official: bool) -> frozenset[str]:
        """The set of an image; the concept without a name belongs to it only in the organisers' reading."""
        found = frozenset(self.listed[image])
        return found if official else found - {""}


@dataclass(frozen=True, slots=True)
class DetectionCounts:
    """What went into an evaluation of concept detection.

    Attributes:
        images: of the ground truth.
        empty_primary, empty_secondary: images without a true concept (after the filter); they leave the mean.
        predicted, true: concepts of all images, each counted as often as an image has it.
        unfilled: images of the ground truth whose field is empty.
    """

    images: int
    empty_primary: int
    empty_secondary: int | None
    predicted: int
    true: int
    unfilled: int


@dataclass(frozen=True, eq=False, kw_only=True)
class DetectionEvaluation(MeasuredQueries):
    """The result of `evaluate_detection`: F1 of each image; NaN for an image that leaves the mean."""

    counts: DetectionCounts


def evaluate_detection(
    truth: str | Path, predictions: str | Path, manual_truth: str | Path | None = None, *, official: bool = False
) -> DetectionEvaluation:
    """Score predicted concepts: primary, and with a manual ground truth secondary.

    F1 = 2 |T ∩ P| / (|T| + |P|) of each image, and the mean over the images that have a true concept. The secondary
    score first filters both sides to the 15 manually annotated concepts. Identifiers are compared in upper case.

    Args:
        truth: the ground truth, CSV.
        predictions: of the same images, each once, in any order.
        manual_truth: the manual ground truth, of the same images.
        official: read an empty field (``ID,``) as the organisers' evaluator of 2025 does: as one concept without a
            name. Such an image is scored, 1 if the prediction's field is empty too. Otherwise empty is empty, and an
            image without a true concept leaves the mean.

    Raises:
        InputError: a file is not as expected, or images are unknown or missing; names the line.
    """
    true = DetectedConcepts.read(truth, most=None)
    predicted = DetectedConcepts.read(predictions)
    _check_no_other_image(true, predicted)
    _check_every_image(true.listed, predicted)
    images = tuple(true.listed)
    measures: tuple[Measure, ...] = (PRIMARY,)
    columns = [_values(images, true, predicted, None, official)]
    manual = None
    if manual_truth is not None:
        manual = DetectedConcepts.read(manual_truth, most=None)
        _check_no_other_image(true, manual)
        _check_every_image(images, manual)
        measures = (PRIMARY, SECONDARY)
        columns.append(_values(images, manual, predicted, MANUAL_CONCEPTS, official))
    values: npt.NDArray[np.float64] = np.array(columns, dtype=np.float64).T
    empty = np.isnan(values).sum(axis=0).tolist()
    parameters: dict[str, Any] = {
        "measures": [str(measure) for measure in measures],
        "official": official,
        "truth": true.source,
        "manual_truth": None if manual_truth is None else str(manual_truth),
        "predictions": predicted.source,
        "digests": {
            "truth": true.digest,
            "manual_truth": None if manual is None else manual.digest,
        },
    }
    return DetectionEvaluation(
        measures=measures,
        queries=images,
        values=values,
        counts=DetectionCounts(
            images=len(true.listed),
            empty_primary=empty[0],
            empty_secondary=empty[1] if len(empty) > 1 else None,
            predicted=sum(len(predicted.concepts(image, official=official)) for image in images),
            true=sum(len(true.concepts(image, official=official)) for image in images),
            unfilled=sum(concepts == ("",) for concepts in true.listed.values()),
        ),
        release=None,
        parameters=parameters,
        versions=versions("cuihop", "numpy"),
    )


def _values(
    images: Iterable[str],
    true: DetectedConcepts,
    predicted: DetectedConcepts,
    allowed: frozenset[str] | None,
    official: bool,
) -> list[float]:
    """F1 of each image; NaN where no concept is true."""
    values = []
    for image in images:
        both = [side.concepts(image, official=official) for side in (true, predicted)]
        if allowed is not None:
            both = [concepts & allowed for concepts in both]
        value = concept_f1(*both)
        values.append(np.nan if value is None else value)
    return values


def _is_header(fields: list[str]) -> bool:
    """Whether the first line names columns. ``COVID_1,C0040405`` does not: ``ID`` alone is not enough."""
    names, rest = fields[0], "".join(fields[1:])
    return "ID" in names and not any(map(str.isdigit, rest or names))


def _checked(
    fields: list[str], image: str, lines: Mapping[str, int], most: int | None, path: Path, line: int
) -> tuple[str, ...]:
    """The concepts of a line, in upper case."""
    if len(fields) > 2:
        raise InputError(
            "wrong number of columns",
            file=path,
            line=line,
            found=f"{len(fields)} in {shown(','.join(fields))}",
            expected=_EXPECTED,
        )
    check_image(image, lines, path, line)
    if len(fields) == 1:
        return ()
    concepts = tuple(concept.strip().upper() for concept in fields[1].split(";"))
    if most is not None and len(concepts) > most:
        raise InputError(
            "too many concepts for an image",
            file=path,
            line=line,
            column=2,
            found=f"{len(concepts):,}",
            expected=f"at most {most}",
        )
    if len(concepts) > 1 and "" in concepts:
        raise InputError(
            "a concept is missing",
            file=path,
            line=line,
            column=2,
            found="nothing beside a ';'",
            expected="identifiers between ';'",
        )
    if len(set(concepts)) < len(concepts):
        twice = next(concept for place, concept in enumerate(concepts) if concept in concepts[:place])
        raise InputError(
            "a concept stands twice for an image",
            file=path,
            line=line,
            column=2,
            found=shown(twice),
            expected="each concept once",
        )
    return concepts


def _check_no_other_image(true: DetectedConcepts, other: DetectedConcepts) -> None:
    unknown = next((image for image in other.listed if image not in true.listed), None)
    if unknown is not None:
        raise InputError(
            "not an image of the ground truth",
            file=other.source,
            line=other.lines[unknown],
            column=1,
            found=shown(unknown),
            expected=f"an image of {true.source}",
        )


def _check_every_image(images: Iterable[str], other: DetectedConcepts) -> None:
    absent = [image for image in images if image not in other.listed]
    if absent:
        more = f" and {len(absent) - _SHOWN:,} more" if len(absent) > _SHOWN else ""
        raise InputError(
            "images of the ground truth are missing",
            file=other.source,
            line=max(other.lines.values()),
            found=f"{len(absent):,} missing when the file ends: {', '.join(absent[:_SHOWN])}{more}",
            expected="every image of the ground truth",
        )
