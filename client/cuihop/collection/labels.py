"""Labels of images, such as modality and organ: images that agree in them are relevant to one another."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cuihop.collection.columns import place_of_column
from cuihop.collection.concept_rows import RowFault, check_image, fault_in_file, fault_in_table
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_names import places_by_name
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.likely_causes import cause_of_columns, cause_of_strange_name
from cuihop.files.text_lines import (
    DELIMITERS,
    counted,
    csv_records,
    decoded_lines,
    delimiter_of,
    first_line,
    json_records,
    quoted,
)

__all__ = ["MANUAL_LABELS", "UNLABELLED", "Labels"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

UNLABELLED = -1
_SHOWN = 5
_EXPECTED = "a header, then in each row the image and its labels, separated by commas or tabs"

MANUAL_LABELS: Mapping[str, frozenset[str]] = {
    "modality": frozenset({"C0002978", "C0024485", "C0032743", "C0040405", "C0041618", "C1306645", "C0920367"}),
    "organ": frozenset(
        {"C0000726", "C0006141", "C0023216", "C0030797", "C0037303", "C0037949", "C0817096", "C1140618"}
    ),
}
"""The manually annotated concepts of ImageCLEFmedical and ROCOv2 as labels of images.

Modality: angiography, MRI, PET, CT, ultrasound, plain X-ray, optical coherence tomography. Organ: abdomen, breast,
lower extremity, pelvis, skull, spine, chest, upper extremity.
"""


@dataclass(frozen=True, eq=False)
class Labels:
    """Name of a label → image → its value; an empty value is an image without this label.

    Attributes:
        columns: the labels. Every column has the same images.
        source: the file, or another origin.
        images_account: of labels from concepts, the account of these.
        form: compression, delimiter and column of images, where the input was not plain CSV with the images first.
    """

    columns: Mapping[str, Mapping[str, str]]
    source: str = "memory"
    images_account: str | None = None
    form: str = ""

    @property
    def images(self) -> tuple[str, ...]:
        """The images in the order of the file."""
        return tuple(next(iter(self.columns.values())))

    @cached_property
    def _rows(self) -> dict[str, int]:
        """Image → its row in the file."""
        return places_by_name(self.images)

    @cached_property
    def _codes(self) -> dict[tuple[str, ...], Int32]:
        """Results of `codes`."""
        return {}

    @cached_property
    def _last_rows(self) -> list[tuple[tuple[str, ...], Int64]]:
        """The last results of `rows`. A ranking is judged in parts, all of one corpus."""
        return []

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({name: dict(column) for name, column in self.columns.items()})

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        images, labels = counted(len(self.images), "image"), counted(len(self.columns), "label")
        form = f"; {self.form}" if self.form else ""
        return f"{self.images_account or f'{self.source}: {images}'}, {labels}: {', '.join(self.columns)}{form}"

    @classmethod
    def read(cls, path: Readable, *, image_column: str | None = None) -> Labels:
        """Read labels from a file, a pipe, or with ``-`` from standard input: the image, and a column for each label.

        CSV with a header: UTF-8; columns separated by commas, tabs or semicolons; fields may be quoted. White space
        around values is not part of them; empty lines are passed over. JSON Lines have an object in each line, Parquet,
        Arrow and Feather files a row, of texts; a missing value is no label. Text may be compressed by gzip or zstd.

        Args:
            path: the input.
            image_column: name of the column of images; the first without it.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        file = opened_input(path)
        if file.form == "table":
            return cls._of_table(file, image_column)
        return _labels_of_text(file, image_column).labels()

    @classmethod
    def _of_table(cls, given: object, image_column: str | None) -> Labels:
        table = ArrowTable.of(given)
        rows = _LabelRows(table.names, image_column, table.source, "row", fault_in_table(table), form=table.form)
        for first, batch in table.batches():
            texts = [
                table.texts(first, batch, place, null=None if place == rows.image else "")
                for place in range(len(table.names))
            ]
            columns = [[names[code] for code in codes.tolist()] for names, codes in texts]
            for row, fields in enumerate(zip(*columns, strict=True), start=first):
                rows.add(row, fields)
        return rows.labels()

    @classmethod
    def of(cls, labels: object, *, image_column: str | None = None) -> Labels:
        """From name of a label → image → value, or a table or DataFrame: the images, and a column for each label.

        ``None`` and NaN are no label. The images stand in the first column, or in the one that is named.

        Raises:
            InputError: it is neither, an image stands twice, or columns have different images.
        """
        if isinstance(labels, Labels):
            return labels
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(labels, pandas.DataFrame):
            rows = _LabelRows(list(map(str, labels.columns)), image_column, "DataFrame", "row", _fault_in_frame)
            texts = labels.astype(object).where(labels.notna(), "").astype(str)
            for row, fields in enumerate(texts.itertuples(index=False, name=None), start=1):
                rows.add(row, fields)
            return rows.labels()
        if is_table_object(labels):
            return cls._of_table(labels, image_column)
        if not isinstance(labels, Mapping) or not labels or not all(isinstance(c, Mapping) for c in labels.values()):
            raise InputError(
                "not labels of images", found=type(labels).__name__, expected="label → image → value, or a DataFrame"
            )
        columns = {str(name): {image: _text(value) for image, value in c.items()} for name, c in labels.items()}
        if len({frozenset(column) for column in columns.values()}) > 1:
            first, *others = columns.values()
            strange = next(image for other in others for image in {*first} ^ {*other})
            raise InputError(
                "labels of different images", found=f"{quoted(str(strange))}, which not every label has",
                expected="every label for the same images",
            )  # fmt: skip
        return cls(columns)

    @classmethod
    def of_concepts(cls, images: ImageConcepts, groups: Mapping[str, frozenset[str]] = MANUAL_LABELS) -> Labels:
        """Labels from concepts: the value is the set of an image's concepts that are in the group of the label.

        So an image of PET and CT has another modality than one of CT alone, and one without a concept of the group is
        without this label.

        Args:
            images: concepts of each image, such as ImageCLEF's manual ones.
            groups: name of a label → its concepts.
        """
        return cls(
            {
                name: {image: ";".join(sorted(concepts & group)) for image, concepts in images.items()}
                for name, group in groups.items()
            },
            f"concepts of {images.source}",
            images.account,
        )

    def rows(self, images: Sequence[str]) -> Int64:
        """The row of each image: int64, shape (images,).

        Raises:
            InputError: an image has no row.
        """
        images = tuple(images)
        for earlier in self._last_rows:
            if earlier[0] is images:
                self._last_rows.sort(key=lambda entry: entry is earlier)  # the last to be forgotten
                return earlier[1]
        places = self._rows
        rows = np.fromiter((places.get(image, -1) for image in images), dtype=np.int64, count=len(images))
        if (rows < 0).any():
            absent = list(dict.fromkeys(images[place] for place in np.flatnonzero(rows < 0).tolist()))
            more = f" and {len(absent) - _SHOWN:,} more" if len(absent) > _SHOWN else ""
            raise InputError(
                "images without a row of labels",
                file=self.source,
                found=f"{len(absent):,}: {', '.join(absent[:_SHOWN])}{more}",
                expected="a row for every query and every image of the corpus",
                advice=cause_of_strange_name(absent[0], places),
            )
        self._last_rows[:] = [*self._last_rows[-1:], (images, rows)]
        return rows

    def codes(self, labels: Sequence[str]) -> Int32:
        """A number for each row, equal where images agree in all labels; `UNLABELLED` where one of them is missing.

        Returns:
            int32, shape (rows,).

        Raises:
            InputError: there is no such label.
        """
        key = tuple(labels)
        if key not in self._codes:
            codes = self._column(key[0])
            for name in key[1:]:
                codes = _both(codes, self._column(name))
            self._codes[key] = codes
        return self._codes[key]

    def _column(self, name: str) -> Int32:
        """The codes of one label."""
        if name not in self.columns:
            raise InputError(
                "no such label",
                file=self.source,
                found=quoted(name),
                expected=" or ".join(self.columns),
            )
        if (name,) not in self._codes:
            column = self.columns[name]
            numbers = {"": UNLABELLED}
            for value in column.values():
                numbers.setdefault(value, len(numbers) - 1)
            found = (numbers[column[image]] for image in self.images)
            self._codes[name,] = np.fromiter(found, dtype=np.int32, count=len(column))
        return self._codes[name,]


