"""The concept sets of a collection and their neighbourhoods, numbered for the evaluation kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.cores import checked_threads
from cuihop.graph import ConceptGraph, Direction

__all__ = ["Progress", "RelevanceIndex", "Scores"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Progress = Callable[[int, int], None]
"""Called with the queries done so far and all queries, from the calling thread."""

_SETS_A_BLOCK = 128  # a compiled call cannot be interrupted: some hundredths of a second on 60,000 images
_GAINS_A_BLOCK = 1 << 17  # fewer sets where many images of each are wanted: bounds the memory of a block


@dataclass(frozen=True, eq=False)
class Scores:
    """What the kernel found for a block of queries.

    Attributes:
        queries: int64, shape (queries of the block,): their places.
        best_gains: float64, shape (λ, queries, wanted): the largest gains of the corpus, descending; 0 beyond its end.
        best_rows: int32, same shape: whose they are, as places in the corpus; of equal gains, the first by name comes
            first. -1 beyond the end.
        asked_gains: float64, shape (λ, queries, depth): the gains of the images that were asked for.
    """

    queries: Int64
    best_gains: Float64
    best_rows: Int32
    asked_gains: Float64

    def best_others(self, level: int, own: Int32) -> tuple[Float64, Int32]:
        """The best gains and rows for one λ without the queries themselves: one fewer than wanted.

        Args:
            level: which λ.
            own: int32, shape (queries of the block,): the place of each query in the corpus, -1 if it is not there.
        """
        gains, rows = self.best_gains[level], self.best_rows[level]
        kept = rows.shape[1] - 1
        itself = (rows == own[:, np.newaxis]) & (rows >= 0)
        left_out = np.where(itself.any(axis=1), itself.argmax(axis=1), kept)
        ranks = np.arange(kept)
        ranks = ranks + (ranks >= left_out[:, np.newaxis])
        return np.take_along_axis(gains, ranks, axis=1), np.take_along_axis(rows, ranks, axis=1)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Distinct concept sets, and which of them each image has.

    Attributes:
        indptr: int64, concepts: int32: the sets in compressed rows. of: int32, shape (images,).
    """

    indptr: Int64
    concepts: Int32
    of: Int32

    @classmethod
    def numbered(cls, images: Sequence[Collection[str]], numbers: dict[str, int]) -> _Sets:
        found: dict[frozenset[int], int] = {}
        of = np.array(
            [found.setdefault(frozenset(map(numbers.__getitem__, image)), len(found)) for image in images],
            dtype=np.int32,
        )
        indptr = np.zeros(len(found) + 1, dtype=np.int64)
        np.cumsum([len(concepts) for concepts in found], out=indptr[1:])
        flat = [number for concepts in found for number in sorted(concepts)]
        return cls(indptr, np.array(flat, dtype=np.int32), of)

    def __len__(self) -> int:
        return len(self.indptr) - 1


