"""Equal pieces of text to equal small numbers, and CUIs to their digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]

_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_FOLD = np.uint64(32)


@compiled
def hashed(buffer: UInt8, begin: int, end: int) -> np.uint64:
    """FNV-1a of the bytes, folded so that its low bits are good."""
    h = _FNV_START
    for i in range(begin, end):
        h = (h ^ np.uint64(buffer[i])) * _FNV_PRIME
    return h ^ (h >> _FOLD)


@compiled
def equal(buffer: UInt8, a_begin: int, a_end: int, b_begin: int, b_end: int) -> bool:
    """Whether two pieces of text are the same."""
    if a_end - a_begin != b_end - b_begin:
        return False
    for i in range(a_end - a_begin):  # noqa: SIM110 - generators are slow in compiled code
        if buffer[a_begin + i] != buffer[b_begin + i]:
            return False
    return True


@compiled
def intern(
    buffer: UInt8, spans: Int32, begin: int, end: int, rows: Int32, table: Int32, numbers: Int32, firsts: Int32
) -> int:
    """Number the texts of some rows from 0 in the order in which they first occur.

    Args:
        buffer: where the texts stand.
        spans, begin, end: the text of row r is ``buffer[spans[r, begin]:spans[r, end]]``.
        rows: which rows.
        table: scratch, all -1; its size a power of two, at least twice the number of rows.
        numbers: out, the number of each row's text.
        firsts: out, for each number the place in ``rows`` of its first text.

    Returns:
        how many different texts.
    """
    mask = table.size - 1
    count = 0
    last = -1  # the row before: mostly it has the same text
    for i in range(rows.size):
        r = rows[i]
        from_, to = spans[r, begin], spans[r, end]
        if last >= 0 and equal(buffer, from_, to, spans[last, begin], spans[last, end]):
            numbers[i] = numbers[i - 1]
            continue
        last = r
        slot = np.int64(hashed(buffer, from_, to)) & mask
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                firsts[count] = i
                numbers[i] = count
                count += 1
                break
            other = rows[firsts[number]]
            if equal(buffer, from_, to, spans[other, begin], spans[other, end]):
                numbers[i] = number
                break
            slot = (slot + 1) & mask
    return count


@compiled
def cui_digits(buffer: UInt8, spans: Int32, column: int, rows: Int32, digits: Int32) -> int:
    """The digits of each row's CUI as a number; -1 for what is not the letter C and seven digits.

    ``column``: where a row of ``spans`` holds the begin; the end follows. Returns how many are -1.
    """
    others = 0
    for i in range(rows.size):
        begin = spans[rows[i], column]
        number = np.int64(-1)
        if spans[rows[i], column + 1] - begin == 8 and buffer[begin] == 67:
            number += 1
            for k in range(1, 8):
                digit = np.int64(buffer[begin + k]) - 48
                if digit < 0 or digit > 9:
                    number = np.int64(-1)
                    break
                number = number * 10 + digit
        digits[i] = number
        if number < 0:
            others += 1
    return others
