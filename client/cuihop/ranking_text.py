"""Rankings in text files: TREC runs, and CSV with a header."""

from __future__ import annotations

import csv
import itertools
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from cuihop.errors import InputError
from cuihop.rankings import Ranking, places_by_name
from cuihop.text_lines import decoded, raw_lines, shown

__all__ = ["ranking_of_text"]

_TREC_EXPECTED = "6 columns separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document and either score or rank"


def ranking_of_text(path: Path, queries: Sequence[str], corpus: Sequence[str], depth: int | None) -> Ranking:
    """The ranking in the file. Best first is: score descending (or rank ascending), then document ascending."""
    numbered = enumerate(raw_lines(path), start=1)
    first = next(((line, raw) for line, raw in numbered if raw.strip()), None)
    if first is None:
        raise InputError("the file is empty", file=path, expected="a TREC run, or CSV with a header")
    rest = itertools.chain([first], numbered)
    entries = _Entries(path, queries, corpus)
    if b"," in first[1] and len(first[1].split()) != 6:
        _read_csv(rest, first[0], entries)
    else:
        _read_trec(rest, entries)
    return entries.ranking(depth)


class _Entries:
    """The rows of the file: who retrieved what, the key to sort by (ascending), and the line."""

    def __init__(self, path: Path, queries: Sequence[str], corpus: Sequence[str]) -> None:
        self.path = path
        self.queries, self.corpus = queries, corpus
        self.query_places = {name.encode(): place for name, place in places_by_name(queries).items()}
        self.corpus_places = {name.encode(): place for name, place in places_by_name(corpus).items()}
        self.owners = array("i")
        self.rows = array("i")
        self.keys = array("d")
        self.lines = array("q")

    def unknown_image(self, query: bytes, document: bytes, line: int) -> InputError:
        """Which of the two images is not known."""
        if query not in self.query_places:
            return InputError(
                "not an image of the queries",
                file=self.path,
                line=line,
                column="query",
                found=shown(decoded(query, self.path, line)),
                expected="an image of the queries' concept file",
            )
        return InputError(
            "not an image of the corpus",
            file=self.path,
            line=line,
            column="document",
            found=shown(decoded(document, self.path, line)),
            expected="an image of the corpus' concept file",
        )

    def wrong_number(self, name: str, found: str, expected: str, line: int) -> InputError:
        """A score or rank that is none."""
        return InputError(
            f"not a {name}", file=self.path, line=line, column=name, found=shown(found), expected=expected
        )

    def ranking(self, depth: int | None) -> Ranking:
        """The rows in order."""
        owners = np.array(self.owners, dtype=np.int64)
        rows = np.array(self.rows, dtype=np.int32)
        self._check_repeats(owners * len(self.corpus) + rows)
        by_name = np.empty(len(self.corpus), dtype=np.int32)
        by_name[sorted(range(len(self.corpus)), key=self.corpus.__getitem__)] = np.arange(len(self.corpus))
        order = np.lexsort((by_name[rows], np.array(self.keys, dtype=np.float64), owners))
        return Ranking.from_flat(
            owners[order], rows[order], self.queries, self.corpus, depth=depth, source=str(self.path)
        )

    def _check_repeats(self, pairs: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1]) + 1
        if not len(again):
            return
        second = int(order[again].min())
        first = int(np.flatnonzero(pairs == pairs[second])[0])
        raise InputError(
            "a document stands twice for a query",
            file=self.path,
            line=self.lines[second],
            column="document",
            found=f"{shown(self.corpus[self.rows[second]])} for query {shown(self.queries[self.owners[second]])}, "
            f"as in line {self.lines[first]:,}",
            expected="each document once for a query",
        )


def _read_trec(numbered: Iterable[tuple[int, bytes]], entries: _Entries) -> None:
    """Rows of a TREC run. The second, fourth (rank) and sixth (run) column are not used."""
    query_places, corpus_places = entries.query_places, entries.corpus_places
    for line, raw in numbered:
        fields = raw.split()
        if len(fields) != 6:
            if not fields:
                continue
            raise InputError(
                "wrong number of columns",
                file=entries.path,
                line=line,
                found=f"{len(fields)} in {shown(decoded(raw.strip(), entries.path, line))}",
                expected=_TREC_EXPECTED,
            )
        query, _, document, _, score, _ = fields
        try:
            owner, row = query_places[query], corpus_places[document]
        except KeyError:
            raise entries.unknown_image(query, document, line) from None
        entries.owners.append(owner)
        entries.rows.append(row)
        entries.keys.append(-_score(score, entries, line))
        entries.lines.append(line)


def _score(text: bytes, entries: _Entries, line: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score) or b"_" in text:
        raise entries.wrong_number("score", decoded(text, entries.path, line), "a finite number", line)
    return score


def _rank(text: bytes, entries: _Entries, line: int) -> float:
    if not text.isdigit():
        raise entries.wrong_number("rank", decoded(text, entries.path, line), "a whole number, 0 or more", line)
    return float(text)


def _read_csv(numbered: Iterable[tuple[int, bytes]], first_line: int, entries: _Entries) -> None:
    """Rows of a CSV file, its columns found by the names in its header."""
    path = entries.path
    rows = _csv_rows(numbered, first_line, path)
    line, header = next(rows)
    columns = _columns(header, path, line)
    key = "score" if "score" in columns else "rank"
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputError(
                "wrong number of columns",
                file=path,
                line=line,
                found=f"{len(fields)} in {shown(','.join(fields))}",
                expected=f"{len(header)}, as in the header",
            )
        query, document, value = (fields[columns[name]].strip().encode() for name in ("query", "document", key))
        if query not in entries.query_places or document not in entries.corpus_places:
            raise entries.unknown_image(query, document, line)
        entries.owners.append(entries.query_places[query])
        entries.rows.append(entries.corpus_places[document])
        entries.keys.append(-_score(value, entries, line) if key == "score" else _rank(value, entries, line))
        entries.lines.append(line)


def _csv_rows(numbered: Iterable[tuple[int, bytes]], first_line: int, path: Path) -> Iterator[tuple[int, list[str]]]:
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


def _columns(header: Sequence[str], path: Path, line: int) -> Mapping[str, int]:
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
