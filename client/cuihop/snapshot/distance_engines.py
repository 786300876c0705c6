"""What answers distances between numbered concepts of a snapshot: the fastest of what there is, all of them exact.

- *Labels* (`cuihop.snapshot.distance_index`) where the graph has an index: read, not searched.
- *Landmarks* (`cuihop.snapshot.landmarks`) where it has none and many distances were asked for: what the hops to a
  few hubs leave open is searched, round the hubs.
- *Search* from both ends for everything else: the first distances, upward and downward ones, and small bounds, within
  which a search looks at less than the others.
"""

from __future__ import annotations

import functools
import threading
import time
import warnings
from types import ModuleType

import numpy as np
import numpy.typing as npt

from cuihop.errors import DamageWarning, SnapshotError
from cuihop.graph import Direction
from cuihop.resources.cores import in_threads
from cuihop.snapshot.distance_index import DistanceIndex, Tables
from cuihop.snapshot.file import Sections
from cuihop.snapshot.identifier_table import IdentifierTable
from cuihop.snapshot.landmarks import LANDMARKS, Landmarks, landmarks_of
from cuihop.snapshot.plain_search import PlainTurns, plain_distances
from cuihop.snapshot.scratch import ScratchPool

__all__ = ["DistanceEngines", "compiled_searches", "most_hops"]

Int32 = npt.NDArray[np.int32]

_BACKWARDS: dict[Direction, Direction] = {"any": "any", "up": "down", "down": "up"}
_PAIRS_A_CALL = 4096  # a compiled call cannot be interrupted: some tenths of a second at the most
_NO_BOUND = 2**31 - 2  # longer than any path
_PLAIN_QUESTIONS = 16  # answered before it pays to load compiled code
_SEARCHED_HOPS = 2  # within so few hops a search is faster than labels and landmarks
_SECONDS_BETWEEN_GLANCES = 0.01
_CONCEPTS_A_SEARCH = 8  # landmarks cost about as much as one search for so many concepts of the graph


