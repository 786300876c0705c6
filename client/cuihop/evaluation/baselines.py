"""Rankings that every evaluation can be held against: the best by concepts, and chance."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from cuihop.errors import InputError
from cuihop.evaluation.image_collection import ImageCollection
from cuihop.evaluation.image_concepts import ImageConcepts
from cuihop.evaluation.rankings import Ranking, own_rows
from cuihop.evaluation.relevance_index import Progress, Scores
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.measures.dcg import checked_k
from cuihop.measures.nn_iou import checked_lam, checked_n
from cuihop.measures.resolution import Unknown

__all__ = ["Relevance", "random_ranking", "top_k"]

Relevance: TypeAlias = Literal["iou", "nn-iou"]


def top_k(
    queries: object,
    graph: ConceptGraph | None,
    k: int,
    *,
    corpus: object = None,
    by: Relevance = "nn-iou",
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    unknown: Unknown = "error",
    progress: Progress | None = None,
    threads: int | None = None,
) -> Ranking:
    """The k most relevant images of the corpus for each query: gain descending, then image ascending; exact.

    The query itself is left out. Images without any gain take the last places, in the order of their names.

    Args:
        queries, corpus: as in `cuihop.evaluation.evaluate`.
        graph: who knows the distances; ``iou`` needs none.
        k: how many.
        by: the gain.
        n, lam, direction, unknown, progress, threads: as in `cuihop.evaluation.evaluate`.

    Raises:
        InputError, ConceptError: as `cuihop.evaluation.evaluate`.
    """
    if by not in get_args(Relevance):
        raise InputError("not a relevance", column="by", found=repr(by), expected=" or ".join(get_args(Relevance)))
    if by == "nn-iou" and graph is None:
        raise InputError("nn-IoU needs a graph", column="graph", found="None", expected="a ConceptGraph")
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    images = ImageCollection.of(queries, corpus, graph, unknown)
    depth = min(checked_k(k), len(images.corpus))
    index = images.index(graph, hops=n if by == "nn-iou" else 0, direction=direction)
    rows = np.empty((len(images.queries), depth), dtype=np.int32)

    def receive(scores: Scores) -> None:
        rows[scores.queries] = scores.best_others(0, images.own_rows[scores.queries])[1]

    index.score(
        [lam if by == "nn-iou" else 0.0],
        depth + 1,
        lambda places: np.empty((len(places), 0), dtype=np.int32),
        receive,
        threads=threads,
        progress=progress,
    )
    lengths = (rows >= 0).sum(axis=1)
    return Ranking.made(rows[rows >= 0], lengths, images.query_names, images.corpus_names, f"by {by}")


def random_ranking(queries: object, k: int, *, corpus: object = None, seed: int = 0) -> Ranking:
    """Images of the corpus in random order, k for each query, without the query itself.

    It depends on the names of the images and on the seed, not on the order of the files.

    Args:
        queries, corpus: as in `cuihop.evaluation.evaluate`.
        k: how many.
        seed: a whole number of at least 0; the same gives the same.

    Raises:
        InputError: k or the seed is out of its range.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", column="seed", found=repr(seed), expected="a whole number, 0 or more")
    asked = tuple(ImageConcepts.of(queries))
    held = asked if corpus is None else tuple(ImageConcepts.of(corpus))
    depth = min(checked_k(k), len(held))
    own = own_rows(asked, held)
    by_name = np.array(sorted(range(len(held)), key=held.__getitem__), dtype=np.int32)
    drawn = min(depth + 1, len(held))  # one more than needed: the query may be among them
    rows = np.full((len(asked), depth), -1, dtype=np.int32)
    generator = np.random.default_rng(seed)
    for query in sorted(range(len(asked)), key=asked.__getitem__):
        chosen = by_name[generator.choice(len(held), drawn, replace=False)]
        chosen = chosen[chosen != own[query]][:depth]
        rows[query, : len(chosen)] = chosen
    return Ranking.made(rows[rows >= 0], (rows >= 0).sum(axis=1), asked, held, f"random, seed {seed}")
