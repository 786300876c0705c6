"""Interning of texts as small numbers, and of CUIs as their digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8
from cuihop_loader._kernels.words import copy_bytes, eight_bytes, first_bytes

Values = npt.NDArray[np.integer]

_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(32)
_EIGHT = np.uint64(8)
_EMPTY = np.uint64(0)

_FIRST_BYTE = np.uint64(0xFF)
_LETTER_C, _ZERO = np.uint64(ord("C")), np.uint64(ord("0"))
_HIGH_HALVES = np.uint64(0xF0F0F0F0F0F0F0F0)
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_TEN, _SIXTEEN, _HALF = np.uint64(10), np.uint64(16), np.uint64(32)
_PAIRS = np.uint64(0x000000FF000000FF)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_OUTER, _INNER = np.uint64(100 + (1_000_000 << 32)), np.uint64(1 + (10_000 << 32))


@compiled
def hashed(buffer: UInt8, begin: int, end: int) -> np.uint64:
    """Hash of the bytes with good low bits: multiplied and folded, eight bytes at a time."""
    h = _START ^ np.uint64(end - begin)
    at = begin
    while at + 8 <= end:
        h = (h ^ eight_bytes(buffer, at)) * _PRIME
        h ^= h >> _FOLD
        at += 8
    if at < end:
        h = (h ^ first_bytes(buffer, at, end - at)) * _PRIME
        h ^= h >> _FOLD
    return h


@compiled
def equal(buffer: UInt8, a_begin: int, a_end: int, b_begin: int, b_end: int) -> bool:
    """Compare two pieces of text for equality."""
    length = a_end - a_begin
    if length != b_end - b_begin:
        return False
    k = 0
    while k + 8 <= length:
        if eight_bytes(buffer, a_begin + k) != eight_bytes(buffer, b_begin + k):
            return False
        k += 8
    left = length - k
    return left == 0 or first_bytes(buffer, a_begin + k, left) == first_bytes(buffer, b_begin + k, left)


@compiled
def intern(
    buffer: UInt8, spans: Int32, begin: int, end: int, rows: Int32, table: Int32, numbers: Int32, firsts: Int32
) -> int:
    """Number the texts of some rows from 0 by first occurrence, and return how many differ.

    Args:
        spans, begin, end: the text of row r is ``buffer[spans[r, begin]:spans[r, end]]``.
        table: scratch, all -1; its size a power of two, at least twice the number of rows.
        numbers: out, the number of each row's text.
        firsts: out, for each number the position in ``rows`` of its first text.
    """
    mask = table.size - 1
    keys = np.empty(rows.size, dtype=np.uint64)  # up to eight bytes the text itself, else its hash
    lengths = np.empty(rows.size, dtype=np.int32)
    count = 0
    for i in range(rows.size):
        r = rows[i]
        from_, to = spans[r, begin], spans[r, end]
        length = to - from_
        key = _EMPTY
        if length > 8:
            key = hashed(buffer, from_, to)
        elif length > 0:
            key = first_bytes(buffer, from_, length)
        slot = np.int64((key * _PRIME) >> _FOLD) & mask
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                keys[count] = key
                lengths[count] = length
                firsts[count] = i
                numbers[i] = count
                count += 1
                break
            if keys[number] == key and lengths[number] == length:
                other = rows[firsts[number]]
                if length <= 8 or equal(buffer, from_, to, spans[other, begin], spans[other, end]):
                    numbers[i] = number
                    break
            slot = (slot + 1) & mask
    return count


@compiled
def _eight_figures(figures: np.uint64) -> int:
    """The number written by eight digits, lowest byte first: combined by twos, by fours, all."""
    values = figures - _ZEROS
    values = values * _TEN + (values >> _EIGHT)
    outer, inner = values & _PAIRS, (values >> _SIXTEEN) & _PAIRS
    number: int = signed((outer * _OUTER + inner * _INNER) >> _HALF & _LOW_HALF)
    return number


@compiled
def cui_code(buffer: UInt8, begin: int, end: int) -> int:
    """1 + the digits of a CUI as a number; 0 for any text but the letter C and seven digits."""
    if end - begin != 8:
        return 0
    word = eight_bytes(buffer, begin)
    figures = (word & ~_FIRST_BYTE) | _ZERO
    if (
        word & _FIRST_BYTE != _LETTER_C
        or figures & _HIGH_HALVES != _ZEROS
        or (figures + _SIXES) & _HIGH_HALVES != _ZEROS
    ):
        return 0
    return 1 + _eight_figures(figures)


@compiled
def cui_codes(buffer: UInt8, spans: Int32, column: int, rows: Int32, codes: Int32) -> int:
    """`cui_code` of each row; return the number of 0. ``column``: that of ``spans`` with the begin; the end follows."""
    others = 0
    for i in range(rows.size):
        codes[i] = cui_code(buffer, spans[rows[i], column], spans[rows[i], column + 1])
        others += codes[i] == 0
    return others


@compiled
def whole_numbers(buffer: UInt8, spans: Int32, column: int, rows: Int32, numbers: Int64) -> None:
    """Read a column of some rows: numbers of up to 18 digits, without zeros in front; -1 for any other text."""
    for i in range(rows.size):
        begin, end = spans[rows[i], column], spans[rows[i], column + 1]
        length = end - begin
        number = -1 if length == 0 or length > 18 or (length > 1 and buffer[begin] == 48) else 0
        for k in range(begin, end):
            digit = int(np.int64(buffer[k])) - 48
            if number < 0 or digit < 0 or digit > 9:
                number = -1
                break
            number = 10 * number + digit
        numbers[i] = number


@compiled
def copied(buffer: UInt8, spans: Int32) -> tuple[Int64, UInt8]:
    """The texts of the spans one after the other: their offsets, and their bytes."""
    offsets = np.zeros(spans.shape[0] + 1, dtype=np.int64)
    for i in range(spans.shape[0]):
        offsets[i + 1] = offsets[i] + spans[i, 1] - spans[i, 0]
    blob = np.empty(offsets[-1], dtype=np.uint8)
    for i in range(spans.shape[0]):
        copy_bytes(buffer, spans[i, 0], spans[i, 1], blob, offsets[i])
    return offsets, blob


@compiled
def not_opaque(offsets: Int64, blob: UInt8, longest: int) -> Bool:
    """True for each text that is no identifier: empty, too long, or with a byte that is not printable ASCII.

    See `cuihop.identifiers.EXPECTED`: the space, ';' and '|' are no part of one.
    """
    malformed = np.zeros(offsets.size - 1, dtype=np.bool_)
    for i in range(malformed.size):
        length = offsets[i + 1] - offsets[i]
        malformed[i] = length == 0 or length > longest
        for k in range(offsets[i], offsets[i + 1]):
            byte = blob[k]
            malformed[i] |= byte <= 32 or byte >= 127 or byte == 59 or byte == 124
    return malformed


@compiled
def register(
    offsets: Int64, blob: UInt8, stored_offsets: Int64, stored: UInt8, count: int, table: Int32, numbers: Int32
) -> int:
    """Number texts as those of a register, to which new ones are added; return how many it then has.

    Args:
        stored_offsets, stored, count: offsets, bytes and number of the texts of the register, with room for all.
        table: their numbers by hash, -1 where free; its size a power of two, with room for all.
        numbers: out, the number of each text.
    """
    mask = table.size - 1
    for i in range(offsets.size - 1):
        begin, end = offsets[i], offsets[i + 1]
        slot = np.int64(hashed(blob, begin, end)) & mask
        while table[slot] >= 0 and not same_values(
            blob, begin, end, stored, stored_offsets[table[slot]], stored_offsets[table[slot] + 1]
        ):
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = count
            stored_offsets[count + 1] = stored_offsets[count] + end - begin
            copy_bytes(blob, begin, end, stored, stored_offsets[count])
            count += 1
        numbers[i] = table[slot]
    return count


@compiled
def enter_texts(stored_offsets: Int64, stored: UInt8, count: int, table: Int32) -> None:
    """Enter the texts of a register into an empty table: see `register`."""
    mask = table.size - 1
    for number in range(count):
        slot = np.int64(hashed(stored, stored_offsets[number], stored_offsets[number + 1])) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


@compiled
def same_values(one: Values, begin: int, end: int, other: Values, other_begin: int, other_end: int) -> bool:
    """Compare two pieces of arrays for equality."""
    if end - begin != other_end - other_begin:
        return False
    for k in range(end - begin):  # noqa: SIM110 - generators are slow in compiled code
        if one[begin + k] != other[other_begin + k]:
            return False
    return True


@compiled
def in_columns(stored_offsets: Int64, stored: UInt8, numbers: Int64, rows: Int64, out: UInt8) -> None:
    """Write texts of a register into rows of equal width, with zeros behind each."""
    for i in range(numbers.size):
        begin = stored_offsets[numbers[i]]
        length = stored_offsets[numbers[i] + 1] - begin
        for k in range(out.shape[1]):
            out[rows[i], k] = stored[begin + k] if k < length else 0


# Sets of small numbers are numbers, too: a set of one member is that member, and any other has the number of the set
# without its last member, and that member.


@compiled
def empty_sets(singles: int) -> tuple[Int32, Int32]:
    """The sets of one member and room for others, and a hash table of them: see `with_room`."""
    sets = np.full((singles, 2), -1, dtype=np.int32)
    for number in range(singles):  # an array assigned to a slice compiles `str`, for two seconds
        sets[number, 1] = number
    return with_room(sets, singles + 64)


@compiled
def with_room(sets: Int32, more: int) -> tuple[Int32, Int32]:
    """The sets and room for more, and a hash table of those that there are, -1 where free."""
    count = sets.shape[0]
    sets = np.concatenate((sets, np.empty((more, 2), dtype=np.int32)))
    size = 64
    while size < 2 * sets.shape[0]:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    for number in range(count):
        table[_slot(sets[number, 0], sets[number, 1], sets, table)] = number
    return sets, table


@compiled
def with_member(number: int, member: int, sets: Int32, count: int, table: Int32) -> int:
    """The number of a set with a last member more; ``count`` if it is new, and then it is entered."""
    slot = _slot(number, member, sets, table)
    if table[slot] < 0:
        table[slot] = count
        sets[count, 0], sets[count, 1] = number, member
    return int(table[slot])


@compiled
def _slot(number: int, member: int, sets: Int32, table: Int32) -> int:
    """The slot of the set of a number and one member more: its own, or a free one."""
    mask = table.size - 1
    key = np.uint64(signed(number) << 16 | signed(member)) * _PRIME
    slot = int(key >> _FOLD) & mask
    while table[slot] >= 0 and (sets[table[slot], 0] != number or sets[table[slot], 1] != member):
        slot = (slot + 1) & mask
    return slot


@compiled
def common_sets(added: Int32, singles: int, sets: Int32, count: int, table: Int32) -> tuple[Int32, int, Int32, Int32]:
    """Enter sets, those after the first ``singles``, among common ones.

    Returns the common number of each set, those of one member included; how many there are; they, and their table.
    """
    numbers = np.arange(singles + added.shape[0]).astype(np.int32)
    for i in range(added.shape[0]):
        if count == sets.shape[0]:
            sets, table = with_room(sets, count)
        number = with_member(numbers[added[i, 0]], added[i, 1], sets, count, table)
        numbers[singles + i] = number
        count = max(count, number + 1)
    return numbers, count, sets, table
