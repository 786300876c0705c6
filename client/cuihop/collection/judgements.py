"""Relevance judgements: grades of the documents judged for each query."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, islice, repeat
from operator import countOf
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_rows import index_of_names
from cuihop.collection.tables import ReadMapping, amount
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowStream, ArrowTable, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records, RowErrors, cause_of_columns
from cuihop.files.text_lines import (
    columns,
    counted,
    decoded,
    delimiter_of,
    joined,
    line_blocks,
    quoted,
    renamed_columns,
    standard_names,
)
from cuihop.measures.judged_rankings import GainPools, Pools
from cuihop.resources.arrays import Int64, bounds_of

__all__ = ["GRADES_IN_WORDS", "LARGEST_GRADE", "Gains", "Judgements", "grades_in_words"]


_EXPECTED = "4 columns separated by white space: query iteration document grade"
_GRADE = re.compile(rb"[+-]?[0-9]{1,9}")
LARGEST_GRADE = 1000  # 2^grade, the exponential gain, is still a number
_SMALLEST_GRADE = 1 - 10**9
_COLUMNS = ("query", "document", "grade")
_EXPECTED_GRADE = f"a whole number up to {LARGEST_GRADE:,}"
_EXPECTED_GAIN = f"a number from 0 to {LARGEST_GRADE:,}"
_WORD = re.compile(r"[A-Za-z][\w.-]*")

GRADES_IN_WORDS: Mapping[str, int] = {"DR": 2, "PR": 1, "NR": 0}
"""Definitely, partially and not relevant: the grades of ImageCLEFmed (2007, section 2.5)."""


def grades_in_words(text: str) -> dict[str, int]:
    """Word → grade, from a text such as ``DR=2,PR=1,NR=0``.

    Raises:
        InputError: a word or a grade is malformed, or a word stands twice.
    """
    grades: dict[str, int] = {}
    for assignment in text.split(","):
        word, _, grade = (each.strip() for each in assignment.partition("="))
        value = _grade(grade.encode(), {})
        if not _WORD.fullmatch(word) or value is None or word in grades:
            raise InputError(
                "not grades in words", column="grades", found=quoted(text),
                expected="words, each once, and whole numbers, such as DR=2,PR=1,NR=0",
            )  # fmt: skip
        grades[word] = value
    return grades


@dataclass(frozen=True, eq=False, repr=False)
class Judgements(ReadMapping[Mapping[str, int]]):
    """Query → document → grade, queries in the order of the file.

    A grade of 1 or more is relevant, 0 is judged not relevant; a negative one counts as not judged, as in trec_eval.
    """

    _dtype: ClassVar[type[np.number]] = np.int64

    @property
    def grades(self) -> Mapping[str, Mapping[str, int]]:
        """The mapping behind it."""
        return self.entries

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({query: dict(documents) for query, documents in self.entries.items()})

    def _facts(self) -> tuple[str, ...]:
        queries = counted(len(self), "query", "queries")
        return (f"{counted(sum(map(len, self.values())), 'judgement')} for {queries}",)

    @classmethod
    def read(cls, path: Readable, grades: Mapping[str, int] = GRADES_IN_WORDS) -> Judgements:
        """Read TREC qrels, ``query iteration document grade``, from a file, a pipe, or with ``-`` from standard input.

        The second column is not used. Empty lines and lines that begin with ``#`` are skipped. CSV with a header, JSON
        Lines, and Parquet, Arrow and Feather files, have the columns query, document and grade, or others of
        `cuihop.files.text_lines.COLUMN_NAMES`. With a column gain in place of the grade, the result is
        `Gains`. Text may be compressed by gzip or zstd.

        Args:
            path: the input.
            grades: word → grade, of grades in words. Numbers are read as they are.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        file = opened_input(path)
        if file.form == "table":
            return cls._of_table(file)
        rows = _JudgementRows(RowErrors(file.name, _COLUMNS))
        words = _Grades({word.encode(): grade for word, grade in grades.items()})
        form = [file.compression]
        blocks = line_blocks(file)
        head = next(blocks, None)
        first_row = b"" if head is None else next((raw for raw in head[1] if raw.strip()), b"")
        if head is not None and (first_row.lstrip().startswith(b"{") or _is_header(first_row)):
            records = _records(file, chain([head], blocks), first_row)
            form = [_add_records(rows, records, words)]
            if _named(records.names)[1]:
                return Gains(rows.all_grades(_EXPECTED), file.name, joined(*form))
        elif head is not None:
            for first, lines in chain([head], blocks):
                rows.add(*_columns(file.name, first, lines, words))
        return cls(rows.all_grades(_EXPECTED), file.name, joined(*form, words.summary))

    @classmethod
    def _of_table(cls, source: object) -> Judgements:
        table = ArrowTable.of(source)
        gains = _named(table.names)[1]
        columns = [table.column(name) for name in (*_COLUMNS[:2], "gain" if gains else _COLUMNS[2])]
        row_error = RowErrors(table.source, [table.names[column] for column in columns], "row")
        rows = _JudgementRows(row_error)
        smallest, expected = (0, _EXPECTED_GAIN) if gains else (_SMALLEST_GRADE, _EXPECTED_GRADE)
        for first, batch in table.batches():
            queries, documents = (
                [names[code].strip() for code in codes.tolist()]
                for names, codes in (table.texts(first, batch, column) for column in columns[:2])
            )
            grades = table.numbers(first, batch, columns[2])
            fraction = np.zeros(len(grades), dtype=np.bool_) if gains else grades != np.floor(grades)
            wrong = np.flatnonzero(fraction | (grades < smallest) | (grades > LARGEST_GRADE))
            if len(wrong):
                raise row_error(_problem(gains), first + int(wrong[0]), 2, f"{grades[wrong[0]]:g}", expected)
            for column, names in enumerate((queries, documents)):
                if "" in names:
                    raise row_error("a name is missing", first + names.index(""), column, "''", "a name")
            values = grades if gains else grades.astype(np.int64)
            rows.add(range(first, first + len(queries)), queries, documents, values.tolist())
        return (Gains if gains else cls)(
            rows.all_grades("query, document, grade"), table.source, joined(table.form, renamed_columns(table.names))
        )

    @classmethod
    def of(cls, judgements: JudgementsLike) -> Judgements:
        """From query → document → grade, as pytrec_eval takes them, or a table with these three columns.

        Raises:
            InputError: a grade is not a whole number, or there is no query.
        """
        if isinstance(judgements, Judgements):
            return judgements
        if is_table_object(judgements):
            return cls._of_table(judgements)
        if not isinstance(judgements, Mapping):
            raise InputError(
                "not judgements", found=type(judgements).__name__, expected="query → document → grade, or a table"
            )
        listed = list(chain.from_iterable(documents.values() for documents in judgements.values()))
        flat = _whole_numbers(listed) if countOf(map(type, listed), int) == len(listed) else None
        if flat is None or flat.max(initial=0) > LARGEST_GRADE or flat.min(initial=0) < _SMALLEST_GRADE:
            _check_grades(judgements)
        if not judgements:
            raise InputError("there is no query with judgements", expected="at least one")
        if flat is None:
            judgements = {query: {d: int(g) for d, g in documents.items()} for query, documents in judgements.items()}
        copied = cls({query: dict(documents) for query, documents in judgements.items()})
        if flat is not None:  # the pools need not read them again, one object after the other
            copied.__dict__["_flat"] = flat
        return copied

    @cached_property
    def _flat(self) -> npt.NDArray[Any]:
        """All grades, one query after the other; small ones may be of a smaller type."""
        return np.fromiter(chain.from_iterable(of.values() for of in self.entries.values()), dtype=self._dtype)

    @cached_property
    def _pools(self) -> Pools:
        """The pool of each query, and in the last row one of nothing."""
        flat = self._flat
        owners = np.repeat(np.arange(len(self.entries)), [len(documents) for documents in self.entries.values()])
        if flat.min(initial=0) < 0:
            flat, owners = flat[flat >= 0], owners[flat >= 0]
        levels = np.flatnonzero(np.bincount(flat, minlength=1))
        if len(levels) <= levels.max(initial=-1):  # grades are left out between: number those that occur
            flat = np.searchsorted(levels, flat)
        shape = len(self.entries) + 1, len(levels)
        counts = np.bincount(owners * len(levels) + flat, minlength=shape[0] * shape[1])
        return Pools(levels[::-1].astype(np.float64), counts.reshape(shape)[:, ::-1])

    def pools(self, queries: Sequence[str]) -> tuple[Pools, Int64]:
        """Pools of judged documents, and the index of each query's pool among them; see `JudgedRankings`."""
        rows = index_of_names(tuple(self.entries))
        pool = np.fromiter((rows.get(query, len(rows)) for query in queries), dtype=np.int64, count=len(queries))
        return self._pools, pool

    def of_others(self, queries: Collection[str]) -> Judgements:
        """Without what was judged of these queries themselves: they are left out of their own rankings."""
        own = [query for query, documents in self.entries.items() if query in documents and query in queries]
        if not own:
            return self
        others = {query: {d: g for d, g in self.entries[query].items() if d != query} for query in own}
        return type(self)({**self.entries, **others}, self.source, self.form)

    def elsewhere(self, queries: Collection[str], corpus: Collection[str]) -> int:
        """Number of judgements that are not of one of these queries and an image of the corpus."""
        return sum(
            sum(document not in corpus for document in documents) if query in queries else len(documents)
            for query, documents in self.entries.items()
        )

    def of_same(self, queries: Sequence[str], names: Sequence[str]) -> tuple[Int64, npt.NDArray[np.number]] | None:
        """All grades, and the bounds of each query's, if the names are the documents judged for these, in order."""
        bounds = bounds_of(list(map(len, self.entries.values())))
        if len(names) != bounds[-1] or tuple(queries) != tuple(self.entries):
            return None
        if list(chain.from_iterable(self.entries.values())) != list(names):
            return None
        return bounds, self._flat.astype(self._dtype)

    def found(self, queries: Sequence[str], names: Iterable[Iterable[str]]) -> npt.NDArray[np.number]:
        """Grades of the documents retrieved for these queries, one ranking after the other; -1 without a judgement."""
        nothing: Mapping[str, int] = {}
        of_each = (
            map(self.entries.get(query, nothing).get, documents, repeat(-1))
            for query, documents in zip(queries, names, strict=True)
        )
        listed, kind = list(chain.from_iterable(of_each)), np.dtype(self._dtype)
        return np.frombuffer(struct.pack(f"{len(listed)}{kind.char}", *listed), dtype=kind)


