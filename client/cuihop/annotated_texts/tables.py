"""Texts, mentions and concepts of documents in CSV, JSON Lines, Parquet and Arrow, and texts in plain lines."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from cuihop.annotated_texts.documents import (
    LONGEST_TEXT,
    NO_OFFSET,
    OFFSET,
    AnnotatedDocument,
    DocumentRows,
    GoldMention,
    checked_offset,
    document_of_concepts,
)
from cuihop.annotated_texts.pubtator import separated_identifiers
from cuihop.collection.concept_rows import IMAGE_NAMES, IMAGES_AND_CONCEPTS, read_concepts
from cuihop.collection.tables import Schema
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile
from cuihop.files.records import Records, RowErrors
from cuihop.files.text_lines import DELIMITERS, joined, json_object, quoted

Header: TypeAlias = Literal["auto", "yes", "no"]

IDENTIFIER_NAMES = (*IMAGE_NAMES, "pmid", "identifier", "name", "file")
_TEXT_NAMES = ("caption", "captions", "text", "abstract", "report", "note", "sentence", "description")
_SCHEMA = Schema(
    (IDENTIFIER_NAMES, _TEXT_NAMES), "identifiers and texts", "two columns: identifier and text",
    "id_column and text_column (--id-column, --text-column) choose two of them.",
)  # fmt: skip


def _delimiter(first: str) -> str:
    """The delimiter that stands first in a line: a text may hold the others."""
    return min((mark for mark in DELIMITERS if mark in first), key=first.index, default=",")


def looks_like_text_table(first: str) -> bool:
    """Recognise a table by its first line: usual names of columns, or two fields with a tab between them."""
    names = [name.strip(' "\ufeff\r\n').lower() for name in first.split(_delimiter(first))]
    usual = not set(IDENTIFIER_NAMES).isdisjoint(names) and not set(_TEXT_NAMES).isdisjoint(names)
    return usual or first.count("\t") == 1


def table_rows(
    file: InputFile, text: tuple[str, Iterator[str]] | None, columns: tuple[str | None, str | None], header: Header,
    *, any_names: bool = False,
) -> DocumentRows:  # fmt: skip
    """Identifiers and texts of a table, which keep their white space; a missing text is empty.

    Args:
        columns: names of both columns; ``None`` leaves the choice to the table.
        header: of CSV; ``auto`` takes the first line of two columns for one if one of its names is usual.
        any_names: of two columns the second may have any name; otherwise a header names the texts in a usual way.

    Raises:
        InputError: the table leaves the choice open; or when it is read: names the line or row, and the column.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT + 1))
    schema, expected = _SCHEMA.naming(*columns), _SCHEMA.expected
    records = Records.of(file, expected, text, _delimiter)
    if not records.names:
        raise InputError("the file is empty", file=file.name, expected=expected)
    if records.in_csv:
        form = f"header {quoted(records.header)}"
        if not _has_header(records, schema, header):
            form, records = "no header", records.without_header([str(n + 1) for n in range(len(records.names))])
        records = replace(records, form=joined(records.form, form))
    names = [name.strip().lower() for name in records.names]
    if columns == (None, None) and _in_reverse(names):
        schema = schema.naming(records.names[1], records.names[0])
    table = schema.table(records)
    text_column = records.names[table.columns[1]].strip()
    named = any_names or columns[1] is not None
    if not named and set(names).isdisjoint(_TEXT_NAMES) and not set(names).isdisjoint(IDENTIFIER_NAMES):
        raise records.error(
            "no column of texts in the header", quoted(records.header), f"a column named {', '.join(_TEXT_NAMES)}",
            f"--text-column {text_column} reads that column (in Python text_column={text_column!r}).",
        )  # fmt: skip
    rows = ((row, AnnotatedDocument(identifier.strip(), text)) for row, (identifier, text) in table.texts(strip=False))
    return DocumentRows(records.source, table.form, rows, table.error, records.unit, text_column)


def _in_reverse(names: Sequence[str]) -> bool:
    """True for two columns whose usual names say that the texts come first."""
    usual = [[name in these for these in (IDENTIFIER_NAMES, _TEXT_NAMES)] for name in names]
    return len(usual) == 2 and usual[0][1] + usual[1][0] > usual[0][0] + usual[1][1]


def _has_header(records: Records, schema: Schema, header: Header) -> bool:
    if header != "auto":
        return header == "yes"
    names = {name.strip().lower() for name in records.names}
    return schema.named or len(names) != 2 or any(not names.isdisjoint(usual) for usual in schema.usual)


def line_rows(file: InputFile, lines: Iterable[str]) -> DocumentRows:
    """Each line is a text, and its number the identifier. An empty line is an empty text."""
    rows = (
        (number, AnnotatedDocument(str(number), line.removesuffix("\n").removesuffix("\r")))
        for number, line in enumerate(lines, start=1)
    )
    return DocumentRows(
        file.name, joined(file.compression, "plain lines"), rows, RowErrors(file.name, ("identifier", "text"))
    )


_CONCEPT_NAMES = ("cui", "cuis", "concept", "concepts")
_EXPECTED = "columns ID, start, end and cui"


