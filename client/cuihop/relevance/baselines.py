"""Baseline rankings: the best by concepts, and chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from cuihop.collection.dataset import DataLike, Dataset
from cuihop.collection.image_rows import own_rows
from cuihop.errors import InputError, checked_choice
from cuihop.files.content_digest import content_digest
from cuihop.graph import ConceptGraph
from cuihop.measures.dcg import checked_k
from cuihop.measures.nearness import Nearness, NearnessValues
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.relevance.concept_sets import ConceptSets, bytes_of
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.rank_by_gain import RankingJob, fill_by_matching, rank_by_gain
from cuihop.relevance.relevance_blocks import RelevanceWork
from cuihop.resources.arrays import Float64, Int32, Int64, bounds_of
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.resources import Resources

__all__ = ["Relevance", "random_ranking", "top_k"]

Relevance: TypeAlias = Literal["iou", "nn-iou", "bm", "tf-idf"]
"""Relevance of an image: IoU, nn-IoU, BM (bipartite matching), or the cosine of TF-IDF vectors of concepts."""


def top_k(
    images: DataLike,
    graph: ConceptGraph | None,
    k: int,
    *,
    by: Relevance = "nn-iou",
    nearness: Nearness = Nearness(),
    query_image: QueryImage = "exclude",
    resources: Resources = Resources(),
    **near: Unpack[NearnessValues],
) -> Ranking:
    """The k most relevant images of the corpus for each query: gain descending, then image ascending; exact.

    Images without any gain come last, in the order of their names.

    Args:
        images: a `Dataset`, or image → its concepts, if the queries are the corpus.
        graph: the source of distances; ``iou`` and ``tf-idf`` need none.
        k: number of images for each query.
        by: the gain.
        nearness, query_image, resources, near: as in `cuihop.evaluate`.

    Raises:
        InputError, ConceptError, LimitExceeded, OutputError: as `cuihop.evaluate`.
    """
    nearness = nearness.having(near)
    checked_choice("by", by, Relevance, "not a relevance")
    if by in ("nn-iou", "bm") and graph is None:
        raise InputError(f"{by} needs a graph", column="graph", found="None", expected="a ConceptGraph")
    collection = ImageCollection.of(images, graph, nearness.unknown, query_image)
    depth = min(checked_k(k), len(collection.corpus))
    budget = resources.budget()
    budget.take("rankings", _bytes_of(len(collection.queries), depth))
    content: dict[str, Any] = {"work": "ranking", **collection.depends(graph), "k": depth}
    content |= {"direction": nearness.direction, "unknown": nearness.unknown}
    hops, lam = (nearness.n, nearness.lam) if by == "nn-iou" else (0, 0.0)
    if by in ("bm", "tf-idf"):
        content |= {"by": by}
        collections = [collection.query_sets] if collection.one else [collection.query_sets, collection.corpus_sets]
        budget.take("images and their concepts", sum(map(bytes_of, collections)))
    else:
        content |= {"n": hops, "lambda": lam, "weight": nearness.weight, "ic": nearness.ic}
    with open_checkpoint(resources.checkpoint, content, keep=resources.keep_checkpoint) as saved:
        rows = np.full((len(collection.queries), depth), -1, dtype=np.int32)
        blocks = BlockStore(rows.__setitem__, len(rows), positions=resources.places, saved=saved)
        job = RankingJob(budget, resources, blocks)
        if blocks.complete:
            pass
        elif by == "tf-idf":
            _fill_by_tfidf(collection, depth, job)
        elif by == "bm" and graph is not None:
            fill_by_matching(collection, graph, depth, job, direction=nearness.direction)
        else:
            _fill_by_overlap(collection, graph, replace(nearness, n=hops, lam=lam), depth, job)
    names = collection.query_names, collection.corpus_names
    return _ranking_of(rows, *names, f"by {by}", query_image).computed(content_digest(content), resources.places)


def _fill_by_overlap(
    images: ImageCollection, graph: ConceptGraph | None, nearness: Nearness, depth: int, job: RankingJob
) -> None:
    """Store the images of the largest nn-IoU or IoU for each query."""
    resources = job.resources
    index = images.index(graph, nearness, job.memory, job.blocks.left)
    scored = index.blocks([nearness.lam], depth + 1, threads=resources.block_threads)
    best = _OverlapBlocks(scored, images.own_rows)
    job.blocks.fill(best, progress=resources.progress, cluster=resources.cluster)


@dataclass(frozen=True, eq=False)
class _OverlapBlocks(RelevanceWork):
    """The images of the largest gain, in blocks of queries."""

    def values(self, number: int) -> Float64:
        """Indices in the corpus, the best image first."""
        return self.best(number)[0][1].astype(np.float64)


def _fill_by_tfidf(images: ImageCollection, depth: int, job: RankingJob) -> None:
    """Store the images of the largest cosine for each query: see `rank_by_gain`.

    A concept weighs ln((1 + N) / (1 + N_c)) + 1, where N_c of the N images of the corpus have it (scikit-learn's
    ``TfidfTransformer`` with its defaults). Each image has a concept once or not at all.
    """
    occurring = sorted({c for sets in (images.query_sets, images.corpus_sets) for one in sets.distinct for c in one})
    numbers = {concept: number for number, concept in enumerate(occurring)}
    queries, corpus = images.numbered_sets(numbers, job.blocks.left)
    owners = np.repeat(np.arange(len(corpus)), corpus.sizes)
    order = np.argsort(corpus.concepts, kind="stable")
    ends = bounds_of(np.bincount(corpus.concepts, minlength=len(numbers)))
    times = np.bincount(corpus.of, minlength=len(corpus))  # images of each set
    having = np.bincount(corpus.concepts, weights=times[owners], minlength=len(numbers))
    squares = (np.log((1 + len(images.corpus_names)) / (1 + having)) + 1) ** 2
    lengths, query_lengths = _vector_lengths(corpus, squares), _vector_lengths(queries, squares)
    gains = _Cosines(queries, ends, owners[order], squares, lengths, query_lengths)
    rank_by_gain(images, queries, corpus, depth, gains, bytes_a_pair=8, bytes_a_thread=16 * len(corpus), job=job)


@dataclass(frozen=True, eq=False)
class _Cosines:
    """Cosines of blocks of query sets with all corpus sets.

    Attributes:
        ends, holders: concept → the sets of the corpus that hold it, in compressed rows.
        squares: of the weight of each concept. lengths, query_lengths: of the vectors.
    """

    queries: ConceptSets
    ends: Int64
    holders: Int64
    squares: Float64
    lengths: Float64
    query_lengths: Float64

    def __call__(self, first: int, last: int) -> Float64:
        cosines = np.zeros((last - first, len(self.lengths)), dtype=np.float64)
        for query in range(first, last):
            row = cosines[query - first]
            for concept in self.queries.concepts[self.queries.indptr[query] : self.queries.indptr[query + 1]]:
                row[self.holders[self.ends[concept] : self.ends[concept + 1]]] += self.squares[concept]
            row /= self.lengths * self.query_lengths[query]
        return cosines


def _vector_lengths(sets: ConceptSets, squares: Float64) -> Float64:
    """Length of each set's vector; 1 for the empty set, which has no direction."""
    owners = np.repeat(np.arange(len(sets)), sets.sizes)
    summed = np.bincount(owners, weights=squares[sets.concepts], minlength=len(sets))
    lengths: Float64 = np.sqrt(np.where(summed > 0, summed, 1.0))
    return lengths


