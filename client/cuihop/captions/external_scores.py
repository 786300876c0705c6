"""Values of captions that another program computed: a column for each measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cuihop.captions.reading import Captions, check_same_images, numbered_rows
from cuihop.collection.columns import IMAGE_NAMES
from cuihop.collection.concept_rows import check_image
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import counted, quoted
from cuihop.measures.family import limits_text
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.registry import FAMILIES

Float64 = npt.NDArray[np.float64]

_EXPECTED = "the column of the images, then a column for each measure, such as ID,BERTScore,BLEURT"
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ExternalScores:
    """Values of each caption of a system under some measures.

    Attributes:
        images: their names.
        columns: measure → float64, shape (images,), finite.
        source: the file, or another origin. form: how it was read.
        rows: image → its row. fault: makes the error about one of them.
    """

    images: tuple[str, ...]
    columns: Mapping[Measure, Float64]
    source: str = "memory"
    form: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)
    fault: RowFault = field(default_factory=lambda: RowFault(None, ("image",), "row"))

    @property
    def account(self) -> str:
        """Summary of the input, in one line."""
        named = ", ".join(map(str, self.columns))
        return f"{self.source}: {', '.join(filter(None, (counted(len(self.images), 'image'), named, self.form)))}"

    def of_images(self, references: Captions) -> dict[Measure, Float64]:
        """The columns in the order of the references.

        Raises:
            InputError: an image is unknown, named with its row, or one is missing.
        """
        check_same_images(references, self.rows or numbered_rows(self.images), self.fault)
        places = {image: place for place, image in enumerate(self.images)}
        order = [places[image] for image in references]
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
        places = [place for place in range(len(plain)) if place != image]
        measures = [_measure(records, records.names[place].strip()) for place in places]
        if not measures or len(set(measures)) < len(measures):
            raise records.fault(
                "a measure stands twice" if measures else "no measure", quoted(", ".join(records.names)), _EXPECTED
            )
        fault = records.row_fault([image, *places])
        rows, values = dict[str, int](), list[list[float]]()
        for row, name, numbers in _rows(records, image, places, measures, fault):
            check_image(name, row, rows.get(name), fault)
            rows[name] = row
            values.append(numbers)
        if not rows:
            raise fault.empty("value", _EXPECTED)
        table = np.array(values, dtype=np.float64)
        columns = {measure: table[:, place] for place, measure in enumerate(measures)}
        return cls(tuple(rows), columns, records.source, records.form, rows, fault)


def _measure(records: Records, name: str) -> Measure:
    """The measure of a column."""
    try:
        (found,) = measures_named(name)
    except (InputError, ValueError):
        found = None
    if found is None or found.kind != "caption":
        raise records.fault(
            "a column that is no measure of captions", quoted(name), "a measure that cuihop measures lists",
            f"external(name={name}) is a column of any name.",
        )  # fmt: skip
    return found


def _rows(
    records: Records, image: int, places: Sequence[int], measures: Sequence[Measure], fault: RowFault
) -> Iterator[tuple[int, str, list[float]]]:
    """Row, image and values of each image."""
    limits = [FAMILIES[measure.family].limits for measure in measures]

    def refuse(row: int, column: int, found: object) -> NoReturn:
        expected = f"a number{limits_text(*limits[column])}"
        hundredth, (low, high) = _number(found) / 100, limits[column]
        advice = f"A value in percent is divided by 100: {hundredth:g}." if low <= hundredth <= high else None
        raise fault("not a value of the measure", row, column + 1, quoted(str(found)) or "nothing", expected, advice)

    for row, name, given in _given(records, image, places, fault):
        numbers = [_number(value) for value in given]
        for column, (number, (low, high)) in enumerate(zip(numbers, limits, strict=True)):
            if not low - _ROUNDING <= number <= high + _ROUNDING or not math.isfinite(number):
                refuse(row, column, given[column])
        yield row, name, numbers


def _given(
    records: Records, image: int, places: Sequence[int], fault: RowFault
) -> Iterator[tuple[int, str, Sequence[Any]]]:
    """Row, image and fields of each image."""
    if records.table is None:
        for row, fields in records.rows():
            if not isinstance(fields[image], str):
                raise fault("not the name of an image", row, 0, quoted(repr(fields[image])), "a text")
            yield row, fields[image].strip(), [fields[place] for place in places]
        return
    for first, batch in records.table.batches():
        names, codes = records.table.texts(first, batch, image)
        columns = [records.table.numbers(first, batch, place).tolist() for place in places]
        for row, (code, *numbers) in enumerate(zip(codes.tolist(), *columns, strict=True), start=first):
            yield row, names[code].strip(), numbers


def _number(value: object) -> float:
    """The number of a field; NaN where it holds none."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    return math.nan
