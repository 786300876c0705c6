"""Look-up of numbers in an ascending array; of CUIs, in the set of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Int32, UInt8, UInt64

NOWHERE = -1
"""Position of a number that is absent."""

CUI_WORDS = 156_250
"""Words of 64 bits for the 10,000,000 numbers that a CUI can have."""

_TOGETHER = 8

_NO_DIGITS = np.uint64(int.from_bytes(b"C0000000", "big"))
_ABOVE_NINE, _HIGHEST_BITS = np.uint64(0x0076767676767676), np.uint64(0xFF80808080808080)
_EVERY_2ND, _EVERY_4TH, _LOW = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF), np.uint64(2**32 - 1)
_10, _100, _10000 = np.uint64(10), np.uint64(100), np.uint64(10_000)
_PAIRS, _FOURS, _BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_0, _1, _2, _4, _6, _8, _16, _32, _56, _63 = (np.uint64(number) for number in (0, 1, 2, 4, 6, 8, 16, 32, 56, 63))


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
        rows[i] = two_positions(keys.reshape(keys.size, 1), requested[i], requested[i])[0]


@compiled
def _number(key: Any) -> Any:
    """The number in a CUI, its seven digits added in pairs; one beyond `CUI_WORDS` for another key."""
    digits = key ^ _NO_DIGITS
    if ((digits + _ABOVE_NINE) | digits) & _HIGHEST_BITS != _0:
        return _LOW
    digits = ((digits >> _8) & _EVERY_2ND) * _10 + (digits & _EVERY_2ND)
    digits = ((digits >> _16) & _EVERY_4TH) * _100 + (digits & _EVERY_4TH)
    return (digits >> _32) * _10000 + (digits & _LOW)


@compiled
def set_bits(keys: UInt64, cuis: UInt64) -> bool:
    """Write the set of these CUIs into ``cuis`` (zeros, shape (`CUI_WORDS`, 2)); false where a key is no CUI.

    The two numbers of a row lie in one line of the cache: a bit for each of 64 CUIs, and how many come before them.
    """
    for key in keys:
        number = _number(key)
        if number == _LOW:
            return False
        cuis[number >> _6, 0] |= _1 << (number & _63)
    before = _0
    for word in range(CUI_WORDS):
        cuis[word, 1] = before
        before += _ones(cuis[word, 0])
    return True


@compiled
def _ones(word: Any) -> Any:
    """The number of bits that are set: a pattern that compilers turn into one instruction."""
    word -= (word >> _1) & _PAIRS
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    word = (word + (word >> _4)) & _BYTES
    return (word * _ONES) >> _56


@compiled
def _cui_position(cuis: UInt64, key: Any) -> int:
    number = _number(key)
    word = signed(number >> _6)
    if word >= CUI_WORDS or (cuis[word, 0] >> (number & _63)) & _1 == _0:
        return NOWHERE
    return int(signed(cuis[word, 1] + _ones(cuis[word, 0] & ((_1 << (number & _63)) - _1))))


@compiled
def cui_positions(cuis: UInt64, requested: UInt64, rows: Int32) -> None:
    """The position of each key among CUIs alone, or `NOWHERE`: as `positions`, in a twentieth of the time.

    ``cuis`` as `set_bits` leaves it.
    """
    for i in range(requested.size):
        rows[i] = _cui_position(cuis, requested[i])


@compiled
def two_positions(numbers: UInt64, one: int, other: int) -> tuple[int, int]:
    """The positions of two numbers; `NOWHERE` for one that is absent.

    ``numbers`` has one column, ascending, in which both are searched together; or two, as `set_bits` leaves them.
    """
    first = np.uint64(one)
    second = np.uint64(other)
    if numbers.shape[1] == 2:
        return _cui_position(numbers, first), _cui_position(numbers, second)
    length = numbers.shape[0]
    if length == 0:
        return NOWHERE, NOWHERE
    a = 0
    b = 0
    while length > 1:
        half = length >> 1
        a += half * (numbers[a + half - 1, 0] < first)
        b += half * (numbers[b + half - 1, 0] < second)
        length -= half
    return a if numbers[a, 0] == first else NOWHERE, b if numbers[b, 0] == second else NOWHERE


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
