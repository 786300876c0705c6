"""A distance without compiled code, for the first questions of a process.

Importing numba takes about a second, and `cuihop distance` asks one question. These functions give the answers of
`cuihop._kernels.bfs` in about a millisecond each, with numpy alone.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

__all__ = ["PlainTurns", "plain_distances", "searched_distance"]

Int32 = npt.NDArray[np.int32]
Rows = tuple[Int32, Int32]


class PlainTurns:
    """Whether questions are better answered without compiled code: the first few, while nobody has imported numba."""

    def __init__(self, turns: int) -> None:
        self.left = turns
        """How many there may still be; 0 once compiled code was asked."""

    def take(self, questions: int) -> bool:
        """Whether so many questions are to be answered plainly now."""
        if questions > self.left or "numba" in sys.modules:
            self.left = 0
            return False
        self.left -= questions
        return True


def plain_distances(rows: tuple[Int32, Int32, Int32, Int32], ends: Int32, bound: int) -> list[int | None]:
    """The distances of some pairs of concepts.

    Args:
        rows: as `cuihop._kernels.bfs` takes them.
        ends: the concepts by number: start, end, start, end, and so on.
        bound: the longest distance that counts.
    """
    return [searched_distance(rows[:2], rows[2:], start, end, bound) for start, end in ends.reshape(-1, 2).tolist()]


def searched_distance(out: Rows, into: Rows, start: int, end: int, bound: int) -> int | None:
    """The distance from start to end, or ``None`` where there is none within ``bound``.

    Two searches grow level by level, forwards along ``out`` and backwards along ``into``, always the one whose next
    level has fewer edges.
    """
    if start == end:
        return 0
    seen = np.zeros(len(out[0]) - 1, dtype=np.uint8)  # 1: from the start, 2: from the end
    seen[start], seen[end] = 1, 2
    frontiers = [np.array([start]), np.array([end])]
    sides = (out, into)
    for depth in range(1, bound + 1):
        work = [int((rows[0][front + 1] - rows[0][front]).sum()) for rows, front in zip(sides, frontiers, strict=True)]
        if not all(work):
            return None
        side = 0 if work[0] <= work[1] else 1
        reached = _around(sides[side], frontiers[side])
        if (seen[reached] == 2 - side).any():
            return depth
        fresh = np.sort(reached[seen[reached] == 0])
        frontiers[side] = fresh[np.diff(fresh, prepend=-1) != 0]  # np.unique imports numpy.ma
        seen[frontiers[side]] = side + 1
    return None


def _around(rows: Rows, nodes: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """The neighbours of some nodes, with repeats."""
    indptr, indices = rows
    counts = indptr[nodes + 1] - indptr[nodes]
    ends = np.cumsum(counts)
    places = np.arange(int(ends[-1])) + np.repeat(indptr[nodes] - (ends - counts), counts)
    found: Int32 = indices[places]
    return found
