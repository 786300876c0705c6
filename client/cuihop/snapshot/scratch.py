"""Working memory of searches. It belongs to one search at a time, in any thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

Lent = TypeVar("Lent")

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


class ScratchPool(Generic[Lent]):
    """Scratch memory for a graph: as much as there were searches at the same time, made by a call without arguments."""

    def __init__(self, make: Callable[[], Lent]) -> None:
        self._make = make
        self._free: deque[Lent] = deque()

    def borrow(self) -> Lent:
        """Exclusive scratch memory. Return it with `give_back`, but not after an error."""
        try:
            return self._free.pop()
        except IndexError:
            return self._make()

    def give_back(self, scratch: Lent) -> None:
        """Return scratch memory to the pool."""
        self._free.append(scratch)

    def clear(self) -> None:
        """Free all memory in the pool."""
        self._free.clear()

    @contextmanager
    def lent(self) -> Iterator[Lent]:
        """Scratch memory until the block ends."""
        scratch = self.borrow()
        yield scratch
        self.give_back(scratch)
