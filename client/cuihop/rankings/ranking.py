"""Rankings: for each query image, images of the corpus, best first."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_rows import cause_of_strange_name, index_of_names, own_rows
from cuihop.errors import InputError, checked_choice
from cuihop.files.content_digest import content_digest
from cuihop.files.text_lines import quoted
from cuihop.resources.arrays import Bool, Float64, Int32, Int64, bounds_of

__all__ = [
    "Order",
    "QueryImage",
    "Ranking",
    "RankingOptions",
    "Similarity",
    "Ties",
    "checked_ties",
    "first_of_each",
    "first_rows",
    "lists_summary",
]

_LISTS_AT_ONCE = 1024

Positions = TypeVar("Positions", Int32, npt.NDArray[np.int32 | np.int64], Float64)

Ties: TypeAlias = Literal["name", "trec"]
"""Equal scores. ``name``: the document whose name comes first. ``trec``: as trec_eval, which compares scores in single
precision and puts the document first whose name comes last."""

Order: TypeAlias = Literal["score", "rank"]
"""The column that orders a file with both. ``score``: descending, as trec_eval. ``rank``: ascending."""

Similarity: TypeAlias = Literal["cosine", "dot", "hamming"]
"""The order of an array's images: cosine or inner product of embeddings, or Hamming distance of binary codes."""


QueryImage: TypeAlias = Literal["exclude", "include"]
"""A query that the corpus holds: it leaves its own ranking and ideal, or it counts there like any other image."""


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """Options of ordering the images of each query.

    Attributes:
        depth: number of images for each query; all without it.
        ties: the order of equal scores. order: the column that orders a file with scores and ranks.
        similarity: of vectors; ``None`` is cosine of embeddings, while whole numbers are row numbers.
        query_image: treatment of a query in its own list.
        results: bytes for each query that are set apart for the values computed from its ranking, of vectors.

    Raises:
        InputError: there is no such order, or no such similarity.
    """

    depth: int | None = None
    ties: Ties = "name"
    order: Order = "score"
    similarity: Similarity | None = None
    query_image: QueryImage = "exclude"
    results: int = 1024  # values of many measures, or some hundred images

    def __post_init__(self) -> None:
        checked_ties(self.ties)
        checked_choice("order", self.order, Order, "no such order")
        if self.similarity is not None:
            checked_choice("similarity", self.similarity, Similarity, "no such similarity")

    @property
    def equal_keys(self) -> Ties | None:
        """The order of equal keys; ``None`` by rank, which refuses them."""
        return None if self.order == "rank" else self.ties

    def with_results(self, results: int | None) -> RankingOptions:
        """Options with another number of bytes for results, unless it is ``None``."""
        return self if results is None else dataclasses.replace(self, results=results)


