"""Working memory of searches. It belongs to one search at a time, in any thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["Scratch", "ScratchPool"]

_LAST_STAMP = 2**31 - 2


class Scratch:
    """The arrays of one search: see `cuihop._kernels.bfs`."""

    def __init__(self, nodes: int) -> None:
        self.mark = np.zeros(nodes, dtype=np.int32)
        self.queue = np.empty(nodes, dtype=np.int32)
        self.levels = np.empty(nodes, dtype=np.int32)
        self._next = 1

    def stamps(self, count: int) -> int:
        """The first of ``count`` unused stamps."""
        if self._next + count > _LAST_STAMP:
            self.mark.fill(0)
            self._next = 1
        first = self._next
        self._next += count
        return first


class ScratchPool:
    """Scratch memory for a graph: as many arrays as there were searches at the same time."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._free: deque[Scratch] = deque()

    def borrow(self) -> Scratch:
        """Exclusive scratch memory. Return it with `give_back`, but not after an error."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(self._nodes)

    def give_back(self, scratch: Scratch) -> None:
        """Return scratch memory to the pool."""
        self._free.append(scratch)

    def clear(self) -> None:
        """Free all memory in the pool."""
        self._free.clear()

    @contextmanager
    def lent(self) -> Iterator[Scratch]:
        """Scratch memory until the block ends."""
        scratch = self.borrow()
        yield scratch
        self.give_back(scratch)
