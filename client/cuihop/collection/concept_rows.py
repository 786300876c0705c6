"""Rows of images and concepts from every form of input, with one set of checks."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from cuihop.collection.image_rows import check_image, swapped_columns
from cuihop.collection.tables import KeyedTable, Schema
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.records import Records, RowErrors
from cuihop.files.text_lines import COLUMN_NAMES, decoded_lines, delimiter_of, first_line, joined, quoted
from cuihop.identifiers import as_read, identifier_fault, looks_like_identifier

EXPECTED_CONCEPTS = "two columns separated by a comma: image and concepts, the concepts separated by ';'"
IMAGE_NAMES = tuple(dict.fromkeys(("image_id", "id", "image", *COLUMN_NAMES["document"], *COLUMN_NAMES["query"])))
"""Names of the column of images, the first that is there: a hub's ``image`` may be the picture."""
IMAGES_AND_CONCEPTS = Schema(
    (IMAGE_NAMES, ("cuis", "cui", "concepts")), "images and concepts", EXPECTED_CONCEPTS,
    "image_column and concept_column (--image-column, --concept-column) choose two of them.", "image",
)  # fmt: skip


class Identifiers(dict[str, str]):
    """Identifier as it is written → as it is read: without white space, and a CUI in upper case.

    Each different one is checked once, so that rows of known identifiers cost no more than looking them up; ``lower``
    are those that were written in lower case.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lower: set[str] = set()

    def __missing__(self, written: str) -> str:
        plain = written.strip()
        if identifier_fault(plain) is not None:
            raise KeyError(plain)
        self[written] = read = as_read(plain)
        if read == plain.upper() != plain:
            self.lower.add(written)
        return read


class ConceptRows:
    """Image → concepts, from rows in any form.

    Attributes:
        unit: of the rows. rows: the number of each image's row.
        repeated: repetitions of a concept in the list of an image.
        lower: concepts in lower case, each counted in every image that has it.
        form: how the input was read, unless it is plain CSV of two columns.
    """

    def __init__(self, error: RowErrors, source: str, form: str = "") -> None:
        self._error = error
        self.unit, self.source, self.form = error.unit, source, form
        self.sets: dict[str, frozenset[str]] = {}
        self._distinct: dict[frozenset[str], frozenset[str]] = {}
        self.rows = array("q")
        self.repeated = self.lower = 0
        self._identifiers = Identifiers()

    def add(self, rows: Iterable[tuple[int, str, Sequence[str]]]) -> None:
        """The next rows: number, image and concepts; refuses a malformed one, and an image a second time."""
        sets, distinct, numbers, identifiers = self.sets, self._distinct, self.rows, self._identifiers
        read = identifiers.__getitem__
        for row, image, listed in rows:
            try:
                concepts = frozenset(map(read, listed))
            except KeyError:
                raise self._malformed(row, image, listed) from None
            if not image or image in sets:
                earlier = numbers[list(sets).index(image)] if image in sets else None
                check_image(image, row, earlier, self._error, concepts)
            sets[image] = distinct.setdefault(concepts, concepts)
            numbers.append(row)
            if len(listed) > len(concepts):
                self.repeated += len(listed) - len(concepts)
            if identifiers.lower:
                self.lower += len({read(one) for one in listed if one in identifiers.lower})

    def _malformed(self, row: int, image: str, listed: Sequence[str]) -> InputError:
        for written in listed:
            if (problem := identifier_fault(written.strip())) is not None:
                content = quoted(written.strip()) if written.strip() else "nothing beside a ';'"
                cause = swapped_columns(image, [written])
                hint = None if cause is None else f"The image {quoted(image)} {cause}"
                return self._error(problem.problem, row, 1, content, problem.expected, hint)
        return self._error("not an identifier", row, 1, quoted(";".join(listed)), "identifiers")

    def add_all(self, rows: Iterable[tuple[int, str, Sequence[str]]]) -> ConceptRows:
        """All rows of an input: as `add` and `check_columns`; refuses an input without a row."""
        self.add(rows)
        if not self.sets:
            if self.unit == "row":
                raise self._error.empty("image", "two columns: image and concepts")
            raise self._error.empty("image", EXPECTED_CONCEPTS, "a header only")
        self.check_columns()
        return self

    def check_columns(self) -> None:
        """Refuse swapped columns: every image that has concepts looks like identifiers, while they do not."""
        first = None
        for (image, concepts), row in zip(self.sets.items(), self.rows, strict=True):
            if concepts:
                if (cause := swapped_columns(image, concepts)) is None:
                    return
                first = first or (row, image, cause)
        if first is not None:
            row, image, cause = first
            expected = "the name of an image, and behind it its concepts"
            raise self._error(f"the image {cause}", row, 0, quoted(image), expected)


def separated(concepts: str | None) -> Sequence[str]:
    """The concepts of ``C1;C2``; none for an empty text or a missing one."""
    return concepts.split(";") if concepts and not concepts.isspace() else ()


@dataclass(frozen=True, eq=False)
class ConceptRecords:
    """Images and the concepts of each, as an input lists them.

    Attributes:
        rows: number, image and concepts. source: name of the file, or type of the object.
        form: compression, form and columns, unless plain CSV.
        header: in CSV the record with names of columns; empty without. line: of it. concept_name: of the second column.
    """

    rows: Iterable[tuple[int, str, Sequence[str]]]
    error: RowErrors
    source: str
    form: str
    header: str | None = None
    concept_name: str = ""
    line: int | None = None

    def no_header(self) -> InputError:
        """The error about data in place of the header."""
        return InputError(
            "the header is missing", file=self.source, line=self.line, found=quoted(self.header or ""),
            expected="two column names, such as ID,CUIs",
            advice="Without a header the first image would be lost: add one.",
        )  # fmt: skip


def concept_records(
    source: object,
    schema: Schema,
    is_header: Callable[[Sequence[str]], bool] | None = None,
    split: Callable[[str | None], Sequence[str]] | None = None,
    text: tuple[str, Iterator[str]] | None = None,
) -> ConceptRecords:
    """Images and concepts of CSV, JSON Lines, ROCO's tabs without a header, a Parquet or Arrow file, or an object.

    Args:
        source: an open file, or an object with ``__arrow_c_stream__``. schema: columns of images and concepts.
        is_header: recognises the header of CSV of two columns, which may then lack it.
        split: splits the concepts of CSV, in place of `separated`; gets ``None`` of a line without them.
        text: the first line of a text and all its lines, if these are known already.
    """
    if isinstance(source, InputFile) and source.form != "table":
        text = text or first_line(decoded_lines(source))
        names = [name.strip().lower() for name in text[0].split("\t")]
        hub = len(names) > 2 and not set(IMAGE_NAMES).isdisjoint(names)
        if delimiter_of(text[0]) == "\t" and not (schema.named or hub or text[0].lstrip().startswith("{")):
            form = joined(source.compression, "tabs")
            return ConceptRecords(_tab_rows(text[1]), RowErrors(source.name), source.name, form)
    records = Records.of(source, EXPECTED_CONCEPTS, text)
    if records.in_csv and not records.names:
        raise InputError("the file is empty", file=records.source, expected=f"a header and {EXPECTED_CONCEPTS}")
    header = records.header.strip()
    if records.in_csv and is_header is not None and len(records.names) <= 2 and not schema.named:
        if is_header(records.names):
            records = dataclasses.replace(records, names=(*records.names, "")[:2])
        else:
            header, records = "", records.without_header(("image", "concepts"))
    table = schema.table(records)
    if not records.in_csv:
        rows = _json_rows(table) if records.in_json else _arrow_rows(table)
        return ConceptRecords(rows, table.error, records.source, table.form)
    name = records.names[table.columns[1]].strip()
    listed = ConceptRecords(
        _csv_rows(table, split), table.error, records.source, table.form, header, name, records.line
    )
    if is_header is None and (not name or ";" in name or looks_like_identifier(name)):
        raise listed.no_header()
    return listed


def read_concepts(source: object, schema: Schema, text: tuple[str, Iterator[str]] | None = None) -> ConceptRows:
    """Images and concepts, checked; arguments as in `concept_records`."""
    listed = concept_records(source, schema, text=text)
    rows = ConceptRows(listed.error, listed.source, listed.form).add_all(listed.rows)
    if listed.concept_name and any(listed.concept_name in concepts for concepts in rows.sets.values()):
        raise listed.no_header()
    return rows


def _csv_rows(
    table: KeyedTable, split: Callable[[str | None], Sequence[str]] | None
) -> Iterator[tuple[int, str, Sequence[str]]]:
    records, (key, value) = table.records, table.columns
    width, split_concepts = len(records.names), split or separated
    for line, fields in records.rest:
        if split is not None and len(fields) < width:
            fields = [*fields, *[None] * (width - len(fields))]
        if len(fields) != width:
            raise records.wrong_width(line, fields, EXPECTED_CONCEPTS if width == 2 else None)
        yield line, fields[key].strip(), split_concepts(fields[value])


def _arrow_rows(table: KeyedTable) -> Iterator[tuple[int, str, Sequence[str]]]:
    arrow = cast(ArrowTable, table.records.table)
    for first, batch in arrow.batches():
        names, codes = arrow.texts(first, batch, table.columns[0])
        lists = arrow.lists(first, batch, table.columns[1])
        for row, (code, listed) in enumerate(zip(codes.tolist(), lists, strict=True), start=first):
            yield row, names[code].strip(), () if listed is None else [concept or "" for concept in listed]


def _tab_rows(lines: Iterator[str]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The rows in ROCO's first form: the image, one tab or two, then concepts, separated by tabs or ``;``."""
    for line, text in enumerate(lines, start=1):
        image, *fields = (field.strip() for field in text.split("\t"))
        concepts = [field for field in fields if field]
        if not text.strip() or (line == 1 and concepts and not any(map(str.isdigit, "".join(concepts)))):
            continue  # an empty line, or a header: names of columns hold no digit, identifiers do
        yield line, image, [concept for field in concepts for concept in field.split(";")]


