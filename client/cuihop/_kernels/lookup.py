"""Where numbers stand in an ascending array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
UInt64 = npt.NDArray[np.uint64]

_TOGETHER = 8


@compiled
def positions(keys: UInt64, wanted: UInt64, found: Int32) -> None:
    """The place of each number, or -1 where ``keys`` (ascending, not empty) lacks it.

    Binary searches without a branch to mispredict, several at a time, so that they wait for memory together.
    """
    whole = wanted.size // _TOGETHER * _TOGETHER
    low = np.zeros(_TOGETHER, dtype=np.int64)
    for first in range(0, whole, _TOGETHER):
        low[:] = 0
        length = keys.size
        while length > 1:
            half = length >> 1
            for i in range(_TOGETHER):
                low[i] += half * int(keys[low[i] + half - 1] < wanted[first + i])
            length -= half
        for i in range(_TOGETHER):
            found[first + i] = low[i] if keys[low[i]] == wanted[first + i] else -1
    for i in range(whole, wanted.size):
        place = min(np.searchsorted(keys, wanted[i]), keys.size - 1)
        found[i] = place if keys[place] == wanted[i] else -1
