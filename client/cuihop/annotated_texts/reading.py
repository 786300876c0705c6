"""Texts and annotated documents from files, pipes and folders; the format is recognised or named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeAlias

from cuihop.annotated_texts.bioc import LARGEST_COLLECTION, bioc_rows, is_bioc
from cuihop.annotated_texts.brat import brat_rows, is_brat
from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows
from cuihop.annotated_texts.pubtator import is_pubtator, pubtator_rows
from cuihop.annotated_texts.tables import Header, line_rows, looks_like_text_table, mention_rows, table_rows
from cuihop.errors import InputError, checked_choice
from cuihop.files.input_file import STANDARD_INPUT, InputFile, Readable, opened_input
from cuihop.files.text_lines import decoded_lines

Format: TypeAlias = Literal["table", "lines", "pubtator", "brat", "bioc"]

FORMATS: Mapping[Format, str] = {
    "table": "CSV, TSV, JSON Lines, Parquet or Arrow",
    "lines": "a text in each line, with its number as identifier",
    "pubtator": "PubTator: title, abstract and mentions",
    "brat": "BRAT: a folder of texts with their mentions beside them, or one of them",
    "bioc": "a BioC collection in JSON",
}
"""Formats of texts and their meaning."""

_TABLES = frozenset({".csv", ".tsv", ".tab", ".jsonl", ".ndjson"})
_COMPRESSED = frozenset({".gz", ".zst", ".zstd"})
_PEEKED = 50  # lines of a JSON file, to recognise a collection

_First: TypeAlias = tuple[str, Iterator[str]] | None


def open_texts(
    source: Readable,
    *,
    form: Format | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    header: Header = "auto",
) -> DocumentRows:
    """Texts with identifiers from a file, a folder of BRAT, a pipe, or with ``-`` from standard input.

    Text is UTF-8, with or without a byte order mark, LF or CRLF, and may be compressed by gzip or zstd.

    Args:
        source: the input.
        form: see `FORMATS`; recognised by default, by the ending of the name and the first line.
        id_column, text_column: names of the columns of a table, or with ``header="no"`` their numbers from 1. Without
            them, those with usual names are taken; of two columns without such names the first is the identifier.
        header: of CSV; ``auto`` takes the first line of two columns for a header if one of its names is usual.

    Raises:
        InputError: the input cannot be read, or not in this format; or when its rows are read: names the line or row.
    """

    def table(file: InputFile, text: _First) -> DocumentRows:
        return table_rows(file, text, (id_column, text_column), header)

    rows = _rows(source, form, table, looks_like_text_table)
    requested = (id_column, text_column, None if header == "auto" else header)
    if requested != (None, None, None) and rows.form.rpartition(", ")[2] in _WITHOUT_COLUMNS:
        raise InputError(
            "columns are chosen of a format without columns", file=rows.source, found=rows.form,
            expected=FORMATS["table"], advice="--format table reads it as a table.",
        )  # fmt: skip
    return rows


def read_documents(source: Readable, *, form: Format | None = None) -> list[AnnotatedDocument]:
    """Documents with mentions: PubTator, BRAT, BioC JSON, or a table of mentions or concepts.

    A table has the columns ``ID``, ``start``, ``end`` and ``cui``, or ``ID`` and ``CUIs`` as for ``cuihop evaluate``;
    JSON Lines may also hold a document with its ``mentions`` in each line. Mentions of the latter have no place: start
    and end are -1.

    Raises:
        InputError: names the file, the line, row or field, what was found and what was expected.
    """
    rows = _rows(source, form, mention_rows, lambda first: True)
    return list(chain.from_iterable(rows.blocks()))


_WITHOUT_COLUMNS = frozenset({"plain lines", "PubTator", "BioC JSON"})


def _rows(
    source: Readable,
    form: Format | None,
    table: Callable[[InputFile, _First], DocumentRows],
    is_table: Callable[[str], bool],
) -> DocumentRows:
    if form is not None:
        checked_choice("form", form, Format, "unknown format")
    path = source.path if isinstance(source, InputFile) else Path(source)
    if form == "brat" or (form is None and str(path) != STANDARD_INPUT and is_brat(path)):
        return brat_rows(path)
    file = opened_input(source)
    if file.form == "table":
        if form not in (None, "table"):
            raise InputError(
                "not in this format", file=file.name, column="form", found="a table of Parquet or Arrow",
                expected=FORMATS[form],
            )  # fmt: skip
        return table(file, None)
    lines = decoded_lines(file, LARGEST_COLLECTION)  # a collection may be one line
    head = list(islice(lines, _PEEKED))
    first = next((line for line in head if line.strip()), "")
    text = first, chain(head, lines)
    kind = form or _recognised(file.path, first, "".join(head), is_table)
    readers: dict[Format, Callable[[], DocumentRows]] = {
        "table": lambda: table(file, text),
        "lines": lambda: line_rows(file, text[1]),
        "pubtator": lambda: pubtator_rows(file, text[1]),
        "bioc": lambda: bioc_rows(file, text[1]),
    }
    rows = readers[kind]()
    rows.progress = lambda: file.progress
    return rows


def _recognised(path: Path, first: str, head: str, is_table: Callable[[str], bool]) -> Format:
    suffixes = [suffix for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    if is_pubtator(first):
        return "pubtator"
    if is_bioc(head):
        return "bioc"
    in_json = first.lstrip().startswith("{")
    return "table" if in_json or (suffixes[-1:] and suffixes[-1].lower() in _TABLES) or is_table(first) else "lines"
