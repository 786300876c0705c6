"""The concept sets of a collection and their neighbourhoods, numbered for the evaluation kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuihop.collection.distinct_sets import DistinctSets
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.nearness import BY_SIMILARITY, Nearness, pair_similarities
from cuihop.relevance.concept_sets import ConceptSets, SetRows, bytes_of, grouped, rows_and_lines, transposed
from cuihop.relevance.relevance_blocks import (
    Kind,
    RelevanceBlocks,
    Scores,
    Shapes,
    blocks_of_sets,
    bytes_of_block,
)
from cuihop.resources.arrays import Float64, Int32, Int64, UInt8, bounds_of
from cuihop.resources.cores import checked_threads, in_order
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress

_BYTES_A_NEAR_CONCEPT = 16  # of one pair of near concepts: in the pack, in the rows computed from it, and in transit
_BYTES_A_SIMILARITY = 48  # of such a pair: its number, once and among the distinct ones, and its similarity


class RelevanceIndex:
    """Everything that gains of a collection depend on, but for λ.

    Args:
        queries, corpus: the concepts of each image. Pass one object twice if they are the same.
        names: of the corpus' images; decides between equal gains.
        graph: the source of distances; may be ``None`` for n = 0. isolated: the concepts that it does not hold.
        memory: allowance of the index, its threads and their results. Tables that only make it faster are stored as far
            as there is room.
        indices: int64, shape (queries,): the indices of these queries among all; without it, 0, 1, 2, ….

    Raises:
        LimitExceeded: the memory allowed is not enough.
    """

    def __init__(
        self,
        queries: Sequence[Collection[str]],
        corpus: Sequence[Collection[str]],
        names: Sequence[str],
        graph: ConceptGraph | None,
        nearness: Nearness,
        *,
        isolated: Collection[str],
        memory: MemoryBudget | None = None,
        indices: Int64 | None = None,
    ) -> None:
        self._memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
        self._indices = indices
        corpus_sets = DistinctSets.of_images(corpus)
        query_sets = corpus_sets if queries is corpus else DistinctSets.of_images(queries)
        collections = [corpus_sets] if queries is corpus else [query_sets, corpus_sets]
        self._memory.take("images and their concepts", sum(map(bytes_of, collections)))
        concepts = sorted({concept for images in collections for one in images.distinct for concept in one})
        in_graph = [concept for concept in concepts if concept not in isolated]
        ordered = in_graph + [concept for concept in concepts if concept in isolated]
        numbers = {concept: number for number, concept in enumerate(ordered)}
        self._corpus = ConceptSets.numbered(corpus_sets, numbers)
        self._queries = self._corpus if queries is corpus else ConceptSets.numbered(query_sets, numbers)
        self._concepts = len(ordered)
        self._by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
        members, images = grouped(self._corpus.of[self._by_name], len(self._corpus))
        self._members = members, images.astype(np.int32)
        self._holders = transposed(self._corpus, self._concepts)
        self._by_hops = nearness.weight == "hops" and nearness.n > 0
        self._near = self._neighbourhoods(in_graph, graph, nearness.n, nearness.direction)
        self._similarity: _Similarity | None = None
        if nearness.weight in BY_SIMILARITY and graph is not None and len(self._near[0][1]):
            self._memory.take("similarities of near concepts", len(self._near[0][1]) * _BYTES_A_SIMILARITY)
            self._near[0], self._similarity = _similar(self._near[0], in_graph, graph, nearness)
        self._askers = grouped(self._queries.of, len(self._queries))

    def _neighbourhoods(
        self, in_graph: Sequence[str], graph: ConceptGraph | None, hops: int, direction: Direction
    ) -> list[tuple[Int64, Int32]]:
        """Concepts within n hops of each concept of the queries, itself left out; by hops, those within 1, 2, … n."""
        bounds = range(1, hops + 1) if self._by_hops else [hops]
        if hops == 0 or graph is None or not in_graph:
            return [(np.zeros(self._concepts + 1, dtype=np.int64), np.empty(0, dtype=np.int32)) for _ in bounds]
        pack = graph.pack(in_graph, hops=hops, direction=direction)
        self._memory.take("near concepts", len(pack.indices) * _BYTES_A_NEAR_CONCEPT * len(bounds))
        rows = np.repeat(np.arange(len(in_graph), dtype=np.int32), np.diff(pack.indptr))
        of_queries = np.zeros(self._concepts, dtype=np.bool_)
        of_queries[self._queries.concepts] = True
        others = (pack.indices != rows) & of_queries[rows]
        rows_of = []
        for bound in bounds:
            near = others & (pack.hops <= bound) if self._by_hops else others
            indptr = bounds_of(np.bincount(rows[near], minlength=self._concepts))
            rows_of.append((indptr, np.ascontiguousarray(pack.indices[near])))
        return rows_of

    def blocks(
        self, lams: Sequence[float], count: int, *, depth: int = 0, threads: int | None = None
    ) -> RelevanceBlocks:
        """Every query against the complete corpus, in blocks of query sets. No number depends on the threads.

        Args:
            lams: the values of λ. count: number of the best images.
            depth: number of images of each query that gain in addition to them.
            threads: at most; ``None`` is one for each core. Fewer if memory is short.

        Raises:
            LimitExceeded: the memory allowed is not enough for one thread.
        """
        from cuihop._kernels import relevance, weighted_relevance

        askers = self._askers[0]
        blocks = blocks_of_sets(askers, count)
        most = max(int(askers[last] - askers[first]) for first, last in blocks)
        shapes = self._scratch_shapes(len(lams))
        a_thread = bytes_of_block(shapes, len(lams), count, depth, most)
        self._memory.take("blocks of queries", a_thread)
        thread_count = min(checked_threads(threads), len(blocks), 1 + self._memory.left // a_thread)
        self._memory.take("blocks of queries", (thread_count - 1) * a_thread)
        similarity = self._similarity
        holders, of_near, lines = rows_and_lines(
            self._queries, self._corpus, self._near, self._holders, self._memory.left,
            None if similarity is None else similarity.units,
        )  # fmt: skip
        near, near_holders = self._near[0], of_near[0]
        if self._by_hops:
            near, near_holders = _in_layers(self._near), _rows_in_layers(of_near)
        kind: Kind = "hops" if self._by_hops else "constant"
        tables: tuple[Any, ...] = relevance.Index(
            *near, holders.indptr, holders.sets, holders.line, near_holders.indptr, near_holders.sets,
            near_holders.line, lines,
        )  # fmt: skip
        if similarity is not None:
            kind = "similarity"
            tables = weighted_relevance.WeightedIndex(
                *near, similarity.weights, similarity.units, holders.indptr, holders.sets, holders.line,
                near_holders.indptr, near_holders.sets, near_holders.units, near_holders.line, lines,
                self._corpus.indptr, self._corpus.concepts,
            )  # fmt: skip
        sizes = np.diff(self._corpus.indptr).astype(relevance.counter_type(self._queries.largest, self._corpus.largest))
        by_rank = np.ascontiguousarray(self._corpus.of[self._by_name])
        return RelevanceBlocks(
            kind, tables, self._queries, self._corpus.of, sizes, self._members, self._by_name, by_rank, self._askers,
            self._indices, np.array(lams, dtype=np.float64), count, blocks, shapes, thread_count,
        )  # fmt: skip

    def scores(
        self,
        lams: Sequence[float],
        count: int,
        retrieved: Int32,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Scores]:
        """The scores of every query, block by block; computed in threads, and taken here one after the other.

        Other arguments and errors as `blocks`.

        Args:
            retrieved: int32, shape (queries, depth): the images that gain, as indices in the corpus; -1 for none.
        """
        blocks = self.blocks(lams, count, depth=retrieved.shape[1], threads=threads)
        finished = 0
        for scores in in_order(
            lambda number: blocks.scores(number, retrieved[blocks.places(number)]), range(len(blocks)), blocks.threads
        ):
            yield scores
            finished += len(scores.queries)
            if progress is not None:
                progress(finished, len(retrieved))

    def _scratch_shapes(self, levels: int) -> Shapes:
        """Shapes and types of the scratch of one thread: see the kernels."""
        from cuihop._kernels import relevance, weighted_relevance

        sets, concepts = len(self._corpus), self._concepts
        largest = self._queries.largest, self._corpus.largest
        counter = relevance.counter_type(*largest)
        if self._similarity is None:
            layers = (len(self._near),) if self._by_hops else ()
            near = (2, sets) if self._by_hops else (sets,)
            shapes = [((sets,), counter), (near, counter), ((sets,), np.uint8), ((*layers, concepts), np.int32)]
            return [*shapes, ((levels, sets), np.float64)] if self._by_hops else shapes
        bound = relevance.counter_type(*(size * weighted_relevance.UNITS for size in largest))
        links = self._similarity.links(self._queries, self._near[0])
        return [
            ((sets,), counter), ((sets,), bound), ((sets,), np.float64), ((sets + -sets % 8,), np.uint8),
            *[((sets,), np.int32)] * 2, ((sets,), np.uint8),
            *[((concepts,), np.int32)] * 3, ((concepts,), np.float64), ((concepts,), np.uint8),
            ((concepts,), np.int32), ((links,), np.int32), ((links,), np.int32), ((links,), np.float64),
            ((max(1, self._queries.largest),), np.float64),
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Similarity:
    """Similarities of near concepts, as long as their compressed rows.

    Attributes:
        weights: float64, above 0. units: uint8, rounded up; see `cuihop._kernels.weighted_relevance`.
    """

    weights: Float64
    units: UInt8

    @staticmethod
    def links(queries: ConceptSets, near: tuple[Int64, Int32]) -> int:
        """The most near concepts of all concepts of one query set, at least 1."""
        ends = np.concatenate([[0], np.cumsum(np.diff(near[0])[queries.concepts])])
        return int((ends[queries.indptr[1:]] - ends[queries.indptr[:-1]]).max(initial=1))


def _similar(
    near: tuple[Int64, Int32], concepts: Sequence[str], graph: ConceptGraph, nearness: Nearness
) -> tuple[tuple[Int64, Int32], _Similarity]:
    """The near concepts with a similarity above 0, and these similarities. Each two concepts are compared once.

    Args:
        near: compressed rows. concepts: the identifiers of their first numbers.
    """
    from cuihop._kernels.weighted_relevance import UNITS

    rows = np.repeat(np.arange(len(near[0]) - 1, dtype=np.int64), np.diff(near[0]))
    keys = np.minimum(rows, near[1]) * len(concepts) + np.maximum(rows, near[1])
    pairs, of_pair = np.unique(keys, return_inverse=True)
    ends = (divmod(pair, len(concepts)) for pair in pairs.tolist())
    values = pair_similarities(graph, ((concepts[a], concepts[b]) for a, b in ends), nearness.weight, nearness.ic)[
        of_pair.ravel()
    ]
    similar = values > 0.0
    indptr = bounds_of(np.bincount(rows[similar], minlength=len(near[0]) - 1))
    weights = values[similar]
    units = np.minimum(np.ceil(weights * UNITS), UNITS).astype(np.uint8)
    return (indptr, np.ascontiguousarray(near[1][similar])), _Similarity(weights, units)


def _in_layers(rows: Sequence[tuple[Int64, Int32]]) -> tuple[Int64, Int32]:
    """Compressed rows of several n as one array of values, with the offsets of each n in a row of another."""
    starts = bounds_of([len(values) for _, values in rows])
    indptr = np.stack([offsets + start for (offsets, _), start in zip(rows, starts, strict=False)])
    return indptr, np.concatenate([values for _, values in rows])


def _rows_in_layers(rows: Sequence[SetRows]) -> SetRows:
    """The same sets as rows in layers."""
    return SetRows(*_in_layers([(each.indptr, each.sets) for each in rows]), np.stack([each.line for each in rows]))
