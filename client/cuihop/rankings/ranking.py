"""Rankings: for each query image, images of the corpus, best first."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import own_rows, places_by_name
from cuihop.errors import InputError, checked_choice
from cuihop.files.content_digest import content_digest
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import quoted
from cuihop.resources.arrays import bounds_of

__all__ = [
    "Order",
    "QueryImage",
    "Ranking",
    "Similarity",
    "Ties",
    "checked_order",
    "checked_ties",
    "first_of_each",
    "first_rows",
    "lists_summary",
]

_LISTS_AT_ONCE = 1024

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Places = TypeVar("Places", npt.NDArray[np.int32], npt.NDArray[np.int32 | np.int64], npt.NDArray[np.float64])

Ties: TypeAlias = Literal["name", "trec"]
"""Equal scores. ``name``: the document whose name comes first. ``trec``: as trec_eval, which compares scores in single
precision and puts the document first whose name comes last."""

Order: TypeAlias = Literal["score", "rank"]
"""The column that orders a file with both. ``score``: descending, as trec_eval. ``rank``: ascending."""

Similarity: TypeAlias = Literal["cosine", "dot", "hamming"]
"""The order of an array's images: cosine or inner product of embeddings, or Hamming distance of binary codes."""


QueryImage: TypeAlias = Literal["exclude", "include"]
"""A query that the corpus holds: it leaves its own ranking and ideal, or it counts there like any other image."""


