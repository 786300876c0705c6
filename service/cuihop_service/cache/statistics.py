"""Statistics of a cache: plain numbers, from which metrics are made."""

from __future__ import annotations

import threading
from dataclasses import dataclass


class PairCounts:
    """Pairs answered, by level. Graphs that replace one another share it, so that no count is lost."""

    def __init__(self) -> None:
        self._counts = [0, 0, 0, 0]
        self._counting = threading.Lock()

    def add(self, memory_hits: int, shared_hits: int = 0, collapsed: int = 0, misses: int = 0) -> None:
        """Count pairs by the level that answered: see `CacheStatistics`."""
        with self._counting:
            counts = self._counts
            counts[0] += memory_hits
            counts[1] += shared_hits
            counts[2] += collapsed
            counts[3] += misses

    def numbers(self) -> dict[str, int]:
        """The counts by their names in `CacheStatistics`."""
        with self._counting:
            return dict(zip(("memory_hits", "shared_hits", "collapsed", "misses"), self._counts, strict=True))


@dataclass(frozen=True, slots=True)
class SharedStatistics:
    """Calls of this process to the shared level since its start.

    Attributes:
        reads, writes: calls that were answered.
        errors: calls that failed, or were answered too late to be worth waiting for.
        held_back: calls left out during a pause after a failure.
        refused: values that were no entry, or not signed for their key.
        reading, writing: False during such a pause.
    """

    reads: int = 0
    writes: int = 0
    errors: int = 0
    held_back: int = 0
    refused: int = 0
    reading: bool = True
    writing: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """Pairs answered by a cached graph since its start.

    Attributes:
        memory_hits, shared_hits: pairs answered by the level in process, and by the shared one.
        collapsed: pairs answered by a computation of the same pair for another request at the same time.
        misses: pairs computed by the graph. These four add up to all pairs answered; an error is no answer.
        entries: pairs in process at present.
        largest: the most pairs in process.
        shared: of the shared level; ``None`` where there is none.
    """

    memory_hits: int = 0
    shared_hits: int = 0
    collapsed: int = 0
    misses: int = 0
    entries: int
    largest: int
    shared: SharedStatistics | None
