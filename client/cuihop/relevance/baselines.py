"""Rankings that every evaluation can be held against: the best by concepts, and chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_names import own_rows
from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.measures.dcg import checked_k
from cuihop.measures.nn_iou import checked_lam, checked_n
from cuihop.measures.resolution import Unknown
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.concept_sets import bytes_of
from cuihop.relevance.concept_tfidf import rows_by_tfidf
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.matching_gains import rows_by_matching
from cuihop.relevance.rank_by_gain import RankingWork
from cuihop.relevance.relevance_index import Scores
from cuihop.resources.checkpoint import FinishedBlock, open_checkpoint
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress

__all__ = ["Relevance", "random_ranking", "top_k"]

Relevance: TypeAlias = Literal["iou", "nn-iou", "bm", "tf-idf"]
"""What makes an image relevant: IoU, nn-IoU, BM (bipartite matching), or the cosine of TF-IDF vectors of concepts."""


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
    memory: int | str = DEFAULT_MEMORY,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> Ranking:
    """The k most relevant images of the corpus for each query: gain descending, then image ascending; exact.

    The query itself is left out. Images without any gain take the last places, in the order of their names.

    Args:
        queries, corpus: as in `cuihop.evaluate`.
        graph: who knows the distances; ``iou`` and ``tf-idf`` need none.
        k: how many.
        by: the gain.
        n, lam: of nn-IoU.
        direction, unknown, progress, threads, memory, checkpoint, keep_checkpoint: as in
            `cuihop.evaluate`.

    Raises:
        InputError, ConceptError, LimitExceeded, OutputError: as `cuihop.evaluate`.
    """
    if by not in get_args(Relevance):
        raise InputError("not a relevance", column="by", found=repr(by), expected=" or ".join(get_args(Relevance)))
    if by in ("nn-iou", "bm") and graph is None:
        raise InputError(f"{by} needs a graph", column="graph", found="None", expected="a ConceptGraph")
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    images = ImageCollection.of(queries, corpus, graph, unknown)
    depth = min(checked_k(k), len(images.corpus))
    budget = MemoryBudget.of(memory)
    budget.take("rankings", _bytes_of(len(images.queries), depth))
    job: dict[str, Any] = {"work": "ranking", **images.depends(graph), "k": depth}
    job |= {"direction": direction, "unknown": unknown}
    if by in ("bm", "tf-idf"):
        job |= {"by": by}
        collections = [images.query_sets] if images.one else [images.query_sets, images.corpus_sets]
        budget.take("images and their concepts", sum(map(bytes_of, collections)))
        with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:
            work = RankingWork(budget, threads, progress, saved)
            if by == "bm" and graph is not None:
                rows = rows_by_matching(images, graph, depth, work, direction=direction)
            else:
                rows = rows_by_tfidf(images, depth, work)
        return _ranking_of(rows, images, f"by {by}")
    hops, lam = (n, lam) if by == "nn-iou" else (0, 0.0)
    index = images.index(graph, hops=hops, direction=direction, memory=budget)
    rows = np.empty((len(images.queries), depth), dtype=np.int32)
    job |= {"n": hops, "lambda": lam}
    with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:

        def receive(scores: Scores) -> None:
            found = scores.best_others(0, images.own_rows[scores.queries])[1]
            rows[scores.queries] = found
            if saved is not None:
                saved.add(FinishedBlock(0, scores.block, scores.queries, found.astype(np.float64)))

        done = [] if saved is None else saved.finished
        for block in done:
            rows[block.queries] = block.values.astype(np.int32)
        index.score(
            [lam],
            depth + 1,
            lambda places: np.empty((len(places), 0), dtype=np.int32),
            receive,
            threads=threads,
            progress=progress,
            done={block.number for block in done},
        )
    return _ranking_of(rows, images, f"by {by}")


def _ranking_of(rows: npt.NDArray[np.int32], images: ImageCollection, source: str) -> Ranking:
    """From places in the corpus, -1 beyond its end."""
    lengths = (rows >= 0).sum(axis=1)
    return Ranking.from_lists(rows[rows >= 0], lengths, images.query_names, images.corpus_names, source)


def random_ranking(
    queries: object, k: int, *, corpus: object = None, seed: int = 0, memory: int | str = DEFAULT_MEMORY
) -> Ranking:
    """Images of the corpus in random order, k for each query, without the query itself.

    It depends on the names of the images and on the seed, not on the order of the files.

    Args:
        queries, corpus: as in `cuihop.evaluate`.
        k: how many.
        seed: a whole number of at least 0; the same gives the same.
        memory: as in `cuihop.evaluate`.

    Raises:
        InputError: k or the seed is out of its range.
        LimitExceeded: the rankings need more memory than is allowed.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", column="seed", found=repr(seed), expected="a whole number, 0 or more")
    asked = tuple(ImageConcepts.of(queries))
    held = asked if corpus is None else tuple(ImageConcepts.of(corpus))
    depth = min(checked_k(k), len(held))
    MemoryBudget.of(memory).take("rankings", _bytes_of(len(asked), depth))
    own = own_rows(asked, held)
    by_name = np.array(sorted(range(len(held)), key=held.__getitem__), dtype=np.int32)
    drawn = min(depth + 1, len(held))  # one more than needed: the query may be among them
    rows = np.full((len(asked), depth), -1, dtype=np.int32)
    generator = np.random.default_rng(seed)
    for query in sorted(range(len(asked)), key=asked.__getitem__):
        chosen = by_name[generator.choice(len(held), drawn, replace=False)]
        chosen = chosen[chosen != own[query]][:depth]
        rows[query, : len(chosen)] = chosen
    return Ranking.from_lists(rows[rows >= 0], (rows >= 0).sum(axis=1), asked, held, f"random, seed {seed}")


def _bytes_of(queries: int, depth: int) -> int:
    """What making rankings takes: the table, where it is filled, and one list after the other."""
    return queries * depth * 9