class RelevanceIndex:
    """Everything that gains of a collection depend on, but for λ.

    Args:
        queries, corpus: the concepts of each image. Pass one object twice where they are the same.
        names: of the corpus' images; decides between equal gains.
        graph: who knows the distances; may be ``None`` for ``hops=0``.
        hops: n.
        direction: which way hops go from a concept of the query to one of the corpus.
        isolated: the concepts that the graph does not hold.
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
    ) -> None:
        concepts = sorted({concept for images in (queries, corpus) for image in images for concept in image})
        known = [concept for concept in concepts if concept not in isolated]
        ordered = known + [concept for concept in concepts if concept in isolated]
        numbers = {concept: number for number, concept in enumerate(ordered)}
        self._corpus = _Sets.numbered(corpus, numbers)
        self._queries = self._corpus if queries is corpus else _Sets.numbered(queries, numbers)
        self._concepts = len(ordered)
        self._by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
        members, images = _grouped(self._corpus.of[self._by_name], len(self._corpus))
        self._members = members, images.astype(np.int32)
        self._holders = _transposed(self._corpus, self._concepts)
        self._near = self._neighbourhoods(known, graph, hops, direction)
        self._near_holders = self._sets_near()
        self._askers = _grouped(self._queries.of, len(self._queries))

    def _neighbourhoods(
        self, known: Sequence[str], graph: ConceptGraph | None, hops: int, direction: Direction
    ) -> tuple[Int64, Int32]:
        """Near concepts of each concept of the queries, the concept itself left out."""
        indptr = np.zeros(self._concepts + 1, dtype=np.int64)
        if hops == 0 or graph is None or not known:
            return indptr, np.empty(0, dtype=np.int32)
        pack = graph.pack(known, hops=hops, direction=direction)
        rows = np.repeat(np.arange(len(known)), np.diff(pack.indptr))
        asked = np.zeros(self._concepts, dtype=np.bool_)
        asked[self._queries.concepts] = True
        kept = (pack.indices != rows) & asked[rows]
        np.cumsum(np.bincount(rows[kept], minlength=self._concepts), out=indptr[1:])
        return indptr, np.ascontiguousarray(pack.indices[kept])

    def _sets_near(self) -> tuple[Int64, Int32]:
        from cuihop._kernels import relevance

        indptr = np.zeros(self._concepts + 1, dtype=np.int64)
        nothing = np.empty(0, dtype=np.int32)
        relevance.near_holders(
            *self._near, *self._holders, np.zeros(len(self._corpus), dtype=np.int32), indptr, nothing
        )
        found = np.empty(int(indptr[-1]), dtype=np.int32)
        if len(found):
            relevance.near_holders(
                *self._near, *self._holders, np.zeros(len(self._corpus), dtype=np.int32), indptr, found
            )
        return indptr, found

    def score(
        self,
        lams: Sequence[float],
        wanted: int,
        asked: Callable[[Int64], Int32],
        receive: Callable[[Scores], None],
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Score every query against the whole corpus, block by block.

        The numbers do not depend on the threads. An interrupt stops after the blocks that are under way.

        Args:
            lams: the values of λ.
            wanted: how many of the best images.
            asked: tells whose gains to look up: from places of queries, int64, shape (queries,), to places in the
                corpus, int32, shape (queries, depth); -1 for none.
            receive: called with each block. As ``asked``, in any order and from several threads at once.
            threads: how many; without it, as many as the process has cores.
            progress: called after each block.
        """
        from cuihop._kernels import relevance

        askers, queries = self._askers
        sizes = np.diff(self._corpus.indptr)
        by_rank = np.ascontiguousarray(self._corpus.of[self._by_name])
        levels = np.array(lams, dtype=np.float64)
        free: deque[tuple[Int64, Int32, Int32]] = deque()
        step = max(1, min(_SETS_A_BLOCK, _GAINS_A_BLOCK // wanted))

        def block(first: int) -> int:
            last = min(first + step, len(self._queries))
            here = queries[askers[first] : askers[last]]
            best_gains = np.empty((len(levels), last - first, wanted), dtype=np.float64)
            best_images = np.empty(best_gains.shape, dtype=np.int32)
            rows = asked(here)
            asked_sets = np.where(rows >= 0, self._corpus.of[rows], np.int32(-1))
            asked_gains = np.zeros((len(levels), *rows.shape), dtype=np.float64)
            try:
                scratch = free.pop()
            except IndexError:
                scratch = (
                    np.zeros(len(self._corpus), dtype=np.int64),
                    np.empty(len(self._corpus), dtype=np.int32),
                    np.zeros(self._concepts, dtype=np.int32),
                )
            relevance.score(
                first, self._queries.indptr, self._queries.concepts, *self._near, *self._holders, *self._near_holders,
                sizes, *self._members, by_rank, levels, askers[first : last + 1] - askers[first], asked_sets,
                scratch[0], scratch[1], scratch[2], best_gains, best_images, asked_gains,
            )  # fmt: skip
            free.append(scratch)
            own_set = self._queries.of[here] - first
            images = best_images[:, own_set]
            best_rows = np.where(images >= 0, self._by_name[images], relevance.NOBODY)
            receive(Scores(here, best_gains[:, own_set], best_rows, asked_gains))
            return int(askers[last])

        _run(block, range(0, len(self._queries), step), threads, len(queries), progress)


def _grouped(group: Int32, groups: int) -> tuple[Int64, Int64]:
    """Group → its members, ascending, in compressed rows."""
    indptr = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=indptr[1:])
    return indptr, np.argsort(group, kind="stable")


def _transposed(sets: _Sets, concepts: int) -> tuple[Int64, Int32]:
    """Concept → the sets that hold it, ascending, in compressed rows."""
    owners = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.indptr))
    indptr, order = _grouped(sets.concepts, concepts)
    return indptr, owners[order]


def _run(
    block: Callable[[int], int], firsts: range, threads: int | None, total: int, progress: Progress | None
) -> None:
    """Call ``block`` for each of ``firsts``; it returns how many queries are then done."""
    count = min(checked_threads(threads), len(firsts))
    tell = progress or (lambda done, total: None)
    if count <= 1:
        for first in firsts:
            tell(block(first), total)
        return
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(block, first) for first in firsts]
        try:
            for future in futures:
                tell(future.result(), total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
