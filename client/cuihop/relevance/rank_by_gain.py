"""Rankings of a collection by gains between its distinct concept sets: images with equal sets share all their gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.relevance.concept_sets import ConceptSets, grouped
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import Checkpoint
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Gains = Callable[[int, int], Float64]
"""From the first and the last query set of a block (the last left out) to float64, shape (block, corpus sets).

A gain that cannot be among the largest may be given as -1."""

_SETS_A_BLOCK = 32
_BYTES_AN_IMAGE = 40  # of one query: gains of all images, those above 0, and their order


@dataclass(frozen=True, eq=False)
class RankingWork:
    """Resources of a ranking by gain, opened; no place in it depends on them.

    Attributes:
        memory: its allowance. resources: threads, progress and more. saved: the finished blocks.
    """

    memory: MemoryBudget
    resources: Resources = Resources()
    saved: Checkpoint | None = None

    def blocks(self, rows: Int32) -> BlockStore:
        """The finished blocks, put into rows of places in the corpus, and those to come."""

        def store(places: Int64, values: Float64) -> None:
            rows[places] = values.astype(np.int32)

        return BlockStore(store, len(rows), places=self.resources.places, saved=self.saved)


def rank_by_gain(
    images: ImageCollection,
    queries: ConceptSets,
    corpus: ConceptSets,
    depth: int,
    gains: Gains,
    blocks: BlockStore,
    *,
    bytes_a_pair: int,
    bytes_a_thread: int,
    work: RankingWork,
) -> None:
    """The images of the largest gain for each query, itself left out: gain descending, then name ascending.

    They are stored as places in the corpus; -1 where it has fewer.

    Args:
        images: the collection; queries, corpus: its sets, those of the queries that are left.
        depth: number of images, at most that of the corpus.
        gains: called for each block, from several threads at once. blocks: store what is computed.
        bytes_a_pair: memory of gains for a query set and a corpus set. bytes_a_thread: their other memory.
        work: the resources.

    Raises:
        LimitExceeded: the memory allowed is not enough for one thread.
    """
    names = images.corpus_names
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
    a_thread = bytes_a_thread + _SETS_A_BLOCK * len(corpus) * bytes_a_pair + len(names) * _BYTES_AN_IMAGE
    work.memory.take("gains of a block", a_thread)
    threads = min(work.resources.block_threads, 1 + work.memory.left // a_thread)
    found = _RankedBlocks(
        gains, len(queries), corpus.of[by_name], by_name, grouped(queries.of, len(queries)), images.own_rows,
        blocks.left, depth, threads,
    )  # fmt: skip
    blocks.fill(found, progress=work.resources.progress, cluster=work.resources.cluster)


@dataclass(frozen=True, eq=False)
class _RankedBlocks:
    """The images of the largest gain, in blocks of query sets.

    Attributes:
        gains: of a block. sets: number of query sets. set_of: the set of each image of the corpus, by name; by_name:
            its place. askers: set → its queries, in compressed rows. own_rows: the place of each query in the corpus.
        query_places: as in `cuihop.relevance.relevance_blocks.RelevanceBlocks`. depth: number of images.
        threads: number that there is memory for.
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
        """Places in the corpus, the best image first; -1 where it has fewer."""
        first, last = self._bounds(number)
        places = self.places(number)
        rows = np.full((len(places), self.depth), -1.0)
        largest = min(self.depth + 1, len(self.by_name))  # one more: the query may be among them
        ends = self.askers[0] - self.askers[0][first]
        for offset, of_sets in enumerate(self.gains(first, last)):
            of_images = of_sets[self.set_of]
            some = of_images[of_images > 0]  # most gains may be 0: equal values are slow to partition
            least = np.partition(some, len(some) - largest)[len(some) - largest] if len(some) > largest else 0.0
            candidates = np.flatnonzero(of_images >= least)
            best = self.by_name[candidates[np.argsort(-of_images[candidates], kind="stable")[:largest]]]
            for row in range(ends[first + offset], ends[first + offset + 1]):
                others = best[best != self.own_rows[places[row]]][: self.depth]
                rows[row, : len(others)] = others
        return rows