class Gains(Judgements):
    """Query → document → gain: real numbers from 0, in place of whole grades. Only nDCG is measured by them.

    MTEB has them in columns ``query-id``, ``corpus-id`` and ``gain``.
    """

    _dtype = np.float64

    @cached_property
    def _pools(self) -> GainPools:
        lengths = np.array([*(len(documents) for documents in self.entries.values()), 0])
        gains = self._flat.astype(np.float64)
        return GainPools(gains[np.lexsort((-gains, np.repeat(np.arange(len(lengths)), lengths)))], bounds_of(lengths))


def whole_grades(qrels: JudgementsLike) -> Judgements:
    """`Judgements.of`, for a tool without real-valued grades.

    Raises:
        InputError: as `Judgements.of`, or they are gains.
    """
    judgements = Judgements.of(qrels)
    if isinstance(judgements, Gains):
        raise InputError(
            "gains, and the tool takes whole grades", file=judgements.source, expected="judgements",
            advice="to_integer_gains makes whole grades of nn-IoU.",
        )  # fmt: skip
    return judgements


class _JudgementRows:
    """Rows of queries, documents and grades, with one set of checks for every form of input."""

    def __init__(self, error: RowErrors) -> None:
        self.error = error
        self._grades: dict[str, dict[str, int]] = {}
        self._rows: dict[str, list[Sequence[int]]] = {}  # of each query, as its documents stand in its grades

    def add(self, rows: Sequence[int], queries: Sequence[str], documents: Sequence[str], grades: Sequence[int]) -> None:
        """The next rows, with the number of each; refuses a document that is judged twice for a query."""
        begin = 0
        for query, group in groupby(queries):
            end = begin + sum(1 for _ in group)
            judged, numbers = self._grades.setdefault(query, {}), self._rows.setdefault(query, [])
            before, numbers_before = len(judged), len(numbers)
            judged.update(zip(documents[begin:end], grades[begin:end], strict=True))
            numbers.append(rows[begin:end])
            if len(judged) < before + end - begin:
                earlier = chain.from_iterable(numbers[:numbers_before])
                seen = dict(zip(islice(judged, before), earlier, strict=True))
                for row, document in zip(rows[begin:end], documents[begin:end], strict=True):
                    if seen.setdefault(document, row) != row:
                        earlier_row = f"{self.error.unit} {seen[document]:,}"
                        raise self.error(
                            "a document is judged twice for a query", row, 1,
                            f"{quoted(document)} for query {quoted(query)}, as in {earlier_row}",
                            "each document once for a query",
                        )  # fmt: skip
            begin = end

    def all_grades(self, expected: str) -> dict[str, dict[str, int]]:
        """Query → document → grade; refuses an input without a row."""
        if not self._grades:
            raise self.error.empty("judgement", expected)
        return self._grades


