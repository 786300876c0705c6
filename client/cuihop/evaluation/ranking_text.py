"""Rankings in text files: TREC runs, and CSV with a header."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.rankings import Ranking, Ties, places_by_name
from cuihop.text_lines import decoded, raw_lines, shown

__all__ = ["RankedRows", "ranking_of_text"]

_TREC_EXPECTED = "6 columns separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document and either score or rank"
_LINES_A_BLOCK = 256  # few enough that the garbage collector has little to look through

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Numbers: TypeAlias = Sequence[int] | Int64


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
    rest = itertools.chain([first], numbered)
    entries = RankedRows(path, queries, corpus)
    if b"," in first[1] and len(first[1].split()) != 6:
        _read_csv(rest, first[0], entries)
    else:
        _read_trec(rest, entries)
    return entries.ranking(depth, ties)


class _Numbered(dict[bytes, int]):
    """Names and their places; a new name gets the next place.

    Raises:
        UnicodeDecodeError: a new name is not UTF-8.
    """

    def __missing__(self, name: bytes) -> int:
        name.decode()
        self[name] = len(self)
        return self[name]


class RankedRows:
    """The rows of the file: who retrieved what, the key to sort by (ascending), and the line.

    Args:
        path: the file, or what messages call it.
        queries, corpus: as in `ranking_of_text`.
        unit: what the rows of the file are called and counted as.
    """

    def __init__(
        self,
        path: Path | str,
        queries: Sequence[str],
        corpus: Sequence[str] | None,
        unit: Literal["line", "row"] = "line",
    ) -> None:
        self.path = path
        self.unit = unit
        self.queries = queries
        self.open = corpus is None
        kind = _Numbered if self.open else dict
        self.query_places = kind((name.encode(), place) for name, place in places_by_name(queries).items())
        self.corpus_places = kind((name.encode(), place) for name, place in places_by_name(corpus or ()).items())
        self._parts: list[tuple[Int64, Int32, Float64, Int64]] = []
        self.add((), (), (), ())

    def add(self, owners: Numbers, rows: Numbers, keys: Sequence[float] | Float64, lines: Numbers) -> None:
        """Some more rows."""
        self._parts.append(
            (
                np.array(owners, dtype=np.int64),
                np.array(rows, dtype=np.int32),
                np.array(keys, dtype=np.float64),
                np.array(lines, dtype=np.int64),
            )
        )

    def places(self, query: bytes, document: bytes, line: int) -> tuple[int, int]:
        """Which query and which image of the corpus these are."""
        return self.query(query, line), self.document(document, line)

    def query(self, name: bytes, line: int) -> int:
        """Which query this is."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self.query_places:
            raise self._stranger("queries", "query", name, line)
        return self.query_places[name]

    def document(self, name: bytes, line: int) -> int:
        """Which image of the corpus this is."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self.corpus_places:
            raise self._stranger("corpus", "document", name, line)
        return self.corpus_places[name]

    def _stranger(self, images: str, column: str, name: bytes, line: int) -> InputError:
        owner = "queries'" if images == "queries" else "corpus'"
        return self.problem(
            f"not an image of the {images}", line, column, shown(decoded(name, self.path, line)),
            f"an image of the {owner} concept file",
        )  # fmt: skip

    def problem(self, what: str, line: int, column: str, found: str, expected: str) -> InputError:
        """An error about a value of the file."""
        if self.unit == "row":
            return InputError(what, file=self.path, column=f"{column}, row {line:,}", found=found, expected=expected)
        return InputError(what, file=self.path, line=line, column=column, found=found, expected=expected)

    def wrong_number(self, name: str, found: str, expected: str, line: int) -> InputError:
        """A score or rank that is none."""
        return self.problem(f"not a {name}", line, name, shown(found), expected)

    def ranking(self, depth: int | None, ties: Ties) -> Ranking:
        """The rows in order."""
        asked, corpus = [[name.decode() for name in places] for places in (self.query_places, self.corpus_places)]
        owners, rows, keys, lines = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        self._parts.clear()
        self._check_repeats(owners, rows, lines, asked, corpus)
        by_name = np.empty(len(corpus), dtype=np.int32)
        by_name[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus))
        if ties == "trec":
            with np.errstate(over="ignore"):  # as in trec_eval, a score beyond single precision is infinite
                keys = keys.astype(np.float32).astype(np.float64)
            by_name = -by_name
        order = np.lexsort((by_name[rows], keys, owners))
        order = order[owners[order] < len(self.queries)]
        made = Ranking.from_flat(
            owners[order], rows[order], self.queries, corpus, depth=depth, source=str(self.path),
            keep_self=self.open, unasked=tuple(asked[len(self.queries) :]),
        )  # fmt: skip
        return dataclasses.replace(made, ties=ties)

    def _check_repeats(
        self, owners: Int64, rows: Int32, lines: Int64, queries: Sequence[str], corpus: Sequence[str]
    ) -> None:
        pairs = owners * len(corpus) + rows
        order = np.argsort(pairs, kind="stable")
        ascending = pairs[order]
        again = np.flatnonzero(ascending[1:] == ascending[:-1]) + 1
        if not len(again):
            return
        second = int(order[again].min())
        first = int(np.flatnonzero(pairs == pairs[second])[0])
        raise self.problem(
            "a document stands twice for a query", int(lines[second]), "document",
            f"{shown(corpus[int(rows[second])])} for query {shown(queries[int(owners[second])])}, "
            f"as in {self.unit} {int(lines[first]):,}",
            "each document once for a query",
        )  # fmt: skip


def _read_trec(numbered: Iterable[tuple[int, bytes]], entries: RankedRows) -> None:
    """Rows of a TREC run. The second, fourth (rank) and sixth (run) column are not used."""
    numbered = iter(numbered)
    while block := list(itertools.islice(numbered, _LINES_A_BLOCK)):
        block = [(line, raw) for line, raw in block if not raw.isspace()]
        columns = _trec_columns([raw.split() for _, raw in block], entries)
        if columns is None:  # something is wrong: line by line finds where
            checked = [_trec_row(raw, line, entries) for line, raw in block]
            columns = [row[0] for row in checked], [row[1] for row in checked], [row[2] for row in checked]
        owners, rows, keys = columns
        entries.add(owners, rows, keys, [line for line, _ in block])


def _trec_columns(
    table: list[list[bytes]], entries: RankedRows
) -> tuple[Sequence[int], Sequence[int], Sequence[float]] | None:
    """Places of queries and documents, and keys, of many rows at once; ``None`` where one of them has a fault."""
    if not set(map(len, table)) <= {6}:
        return None
    try:
        owners = [entries.query_places[fields[0]] for fields in table]
        rows = [entries.corpus_places[fields[2]] for fields in table]
    except (KeyError, UnicodeDecodeError):
        return None
    scores = [fields[4] for fields in table]
    try:
        keys = [-float(score) for score in scores]
    except ValueError:
        return None
    if not all(map(math.isfinite, keys)) or b"_" in b"".join(scores):
        return None
    return owners, rows, keys


def _trec_row(raw: bytes, line: int, entries: RankedRows) -> tuple[int, int, float]:
    fields = raw.split()
    if len(fields) != 6:
        raise InputError(
            "wrong number of columns",
            file=entries.path,
            line=line,
            found=f"{len(fields)} in {shown(decoded(raw.strip(), entries.path, line))}",
            expected=_TREC_EXPECTED,
        )
    query, _, document, _, score, _ = fields
    owner, row = entries.places(query, document, line)
    return owner, row, -_score(score, entries, line)


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


def _read_csv(numbered: Iterable[tuple[int, bytes]], first_line: int, entries: RankedRows) -> None:
    """Rows of a CSV file, its columns found by the names in its header."""
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
                )
            query, document, value = (fields[columns[name]].strip().encode() for name in ("query", "document", key))
            sort_key = -_score(value, entries, line) if key == "score" else _rank(value, entries, line)
            table.append((*entries.places(query, document, line), sort_key))
        owners, rows, keys = zip(*table, strict=True)
        entries.add(owners, rows, keys, [line for line, _ in block])


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
        )
    return columns
