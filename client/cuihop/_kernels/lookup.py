"""Look-up of numbers in an ascending array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled, signed

Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

NOWHERE = -1
"""Position of a number that is absent."""

_TOGETHER = 8


@compiled
def positions(keys: UInt64, wanted: UInt64, found: Int32) -> None:
    """The position of each number, or `NOWHERE` where ``keys`` (ascending, not empty) lacks it.

    Branch-free binary searches, several at a time, so that they wait for memory together.
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
            found[first + i] = low[i] if keys[low[i]] == wanted[first + i] else NOWHERE
    for i in range(whole, wanted.size):
        place = min(np.searchsorted(keys, wanted[i]), keys.size - 1)
        found[i] = place if keys[place] == wanted[i] else NOWHERE


@compiled
def two_places(keys: UInt64, one: int, other: int) -> tuple[int, int]:
    """The positions of two numbers, searched together; `NOWHERE` for one that ``keys`` (ascending) lacks."""
    length = keys.size
    if length == 0:
        return NOWHERE, NOWHERE
    first = np.uint64(one)
    second = np.uint64(other)
    a = 0
    b = 0
    while length > 1:
        half = length >> 1
        a += half * int(keys[a + half - 1] < first)
        b += half * int(keys[b + half - 1] < second)
        length -= half
    return a if keys[a] == first else NOWHERE, b if keys[b] == second else NOWHERE


@compiled
def two_text_places(texts: UInt8, one: bytes, other: bytes) -> tuple[int, int]:
    """The positions of two texts among ascending rows padded with zeros; `NOWHERE` for one that is in no row.

    Args:
        texts: uint8, shape (rows, width). one, other: at most that wide, without zeros.
    """
    return _text_place(texts, one), _text_place(texts, other)


@compiled
def _text_place(texts: UInt8, wanted: bytes) -> int:
    low = 0
    high = texts.shape[0]
    while low < high:
        middle = (low + high) // 2
        if _compared(texts, middle, wanted) < 0:
            low = middle + 1
        else:
            high = middle
    return low if low < texts.shape[0] and _compared(texts, low, wanted) == 0 else NOWHERE


@compiled
def _compared(texts: UInt8, row: int, wanted: bytes) -> int:
    """Less than 0 where the row comes before the text, more where after, 0 where they are equal."""
    for i in range(len(wanted)):
        difference = signed(texts[row, i]) - signed(wanted[i])
        if difference != 0:
            return int(difference)
    return int(signed(texts[row, len(wanted)])) if len(wanted) < texts.shape[1] else 0
