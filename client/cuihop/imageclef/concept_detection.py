"""Concept detection as ImageCLEFmedical scores it: F1 of each image, and their mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.concept_rows import ConceptRows, check_image, fault_in_file, separated
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.likely_causes import cause_of_columns, cause_of_strange_name
from cuihop.files.text_lines import counted, csv_records, decoded_lines, quoted
from cuihop.identifiers import looks_like_identifier
from cuihop.measures.concept_f1 import MANUAL_CONCEPTS, concept_f1
from cuihop.measures.measure import Measure
from cuihop.resources.versions import versions

__all__ = ["DetectedConcepts", "DetectionCounts", "DetectionEvaluation", "evaluate_detection"]

MOST_CONCEPTS = 100
PRIMARY, SECONDARY = Measure("F1"), Measure("F1", options=(("of", "manual"),))

_EXPECTED = "the image, and after a comma its concepts, separated by ';'"
_OFFICIALLY = "read as the organisers' evaluator does: the form of identifiers is not looked at"
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class DetectedConcepts:
    """Image → its concepts as they are listed, in upper case.

    Attributes:
        listed: an empty tuple for a line without a comma. ``("",)`` for an empty field after one: the organisers'
            evaluator takes it for one concept without a name.
        lines: image → the line it stands in.
        source: the file.
        form: how it was read, for the account.
    """

    listed: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]
    source: str
    form: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        concepts = sum(len(set(concepts) - {""}) for concepts in self.listed.values())
        images = counted(len(self.listed), "image")
        return f"{self.source}: {images}, {counted(concepts, 'concept')}, {self.form}"

    @classmethod
    def read(cls, path: Readable, *, most: int | None = MOST_CONCEPTS, official: bool = False) -> DetectedConcepts:
        """Read ImageCLEF's CSV: image, concepts. A first line such as ``ID,CUIs`` is a header.

        A header is a first line whose second column holds no digit, as names of columns do and identifiers do not.

        Args:
            path: a file, a pipe, or ``-`` for standard input; UTF-8, may be compressed by gzip or zstd.
            most: more concepts in a line are an error.
            official: as the organisers' evaluator: any text is an identifier, a line may lack its comma, and a header
                has ``ID`` in its first column.

        Raises:
            InputError: a line has other than two columns or too many concepts, a concept or an image stands twice, a
                concept is missing between two ``;`` or malformed, or columns are swapped. Names the line.
        """
        file = opened_input(path)
        name = file.name
        listed: dict[str, tuple[str, ...]] = {}
        lines: dict[str, int] = {}
        checks = None if official else _Checks(name)
        header = None
        for line, fields in csv_records(decoded_lines(file), name, _EXPECTED):
            if line == 1 and _is_header(fields, official=official):
                header = ",".join(fields).strip()
                continue
            image = fields[0].strip()
            concepts = _checked(fields, image, lines, most, name, line)
            if checks is not None:
                checks.row(line, fields, image)
            listed[image] = concepts
            lines[image] = line
        if not listed:
            raise InputError("the file holds no image", file=name, expected=_EXPECTED)
        if checks is not None:
            checks.whole(listed, lines)
        first = "no header" if header is None else f"header {quoted(header)}"
        strict = "0 malformed" if checks is None else f"0 malformed{checks.lower_case}"
        form = f", {file.compression}" if file.compression else ""
        return cls(listed, lines, name, f"{first}, {_OFFICIALLY if official else strict}{form}")

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
    """Counts of the inputs of an evaluation of concept detection.

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
    """The result of `evaluate_detection`: F1 of each image; NaN for an image that leaves the mean.

    Its `counts` are `DetectionCounts`.
    """


