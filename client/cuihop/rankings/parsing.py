"""Rankings in TREC runs, CSV, JSON Lines, Parquet and Arrow: the rows of each form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.records import Records
from cuihop.files.text_lines import DELIMITERS, columns, decoded, line_blocks, quoted
from cuihop.rankings.ranking import QueryImage, Ranking, Ties
from cuihop.rankings.rows import Numbers, RankedRows

__all__ = ["ranking_of_file", "ranking_of_table"]

_TREC_EXPECTED = "6 columns separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document and either score or rank"
_LINES_A_BLOCK = 256  # few enough that the garbage collector has little to look through

Float64 = npt.NDArray[np.float64]


def ranking_of_file(
    file: InputFile, queries: Sequence[str], corpus: Sequence[str] | None, depth: int | None, ties: Ties,
    query_image: QueryImage = "exclude",
) -> Ranking:  # fmt: skip
    """The ranking in a file of names. Best first is: score descending (or rank ascending), then as ``ties`` says.

    Without a corpus it is the documents in the file; lists of other queries are then left out.

    Raises:
        InputError: names the file, line or row, and column.
    """
    if file.form == "table":
        return ranking_of_table(ArrowTable.of(file), queries, corpus, depth, ties, query_image)
    entries = RankedRows(file.name, queries, corpus, query_image=query_image)
    blocks = line_blocks(file)
    before: list[tuple[int, list[bytes]]] = []
    header = None
    for first, lines in blocks:
        before.append((first, lines))
        header = next(((line, raw) for line, raw in enumerate(lines, start=first) if raw.strip()), None)
        if header is not None:
            break
    if header is None:
        raise InputError("the file is empty", file=file.name, expected="a TREC run, or CSV with a header")
    whole = itertools.chain(before, blocks)
    if _is_trec(header[1]):
        _read_trec(whole, entries)
        account = "TREC run"
    else:
        texts = (decoded(raw, file.name, n) for first, lines in whole for n, raw in enumerate(lines, start=first))
        records = Records.of(file, _CSV_EXPECTED, (decoded(header[1], file.name, header[0]), texts))
        name = DELIMITERS[records.delimiter]
        name = "JSON Lines" if records.in_json else f"CSV with {name}" if name else "CSV"
        account = f"{name} by {_read_records(records, entries)}"
    return entries.ranking(depth, ties, ", ".join(filter(None, (file.compression, account))))


def _is_trec(raw: bytes) -> bool:
    """Recognise a TREC run by its first line: neither an object, nor a header or fields separated by commas."""
    if raw.lstrip().startswith(b"{"):
        return False
    if len(raw.split()) == 6:
        return True
    names = ({name.strip().lower() for name in raw.split(delimiter.encode())} for delimiter in DELIMITERS)
    return b"," not in raw and not any({b"query", b"document"} <= each for each in names)


def _read_trec(blocks: Iterable[tuple[int, list[bytes]]], entries: RankedRows) -> None:
    """Rows of a TREC run. The second, fourth (rank) and sixth (run) column are not used."""
    for first, lines in blocks:
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
            "wrong number of columns", file=entries.path, line=line,
            found=f"{len(fields)} in {quoted(decoded(raw.strip(), entries.path, line))}", expected=_TREC_EXPECTED,
            advice=cause_of_columns(decoded(raw, entries.path, line).split(), 6, " "),
        )  # fmt: skip
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


def _read_records(records: Records, entries: RankedRows) -> str:
    """Rows of CSV or JSON Lines, their columns found by the names in the header; returns the one that orders them."""
    columns, rows = _columns(records), records.rows()
    key = "score" if "score" in columns else "rank"
    query_at, document_at, key_at = columns["query"], columns["document"], columns[key]
    while block := list(itertools.islice(rows, _LINES_A_BLOCK)):
        table: list[tuple[int, int, float]] = []
        for line, fields in block:
            try:
                query, document = fields[query_at].strip().encode(), fields[document_at].strip().encode()
                value = fields[key_at].strip().encode()
            except AttributeError:  # a value of JSON that is no text
                values = [fields[at] for at in (query_at, document_at, key_at)]
                query, document, value = _json_fields(values, entries, line)
            sort_key = -_score(value, entries, line) if key == "score" else _rank(value, entries, line)
            table.append((entries.query(query, line), entries.document(document, line), sort_key))
        owners, places, keys = zip(*table, strict=True)
        entries.add(owners, places, keys, [line for line, _ in block])
    return key


def _json_fields(values: Sequence[object], entries: RankedRows, line: int) -> tuple[bytes, bytes, bytes]:
    """The values of an object as the fields of CSV: names are texts, scores and ranks numbers."""
    query, document, value = values
    for column, name in (("query", query), ("document", document)):
        if not isinstance(name, str):
            raise entries.problem("not a name", line, column, quoted(repr(name)), "a text")
    return str(query).strip().encode(), str(document).strip().encode(), repr(value).encode()


def _columns(records: Records) -> Mapping[str, int]:
    names = records.names
    columns = {name.strip().lower(): place for place, name in enumerate(names)}
    complete = set(columns) in ({"query", "document", "score"}, {"query", "document", "rank"})
    if not complete or len(columns) != len(names):
        raise records.fault(
            "not the header of a ranking", quoted(records.delimiter.join(names)), _CSV_EXPECTED,
            cause_of_columns(names, 3, records.delimiter) or _other_form(names),
        )  # fmt: skip
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


def ranking_of_table(
    table: ArrowTable, queries: Sequence[str], corpus: Sequence[str] | None, depth: int | None, ties: Ties,
    query_image: QueryImage = "exclude",
) -> Ranking:  # fmt: skip
    """The ranking in the columns query, document, and score or rank. Order and corpus as in `ranking_of_file`.

    Raises:
        InputError: names the row and the column.
    """
    ranked = "rank" in {name.strip().lower() for name in table.names}
    by_query, by_document = table.column("query"), table.column("document")
    by_key = table.column("rank" if ranked else "score")
    if ranked and "score" in {name.strip().lower() for name in table.names}:
        raise InputError(
            "not the columns of a ranking", file=table.source, found=quoted(", ".join(table.names)),
            expected="the columns query, document and either score or rank",
        )  # fmt: skip
    entries = RankedRows(table.source, queries, corpus, "row", query_image)
    for first, batch in table.batches():
        keys = table.numbers(first, batch, by_key)
        if ranked:
            wrong = np.flatnonzero((keys < 0) | (keys != np.floor(keys)))
            if len(wrong):
                row = int(wrong[0])
                raise table.problem("not a rank", first + row, by_key, f"{keys[row]:g}", "a whole number, 0 or more")
        else:
            keys = -keys
        by_row = (table.texts(first, batch, place) for place in (by_query, by_document))
        owners, rows = (
            _places(place_of, *names, first)
            for place_of, names in zip((entries.query, entries.document), by_row, strict=True)
        )
        entries.add(owners, rows, keys, np.arange(first, first + len(keys)))
    return entries.ranking(depth, ties, f"{table.form or 'table'} by {'rank' if ranked else 'score'}")


def _places(
    place_of: Callable[[bytes, int], int], names: list[str], codes: npt.NDArray[np.int64], first: int
) -> npt.NDArray[np.int64]:
    """The place of the name in each row; each different name is looked up once, in the row that has it first."""
    places = np.full(len(names), -1, dtype=np.int64)
    used, rows = np.unique(codes, return_index=True)
    for code, row in sorted(zip(used.tolist(), rows.tolist(), strict=True), key=lambda pair: pair[1]):
        places[code] = place_of(names[code].strip().encode(), first + row)
    return places[codes]
