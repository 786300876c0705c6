"""Relevance judgements: which documents were judged for a query, and how relevant they are."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import places_by_name
from cuihop.collection.tables import LARGEST_GRADE
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable, Table, is_table_file, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import columns, counted, decoded, line_blocks, raw_lines, shown
from cuihop.measures.judged_rankings import Pools

__all__ = ["LARGEST_GRADE", "Qrels"]

Int64 = npt.NDArray[np.int64]

_EXPECTED = "4 columns separated by white space: query iteration document grade"
_GRADE = re.compile(rb"[+-]?[0-9]{1,9}")
_SMALLEST_GRADE = 1 - 10**9


@dataclass(frozen=True, eq=False)
class Qrels(Mapping[str, Mapping[str, int]]):
    """Query → document → grade, queries in the order of the file.

    A grade of 1 or more is relevant, 0 is judged not relevant; a negative one counts as not judged, as in trec_eval.

    Attributes:
        grades: the mapping behind it.
        source: the file, or how else it came.
    """

    grades: Mapping[str, Mapping[str, int]]
    source: str = "memory"

    def __getitem__(self, query: str) -> Mapping[str, int]:
        return self.grades[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self.grades)

    def __len__(self) -> int:
        return len(self.grades)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({query: dict(documents) for query, documents in self.grades.items()})

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        queries = "1 query" if len(self) == 1 else f"{len(self):,} queries"
        return f"{self.source}: {counted(sum(map(len, self.grades.values())), 'judgement')} for {queries}"

    @classmethod
    def read(cls, path: str | Path) -> Qrels:
        """Read TREC qrels: ``query iteration document grade``, plain or gzipped.

        The second column is not used. Empty lines and lines that begin with ``#`` are passed over. Parquet, Arrow and
        Feather files have the columns query, document and grade.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet or Arrow file, and pyarrow is not installed.
        """
        path = Path(path)
        if is_table_file(path):
            return cls._of_table(path)
        grades: dict[str, dict[str, int]] = {}
        for first, lines in line_blocks(path):
            queries, documents, values = _columns(path, first, lines)
            place = 0
            for name, group in groupby(queries):
                judged, end = grades.setdefault(name, {}), place + len(list(group))
                expected = len(judged) + end - place
                judged.update(zip(documents[place:end], values[place:end], strict=True))
                if len(judged) < expected:
                    raise _repeated(path)
                place = end
        if not grades:
            raise InputError("the file holds no judgement", file=path, expected=_EXPECTED)
        return cls(grades, str(path))

    @classmethod
    def _of_table(cls, given: object) -> Qrels:
        from cuihop.collection.tables import grades_of_table

        table = ArrowTable.of(given)
        return cls(grades_of_table(table), table.source)

    @classmethod
    def of(cls, judgements: Mapping[str, Mapping[str, int]] | Table) -> Qrels:
        """From query → document → grade, as pytrec_eval takes them, or a table with these three columns.

        Raises:
            InputError: a grade is not a whole number, or there is no query.
        """
        if isinstance(judgements, Qrels):
            return judgements
        if is_table_object(judgements):
            return cls._of_table(judgements)
        if not isinstance(judgements, Mapping):
            raise InputError(
                "not judgements", found=type(judgements).__name__, expected="query → document → grade, or a table"
            )
        flat = list(chain.from_iterable(documents.values() for documents in judgements.values()))
        plain = set(map(type, flat)) <= {int}
        if not plain or max(flat, default=0) > LARGEST_GRADE or min(flat, default=0) < _SMALLEST_GRADE:
            _check_grades(judgements)
        if not judgements:
            raise InputError("there is no query with judgements", expected="at least one")
        if plain:
            return cls({query: dict(documents) for query, documents in judgements.items()})
        return cls(
            {query: {d: int(grade) for d, grade in documents.items()} for query, documents in judgements.items()}
        )

    @cached_property
    def _pools(self) -> Pools:
        """The pool of each query, and in the last row one of nothing."""
        flat = np.fromiter(
            chain.from_iterable(documents.values() for documents in self.grades.values()), dtype=np.int64
        )
        owners = np.repeat(np.arange(len(self.grades)), [len(documents) for documents in self.grades.values()])
        judged = flat >= 0
        if not judged.all():
            flat, owners = flat[judged], owners[judged]
        levels = np.flatnonzero(np.bincount(flat, minlength=1))
        of_grade = np.zeros(int(levels.max(initial=0)) + 1, dtype=np.int64)
        of_grade[levels] = np.arange(len(levels))
        shape = len(self.grades) + 1, len(levels)
        counts = np.bincount(owners * len(levels) + of_grade[flat], minlength=shape[0] * shape[1])
        return Pools(levels[::-1].astype(np.float64), counts.reshape(shape)[:, ::-1])

    def pools(self, queries: Sequence[str]) -> tuple[Pools, Int64]:
        """What was judged: pools, and which of them is each query's; see `JudgedRankings`."""
        places = places_by_name(tuple(self.grades))
        pool = np.fromiter((places.get(query, len(places)) for query in queries), dtype=np.int64, count=len(queries))
        return self._pools, pool

    def of_others(self, queries: Collection[str]) -> Qrels:
        """Without what was judged of these queries themselves: they take no part in their own rankings."""
        own = [query for query, documents in self.grades.items() if query in documents and query in queries]
        if not own:
            return self
        others = {query: {d: g for d, g in self.grades[query].items() if d != query} for query in own}
        return Qrels({**self.grades, **others}, self.source)

    def elsewhere(self, queries: Collection[str], corpus: Collection[str]) -> int:
        """How many judgements are not of one of these queries and an image of the corpus."""
        return sum(
            sum(document not in corpus for document in documents) if query in queries else len(documents)
            for query, documents in self.grades.items()
        )

    def found(self, queries: Sequence[str], names: Iterable[Iterable[str]]) -> Int64:
        """The grades of what these queries retrieved, one ranking after the other; -1 where there is no judgement."""
        nothing: Mapping[str, int] = {}
        of_each = (
            map(self.grades.get(query, nothing).get, documents, repeat(-1))
            for query, documents in zip(queries, names, strict=True)
        )
        return np.fromiter(chain.from_iterable(of_each), dtype=np.int64)


