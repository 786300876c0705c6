"""Rankings in text files: TREC runs, and CSV with a header."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import columns, decoded, line_blocks, raw_lines, shown
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.rankings.rows import Numbers, RankedRows

__all__ = ["ranking_of_text"]

_TREC_EXPECTED = "6 columns separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document and either score or rank"
_LINES_A_BLOCK = 256  # few enough that the garbage collector has little to look through

Float64 = npt.NDArray[np.float64]


def ranking_of_text(
    path: Path, queries: Sequence[str], corpus: Sequence[str] | None, depth: int | None, ties: Ties
) -> Ranking:
    """The ranking in the file. Best first is: score descending (or rank ascending), then as ``ties`` says.

    Without a corpus it is the documents in the file; lists of other queries are then left out.
    """
    numbered = enumerate(raw_lines(path), start=1)
    first = next(((line, raw) for line, raw in numbered if raw.strip()), None)
    if first is None:
        raise InputError("the file is empty", file=path, expected="a TREC run, or CSV with a header")
    entries = RankedRows(path, queries, corpus)
    if b"," in first[1] and len(first[1].split()) != 6:
        key = _read_csv(itertools.chain([first], numbered), first[0], entries)
        return entries.ranking(depth, ties, f"CSV by {key}")
    _read_trec(path, entries)
    return entries.ranking(depth, ties, "TREC run")


def _read_trec(path: Path, entries: RankedRows) -> None:
    """Rows of a TREC run. The second, fourth (rank) and sixth (run) column are not used."""
    for first, lines in line_blocks(path):
        found = _trec_columns(columns(lines, 6, (0, 2, 4)), entries)
        if found is not None:
            entries.add(*found, np.arange(first, first + len(lines)))
            continue
        # Something is wrong, or a line is empty: line by line finds where.
        numbered = [(line, raw) for line, raw in enumerate(lines, start=first) if not raw.isspace()]
        rows = [_trec_row(raw, line, entries) for line, raw in numbered]
        owners, places, keys = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
        entries.add(owners, places, keys, [line for line, _ in numbered])


def _trec_columns(table: list[list[bytes]] | None, entries: RankedRows) -> tuple[Numbers, Numbers, Float64] | None:
    """Places of queries and documents, and keys, of many rows at once; ``None`` where one of them has a fault."""
    if table is None:
        return None
    queries, documents, scores = table
    if b"_" in b"".join(scores):
        return None
    try:
        keys = -np.array(list(map(float, scores)))
        owners, rows = entries.queries_at(queries), entries.documents_at(documents)
    except (KeyError, ValueError):  # an unknown name; one that is not UTF-8; no number
        return None
    return (owners, rows, keys) if np.isfinite(keys).all() else None


def _trec_row(raw: bytes, line: int, entries: RankedRows) -> tuple[int, int, float]:
    fields = raw.split()
    if len(fields) != 6:
        raise InputError(
            "wrong number of columns",
            file=entries.path,
            line=line,
            found=f"{len(fields)} in {shown(decoded(raw.strip(), entries.path, line))}",
            expected=_TREC_EXPECTED,
            advice=cause_of_columns(decoded(raw, entries.path, line).split(), 6, " "),
        )
    query, _, document, _, score, _ = fields
    return entries.query(query, line), entries.document(document, line), -_score(score, entries, line)


def _score(text: bytes, entries: RankedRows, line: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score) or b"_" in text:
        raise entries.wrong_number("score", decoded(text, entries.path, line), "a finite number", line)
    return score


def _rank(text: bytes, entries: RankedRows, line: int) -> float:
    if not text.isdigit():
        raise entries.wrong_number("rank", decoded(text, entries.path, line), "a whole number, 0 or more", line)
    return float(text)


def _read_csv(numbered: Iterable[tuple[int, bytes]], first_line: int, entries: RankedRows) -> str:
    """Rows of a CSV file, its columns found by the names in its header; the column that orders them."""
    path = entries.path
    records = _csv_rows(numbered, first_line, path)
    line, header = next(records)
    columns = _columns(header, path, line)
    key = "score" if "score" in columns else "rank"
    while block := list(itertools.islice(records, _LINES_A_BLOCK)):
        table: list[tuple[int, int, float]] = []
        for line, fields in block:
            if len(fields) != len(header):
                raise InputError(
                    "wrong number of columns",
                    file=path,
                    line=line,
                    found=f"{len(fields)} in {shown(','.join(fields))}",
                    expected=f"{len(header)}, as in the header",
                    advice=cause_of_columns(fields, len(header), ","),
                )
            query, document, value = (fields[columns[name]].strip().encode() for name in ("query", "document", key))
            sort_key = -_score(value, entries, line) if key == "score" else _rank(value, entries, line)
            table.append((entries.query(query, line), entries.document(document, line), sort_key))
        owners, rows, keys = zip(*table, strict=True)
        entries.add(owners, rows, keys, [line for line, _ in block])
    return key


def _csv_rows(
    numbered: Iterable[tuple[int, bytes]], first_line: int, path: Path | str
) -> Iterator[tuple[int, list[str]]]:
    """Records with the line that each begins in; empty lines left out."""
    reader = csv.reader((decoded(raw, path, line) for line, raw in numbered), strict=True)
    line = first_line
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = first_line + reader.line_num
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=line, expected=_CSV_EXPECTED) from None


def _columns(header: Sequence[str], path: Path | str, line: int) -> Mapping[str, int]:
    columns = {name.strip().lower(): place for place, name in enumerate(header)}
    known = set(columns) in ({"query", "document", "score"}, {"query", "document", "rank"})
    if not known or len(columns) != len(header):
        raise InputError(
            "not the header of a ranking",
            file=path,
            line=line,
            found=shown(",".join(header)),
            expected=_CSV_EXPECTED,
            advice=cause_of_columns(header, 3, ",") or _other_form(header),
        )
    return columns


def _other_form(header: Sequence[str]) -> str | None:
    """Advice where a TREC run has commas, or data stands in place of the header."""
    if len(header) == 6:
        return "The columns look separated by a comma: separate those of a TREC run by blanks."
    try:
        float(header[-1])
    except ValueError:
        return None
    return "The header is missing: add one."
