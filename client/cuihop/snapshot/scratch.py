"""Working memory of searches. It belongs to one search at a time, in any thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from cuihop.resources.arrays import Int32

Memory = TypeVar("Memory")

_LAST_STAMP = 2**31 - 2


class Stamps:
    """Marks of nodes by stamps, so that a search need not clear those of the search before.

    Args:
        marks: int32, zeros. gap: stamps left unused below those of each search.
    """

    def __init__(self, marks: Int32, gap: int = 0) -> None:
        self._marks, self._gap, self._next = marks, gap, 1 + gap

    def stamps(self, count: int) -> int:
        """The first of ``count`` unused stamps."""
        if self._next + count > _LAST_STAMP:
            self._marks.fill(0)
            self._next = 1 + self._gap
        first = self._next
        self._next += count + self._gap
        return first


class Scratch(Stamps):
    """The arrays of one search: see `cuihop._kernels.bfs`."""

    def __init__(self, nodes: int) -> None:
        self.mark = np.zeros(nodes, dtype=np.int32)
        self.queue = np.empty(nodes, dtype=np.int32)
        self.levels = np.empty(nodes, dtype=np.int32)
        super().__init__(self.mark)


class HierarchyScratch(Stamps):
    """The arrays of one search from two nodes of a hierarchy: see `cuihop._kernels.hierarchy`."""

    def __init__(self, nodes: int) -> None:
        self.marks = np.zeros((2, nodes), dtype=np.int32)
        self.hops = np.empty((2, nodes), dtype=np.int32)
        self.queue = np.empty(nodes, dtype=np.int32)
        super().__init__(self.marks, gap=1)


class ScratchPool(Generic[Memory]):
    """Scratch memory for a graph: as much as there were searches at the same time, made by a call without arguments."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._free: deque[Memory] = deque()

    def acquire(self) -> Memory:
        """Exclusive scratch memory. Return it with `release`, but not after an error."""
        try:
            return self._free.pop()
        except IndexError:
            return self._make()

    def release(self, scratch: Memory) -> None:
        """Return scratch memory to the pool."""
        self._free.append(scratch)

    def clear(self) -> None:
        """Free all memory in the pool."""
        self._free.clear()

    @contextmanager
    def leased(self) -> Iterator[Memory]:
        """Scratch memory until the block ends."""
        scratch = self.acquire()
        yield scratch
        self.release(scratch)
