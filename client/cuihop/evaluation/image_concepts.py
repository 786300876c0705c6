"""Which concepts each image of a collection has, from a file in ImageCLEF form, a DataFrame or a mapping."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cuihop.errors import InputError
from cuihop.evaluation.arrow_tables import ArrowTable, is_table_file, is_table_object
from cuihop.evaluation.content_digest import content_digest
from cuihop.identifiers import EXPECTED, concept_set, is_identifier
from cuihop.text_lines import decoded_lines, shown

__all__ = ["ImageConcepts", "check_image"]

_EXPECTED = "two columns separated by a comma: image and concepts, the concepts separated by ';'"


@dataclass(frozen=True, eq=False)
class ImageConcepts(Mapping[str, frozenset[str]]):
    """Image → its concepts, in the order of the file.

    Attributes:
        sets: the mapping behind it.
        repeated: how many times a concept stood again in the list of an image; each counts once.
        source: the file, or how else it came.
    """

    sets: Mapping[str, frozenset[str]]
    repeated: int = 0
    source: str = "memory"

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

    @classmethod
    def read(cls, path: str | Path) -> ImageConcepts:
        """Read a CSV file of two columns, such as ImageCLEF's and ROCOv2's ``ID,CUIs``, or ROCO's tabs.

        UTF-8 with or without a byte order mark, plain or gzipped, LF or CRLF; fields may be quoted. The first line
        is a header with any two names. An empty second field is an image without concepts. White space around
        images and identifiers is not part of them; empty lines are passed over. A file whose first line has tabs and
        no comma is of ROCO's first form: no header, the image, one tab or two, and concepts separated by tabs or ``;``.

        Parquet, Arrow and Feather files have the same two columns; concepts are ``C1;C2`` or lists of texts, and a
        missing value is an image without concepts.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet or Arrow file, and pyarrow is not installed.
        """
        path = Path(path)
        if is_table_file(path):
            return cls._of_table(path)
        first = next((text for text in decoded_lines(path) if text.strip()), "")
        if "\t" in first and "," not in first:
            return cls._of_tabs(path)
        sets: dict[str, frozenset[str]] = {}
        lines: dict[str, int] = {}
        repeated = 0
        rows = _rows(path)
        header = next(rows, None)
        if header is None:
            raise InputError("the file is empty", file=path, expected=f"a header and {_EXPECTED}")
        header_line, header_fields = header
        concepts_name = _checked_header(header_fields, path, header_line)
        for line, fields in rows:
            image, concepts = _checked_columns(fields, path, line)
            listed = [part.strip() for part in concepts.split(";")] if concepts.strip() else []
            _check_image_and_concepts(image, listed, lines, path, line)
            sets[image] = frozenset(listed)
            lines[image] = line
            repeated += len(listed) - len(sets[image])
        if any(concepts_name in concepts for concepts in sets.values()):
            raise _no_header(header_fields, path, header_line)
        if not sets:
            raise InputError("the file holds no image", file=path, found="a header only", expected=_EXPECTED)
        return cls(sets, repeated, str(path))

    @classmethod
    def _of_tabs(cls, path: Path) -> ImageConcepts:
        """ROCO's first form: the image, one tab or two, then concepts, separated by tabs or ``;``."""
        sets: dict[str, frozenset[str]] = {}
        lines: dict[str, int] = {}
        repeated = 0
        for line, text in enumerate(decoded_lines(path), start=1):
            image, *fields = (field.strip() for field in text.split("\t"))
            concepts = [field for field in fields if field]
            if not text.strip() or (line == 1 and concepts and not any(map(str.isdigit, "".join(concepts)))):
                continue  # an empty line, or a header: names of columns hold no digit, identifiers do
            listed = [part.strip() for field in concepts for part in field.split(";")]
            _check_image_and_concepts(image, listed, lines, path, line)
            sets[image], lines[image] = frozenset(listed), line
            repeated += len(listed) - len(sets[image])
        if not sets:
            raise InputError("the file holds no image", file=path, found="a header only", expected=_EXPECTED)
        return cls(sets, repeated, str(path))

    @classmethod
    def _of_table(cls, given: object) -> ImageConcepts:
        from cuihop.evaluation.arrow_inputs import concepts_of_table

        table = ArrowTable.of(given)
        return cls(*concepts_of_table(table), table.source)

    @classmethod
    def of(cls, images: object) -> ImageConcepts:
        """From a mapping (image → ``"C1;C2"`` or a collection of identifiers) or a DataFrame of two columns.

        Any table with ``__arrow_c_stream__`` will do: of pandas, polars, pyarrow and others.

        In a DataFrame the first column holds the images, the second ``"C1;C2"`` or collections; a missing value is
        an image without concepts.

        Raises:
            InputError: it is neither, an image stands twice, or concepts are no text and no collection of texts.
        """
        if isinstance(images, ImageConcepts):
            return images
        if isinstance(images, Mapping):
            return cls({_image(image): _concepts(concepts, image) for image, concepts in images.items()})
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
            raise InputError(
                "wrong number of columns in the DataFrame",
                found=f"{len(frame.columns)}: {', '.join(map(str, frame.columns))}",
                expected="two: image and concepts",
            )
        sets: dict[str, frozenset[str]] = {}
        for image, concepts, missing in zip(frame.iloc[:, 0], frame.iloc[:, 1], frame.iloc[:, 1].isna(), strict=True):
            name = _image(image)
            if name in sets:
                raise InputError("an image stands twice in the DataFrame", found=shown(name), expected="each once")
            sets[name] = frozenset() if missing else _concepts(concepts, name)
        return cls(sets, source="DataFrame")


