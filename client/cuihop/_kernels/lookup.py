"""Look-up of numbers in an ascending array."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Int32, UInt8, UInt64

NOWHERE = -1
"""Position of a number that is absent."""

_TOGETHER = 8


@compiled
def positions(keys: UInt64, requested: UInt64, rows: Int32) -> None:
    """The position of each number, or `NOWHERE` where ``keys`` (ascending, not empty) lacks it.

    Branch-free binary searches, several at a time, so that they wait for memory together.
    """
    batched = requested.size // _TOGETHER * _TOGETHER
    for first in range(0, batched, _TOGETHER):
        for i in range(_TOGETHER):
            rows[first + i] = 0
        length = keys.size
        while length > 1:
            half = length >> 1
            for i in range(_TOGETHER):
                rows[first + i] += half * (keys[rows[first + i] + half - 1] < requested[first + i])
            length -= half
        for i in range(_TOGETHER):
            if keys[rows[first + i]] != requested[first + i]:
                rows[first + i] = NOWHERE
    for i in range(batched, requested.size):
        rows[i] = two_positions(keys, requested[i], requested[i])[0]


@compiled
def two_positions(keys: UInt64, one: int, other: int) -> tuple[int, int]:
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
        a += half * (keys[a + half - 1] < first)
        b += half * (keys[b + half - 1] < second)
        length -= half
    return a if keys[a] == first else NOWHERE, b if keys[b] == second else NOWHERE


@compiled
def two_text_positions(texts: UInt8, one: bytes, other: bytes) -> tuple[int, int]:
    """The positions of two texts among ascending rows padded with zeros; `NOWHERE` for one that is in no row.

    The texts are at most as wide as the rows, and without zeros.
    """
    return _text_position(texts, one), _text_position(texts, other)


@compiled
def _text_position(texts: UInt8, text: bytes) -> int:
    low = 0
    high = texts.shape[0]
    while low < high:
        middle = (low + high) // 2
        if _compared(texts, middle, text) < 0:
            low = middle + 1
        else:
            high = middle
    return low if low < texts.shape[0] and _compared(texts, low, text) == 0 else NOWHERE


@compiled
def _compared(texts: UInt8, row: int, text: bytes) -> int:
    """Less than 0 where the row comes before the text, more where after, 0 where they are equal."""
    for i in range(len(text)):
        difference = signed(texts[row, i]) - signed(text[i])
        if difference != 0:
            return int(difference)
    return int(signed(texts[row, len(text)])) if len(text) < texts.shape[1] else 0
