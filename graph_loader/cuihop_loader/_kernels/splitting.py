"""Splitting of a block of complete lines into rows and fields; and the end of a JSON object."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, Int64, UInt8
from cuihop_loader._kernels.words import LANES, beyond_ascii, count_ones, first_ones, lowest_one, ones_where

BEYOND_ASCII, CRLF, ROWS, GOOD, BAD = range(5)
"""Indices of the counts of `split`."""

BAD_ROW, BAD_BEGIN, BAD_END, BAD_COLUMNS, BAD_TAIL = range(5)
"""Description of a bad row by `split`: its position in the block, its extent (without line end), the columns
that end with a bar, and the bytes after the last bar."""

_ONE = np.uint64(1)
_TWO, _EIGHT, _SIXTEEN = np.uint64(2), np.uint64(8), np.uint64(16)
_PLACES = 4096


@compiled
def split(
    buffer: UInt8,
    size: int,
    columns: int,
    bar: int,
    bars_of_row: int,
    requested: Int64,
    spans: Int32,
    rows: Int32,
    bad: Int32,
    counts: Int64,
) -> None:
    """Walk a block once, 64 bytes at a time.

    The positions of bars and line feeds are written one after the other, so that at a line feed the number of bars in
    its row, and their positions, follow by counting.

    Args:
        buffer: complete lines, ``buffer[size - 1]`` is a line feed. Zeros up to a multiple of 64 after it.
        columns: number of columns of a row.
        bar: the byte between columns, a bar or a tab, called bar here.
        bars_of_row: their number in a row: that of the columns, or one less where none ends the last column.
        requested: numbers of the columns to locate.
        spans: out, one row for each good row: begin and end of the first wanted column, of the second, …
        rows: out, the position in the block of each good row.
        bad: out, a description of each bad row, up to its capacity.
        counts: out; `GOOD` and `BAD` add up to `ROWS`. `BEYOND_ASCII` is not zero if some byte is not ASCII.
    """
    # bars[start - 1]: end of the row before. bars[start:count]: bars and line feeds from there on.
    bars = np.empty(_PLACES + columns + 2, dtype=np.int32)
    bars[0] = -1
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
        signs = ones_where(buffer, base, bar) | line_feeds
        here = count
        total = count_ones(signs)
        # Mostly eight to sixteen, so steps without branches. Surplus writes are overwritten. Places are unsigned
        # here and below: signed ones would each be tested for counting from the end.
        if total > first_ones(signs, base, bars, here):
            ones = signs
            to = np.uint64(here)
            for k in range(_EIGHT):
                bars[to + k] = base + lowest_one(ones)
                ones &= ones - _ONE
            if total > 8:
                for k in range(_EIGHT, _SIXTEEN):
                    bars[to + k] = base + lowest_one(ones)
                    ones &= ones - _ONE
                for k in range(_SIXTEEN, np.uint64(total)):
                    bars[to + k] = base + lowest_one(ones)
                    ones &= ones - _ONE
        count += total
        while line_feeds:
            lowest = line_feeds & (~line_feeds + _ONE)
            line_feeds ^= lowest
            at = here + count_ones(signs & (lowest - _ONE))
            begin = bars[start - 1] + 1
            line_feed = bars[at]
            end = line_feed
            if end > begin and buffer[end - 1] == 13:
                end -= 1
            if at - start == bars_of_row and (bars_of_row < columns or bars[at - 1] + 1 == end) and dropped == 0:
                if end < line_feed:
                    crlf += 1
                bars[at] = end  # of a last column without a bar
                out, first = np.uint64(good), np.uint64(start - 1)
                for k in range(np.uint64(requested.size)):
                    before = first + np.uint64(requested[k])
                    spans[out, _TWO * k] = bars[before] + 1
                    spans[out, _TWO * k + _ONE] = bars[before + _ONE]
                bars[at] = line_feed
                rows[good] = row
                good += 1
            else:
                if n_bad < bad.shape[0]:
                    bad[n_bad, BAD_ROW] = row
                    bad[n_bad, BAD_BEGIN] = begin
                    bad[n_bad, BAD_END] = end
                    bad[n_bad, BAD_COLUMNS] = at - start + dropped
                    bad[n_bad, BAD_TAIL] = end - bars[at - 1] - 1
                n_bad += 1
            row += 1
            start = at + 1
            dropped = 0
        if count > _PLACES - LANES:
            # Of a row with too many bars, only its begin, their number and the last ones matter.
            retained = min(count - start, columns + 1)
            dropped += count - start - retained
            bars[0] = bars[start - 1]
            for k in range(retained):
                bars[1 + k] = bars[count - retained + k]
            start = 1
            count = 1 + retained
    counts[BEYOND_ASCII] = np.int64(beyond != 0)
    counts[CRLF] = crlf
    counts[ROWS] = row
    counts[GOOD] = good
    counts[BAD] = n_bad


@compiled
def invalid_utf8(buffer: UInt8, size: int, positions: Int64) -> int:
    """Find the first byte that is not UTF-8 in each line with one (Unicode 15, table 3-7).

    Returns the number of lines; ``positions`` receives the positions of their bytes, up to its capacity.
    """
    count = 0
    i = 0
    while i < size:
        if i + LANES <= size:
            i += min(LANES, lowest_one(beyond_ascii(buffer, i)))
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
        if count < positions.size:
            positions[count] = i
        count += 1
        while i < size and buffer[i] != 10:
            i += 1
    return count


_QUOTE, _BACKSLASH, _OPEN, _CLOSE = 34, 92, 123, 125


@compiled
def end_of_object(text: UInt8, at: int) -> int:
    """The position after the object that begins at ``at``; 0 where the text ends before it. No syntax is checked."""
    depth = 0
    in_string = False
    position = at
    while position < text.size:
        sign = text[position]
        if in_string:
            if sign == _BACKSLASH:
                position += 1
            elif sign == _QUOTE:
                in_string = False
        elif sign == _QUOTE:
            in_string = True
        elif sign == _OPEN:
            depth += 1
        elif sign == _CLOSE:
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return 0
