"""Rankings from values in memory: scores by name, row numbers, embeddings and codes."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import countOf
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_concepts import ImageConcepts, ImagesLike
from cuihop.collection.image_rows import index_of_names
from cuihop.errors import InputError
from cuihop.files.arrays import numpy_array
from cuihop.files.text_lines import quoted
from cuihop.measures.dcg import checked_k
from cuihop.rankings.arrays import check_embeddings, check_of_corpus, ranking_of_row_numbers, vectors_in_blocks
from cuihop.rankings.blocks import bytes_of_rank
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.ranking import (
    QueryImage,
    Ranking,
    RankingOptions,
    Similarity,
    Ties,
    checked_ties,
    first_of_each,
    in_single_precision,
    not_a_query,
    not_of_corpus,
)
from cuihop.resources.arrays import Float64, Int32, Int64
from cuihop.resources.resources import Resources

__all__ = ["embedding_ranking", "neighbour_ranking", "scored_ranking"]


_SPARSEST = 2  # a table of the lists may be that many times as large as they are
_SCORES = "query → document → score"


def scored_ranking(
    scores: Mapping[str, Mapping[str, float]],
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "name",
    query_image: QueryImage = "exclude",
) -> Ranking:
    """The ranking by these scores, larger ones first: as `read_ranking` or `read_run` on a TREC run that holds them.

    With ``queries`` it is a ranking of images. Without, one of documents that
    nothing else names: the corpus is what was retrieved, and a query stays in its own list.

    Args:
        scores: query → image or document → score, compared in double precision.
        queries: the names of the query images, such as `ImageConcepts`. One without scores is one without a ranking.
        corpus: the names of the images that can be retrieved; the queries without it.
        qrels: of a ranking of documents, the judgements, whose queries are the queries; those of ``scores`` without
            it. Lists of other queries are left out, and named in `Ranking.other_queries`.
        depth: number of documents for each query; all without it.
        ties: the order of equal scores.
        query_image: with ``queries``, treatment of a query in its own list.

    Raises:
        InputError: scores belong to no query image, an image is not in the corpus, or a score is not a finite number.

    >>> images = ["a", "b", "c"]
    >>> scored_ranking({"a": {"b": 0.5, "c": 0.5, "a": 1.0}}, images)["a"]
    ('b', 'c')
    >>> scored_ranking({"a": {"b": 0.5, "c": 0.5}}, images, ties="trec")["a"]
    ('c', 'b')
    """
    ties, depth = checked_ties(ties), None if depth is None else checked_k(depth)
    if queries is None and corpus is not None:
        raise InputError("a corpus goes with queries", column="corpus", found="no queries")
    if queries is not None and qrels is not None:
        raise InputError("queries or judgements say what the queries are", column="qrels", found="both")
    scored = _checked(scores)
    names = tuple(queries if queries is not None else scores if qrels is None else qrels)
    of_queries = set(names)
    other_queries = tuple(query for query in scores if query not in of_queries)
    if other_queries and queries is not None:
        raise not_a_query(other_queries[0], names)
    order = _descending(scored, ties)
    if names != tuple(scores):
        order, scored = _of_queries(order, scored, list(scores), names)
    listed = np.array([query in scores for query in names], dtype=np.bool_)
    if queries is not None:
        owners = np.repeat(np.arange(len(names)), scored.lengths)
        images = names if corpus is None else tuple(corpus)
        rows = _rows(scored.names, images, scores)[order]
        ranking = Ranking.from_entries(
            owners, rows, names, images, depth=depth, source="scores", query_image=query_image
        )
        return dataclasses.replace(ranking, listed=listed, ties=ties)
    documents, indptr = first_of_each(order, scored.lengths, depth)
    return DocumentRanking(names, scored.names, documents, indptr, listed, "scores", other_queries, ties)


def neighbour_ranking(
    queries: ImagesLike,
    rows: npt.ArrayLike,
    *,
    corpus: ImagesLike | None = None,
    k: int | None = None,
    query_image: QueryImage = "exclude",
) -> Ranking:
    """The ranking in row numbers, as nearest-neighbour libraries return them.

    Args:
        queries, corpus: as in `cuihop.evaluate`.
        rows: whole numbers, shape (queries, neighbours): indices in the corpus from 0, best first; ``-1`` fills up the
            end. Any array or tensor.
        k: number of images for each query; all without it.
        query_image: treatment of a query in its own list.

    Raises:
        InputError: names row and column, from 0, and what was found there.

    >>> neighbour_ranking({"a": "C1", "b": "C1", "c": "C2"}, [[0, 1, 2], [1, 0, 2], [2, -1, -1]])["a"]
    ('b', 'c')
    """
    options = RankingOptions(None if k is None else checked_k(k), query_image=query_image)
    return ranking_of_indices(rows, *_names(queries, corpus), options)


def ranking_of_indices(rows: object, queries: Sequence[str], corpus: Sequence[str], options: RankingOptions) -> Ranking:
    """The ranking in an array of row numbers; errors as `neighbour_ranking`."""
    table = _table(rows, "rows", len(queries))
    if table.dtype.kind == "f":
        check_embeddings("rows", table, len(corpus))
    if table.dtype.kind not in "iu":
        raise InputError(
            "not row numbers", column="rows", found=f"dtype {table.dtype}", expected="whole numbers",
            advice="cuihop.rankings.embedding_ranking orders the images by embeddings.",
        )  # fmt: skip
    return dataclasses.replace(ranking_of_row_numbers("rows", table, queries, corpus, options), source="row numbers")


def embedding_ranking(
    queries: ImagesLike,
    embeddings: npt.ArrayLike,
    k: int,
    *,
    corpus: ImagesLike | None = None,
    corpus_embeddings: npt.ArrayLike | None = None,
    similarity: Similarity | None = None,
    query_image: QueryImage = "exclude",
    resources: Resources = Resources(),
) -> Ranking:
    """The k images nearest to each query by their embeddings or binary codes: all pairs, exactly.

    As `read_ranking` on a file that holds the array. Larger similarity first, then the image whose name comes first.

    Args:
        queries, corpus: as in `cuihop.evaluate`.
        embeddings: shape (queries, dimensions): one row for each image, in their order. Any array or tensor: of torch
            also one that requires gradients, lies on a device, or is bfloat16.
        k: number of images for each query.
        corpus_embeddings: shape (corpus, dimensions): unless the corpus is the queries.
        similarity: ``cosine`` (the default) or ``dot`` of floating-point numbers; ``hamming`` of binary
            codes (docs/file-formats.md). Without it, the sorted distances of a search are refused.
        query_image: treatment of a query that the corpus holds.
        resources: of the computation.

    Raises:
        InputError: shape or numbers are not as expected; names the row.

    >>> embedding_ranking({"a": "C1", "b": "C1", "c": "C2"}, [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 2)["a"]
    ('b', 'c')
    """
    options = RankingOptions(similarity=similarity, query_image=query_image)
    if (corpus is None) != (corpus_embeddings is None):
        raise InputError(
            "a corpus goes with its embeddings", column="corpus_embeddings",
            found="one without the other", expected="corpus and corpus_embeddings, or neither",
        )  # fmt: skip
    names, others = _names(queries, corpus)
    table = _table(embeddings, "embeddings", len(names))
    other = table if corpus_embeddings is None else _table(corpus_embeddings, "corpus_embeddings", len(others))
    check_of_corpus(other, table, len(others), column="corpus_embeddings")
    if similarity is None and table.dtype.kind == "f":
        check_embeddings("embeddings", table, len(others))
    depth = min(checked_k(k), len(others))
    results = depth * bytes_of_rank(in_checkpoint=resources.checkpoint is not None)
    options = dataclasses.replace(options, depth=depth, results=results)
    return vectors_in_blocks(
        ("embeddings", table), ("corpus_embeddings", other), names, others, options, resources
    ).whole(resources)


def _names(queries: ImagesLike, corpus: ImagesLike | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the queries, and those of the corpus."""
    names = tuple(ImageConcepts.of(queries))
    return names, names if corpus is None else tuple(ImageConcepts.of(corpus))


def _table(values: object, name: str, images: int) -> npt.NDArray[np.generic]:
    table = numpy_array(values, name)
    if table.ndim != 2 or len(table) != images:
        raise InputError(
            "not one row for each image", column=name, found=f"shape {table.shape}", expected=f"shape ({images}, …)"
        )
    return table


@dataclass(frozen=True, eq=False)
class _Scored:
    """Scores, one list after the other."""

    names: list[str]
    values: Float64
    lengths: Int64


def _checked(scores: Mapping[str, Mapping[str, float]]) -> _Scored:
    """All documents and their scores."""
    if not isinstance(scores, Mapping):
        raise InputError("not scores", found=type(scores).__name__, expected=_SCORES)
    for query, documents in scores.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                "not scores", column=f"query {quoted(str(query))}", found=quoted(repr(documents)), expected=_SCORES
            )
    names = list(chain.from_iterable(scores.values()))
    if countOf(map(type, chain(scores, names)), str) < len(scores) + len(names):
        for name in (*scores, *names):
            if not isinstance(name, str):
                raise InputError("not a name", found=repr(name), expected="texts as names of queries and documents")
    listed = list(chain.from_iterable(documents.values() for documents in scores.values()))
    try:
        values = np.frombuffer(struct.pack(f"{len(listed)}d", *listed), dtype=np.float64)
    except (TypeError, ValueError, OverflowError, struct.error):
        values = np.array([_number(score) for score in listed], dtype=np.float64)
    lengths = np.fromiter(map(len, scores.values()), dtype=np.int64, count=len(scores))
    if not np.isfinite(values).all():
        wrong = int(np.flatnonzero(~np.isfinite(values))[0])
        query = list(scores)[int(np.searchsorted(np.cumsum(lengths), wrong, side="right"))]
        raise InputError(
            "not a score", column=f"document {quoted(names[wrong])} of query {quoted(query)}",
            found=quoted(repr(listed[wrong])), expected="a finite number",
        )  # fmt: skip
    return _Scored(names, values, lengths)