def evaluate_detection(
    truth: Readable, predictions: Readable, manual_truth: Readable | None = None, *, official: bool = False
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
            image without a true concept leaves the mean. Nor does it look at the form of identifiers.

    Raises:
        InputError: a file is not as expected, or images are unknown or missing; names the line.
    """
    true = DetectedConcepts.read(truth, most=None, official=official)
    predicted = DetectedConcepts.read(predictions, official=official)
    _check_no_other_image(true, predicted)
    _check_every_image(true.listed, predicted)
    images = tuple(true.listed)
    measures: tuple[Measure, ...] = (PRIMARY,)
    columns = [_values(images, true, predicted, None, official)]
    manual = None
    if manual_truth is not None:
        manual = DetectedConcepts.read(manual_truth, most=None, official=official)
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
        "manual_truth": None if manual is None else manual.source,
        "predictions": predicted.source,
        "digests": {
            "truth": true.digest,
            "manual_truth": None if manual is None else manual.digest,
        },
    }
    counts = DetectionCounts(
        images=len(true.listed),
        empty_primary=empty[0],
        empty_secondary=empty[1] if len(empty) > 1 else None,
        predicted=sum(len(predicted.concepts(image, official=official)) for image in images),
        true=sum(len(true.concepts(image, official=official)) for image in images),
        unfilled=sum(concepts == ("",) for concepts in true.listed.values()),
    )
    inputs = {
        "truth": true.account,
        "predictions": predicted.account,
        **({} if manual is None else {"manual_truth": manual.account}),
    }
    return DetectionEvaluation(
        measures=measures,
        queries=images,
        values=values,
        release=None,
        versions=versions("cuihop", "numpy"),
        details=Details(counts, parameters, inputs),
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


def _is_header(fields: list[str], *, official: bool) -> bool:
    """Recognise a header. ``COVID_1,C0040405`` is not one: the letters ``ID`` alone are not enough.

    The second column of names holds no digit. The organisers' evaluator wants ``ID`` in the first.
    """
    names, rest = fields[0], "".join(fields[1:]).strip()
    likely = "ID" in names or bool(rest and not official and len(fields) == 2)
    return likely and not any(map(str.isdigit, rest or names))


class _Checks:
    """The checks of `ConceptRows`, beside those of the campaign.

    Args:
        path: name of the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._fault = fault_in_file(path)
        self._rows = ConceptRows(self._fault, "line", path)

    @property
    def lower_case(self) -> str:
        """Note on the concepts written in lower case, or nothing."""
        return f", {self._rows.lower:,} in lower case read in upper case" if self._rows.lower else ""

    def row(self, line: int, fields: list[str], image: str) -> None:
        """A line with two columns, and identifiers in the second.

        Raises:
            InputError: it has others.
        """
        if len(fields) != 2:
            raise _wrong_columns(fields, self._path, line)
        self._rows.add([(line, image, separated(fields[1]))])

    def whole(self, listed: Mapping[str, tuple[str, ...]], lines: Mapping[str, int]) -> None:
        """Check the file as a whole: swapped columns, and a header with a digit.

        Raises:
            InputError: it has one of them.
        """
        self._rows.check_columns()
        image, first = next(iter(listed.items()))
        others = [concept for name, concepts in listed.items() if name != image for concept in concepts if concept]
        plain = others and all(map(looks_like_identifier, others))
        if plain and first != ("",) and not any(map(looks_like_identifier, first)):
            raise self._fault(
                "neither a header nor concepts", lines[image], 1, quoted(";".join(first)),
                "a name without digits, or identifiers as in the other lines",
            )  # fmt: skip


def _wrong_columns(fields: list[str], path: str, line: int) -> InputError:
    return InputError(
        "wrong number of columns",
        file=path,
        line=line,
        found=f"{len(fields)} in {quoted(','.join(fields))}",
        expected=_EXPECTED,
        advice=cause_of_columns(fields, 2, ","),
    )


def _checked(
    fields: list[str], image: str, lines: Mapping[str, int], most: int | None, path: str, line: int
) -> tuple[str, ...]:
    """The concepts of a line, in upper case."""
    if len(fields) > 2:
        raise _wrong_columns(fields, path, line)
    if not image or image in lines:
        check_image(image, line, lines.get(image), fault_in_file(path), "line")
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
            found=quoted(twice),
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
            found=quoted(unknown),
            expected=f"an image of {true.source}",
            advice=cause_of_strange_name(unknown, true.listed) or _other_images(true.listed, other.listed),
        )


def _other_images(ours: Mapping[str, object], theirs: Mapping[str, object]) -> str | None:
    return None if ours.keys() & theirs.keys() else "No image is in both: are they of different splits?"


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
