"""The concept sets of a collection and their neighbourhoods, numbered for the evaluation kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.nn_iou import Weight
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
        graph: the source of distances; may be ``None`` for ``hops=0``.
        hops: n.
        direction: direction of the hops from a concept of the query to one of the corpus.
        weight: of a near concept.
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
        *,
        hops: int,
        direction: Direction,
        isolated: Collection[str],
        weight: Weight = "constant",
        memory: MemoryBudget | None = None,
    ) -> None:
        self._memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
        collections = [corpus] if queries is corpus else [queries, corpus]
        self._memory.take("images and their concepts", sum(map(bytes_of, collections)))
        concepts = sorted({concept for images in collections for image in images for concept in image})
        in_graph = [concept for concept in concepts if concept not in isolated]
        ordered = in_graph + [concept for concept in concepts if concept in isolated]
        numbers = {concept: number for number, concept in enumerate(ordered)}
        self._corpus = ConceptSets.numbered(corpus, numbers)
        self._queries = self._corpus if queries is corpus else ConceptSets.numbered(queries, numbers)
        self._concepts = len(ordered)
        self._by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
        members, images = grouped(self._corpus.of[self._by_name], len(self._corpus))
        self._members = members, images.astype(np.int32)
        self._holders = transposed(self._corpus, self._concepts)
        self._by_hops = weight == "hops" and hops > 0
        self._near = self._neighbourhoods(in_graph, graph, hops, direction)
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
        from cuihop._kernels import relevance
        from cuihop._kernels.best_images import NOBODY

        askers, queries = self._askers
        levels = np.array(lams, dtype=np.float64)
        blocks = self._blocks(wanted)
        sets = len(self._corpus)
        counter = relevance.counter_type(self._queries.largest, self._corpus.largest)
        most = max(int(askers[last] - askers[first]) for first, last in blocks)
        near_kinds = 2 if self._by_hops else 1
        a_thread = ((1 + near_kinds) * np.dtype(counter).itemsize + 1) * sets + 4 * self._concepts * len(self._near)
        a_thread += 8 * sets * len(levels) * self._by_hops
        a_thread += _SETS_A_BLOCK * wanted * len(levels) * 12 + most * (wanted + depth) * (len(levels) * 24 + 32)
        self._memory.take("blocks of queries", a_thread)
        count = min(checked_threads(threads), len(blocks), 1 + self._memory.left // a_thread)
        self._memory.take("blocks of queries", (count - 1) * a_thread)
        holders, of_near, lines = rows_and_lines(
            self._queries, self._corpus, self._near, self._holders, self._memory.left
        )
        near, near_holders = self._near[0], of_near[0]
        if self._by_hops:
            near, near_holders = _in_layers(self._near), _rows_in_layers(of_near)
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
                scratch = self._scratch(counter, len(levels))
            kernel: Any = relevance.score_by_hops if self._by_hops else relevance.score
            kernel(
                first, self._queries.indptr, self._queries.concepts, *near, holders.indptr, holders.sets,
                holders.line, near_holders.indptr, near_holders.sets, near_holders.line, lines,
                sizes, *self._members, by_rank, levels, askers[first : last + 1] - askers[first], retrieved_sets,
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

    def _scratch(self, counter: npt.DTypeLike, levels: int) -> tuple[npt.NDArray[Any], ...]:
        """Scratch of one thread: see the kernels."""
        sets, layers = len(self._corpus), len(self._near)
        if not self._by_hops:
            return (
                np.empty(sets, dtype=counter),
                np.empty(sets, dtype=counter),
                np.empty(sets, dtype=np.uint8),
                np.zeros(self._concepts, dtype=np.int32),
            )
        return (
            np.empty(sets, dtype=counter),
            np.empty((2, sets), dtype=counter),
            np.empty(sets, dtype=np.uint8),
            np.zeros((layers, self._concepts), dtype=np.int32),
            np.empty((levels, sets), dtype=np.float64),
        )


def _in_layers(rows: Sequence[tuple[Int64, Int32]]) -> tuple[Int64, Int32]:
    """Compressed rows of several n as one array of values, with the offsets of each n in a row of another."""
    starts = bounds_of([len(values) for _, values in rows])
    indptr = np.stack([offsets + start for (offsets, _), start in zip(rows, starts, strict=False)])
    return indptr, np.concatenate([values for _, values in rows])


def _rows_in_layers(rows: Sequence[SetRows]) -> SetRows:
    """The same of rows and lines."""
    return SetRows(*_in_layers([(each.indptr, each.sets) for each in rows]), np.stack([each.line for each in rows]))