def _number(score: Any) -> float:
    """The score in double precision; NaN if it is no number."""
    try:
        return math.nan if isinstance(score, str) else float(score)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _descending(scored: _Scored, ties: Ties) -> Int64:
    """The indices of each list by descending score, one list after the other."""
    values, lengths = scored.values, scored.lengths
    if ties == "trec":
        values = in_single_precision(values)
    starts = np.cumsum(lengths) - lengths
    width = int(lengths.max(initial=0))
    if width * len(lengths) == len(values):
        order = (np.argsort(-values.reshape(len(lengths), width), axis=1) + starts[:, np.newaxis]).ravel()
    elif width * len(lengths) <= _SPARSEST * len(values):
        inside = np.arange(width) < lengths[:, np.newaxis]
        table = np.full(inside.shape, np.inf)
        table[inside] = -values
        # Shorter lists end in indices beyond them. If a score became infinite, it has to stay before those.
        kind: Literal["quicksort", "stable"] = "quicksort" if np.isfinite(values).all() else "stable"
        order = (np.argsort(table, axis=1, kind=kind) + starts[:, np.newaxis])[inside]
    else:
        order = np.lexsort((-values, np.repeat(np.arange(len(lengths)), lengths)))
    ordered = values[order]
    same = np.append(ordered[1:] == ordered[:-1], np.False_)  # as the next one
    same[starts - 1] = False  # the last of a list
    if same.any():
        _by_name(order, np.flatnonzero(same), scored.names, ties)
    return order


