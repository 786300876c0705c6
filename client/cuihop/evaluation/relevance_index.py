"""The concept sets of a collection and their neighbourhoods, numbered for the evaluation kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.cores import cores
from cuihop.errors import InputError
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.graph import ConceptGraph, Direction

__all__ = ["Progress", "RelevanceIndex", "Scores"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
UInt8 = npt.NDArray[np.uint8]

Progress = Callable[[int, int], None]
"""Called with the queries done so far and all queries, from the calling thread."""

_SETS_A_BLOCK = 128  # a compiled call cannot be interrupted: some hundredths of a second on 60,000 images
_GAINS_A_BLOCK = 1 << 17  # fewer sets where many images of each are wanted: bounds the memory of a block
_SETS_OF_A_ROW = 16  # from every sixteenth set on, a line of bytes is faster to add than a row of numbers
_BYTES_AN_IMAGE = (
    1000  # name, concept set and places of an image in Python's own objects: what was measured, and a half
)
_BYTES_A_CONCEPT = 64  # of one concept of one image, in these objects and in the arrays made from them


@dataclass(frozen=True, eq=False)
class Scores:
    """What the kernel found for a block of queries.

    Attributes:
        block: its number. Blocks depend on the images and on how many are wanted, not on threads or memory.
        queries: int64, shape (queries of the block,): their places.
        best_gains: float64, shape (λ, queries, wanted): the largest gains of the corpus, descending; 0 beyond its end.
        best_rows: int32, same shape: whose they are, as places in the corpus; of equal gains, the first by name comes
            first. -1 beyond the end.
        asked_gains: float64, shape (λ, queries, depth): the gains of the images that were asked for.
    """

    block: int
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

    @property
    def largest(self) -> int:
        """Concepts of the largest set."""
        return int(np.diff(self.indptr).max(initial=0))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Concept → sets: some as compressed rows, some as lines; see `cuihop._kernels.relevance`.

    Attributes:
        indptr: int64, sets: int32: the rows. line: int32, shape (concepts,): the line of each, or what else.
    """

    indptr: Int64
    sets: Int32
    line: Int32


