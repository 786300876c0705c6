"""Relevance judgements: which documents were judged for a query, and how relevant they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.arrow_tables import ArrowTable, Table, is_table_file, is_table_object
from cuihop.evaluation.content_digest import content_digest
from cuihop.evaluation.rankings import places_by_name
from cuihop.measures.judged_rankings import Pools
from cuihop.text_lines import decoded_lines, shown

__all__ = ["LARGEST_GRADE", "Qrels"]

Int64 = npt.NDArray[np.int64]

_EXPECTED = "4 columns separated by white space: query iteration document grade"
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
LARGEST_GRADE = 1000  # 2^grade, the exponential gain, is still a number


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
        lines: dict[tuple[str, str], int] = {}
        for line, text in enumerate(decoded_lines(path), start=1):
            fields = text.split()
            if not fields or fields[0].startswith("#"):
                continue
            if len(fields) != 4:
                raise InputError(
                    "wrong number of columns",
                    file=path,
                    line=line,
                    found=f"{len(fields)} in {shown(text.strip())}",
                    expected=_EXPECTED,
                )
            query, _, document, grade = fields
            if (query, document) in lines:
                raise InputError(
                    "a document is judged twice for a query",
                    file=path,
                    line=line,
                    column="document",
                    found=f"{shown(document)} for query {shown(query)}, as in line {lines[query, document]:,}",
                    expected="each document once for a query",
                )
            if not _GRADE.fullmatch(grade) or int(grade) > LARGEST_GRADE:
                raise InputError(
                    "not a grade",
                    file=path,
                    line=line,
                    column="grade",
                    found=shown(grade),
                    expected=f"a whole number up to {LARGEST_GRADE:,}",
                )
            lines[query, document] = line
            grades.setdefault(query, {})[document] = int(grade)
        if not grades:
            raise InputError("the file holds no judgement", file=path, expected=_EXPECTED)
        return cls(grades, str(path))

    @classmethod
    def _of_table(cls, given: object) -> Qrels:
        from cuihop.evaluation.arrow_inputs import grades_of_table

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
        if not set(map(type, flat)) <= {int} or max(flat, default=0) > LARGEST_GRADE:
            _check_grades(judgements)
        if not judgements:
            raise InputError("there is no query with judgements", expected="at least one")
        if set(map(type, flat)) <= {int}:
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

    def found(self, queries: Sequence[str], names: Iterable[Iterable[str]]) -> Int64:
        """The grades of what these queries retrieved, one ranking after the other; -1 where there is no judgement."""
        nothing: Mapping[str, int] = {}
        of_each = (
            map(self.grades.get(query, nothing).get, documents, repeat(-1))
            for query, documents in zip(queries, names, strict=True)
        )
        return np.fromiter(chain.from_iterable(of_each), dtype=np.int64)


def _check_grades(judgements: Mapping[str, Mapping[str, int]]) -> None:
    for query, documents in judgements.items():
        for document, grade in documents.items():
            if isinstance(grade, bool) or not isinstance(grade, int | np.integer) or grade > LARGEST_GRADE:
                raise InputError(
                    "not a grade",
                    column=f"document {shown(document)} of query {shown(query)}",
                    found=repr(grade),
                    expected=f"a whole number up to {LARGEST_GRADE:,}",
                )
