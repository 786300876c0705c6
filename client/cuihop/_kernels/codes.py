"""Codes of vocabularies: put in order by their hashes, and looked up."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt16, UInt32, UInt64

UNKNOWN = -1
"""Number of a code that the table lacks."""

NO_VOCABULARY = -2
"""Number of a code whose vocabulary the table lacks, or of a text without a colon."""

_START, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
_HALF, _THIRD = np.uint64(32), np.uint64(29)
_LOWEST = np.uint64(0xFFFFFFFF)
_COLON = 58
_LAST_BITS = 12  # of a hash, by which the hashes that share the others are sorted: a quarter of a cache
_AHEAD = 12  # rows whose cache lines are fetched meanwhile


@compiled
def _hash(sab: int, text: UInt8, begin: int, end: int) -> np.uint64:
    """Hash of a code in a vocabulary, whose highest bits are good."""
    h = (_START ^ np.uint64(sab)) * _PRIME
    for k in range(begin, end):
        h = (h ^ np.uint64(text[k])) * _PRIME
        h ^= h >> _HALF
    h = (h ^ (h >> _THIRD)) * _PRIME
    return h ^ (h >> _HALF)


@compiled
def hashes(sabs: UInt16, offsets: Int64, blob: UInt8) -> UInt64:
    """The hash of each code."""
    answer = np.empty(sabs.size, dtype=np.uint64)
    for i in range(sabs.size):
        answer[i] = _hash(sabs[i], blob, offsets[i], offsets[i + 1])
    return answer


@compiled
def _order(one: UInt8, begin: int, end: int, other: UInt8, other_begin: int, other_end: int) -> int:
    """Negative, 0 or positive as the first text comes before the other, is the same, or comes after it."""
    for k in range(min(end - begin, other_end - other_begin)):
        here, there = one[begin + k], other[other_begin + k]
        if here != there:
            return -1 if here < there else 1
    return (end - begin) - (other_end - other_begin)


@compiled
def _sort(
    values: UInt64, rows: Int32, first: int, last: int, shift: np.uint64, bits: int, out: UInt64, out_rows: Int32
) -> Int32:
    """Sort some values and their rows by the lowest bits after a shift, and return the end of each number's values."""
    mask = np.uint64((1 << bits) - 1)
    ends = np.zeros((1 << bits) + 1, dtype=np.int32)
    ends[0] = first
    for i in range(first, last):
        ends[np.int64((values[i] >> shift) & mask) + 1] += 1
    for number in range(1 << bits):
        ends[number + 1] += ends[number]
    for i in range(first, last):
        of_value = np.int64((values[i] >> shift) & mask)
        out[ends[of_value]], out_rows[ends[of_value]] = values[i], rows[i]
        ends[of_value] += 1
    return ends


@compiled
def in_buckets(values: UInt64, bits: int) -> Int32:
    """Sort hashes by their highest bits, and return the rows that they had; those with the same bits keep their order.

    First by some of these bits, and then the hashes with the same ones, which the caches of the processor hold.
    """
    high = max(0, bits - _LAST_BITS)
    rows, other_rows = np.arange(values.size, dtype=np.int32), np.empty(values.size, dtype=np.int32)
    others = np.empty_like(values)
    first = 0
    for last in _sort(values, rows, 0, values.size, np.uint64(64 - high if high else 0), high, others, other_rows)[:-1]:
        _sort(others, other_rows, first, last, np.uint64(64 - bits if bits else 0), bits - high, values, rows)
        first = last
    return rows


@compiled
def numbered(
    order: Int32, values: UInt64, bits: int, sabs: UInt16, offsets: Int64, blob: UInt8, numbers: Int32, firsts: Int32
) -> int:
    """Number the distinct codes in the order of the highest bits of their hashes, and return how many there are.

    Args:
        order: the rows in this order: see `in_buckets`. values: their hashes; afterwards those of the distinct codes.
        numbers: out, the number of each row's code. firsts: out, a row of each code.
    """
    shift = np.uint64(63 - bits)
    count = first = 0
    bucket = np.uint64(0)
    for i in range(order.size):
        row, value = order[i], values[i]
        if value >> shift >> np.uint64(1) != bucket:
            bucket, first = value >> shift >> np.uint64(1), count
        number = first
        while number < count:
            other = firsts[number]
            if (
                values[number] == value
                and sabs[other] == sabs[row]
                and _order(blob, offsets[row], offsets[row + 1], blob, offsets[other], offsets[other + 1]) == 0
            ):
                break
            number += 1
        if number == count:
            firsts[count], values[count] = row, value
            count += 1
        numbers[row] = number
    return count