def _image(image: object) -> str:
    if isinstance(image, str) and image:
        return image
    raise InputError("not the name of an image", found=repr(image), expected="a text that is not empty")


def _concepts(concepts: object, image: object) -> frozenset[str]:
    if isinstance(concepts, str):
        return concept_set(concepts)
    if isinstance(concepts, Iterable):
        listed = list(concepts)
        if all(isinstance(concept, str) for concept in listed):
            return frozenset(listed)
    raise InputError(
        f"not the concepts of an image, {shown(str(image))}",
        found=shown(repr(concepts)),
        expected="'C1;C2', or a collection of identifiers",
    )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
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


def check_image(image: str, lines: Mapping[str, int], path: Path, line: int) -> None:
    """Refuse an image without a name, or with one that an earlier line has.

    Args:
        image: its name.
        lines: where each image before it stands.
        path, line: where this one stands.

    Raises:
        InputError: names the file and the line.
    """
    if not image:
        raise InputError("the image is missing", file=path, line=line, column=1, expected="an identifier")
    if image in lines:
        raise InputError(
            "an image stands twice",
            file=path,
            line=line,
            column=1,
            found=f"{shown(image)}, as in line {lines[image]:,}",
            expected="each image once",
        )


def _check_image_and_concepts(image: str, concepts: list[str], lines: Mapping[str, int], path: Path, line: int) -> None:
    check_image(image, lines, path, line)
    for concept in concepts:
        if not is_identifier(concept, "any"):
            raise _not_a_concept(concept, path, line)


def _checked_columns(fields: list[str], path: Path, line: int) -> tuple[str, str]:
    if len(fields) != 2:
        raise InputError(
            "wrong number of columns",
            file=path,
            line=line,
            found=f"{len(fields)} in {shown(','.join(fields))}",
            expected=_EXPECTED,
        )
    return fields[0].strip(), fields[1]


def _checked_header(fields: list[str], path: Path, line: int) -> str:
    """The name of the second column. A list of concepts in its place is data that would be lost."""
    _, name = _checked_columns(fields, path, line)
    name = name.strip()
    if not name or any(is_identifier(part.strip(), "cui") for part in name.split(";")) or ";" in name:
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


def _not_a_concept(concept: str, path: Path, line: int) -> InputError:
    if concept:
        return InputError(
            "not an identifier", file=path, line=line, column=2, found=shown(concept), expected=EXPECTED["any"]
        )
    return InputError(
        "an identifier is missing",
        file=path,
        line=line,
        column=2,
        found="nothing beside a ';'",
        expected="identifiers between ';'",
    )
