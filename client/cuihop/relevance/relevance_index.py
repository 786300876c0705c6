"""The concept sets of a collection and their neighbourhoods, numbered for the evaluation kernel."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.distinct_sets import DistinctSets
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.near_weight import BY_SIMILARITY, pair_similarities
from cuihop.measures.nearness import Nearness
from cuihop.relevance.concept_sets import ConceptSets, SetRows, bytes_of, grouped, rows_and_lines, transposed
from cuihop.resources.cores import checked_threads, in_order
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress
from cuihop.snapshot.string_table import bounds_of

__all__ = ["RelevanceIndex", "Scores"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]

_SETS_A_BLOCK = 128  # a compiled call cannot be interrupted: some hundredths of a second on 60,000 images
_BYTES_A_NEAR_CONCEPT = 16  # of one pair of near concepts: in the pack, in the rows made from it, and in transit
_BYTES_A_SIMILARITY = 48  # of such a pair: its number, once and among the distinct ones, and its similarity
_GAINS_A_BLOCK = 1 << 17  # fewer sets where many images of each are wanted: bounds the memory of a block


@dataclass(frozen=True, eq=False)
class Scores:
    """Results of the kernel for a block of queries.

    Attributes:
        block: its number. Blocks depend on the images and on the number wanted, not on threads or memory.
        queries: int64, shape (queries of the block,): their places.
        best_gains: float64, shape (λ, queries, wanted): the largest gains of the corpus, descending; 0 beyond its end.
        best_rows: int32, same shape: their images, as places in the corpus; of equal gains, the first by name comes
            first. -1 beyond the end.
        retrieved_gains: float64, shape (λ, queries, depth): the gains of the retrieved images.
    """

    block: int
    queries: Int64
    best_gains: Float64
    best_rows: Int32
    retrieved_gains: Float64

    def best_others(self, level: int, own: Int32) -> tuple[Float64, Int32]:
        """The best gains and rows for one λ without the queries themselves: one fewer than wanted.

        Args:
            level: place of the λ.
            own: int32, shape (queries of the block,): the place of each query in the corpus, -1 if it is not there.
        """
        gains, rows = self.best_gains[level], self.best_rows[level]
        others = rows.shape[1] - 1
        itself = (rows == own[:, np.newaxis]) & (rows >= 0)
        left_out = np.where(itself.any(axis=1), itself.argmax(axis=1), others)
        ranks = np.arange(others)
        ranks = ranks + (ranks >= left_out[:, np.newaxis])
        return np.take_along_axis(gains, ranks, axis=1), np.take_along_axis(rows, ranks, axis=1)


class RelevanceIndex:
    """Everything that gains of a collection depend on, but for λ.

    Args:
        queries, corpus: the concepts of each image. Pass one object twice where they are the same.
        names: of the corpus' images; decides between equal gains.
        graph: the source of distances; may be ``None`` for n = 0.
        nearness: n, direction of the hops from a concept of the query to one of the corpus, weight of a near concept.
        isolated: the concepts that the graph does not hold.
        memory: allowance of the index, its threads and their results. Tables that only make it faster are stored as far
            as there is room.

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
    ) -> None:
        self._memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
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
        found = []
        for bound in bounds:
            near = others & (pack.hops <= bound) if self._by_hops else others
            indptr = bounds_of(np.bincount(rows[near], minlength=self._concepts))
            found.append((indptr, np.ascontiguousarray(pack.indices[near])))
        return found

    def _blocks(self, wanted: int) -> list[tuple[int, int]]:
        """Query sets, first and one past the last, that are scored at once."""
        askers = self._askers[0]
        found: list[tuple[int, int]] = []
        first = 0
        for last in range(1, len(self._queries) + 1):
            full = last - first == _SETS_A_BLOCK or last == len(self._queries)
            if full or (askers[last + 1] - askers[first]) * wanted > _GAINS_A_BLOCK:
                found.append((first, last))
                first = last
        return found

    def score(
        self,
        lams: Sequence[float],
        wanted: int,
        retrieved: Callable[[Int64], Int32],
        receive: Callable[[Scores], None],
        *,
        depth: int = 0,
        threads: int | None = None,
        progress: Progress | None = None,
        done: Set[int] = frozenset(),
    ) -> None:
        """Score every query against the whole corpus, block by block.

        The numbers do not depend on the threads. An interrupt stops after the blocks that are under way.

        Args:
            lams: the values of λ.
            wanted: number of the best images.
            retrieved: the images that gain: from places of queries, int64, shape (queries,), to places in the corpus,
                int32, shape (queries, depth); -1 for none.
            receive: called with each block. As ``retrieved``, in any order and from several threads at once.
            depth: number of images that ``retrieved`` gives for each query.
            threads: at most; ``None`` is one for each core. Fewer where memory is short.
            progress: called after each block.
            done: numbers of blocks that are left out.

        Raises:
            LimitExceeded: the memory allowed is not enough for one thread.
        """
        from cuihop._kernels import relevance, weighted_relevance
        from cuihop._kernels.best_images import NOBODY

        askers, queries = self._askers
        levels = np.array(lams, dtype=np.float64)
        blocks = self._blocks(wanted)
        counter = relevance.counter_type(self._queries.largest, self._corpus.largest)
        most = max(int(askers[last] - askers[first]) for first, last in blocks)
        shapes = self._scratch_shapes(len(levels))
        a_thread = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in shapes)
        a_thread += _SETS_A_BLOCK * wanted * len(levels) * 12 + most * (wanted + depth) * (len(levels) * 24 + 32)
        self._memory.take("blocks of queries", a_thread)
        count = min(checked_threads(threads), len(blocks), 1 + self._memory.left // a_thread)
        self._memory.take("blocks of queries", (count - 1) * a_thread)
        similarity = self._similarity
        holders, of_near, lines = rows_and_lines(
            self._queries, self._corpus, self._near, self._holders, self._memory.left,
            None if similarity is None else similarity.units,
        )  # fmt: skip
        near, near_holders = self._near[0], of_near[0]
        if self._by_hops:
            near, near_holders = _in_layers(self._near), _rows_in_layers(of_near)
        kernel: Any = relevance.score_by_hops if self._by_hops else relevance.score
        tables: tuple[Any, ...] = (
            *near, holders.indptr, holders.sets, holders.line, near_holders.indptr, near_holders.sets,
            near_holders.line, lines,
        )  # fmt: skip
        if similarity is not None:
            kernel = weighted_relevance.score_by_similarity
            tables = (
                *near, similarity.weights, similarity.units, holders.indptr, holders.sets, holders.line,
                near_holders.indptr, near_holders.sets, near_holders.units, near_holders.line, lines,
                self._corpus.indptr, self._corpus.concepts,
            )  # fmt: skip
        sizes = np.diff(self._corpus.indptr).astype(counter)
        by_rank = np.ascontiguousarray(self._corpus.of[self._by_name])
        free: deque[tuple[npt.NDArray[Any], ...]] = deque()

        def block(number: int) -> int:
            first, last = blocks[number]
            if number in done:
                return int(askers[last])
            here = queries[askers[first] : askers[last]]
            best_gains = np.empty((len(levels), last - first, wanted), dtype=np.float64)
            best_images = np.empty(best_gains.shape, dtype=np.int32)
            rows = retrieved(here)
            retrieved_sets = np.where(rows >= 0, self._corpus.of[rows], np.int32(-1))
            retrieved_gains = np.zeros((len(levels), *rows.shape), dtype=np.float64)
            try:
                scratch = free.pop()
            except IndexError:
                scratch = tuple(np.zeros(shape, dtype=kind) for shape, kind in shapes)
            kernel(
                first, self._queries.indptr, self._queries.concepts, *tables, sizes, *self._members, by_rank, levels,
                askers[first : last + 1] - askers[first], retrieved_sets,
                *scratch, best_gains, best_images, retrieved_gains,
            )  # fmt: skip
            free.append(scratch)
            own_set = self._queries.of[here] - first
            images = best_images[:, own_set]
            best_rows = np.where(images >= 0, self._by_name[images], NOBODY)
            receive(Scores(number, here, best_gains[:, own_set], best_rows, retrieved_gains))
            return int(askers[last])

        for queries_done in in_order(block, range(len(blocks)), count):
            if progress is not None:
                progress(queries_done, len(queries))

    def _scratch_shapes(self, levels: int) -> list[tuple[tuple[int, ...], npt.DTypeLike]]:
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
    pairs, place = np.unique(keys, return_inverse=True)
    ends = (divmod(pair, len(concepts)) for pair in pairs.tolist())
    values = pair_similarities(graph, ((concepts[a], concepts[b]) for a, b in ends), nearness.weight, nearness.ic)[
        place.ravel()
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
    """The same of rows and lines."""
    return SetRows(*_in_layers([(each.indptr, each.sets) for each in rows]), np.stack([each.line for each in rows]))