def _json_rows(table: KeyedTable) -> Iterator[tuple[int, str, Sequence[str]]]:
    key, value = table.columns
    for line, values in table.records.rows():
        image, listed = values[key], values[value]
        if not isinstance(image, str):
            raise table.error("not the name of an image", line, 0, quoted(repr(image)), "a text")
        if isinstance(listed, list) and all(isinstance(concept, str) for concept in listed):
            yield line, image.strip(), listed
        elif listed is None or isinstance(listed, str):
            yield line, image.strip(), separated(listed)
        else:
            expected = "'C1;C2', or a list of texts"
            raise table.error("not the concepts of an image", line, 1, quoted(repr(listed)), expected)


def concepts_of_pairs(pairs: Iterable[tuple[object, object]], source: str) -> ConceptRows:
    """Images and concepts that a program holds: texts such as ``C1;C2``, or collections of identifiers."""
    rows = ConceptRows(RowErrors(None, ("image", "concepts"), "row"), source)
    for row, (image, concepts) in enumerate(pairs, start=1):
        if not isinstance(image, str) or not image:
            raise InputError("not the name of an image", found=repr(image), expected="a text that is not empty")
        rows.add([(row, image, _listed(concepts, image))])
    rows.check_columns()
    return rows


def _listed(concepts: object, image: str) -> Sequence[str]:
    if isinstance(concepts, str):
        return separated(concepts)
    if isinstance(concepts, Iterable):
        listed = list(concepts)
        if all(isinstance(concept, str) for concept in listed):
            return listed
    raise InputError(
        f"not the concepts of an image, {quoted(image)}", found=quoted(repr(concepts)),
        expected="'C1;C2', or a collection of identifiers",
    )  # fmt: skip
