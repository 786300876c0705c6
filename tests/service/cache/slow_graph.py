"""A graph that waits before it answers, and records the calls: the only stand-in of these tests."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from cuihop import Direction, SnapshotGraph
from cuihop.graph import Distances

__all__ = ["SlowGraph"]


class SlowGraph(SnapshotGraph):
    """Distances of a snapshot, which wait until they are let go.

    Attributes:
        asked: the batches that reached it.
        begun: released once for each batch that arrives.
        go: while it is not set, every batch waits.
        error: raised in place of an answer.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[list[tuple[str, str]]] = []
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()
        self.error: Exception | None = None

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        batch = list(pairs)
        self.asked.append(batch)
        self.begun.release()
        assert self.go.wait(30)
        if self.error is not None:
            raise self.error
        return super().distances(batch, direction=direction, max_hops=max_hops)
