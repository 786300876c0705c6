"""The rows of a file that holds a ranking, and their order."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from cuihop.collection.image_rows import cause_of_strange_name, index_of_names
from cuihop.errors import InputError
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import counted, decoded, quoted
from cuihop.measures.judged_rankings import blocks
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.ranking import (
    Order,
    QueryImage,
    Ranking,
    RankingOptions,
    Ties,
    first_of_each,
    in_single_precision,
    lists_summary,
)
from cuihop.resources.arrays import Float64, Int32, Int64

_ROWS_AT_ONCE = 1 << 18
_COLUMNS = ("query", "document", "score", "rank")
QUERY, DOCUMENT, SCORE, RANK = range(4)

Numbers: TypeAlias = Sequence[int] | Int64


def _no_rows() -> tuple[array[Any], ...]:
    """Columns of `RankedRows.add`; they grow without a copy."""
    return tuple(array(kind) for kind in "iidqd")


class RankedRows:
    """The rows of the file: query, document, sort key (ascending), line, and the key of the other order.

    Args:
        path: name of the file, and unit: of its rows, for messages.
        queries: the query images, or the judged queries; without them those of the file, in its order.
        corpus: the images that can be retrieved. Without it they are the documents in the file, and lists of other
            queries are left out.
    """

    def __init__(
        self,
        path: str,
        queries: Sequence[str] | None,
        corpus: Sequence[str] | None,
        unit: Literal["line", "row"] = "line",
        query_image: QueryImage = "exclude",
    ) -> None:
        self.query_image = query_image
        self.error = RowErrors(path, _COLUMNS, unit)
        self.path = path
        self.open = corpus is None
        self._query_names = [*(queries or ())]
        self.queries: Sequence[str] = self._query_names if queries is None else queries
        self._query_rows = {name.encode(): n for name, n in index_of_names(self._query_names).items()}
        self._names = [*(corpus or ())]  # without a corpus, of each row: a name may stand there again
        same = corpus is queries and corpus is not None
        names = self._query_rows if same else {name.encode(): n for name, n in index_of_names(self._names).items()}
        self._document_rows = names
        self._columns = _no_rows()

    def add(
        self,
        owners: Numbers,
        rows: Numbers,
        keys: Sequence[float] | Float64,
        lines: Numbers,
        others: Sequence[float] | Float64 | None = None,
    ) -> None:
        """Add rows; ``others`` are their keys in the other order (of scores, or of ranks), NaN without one."""
        columns = (owners, rows, keys, lines, np.full(len(lines), np.nan) if others is None else others)
        for column, values in zip(self._columns, columns, strict=True):
            column.frombytes(np.asarray(values, dtype=column.typecode).tobytes())

    def queries_at(self, names: Sequence[bytes]) -> Numbers:
        """Indices of these queries; a KeyError for an unknown one, a UnicodeDecodeError for one that is not UTF-8."""
        different = dict.fromkeys(names)
        if self.open:
            for name in different:
                if name not in self._query_rows:
                    self._query_names.append(name.decode())
                    self._query_rows[name] = len(self._query_rows)
        if len(different) == 1:
            return np.full(len(names), self._query_rows[names[0]])
        return list(map(self._query_rows.__getitem__, names))

    def documents_at(self, names: Sequence[bytes]) -> Numbers:
        """Indices of these documents in the corpus; errors as `queries_at`."""
        if not self.open:
            return list(map(self._document_rows.__getitem__, names))
        first = len(self._names)
        self._names += b"\n".join(names).decode().split("\n")
        return np.arange(first, len(self._names))

    def query(self, name: bytes, line: int) -> int:
        """Index of this query."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self._query_rows:
            raise self._stranger("queries", QUERY, name, line)
        return self.queries_at([name])[0]

    def document(self, name: bytes, line: int) -> int:
        """Index of this document in the corpus."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self._document_rows:
            raise self._stranger("corpus", DOCUMENT, name, line)
        return self.documents_at([name])[0]

    def _stranger(self, images: str, column: int, name: bytes, line: int) -> InputError:
        text, names = decoded(name, self.path, line), self.queries if images == "queries" else self._names
        cause = cause_of_strange_name(text, names)
        if cause is None and not len(self._columns[0]):
            cause = "No row before it fits either: is this the ranking of another collection or split?"
        return self.error(
            f"not an image of the {images}", line, column, quoted(text),
            f"one of the {len(names):,} images of the {images}", cause,
        )  # fmt: skip

    def ranking(self, options: RankingOptions, form: str, by: Order) -> Ranking:
        """The rows in order: by key, equal ones as the options say, the first of each query up to the depth.

        The keys are ranks or, ``by`` score, negative scores.
        """
        depth, ties = options.depth, options.equal_keys
        owners, rows, keys, lines, others = self._taken()
        ends = np.searchsorted(owners, np.arange(int(owners.max(initial=-1)) + 2))
        each = np.diff(ends)
        form = f"{form} by {by}, {lists_summary(each[each > 0])}"
        self._check_repeats(owners, rows, lines, ends)
        ties_broken = contradictions = 0
        for first, last in blocks(each, _ROWS_AT_ONCE):
            rows_of = slice(ends[first], ends[last])
            sorted_by = keys[rows_of]
            if ties == "trec" and by == "score":
                sorted_by = in_single_precision(sorted_by)
            order = self._order(owners[rows_of], rows[rows_of], sorted_by, ties)
            if ties is None:
                self._check_ranks(owners[rows_of], sorted_by[order], lines[rows_of][order])
            for column in (rows, keys, others):
                column[rows_of] = column[rows_of][order]
            tied, contradicting = self._disagreeing(owners[rows_of], others[rows_of], sorted_by[order])
            ties_broken, contradictions = ties_broken + tied, contradictions + contradicting
        other, option = ("rank column", "rank") if by == "score" else ("scores", "score")
        for number, difference in (
            (ties_broken, "equal scores that the rank column breaks differently"),
            (contradictions, f"another order by the {other}"),
        ):
            if number:
                have = f"{counted(number, 'query', 'queries')} {'has' if number == 1 else 'have'}"
                form += f"; {have} {difference}; --order {option} uses it"
        scores: Float64 = -(keys if by == "score" else others) if self.open else np.empty(0)
        del keys, lines, others
        if not self.open:
            of_images = Ranking.from_entries(
                owners, rows, self.queries, self._names, depth=depth, source=self.path, form=form,
                query_image=self.query_image,
            )  # fmt: skip
            return dataclasses.replace(of_images, ties=ties)
        lengths = np.bincount(owners, minlength=len(self.queries))[: len(self.queries)]
        judged = int(lengths.sum())  # behind them are the rows of other queries
        indices, indptr = first_of_each(rows[:judged], lengths, depth)
        scores, _ = first_of_each(scores[:judged], lengths, depth)
        ranking = DocumentRanking(
            tuple(self.queries), self._names, indices, indptr, lengths > 0, self.path,
            tuple(self._query_names[len(self.queries) :]), ties, form,
        )  # fmt: skip
        return ranking if np.isnan(scores).any() else ranking.with_scores(scores)

    def _taken(self) -> tuple[Int32, Int32, Float64, Int64, Float64]:
        """The columns, which are then empty here, by ascending query; else in the order of the file."""
        columns = [
            np.frombuffer(column, dtype=column.typecode) if column else np.array(column) for column in self._columns
        ]
        self._columns = _no_rows()
        if (columns[0][1:] < columns[0][:-1]).any():
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
        owners, rows, keys, lines, others = columns
        return owners, rows, keys, lines, others

    def _check_ranks(self, owners: Int32, ranks: Float64, lines: Int64) -> None:
        """Refuse a rank that stands twice for a query; the rows are in their order."""
        again = np.flatnonzero((owners[1:] == owners[:-1]) & (ranks[1:] == ranks[:-1])) + 1
        if len(again):
            first, line = sorted(lines[again[0] - 1 : again[0] + 1].tolist())
            raise self.error(
                "a rank stands twice for a query", line, RANK,
                f"{ranks[again[0]]:.0f} for query {quoted(self._query_names[owners[again[0]]])}, "
                f"as in {self.error.unit} {first:,}",
                "each rank once for a query", "Order by the scores instead: --order score.",
            )  # fmt: skip

    def _disagreeing(self, owners: Int32, others: Float64, keys: Float64) -> tuple[int, int]:
        """Numbers of queries that the other column orders otherwise, at equal keys only and elsewhere.

        The rows are in their order.
        """
        falls = (owners[1:] == owners[:-1]) & (others[1:] < others[:-1]) & (owners[1:] < len(self.queries))
        elsewhere = np.unique(owners[1:][falls & (keys[1:] != keys[:-1])])
        return len(np.unique(owners[1:][falls])) - len(elsewhere), len(elsewhere)

    def _order(self, owners: Int32, rows: Int32, keys: Float64, ties: Ties | None) -> Int64:
        onwards, down = owners[1:] > owners[:-1], keys[1:] >= keys[:-1]
        sorted_already = (onwards | (down & (owners[1:] == owners[:-1]))).all()
        order = np.arange(len(keys)) if sorted_already else np.lexsort((keys, owners))
        equal = (keys[order[1:]] == keys[order[:-1]]) & (owners[order[1:]] == owners[order[:-1]])
        if not equal.any():
            return order
        by_name = np.zeros(len(self._names), dtype=np.int64)
        by_name[rows[order[np.append(equal, False) | np.append(False, equal)]]] = 1
        tied = np.flatnonzero(by_name)
        by_name[sorted(tied.tolist(), key=self._names.__getitem__)] = np.arange(len(tied))
        return np.lexsort((-by_name[rows] if ties == "trec" else by_name[rows], keys, owners))

    def _check_repeats(self, owners: Int32, rows: Int32, lines: Int64, ends: Int64) -> None:
        """Refuse a document that stands twice for a query; the rows are by query, ``ends`` bounds those of each."""
        for first, last in blocks(np.diff(ends), _ROWS_AT_ONCE):
            documents = rows[ends[first] : ends[last]].tolist()
            if self.open:  # a name may have several indices
                documents = [self._names[row] for row in documents]
            bounds = (ends[first : last + 1] - ends[first]).tolist()
            if any(len(set(documents[a:b])) < b - a for a, b in pairwise(bounds)):
                raise self._repeated(owners, rows, lines)

    def _repeated(self, owners: Int32, rows: Int32, lines: Int64) -> InputError:
        """The error about the first row of the file whose document stood before for the same query."""
        first: dict[tuple[int, str], int] = {}
        for index in np.argsort(lines, kind="stable").tolist():
            owner, document = int(owners[index]), self._names[rows[index]]
            line = int(lines[index])
            if (owner, document) in first:
                break
            first[owner, document] = line
        return self.error(
            "a document stands twice for a query", line, DOCUMENT,
            f"{quoted(document)} for query {quoted(self._query_names[owner])}, "
            f"as in {self.error.unit} {first[owner, document]:,}",
            "each document once for a query",
        )  # fmt: skip
