"""Texts with identifiers in CSV, JSON Lines, Parquet and Arrow, and in plain lines."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from cuihop.annotated_texts.documents import LONGEST_TEXT, AnnotatedDocument, DocumentRows
from cuihop.collection.columns import IMAGE_NAMES, Columns
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import DELIMITERS, quoted

Header: TypeAlias = Literal["auto", "yes", "no"]

IDENTIFIER_NAMES = (*IMAGE_NAMES, "document", "document_id", "pmid", "identifier", "name", "file")
_TEXT_NAMES = ("caption", "captions", "text", "abstract", "report", "note", "sentence", "description")
_EXPECTED = "two columns: identifier and text"
_CHOOSE = "id_column and text_column (--id-column, --text-column) choose two of them."


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
        file: the input. text: its first line and all its lines, unless it is Parquet or Arrow.
        columns: names of both columns; ``None`` leaves the choice to the table.
        header: of CSV; ``auto`` takes the first line of two columns for one where one of its names is usual.
        any_names: of two columns the second may have any name; otherwise a header names the texts in a usual way.

    Raises:
        InputError: the table leaves the choice open; or when it is read: names the line or row, and the column.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_TEXT + 1))
    chosen_by = Columns(*columns, (IDENTIFIER_NAMES, _TEXT_NAMES), "identifiers and texts", _EXPECTED, _CHOOSE)
    records = Records.of(file, _EXPECTED, text, _delimiter)
    if not records.names:
        raise InputError("the file is empty", file=file.name, expected=_EXPECTED)
    forms = [records.form]
    if records.table is None and not records.in_json:
        if not _has_header(records, chosen_by, header):
            records = records.without_header([str(n + 1) for n in range(len(records.names))])
            forms.append("no header")
        else:
            forms.append(f"header {quoted(records.delimiter.join(records.names))}")
    names = [name.strip().lower() for name in records.names]
    if columns == (None, None) and _in_reverse(names):
        chosen_by = replace(chosen_by, first=records.names[1], second=records.names[0])
    chosen = chosen_by.choose(records)
    named = any_names or columns[1] is not None
    if not named and set(names).isdisjoint(_TEXT_NAMES) and not set(names).isdisjoint(IDENTIFIER_NAMES):
        name = records.names[chosen.second].strip()
        raise records.fault(
            "no column of texts in the header", quoted(records.delimiter.join(records.names)),
            f"a column named {', '.join(_TEXT_NAMES)}",
            f"--text-column {name} reads that column (in Python text_column={name!r}).",
        )  # fmt: skip
    form = ", ".join(filter(None, (*forms, chosen.account)))
    places = (chosen.first, chosen.second)
    rows = (
        (row, AnnotatedDocument(identifier.strip(), text))
        for row, (identifier, text) in records.texts(places, strip=False)
    )
    text_column = records.names[chosen.second].strip()
    return DocumentRows(records.source, form, rows, records.row_fault(places), records.unit, text_column)


def _in_reverse(names: Sequence[str]) -> bool:
    """True for two columns whose usual names say that the texts come first."""
    usual = [[name in these for these in (IDENTIFIER_NAMES, _TEXT_NAMES)] for name in names]
    return len(usual) == 2 and usual[0][1] + usual[1][0] > usual[0][0] + usual[1][1]


def _has_header(records: Records, columns: Columns, header: Header) -> bool:
    if header != "auto":
        return header == "yes"
    names = {name.strip().lower() for name in records.names}
    return columns.named or len(names) != 2 or any(not names.isdisjoint(usual) for usual in columns.usual)


def line_rows(file: InputFile, lines: Iterable[str]) -> DocumentRows:
    """Each line is a text, and its number the identifier. An empty line is an empty text."""
    form = ", ".join(filter(None, (file.compression, "plain lines")))
    rows = (
        (number, AnnotatedDocument(str(number), line.removesuffix("\n").removesuffix("\r")))
        for number, line in enumerate(lines, start=1)
    )
    return DocumentRows(file.name, form, rows, RowFault(file.name, ("identifier", "text")))