@dataclass(frozen=True, eq=False)
class Ranking(Mapping[str, tuple[str, ...]]):
    """For each query, images of the corpus, best first. A mapping of query → images.

    A query that stands in its own list is removed from it, and later ranks move up: finding itself is no merit. If
    `query_image` is ``include``, it stays.

    Attributes:
        queries, corpus: the images, in the order of their files.
        indptr: int64, shape (queries + 1,). Query i retrieved ``rows[indptr[i]:indptr[i + 1]]``.
        rows: int32: indices in `corpus`, best first.
        listed: bool, shape (queries,): the queries with a list. False is a query without a ranking.
        self_retrieved: bool, shape (queries,): the queries that stood in their own list.
        source: the file, or another origin.
        other_queries: queries of the file that are none of `queries`; their lists are left out.
        ties: the order of equal scores; ``None`` if the order was given.
        form: the form of the input, for the summary; empty without an input.
        query_image: treatment of a query in its own list.
        recipe: of a computed ranking, SHA-256 of everything that its order depends on; empty for any other.
    """

    queries: tuple[str, ...]
    corpus: tuple[str, ...]
    indptr: Int64
    rows: Int32
    listed: Bool
    self_retrieved: Bool
    source: str = "memory"
    other_queries: tuple[str, ...] = ()
    ties: Ties | None = None
    form: str = ""
    query_image: QueryImage = "exclude"
    recipe: str = ""

    def __getitem__(self, query: str) -> tuple[str, ...]:
        index = self._rows_of[query]
        rows = self.rows[self.indptr[index] : self.indptr[index + 1]]
        return tuple(self.corpus[row] for row in rows.tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def _rows_of(self) -> dict[str, int]:
        return index_of_names(self.queries)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the lists; it depends on the order of queries and corpus."""
        digest = hashlib.sha256(content_digest([self.queries, self.corpus]).encode())
        for array in (self.indptr, self.rows, self.listed):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"<Ranking {self.account}>"

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        return f"{self.source}: {self.form or lists_summary(self.lengths[self.listed])}"

    @property
    def retrieved(self) -> tuple[Sequence[str], npt.NDArray[np.int32 | np.int64]]:
        """Names, and for each image retrieved its index among them: the corpus and the rows."""
        return self.corpus, self.rows

    @property
    def lengths(self) -> Int64:
        """Number of images retrieved for each query."""
        return np.diff(self.indptr)

    @property
    def missing(self) -> tuple[str, ...]:
        """The queries without a ranking."""
        return tuple(self.queries[index] for index in np.flatnonzero(~self.listed).tolist())

    def top(self, k: int, indices: Int64) -> Int32:
        """The first k of some queries as indices in the corpus: int32, shape (indices, k); -1 beyond the end."""
        return first_rows(self.indptr, self.rows, k, indices)

    def computed(self, recipe: str, indices: Int64 | None) -> Ranking:
        """This ranking with its recipe. Without those at ``indices``, queries are listed as without a ranking."""
        listed = self.listed
        if indices is not None:
            listed = np.zeros(len(self.queries), dtype=np.bool_)
            listed[indices] = True
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
            lists: the lists. A query without a list has no ranking; one with an empty list retrieved nothing.
            queries, corpus: the images; the corpus is the queries without it.
            query_image: treatment of a query in its own list.

        Raises:
            InputError: a list belongs to no query, an image is not in the corpus, or stands twice in a list.
        """
        corpus = queries if corpus is None else corpus
        query_rows, corpus_rows = index_of_names(queries), index_of_names(corpus)
        owners: list[int] = []
        rows: list[int] = []
        for query, images in lists.items():
            if query not in query_rows:
                raise not_a_query(str(query), queries)
            if isinstance(images, str | Mapping):  # the order of a mapping's keys is not that of its scores
                raise InputError(
                    "not a list of images", found=quoted(str(images)),
                    expected=f"images for {quoted(query)}, best first",
                    advice="scored_ranking orders images by their scores." if isinstance(images, Mapping) else None,
                )  # fmt: skip
            seen: set[str] = set()
            for rank, image in enumerate(images, start=1):
                where = f"rank {rank} of query {quoted(query)}"
                if image not in corpus_rows:
                    raise not_of_corpus(str(image), corpus, where)
                if image in seen:
                    raise InputError("an image stands twice", column=where, found=quoted(image), expected="each once")
                seen.add(image)
                owners.append(query_rows[query])
                rows.append(corpus_rows[image])
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
            rows: indices in ``corpus``, one list after the other. lengths: of the lists.
            queries, corpus, source, form, query_image: as in the attributes.
        """
        rows, indptr = first_of_each(rows, lengths, None)
        everyone = np.ones(len(queries), dtype=np.bool_)
        self_retrieved = np.zeros(len(queries), dtype=np.bool_)
        if query_image == "include":
            owners = np.repeat(np.arange(len(queries)), lengths)
            self_retrieved[owners[rows == own_rows(queries, corpus)[owners]]] = True
        return cls(
            tuple(queries),
            tuple(corpus),
            indptr,
            rows,
            everyone,
            self_retrieved,
            source,
            form=form,
            query_image=query_image,
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
            table: indices in ``corpus``, best first, shape (queries, columns); -1 beyond the end. Overwritten.
            queries, corpus, source, form, query_image: as in the attributes.
            depth: number of images for each query; all without it.
        """
        own = own_rows(queries, corpus)
        lengths = np.zeros(len(table), dtype=np.int64)
        listed, self_retrieved = np.zeros((2, len(table)), dtype=np.bool_)
        flat, end = table.reshape(-1), 0
        for first in range(0, len(table), _LISTS_AT_ONCE):
            here = slice(first, first + _LISTS_AT_ONCE)
            chunk = table[here]
            counting = chunk >= 0
            itself = counting & (chunk == own[here, np.newaxis])
            listed[here], self_retrieved[here] = counting.any(axis=1), itself.any(axis=1)
            if query_image == "exclude":
                counting &= ~itself
            if depth is not None:
                counting &= counting.cumsum(axis=1) <= depth
            lengths[here] = counting.sum(axis=1)
            rows = chunk[counting]
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
            owners: indices in ``queries``; rows: indices in ``corpus``. Same shape.
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


def not_a_query(name: str, queries: Sequence[str]) -> InputError:
    """The error about a list of a name that is no query."""
    return InputError(
        "a ranking for no query", found=quoted(name), expected=f"one of the {len(queries):,} queries",
        advice=cause_of_strange_name(name, queries),
    )  # fmt: skip


def not_of_corpus(name: str, corpus: Sequence[str], where: str) -> InputError:
    """The error about a retrieved name that the corpus lacks."""
    return InputError(
        "not an image of the corpus", column=where, found=quoted(name), expected=f"one of its {len(corpus):,} images",
        advice=cause_of_strange_name(name, corpus),
    )  # fmt: skip


def in_single_precision(scores: Float64) -> Float64:
    """Scores as trec_eval compares them: one beyond single precision is infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


def first_of_each(images: Positions, lengths: Int64, depth: int | None) -> tuple[Positions, Int64]:
    """The first images of each query, ``depth`` at most, all without it; and where those of each query begin.

    Args:
        images: of what was retrieved, one query after the other, best first in each.
        lengths: int64, shape (queries,): number of images of each query.
        depth: number of images for each query.

    Returns:
        The remaining images, and int64, shape (queries + 1,).
    """
    if depth is not None and lengths.max(initial=0) > depth:
        ranks = np.arange(len(images)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        images, lengths = images[ranks < depth], np.minimum(lengths, depth)
    return images, bounds_of(lengths)


def first_rows(indptr: Int64, rows: Int32, k: int, indices: Int64) -> Int32:
    """The first k images of some queries of a ranking in compressed rows: see `Ranking.top`."""
    ranks = indptr[indices, np.newaxis] + np.arange(k)
    inside = ranks < indptr[indices + 1, np.newaxis]
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
    return cast(Ties, checked_choice("ties", ties, Ties, "no such order"))
