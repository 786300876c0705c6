"""Rankings of a collection by gains between its distinct concept sets, exactly; and the gains of BM.

Images with equal sets share all their gains. For BM every query's concept set is matched with every set of the corpus.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.bipartite_matching import DividedBy
from cuihop.relevance.concept_sets import ConceptSets, grouped
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import Float64, Int32, Int64, UInt8
from cuihop.resources.block_work import BlockStore
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources

Gains = Callable[[int, int], Float64]
"""From the first and the last query set of a block (the last left out) to float64, shape (block, corpus sets).

A gain that cannot be among the largest may be -1."""

_FARTHEST = 254
_NO_PATH = 255
_BYTES_IN_TRANSIT = 5  # of the distance of two concepts, while all are fetched from the graph
_BYTES_A_PAIR = 60  # bound and its contested flag, divisor, gains, and their partition
_FINEST = 2**40  # sums of weights stay below 2**53, in which float64 is exact, for sets of up to 8,192 concepts
_SETS_A_BLOCK = 32
_BYTES_AN_IMAGE = 40  # of one query: gains of all images, those above 0, and their order


@dataclass(frozen=True, eq=False)
class RankingJob:
    """Memory, resources and blocks of a ranking by gain, which does not depend on them."""

    memory: MemoryBudget
    resources: Resources
    blocks: BlockStore


def rank_by_gain(
    images: ImageCollection,
    queries: ConceptSets,
    corpus: ConceptSets,
    depth: int,
    gains: Gains,
    *,
    bytes_a_pair: int,
    bytes_a_thread: int,
    job: RankingJob,
) -> None:
    """The images of the largest gain for each query, itself left out: gain descending, then name ascending.

    They are stored as indices in the corpus; -1 beyond the last.

    Args:
        queries, corpus: sets of the collection, those of the queries that are left.
        depth: number of images, at most that of the corpus.
        gains: called for each block, from several threads at once.
        bytes_a_pair: memory of gains for a query set and a corpus set. bytes_a_thread: their other memory.

    Raises:
        LimitExceeded: the memory allowed is not enough for one thread.
    """
    names = images.corpus_names
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
    a_thread = bytes_a_thread + _SETS_A_BLOCK * len(corpus) * bytes_a_pair + len(names) * _BYTES_AN_IMAGE
    job.memory.take("gains of a block", a_thread)
    threads = min(job.resources.block_threads, 1 + job.memory.left // a_thread)
    ranked = _RankedBlocks(
        gains, len(queries), corpus.of[by_name], by_name, grouped(queries.of, len(queries)), images.own_rows,
        job.blocks.left, depth, threads,
    )  # fmt: skip
    job.blocks.fill(ranked, progress=job.resources.progress, cluster=job.resources.cluster)


@dataclass(frozen=True, eq=False)
class _RankedBlocks:
    """The images of the largest gain, in blocks of query sets.

    Attributes:
        sets: number of query sets. set_of: the set of each image of the corpus, by name; by_name: its index.
        askers: set → its queries, in compressed rows. own_rows: the index of each query in the corpus.
        query_places: as in `cuihop.relevance.relevance_blocks.RelevanceBlocks`. depth: number of images.
    """

    gains: Gains
    sets: int
    set_of: Int32
    by_name: Int32
    askers: tuple[Int64, Int64]
    own_rows: Int32
    query_places: Int64 | None
    depth: int
    threads: int

    def __len__(self) -> int:
        return math.ceil(self.sets / _SETS_A_BLOCK)

    def _bounds(self, number: int) -> tuple[int, int]:
        first = number * _SETS_A_BLOCK
        return first, min(first + _SETS_A_BLOCK, self.sets)

    def places(self, number: int) -> Int64:
        first, last = self._bounds(number)
        here = self.askers[1][self.askers[0][first] : self.askers[0][last]]
        return here if self.query_places is None else self.query_places[here]

    def values(self, number: int) -> Float64:
        """Indices in the corpus, the best image first; -1 beyond the last."""
        first, last = self._bounds(number)
        queries = self.places(number)
        rows = np.full((len(queries), self.depth), -1.0)
        largest = min(self.depth + 1, len(self.by_name))  # one more: the query may be among them
        ends = self.askers[0] - self.askers[0][first]
        for offset, of_sets in enumerate(self.gains(first, last)):
            of_images = of_sets[self.set_of]
            positive = of_images[of_images > 0]  # most gains may be 0: equal values are slow to partition
            least = (
                np.partition(positive, len(positive) - largest)[len(positive) - largest]
                if len(positive) > largest
                else 0.0
            )
            candidates = np.flatnonzero(of_images >= least)
            best = self.by_name[candidates[np.argsort(-of_images[candidates], kind="stable")[:largest]]]
            for row in range(ends[first + offset], ends[first + offset + 1]):
                others = best[best != self.own_rows[queries[row]]][: self.depth]
                rows[row, : len(others)] = others
        return rows


def fill_by_matching(
    images: ImageCollection,
    graph: ConceptGraph,
    depth: int,
    job: RankingJob,
    *,
    by: DividedBy = "min",
    direction: Direction = "any",
) -> None:
    """Store the images of the largest BM for each query: see `cuihop.measures.bipartite_matching` and `rank_by_gain`.

    Every pair of distinct concept sets is matched. Weights are whole numbers, so equal values are ties. If two
    concepts of the collection are 28 hops apart or more, weights are rounded to 12 digits; more than 254 hops weigh 0.
    """
    occurring = sorted({c for sets in (images.query_sets, images.corpus_sets) for one in sets.distinct for c in one})
    ordered = [c for c in occurring if c not in images.resolved.isolated]
    held = len(ordered)
    ordered += [c for c in occurring if c in images.resolved.isolated]
    numbers = {concept: number for number, concept in enumerate(ordered)}
    queries, corpus = images.numbered_sets(numbers, job.blocks.left)
    job.memory.take("distances of concepts", len(ordered) ** 2 + held**2 * _BYTES_IN_TRANSIT)
    hops = _hops(ordered, held, graph, direction)
    gains = _Gains(queries, corpus, hops, by, depth + 1)  # one more: the query may be among them
    largest = max(queries.largest, corpus.largest)
    rank_by_gain(
        images, queries, corpus, depth, gains, bytes_a_pair=_BYTES_A_PAIR,
        bytes_a_thread=8 * largest * (len(hops) + largest), job=job,
    )  # fmt: skip


def _hops(concepts: list[str], held: int, graph: ConceptGraph, direction: Direction) -> UInt8:
    """Hops from each concept to each other, shape (concepts, concepts); the first ``held`` are in the graph."""
    hops = np.full((len(concepts), len(concepts)), _NO_PATH, dtype=np.uint8)
    np.fill_diagonal(hops, 0)
    if held:
        pack = graph.pack(concepts[:held], hops=_FARTHEST, direction=direction)
        hops[np.repeat(np.arange(held), np.diff(pack.indptr)), pack.indices] = pack.hops
    return hops


def _weights(hops: UInt8) -> tuple[Int64, int]:
    """Weight of each number of hops as a whole number, shape (256,), and the number that stands for 1."""
    farthest = int(np.where(hops == _NO_PATH, 0, hops).max(initial=0))
    scale = min(math.lcm(*range(1, farthest + 2)), _FINEST)
    weight_of = np.array([round(scale / (1 + d)) for d in range(_NO_PATH)] + [0], dtype=np.int64)
    return weight_of, scale


class _Gains:
    """BM of blocks of query sets with all corpus sets; -1 if it cannot be among the ``count`` largest."""

    def __init__(self, queries: ConceptSets, corpus: ConceptSets, hops: UInt8, by: DividedBy, count: int) -> None:
        self._queries, self._corpus, self._by, self._count = queries, corpus, by, count
        self._hops = hops
        self._weight_of, self._scale = _weights(hops)
        self._thread = threading.local()

    def __reduce__(self) -> tuple[type[_Gains], tuple[Any, ...]]:
        return _Gains, (self._queries, self._corpus, self._hops, self._by, self._count)

    def __call__(self, first: int, last: int) -> Float64:
        from cuihop._kernels.assignment import bounds, solve

        own = self._thread
        if not hasattr(own, "scratch"):
            largest = int(max(self._queries.sizes.max(), self._corpus.sizes.max(), 1))
            own.weights = np.empty((largest, len(self._hops)), dtype=np.int64)
            own.taken = np.zeros(largest, dtype=np.int64)
            own.table = np.empty((largest, largest), dtype=np.int64)
            own.scratch = np.empty((6, largest + 1), dtype=np.int64)
        totals = np.empty((last - first, len(self._corpus)), dtype=np.int64)
        contested = np.empty(totals.shape, dtype=np.bool_)
        sets = (
            first, self._queries.indptr, self._queries.concepts, self._corpus.indptr, self._corpus.concepts,
            self._hops, self._weight_of,
        )  # fmt: skip
        bounds(*sets, own.weights, own.taken, totals, contested)
        divisor = self._divisor(first, last)
        highest = 2 * totals / divisor
        beaten = np.zeros(totals.shape, dtype=np.bool_)
        if self._count < totals.shape[1]:  # that many sets are surely as good as the least of them
            sure = np.where(contested, -1.0, highest)
            beaten = highest < -np.partition(-sure, self._count - 1, axis=1)[:, self._count - 1 : self._count]
        solve(*sets, own.table, own.scratch, contested & ~beaten, totals)
        gains: Float64 = np.where(beaten, -1.0, 2 * totals / divisor)
        return gains

    def _divisor(self, first: int, last: int) -> Int64:
        """Twice the divisor of the totals; 1 for two empty sets."""
        ours, theirs = self._queries.sizes[first:last, np.newaxis], self._corpus.sizes
        sizes = {"min": 2 * np.minimum(ours, theirs), "max": 2 * np.maximum(ours, theirs), "mean": ours + theirs}
        divisor: Int64 = np.maximum(sizes[self._by] * self._scale, 1)
        return divisor
