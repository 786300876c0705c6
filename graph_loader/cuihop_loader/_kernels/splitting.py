"""Splitting of a block of whole lines into rows and fields, with the faults of bad rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop_loader._kernels.words import LANES, beyond_ascii, count_ones, lowest_one, ones_where

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

BEYOND_ASCII, CRLF, ROWS, GOOD, BAD = range(5)
"""Indices of the counts of `split`."""

BAD_ROW, BAD_BEGIN, BAD_END, BAD_COLUMNS, BAD_TAIL = range(5)
"""Description of a bad row by `split`: its position in the block, its extent (without line end), the columns
that end with a bar, and the bytes after the last bar."""

_HIGH_BITS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
_TWO, _EIGHT, _SIXTEEN = np.uint64(2), np.uint64(8), np.uint64(16)
_PLACES = 4096


@compiled
def split(
    buffer: UInt8,
    size: int,
    columns: int,
    wanted: Int64,
    spans: Int32,
    rows: Int32,
    bad: Int32,
    counts: Int64,
) -> None:
    """Walk a block once, 64 bytes at a time.

    The positions of bars and line feeds are written one after the other, so that at a line feed the number of bars in
    its row, and their positions, follow by counting.

    Args:
        buffer: the bytes; whole lines, ``buffer[size - 1]`` is a line feed. Zeros up to a multiple of 64 after it.
        size: bytes in use.
        columns: number of columns of a row, each ended by a bar.
        wanted: numbers of the columns to locate.
        spans: out, one row for each good row: begin and end of the first wanted column, of the second, …
        rows: out, the position in the block of each good row.
        bad: out, a description of each bad row, up to its capacity.
        counts: out; `GOOD` and `BAD` add up to `ROWS`. `BEYOND_ASCII` is not zero if some byte is not ASCII.
    """
    # places[start - 1]: end of the row before. places[start:count]: bars and line feeds from there on.
    places = np.empty(_PLACES + columns + 2, dtype=np.int32)
    places[0] = -1
    start = 1
    count = 1
    dropped = 0  # bars of this row, which has too many, that were dropped
    row = 0
    good = 0
    n_bad = 0
    crlf = 0
    beyond = np.uint64(0)
    for base in range(0, size, LANES):
        beyond |= beyond_ascii(buffer, base)
        line_feeds = ones_where(buffer, base, 10)
        found = ones_where(buffer, base, 124) | line_feeds
        here = count
        total = count_ones(found)
        # Mostly eight to sixteen, so steps without branches. Surplus writes are overwritten. Places are unsigned
        # here and below: signed ones would each be tested for counting from the end.
        ones = found
        to = np.uint64(here)
        for k in range(_EIGHT):
            places[to + k] = base + lowest_one(ones)
            ones &= ones - _ONE
        if total > 8:
            for k in range(_EIGHT, _SIXTEEN):
                places[to + k] = base + lowest_one(ones)
                ones &= ones - _ONE
            for k in range(_SIXTEEN, np.uint64(total)):
                places[to + k] = base + lowest_one(ones)
                ones &= ones - _ONE
        count += total
        while line_feeds:
            lowest = line_feeds & (~line_feeds + _ONE)
            line_feeds ^= lowest
            at = here + count_ones(found & (lowest - _ONE))
            begin = places[start - 1] + 1
            end = places[at]
            if end > begin and buffer[end - 1] == 13:
                end -= 1
            if at - start == columns and places[at - 1] + 1 == end and dropped == 0:
                if end < places[at]:
                    crlf += 1
                out, first = np.uint64(good), np.uint64(start - 1)
                for k in range(np.uint64(wanted.size)):
                    bar = first + np.uint64(wanted[k])
                    spans[out, _TWO * k] = places[bar] + 1
                    spans[out, _TWO * k + _ONE] = places[bar + _ONE]
                rows[good] = row
                good += 1
            else:
                if n_bad < bad.shape[0]:
                    bad[n_bad, BAD_ROW] = row
                    bad[n_bad, BAD_BEGIN] = begin
                    bad[n_bad, BAD_END] = end
                    bad[n_bad, BAD_COLUMNS] = at - start + dropped
                    bad[n_bad, BAD_TAIL] = end - places[at - 1] - 1
                n_bad += 1
            row += 1
            start = at + 1
            dropped = 0
        if count > _PLACES - LANES:
            # Of a row with too many bars, only its begin, their number and the last ones matter.
            retained = min(count - start, columns + 1)
            dropped += count - start - retained
            places[0] = places[start - 1]
            for k in range(retained):
                places[1 + k] = places[count - retained + k]
            start = 1
            count = 1 + retained
    counts[BEYOND_ASCII] = np.int64(beyond != 0)
    counts[CRLF] = crlf
    counts[ROWS] = row
    counts[GOOD] = good
    counts[BAD] = n_bad


@compiled
def invalid_utf8(buffer: UInt8, words: UInt64, size: int, places: Int64) -> int:
    """Find the first byte that is not UTF-8 in each line with one (Unicode 15, table 3-7).

    Returns the number of lines; ``places`` receives the positions of their bytes, up to its capacity.
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
