"""Rankings from what a program holds in memory: scores by name, row numbers, embeddings and codes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cuihop.adapters.arrays import numpy_array
from cuihop.errors import InputError
from cuihop.evaluation.image_concepts import ImageConcepts
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.evaluation.ranked_blocks import bytes_of_rank
from cuihop.evaluation.ranking_arrays import ranking_of_row_numbers, vectors_in_blocks
from cuihop.evaluation.rankings import Ranking, Similarity, Ties, checked_ties, places_by_name
from cuihop.evaluation.relevance_index import Progress
from cuihop.measures.dcg import checked_k
from cuihop.text_lines import shown

__all__ = ["embedding_ranking", "neighbour_ranking", "scored_ranking"]

_SCORES = "query → document → score"


def scored_ranking(
    scores: Mapping[str, Mapping[str, float]],
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "name",
) -> Ranking:
    """The ranking by these scores, larger ones first: as `read_ranking` or `read_run` on a TREC run that holds them.

    With ``queries`` it is a ranking of images: each query is left out of its own list. Without, one of documents that
    nothing else names: the corpus is what was retrieved, and a query stays in its own list.

    Args:
        scores: query → image or document → score, compared in double precision.
        queries: the names of the query images, such as `ImageConcepts`. One without scores is one without a ranking.
        corpus: the names of the images that can be retrieved; the queries without it.
        qrels: of a ranking of documents, the judgements, whose queries are the queries; those of ``scores`` without
            it. Lists of other queries are left out, and told in `Ranking.unasked`.
        depth: keep so many of each query; all without it.
        ties: the order of equal scores.

    Raises:
        InputError: scores belong to no query image, an image is not in the corpus, or a score is not a finite number.

    >>> images = ["a", "b", "c"]
    >>> scored_ranking({"a": {"b": 0.5, "c": 0.5, "a": 1.0}}, images)["a"]
    ('b', 'c')
    >>> scored_ranking({"a": {"b": 0.5, "c": 0.5}}, images, ties="trec")["a"]
    ('c', 'b')
    """
    ties, depth = checked_ties(ties), None if depth is None else checked_k(depth)
    checked = _checked(scores)
    if queries is None:
        if corpus is not None:
            raise InputError("a corpus goes with queries", column="corpus", found="no queries")
        asked = tuple(checked if qrels is None else qrels)
        held = tuple(dict.fromkeys(name for names, _ in checked.values() for name in names))
    else:
        if qrels is not None:
            raise InputError("queries or judgements say what the queries are", column="qrels", found="both")
        asked = tuple(queries)
        held = asked if corpus is None else tuple(corpus)
    known = set(asked)
    unasked = tuple(query for query in checked if query not in known)
    if unasked and queries is not None:
        raise InputError("a ranking for no query", found=shown(unasked[0]), expected="one of the queries")
    made = _ordered(checked, asked, held, depth, ties, keep_self=queries is None)
    return dataclasses.replace(made, unasked=unasked)


def neighbour_ranking(queries: object, rows: object, *, corpus: object = None, k: int | None = None) -> Ranking:
    """The ranking that row numbers give: what nearest-neighbour libraries return.

    Args:
        queries, corpus: as in `cuihop.evaluation.evaluate`.
        rows: whole numbers, shape (queries, neighbours): places in the corpus from 0, best first; ``-1`` fills up the
            end. Any array or tensor.
        k: keep so many images of each query; all without it.

    Raises:
        InputError: names row and column, from 0, and what was found there.

    >>> neighbour_ranking({"a": "C1", "b": "C1", "c": "C2"}, [[0, 1, 2], [1, 0, 2], [2, -1, -1]])["a"]
    ('b', 'c')
    """
    names, held = _names(queries, corpus)
    table = _table(rows, "rows", len(names))
    if table.dtype.kind not in "iu":
        raise InputError("not row numbers", column="rows", found=f"dtype {table.dtype}", expected="whole numbers")
    depth = None if k is None else checked_k(k)
    return dataclasses.replace(ranking_of_row_numbers("rows", table, names, held, depth), source="row numbers")


def embedding_ranking(
    queries: object,
    embeddings: object,
    k: int,
    *,
    corpus: object = None,
    corpus_embeddings: object = None,
    similarity: Similarity = "cosine",
    threads: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> Ranking:
    """The k images nearest to each query by their embeddings or binary codes: all pairs, exactly.

    As `read_ranking` on a file that holds the array. Larger similarity first, then the image whose name comes first.

    Args:
        queries, corpus: as in `cuihop.evaluation.evaluate`.
        embeddings: shape (queries, dimensions): one row for each image, in their order. Any array or tensor: of torch
            also one that requires gradients, lies on a device, or is bfloat16.
        k: how many.
        corpus_embeddings: shape (corpus, dimensions): where the corpus is not the queries.
        similarity: ``cosine`` or ``dot`` of floating-point numbers; ``hamming`` of binary codes (docs/measures.md).
        threads, memory, progress, checkpoint, keep_checkpoint: as in `cuihop.evaluation.evaluate`.

    Raises:
        InputError: shape or numbers are not as expected; names the row.

    >>> embedding_ranking({"a": "C1", "b": "C1", "c": "C2"}, [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 2)["a"]
    ('b', 'c')
    """
    if similarity not in get_args(Similarity):
        raise InputError(
            "no such similarity", column="similarity", found=repr(similarity),
            expected=" or ".join(get_args(Similarity)),
        )  # fmt: skip
    if (corpus is None) != (corpus_embeddings is None):
        raise InputError(
            "a corpus goes with its embeddings", column="corpus_embeddings",
            found="one without the other", expected="corpus and corpus_embeddings, or neither",
        )  # fmt: skip
    names, held = _names(queries, corpus)
    table = _table(embeddings, "embeddings", len(names))
    other = table if corpus_embeddings is None else _table(corpus_embeddings, "corpus_embeddings", len(held))
    if (other.dtype.kind == "f") != (table.dtype.kind == "f") or other.shape[1] != table.shape[1]:
        raise InputError(
            "not the embeddings of the corpus", column="corpus_embeddings",
            found=f"shape {other.shape}, dtype {other.dtype}",
            expected=f"shape ({len(held)}, {table.shape[1]}), a dtype such as {table.dtype}",
        )  # fmt: skip
    depth = min(checked_k(k), len(held))
    found = vectors_in_blocks(
        ("embeddings", table), ("corpus_embeddings", other), names, held, depth, similarity, MemoryBudget.of(memory),
        threads, depth * bytes_of_rank(kept=checkpoint is not None),
    )  # fmt: skip
    return found.whole(threads=threads, progress=progress, checkpoint=checkpoint, keep_checkpoint=keep_checkpoint)


def _names(queries: object, corpus: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    asked = tuple(ImageConcepts.of(queries))
    return asked, asked if corpus is None else tuple(ImageConcepts.of(corpus))


def _table(values: object, name: str, images: int) -> npt.NDArray[np.generic]:
    table = numpy_array(values, name)
    if table.ndim != 2 or len(table) != images:
        raise InputError(
            "not one row for each image", column=name, found=f"shape {table.shape}", expected=f"shape ({images}, …)"
        )
    return table


def _checked(
    scores: Mapping[str, Mapping[str, float]],
) -> dict[str, tuple[list[str], npt.NDArray[np.float64]]]:
    """For each query its documents and their scores."""
    if not isinstance(scores, Mapping):
        raise InputError("not scores", found=type(scores).__name__, expected=_SCORES)
    found: dict[str, tuple[list[str], npt.NDArray[np.float64]]] = {}
    for query, documents in scores.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                "not scores", column=f"query {shown(str(query))}", found=shown(repr(documents)), expected=_SCORES
            )
        if not {type(query), *map(type, documents)} <= {str}:
            for name in (query, *documents):
                if not isinstance(name, str):
                    raise InputError("not a name", found=repr(name), expected="texts as names of queries and documents")
        listed = list(documents.values())
        plain = set(map(type, listed)) <= {float}
        values = np.array(listed if plain else [_number(score) for score in listed], dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            document, score = list(documents.items())[int(wrong[0])]
            raise InputError(
                "not a score", column=f"document {shown(document)} of query {shown(query)}", found=shown(repr(score)),
                expected="a finite number",
            )  # fmt: skip
        found[query] = list(documents), values
    return found


def _number(score: Any) -> float:
    """The score in double precision; NaN where it is no number."""
    try:
        return math.nan if isinstance(score, str) else float(score)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _name_order(corpus: Sequence[str], ties: Ties) -> npt.NDArray[np.int64]:
    """Where each name stands among equal scores."""
    order = np.empty(len(corpus), dtype=np.int64)
    order[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus))
    return -order if ties == "trec" else order


def _ordered(
    scores: Mapping[str, tuple[list[str], npt.NDArray[np.float64]]],
    queries: Sequence[str],
    corpus: Sequence[str],
    depth: int | None,
    ties: Ties,
    *,
    keep_self: bool,
) -> Ranking:
    places = places_by_name(corpus)
    by_name: npt.NDArray[np.int64] | None = None  # made where scores are equal
    lists: list[npt.NDArray[np.int32]] = []
    lengths = np.zeros(len(queries), dtype=np.int64)
    for place, query in enumerate(queries):
        names, values = scores.get(query, ([], np.empty(0)))
        try:
            rows = np.array([places[name] for name in names], dtype=np.int32)
        except KeyError as error:
            raise InputError(
                "not an image of the corpus", column=f"query {shown(query)}", found=shown(error.args[0])
            ) from None
        if ties == "trec":
            with np.errstate(over="ignore"):  # as in trec_eval, a score beyond single precision is infinite
                values = values.astype(np.float32).astype(np.float64)
        order = np.argsort(-values, kind="stable")
        descending = values[order]
        if (descending[1:] == descending[:-1]).any():
            by_name = _name_order(corpus, ties) if by_name is None else by_name
            order = np.lexsort((by_name[rows], -values))
        lists.append(rows[order])
        lengths[place] = len(rows)
    made = Ranking.from_flat(
        np.repeat(np.arange(len(queries)), lengths),
        np.concatenate(lists) if lists else np.empty(0, dtype=np.int32),
        queries, corpus, depth=depth, source="scores", keep_self=keep_self,
    )  # fmt: skip
    listed = np.array([query in scores for query in queries], dtype=np.bool_)
    return dataclasses.replace(made, listed=listed, ties=ties)
