"""Landmarks of a graph: its greatest hubs, and the hops from everywhere to each. Made in about a second for a million.

They make searches short where there is no index: `cuihop._kernels.landmarks` says how.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop.resources.cores import in_threads
from cuihop.snapshot.scratch import ScratchPool

__all__ = ["LANDMARKS", "Landmarks", "landmarks_of"]

LANDMARKS = 16
"""How many there are: more make searches little shorter, and take longer to make."""

_UNREACHED = 255
_FARTHEST = 254


class Landmarks(NamedTuple):
    """The hubs by number, int32 (landmarks,), and hops to them, uint8 (concepts, landmarks), 255 for no path."""

    numbers: npt.NDArray[np.int32]
    hops_to: npt.NDArray[np.uint8]


def landmarks_of(
    rows: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]], count: int, scratch: ScratchPool
) -> Landmarks | None:
    """The landmarks of a graph; ``None`` where it has no edge, or where some concept is more than 254 hops away.

    Args:
        rows: the neighbours of each concept, either way, in compressed rows.
        count: how many landmarks, at the most.
        scratch: memory for searches.
    """
    from cuihop._kernels import bfs

    indptr, indices = rows
    degrees = np.diff(indptr)
    count = min(count, int(np.count_nonzero(degrees)))
    if not count:
        return None
    numbers = np.argsort(-degrees, kind="stable")[:count].astype(np.int32)
    hops_to = np.full((len(degrees), count), _UNREACHED, dtype=np.uint8)
    too_far = []

    def reach(column: int) -> None:
        with scratch.lent() as lent:
            reached = bfs.ball(
                indptr, indices, int(numbers[column]), len(degrees), lent.mark, lent.queue, lent.levels, lent.stamps(1)
            )
            if lent.levels[reached - 1] > _FARTHEST:
                too_far.append(column)
            hops_to[lent.queue[:reached], column] = lent.levels[:reached]

    in_threads(reach, range(count))
    return None if too_far else Landmarks(numbers, hops_to)
