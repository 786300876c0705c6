"""Labels of images, such as modality and organ: images that agree in them are relevant to one another."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop.collection.concept_rows import check_image, fault_in_file
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_names import places_by_name
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable, is_table_file, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.likely_causes import cause_of_columns, cause_of_strange_name
from cuihop.files.text_lines import counted, decoded_lines, shown

__all__ = ["MANUAL_LABELS", "UNLABELLED", "ImageLabels"]

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
"""The manually annotated concepts of ImageCLEFmedical and ROCOv2, by what they tell.

Modality: angiography, MRI, PET, CT, ultrasound, plain X-ray, optical coherence tomography. Organ: abdomen, breast,
lower extremity, pelvis, skull, spine, chest, upper extremity.
"""


@dataclass(frozen=True, eq=False)
class ImageLabels:
    """Name of a label → image → its value; an empty value is an image without this label.

    Attributes:
        columns: the labels. Every column has the same images.
        source: the file, or how else they came.
        images_account: of concepts that are labels: how they were read.
    """

    columns: Mapping[str, Mapping[str, str]]
    source: str = "memory"
    images_account: str | None = None

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
        """What `codes` found."""
        return {}

    @cached_property
    def _rows_found(self) -> list[tuple[tuple[str, ...], Int64]]:
        """What `rows` found last. A ranking is judged in parts, all of one corpus."""
        return []

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({name: dict(column) for name, column in self.columns.items()})

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        images, labels = counted(len(self.images), "image"), counted(len(self.columns), "label")
        return f"{self.images_account or f'{self.source}: {images}'}, {labels}: {', '.join(self.columns)}"

    @classmethod
    def read(cls, path: str | Path) -> ImageLabels:
        """Read a CSV or tab-separated file with a header: the image, then one column for each label.

        UTF-8, plain or gzipped; fields may be quoted. White space around values is not part of them; empty lines are
        passed over. Parquet, Arrow and Feather files have the same columns, of text; a missing value is no label.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet or Arrow file, and pyarrow is not installed.
        """
        path = Path(path)
        if is_table_file(path):
            return cls._of_table(path)
        lines = list(decoded_lines(path))
        first = next((line for line in lines if line.strip()), "")
        delimiter = "\t" if "\t" in first and "," not in first else ","
        reader = csv.reader(lines, strict=True, delimiter=delimiter)
        header: list[str] = []
        columns: dict[str, dict[str, str]] = {}
        seen: dict[str, int] = {}
        line = 1
        try:
            for fields in reader:
                fields = [field.strip() for field in fields]
                if not any(fields):
                    pass
                elif not header:
                    header = _checked_header(fields, path, line, delimiter)
                    columns = {name: {} for name in header[1:]}
                else:
                    _check_row(fields, header, seen, path, line, delimiter)
                    seen[fields[0]] = line
                    for name, value in zip(header[1:], fields[1:], strict=True):
                        columns[name][fields[0]] = value
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=path, line=line, expected=_EXPECTED) from None
        if not seen:
            raise InputError("the file holds no image", file=path, expected=_EXPECTED)
        return cls(columns, str(path))

    @classmethod
    def _of_table(cls, given: object) -> ImageLabels:
        from cuihop.collection.tables import labels_of_table

        table = ArrowTable.of(given)
        return cls(labels_of_table(table), table.source)

    @classmethod
    def of(cls, labels: object) -> ImageLabels:
        """From name of a label → image → value, or a table or DataFrame: first the images, then a column for each.

        ``None`` and NaN are no label.

        Raises:
            InputError: it is neither, an image stands twice, or columns have different images.
        """
        if isinstance(labels, ImageLabels):
            return labels
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(labels, pandas.DataFrame):
            images = [str(image) for image in labels.iloc[:, 0]]
            names = list(map(str, labels.columns))
            if len(names) < 2 or names[0].startswith("Unnamed:"):
                raise InputError(
                    "not labels of images", found=f"a DataFrame with the columns {', '.join(names)}",
                    expected="the images, then a column for each label",
                    advice=cause_of_columns(names, 1, ",") if len(names) > 1 else None,
                )  # fmt: skip
            if len(set(images)) < len(images):
                twice = next(image for place, image in enumerate(images) if image in images[:place])
                raise InputError(
                    "an image stands twice in the DataFrame", found=shown(twice), expected="each image once"
                )
            texts = labels.iloc[:, 1:].astype(object).where(labels.iloc[:, 1:].notna(), "").astype(str)
            return cls({str(name): dict(zip(images, texts[name], strict=True)) for name in texts}, "DataFrame")
        if is_table_object(labels):
            return cls._of_table(labels)
        if not isinstance(labels, Mapping) or not labels or not all(isinstance(c, Mapping) for c in labels.values()):
            raise InputError(
                "not labels of images", found=type(labels).__name__, expected="label → image → value, or a DataFrame"
            )
        columns = {str(name): {image: _text(value) for image, value in c.items()} for name, c in labels.items()}
        if len({frozenset(column) for column in columns.values()}) > 1:
            first, *others = columns.values()
            strange = next(image for other in others for image in {*first} ^ {*other})
            raise InputError(
                "labels of different images", found=f"{shown(str(strange))}, which not every label has",
                expected="every label for the same images",
            )  # fmt: skip
        return cls(columns)

    @classmethod
    def of_concepts(cls, images: ImageConcepts, groups: Mapping[str, frozenset[str]] = MANUAL_LABELS) -> ImageLabels:
        """Labels from concepts: the value is the set of an image's concepts that are in the group of the label.

        So an image of PET and CT has another modality than one of CT alone, and one without a concept of the group is
        without this label.

        Args:
            images: concepts of each image, such as ImageCLEF's manual ones.
            groups: name of a label → the concepts that tell it.
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
        for kept in self._rows_found:
            if kept[0] is images:
                self._rows_found.sort(key=lambda entry: entry is kept)  # the last to be forgotten
                return kept[1]
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
        self._rows_found[:] = [*self._rows_found[-1:], (images, rows)]
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
                found=shown(name),
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
    known = (ours != UNLABELLED) & (theirs != UNLABELLED)
    pairs = ours[known].astype(np.int64) * (int(theirs.max(initial=0)) + 1) + theirs[known]
    codes = np.full(len(ours), UNLABELLED, dtype=np.int32)
    codes[known] = np.unique(pairs, return_inverse=True)[1]
    return codes


def _text(value: object) -> str:
    """The value as text; empty for a missing one."""
    missing = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
    return "" if missing else str(value)


def _checked_header(fields: list[str], path: Path, line: int, delimiter: str) -> list[str]:
    if len(fields) < 2 or not all(fields) or len(set(fields)) < len(fields):
        raise InputError(
            "not a header of labels",
            file=path,
            line=line,
            found=shown(",".join(fields)),
            expected="names of the image column and of each label, each once",
            advice=cause_of_columns(fields, 2 if len(fields) < 2 else len(fields) - 1, delimiter),
        )
    return fields


def _check_row(
    fields: list[str], header: list[str], seen: Mapping[str, int], path: Path, line: int, delimiter: str
) -> None:
    if len(fields) != len(header):
        raise InputError(
            "wrong number of columns",
            file=path,
            line=line,
            found=f"{len(fields)} in {shown(','.join(fields))}",
            expected=f"{len(header)}, as in the header",
            advice=cause_of_columns(fields, len(header), delimiter),
        )
    if not fields[0] or fields[0] in seen:
        check_image(fields[0], line, seen.get(fields[0]), fault_in_file(path), "line")
