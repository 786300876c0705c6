"""Pairs of terms with the scores that people gave them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, RowErrors, cause_of_columns
from cuihop.files.text_lines import counted, delimiter_of, joined, quoted
from cuihop.identifiers import as_read, looks_like_identifier

__all__ = ["ScoredPair", "ScoredPairs"]

_EXPECTED = "columns separated by a comma or a tab: two terms and a score"
_SCORES = frozenset({
    "score", "mean", "meanscore", "similarity", "relatedness", "rating", "human", "humanscore", "humanmean", "gold",
})  # fmt: skip
_TERMS = re.compile(r"(?:(?:term|word|name|concept|entity|text)(?=.)|(?=[ab]))(?P<side>[12ab])")
_CONCEPTS = re.compile(r"(?:cui|id|identifier|code)(?P<side>[12ab])")
_FEWEST_COLUMNS = 3
_SIDES = {"1": 0, "a": 0, "2": 1, "b": 1}
_MOST_PAIRS = 1_000_000
_LONGEST_TERM = 1_000


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two terms and the score that people gave them.

    Attributes:
        a, b: the terms; either may be an identifier.
        score: the higher, the more alike.
        cui_a, cui_b: their concepts, if the file has them; else empty.
    """

    a: str
    b: str
    score: float
    cui_a: str = ""
    cui_b: str = ""


@dataclass(frozen=True)
class ScoredPairs(Sequence[ScoredPair]):
    """Pairs of terms with human scores. A sequence of `ScoredPair`.

    Attributes:
        pairs: in the order of the file. source: the file. form: how it was read.
    """

    pairs: tuple[ScoredPair, ...]
    source: str = "memory"
    form: str = ""

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> ScoredPair:  # type: ignore[override]
        return self.pairs[index]

    def __repr__(self) -> str:
        return f"<ScoredPairs of {self.source}: {counted(len(self), 'pair')}>"

    @property
    def account(self) -> str:
        """Summary of the parsed file, in one line."""
        again = len(self) - len({frozenset((pair.a, pair.b)) for pair in self.pairs})
        repeated = f"{again:,} of them a repetition" if again else ""
        return f"{self.source}: {joined(counted(len(self), 'pair'), repeated, self.form)}"

    @classmethod
    def read(cls, path: Readable, *, score_column: str | None = None) -> ScoredPairs:
        """Read CSV or TSV: two terms, their score, and their concepts if given: ``Mean,Stdev,Term1,Term2,CUI1,CUI2``.

        Columns are recognised by their usual names, in any case: ``term1``, ``word1`` or ``a``; ``score``, ``mean``,
        ``similarity``, ``relatedness`` or ``rating``; ``CUI1``. Without these the first row of numbers decides: its
        one number is the score, its two texts are the terms. A first line without a number is a header.

        Args:
            path: the file. score_column: name of the score's column; without a header its number, from 1.

        Raises:
            InputError: a column cannot be found, a term is missing, a score is not a number, or there is no pair.
                Names the line.
        """
        records = Records.of(opened_input(path), _EXPECTED, delimiter_in=_delimiter)
        if not records.in_csv:
            raise records.error("not CSV or TSV", records.form or None, _EXPECTED)
        if len(records.names) < _FEWEST_COLUMNS:
            width = f"{len(records.names)} in {quoted(records.header)}"
            hint = cause_of_columns(records.names, _FEWEST_COLUMNS, records.delimiter)
            raise records.error("wrong number of columns", width, _EXPECTED, hint)
        header = not any(_number(name) is not None for name in records.names)
        if not header:
            records = records.without_header([str(index + 1) for index in range(len(records.names))])
        rows = records.rows()
        first = next(rows, None)
        if first is None:
            raise records.error("the file holds no pair", None, _EXPECTED)
        terms, score, concepts = _columns(records, first[1], score_column)
        row_error = records.row_errors([*terms, score])
        pairs = tuple(_pairs(chain([first], rows), terms, score, concepts, row_error))
        names = [records.names[index].strip() for index in (*terms, score, *concepts)]
        form = joined(records.form, "" if header else "no header", f"columns {', '.join(names)}")
        return cls(pairs, records.source, form)


def _delimiter(header: str) -> str:
    """A tab if there is one, since terms may hold a comma."""
    return "\t" if "\t" in header else delimiter_of(header)


def _number(text: str) -> float | None:
    """A finite number; ``None`` for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _columns(
    records: Records, row: Sequence[str], score_column: str | None
) -> tuple[tuple[int, int], int, Sequence[int]]:
    """Columns of the terms, the score, and the concepts if there are any; by name, or else by the contents of a row."""
    every = range(len(row))
    plain = [re.sub(r"[^a-z0-9]", "", name.casefold()) for name in records.names]
    concepts = _sides(plain, _CONCEPTS) or _pair([n for n in every if looks_like_identifier(row[n].strip())])
    numbers = [n for n in every if _number(row[n]) is not None]
    texts = [n for n in every if n not in numbers and n not in (concepts or ()) and row[n].strip()]
    terms = _sides(plain, _TERMS) or _pair(texts) or concepts
    if score_column is not None:
        score = [records.column(score_column)]
    else:
        score = [n for n in every if plain[n] in _SCORES] or numbers
    if terms is None:
        content = f"{counted(len(texts), 'column')} of text in {quoted(records.delimiter.join(row))}"
        raise records.error(
            "no two columns of terms", content, _EXPECTED, "A header names them: term1, term2 and score."
        )
    score = [n for n in score if n not in terms]
    if len(score) != 1:
        content = quoted(records.delimiter.join(records.names[n] for n in score) or records.delimiter.join(row))
        problem = "no column of scores" if not score else "several columns of scores"
        hint = "score_column (--score-column) chooses one."
        raise records.error(problem, content, _EXPECTED, hint if score else None)
    return terms, score[0], () if concepts is None or concepts == terms else concepts


def _sides(plain: Sequence[str], form: re.Pattern[str]) -> tuple[int, int] | None:
    """The two columns whose names have this form, first side first."""
    sides = {_SIDES[match["side"]]: index for index, name in enumerate(plain) if (match := form.fullmatch(name))}
    return (sides[0], sides[1]) if len(sides) == 2 else None


def _pair(columns: Sequence[int]) -> tuple[int, int] | None:
    return (columns[0], columns[1]) if len(columns) == 2 else None


def _pairs(
    rows: Iterable[tuple[int, Sequence[str]]], columns: Sequence[int], score_column: int, concepts: Sequence[int],
    row_error: RowErrors,
) -> Iterator[ScoredPair]:  # fmt: skip
    for number, (line, row) in enumerate(rows):
        if number == _MOST_PAIRS:
            raise row_error("too many pairs", line, 0, f"more than {_MOST_PAIRS:,}", f"{_MOST_PAIRS:,} at most")
        terms = [row[index].strip() for index in columns]
        for column, term in enumerate(terms):
            if not 1 <= len(term) <= _LONGEST_TERM:
                expected = f"a term of 1 to {_LONGEST_TERM:,} characters"
                raise row_error("not a term", line, column, quoted(term) if term else "nothing", expected)
        content = row[score_column]
        score = _number(content)
        if score is None:
            raise row_error("not a score", line, 2, quoted(content) if content else "nothing", "a number")
        cuis = [as_read(row[index].strip()) for index in concepts] or ["", ""]
        yield ScoredPair(terms[0], terms[1], score, cuis[0], cuis[1])
