"""Engines for distances between numbered concepts of a snapshot. All are exact; the fastest available one is used.

- *Labels* (`cuihop.snapshot.distance_index`) where the graph has an index: distances are read, not searched.
- *Bidirectional search* for everything else: graphs without an index, upward and downward distances, and small
  bounds, within which a search visits fewer concepts than two labels hold. In a batch on a large graph, the neighbours
  of both concepts are compared first.
- *Plain search* with NumPy alone for the first distances of a process, about a millisecond each: importing numba takes
  about a second, and `cuihop distance` needs one answer.
"""

from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable
from types import ModuleType

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import BACKWARDS, SEARCHES
from cuihop.errors import DamageWarning, ReleaseMismatch, SnapshotError
from cuihop.graph import Direction
from cuihop.resources.arrays import Int32
from cuihop.resources.cores import in_threads
from cuihop.resources.progress import timed_slices
from cuihop.snapshot.distance_index import DistanceIndex, Tables
from cuihop.snapshot.file import Sections
from cuihop.snapshot.scratch import Scratch, ScratchPool
from cuihop.snapshot.string_table import IdentifierTable

Rows = tuple[Int32, Int32]

_PAIRS_A_CALL = 4096  # a compiled call cannot be interrupted: some milliseconds with labels
_NO_BOUND = 2**31 - 2  # longer than any path
_PLAIN_DISTANCES = 16  # beyond these, loading compiled code pays
_SEARCHED_HOPS = 2  # up to this bound a search is faster than labels
_SECONDS_BETWEEN_CHECKS = 0.01


class DistanceEngines:
    """The engines of one snapshot."""

    def __init__(self, sections: Sections, cuis: IdentifierTable, scratch: ScratchPool[Scratch]) -> None:
        self.index: DistanceIndex | None = None
        self._sections = sections
        self._cuis = cuis
        self._scratch = scratch
        self._searched_rows: dict[Direction, tuple[Int32, Int32, Int32, Int32]] = {}
        self._plain = PlainTurns(_PLAIN_DISTANCES)
        self._next_check = 0.0
        self._read: Callable[[int, int], int] | None = None  # a distance from the index in use, once it was read
        self.index_problem: str | None = None

    def rows(self, direction: Direction) -> tuple[Int32, Int32]:
        """Neighbours of each concept, one hop in a direction that is one search, in compressed rows."""
        return self._sections[f"{direction}_indptr"], self._sections[f"{direction}_indices"]

    def both_rows(self, direction: Direction) -> tuple[Int32, Int32, Int32, Int32]:
        """Rows for the forward search and for the backward search."""
        rows = self._searched_rows.get(direction)
        if rows is None:
            rows = self._searched_rows[direction] = (*self.rows(direction), *self.rows(BACKWARDS[direction]))
        return rows

    def use_index(self, index: DistanceIndex, digest: str) -> None:
        """Read distances from the index of the graph with this digest: see `SnapshotGraph.use_index`."""
        if index.facts["digest"] != digest:
            raise ReleaseMismatch(
                f"the index of another graph; found digest {index.facts['digest'][:12]}, expected {digest[:12]}"
            )
        if index.concepts != len(self._cuis):
            raise SnapshotError(f"an index of {index.concepts:,} concepts, and the graph has {len(self._cuis):,}")
        self.index, self._read = index, None

    def many(self, positions: Int32, direction: Direction, bound: int | None) -> Int32:
        """Distances of concepts listed as start, end, start, end, …; -1 where there is none within the bound."""
        if len(searches := SEARCHES[direction]) > 1:
            answers = [self.many(positions, search, bound) for search in searches]
            return functools.reduce(np.minimum, (hops.view(np.uint32) for hops in answers)).view(np.int32)
        starts, ends = np.ascontiguousarray(positions[::2]), np.ascontiguousarray(positions[1::2])
        hops = np.empty(len(starts), dtype=np.int32)
        most = most_hops(bound)
        if self._plain.take(len(starts)):  # also with an index, which is read whole before its first use
            distances = plain_distances(self.both_rows(direction), positions, most)
            hops[:] = [-1 if distance is None else distance for distance in distances]
            return hops
        tables = self.labels(direction, bound)

        def answer(first: int) -> None:
            chunk = slice(first, first + _PAIRS_A_CALL)
            if tables is not None:
                _labels().distances(*tables, starts[chunk], ends[chunk], most, hops[chunk])
                return
            bfs = compiled_searches()
            with self._scratch.leased() as scratch:
                for pairs in timed_slices(first, min(first + _PAIRS_A_CALL, len(starts))):
                    epoch = scratch.stamps(bfs.DISTANCE_EPOCHS * len(starts[pairs]))
                    bfs.distances(
                        *self.both_rows(direction), starts[pairs], ends[pairs], most,
                        scratch.mark, scratch.queue, epoch, hops[pairs],
                    )  # fmt: skip

        in_threads(answer, range(0, len(starts), _PAIRS_A_CALL))
        return hops

    def one(self, a: str, b: str, direction: Direction, bound: int | None) -> tuple[int | None] | None:
        """The distance of a pair, as a tuple of one.

        ``None`` where the graph does not hold both under these identifiers, or where its identifiers are long.
        """
        if (read := self._read) is not None and bound is None and direction == "any":
            ends = self._cuis.keys_of_two(a, b)
            return None if ends is None else _as_answer(read(*ends))
        if len(searches := SEARCHES[direction]) > 1:
            answers = [self.one(a, b, search, bound) for search in searches]
            distances = [answer[0] for answer in answers if answer is not None]
            reached = [hops for hops in distances if hops is not None]
            return (min(reached, default=None),) if len(distances) == len(answers) else None
        ends = self._cuis.keys_of_two(a, b)
        if self._cuis.numbers is None or ends is None:
            return None
        if self._plain.left and self._plain.take(1):
            positions = self._cuis.positions([a, b])
            if (positions < 0).any():
                return None
            return (plain_distances(self.both_rows(direction), positions, most_hops(bound))[0],)
        tables = self.labels(direction, bound)
        bfs = compiled_searches()
        if tables is not None:
            if bound is None:
                self._cuis.use_numbers()
            read = functools.partial(_labels().distance_of_keys, self._cuis.numbers, tables, most_hops(bound))
            if bound is None:
                self._read = read
            hops = read(*ends)
        else:
            scratch = self._scratch.acquire()
            epoch = scratch.stamps(bfs.DISTANCE_EPOCHS)
            hops = bfs.distance_of_keys(
                self._cuis.numbers, *ends, *self.both_rows(direction), most_hops(bound),
                scratch.mark, scratch.queue, epoch,
            )  # fmt: skip
            self._scratch.release(scratch)
        return _as_answer(hops)

    def labels(self, direction: Direction, bound: int | None) -> Tables | None:
        """The index tables for such distances; ``None`` where they are searched."""
        index = self.index
        if index is None or direction != "any" or (bound is not None and bound <= _SEARCHED_HOPS):
            return None
        try:
            return index.tables
        except SnapshotError as error:
            self.set_aside(error)
            return None

    def set_aside(self, error: SnapshotError) -> None:
        """Stop using the index; answers are the same without it."""
        self.index = self._read = None
        self.index_problem = str(error)
        warnings.warn(f"{error}. It is not used; distances are searched", DamageWarning, stacklevel=2)

    def check_unchanged(self) -> None:
        """Check that the mapped files have not been overwritten, before an answer is returned.

        Raises:
            SnapshotError: one has. An overwritten index is no longer used.
        """
        self._sections.check_unchanged()
        index = self.index
        if index is not None:
            try:
                index.check_unchanged()
            except SnapshotError as error:
                self.set_aside(error)
                raise

    def check_unchanged_at_intervals(self) -> None:
        """Call `check_unchanged`, at most a hundred times a second: for answers that take microseconds."""
        if (now := time.monotonic()) >= self._next_check:
            self._next_check = now + _SECONDS_BETWEEN_CHECKS
            self.check_unchanged()