def _ranking_of(
    rows: Int32, queries: tuple[str, ...], corpus: tuple[str, ...], source: str, query_image: QueryImage
) -> Ranking:
    """From indices in the corpus, -1 beyond its end."""
    lengths = (rows >= 0).sum(axis=1)
    return Ranking.from_lists(rows[rows >= 0], lengths, queries, corpus, source, query_image=query_image)


def random_ranking(
    images: DataLike,
    k: int,
    *,
    seed: int = 0,
    query_image: QueryImage = "exclude",
    memory: int | str = DEFAULT_MEMORY,
) -> Ranking:
    """Images of the corpus in random order, k for each query.

    It depends on the names of the images and on the seed, not on the order of the files.

    Args:
        images: as in `top_k`.
        k: number of images for each query.
        seed: a whole number of at least 0; the same gives the same.
        query_image: as in `cuihop.evaluate`.
        memory: allowance, as in `cuihop.resources.resources.Resources`.

    Raises:
        InputError: k or the seed is out of its range.
        LimitExceeded: the rankings need more memory than is allowed.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", column="seed", found=repr(seed), expected="a whole number, 0 or more")
    queries, corpus = map(tuple, Dataset.of(images).images)
    depth = min(checked_k(k), len(corpus))
    MemoryBudget.of(memory).take("rankings", _bytes_of(len(queries), depth))
    own = own_rows(queries, corpus)
    by_name = np.array(sorted(range(len(corpus)), key=corpus.__getitem__), dtype=np.int32)
    number = min(depth + 1, len(corpus))  # one more than needed: the query may be among them
    rows = np.full((len(queries), depth), -1, dtype=np.int32)
    generator = np.random.default_rng(seed)
    for query in sorted(range(len(queries)), key=queries.__getitem__):
        selected = by_name[generator.choice(len(corpus), number, replace=False)]
        if query_image == "exclude":
            selected = selected[selected != own[query]]
        rows[query, : len(selected[:depth])] = selected[:depth]
    checked_choice("query_image", query_image, QueryImage)
    return _ranking_of(rows, queries, corpus, f"random, seed {seed}", query_image)


def _bytes_of(queries: int, depth: int) -> int:
    """Memory of rankings while they are computed: a table of indices, and the lists computed from it."""
    return queries * depth * 9
