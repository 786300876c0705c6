"""Rankings in TREC runs, CSV, JSON Lines, Parquet and Arrow: the rows of each form."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.records import Records, cause_of_columns
from cuihop.files.text_lines import (
    DELIMITERS,
    columns,
    decoded,
    joined,
    line_blocks,
    quoted,
    renamed_columns,
    standard_names,
)
from cuihop.rankings.ranking import Order, Ranking, RankingOptions
from cuihop.rankings.rows import DOCUMENT, QUERY, RANK, SCORE, Numbers, RankedRows
from cuihop.resources.arrays import Float64, Int64

_TREC_EXPECTED = "6 columns separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document, and score or rank"
_QUERY_A_ROW = "One row for each query is read as query,document,document,… if all of these are known names."
_RANKED = re.compile(r"(document|doc|image|result|rank|top|hit)?s?_?[0-9]*")  # names of the columns of such rows
_BY_SCORE = "Order by the scores instead: --order score."
_RANK_EXPECTED = "a whole number, 0 or more, of 15 digits at most"
_LINES_A_BLOCK = 256  # few enough that the garbage collector has little to look through


class _Ranks(dict[bytes, float]):
    """Text of a rank → the rank; NaN of any other text."""

    def __missing__(self, text: bytes) -> float:
        self[text] = rank = float(text) if text.isdigit() and len(text) <= 15 else math.nan
        return rank


@dataclass(frozen=True)
class _Rows:
    """The rows of a file, the column that orders them, and the ranks read so far."""

    entries: RankedRows
    order: Order
    ranks: _Ranks = field(default_factory=_Ranks)


def ranking_of_file(
    file: InputFile,
    queries: Sequence[str] | None,
    corpus: Sequence[str] | None,
    options: RankingOptions,
) -> Ranking:
    """The ranking in a file of names. Best first is: score descending, equal ones as ``ties`` says; or rank ascending.

    A file with ranks alone is ordered by them, equal ones as ``ties`` says; with the order ``rank`` equal ones are an
    error. Without a corpus it is the documents in the file; lists of other queries are then left out. Without queries
    they are those of the file. An `InputError` names the file, line or row, and column.
    """
    if file.form == "table":
        return ranking_of_table(ArrowTable.of(file), queries, corpus, options)
    entries = RankedRows(file.name, queries, corpus, query_image=options.query_image)
    blocks = line_blocks(file)
    filled = next((block for block in blocks if any(map(bytes.strip, block[1]))), None)
    if filled is None:
        raise InputError("the file is empty", file=file.name, expected="a TREC run, or CSV with a header")
    header = next((line, raw) for line, raw in enumerate(filled[1], start=filled[0]) if raw.strip())
    all_blocks = itertools.chain([filled], blocks)
    if _is_trec(header[1]):
        _read_trec(all_blocks, _Rows(entries, options.order))
        return entries.ranking(options, joined(file.compression, "TREC run"), options.order)
    texts = (decoded(raw, file.name, n) for first, lines in all_blocks for n, raw in enumerate(lines, start=first))
    numbered = itertools.chain(itertools.repeat("\n", filled[0] - 1), texts)
    records = Records.of(file, _CSV_EXPECTED, (decoded(header[1], file.name, header[0]), numbered))
    delimiter = DELIMITERS[records.delimiter]
    form = "JSON Lines" if records.in_json else f"CSV with {delimiter}" if delimiter else "CSV"
    records, are_lists = _as_lists(records, queries, corpus)
    if are_lists:
        _read_lists(records, entries)
        return entries.ranking(options, joined(file.compression, form, "a row for each query"), "rank")
    by = _read_records(records, _Rows(entries, options.order))
    return entries.ranking(options, joined(file.compression, form, renamed_columns(records.names)), by)


def _as_lists(records: Records, queries: Sequence[str] | None, corpus: Sequence[str] | None) -> tuple[Records, bool]:
    """The records, and whether they have a row for each query, in CSV: the query, then its documents.

    The first row, or the one below a header, then holds known names only; or there is a header such as query,1,2,3.
    """
    names = standard_names(records.names)
    other = {"query", "document"} <= set(names) or not {"score", "rank"}.isdisjoint(names)
    if len(names) < 2 or other or not records.in_csv:
        return records, False
    rest = iter(records.rest)
    first = list(itertools.islice(rest, 1))
    images = (set(queries or ()), set(corpus or ()))
    if corpus is not None and _are_known(records.names, *images):
        first, are_lists = [(records.line or 1, records.names), *first], True
    elif corpus is not None:
        are_lists = bool(first) and _are_known(first[0][1], *images)
    else:
        are_lists = names[0] == "query" and all(map(_RANKED.fullmatch, names[1:]))
    return dataclasses.replace(records, rest=itertools.chain(first, rest)), are_lists


def _are_known(fields: Sequence[str], queries: Collection[str], corpus: Collection[str]) -> bool:
    documents = _documents(fields)
    return fields[0].strip() in queries and bool(documents) and all(name in corpus for name in documents)


def _documents(fields: Sequence[str]) -> list[str]:
    """The documents behind a query: a column each, or one text with ``;`` or blanks between them."""
    if len(fields) == 2:
        return fields[1].replace(";", " ").split()
    documents = [field.strip() for field in fields[1:]]
    return documents[: max((n for n, name in enumerate(documents, start=1) if name), default=0)]


def _read_lists(records: Records, entries: RankedRows) -> None:
    """Rows of one query each, best first."""
    lines: dict[str, int] = {}
    for line, fields in records.rest:
        query, documents = fields[0].strip(), _documents(fields)
        if lines.setdefault(query, line) != line:
            raise entries.error(
                "a query stands twice", line, QUERY, f"{quoted(query)}, as in line {lines[query]:,}",
                "one row for each query, or " + _CSV_EXPECTED,
            )  # fmt: skip
        owner, ranks = entries.query(query.encode(), line), np.arange(1.0, len(documents) + 1)
        indices = [entries.document(document.encode(), line) for document in documents]
        entries.add([owner] * len(documents), indices, ranks, [line] * len(documents))


def _is_trec(raw: bytes) -> bool:
    """Recognise a TREC run by its first line: neither an object, nor a header or fields separated by commas."""
    if raw.lstrip().startswith(b"{"):
        return False
    if len(raw.split()) == 6:
        return True
    text = raw.decode(errors="replace")
    names = (set(standard_names(text.split(delimiter))) for delimiter in DELIMITERS)
    return "," not in text and not any({"query", "document"} <= each for each in names)


def _read_trec(blocks: Iterable[tuple[int, list[bytes]]], rows: _Rows) -> None:
    """Rows of a TREC run. The second and the sixth column (run) are not used."""
    for first, lines in blocks:
        parsed = _trec_columns(columns(lines, 6, (0, 2, 3, 4)), rows)
        numbers: Numbers = np.arange(first, first + len(lines))
        if parsed is None:  # something is wrong, or a line is empty: line by line finds where
            numbered = [(line, raw) for line, raw in enumerate(lines, start=first) if not raw.isspace()]
            table = np.array([_trec_row(raw, line, rows) for line, raw in numbered], dtype=np.float64).reshape(-1, 4)
            numbers = [line for line, _ in numbered]
            parsed = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3]
        owners, documents, scores, ranks = parsed
        keys, others = (-scores, ranks) if rows.order == "score" else (ranks, -scores)
        rows.entries.add(owners, documents, keys, numbers, others)


def _trec_columns(table: list[list[bytes]] | None, rows: _Rows) -> tuple[Numbers, Numbers, Float64, Float64] | None:
    """Indices of queries and documents, scores and ranks of many rows; ``None`` if one of them is malformed."""
    if table is None:
        return None
    queries, documents, rank_texts, score_texts = table
    if b"_" in b"".join(score_texts):
        return None
    try:
        scores = np.array(list(map(float, score_texts)))
        owners, indices = rows.entries.queries_at(queries), rows.entries.documents_at(documents)
    except (KeyError, ValueError):  # an unknown name; one that is not UTF-8; no number
        return None
    ranks = np.array(list(map(rows.ranks.__getitem__, rank_texts)))
    malformed = not np.isfinite(scores).all() or (rows.order == "rank" and np.isnan(ranks).any())
    return None if malformed else (owners, indices, scores, ranks)


def _trec_row(raw: bytes, line: int, rows: _Rows) -> tuple[int, int, float, float]:
    """Indices of query and document, score and rank."""
    entries, fields = rows.entries, raw.split()
    if len(fields) != 6:
        raise InputError(
            "wrong number of columns", file=entries.path, line=line,
            found=f"{len(fields)} in {quoted(decoded(raw.strip(), entries.path, line))}", expected=_TREC_EXPECTED,
            advice=cause_of_columns(decoded(raw, entries.path, line).split(), 6, " "),
        )  # fmt: skip
    query, _, document, rank, score, _ = fields
    number = _rank(rank, entries, line) if rows.order == "rank" else rows.ranks[rank]
    return entries.query(query, line), entries.document(document, line), _score(score, entries, line), number


def _score(text: bytes, entries: RankedRows, line: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score) or b"_" in text:
        raise entries.error("not a score", line, SCORE, quoted(decoded(text, entries.path, line)), "a finite number")
    return score


def _rank(text: bytes, entries: RankedRows, line: int) -> float:
    if not text.isdigit() or len(text) > 15:
        raise entries.error("not a rank", line, RANK, quoted(decoded(text, entries.path, line)), _RANK_EXPECTED)
    return float(text)


def _read_records(records: Records, rows: _Rows) -> Order:
    """Rows of CSV or JSON Lines, their columns chosen by the names in the header; returns the one that orders them."""
    columns, lines, entries = _columns(records, rows.order), records.rows(), rows.entries
    by: Order = "score" if rows.order == "score" and "score" in columns else "rank"
    numbers = [name for name in ("rank", "score") if name in columns]
    used = [columns[name] for name in ("query", "document", *numbers)]
    while block := list(itertools.islice(lines, _LINES_A_BLOCK)):
        table: list[tuple[int, int, float, float]] = []
        for line, fields in block:
            try:
                texts = [fields[column].strip().encode() for column in used]
            except AttributeError:  # a value of JSON that is no text
                texts = _json_fields([fields[column] for column in used], entries, line)
            query, document, *values = texts
            score = -_score(values[-1], entries, line) if "score" in columns else math.nan
            rank = _rank(values[0], entries, line) if "rank" in columns else math.nan
            keys = (score, rank) if by == "score" else (rank, score)
            table.append((entries.query(query, line), entries.document(document, line), *keys))
        owners, documents, first_keys, others = zip(*table, strict=True)
        entries.add(owners, documents, first_keys, [line for line, _ in block], others)
    return by


def _json_fields(values: Sequence[object], entries: RankedRows, line: int) -> list[bytes]:
    """The values of an object as the fields of CSV: names are texts, scores and ranks numbers."""
    query, document, *numbers = values
    for column, name in ((QUERY, query), (DOCUMENT, document)):
        if not isinstance(name, str):
            raise entries.error("not a name", line, column, quoted(repr(name)), "a text")
    return [str(query).strip().encode(), str(document).strip().encode(), *(repr(number).encode() for number in numbers)]


def _columns(records: Records, order: Order) -> Mapping[str, int]:
    names = records.names
    columns = {name: index for index, name in enumerate(standard_names(names))}
    complete = {"query", "document"} < set(columns) <= {"query", "document", "score", "rank"}
    if complete and order == "rank" and "rank" not in columns:
        expected = "the columns query, document and rank"
        raise records.error("no column of ranks", quoted(records.header), expected, _BY_SCORE)
    if not complete or len(columns) != len(names):
        in_rows = None if "document" in columns else _QUERY_A_ROW
        form = in_rows if "query" in columns and in_rows else _other_form(names) or in_rows
        raise records.error(
            "not the header of a ranking", quoted(records.header), _CSV_EXPECTED,
            cause_of_columns(names, 3, records.delimiter) or form,
        )  # fmt: skip
    return columns


def _other_form(header: Sequence[str]) -> str | None:
    """Hint for a TREC run with commas, or for data in place of the header."""
    if len(header) == 6:
        return "The columns look separated by a comma: separate those of a TREC run by blanks."
    try:
        float(header[-1])
    except (IndexError, ValueError):  # no column, or a name
        return None
    return "The header is missing: add one."


def ranking_of_table(
    table: ArrowTable,
    queries: Sequence[str] | None,
    corpus: Sequence[str] | None,
    options: RankingOptions,
) -> Ranking:
    """The ranking in the columns query, document, and score or rank. Arguments and errors as `ranking_of_file`."""
    names = {name.strip().lower() for name in table.names}
    by: Order = "rank" if options.order == "rank" or {"score", "rank"} & names == {"rank"} else "score"
    other = {"score": "rank", "rank": "score"}[by]
    by_query, by_document, by_key = table.column("query"), table.column("document"), table.column(by)
    by_other = table.column(other) if other in names else None
    entries = RankedRows(table.source, queries, corpus, "row", options.query_image)
    for first, batch in table.batches():
        keys = _table_keys(table, first, batch, by_key, by)
        others = None if by_other is None else _table_keys(table, first, batch, by_other, other)
        by_row = (table.texts(first, batch, column) for column in (by_query, by_document))
        owners, rows = (
            _indices(index_of, *names, first)
            for index_of, names in zip((entries.query, entries.document), by_row, strict=True)
        )
        entries.add(owners, rows, keys, np.arange(first, first + len(keys)), others)
    return entries.ranking(options, joined(table.form or "table", renamed_columns(table.names)), by)


def _table_keys(table: ArrowTable, first: int, batch: Any, column: int, name: str) -> Float64:
    """Ranks, or negative scores."""
    numbers = table.numbers(first, batch, column)
    if name == "score":
        return -numbers
    wrong = np.flatnonzero((numbers < 0) | (numbers != np.floor(numbers)))
    if len(wrong):
        row = int(wrong[0])
        raise table.problem("not a rank", first + row, column, f"{numbers[row]:g}", _RANK_EXPECTED)
    return numbers


def _indices(index_of: Callable[[bytes, int], int], names: list[str], codes: Int64, first: int) -> Int64:
    """Index of the name in each row; each different name is looked up once, in the row that has it first."""
    indices = np.full(len(names), -1, dtype=np.int64)
    used, rows = np.unique(codes, return_index=True)
    for code, row in sorted(zip(used.tolist(), rows.tolist(), strict=True), key=lambda pair: pair[1]):
        indices[code] = index_of(names[code].strip().encode(), first + row)
    return indices[codes]