def _both(ours: Int32, theirs: Int32) -> Int32:
    """Codes of two labels at once."""
    labelled = (ours != UNLABELLED) & (theirs != UNLABELLED)
    pairs = ours[labelled].astype(np.int64) * (int(theirs.max(initial=0)) + 1) + theirs[labelled]
    codes = np.full(len(ours), UNLABELLED, dtype=np.int32)
    codes[labelled] = np.unique(pairs, return_inverse=True)[1]
    return codes


def _text(value: object) -> str:
    """The value as text; empty for a missing one."""
    missing = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
    return "" if missing else str(value)


class _LabelRows:
    """Rows of images and their labels, with one set of checks for every form of input.

    Args:
        names: of all columns. image_column: that of the images; the first without it.
        source: name of the file, or type of the object. unit: line or row. fault: makes the error about a row.
        line: of the header in a text file. delimiter: between its columns. form: see `Labels`.

    Raises:
        InputError: columns are missing, without a name, or stand twice.
    """

    def __init__(
        self, names: Sequence[str], image_column: str | None, source: str, unit: str, fault: RowFault,
        *, line: int | None = None, delimiter: str = ",", form: str = "",
    ) -> None:  # fmt: skip
        def header_fault(problem: str, found: str, expected: str, advice: str | None) -> InputError:
            return InputError(problem, file=source, line=line, found=found, expected=expected, advice=advice)

        index = len(names) > 0 and names[0].startswith("Unnamed:")
        if len(names) < 2 or not all(names) or len(set(names)) < len(names) or index:
            raise header_fault(
                "not a header of labels" if line is not None else "not columns of labels",
                quoted(delimiter.join(names)), "the image column and one for each label, each name once",
                cause_of_columns(names, 2 if len(names) < 2 else len(names) - 1, delimiter),
            )  # fmt: skip
        self.image = 0 if image_column is None else place_of_column(names, image_column, header_fault)
        self._labels = [place for place in range(len(names)) if place != self.image]
        self._columns: list[dict[str, str]] = [{} for _ in self._labels]
        self._names, self._source, self._unit, self._fault = names, source, unit, fault
        self._form = ", ".join(filter(None, (form, f"images in {names[self.image]}" if self.image else "")))
        self._rows: dict[str, int] = {}

    def add(self, row: int, fields: Sequence[str]) -> None:
        """The next row, with a field for each column.

        Raises:
            InputError: the image is missing or stands twice.
        """
        image = fields[self.image].strip()
        if not image or image in self._rows:
            check_image(image, row, self._rows.get(image), self._fault, self._unit)
        self._rows[image] = row
        for column, place in zip(self._columns, self._labels, strict=True):
            column[image] = fields[place].strip()

    def labels(self) -> Labels:
        """The labels of all rows.

        Raises:
            InputError: there is no row.
        """
        if not self._rows:
            holder = "file" if self._unit == "line" else "table"
            raise InputError(f"the {holder} holds no image", file=self._source, expected=_EXPECTED)
        columns = {self._names[place]: column for place, column in zip(self._labels, self._columns, strict=True)}
        return Labels(columns, self._source, form=self._form)