def _columns(path: Path, first: int, lines: list[bytes]) -> tuple[list[str], list[str], list[int]]:
    """Queries, documents and grades of some lines, of which the first has this number."""
    table = columns(lines, 4, (0, 2, 3))
    if table is not None:
        queries, documents, grades = table
        values = {grade: value for grade in set(grades) if (value := _grade(grade)) is not None}
        with contextlib.suppress(UnicodeDecodeError):
            names = {query: query.decode() for query in set(queries)}
            if len(values) == len(set(grades)) and not any(name.startswith("#") for name in names.values()):
                texts = b"\n".join(documents).decode().split("\n")
                return list(map(names.__getitem__, queries)), texts, list(map(values.__getitem__, grades))
    rows = [_row(path, line, raw) for line, raw in enumerate(lines, start=first)]
    found = [row for row in rows if row is not None]
    return [row[0] for row in found], [row[1] for row in found], [row[2] for row in found]


def _grade(text: bytes) -> int | None:
    """The grade; ``None`` where it is none."""
    return int(text) if _GRADE.fullmatch(text) and int(text) <= LARGEST_GRADE else None


def _row(path: Path, line: int, raw: bytes) -> tuple[str, str, int] | None:
    """Query, document and grade; ``None`` for an empty line and a comment."""
    fields = raw.split()
    if not fields or fields[0].startswith(b"#"):
        return None
    text = decoded(raw, path, line)
    if len(fields) != 4:
        raise InputError(
            "wrong number of columns",
            file=path,
            line=line,
            found=f"{len(fields)} in {shown(text.strip())}",
            expected=_EXPECTED,
            advice=cause_of_columns(text.split(), 4, " "),
        )
    query, _, document, grade = (field.decode() for field in fields)
    value = _grade(fields[3])
    if value is None:
        raise InputError(
            "not a grade",
            file=path,
            line=line,
            column="grade",
            found=shown(grade),
            expected=f"a whole number up to {LARGEST_GRADE:,}",
        )
    return query, document, value


def _repeated(path: Path) -> InputError:
    """The error about the first document that is judged twice for a query."""
    lines: dict[tuple[str, str], int] = {}
    for line, raw in enumerate(raw_lines(path), start=1):
        row = _row(path, line, raw)
        if row is not None and lines.setdefault(row[:2], line) < line:
            return InputError(
                "a document is judged twice for a query",
                file=path,
                line=line,
                column="document",
                found=f"{shown(row[1])} for query {shown(row[0])}, as in line {lines[row[:2]]:,}",
                expected="each document once for a query",
            )
    return InputError("the file changed while it was read", file=path)


def _check_grades(judgements: Mapping[str, Mapping[str, int]]) -> None:
    for query, documents in judgements.items():
        for document, grade in documents.items():
            whole = isinstance(grade, int | np.integer) and not isinstance(grade, bool)
            if not whole or not _SMALLEST_GRADE <= grade <= LARGEST_GRADE:
                raise InputError(
                    "not a grade",
                    column=f"document {shown(document)} of query {shown(query)}",
                    found=repr(grade),
                    expected=f"a whole number up to {LARGEST_GRADE:,}, of 9 digits at most",
                )