@dataclass(frozen=True, eq=False)
class Ranking(Mapping[str, tuple[str, ...]]):
    """For each query, images of the corpus, best first. A mapping of query → images.

    A query that stands in its own list is removed from it, and later ranks move up: finding itself is no merit. Where
    `query_image` is ``include``, it stays.

    Attributes:
        queries, corpus: the images, in the order of their files.
        indptr: int64, shape (queries + 1,). Query i retrieved ``rows[indptr[i]:indptr[i + 1]]``.
        rows: int32: places in `corpus`, best first.
        listed: bool, shape (queries,): the queries with a list. False is a query without a ranking.
        self_retrieved: bool, shape (queries,): the queries that stood in their own list.
        source: the file, or another origin.
        other_queries: queries of the file that are none of `queries`; their lists are left out.
        ties: the order of equal scores; ``None`` where the order was given.
        form: the form of the input, for the account; empty without an input.
        query_image: treatment of a query in its own list.
        recipe: of a computed ranking, SHA-256 of everything that its order depends on; empty for any other.
    """

    queries: tuple[str, ...]
    corpus: tuple[str, ...]
    indptr: Int64
    rows: Int32
    listed: npt.NDArray[np.bool_]
    self_retrieved: npt.NDArray[np.bool_]
    source: str = "memory"
    other_queries: tuple[str, ...] = ()
    ties: Ties | None = None
    form: str = ""
    query_image: QueryImage = "exclude"
    recipe: str = ""

    def __getitem__(self, query: str) -> tuple[str, ...]:
        place = self._places[query]
        rows = self.rows[self.indptr[place] : self.indptr[place + 1]]
        return tuple(self.corpus[row] for row in rows.tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def _places(self) -> dict[str, int]:
        return places_by_name(self.queries)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the lists; it depends on the order of queries and corpus."""
        found = hashlib.sha256(content_digest([self.queries, self.corpus]).encode())
        for part in (self.indptr, self.rows, self.listed):
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()

    def __repr__(self) -> str:
        return f"<Ranking {self.account}>"

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        return f"{self.source}: {self.form or lists_summary(self.lengths[self.listed])}"

    @property
    def retrieved(self) -> tuple[Sequence[str], npt.NDArray[np.int32 | np.int64]]:
        """Names, and for each image retrieved its place among them: the corpus and the rows."""
        return self.corpus, self.rows

    @property
    def lengths(self) -> Int64:
        """Number of images retrieved for each query."""
        return np.diff(self.indptr)

    @property
    def missing(self) -> tuple[str, ...]:
        """The queries without a ranking."""
        return tuple(self.queries[place] for place in np.flatnonzero(~self.listed).tolist())

    def top(self, k: int, places: Int64) -> Int32:
        """The first k of some queries as places in the corpus: int32, shape (places, k); -1 beyond the end."""
        return first_rows(self.indptr, self.rows, k, places)

    def computed(self, recipe: str, places: Int64 | None) -> Ranking:
        """This ranking with its recipe. Without those at ``places``, queries are listed as without a ranking."""
        listed = self.listed
        if places is not None:
            listed = np.zeros(len(self.queries), dtype=np.bool_)
            listed[places] = True
        return dataclasses.replace(self, listed=listed, recipe=recipe)

    @classmethod
    def of(
        cls,
        lists: Mapping[str, Sequence[str]],
        queries: Sequence[str],
        corpus: Sequence[str] | None = None,
        *,
        query_image: QueryImage = "exclude",
    ) -> Ranking:
        """From query → images of the corpus, best first.

        Args:
            lists: the lists. A query that has none is one without a ranking; one with an empty list found nothing.
            queries, corpus: the images; the corpus is the queries without it.
            query_image: treatment of a query in its own list.

        Raises:
            InputError: a list belongs to no query, an image is not in the corpus, or stands twice in a list.
        """
        corpus = queries if corpus is None else corpus
        query_places, corpus_places = places_by_name(queries), places_by_name(corpus)
        owners: list[int] = []
        rows: list[int] = []
        for query, images in lists.items():
            if query not in query_places:
                raise InputError(
                    "a ranking for no query", found=quoted(str(query)), expected=f"one of the {len(queries):,} queries",
                    advice=cause_of_strange_name(str(query), queries),
                )  # fmt: skip
            if isinstance(images, str | Mapping):  # the order of a mapping's keys is not that of its scores
                raise InputError(
                    "not a list of images", found=quoted(str(images)),
                    expected=f"images for {quoted(query)}, best first",
                    advice="scored_ranking orders images by their scores." if isinstance(images, Mapping) else None,
                )  # fmt: skip
            seen: set[str] = set()
            for rank, image in enumerate(images, start=1):
                where = f"rank {rank} of query {quoted(query)}"
                if image not in corpus_places:
                    raise InputError(
                        "not an image of the corpus", column=where, found=quoted(str(image)),
                        expected=f"one of its {len(corpus):,} images",
                        advice=cause_of_strange_name(str(image), corpus),
                    )  # fmt: skip
                if image in seen:
                    raise InputError("an image stands twice", column=where, found=quoted(image), expected="each once")
                seen.add(image)
                owners.append(query_places[query])
                rows.append(corpus_places[image])
        order = np.argsort(np.array(owners, dtype=np.int64), kind="stable")
        ranking = cls.from_entries(
            np.array(owners, dtype=np.int64)[order],
            np.array(rows, dtype=np.int32)[order],
            queries,
            corpus,
            query_image=query_image,
        )
        return dataclasses.replace(ranking, listed=np.array([query in lists for query in queries], dtype=np.bool_))

    @classmethod
    def from_lists(
        cls, rows: Int32, lengths: Int64, queries: Sequence[str], corpus: Sequence[str], source: str, form: str = "",
        query_image: QueryImage = "exclude",
    ) -> Ranking:  # fmt: skip
        """From row numbers, one list for each query; with ``exclude``, the queries themselves are not among them.

        Args:
            rows: places in ``corpus``, one list after the other. lengths: of the lists.
            queries, corpus, source, form, query_image: as in the attributes.
        """
        rows, indptr = first_of_each(rows, lengths, None)
        everyone = np.ones(len(queries), dtype=np.bool_)
        found = np.zeros(len(queries), dtype=np.bool_)
        if query_image == "include":
            owners = np.repeat(np.arange(len(queries)), lengths)
            found[owners[rows == own_rows(queries, corpus)[owners]]] = True
        return cls(
            tuple(queries), tuple(corpus), indptr, rows, everyone, found, source, form=form, query_image=query_image
        )

    @classmethod
    def from_table(
        cls,
        table: Int32,
        queries: Sequence[str],
        corpus: Sequence[str],
        *,
        depth: int | None = None,
        source: str = "memory",
        query_image: QueryImage = "exclude",
        form: str = "",
    ) -> Ranking:
        """From a table of row numbers, which becomes the rows of the ranking.

        Args:
            table: places in ``corpus``, best first, shape (queries, columns); -1 behind the end of a list. Overwritten.
            queries, corpus, source, form, query_image: as in the attributes.
            depth: number of images for each query; all without it.
        """
        own = own_rows(queries, corpus)
        lengths = np.zeros(len(table), dtype=np.int64)
        listed, self_retrieved = np.zeros((2, len(table)), dtype=np.bool_)
        flat, end = table.reshape(-1), 0
        for first in range(0, len(table), _LISTS_AT_ONCE):
            here = slice(first, first + _LISTS_AT_ONCE)
            part = table[here]
            counting = part >= 0
            itself = counting & (part == own[here, np.newaxis])
            listed[here], self_retrieved[here] = counting.any(axis=1), itself.any(axis=1)
            if query_image == "exclude":
                counting &= ~itself
            if depth is not None:
                counting &= counting.cumsum(axis=1) <= depth
            lengths[here] = counting.sum(axis=1)
            rows = part[counting]
            flat[end : end + len(rows)] = rows  # never beyond what was read
            end += len(rows)
        return cls(
            tuple(queries), tuple(corpus), bounds_of(lengths), flat[:end], listed, self_retrieved, source, form=form,
            query_image=query_image,
        )  # fmt: skip

    @classmethod
    def from_entries(
        cls,
        owners: npt.NDArray[np.int32 | np.int64],
        rows: Int32,
        queries: Sequence[str],
        corpus: Sequence[str],
        *,
        depth: int | None = None,
        source: str = "memory",
        query_image: QueryImage = "exclude",
        other_queries: tuple[str, ...] = (),
        form: str = "",
    ) -> Ranking:
        """From one entry for each query and image, queries ascending, best first within each.

        Args:
            owners: places in ``queries``; rows: places in ``corpus``. Same shape.
            queries, corpus, source, form, query_image: as in the attributes.
            depth: number of images for each query; all without it.
        """
        itself = rows == own_rows(queries, corpus)[owners]
        lengths = np.bincount(owners, minlength=len(queries))
        themselves = np.bincount(owners[itself], minlength=len(queries))
        listed, self_retrieved = lengths > 0, themselves > 0
        if query_image == "exclude" and itself.any():
            rows, lengths = rows[~itself], lengths - themselves
        rows, indptr = first_of_each(rows, lengths, depth)
        rows = np.ascontiguousarray(rows)
        return cls(
            tuple(queries), tuple(corpus), indptr, rows, listed, self_retrieved, source, other_queries, form=form,
            query_image=query_image,
        )  # fmt: skip


def first_of_each(places: Places, lengths: Int64, depth: int | None) -> tuple[Places, Int64]:
    """The first images of each query, ``depth`` at most, all without it; and where those of each query begin.

    Args:
        places: of what was retrieved, one query after the other, best first in each.
        lengths: int64, shape (queries,): number of images of each query.
        depth: number of images for each query.

    Returns:
        The remaining places, and int64, shape (queries + 1,).
    """
    if depth is not None and lengths.max(initial=0) > depth:
        ranks = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places, lengths = places[ranks < depth], np.minimum(lengths, depth)
    return places, bounds_of(lengths)


def first_rows(indptr: Int64, rows: Int32, k: int, places: Int64) -> Int32:
    """The first k images of some queries of a ranking in compressed rows: see `Ranking.top`."""
    ranks = indptr[places, np.newaxis] + np.arange(k)
    inside = ranks < indptr[places + 1, np.newaxis]
    table = np.full(inside.shape, -1, dtype=np.int32)
    table[inside] = rows[ranks[inside]]
    return table


def lists_summary(lengths: Int64) -> str:
    """Summary of the number of queries and of images retrieved, in words.

    >>> lists_summary(np.array([30, 30])), lists_summary(np.array([5, 30]))
    ('2 queries, 30 retrieved each', '2 queries, 5 to 30 retrieved each')
    """
    queries = "1 query" if len(lengths) == 1 else f"{len(lengths):,} queries"
    least, most = (int(lengths.min()), int(lengths.max())) if len(lengths) else (0, 0)
    return f"{queries}, {f'{least:,}' if least == most else f'{least:,} to {most:,}'} retrieved each"


def checked_ties(ties: str) -> Ties:
    """The order of equal scores, or an `InputError`."""
    checked_choice("ties", ties, Ties, "no such order")
    return "trec" if ties == "trec" else "name"


def checked_order(order: str) -> Order:
    """The column that orders a ranking, or an `InputError`."""
    checked_choice("order", order, Order, "no such order")
    return "rank" if order == "rank" else "score"
