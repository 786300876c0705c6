"""Graphs of one release restricted to vocabularies: a few of them, built when they are first requested."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from cuihop.resources.interruption import check_interruption

T = TypeVar("T")

_SECONDS_BETWEEN_CHECKS = 0.05

MOST_RESTRICTED = 4
"""Restricted graphs that are held for one release. Each has a copy of its edges, at most as large as those of all."""


class RestrictedGraphs(Generic[T]):
    """The most recently requested restrictions of one release. Safe to share between threads.

    One is built at a time, so that a burst of requests needs the memory of one more, and computes each only once.

    Args:
        most: graphs that are held; the least recently requested goes first.
    """

    def __init__(self, most: int = MOST_RESTRICTED) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, ...], T] = OrderedDict()
        self._lock = threading.Lock()
        self._building = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def graph(self, sabs: tuple[str, ...], build: Callable[[], T]) -> T:
        """The graph within these vocabularies.

        Args:
            sabs: sorted and distinct.
            build: makes the graph where it is not held. Its error is raised, and nothing is stored.

        Raises:
            CuihopError: the request was abandoned, or overdue, while another graph was built.
        """
        if (held := self._recent(sabs)) is not None:
            return held
        while not self._building.acquire(timeout=_SECONDS_BETWEEN_CHECKS):
            check_interruption()
        try:
            check_interruption()
            if (held := self._recent(sabs)) is not None:
                return held
            built = build()
            with self._lock:
                self._held[sabs] = built
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return built
        finally:
            self._building.release()

    def _recent(self, sabs: tuple[str, ...]) -> T | None:
        with self._lock:
            if sabs in self._held:
                self._held.move_to_end(sabs)
            return self._held.get(sabs)