class RelevanceIndex:
    """Everything that gains of a collection depend on, but for λ.

    Args:
        queries, corpus: the concepts of each image. Pass one object twice where they are the same.
        names: of the corpus' images; decides between equal gains.
        graph: who knows the distances; may be ``None`` for ``hops=0``.
        hops: n.
        direction: which way hops go from a concept of the query to one of the corpus.
        isolated: the concepts that the graph does not hold.
        memory: what the index, its threads and their results may take. What is not needed but makes it faster is kept
            only as far as there is room for it.

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
        memory: MemoryBudget | None = None,
    ) -> None:
        self._memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
        collections = [corpus] if queries is corpus else [queries, corpus]
        self._memory.take("images and their concepts", sum(map(_bytes_of, collections)))
        concepts = sorted({concept for images in collections for image in images for concept in image})
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
        self._memory.take("near concepts", 2 * sum(part.nbytes for part in self._near))
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

    def _rows(self) -> tuple[_Rows, _Rows, UInt8]:
        """Who holds a concept, and who a near one; and the lines of both. As many as there is memory for."""
        from cuihop._kernels import relevance

        sets = len(self._corpus)
        nothing = np.empty((0, sets), dtype=np.uint8)
        lengths = np.diff(self._holders[0])
        uses = np.bincount(self._queries.concepts, minlength=self._concepts)
        near_lengths = np.zeros(self._concepts, dtype=np.int64)

        def sets_near(kinds: Int32, indptr: Int64, found: Int32, lines: UInt8) -> None:
            seen = np.zeros(sets, dtype=np.int32)
            relevance.near_holders(*self._near, *self._holders, kinds, seen, near_lengths, indptr, found, lines)

        none_kept = np.full(self._concepts, relevance.NOT_KEPT, dtype=np.int32)
        sets_near(none_kept, np.zeros(self._concepts + 1, dtype=np.int64), np.empty(0, dtype=np.int32), nothing)
        room = self._memory.left
        wide = np.flatnonzero(lengths * _SETS_OF_A_ROW > sets)
        wide = wide[np.argsort(-lengths[wide], kind="stable")][: room // sets]
        line = np.full(self._concepts, relevance.ROW, dtype=np.int32)
        line[wide] = np.arange(len(wide))
        room -= len(wide) * sets
        sizes = np.where(near_lengths * _SETS_OF_A_ROW > sets, sets, near_lengths * 4)
        first = np.argsort(-uses, kind="stable")
        kept = np.zeros(self._concepts, dtype=np.bool_)
        kept[first] = np.cumsum(sizes[first]) <= room
        near_line = np.where(kept, np.int32(relevance.ROW), np.int32(relevance.NOT_KEPT))
        near_wide = np.flatnonzero(kept & (near_lengths * _SETS_OF_A_ROW > sets))
        near_line[near_wide] = len(wide) + np.arange(len(near_wide))
        lines = np.zeros((len(wide) + len(near_wide), sets), dtype=np.uint8)
        for number, concept in enumerate(wide.tolist()):
            lines[number, self._holders[1][self._holders[0][concept] : self._holders[0][concept + 1]]] = 1
        indptr = np.zeros(self._concepts + 1, dtype=np.int64)
        np.cumsum(np.where(near_line == relevance.ROW, near_lengths, 0), out=indptr[1:])
        found = np.empty(int(indptr[-1]), dtype=np.int32)
        sets_near(near_line, indptr, found, lines)
        return _Rows(*self._holders, line), _Rows(indptr, found, near_line), lines

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
        asked: Callable[[Int64], Int32],
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
            wanted: how many of the best images.
            asked: tells whose gains to look up: from places of queries, int64, shape (queries,), to places in the
                corpus, int32, shape (queries, depth); -1 for none.
            receive: called with each block. As ``asked``, in any order and from several threads at once.
            depth: how many ``asked`` gives for each query.
            threads: how many at most; without it, as many as the process has cores. Fewer where memory is short.
            progress: called after each block.
            done: numbers of blocks that are left out.

        Raises:
            LimitExceeded: the memory allowed is not enough for one thread.
        """
        from cuihop._kernels import relevance

        askers, queries = self._askers
        levels = np.array(lams, dtype=np.float64)
        blocks = self._blocks(wanted)
        sets = len(self._corpus)
        counter = relevance.counter_type(self._queries.largest, self._corpus.largest)
        most = max(int(askers[last] - askers[first]) for first, last in blocks)
        a_thread = (2 * np.dtype(counter).itemsize + 1) * sets + 4 * self._concepts
        a_thread += _SETS_A_BLOCK * wanted * len(levels) * 12 + most * (wanted + depth) * (len(levels) * 24 + 32)
        self._memory.take("blocks of queries", a_thread)
        count = min(checked_threads(threads), len(blocks), 1 + self._memory.left // a_thread)
        self._memory.take("blocks of queries", (count - 1) * a_thread)
        holders, near_holders, lines = self._rows()
        sizes = np.diff(self._corpus.indptr).astype(counter)
        by_rank = np.ascontiguousarray(self._corpus.of[self._by_name])
        free: deque[tuple[npt.NDArray[Any], npt.NDArray[Any], UInt8, Int32]] = deque()

        def block(number: int) -> int:
            first, last = blocks[number]
            if number in done:
                return int(askers[last])
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
                    np.empty(sets, dtype=counter),
                    np.empty(sets, dtype=counter),
                    np.empty(sets, dtype=np.uint8),
                    np.zeros(self._concepts, dtype=np.int32),
                )
            relevance.score(
                first, self._queries.indptr, self._queries.concepts, *self._near, holders.indptr, holders.sets,
                holders.line, near_holders.indptr, near_holders.sets, near_holders.line, lines,
                sizes, *self._members, by_rank, levels, askers[first : last + 1] - askers[first], asked_sets,
                *scratch, best_gains, best_images, asked_gains,
            )  # fmt: skip
            free.append(scratch)
            own_set = self._queries.of[here] - first
            images = best_images[:, own_set]
            best_rows = np.where(images >= 0, self._by_name[images], relevance.NOBODY)
            receive(Scores(number, here, best_gains[:, own_set], best_rows, asked_gains))
            return int(askers[last])

        _run(block, range(len(blocks)), count, len(queries), progress)


def _bytes_of(images: Sequence[Collection[str]]) -> int:
    return len(images) * _BYTES_AN_IMAGE + sum(map(len, images)) * _BYTES_A_CONCEPT


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


def checked_threads(threads: int | None) -> int:
    """How many threads to use; ``None`` is as many as the process has cores."""
    if threads is None:
        return cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError("not a number of threads", column="threads", found=repr(threads), expected="1 or more")
    return threads


def _run(block: Callable[[int], int], numbers: range, threads: int, total: int, progress: Progress | None) -> None:
    """Call ``block`` for each number; it returns how many queries are then done."""
    tell = progress or (lambda done, total: None)
    if threads <= 1:
        for number in numbers:
            tell(block(number), total)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(block, number) for number in numbers]
        try:
            for future in futures:
                tell(future.result(), total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
