"""Distances by landmarks: either a shortest path leads through one of a few hubs, or none of its concepts is a hub.

The least of the first kind follows from the hops of both ends to each landmark. For the second kind a search goes
round the landmarks, and no further than the first kind reaches: Farhan, Wang, Lin and McKay, "A Highly Scalable
Labelling Approach for Exact Distance Queries in Complex Networks", EDBT 2019. Hubs are the cause of long searches.

Arguments that recur: ``indptr``, ``indices``, ``mark``, ``queue`` and ``epoch`` as in `cuihop._kernels.bfs`;
``landmarks`` int32 (landmarks,), the hubs by number; ``hops_to`` uint8 (concepts, landmarks), hops to each of them,
`UNREACHED` where there is no path.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels import bfs
from cuihop._kernels.bfs import DISTANCE_EPOCHS, NO_PATH, UNKNOWN
from cuihop._kernels.jit import compiled, signed
from cuihop._kernels.lookup import NOWHERE, two_places
from cuihop._kernels.prefetch import prefetch

Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

UNREACHED = 255
"""Value in place of hops where there is no path."""

_FAR = 1 << 20
_SOON = 8  # pairs ahead


@compiled
def meeting(
    indptr: Int32,
    indices: Int32,
    hops_to: UInt8,
    start: int,
    end: int,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
) -> int:
    """The distance from start to end, or `NO_PATH` where there is none within ``bound``.

    The landmarks must be marked with a stamp that no search uses from ``epoch`` on, so that searches avoid them.
    """
    through = _FAR
    at_landmark = False
    for landmark in range(hops_to.shape[1]):
        from_start = signed(hops_to[start, landmark])
        from_end = signed(hops_to[end, landmark])
        at_landmark |= min(from_start, from_end) == 0
        if max(from_start, from_end) < UNREACHED:
            through = min(through, int(from_start + from_end))
    if not at_landmark:
        around = bfs.meeting(indptr, indices, indptr, indices, start, end, min(bound, through - 1), mark, queue, epoch)
        if around != NO_PATH:
            return around
    return through if through <= min(bound, _FAR - 1) else NO_PATH


@compiled
def distances(
    indptr: Int32,
    indices: Int32,
    landmarks: Int32,
    hops_to: UInt8,
    starts: Int32,
    ends: Int32,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
    hops: Int32,
) -> None:
    """Write the distance of each (start, end) into ``hops``: see `meeting`. Takes one stamp more than searches."""
    pairs = starts.size
    mark[landmarks] = epoch + DISTANCE_EPOCHS * pairs
    for pair in range(pairs):
        ahead = min(pair + _SOON, pairs - 1)
        for node in (starts[ahead], ends[ahead]):
            prefetch(hops_to, node * hops_to.shape[1])
            prefetch(indptr, node)
        hops[pair] = meeting(indptr, indices, hops_to, starts[pair], ends[pair], bound, mark, queue, epoch)
        epoch += DISTANCE_EPOCHS


@compiled
def distance_of_keys(
    keys: UInt64,
    start: int,
    end: int,
    indptr: Int32,
    indices: Int32,
    landmarks: Int32,
    hops_to: UInt8,
    bound: int,
    mark: Int32,
    queue: Int32,
    epoch: int,
) -> int:
    """The distance of one pair, given by its keys in an identifier table; `UNKNOWN` where the table lacks one."""
    a, b = two_places(keys, start, end)
    if min(a, b) == NOWHERE:
        return UNKNOWN
    mark[landmarks] = epoch + DISTANCE_EPOCHS
    return meeting(indptr, indices, hops_to, a, b, bound, mark, queue, epoch)
