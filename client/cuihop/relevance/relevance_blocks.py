"""Blocks of query sets against the complete corpus, for the evaluation kernel, in whatever thread or process."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.relevance.concept_sets import ConceptSets
from cuihop.resources.arrays import Float64, Int32, Int64

Kind: TypeAlias = Literal["constant", "hops", "similarity"]
"""The weight of a near concept, which decides the kernel."""

Shapes: TypeAlias = list[tuple[tuple[int, ...], npt.DTypeLike]]
"""Shapes and types of the scratch of one thread."""

_SETS_A_BLOCK = 128  # a compiled call cannot be interrupted: some hundredths of a second on 60,000 images
_GAINS_A_BLOCK = 1 << 17  # fewer sets if many images of each are requested: bounds the memory of a block


@dataclass(frozen=True, eq=False)
class Scores:
    """Results of the kernel for a block of queries.

    Attributes:
        queries: int64, shape (queries of the block,): their indices.
        best_gains: float64, shape (λ, queries, count): the largest gains of the corpus, descending; 0 beyond its end.
        best_rows: int32, same shape: their images, as indices in the corpus; of equal gains, the first by name comes
            first. -1 beyond the end.
        retrieved_gains: float64, shape (λ, queries, depth): the gains of the retrieved images.
    """

    queries: Int64
    best_gains: Float64
    best_rows: Int32
    retrieved_gains: Float64

    def best_others(self, level: int, own: Int32) -> tuple[Float64, Int32]:
        """The best gains and rows for one λ without the queries themselves, at ``own``: one fewer than requested."""
        gains, rows = self.best_gains[level], self.best_rows[level]
        others = rows.shape[1] - 1
        itself = (rows == own[:, np.newaxis]) & (rows >= 0)
        left_out = np.where(itself.any(axis=1), itself.argmax(axis=1), others)
        ranks = np.arange(others)
        ranks = ranks + (ranks >= left_out[:, np.newaxis])
        return np.take_along_axis(gains, ranks, axis=1), np.take_along_axis(rows, ranks, axis=1)


def blocks_of_sets(askers: Int64, count: int) -> list[tuple[int, int]]:
    """Query sets, first and one past the last, that are scored at once.

    ``askers``: int64, shape (sets + 1,): bounds of the queries of each set. ``count``: number of the best images.
    """
    blocks: list[tuple[int, int]] = []
    sets, first = len(askers) - 1, 0
    for last in range(1, sets + 1):
        full = last - first == _SETS_A_BLOCK or last == sets
        if full or (askers[last + 1] - askers[first]) * count > _GAINS_A_BLOCK:
            blocks.append((first, last))
            first = last
    return blocks


def bytes_of_block(shapes: Shapes, levels: int, count: int, depth: int, queries: int) -> int:
    """Memory of one thread: its scratch, and the results of a block with this number of queries."""
    scratch = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in shapes)
    return scratch + _SETS_A_BLOCK * count * levels * 12 + queries * (count + depth) * (levels * 24 + 32)


@dataclass(frozen=True, eq=False)
class RelevanceBlocks:
    """Tables of the kernel, and the blocks of query sets that it is called with. Made by `RelevanceIndex.blocks`.

    It can be pickled: arrays and numbers are all it holds.

    Attributes:
        tables: index of the kernel. set_of: int32, shape (corpus,): the set of each image of the corpus.
        sizes: concepts of each set of the corpus, in the kernel's type. members: set → its images by name.
        by_name: int32: the index of each image of the corpus, by name; by_rank: the set of each of these.
        askers: set → its queries. Both in compressed rows.
        query_places: int64: the indices of these queries among all; ``None`` if they are all.
        levels: the values of λ. count: number of the best images.
        blocks: first and one past the last query set of each block. shapes: scratch of a thread.
        threads: number that there is memory for.
    """

    kind: Kind
    tables: tuple[Any, ...]
    queries: ConceptSets
    set_of: Int32
    sizes: npt.NDArray[Any]
    members: tuple[Int64, Int32]
    by_name: Int32
    by_rank: Int32
    askers: tuple[Int64, Int64]
    query_places: Int64 | None
    levels: Float64
    count: int
    blocks: Sequence[tuple[int, int]]
    shapes: Shapes
    threads: int
    _free: deque[tuple[npt.NDArray[Any], ...]] = field(default_factory=deque)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_free": deque()}

    def __len__(self) -> int:
        return len(self.blocks)

    def places(self, number: int) -> Int64:
        """Places of the queries of a block: int64, shape (queries of the block,)."""
        first, last = self.blocks[number]
        here = self.askers[1][self.askers[0][first] : self.askers[0][last]]
        return here if self.query_places is None else self.query_places[here]

    def scores(self, number: int, retrieved: Int32) -> Scores:
        """Score the queries of a block; from several threads at once.

        ``retrieved``: int32, shape (queries of the block, depth): the images that gain, by their indices; -1 for none.
        """
        from cuihop._kernels import relevance, weighted_relevance
        from cuihop._kernels.best_images import NOBODY, Corpus

        first, last = self.blocks[number]
        askers, levels = self.askers[0], self.levels
        here = self.askers[1][askers[first] : askers[last]]
        best_gains = np.empty((len(levels), last - first, self.count), dtype=np.float64)
        best_images = np.empty(best_gains.shape, dtype=np.int32)
        retrieved_sets = np.where(retrieved >= 0, self.set_of[retrieved], np.int32(-1))
        retrieved_gains = np.zeros((len(levels), *retrieved.shape), dtype=np.float64)
        kernels: dict[Kind, Any] = {
            "constant": relevance.score, "hops": relevance.score_by_hops,
            "similarity": weighted_relevance.score_by_similarity,
        }  # fmt: skip
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = tuple(np.zeros(shape, dtype=kind) for shape, kind in self.shapes)
        else:
            for array in scratch:  # the stamps in it are those of this block, if it is computed once more
                array.fill(0)
        kernels[self.kind](
            relevance.Block(
                first, self.queries.indptr, self.queries.concepts, levels, askers[first : last + 1] - askers[first],
                retrieved_sets,
            ),
            self.tables, Corpus(self.sizes, *self.members, self.by_rank), scratch,
            relevance.Results(best_gains, best_images, retrieved_gains),
        )  # fmt: skip
        self._free.append(scratch)
        own_set = self.queries.of[here] - first
        images = best_images[:, own_set]
        best_rows = np.where(images >= 0, self.by_name[images], NOBODY)
        return Scores(self.places(number), best_gains[:, own_set], best_rows, retrieved_gains)


@dataclass(frozen=True, eq=False)
class RelevanceWork:
    """Blocks of query sets as a `cuihop.resources.block_work.BlockWork`, whose values a subclass computes.

    ``own_rows``: int32, shape (all queries,): the index of each query in the corpus; -1 if it is not there, or stays.
    """

    scored: RelevanceBlocks
    own_rows: Int32

    @property
    def threads(self) -> int:
        """Number of blocks that there is memory for at once."""
        return self.scored.threads

    def __len__(self) -> int:
        return len(self.scored)

    def places(self, number: int) -> Int64:
        """Places of the queries of a block."""
        return self.scored.places(number)

    def best(self, number: int) -> list[tuple[Float64, Int32]]:
        """The best gains and images of a block for each λ, without the queries themselves."""
        queries = self.places(number)
        scores = self.scored.scores(number, np.empty((len(queries), 0), dtype=np.int32))
        return [scores.best_others(level, self.own_rows[queries]) for level in range(len(self.scored.levels))]