class _Grades(dict[bytes, "int | None"]):
    """Text of a grade → the grade, also of grades in ``words``; ``None`` of any other text."""

    def __init__(self, words: Mapping[bytes, int]) -> None:
        super().__init__()
        self.words = words

    def __missing__(self, text: bytes) -> int | None:
        self[text] = grade = _grade(text, self.words)
        return grade

    @property
    def expected(self) -> str:
        """The permitted grades, for errors."""
        return f"{_EXPECTED_GRADE}, or {', '.join(word.decode() for word in self.words)}"

    @property
    def summary(self) -> str:
        """The words that were read, and the grade of each."""
        read = [f"{word.decode()} = {grade}" for word, grade in self.words.items() if word in self]
        return f"grades in words: {', '.join(read)}" if read else ""


def _is_header(raw: bytes) -> bool:
    """Recognise the header of CSV with the columns of judgements."""
    text = raw.decode(errors="replace")
    return set(_COLUMNS) <= {*_named(text.split(delimiter_of(text)))[0]}


def _named(names: Sequence[str]) -> tuple[list[str], bool]:
    """The columns as they are called here, and true for gains: a column ``gain`` in place of the grade."""
    plain = standard_names(names)
    gains = "grade" not in plain and "gain" in plain
    return ["grade" if gains and name == "gain" else name for name in plain], gains