@compiled
def arranged(
    order: Int32, owners: Int32, grades: UInt32, numbers: Int32, sabs: UInt16, offsets: Int64, blob: UInt8,
    scui_offsets: Int64, scui_blob: UInt8, selected: Int32, counts: Int32,
) -> int:  # fmt: skip
    """Choose each code of a concept once, best first; return the number of rows chosen.

    Args:
        order: the rows by concept. owners: the concept of each row; -1 for none.
        selected: out, the rows: by concept, grade, vocabulary, code and concept of the vocabulary.
        counts: out, the codes of each concept.
    """
    count = first = 0
    owner = -1
    for i in range(order.size):
        row = order[i]
        if owners[row] < 0:
            continue
        if owners[row] != owner:
            owner, first = owners[row], count
        at = first
        while at < count:
            other = selected[at]
            if numbers[other] == numbers[row] and _order(
                scui_blob, scui_offsets[row], scui_offsets[row + 1],
                scui_blob, scui_offsets[other], scui_offsets[other + 1],
            ) == 0:  # fmt: skip
                break
            at += 1
        if at < count:
            if grades[selected[at]] <= grades[row]:
                continue
            count -= 1
            for k in range(at, count):
                selected[k] = selected[k + 1]
            at = count
        while at > first:
            other = selected[at - 1]
            if grades[other] < grades[row] or (grades[other] == grades[row] and sabs[other] < sabs[row]):
                break
            if grades[other] == grades[row] and sabs[other] == sabs[row]:
                difference = _order(blob, offsets[other], offsets[other + 1], blob, offsets[row], offsets[row + 1])
                if difference < 0 or (difference == 0 and _order(
                    scui_blob, scui_offsets[other], scui_offsets[other + 1],
                    scui_blob, scui_offsets[row], scui_offsets[row + 1],
                ) < 0):  # fmt: skip
                    break
            selected[at] = other
            at -= 1
        selected[at] = row
        count += 1
        counts[owner] = count - first
    return count


@compiled
def holders(numbers: Int32, grades: UInt32, codes: int) -> tuple[Int32, Int32]:
    """The rows of each code, by grade and then by row: their bounds, and the rows."""
    bounds, rows = np.zeros(codes + 1, dtype=np.int32), np.empty(numbers.size, dtype=np.int32)
    for row in range(numbers.size):
        if row + _AHEAD < numbers.size:
            prefetch(bounds, numbers[row + _AHEAD] + 1)
        bounds[numbers[row] + 1] += 1
    for code in range(codes):
        bounds[code + 1] += bounds[code]
    filled = bounds[:-1].copy()
    for row in range(numbers.size):
        if row + 2 * _AHEAD < numbers.size:
            prefetch(filled, numbers[row + 2 * _AHEAD])
            prefetch(rows, filled[numbers[row + _AHEAD]])
        code = numbers[row]
        at = filled[code]
        filled[code] += 1
        while at > bounds[code] and grades[rows[at - 1]] > grades[row]:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row
    return bounds, rows


@compiled
def found(
    offsets: Int64, text: UInt8, sab_offsets: Int64, sab_blob: UInt8, values: UInt32, buckets: Int32, shift: int,
    sabs: UInt16, code_offsets: Int64, blob: UInt8,
) -> Int32:  # fmt: skip
    """The number of each code that is written as ``SAB:CODE``.

    Args:
        offsets, text: the texts. sab_offsets, sab_blob: the vocabularies, ascending.
        values: the lowest bits of the hash of each code. buckets: bounds of codes with the same highest bits, those
            from ``shift`` on.
    """
    answer = np.full(offsets.size - 1, NO_VOCABULARY, dtype=np.int32)
    sab = -1  # of the text before
    for i in range(offsets.size - 1):
        begin, end = offsets[i], offsets[i + 1]
        colon = begin
        while colon < end and text[colon] != _COLON:
            colon += 1
        if colon == end:
            continue
        if sab < 0 or _order(text, begin, colon, sab_blob, sab_offsets[sab], sab_offsets[sab + 1]) != 0:
            low, high = 0, sab_offsets.size - 1
            while low < high:
                middle = (low + high) // 2
                if _order(sab_blob, sab_offsets[middle], sab_offsets[middle + 1], text, begin, colon) < 0:
                    low = middle + 1
                else:
                    high = middle
            sab = low
            if (
                low == sab_offsets.size - 1
                or _order(text, begin, colon, sab_blob, sab_offsets[low], sab_offsets[low + 1]) != 0
            ):
                sab = -1
                continue
        value = _hash(sab, text, colon + 1, end)
        bucket = np.int64(value >> np.uint64(shift)) if shift < 64 else 0
        answer[i] = UNKNOWN
        for number in range(buckets[bucket], buckets[bucket + 1]):
            if (
                values[number] == np.uint32(value & _LOWEST)
                and sabs[number] == sab
                and _order(text, colon + 1, end, blob, code_offsets[number], code_offsets[number + 1]) == 0
            ):
                answer[i] = number
                break
    return answer


@compiled
def gathered(rows: Int32, offsets: Int64, blob: UInt8) -> tuple[Int64, UInt8]:
    """The texts of some rows, one after the other: their offsets, and their bytes."""
    bounds, begins = np.zeros(rows.size + 1, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
    for i in range(rows.size):
        if i + _AHEAD < rows.size:
            prefetch(offsets, rows[i + _AHEAD])
        begins[i] = offsets[rows[i]]
        bounds[i + 1] = bounds[i] + offsets[rows[i] + 1] - begins[i]
    letters = np.empty(bounds[-1], dtype=np.uint8)
    for i in range(rows.size):
        if i + _AHEAD < rows.size:
            prefetch(blob, begins[i + _AHEAD])
        for k in range(bounds[i + 1] - bounds[i]):
            letters[bounds[i] + k] = blob[begins[i] + k]
    return bounds, letters
