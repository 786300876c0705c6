"""Which concepts each image of a collection has, from a file in ImageCLEF form, a DataFrame or a mapping."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cuihop.collection.concept_rows import ConceptRows, fault_in_file
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable, is_table_file, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import counted, decoded_lines, shown
from cuihop.identifiers import looks_like_identifier

__all__ = ["ImageConcepts"]

_EXPECTED = "two columns separated by a comma: image and concepts, the concepts separated by ';'"


@dataclass(frozen=True, eq=False)
class ImageConcepts(Mapping[str, frozenset[str]]):
    """Image → its concepts, in the order of the file.

    Attributes:
        sets: the mapping behind it.
        repeated: how many times a concept stood again in the list of an image; each counts once.
        source: the file, or how else it came.
        lower: concepts that stood in lower case, each counted in every image that has it; they are read in upper case.
        places: the number of each image's row. unit: what the rows are called.
        derived: made from another collection, of which the share of unknown concepts was looked at.
    """

    sets: Mapping[str, frozenset[str]]
    repeated: int = 0
    source: str = "memory"
    lower: int = 0
    places: Sequence[int] = ()
    unit: str = "row"
    derived: bool = False

    def __getitem__(self, image: str) -> frozenset[str]:
        return self.sets[image]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def occurrences(self) -> int:
        """The concepts of all images, each counted as often as an image has it."""
        return sum(map(len, self.sets.values()))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({image: sorted(concepts) for image, concepts in self.sets.items()})

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        lower = f", {self.lower:,} in lower case read in upper case" if self.lower else ""
        images, concepts = counted(len(self), "image"), counted(self.occurrences, "concept")
        return f"{self.source}: {images}, {concepts}, 0 malformed{lower}"

    def place_of(self, concept: str) -> str | None:
        """Where a concept stands first: file, row and image; ``None`` for one that no image has."""
        for place, (image, concepts) in enumerate(self.sets.items()):
            if concept in concepts:
                row = f", {self.unit} {self.places[place]:,}" if self.places else ""
                return f"{self.source}{row}, image {shown(image)}"
        return None

    @classmethod
    def _of_rows(cls, rows: ConceptRows, source: str, unit: str) -> ImageConcepts:
        rows.check_columns()
        return cls(rows.sets, rows.repeated, source, rows.lower, rows.places, unit)

    @classmethod
    def read(cls, path: str | Path) -> ImageConcepts:
        """Read a CSV file of two columns, such as ImageCLEF's and ROCOv2's ``ID,CUIs``, or ROCO's tabs.

        UTF-8 with or without a byte order mark, plain or gzipped, LF or CRLF; fields may be quoted. The first line
        is a header with any two names. An empty second field is an image without concepts. White space around
        images and identifiers is not part of them; empty lines are passed over. A CUI in lower case is read in upper
        case, and counted. A file whose first line has tabs and no comma is of ROCO's first form: no header, the image,
        one tab or two, and concepts separated by tabs or ``;``.

        Parquet, Arrow and Feather files have the same two columns; concepts are ``C1;C2`` or lists of texts, and a
        missing value is an image without concepts.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet or Arrow file, and pyarrow is not installed.
        """
        path = Path(path)
        if is_table_file(path):
            return cls._of_table(path)
        collected = ConceptRows(fault_in_file(path), "line")
        first = next((text for text in decoded_lines(path) if text.strip()), "")
        if "\t" in first and "," not in first:
            _add_tabs(path, collected)
        else:
            _add_csv(path, collected)
        if not collected.sets:
            raise InputError("the file holds no image", file=path, found="a header only", expected=_EXPECTED)
        return cls._of_rows(collected, str(path), "line")

    @classmethod
    def _of_table(cls, given: object) -> ImageConcepts:
        from cuihop.collection.tables import concepts_of_table

        table = ArrowTable.of(given)
        return cls._of_rows(concepts_of_table(table), table.source, "row")

    @classmethod
    def of(cls, images: object) -> ImageConcepts:
        """From a mapping (image → ``"C1;C2"`` or a collection of identifiers) or a DataFrame of two columns.

        Any table with ``__arrow_c_stream__`` will do: of pandas, polars, pyarrow and others.

        In a DataFrame the first column holds the images, the second ``"C1;C2"`` or collections; a missing value is
        an image without concepts. The checks are those of `read`.

        Raises:
            InputError: it is neither, an image stands twice, or concepts are no text and no collection of texts.
        """
        if isinstance(images, ImageConcepts):
            return images
        if isinstance(images, Mapping):
            return cls._of_pairs(images.items(), "memory")
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(images, pandas.DataFrame):
            if is_table_object(images):
                return cls._of_table(images)
            raise InputError(
                "not a collection of images",
                found=type(images).__name__,
                expected="a mapping of images to concepts, a DataFrame, or what ImageConcepts.read gives",
            )
        return cls._of_frame(images)

    @classmethod
    def _of_frame(cls, frame: Any) -> ImageConcepts:
        if len(frame.columns) != 2:
            names = list(map(str, frame.columns))
            raise InputError(
                "wrong number of columns in the DataFrame",
                found=f"{len(names)}: {', '.join(names)}",
                expected="two: image and concepts",
                advice=cause_of_columns(names, 2, ","),
            )
        held, missing = frame.iloc[:, 1], frame.iloc[:, 1].isna()
        concepts = ("" if empty else one for one, empty in zip(held, missing, strict=True))
        return cls._of_pairs(zip(frame.iloc[:, 0], concepts, strict=True), "DataFrame")

    @classmethod
    def _of_pairs(cls, pairs: Iterable[tuple[object, object]], source: str) -> ImageConcepts:
        """From images and their concepts, which a program holds."""

        def fault(
            problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
        ) -> InputError:
            where = f"{'concepts' if column else 'image'}, row {row:,}"
            return InputError(problem, column=where, found=found, expected=expected, advice=advice)

        rows = ConceptRows(fault, "row")
        for row, (image, concepts) in enumerate(pairs, start=1):
            rows.add(row, _image(image), _listed(concepts, image))
        return cls._of_rows(rows, source, "row")


def _image(image: object) -> str:
    if isinstance(image, str) and image:
        return image
    raise InputError("not the name of an image", found=repr(image), expected="a text that is not empty")


def _listed(concepts: object, image: object) -> Sequence[str]:
    if isinstance(concepts, str):
        return _parts(concepts)
    if isinstance(concepts, Iterable):
        listed = list(concepts)
        if all(isinstance(concept, str) for concept in listed):
            return listed
    raise InputError(
        f"not the concepts of an image, {shown(str(image))}",
        found=shown(repr(concepts)),
        expected="'C1;C2', or a collection of identifiers",
    )


def _parts(concepts: str) -> Sequence[str]:
    return concepts.split(";") if concepts and not concepts.isspace() else ()


def _add_csv(path: Path, rows: ConceptRows) -> None:
    """The rows of a CSV file with a header."""
    records = _records(path)
    header = next(records, None)
    if header is None:
        raise InputError("the file is empty", file=path, expected=f"a header and {_EXPECTED}")
    header_line, header_fields = header
    concepts_name = _checked_header(header_fields, path, header_line)
    for line, fields in records:
        if len(fields) != 2:
            raise _wrong_columns(fields, path, line)
        rows.add(line, fields[0].strip(), _parts(fields[1]))
    if any(concepts_name in concepts for concepts in rows.sets.values()):
        raise _no_header(header_fields, path, header_line)


def _add_tabs(path: Path, rows: ConceptRows) -> None:
    """The rows in ROCO's first form: the image, one tab or two, then concepts, separated by tabs or ``;``."""
    for line, text in enumerate(decoded_lines(path), start=1):
        image, *fields = (field.strip() for field in text.split("\t"))
        concepts = [field for field in fields if field]
        if not text.strip() or (line == 1 and concepts and not any(map(str.isdigit, "".join(concepts)))):
            continue  # an empty line, or a header: names of columns hold no digit, identifiers do
        rows.add(line, image, [part for field in concepts for part in field.split(";")])


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records with the line that each begins in; empty lines left out."""
    reader = csv.reader(decoded_lines(path), strict=True)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=line, expected=_EXPECTED) from None


def _wrong_columns(fields: list[str], path: Path, line: int) -> InputError:
    return InputError(
        "wrong number of columns",
        file=path,
        line=line,
        found=f"{len(fields)} in {shown(','.join(fields))}",
        expected=_EXPECTED,
        advice=cause_of_columns(fields, 2, ","),
    )


def _checked_header(fields: list[str], path: Path, line: int) -> str:
    """The name of the second column. A list of concepts in its place is data that would be lost."""
    if len(fields) != 2:
        raise _wrong_columns(fields, path, line)
    name = fields[1].strip()
    if not name or ";" in name or looks_like_identifier(name):
        raise _no_header(fields, path, line)
    return name


def _no_header(fields: list[str], path: Path, line: int) -> InputError:
    return InputError(
        "the header is missing",
        file=path,
        line=line,
        found=shown(",".join(fields)),
        expected="two column names, such as ID,CUIs",
        advice="Without a header the first image would be lost: add one.",
    )
