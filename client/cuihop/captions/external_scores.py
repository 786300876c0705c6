"""Values of captions that another program computed: a column for each measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cuihop.captions.reading import Captions
from cuihop.collection.concept_rows import IMAGE_NAMES
from cuihop.collection.image_rows import ImageRows, index_of_names
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, RowErrors
from cuihop.files.text_lines import counted, joined, quoted
from cuihop.measures.family import limits_text
from cuihop.measures.measure import FAMILIES, Measure, measures_named
from cuihop.resources.arrays import Float64

_EXPECTED = "the column of the images, then a column for each measure, such as ID,BERTScore,BLEURT"
_ROUNDING = 1e-9
_NO_FILE = RowErrors(None, ("image",), "row")


@dataclass(frozen=True, eq=False)
class ExternalScores:
    """Values of each caption of a system under some measures.

    Attributes:
        images: their names.
        columns: measure → float64, shape (images,), finite.
        source: the file, or another origin. form: how it was read.
        rows: image → its row; empty if it stands in no file.
    """

    images: tuple[str, ...]
    columns: Mapping[Measure, Float64]
    source: str = "memory"
    form: str = ""
    rows: ImageRows = field(default_factory=lambda: ImageRows(_NO_FILE))

    @property
    def account(self) -> str:
        """Summary of the input, in one line."""
        named = ", ".join(map(str, self.columns))
        return f"{self.source}: {joined(counted(len(self.images), 'image'), named, self.form)}"

    def of_images(self, references: Captions) -> dict[Measure, Float64]:
        """The columns in the order of the references.

        Raises:
            InputError: an image is unknown, named with its row, or one is missing.
        """
        (self.rows or ImageRows(_NO_FILE, self.images)).check_same(references, references.source)
        indices = index_of_names(self.images)
        order = [indices[image] for image in references]
        return {measure: column[order] for measure, column in self.columns.items()}

    @classmethod
    def read(cls, source: Readable) -> ExternalScores:
        """Read values from CSV, JSON Lines, Parquet or Arrow.

        A header or the keys name the column of the images (``ID``, ``image_id`` or ``image``; else the first column)
        and the measures; ``external(name=CIDEr)`` is a measure of any name.

        Args:
            source: the input.

        Raises:
            InputError: a column is no measure of captions, an image stands twice, or a value is no number within the
                limits of its measure; names the line or row.
        """
        records = Records.of(opened_input(source), _EXPECTED)
        if not records.names:
            raise InputError("the file is empty", file=records.source, expected=_EXPECTED)
        plain = [name.strip().lower() for name in records.names]
        image = next((plain.index(name) for name in IMAGE_NAMES if name in plain), 0)
        columns = [index for index in range(len(plain)) if index != image]
        measures = [_measure(records, records.names[index].strip()) for index in columns]
        if not measures or len(set(measures)) < len(measures):
            raise records.error(
                "a measure stands twice" if measures else "no measure", quoted(", ".join(records.names)), _EXPECTED
            )
        rows, values = ImageRows(records.row_errors([image, *columns])), list[list[float]]()
        for row, name, numbers in _rows(records, image, columns, measures, rows.error):
            rows.add(name, row)
            values.append(numbers)
        if not rows:
            raise rows.error.empty("value", _EXPECTED)
        scores = dict(zip(measures, np.array(values, dtype=np.float64).T, strict=True))
        return cls(tuple(rows), scores, records.source, records.form, rows)


def _measure(records: Records, name: str) -> Measure:
    """The measure of a column."""
    try:
        (measure,) = measures_named(name)
    except (InputError, ValueError):
        measure = None
    if measure is None or measure.kind != "caption":
        raise records.error(
            "a column that is no measure of captions", quoted(name), "a measure that cuihop measures list lists",
            f"external(name={name}) is a column of any name.",
        )  # fmt: skip
    return measure


def _rows(
    records: Records, image: int, columns: Sequence[int], measures: Sequence[Measure], row_error: RowErrors
) -> Iterator[tuple[int, str, list[float]]]:
    """Row, image and values of each image."""
    limits = [FAMILIES[measure.family].limits for measure in measures]
    for row, name, fields in _fields(records, image, columns, row_error):
        numbers = [_number(value) for value in fields]
        for column, (number, (low, high)) in enumerate(zip(numbers, limits, strict=True)):
            if not low - _ROUNDING <= number <= high + _ROUNDING or not math.isfinite(number):
                expected, content = f"a number{limits_text(low, high)}", quoted(str(fields[column])) or "nothing"
                percent = f"A value in percent is divided by 100: {number / 100:g}."
                hint = percent if low <= number / 100 <= high else None
                raise row_error("not a value of the measure", row, column + 1, content, expected, hint)
        yield row, name, numbers


def _fields(
    records: Records, image: int, columns: Sequence[int], row_error: RowErrors
) -> Iterator[tuple[int, str, Sequence[Any]]]:
    """Row, image and fields of each image."""
    if records.table is None:
        for row, fields in records.rows():
            if not isinstance(fields[image], str):
                raise row_error("not the name of an image", row, 0, quoted(repr(fields[image])), "a text")
            yield row, fields[image].strip(), [fields[index] for index in columns]
        return
    for first, batch in records.table.batches():
        names, codes = records.table.texts(first, batch, image)
        by_column = [records.table.numbers(first, batch, index).tolist() for index in columns]
        for row, (code, *numbers) in enumerate(zip(codes.tolist(), *by_column, strict=True), start=first):
            yield row, names[code].strip(), numbers


def _number(value: object) -> float:
    """The number of a field; NaN if it holds none."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    return math.nan
