"""From a block of whole lines to where the fields of its rows begin and end, and to what is wrong with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

BEYOND_ASCII, CRLF, ROWS, GOOD, BAD = range(5)
"""What `split` counts."""

BAD_ROW, BAD_BEGIN, BAD_END, BAD_COLUMNS, BAD_TAIL = range(5)
"""What `split` tells of a bad row: its place in the block, where it begins and ends (without line end), the columns
that end with a bar, and the bytes after the last bar."""

_BARS = np.uint64(0x7C7C7C7C7C7C7C7C)
_LINE_FEEDS = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)
_TOP_BYTE = np.uint64(56)


@compiled
def split(
    buffer: UInt8,
    words: UInt64,
    size: int,
    columns: int,
    wanted: Int64,
    spans: Int32,
    rows: Int32,
    bad: Int32,
    counts: Int64,
) -> None:
    """Walk a block once.

    Eight bytes at a time: in ``x ^ bars``, a byte is zero where there was a bar, and
    ``~(((y & 0x7f…) + 0x7f…) | y | 0x7f…)`` has the high bit of exactly the zero bytes.

    Args:
        buffer: the bytes; whole lines, ``buffer[size - 1]`` is a line feed. Zeros up to a multiple of 8 after it.
        words: the same memory, little-endian.
        size: bytes in use.
        columns: how many a row must have, each ended by a bar.
        wanted: numbers of the columns whose places are asked for.
        spans: out, one row for each good row: begin and end of the first wanted column, of the second, …
        rows: out, the place in the block of each good row.
        bad: out, what is told of each bad row; of more than it can hold, only the first.
        counts: out; `GOOD` and `BAD` add up to `ROWS`. `BEYOND_ASCII` is not zero if some byte is not ASCII.
    """
    begins = np.empty(columns + 2, dtype=np.int32)
    begins[0] = 0
    column = 0  # bars so far in this row; begins[column] is the byte after the last of them
    extra = 0  # bars beyond those that a row may have
    row = 0
    good = 0
    n_bad = 0
    crlf = 0
    seen = np.uint64(0)
    for w in range((size + 7) // 8):
        x = words[w]
        seen |= x
        y = x ^ _BARS
        bars = ~(((y & _LOW_BITS) + _LOW_BITS) | y | _LOW_BITS)
        y = x ^ _LINE_FEEDS
        line_feeds = ~(((y & _LOW_BITS) + _LOW_BITS) | y | _LOW_BITS)
        found = bars | line_feeds
        while found:
            lowest = found & (~found + _ONE)
            found ^= lowest
            # The ones below bit 8 k + 7 fill k + 1 bytes' lowest bits; the product adds them up in its top byte.
            at = 8 * w + np.int64((((lowest - _ONE) & _ONES) * _ONES) >> _TOP_BYTE) - 1
            if bars & lowest:
                if column <= columns:
                    column += 1
                else:
                    extra += 1
                begins[column] = at + 1
                continue
            end = at
            if end > begins[0] and buffer[end - 1] == 13:
                end -= 1
            if column == columns and begins[column] == end:
                if end < at:
                    crlf += 1
                for k in range(wanted.size):
                    spans[good, 2 * k] = begins[wanted[k]]
                    spans[good, 2 * k + 1] = begins[wanted[k] + 1] - 1
                rows[good] = row
                good += 1
            else:
                if n_bad < bad.shape[0]:
                    bad[n_bad, BAD_ROW] = row
                    bad[n_bad, BAD_BEGIN] = begins[0]
                    bad[n_bad, BAD_END] = end
                    bad[n_bad, BAD_COLUMNS] = column + extra
                    bad[n_bad, BAD_TAIL] = end - begins[column]
                n_bad += 1
            row += 1
            column = 0
            extra = 0
            begins[0] = at + 1
    counts[BEYOND_ASCII] = np.int64((seen & _HIGH_BITS) >> np.uint64(1))
    counts[CRLF] = crlf
    counts[ROWS] = row
    counts[GOOD] = good
    counts[BAD] = n_bad


@compiled
def invalid_utf8(buffer: UInt8, words: UInt64, size: int, places: Int64) -> int:
    """The first byte that is not UTF-8 in each line that has one (Unicode 15, table 3-7).

    Returns how many lines; ``places`` gets their bytes, as many as it can hold.
    """
    found = 0
    i = 0
    while i < size:
        if i % 8 == 0:
            while i + 8 <= size and not words[i // 8] & _HIGH_BITS:
                i += 8
            if i >= size:
                break
        first = buffer[i]
        if first < 0x80:
            i += 1
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            if first == 0xE0:
                low = 0xA0
            elif first == 0xED:
                high = 0x9F  # no surrogates
        elif 0xF0 <= first <= 0xF4:
            more = 3
            if first == 0xF0:
                low = 0x90
            elif first == 0xF4:
                high = 0x8F
        else:
            more = 0
        valid = more > 0 and i + more < size
        if valid:
            for k in range(1, more + 1):
                if not low <= buffer[i + k] <= high:
                    valid = False
                    break
                low, high = 0x80, 0xBF
        if valid:
            i += more + 1
            continue
        if found < places.size:
            places[found] = i
        found += 1
        while i < size and buffer[i] != 10:
            i += 1
    return found