def _problem(gains: bool) -> str:
    return "not a gain" if gains else "not a grade"


def _records(file: InputFile, blocks: Iterable[tuple[int, list[bytes]]], first_row: bytes) -> Records:
    """The rows of CSV or JSON Lines."""
    numbered = ((n, raw) for first, block in blocks for n, raw in enumerate(block, start=first))
    lines = (decoded(raw, file.name, line) for line, raw in numbered)
    return Records.of(file, _EXPECTED, (first_row.decode(errors="replace"), lines))


def _add_records(rows: _JudgementRows, records: Records, words: _Grades) -> str:
    """The rows with the columns query, document and grade; returns how they were read."""
    names, gains = _named(records.names)
    columns = [names.index(name) if names.count(name) == 1 else records.column(name) for name in _COLUMNS]
    for line, values in records.rows():
        query, document, grade = (values[column] for column in columns)
        for column, name in enumerate((query, document)):
            if not isinstance(name, str) or not name.strip():
                raise rows.error("a name is missing", line, column, quoted(repr(name)), "a name")
        value: Any = grade
        if gains:
            value = amount(grade) if records.in_csv or not isinstance(grade, str) else None
        elif isinstance(grade, str):
            value = words[grade.strip().encode()] if records.in_csv or _WORD.fullmatch(grade.strip()) else None
        kind: type[Any] = float if gains else int
        if type(value) is not kind or not _SMALLEST_GRADE <= value <= LARGEST_GRADE:
            text = grade if records.in_csv else repr(grade)
            raise rows.error(_problem(gains), line, 2, quoted(text), _EXPECTED_GAIN if gains else words.expected)
        rows.add([line], [query.strip()], [document.strip()], [value])
    return joined("CSV" if records.in_csv else "", records.form, renamed_columns(records.names))