class DistanceEngines:
    """The engines of one snapshot.

    Args:
        sections: of the snapshot.
        cuis: its identifiers.
        scratch: memory for searches.
    """

    def __init__(self, sections: Sections, cuis: IdentifierTable, scratch: ScratchPool) -> None:
        self.index: DistanceIndex | None = None
        self._sections = sections
        self._cuis = cuis
        self._scratch = scratch
        self._searched_rows: dict[Direction, tuple[Int32, Int32, Int32, Int32]] = {}
        self._plain = PlainTurns(_PLAIN_QUESTIONS)
        self._landmarks: Landmarks | None = None
        self._landmarks_in = len(cuis) // _CONCEPTS_A_SEARCH  # so many searches; below 0: they are made, or cannot be
        self._making = threading.Lock()
        self._next_glance = 0.0
        self.index_problem: str | None = None

    def rows(self, direction: Direction) -> tuple[Int32, Int32]:
        """The neighbours of each concept one hop that way, in compressed rows."""
        return self._sections[f"{direction}_indptr"], self._sections[f"{direction}_indices"]

    def both_rows(self, direction: Direction) -> tuple[Int32, Int32, Int32, Int32]:
        """The rows to search forwards, and those to search backwards."""
        rows = self._searched_rows.get(direction)
        if rows is None:
            rows = self._searched_rows[direction] = (*self.rows(direction), *self.rows(_BACKWARDS[direction]))
        return rows

    def use_landmarks(self, count: int = LANDMARKS) -> None:
        """Make so many landmarks now, rather than when they pay; 0 for none at all."""
        with self._making:
            self._landmarks_in = -1
            self._landmarks = landmarks_of(self.rows("any"), count, self._scratch) if count else None

    def many(self, places: Int32, direction: Direction, bound: int | None) -> Int32:
        """The distances of concepts in turn: start, end, start, end, and so on; -1 where there is none in the bound."""
        starts, ends = np.ascontiguousarray(places[::2]), np.ascontiguousarray(places[1::2])
        hops = np.empty(len(starts), dtype=np.int32)
        most = most_hops(bound)
        if self._plain.take(len(starts)):  # also beside an index: it is read whole before it is used
            found = plain_distances(self.both_rows(direction), places, most)
            hops[:] = [-1 if distance is None else distance for distance in found]
            return hops
        tables = self.labels(direction, bound)
        landmarks = None if tables is not None else self._known_landmarks(direction, bound, len(starts))

        def answer(first: int) -> None:
            part = slice(first, first + _PAIRS_A_CALL)
            if tables is not None:
                _labels().distances(*tables, starts[part], ends[part], most, hops[part])
                return
            bfs = compiled_searches()
            with self._scratch.lent() as scratch:
                epoch = scratch.stamps(bfs.DISTANCE_EPOCHS * len(starts[part]) + 1)
                if landmarks is not None:
                    _past_landmarks().distances(
                        *self.both_rows("any")[:2], *landmarks, starts[part], ends[part], most,
                        scratch.mark, scratch.queue, epoch, hops[part],
                    )  # fmt: skip
                    return
                bfs.distances(
                    *self.both_rows(direction), starts[part], ends[part], most,
                    scratch.mark, scratch.queue, epoch, hops[part],
                )  # fmt: skip

        in_threads(answer, range(0, len(starts), _PAIRS_A_CALL))
        return hops

    def one(self, a: str, b: str, direction: Direction, bound: int | None) -> tuple[int | None] | None:
        """The distance of a pair, as a tuple of one.

        ``None`` where the graph does not hold both under these identifiers, or where its identifiers are long.
        """
        keys, asked = self._cuis.keys, self._cuis.keys_of_two(a, b)
        if keys is None or asked is None:
            return None
        if self._plain.left and self._plain.take(1):
            places = self._cuis.positions([a, b])
            if (places < 0).any():
                return None
            return (plain_distances(self.both_rows(direction), places, most_hops(bound))[0],)
        tables = self.labels(direction, bound)
        bfs = compiled_searches()
        if tables is not None:
            hops = _labels().distance_of_keys(keys, *asked, tables, most_hops(bound))
        else:
            landmarks = self._known_landmarks(direction, bound, 1)
            scratch = self._scratch.borrow()
            epoch = scratch.stamps(bfs.DISTANCE_EPOCHS + 1)
            if landmarks is not None:
                hops = _past_landmarks().distance_of_keys(
                    keys, *asked, *self.both_rows("any")[:2], *landmarks, most_hops(bound),
                    scratch.mark, scratch.queue, epoch,
                )  # fmt: skip
            else:
                hops = bfs.distance_of_keys(
                    keys, *asked, *self.both_rows(direction), most_hops(bound), scratch.mark, scratch.queue, epoch
                )
            self._scratch.give_back(scratch)
        if hops == bfs.UNKNOWN:
            return None
        return (None,) if hops == bfs.NO_PATH else (hops,)

    def labels(self, direction: Direction, bound: int | None) -> Tables | None:
        """The tables to read such distances from; ``None`` where they are to be searched."""
        index = self.index
        if index is None or _is_searched(direction, bound):
            return None
        try:
            return index.tables
        except SnapshotError as error:
            self.set_aside(error)
            return None

    def set_aside(self, error: SnapshotError) -> None:
        """Use the index no more: the answers are the same without it."""
        self.index = None
        self.index_problem = str(error)
        warnings.warn(f"{error}. It is not used; distances are searched", DamageWarning, stacklevel=2)

    def check_unchanged(self) -> None:
        """Check that nobody has written over the files that are mapped, before an answer is given.

        Raises:
            SnapshotError: somebody has. An index is used no more then.
        """
        self._sections.check_unchanged()
        index = self.index
        if index is not None:
            try:
                index.check_unchanged()
            except SnapshotError as error:
                self.set_aside(error)
                raise

    def glance(self) -> None:
        """`check_unchanged`, at most a hundred times a second: for answers that take microseconds."""
        if (now := time.monotonic()) >= self._next_glance:
            self._next_glance = now + _SECONDS_BETWEEN_GLANCES
            self.check_unchanged()

    def _known_landmarks(self, direction: Direction, bound: int | None, pairs: int) -> Landmarks | None:
        """The landmarks to answer such distances by; made when so many pairs more make them worth it."""
        if _is_searched(direction, bound):
            return None
        if self._landmarks_in >= 0:
            self._landmarks_in -= pairs  # threads may count a few pairs too few: it only makes landmarks later
            if self._landmarks_in < 0 and self._making.acquire(blocking=False):
                try:
                    self._landmarks = landmarks_of(self.rows("any"), LANDMARKS, self._scratch)
                except BaseException:  # stopped: whoever asks next makes them
                    self._landmarks_in = 0
                    raise
                finally:
                    self._making.release()
        return self._landmarks


@functools.cache
def compiled_searches() -> ModuleType:
    """The compiled searches. Importing them imports numba, so it waits for the first search."""
    from cuihop._kernels import bfs

    return bfs


@functools.cache
def _labels() -> ModuleType:
    from cuihop._kernels import labels

    return labels


@functools.cache
def _past_landmarks() -> ModuleType:
    from cuihop._kernels import landmarks

    return landmarks


def _is_searched(direction: Direction, bound: int | None) -> bool:
    """Whether such distances are searched, whatever other engines there are."""
    return direction != "any" or (bound is not None and bound <= _SEARCHED_HOPS)


def most_hops(bound: int | None) -> int:
    """The bound as compiled code takes it."""
    return _NO_BOUND if bound is None else min(bound, _NO_BOUND)
