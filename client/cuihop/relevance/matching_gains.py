"""BM of whole collections: every query's concept set against every set of the corpus, exactly."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.bipartite_matching import DividedBy
from cuihop.relevance.concept_sets import ConceptSets
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.rank_by_gain import Float64, Int32, Int64, RankingWork, rank_by_gain

_FARTHEST = 254
_NO_PATH = 255
_BYTES_ON_THE_WAY = 5  # of the distance of two concepts, while all are fetched from the graph
_BYTES_A_PAIR = 60  # bound and its contested flag, divisor, gains, and their partition
_FINEST = 2**40  # sums of weights stay below 2**53, where float64 is exact, for sets of up to 8,192 concepts


def rows_by_matching(
    images: ImageCollection,
    graph: ConceptGraph,
    depth: int,
    work: RankingWork,
    *,
    by: DividedBy = "min",
    direction: Direction = "any",
) -> Int32:
    """The images of the largest BM for each query: see `cuihop.measures.bipartite_matching` and `rank_by_gain`.

    Every pair of distinct concept sets is matched. Weights are whole numbers, so equal values are ties. Where two
    concepts of the collection are 28 hops apart or more, weights are rounded to 12 digits; more than 254 hops weigh 0.

    Raises:
        LimitExceeded: the distances of all concepts, or one block, need more memory than is allowed.
    """
    rows = np.full((len(images.query_names), depth), -1, dtype=np.int32)
    blocks = work.blocks(rows)
    if blocks.complete:
        return rows
    occurring = sorted({c for sets in (images.query_sets, images.corpus_sets) for one in sets.distinct for c in one})
    ordered = [c for c in occurring if c not in images.resolved.isolated]
    held = len(ordered)
    ordered += [c for c in occurring if c in images.resolved.isolated]
    numbers = {concept: number for number, concept in enumerate(ordered)}
    queries, corpus = images.numbered_sets(numbers, blocks.left)
    work.memory.take("distances of concepts", len(ordered) ** 2 + held**2 * _BYTES_ON_THE_WAY)
    hops = _hops(ordered, held, graph, direction)
    gains = _Gains(queries, corpus, hops, by, depth + 1)  # one more: the query may be among them
    largest = max(queries.largest, corpus.largest)
    rank_by_gain(
        images, queries, corpus, depth, gains, blocks, bytes_a_pair=_BYTES_A_PAIR,
        bytes_a_thread=8 * largest * (len(hops) + largest), work=work,
    )  # fmt: skip
    return rows


def _hops(concepts: list[str], held: int, graph: ConceptGraph, direction: Direction) -> npt.NDArray[np.uint8]:
    """Hops from each concept to each other, shape (concepts, concepts); the first ``held`` are in the graph."""
    hops = np.full((len(concepts), len(concepts)), _NO_PATH, dtype=np.uint8)
    np.fill_diagonal(hops, 0)
    if held:
        pack = graph.pack(concepts[:held], hops=_FARTHEST, direction=direction)
        hops[np.repeat(np.arange(held), np.diff(pack.indptr)), pack.indices] = pack.hops
    return hops


def _weights(hops: npt.NDArray[np.uint8]) -> tuple[Int64, int]:
    """Weight of each number of hops as a whole number, shape (256,), and the number that stands for 1."""
    farthest = int(np.where(hops == _NO_PATH, 0, hops).max(initial=0))
    scale = min(math.lcm(*range(1, farthest + 2)), _FINEST)
    weight_of = np.array([round(scale / (1 + d)) for d in range(_NO_PATH)] + [0], dtype=np.int64)
    return weight_of, scale


class _Gains:
    """BM of blocks of query sets with all corpus sets; -1 where it cannot be among the ``wanted`` largest.

    Each thread has memory of its own.
    """

    def __init__(
        self, queries: ConceptSets, corpus: ConceptSets, hops: npt.NDArray[np.uint8], by: DividedBy, wanted: int
    ) -> None:
        self._queries, self._corpus, self._by, self._wanted = queries, corpus, by, wanted
        self._hops = hops
        self._weight_of, self._scale = _weights(hops)
        self._thread = threading.local()

    def __reduce__(self) -> tuple[type[_Gains], tuple[Any, ...]]:
        return _Gains, (self._queries, self._corpus, self._hops, self._by, self._wanted)

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
        if self._wanted < totals.shape[1]:  # that many sets are surely as good as the least of them
            sure = np.where(contested, -1.0, highest)
            beaten = highest < -np.partition(-sure, self._wanted - 1, axis=1)[:, self._wanted - 1 : self._wanted]
        solve(*sets, own.table, own.scratch, contested & ~beaten, totals)
        gains: Float64 = np.where(beaten, -1.0, 2 * totals / divisor)
        return gains

    def _divisor(self, first: int, last: int) -> Int64:
        """Twice the divisor of the totals; 1 for two empty sets."""
        ours, theirs = self._queries.sizes[first:last, np.newaxis], self._corpus.sizes
        sizes = {"min": 2 * np.minimum(ours, theirs), "max": 2 * np.maximum(ours, theirs), "mean": ours + theirs}
        divisor: Int64 = np.maximum(sizes[self._by] * self._scale, 1)
        return divisor