def _fault_in_frame(
    problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
) -> InputError:
    return InputError(
        f"{problem} in the DataFrame", column=f"image, row {row:,}", found=found, expected=expected, advice=advice
    )


def _labels_of_text(file: InputFile, image_column: str | None) -> _LabelRows:
    """The rows of CSV or JSON Lines."""
    first, lines = first_line(decoded_lines(file))
    if first.lstrip().startswith("{"):
        return _labels_of_json(file, lines, image_column)
    delimiter = delimiter_of(first)
    rows, width = None, 0
    for line, record in csv_records(lines, file.name, _EXPECTED, delimiter):
        fields = [field.strip() for field in record]
        if not any(fields):
            continue
        if rows is None:
            form = ", ".join(filter(None, (file.compression, DELIMITERS[delimiter])))
            fault = fault_in_file(file.name)
            rows = _LabelRows(
                fields, image_column, file.name, "line", fault, line=line, delimiter=delimiter, form=form
            )  # fmt: skip
            width = len(fields)
        elif len(fields) != width:
            raise InputError(
                "wrong number of columns", file=file.name, line=line,
                found=f"{len(fields)} in {quoted(delimiter.join(fields))}", expected=f"{width}, as in the header",
                advice=cause_of_columns(fields, width, delimiter),
            )  # fmt: skip
        else:
            rows.add(line, fields)
    if rows is None:
        raise InputError("the file holds no image", file=file.name, expected=_EXPECTED)
    return rows


def _labels_of_json(file: InputFile, lines: Iterator[str], image_column: str | None) -> _LabelRows:
    rows, names = None, list[str]()
    for line, record in json_records(enumerate(lines, start=1), file.name):
        if rows is None:
            names = list(record)
            form = ", ".join(filter(None, (file.compression, "JSON Lines")))
            columns = [image_column or next(iter(names), "")]
            fault = fault_in_file(file.name, columns)
            rows = _LabelRows(names, image_column, file.name, "line", fault, line=line, form=form)
        wrong = next((name for name in names if not isinstance(record.get(name, 0), str | None)), None)
        if wrong is not None:
            found = quoted(repr(record[wrong])) if wrong in record else "no such key"
            raise InputError(
                "not a label", file=file.name, line=line, column=wrong, found=found, expected="a text or null"
            )
        rows.add(line, [str(record[name] or "") for name in names])
    if rows is None:
        raise InputError("the file holds no image", file=file.name, expected=_EXPECTED)
    return rows
