"""The rows of a file that holds a ranking, and their order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import places_by_name
from cuihop.errors import InputError
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import counted, decoded, quoted
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.ranking import Order, QueryImage, Ranking, Ties, first_of_each, lists_summary

__all__ = ["Numbers", "RankedRows"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Numbers: TypeAlias = Sequence[int] | Int64


class RankedRows:
    """The rows of the file: query, document, sort key (ascending), line, and the key of the other order.

    Args:
        path: name of the file, for messages.
        queries: the query images, or the judged queries; without them those of the file, in its order.
        corpus: the images that can be retrieved. Without it they are the documents in the file, and lists of other
            queries are left out.
        unit: of the rows in messages.
        query_image: treatment of a query in its own list, with a corpus.
    """

    def __init__(
        self,
        path: Path | str,
        queries: Sequence[str] | None,
        corpus: Sequence[str] | None,
        unit: Literal["line", "row"] = "line",
        query_image: QueryImage = "exclude",
    ) -> None:
        self.query_image = query_image
        self.path = path
        self.unit = unit
        self.open = corpus is None
        self._query_names = [*(queries or ())]
        self.queries: Sequence[str] = self._query_names if queries is None else queries
        self._query_places = {name.encode(): place for name, place in places_by_name(self._query_names).items()}
        self._names = [*(corpus or ())]  # without a corpus, of each row: a name may stand there again
        self._places = {name.encode(): place for name, place in places_by_name(self._names).items()}
        self._parts: list[tuple[Int64, Int32, Float64, Int64, Float64]] = []
        self.add((), (), (), ())

    def add(
        self,
        owners: Numbers,
        rows: Numbers,
        keys: Sequence[float] | Float64,
        lines: Numbers,
        others: Sequence[float] | Float64 | None = None,
    ) -> None:
        """Add rows; ``others`` are their keys in the other order (of scores, or of ranks), NaN where there is none."""
        self._parts.append(
            (
                np.array(owners, dtype=np.int64),
                np.array(rows, dtype=np.int32),
                np.array(keys, dtype=np.float64),
                np.array(lines, dtype=np.int64),
                np.full(len(lines), np.nan) if others is None else np.array(others, dtype=np.float64),
            )
        )

    def queries_at(self, names: Sequence[bytes]) -> Numbers:
        """The places of these queries.

        Raises:
            KeyError: one of them is unknown. UnicodeDecodeError: it is not UTF-8.
        """
        different = dict.fromkeys(names)
        if self.open:
            for name in different:
                if name not in self._query_places:
                    self._query_names.append(name.decode())
                    self._query_places[name] = len(self._query_places)
        if len(different) == 1:
            return np.full(len(names), self._query_places[names[0]])
        return list(map(self._query_places.__getitem__, names))

    def documents_at(self, names: Sequence[bytes]) -> Numbers:
        """The places of these documents in the corpus.

        Raises:
            KeyError: one of them is unknown. UnicodeDecodeError: it is not UTF-8.
        """
        if not self.open:
            return list(map(self._places.__getitem__, names))
        first = len(self._names)
        self._names += b"\n".join(names).decode().split("\n")
        return np.arange(first, len(self._names))

    def query(self, name: bytes, line: int) -> int:
        """The place of this query."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self._query_places:
            raise self._stranger("queries", "query", name, line)
        return self.queries_at([name])[0]

    def document(self, name: bytes, line: int) -> int:
        """The place of this document in the corpus."""
        if self.open:
            decoded(name, self.path, line)
        elif name not in self._places:
            raise self._stranger("corpus", "document", name, line)
        return self.documents_at([name])[0]

    def _stranger(self, images: str, column: str, name: bytes, line: int) -> InputError:
        text, names = decoded(name, self.path, line), self.queries if images == "queries" else self._names
        cause = cause_of_strange_name(text, names)
        if cause is None and not any(len(owners) for owners, *_ in self._parts):
            cause = "No row before it fits either: is this the ranking of another collection or split?"
        return self.problem(
            f"not an image of the {images}", line, column, quoted(text),
            f"one of the {len(names):,} images of the {images}", cause,
        )  # fmt: skip

    def problem(
        self, what: str, line: int, column: str, found: str, expected: str, advice: str | None = None
    ) -> InputError:
        """An error about a value of the file."""
        by_row = self.unit == "row"
        return InputError(
            what, file=self.path, line=None if by_row else line, column=f"{column}, row {line:,}" if by_row else column,
            found=found, expected=expected, advice=advice,
        )  # fmt: skip

    def wrong_number(self, name: str, found: str, expected: str, line: int) -> InputError:
        """The error about a malformed score or rank."""
        return self.problem(f"not a {name}", line, name, quoted(found), expected)

    def ranking(self, depth: int | None, ties: Ties | None, form: str, by: Order) -> Ranking:
        """The rows in order: by key, equal ones as ``ties`` says, the first ``depth`` of each query.

        Args:
            depth: without it, all. ties: the order of equal keys; ``None`` refuses them. form: of the file, for the
                account. by: the keys are ranks, or negative scores.
        """
        owners, rows, keys, lines, others = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        each = np.bincount(owners)
        form = f"{form} by {by}, {lists_summary(each[each > 0])}"
        self._parts.clear()
        self._check_repeats(owners, rows, lines)
        scores: Float64 = -(keys if by == "score" else others)
        if ties == "trec" and by == "score":
            with np.errstate(over="ignore"):  # as in trec_eval, a score beyond single precision is infinite
                keys = keys.astype(np.float32).astype(np.float64)
        order = self._order(owners, rows, keys, ties)
        if ties is None:
            self._check_ranks(owners[order], keys[order], lines[order])
        form += self._disagreement(owners[order], others[order], by)
        if not self.open:
            ranking = Ranking.from_entries(
                owners[order], rows[order], self.queries, self._names, depth=depth, source=str(self.path),
                form=form, query_image=self.query_image,
            )  # fmt: skip
            return dataclasses.replace(ranking, ties=ties)
        order = order[owners[order] < len(self.queries)]
        lengths = np.bincount(owners[order], minlength=len(self.queries))
        places, indptr = first_of_each(rows[order], lengths, depth)
        scores, _ = first_of_each(scores[order], lengths, depth)
        found = DocumentRanking(
            tuple(self.queries), self._names, places, indptr, lengths > 0, str(self.path),
            tuple(self._query_names[len(self.queries) :]), ties, form,
        )  # fmt: skip
        return found if np.isnan(scores).any() else found.with_scores(scores)

    def _check_ranks(self, owners: Int64, ranks: Float64, lines: Int64) -> None:
        """Refuse a rank that stands twice for a query; the rows are in their order."""
        again = np.flatnonzero((owners[1:] == owners[:-1]) & (ranks[1:] == ranks[:-1])) + 1
        if len(again):
            first, line = sorted(lines[again[0] - 1 : again[0] + 1].tolist())
            raise self.problem(
                "a rank stands twice for a query", line, "rank",
                f"{ranks[again[0]]:.0f} for query {quoted(self._query_names[owners[again[0]]])}, "
                f"as in {self.unit} {first:,}",
                "each rank once for a query", "Order by the scores instead: --order score.",
            )  # fmt: skip

    def _disagreement(self, owners: Int64, others: Float64, by: Order) -> str:
        """The queries that the other column orders otherwise, for the account; the rows are in their order."""
        falls = (owners[1:] == owners[:-1]) & (others[1:] < others[:-1])
        queries = owners[1:][falls & (owners[1:] < len(self.queries))]
        count = len(np.unique(queries))
        other = "rank column" if by == "score" else "scores"
        return f"; its {other} would order {counted(count, 'query', 'queries')} otherwise" if count else ""

    def _order(self, owners: Int64, rows: Int32, keys: Float64, ties: Ties | None) -> Int64:
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

    def _check_repeats(self, owners: Int64, rows: Int32, lines: Int64) -> None:
        ends = np.cumsum(np.bincount(owners, minlength=1)).tolist()
        grouped = (owners[1:] >= owners[:-1]).all()
        rows_of_each = rows if grouped else rows[np.argsort(owners, kind="stable")]
        documents: Sequence[object] = rows_of_each.tolist()
        if self.open:  # a name may stand at several places
            in_order = np.array_equal(rows_of_each, np.arange(len(self._names)))
            documents = self._names if in_order else [self._names[row] for row in rows_of_each.tolist()]
        if all(len(set(documents[a:b])) == b - a for a, b in zip([0, *ends], ends, strict=False)):
            return
        first: dict[tuple[int, str], int] = {}
        for place, (owner, row) in enumerate(zip(owners.tolist(), rows.tolist(), strict=True)):
            document = self._names[row]
            if first.setdefault((owner, document), place) != place:
                raise self.problem(
                    "a document stands twice for a query", int(lines[place]), "document",
                    f"{quoted(document)} for query {quoted(self._query_names[owner])}, "
                    f"as in {self.unit} {int(lines[first[owner, document]]):,}",
                    "each document once for a query",
                )  # fmt: skip
