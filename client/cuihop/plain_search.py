"""A distance without compiled code, for the first questions of a process.

Importing numba takes about a second, and `cuihop distance` asks one question. These functions give the answers of
`cuihop._kernels.bfs` and `cuihop._kernels.labels` in about a millisecond each, with numpy alone.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from cuihop.distance_index import Tables

__all__ = ["PlainTurns", "labelled_distance", "plain_distances", "searched_distance"]

Int32 = npt.NDArray[np.int32]
Rows = tuple[Int32, Int32]

_UNREACHED = 255


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


def plain_distances(
    rows: tuple[Int32, Int32, Int32, Int32], tables: Tables | None, ends: Int32, bound: int
) -> list[int | None]:
    """The distances of some pairs of concepts.

    Args:
        rows: as `cuihop._kernels.bfs` takes them.
        tables: the labels to read the distances from; without them they are searched.
        ends: the concepts by number: start, end, start, end, and so on.
        bound: the longest distance that counts.
    """
    answers = []
    for start, end in ends.reshape(-1, 2).tolist():
        if tables is None:
            hops = searched_distance(rows[:2], rows[2:], start, end, bound)
        else:
            hops = labelled_distance(tables, start, end)
        answers.append(hops if hops is not None and hops <= bound else None)
    return answers


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


def labelled_distance(tables: Tables, start: int, end: int) -> int | None:
    """The distance from start to end as two labels tell it; ``None`` where there is none."""
    place, indptr, entries, root_hops, root_sets = tables
    if start == end:
        return 0
    lifted = int(place[start] & 1) + int(place[end] & 1)
    a, b = int(place[start]) >> 1, int(place[end]) >> 1
    if a == b:
        return lifted
    label_a, label_b = (entries[int(indptr[rank]) : int(indptr[rank + 1]) - 1] for rank in (a, b))
    _, in_a, in_b = np.intersect1d(label_a >> 8, label_b >> 8, assume_unique=True, return_indices=True)
    sums = (label_a[in_a] & 255).astype(np.int64) + (label_b[in_b] & 255)
    hops = root_hops[a].astype(np.int64) + root_hops[b]
    (nearer_a, level_a), (nearer_b, level_b) = root_sets[a].T, root_sets[b].T
    two = (nearer_a & nearer_b) != 0
    one = ((nearer_a & level_b) | (level_a & nearer_b)) != 0
    hops -= np.where(two, 2, np.where(one, 1, 0))
    found = np.concatenate([sums, hops[(root_hops[a] < _UNREACHED) & (root_hops[b] < _UNREACHED)]])
    return lifted + int(found.min()) if len(found) else None
