"""Codes of each concept in MRCONSO rows, each once."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32
from cuihop.snapshot.layout import MARK_SHIFT
from cuihop_loader._kernels.interning import equal
from cuihop_loader._kernels.names import LARGEST_RANK, suppress_value
from cuihop_loader._kernels.words import copy_bytes, first_bytes

_OBSOLETE = 1  # position of O in the values of SUPPRESS


@compiled
def distinct(
    buffer: UInt8,
    spans: Int32,
    columns: Int64,
    no_code: UInt8,
    concepts: Int32,
    term_types: Int32,
    sabs: Int32,
    ranks: Int32,
    selected: Int32,
    grades: UInt32,
) -> tuple[int, int]:
    """Choose a row for each code of adjacent rows of a concept, with the best grade of these.

    Returns their number, and that of the rows without a code.

    Args:
        columns: columns of ``spans`` with the begin of TS, STT, ISPREF, SCUI, CODE and SUPPRESS; the end follows.
        no_code: the text that means that there is none.
        concepts: of each row. sabs, ranks: of each vocabulary and term type, whose number ``term_types`` has.
        selected: out, the rows. grades: out, of these: see `cuihop.snapshot.source_codes.CodeRows`.
    """
    ts, stt, ispref, scui, code, suppress = columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]
    keys = np.empty(spans.shape[0], dtype=np.uint64)  # of the rows selected: first bytes and vocabulary
    count = first = without = 0
    for row in range(spans.shape[0]):
        if row > 0 and concepts[row] != concepts[row - 1]:
            first = count
        begin, end = spans[row, code], spans[row, code + 1]
        none = end - begin == no_code.size
        for k in range(no_code.size if none else 0):
            none &= buffer[begin + k] == no_code[k]
        if begin == end or none:
            without += 1
            continue
        kind = term_types[row]
        value = suppress_value(buffer, spans[row, suppress], spans[row, suppress + 1])
        grade = (0 if value == 0 else 2 if value == _OBSOLETE else 1) << MARK_SHIFT
        at = spans[row, ts]  # without branches, which the processor cannot foresee
        grade |= int((spans[row, ts + 1] - at != 1) | (buffer[at] != 80)) << 24
        at = spans[row, stt]
        grade |= int((spans[row, stt + 1] - at != 2) | (buffer[at] != 80) | (buffer[at + 1] != 70)) << 23
        at = spans[row, ispref]
        grade |= int((spans[row, ispref + 1] - at != 1) | (buffer[at] != 89)) << 22
        grade |= LARGEST_RANK - ranks[kind, value]
        key = first_bytes(buffer, begin, min(end - begin, 8)) ^ np.uint64(sabs[kind]) << np.uint64(40)
        at = first
        while at < count:
            other = selected[at]
            if (
                keys[at] == key
                and sabs[term_types[other]] == sabs[kind]
                and equal(buffer, begin, end, spans[other, code], spans[other, code + 1])
                and equal(buffer, spans[row, scui], spans[row, scui + 1], spans[other, scui], spans[other, scui + 1])
            ):
                break
            at += 1
        if at == count:
            selected[count], grades[count], keys[count] = row, grade, key
            count += 1
        elif grade < grades[at]:
            grades[at] = grade
    return count, without


@compiled
def texts(buffer: UInt8, spans: Int32, scui: int, code: int, rows: Int32) -> tuple[Int32, UInt8, Int32, UInt8]:
    """Lengths and bytes of the codes in some rows, and of SCUI, which is empty where it is the code.

    Args:
        scui, code: the columns of ``spans`` with their begin; the end follows.
    """
    lengths, source_lengths = np.empty(rows.size, dtype=np.int32), np.empty(rows.size, dtype=np.int32)
    total = source_total = 0
    for i in range(rows.size):
        row = rows[i]
        begin, end, source, source_end = spans[row, code], spans[row, code + 1], spans[row, scui], spans[row, scui + 1]
        lengths[i] = end - begin
        source_lengths[i] = 0 if equal(buffer, source, source_end, begin, end) else source_end - source
        total += lengths[i]
        source_total += source_lengths[i]
    blob, source_blob = np.empty(total, dtype=np.uint8), np.empty(source_total, dtype=np.uint8)
    at = source_at = 0
    for i in range(rows.size):
        begin, source = spans[rows[i], code], spans[rows[i], scui]
        copy_bytes(buffer, begin, begin + lengths[i], blob, at)
        at += lengths[i]
        if source_lengths[i]:
            copy_bytes(buffer, source, source + source_lengths[i], source_blob, source_at)
            source_at += source_lengths[i]
    return lengths, blob, source_lengths, source_blob