def _by_name(order: Int64, equal: Int64, names: Sequence[str], ties: Ties) -> None:
    """Put equal scores in the order of their names; see `scored_ranking`.

    Args:
        order: indices in ``names``; changed.
        equal: indices in ``order`` of entries with the score of the next one, ascending.
    """
    first = np.concatenate(([True], np.diff(equal) > 1))
    starts, ends = equal[first], equal[np.append(first[1:], True)] + 2
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=names.__getitem__, reverse=ties == "trec")


def _of_queries(order: Int64, scored: _Scored, names: Sequence[str], queries: Sequence[str]) -> tuple[Int64, _Scored]:
    """The lists of these queries, in their order; one without scores is empty."""
    index_of = index_of_names(names)
    indices = np.array([index_of.get(query, -1) for query in queries], dtype=np.int64)
    starts = np.cumsum(scored.lengths) - scored.lengths
    lengths = (
        np.where(indices < 0, 0, scored.lengths[indices]) if len(names) else np.zeros(len(queries), dtype=np.int64)
    )
    begin = np.where(indices < 0, 0, starts[indices]) if len(names) else lengths
    skipped = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    return order[np.arange(len(skipped)) + skipped], dataclasses.replace(scored, lengths=lengths)


def _rows(names: Sequence[str], corpus: Sequence[str], scores: Mapping[str, Mapping[str, float]]) -> Int32:
    """The indices of the documents in the corpus."""
    index_of = index_of_names(corpus)
    try:
        return np.fromiter(map(index_of.__getitem__, names), dtype=np.int32, count=len(names))
    except KeyError as error:
        absent = error.args[0]
        query = next(query for query, documents in scores.items() if absent in documents)
        raise not_of_corpus(absent, corpus, f"query {quoted(query)}") from None