def mention_rows(file: InputFile, text: tuple[str, Iterator[str]] | None) -> DocumentRows:
    """Documents of a table of mentions (``ID,start,end,cui``), or of concepts (``ID,CUIs``).

    Mentions of one document may stand anywhere. JSON Lines hold a mention in each line, or a document with a list
    ``mentions``.

    Raises:
        InputError: names the line or row, and the column.
    """
    if text is not None:
        first, lines = text
        if first.lstrip().startswith("{"):
            keys = json_object(first, file.name, 1)
            if "mentions" in keys:
                form, errors = joined(file.compression, "documents in JSON Lines"), RowErrors(file.name, ("id", "text"))
                return DocumentRows(file.name, form, _documents_in_json(file.name, lines), errors)
            spans = {"start", "end"} <= {key.lower() for key in keys}
        else:
            spans = {"start", "end"} <= {name.strip(' "\r\n').lower() for name in first.replace("\t", ",").split(",")}
        if spans:
            return _spans(Records.of(file, _EXPECTED, text))
    concepts = read_concepts(file, IMAGES_AND_CONCEPTS, text)
    rows = (
        (row, document_of_concepts(name, cuis))
        for (name, cuis), row in zip(concepts.sets.items(), concepts.rows, strict=True)
    )
    form, errors = joined(concepts.form, "concepts of documents"), RowErrors(concepts.source, unit=concepts.unit)
    return DocumentRows(concepts.source, form, rows, errors, concepts.unit)


def _spans(records: Records) -> DocumentRows:
    """Mentions in rows, gathered by document in the order of their first mention."""
    columns = [_column(records, names) for names in (IDENTIFIER_NAMES, ("start",), ("end",), _CONCEPT_NAMES)]
    others = [_optional_column(records, (name,)) for name in ("text", "type")]
    row_error = records.row_errors(columns)
    documents: dict[str, tuple[int, list[GoldMention]]] = {}
    for row, fields in records.rows():
        identifier, start, end, concepts = (fields[column] for column in columns)
        text, kind = (None if column is None else fields[column] for column in others)
        if isinstance(identifier, int) and not isinstance(identifier, bool):
            identifier = str(identifier)
        for index, value in ((0, identifier), (3, concepts)):
            if not isinstance(value, str):
                raise row_error("not a text", row, index, quoted(repr(value)), "a text")
        begin, stop = checked_offset(start, row, 1, row_error), checked_offset(end, row, 2, row_error)
        if begin >= stop:
            expected = f"more than {begin:,}, its start"
            raise row_error("a mention without characters", row, 2, quoted(str(stop)), expected)
        mention = GoldMention(
            begin, stop, text if isinstance(text, str) else None, separated_identifiers(concepts),
            kind if isinstance(kind, str) and kind else None,
        )  # fmt: skip
        documents.setdefault(identifier.strip(), (row, []))[1].append(mention)
    rows = ((row, AnnotatedDocument(name, None, tuple(mentions))) for name, (row, mentions) in documents.items())
    form = joined(records.form, "a mention in each row")
    return DocumentRows(records.source, form, rows, row_error, records.unit)


def _optional_column(records: Records, usual: Sequence[str]) -> int | None:
    names = [name.strip().lower() for name in records.names]
    return next((names.index(name) for name in usual if name in names), None)


def _column(records: Records, usual: Sequence[str]) -> int:
    column = _optional_column(records, usual)
    if column is None:
        raise records.error("no such column", quoted(", ".join(records.names)), f"one column named {usual[0]}")
    return column


def _documents_in_json(file: str, lines: Iterator[str]) -> Iterator[tuple[int, AnnotatedDocument]]:
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        fields = json_object(content, file, line)
        identifier, text, mentions = fields.get("id"), fields.get("text"), fields.get("mentions")
        for name, value, right in (
            ("id", identifier, isinstance(identifier, str)),
            ("text", text, isinstance(text, str | None)),
            ("mentions", mentions, isinstance(mentions, list)),
        ):
            if not right:
                expected = "a list of objects" if name == "mentions" else "a text"
                raise InputError(
                    "not as expected", file=file, line=line, column=f"field {name}", found=quoted(repr(value)),
                    expected=expected,
                )  # fmt: skip
        read = tuple(_mention(item, n, text, file, line) for n, item in enumerate(mentions or ()))
        yield line, AnnotatedDocument(str(identifier).strip(), text, read)


def _mention(item: Any, number: int, text: str | None, file: str, line: int) -> GoldMention:
    def error(problem: str, column: str, content: str, expected: str) -> InputError:
        field = f"field mentions[{number}]{column}"
        return InputError(problem, file=file, line=line, column=field, found=content, expected=expected)

    if not isinstance(item, Mapping):
        raise error("not an object", "", quoted(repr(item)), "an object")

    def offset(name: str) -> int:
        value = item.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**9:
            raise error(NO_OFFSET, f".{name}", quoted(repr(value)), OFFSET)
        return value

    start, end = offset("start"), offset("end")
    stated, concepts = item.get("text"), item.get("cuis", item.get("cui"))
    listed = concepts if isinstance(concepts, list) else [] if concepts is None else [concepts]
    if not all(isinstance(cui, str) for cui in listed):
        raise error("not concepts", ".cui", quoted(repr(concepts)), "a text, or a list of texts")
    kind = item.get("type")
    if start >= end or (text is not None and (end > len(text) or (stated is not None and text[start:end] != stated))):
        here = "" if text is None else f", and in the document {quoted(text[start:end])}"
        raise error(
            "the text of a mention is not at its place", ".text", f"{quoted(repr(stated))}{here}",
            "the characters from start to end",
        )  # fmt: skip
    return GoldMention(
        start, end, stated, tuple(cui for joined in listed for cui in separated_identifiers(joined)), kind
    )