def _columns(
    file: str, first: int, lines: list[bytes], words: _Grades
) -> tuple[Sequence[int], list[str], list[str], list[int]]:
    """Numbers, queries, documents and grades of lines; ``first`` is the number of the first line."""
    table = columns(lines, 4, (0, 2, 3))
    if table is not None:
        queries, documents, grades = table
        values = {grade: value for grade in set(grades) if (value := words[grade]) is not None}
        with contextlib.suppress(UnicodeDecodeError):
            names = {query: query.decode() for query in set(queries)}
            if len(values) == len(set(grades)) and not any(name.startswith("#") for name in names.values()):
                texts = b"\n".join(documents).decode().split("\n")
                numbers = range(first, first + len(lines))
                return numbers, list(map(names.__getitem__, queries)), texts, list(map(values.__getitem__, grades))
    parsed = [(line, _row(file, line, raw, words)) for line, raw in enumerate(lines, start=first)]
    rows = [(line, *row) for line, row in parsed if row is not None]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], [row[3] for row in rows]


def _grade(text: bytes, words: Mapping[bytes, int]) -> int | None:
    """The grade; ``None`` for any other text."""
    if text in words:
        return words[text]
    return int(text) if _GRADE.fullmatch(text) and int(text) <= LARGEST_GRADE else None


def _row(file: str, line: int, raw: bytes, words: _Grades) -> tuple[str, str, int] | None:
    """Query, document and grade; ``None`` for an empty line and a comment."""
    fields = raw.split()
    if not fields or fields[0].startswith(b"#"):
        return None
    text = decoded(raw, file, line)
    if len(fields) != 4:
        raise InputError(
            "wrong number of columns", file=file, line=line, found=f"{len(fields)} in {quoted(text.strip())}",
            expected=_EXPECTED, advice=cause_of_columns(text.split(), 4, " "),
        )  # fmt: skip
    query, _, document, grade = (field.decode() for field in fields)
    value = words[fields[3]]
    if value is None:
        raise InputError(
            "not a grade", file=file, line=line, column="grade", found=quoted(grade), expected=words.expected,
            advice="--grades DR=2,PR=1,NR=0 gives other words their grades." if _WORD.fullmatch(grade) else None,
        )  # fmt: skip
    return query, document, value


def _whole_numbers(listed: list[int]) -> npt.NDArray[np.integer] | None:
    """The numbers as an array; ``None`` if one does not fit into 64 bits."""
    with contextlib.suppress(ValueError):
        return np.frombuffer(bytes(listed), dtype=np.uint8)  # of most, and far sooner
    with contextlib.suppress(OverflowError):
        return np.array(listed, dtype=np.int64)
    return None


def _check_grades(judgements: Mapping[str, Mapping[str, int]]) -> None:
    for query, documents in judgements.items():
        for document, grade in documents.items():
            is_integer = isinstance(grade, int | np.integer) and not isinstance(grade, bool)
            if not is_integer or not _SMALLEST_GRADE <= grade <= LARGEST_GRADE:
                raise InputError(
                    "not a grade", column=f"document {quoted(document)} of query {quoted(query)}", found=repr(grade),
                    expected=f"a whole number up to {LARGEST_GRADE:,}, of 9 digits at most",
                )  # fmt: skip


JudgementsLike: TypeAlias = Judgements | Mapping[str, Mapping[str, int]] | ArrowStream
"""Query → document → grade, or a table with these three columns."""


def are_judgements(value: object) -> TypeGuard[JudgementsLike]:
    """Recognise judgements: query → document → grade, or a table with a column for each."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(documents, Mapping) for documents in value.values())
    names = getattr(value, "column_names", getattr(value, "columns", ())) if is_table_object(value) else ()
    return set(_COLUMNS) <= {*_named(list(map(str, names)))[0]}
