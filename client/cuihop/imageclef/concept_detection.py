"""Concept detection as ImageCLEFmedical scores it: F1 of each image, and their mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.columns import EXPECTED_CONCEPTS, Columns
from cuihop.collection.concept_rows import ConceptRows, check_image, concept_records
from cuihop.collection.same_images import check_every_image, check_image_of_truth
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import RowFault
from cuihop.files.text_lines import counted, quoted
from cuihop.identifiers import looks_like_identifier
from cuihop.measures.concept_f1 import MANUAL_CONCEPTS, concept_f1
from cuihop.measures.measure import Measure
from cuihop.resources.versions import versions

__all__ = ["DetectedConcepts", "DetectionCounts", "DetectionEvaluation", "evaluate_detection"]

MOST_CONCEPTS = 100
PRIMARY, SECONDARY = Measure("F1"), Measure("F1", options=(("of", "manual"),))

_OFFICIALLY = "read as the organisers' evaluator does: the form of identifiers is not looked at"


@dataclass(frozen=True, eq=False)
class DetectedConcepts:
    """Image → its concepts as they are listed, in upper case.

    Attributes:
        listed: an empty tuple for an image without a field of concepts. ``("",)`` for an empty field: the organisers'
            evaluator takes it for one concept without a name.
        rows: image → the line or row it stands in. fault: makes the error about one.
        source: the file.
        form: how it was read, for the account.
    """

    listed: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    fault: RowFault
    source: str
    form: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        concepts = sum(len(set(concepts) - {""}) for concepts in self.listed.values())
        images = counted(len(self.listed), "image")
        return f"{self.source}: {images}, {counted(concepts, 'concept')}, {self.form}"

    @classmethod
    def read(
        cls, path: Readable, columns: Columns, *, most: int | None = MOST_CONCEPTS, official: bool = False
    ) -> DetectedConcepts:
        """Read images and concepts in any form of `ImageConcepts.read`; CSV of two columns may lack its header.

        A header is a first line whose second column holds no digit, as names of columns do and identifiers do not.

        Args:
            path: a file, a pipe, or ``-`` for standard input; text may be compressed by gzip or zstd.
            columns: those of images and concepts.
            most: more concepts of an image are an error.
            official: as the organisers' evaluator: any text is an identifier, a line of CSV may lack its comma, and a
                header has ``ID`` in its first column.

        Raises:
            InputError: a line has other than two columns or too many concepts, a concept or an image stands twice, a
                concept is missing between two ``;`` or malformed, or columns are swapped. Names the line.
        """

        def is_header(names: Sequence[str]) -> bool:
            return _is_header(names, official=official)

        def parts(field: str | None) -> Sequence[str]:
            return () if field is None else field.split(";")

        found = concept_records(opened_input(path), columns, is_header, parts if official else None)
        fault, listed, rows = found.fault, dict[str, tuple[str, ...]](), dict[str, int]()
        strict = ConceptRows(fault, found.source)
        for row, image, concepts in found.rows:
            if not image or image in rows:
                check_image(image, row, rows.get(image), fault)
            upper = _checked(concepts, row, most, fault)
            listed[image], rows[image] = upper if official else upper or ("",), row
            if not official:
                strict.add([(row, image, concepts)])
        if not listed:
            raise fault.empty("image", EXPECTED_CONCEPTS)
        form = _OFFICIALLY
        if not official:
            strict.check_columns()
            _check_first(listed, rows, fault)
            lower = f", {strict.lower:,} in lower case read in upper case" if strict.lower else ""
            form = f"0 malformed{lower}"
        header = {None: "", "": "no header"}.get(found.header, f"header {quoted(found.header or '')}")
        return cls(listed, rows, fault, found.source, ", ".join(filter(None, (header, form, found.form))))

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
    truth: Readable,
    predictions: Readable,
    manual_truth: Readable | None = None,
    *,
    official: bool = False,
    image_column: str | None = None,
    concept_column: str | None = None,
) -> DetectionEvaluation:
    """Score predicted concepts: primary, and with a manual ground truth secondary.

    F1 = 2 |T ∩ P| / (|T| + |P|) of each image, and the mean over the images that have a true concept. The secondary
    score first filters both sides to the 15 manually annotated concepts. Identifiers are compared in upper case.

    Args:
        truth: the ground truth, in any form of `ImageConcepts.read`; CSV of two columns may lack its header.
        predictions: of the same images, each once, in any order.
        manual_truth: the manual ground truth, of the same images.
        official: read an empty field (``ID,``) as the organisers' evaluator of 2025 does: as one concept without a
            name. Such an image is scored, 1 if the prediction's field is empty too. Otherwise empty is empty, and an
            image without a true concept leaves the mean. Nor does it look at the form of identifiers.
        image_column, concept_column: names of the columns in all files, as in `ImageConcepts.read`.

    Raises:
        InputError: a file is not as expected, or images are unknown or missing; names the line.
    """
    columns = Columns(image_column, concept_column)
    true = DetectedConcepts.read(truth, columns, most=None, official=official)
    predicted = DetectedConcepts.read(predictions, columns, official=official)
    _check_images(true, predicted)
    images = tuple(true.listed)
    measures: tuple[Measure, ...] = (PRIMARY,)
    scores = [_values(images, true, predicted, None, official)]
    manual = None
    if manual_truth is not None:
        manual = DetectedConcepts.read(manual_truth, columns, most=None, official=official)
        _check_images(true, manual)
        measures = (PRIMARY, SECONDARY)
        scores.append(_values(images, manual, predicted, MANUAL_CONCEPTS, official))
    values: npt.NDArray[np.float64] = np.array(scores, dtype=np.float64).T
    empty = np.isnan(values).sum(axis=0).tolist()
    parameters: dict[str, Any] = {
        "measures": [str(measure) for measure in measures],
        "official": official,
        "truth": true.source,
        "manual_truth": None if manual is None else manual.source,
        "predictions": predicted.source,
        "digests": {"truth": true.digest, "manual_truth": None if manual is None else manual.digest},
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


def _is_header(names: Sequence[str], *, official: bool) -> bool:
    """Recognise a header. ``COVID_1,C0040405`` is not one: the letters ``ID`` alone are not enough.

    The second column of names holds no digit. The organisers' evaluator wants ``ID`` in the first.
    """
    first, rest = names[0], "".join(names[1:]).strip()
    likely = "ID" in first or bool(rest and not official)
    return likely and not any(map(str.isdigit, rest or first))


def _check_first(listed: Mapping[str, tuple[str, ...]], rows: Mapping[str, int], fault: RowFault) -> None:
    """Refuse a header with a digit, which looks like an image."""
    image, first = next(iter(listed.items()))
    others = [concept for name, concepts in listed.items() if name != image for concept in concepts if concept]
    plain = others and all(map(looks_like_identifier, others))
    if plain and first != ("",) and not any(map(looks_like_identifier, first)):
        raise fault(
            "neither a header nor concepts", rows[image], 1, quoted(";".join(first)),
            "a name without digits, or identifiers as in the other lines",
        )  # fmt: skip


def _checked(concepts: Sequence[str], row: int, most: int | None, fault: RowFault) -> tuple[str, ...]:
    """The concepts of an image, in upper case."""
    upper = tuple(concept.strip().upper() for concept in concepts)
    if most is not None and len(upper) > most:
        raise fault("too many concepts for an image", row, 1, f"{len(upper):,}", f"at most {most}")
    if len(upper) > 1 and "" in upper:
        raise fault("a concept is missing", row, 1, "nothing beside a ';'", "identifiers between ';'")
    if len(set(upper)) < len(upper):
        twice = next(concept for place, concept in enumerate(upper) if concept in upper[:place])
        raise fault("a concept stands twice for an image", row, 1, quoted(twice), "each concept once")
    return upper


def _check_images(true: DetectedConcepts, other: DetectedConcepts) -> None:
    for image in other.listed:
        check_image_of_truth(image, true.listed, true.source, other.rows, other.fault)
    check_every_image(true.listed, other.rows, other.fault)