@functools.cache
def compiled_searches() -> ModuleType:
    """The compiled searches, imported with numba on the first search."""
    from cuihop._kernels import bfs

    return bfs


@functools.cache
def _labels() -> ModuleType:
    from cuihop._kernels import labels

    return labels


def _as_answer(hops: int) -> tuple[int | None] | None:
    """The answer of `DistanceEngines.one` for what compiled code returns: see `cuihop._kernels.bfs`."""
    if hops >= 0:
        return (hops,)
    return (None,) if hops == compiled_searches().NO_PATH else None


def most_hops(bound: int | None) -> int:
    """The bound as an integer for compiled code."""
    return _NO_BOUND if bound is None else min(bound, _NO_BOUND)


class PlainTurns:
    """Allowance of distances for plain search: the first few, as long as numba is not imported."""

    def __init__(self, turns: int) -> None:
        self.left = turns
        """Distances left; 0 once compiled code has been used."""

    def take(self, distances: int) -> bool:
        """Take from the allowance; false where it does not suffice, and compiled code is to be used."""
        if distances > self.left or "numba" in sys.modules:
            self.left = 0
            return False
        self.left -= distances
        return True


def plain_distances(rows: tuple[Int32, Int32, Int32, Int32], ends: Int32, bound: int) -> list[int | None]:
    """Distances up to a bound of concepts listed as start, end, start, end, …; ``rows`` as in `cuihop._kernels.bfs`."""
    return [_plain_distance(rows[:2], rows[2:], start, end, bound) for start, end in ends.reshape(-1, 2).tolist()]


def _plain_distance(out: Rows, into: Rows, start: int, end: int, bound: int) -> int | None:
    """Bidirectional breadth-first search; ``None`` where there is no path within ``bound``.

    Two searches advance level by level, forwards along ``out`` and backwards along ``into``, always the one whose
    next level has fewer edges.
    """
    if start == end:
        return 0
    seen = np.zeros(len(out[0]) - 1, dtype=np.uint8)  # 1: from the start, 2: from the end
    seen[start], seen[end] = 1, 2
    frontiers = [np.array([start]), np.array([end])]
    sides = (out, into)
    for depth in range(1, bound + 1):
        edges = [int((rows[0][front + 1] - rows[0][front]).sum()) for rows, front in zip(sides, frontiers, strict=True)]
        if not all(edges):
            return None
        side = 0 if edges[0] <= edges[1] else 1
        reached = _around(sides[side], frontiers[side])
        if (seen[reached] == 2 - side).any():
            return depth
        fresh = np.sort(reached[seen[reached] == 0])
        frontiers[side] = fresh[np.diff(fresh, prepend=-1) != 0]  # np.unique imports numpy.ma
        seen[frontiers[side]] = side + 1
    return None


def _around(rows: Rows, nodes: npt.NDArray[np.integer]) -> Int32:
    """Neighbours of some nodes, with repeats."""
    indptr, indices = rows
    counts = indptr[nodes + 1] - indptr[nodes]
    ends = np.cumsum(counts)
    positions = np.arange(int(ends[-1])) + np.repeat(indptr[nodes] - (ends - counts), counts)
    neighbours: Int32 = indices[positions]
    return neighbours
