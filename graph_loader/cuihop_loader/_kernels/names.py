"""Names of each concept from MRCONSO rows, best first.

The grade of a name is one number of 32 bits; smaller is better::

    bit  29      suppressed
    bits 28…25   position of its language among the requested ones
    bits 24…3    largest rank minus its rank in MRRANK
    bits 2, 1, 0 TS is not P, STT is not PF, ISPREF is not Y

With ``hidden``, the bit of suppressed names, they serve only where a concept has no other name; with 0, they are
sorted among the others, by the other bits.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt16, UInt32
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop_loader._kernels.interning import empty_sets, equal, hashed, same_values, with_member, with_room
from cuihop_loader._kernels.words import copy_bytes

SUPPRESSED = SUPPRESSED_NAME
LARGEST_RANK = (1 << 22) - 1
NO_NAME = 0xFFFFFFFF
"""Grade of a row in another language, or without text."""

_LATEST = 64  # vocabularies of a set that are searched for one more, which may then be in it twice

SUPPRESS_VALUES = b"NOYE"
"""Values of SUPPRESS, in the order of the ranks of a vocabulary's term type; a fifth rank is for any other value."""


@compiled
def suppress_value(buffer: UInt8, begin: int, end: int) -> int:
    """Position of SUPPRESS in `SUPPRESS_VALUES`; 4 for any other text."""
    byte = buffer[begin] if end - begin == 1 else 0
    value = 4
    if byte == 78:
        value = 0
    elif byte == 79:
        value = 1
    elif byte == 89:
        value = 2
    elif byte == 69:
        value = 3
    return value


@compiled
def grade(
    buffer: UInt8,
    spans: Int32,
    columns: Int64,
    language_offsets: Int64,
    language_blob: UInt8,
    term_types: Int32,
    ranks: Int32,
    grades: UInt32,
    left_out: Int64,
) -> None:
    """Grade the name of each row.

    Args:
        columns: columns of ``spans`` with the begin of LAT, TS, STT, ISPREF, SUPPRESS and STR; the end follows.
        language_offsets, language_blob: the requested languages, one after the other.
        term_types: number of each row's vocabulary and term type; ``ranks``: of these, one column for each value
            of SUPPRESS.
        left_out: accumulates the rows in other languages, and those without text.
    """
    lat, ts, stt, ispref, suppress, text = columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]
    for row in range(spans.shape[0]):
        language = language_offsets.size - 2
        while language >= 0 and not same_values(
            buffer, spans[row, lat], spans[row, lat + 1],
            language_blob, language_offsets[language], language_offsets[language + 1],
        ):  # fmt: skip
            language -= 1
        grades[row] = NO_NAME
        if language < 0:
            left_out[0] += 1
            continue
        if spans[row, text] == spans[row, text + 1]:
            left_out[1] += 1
            continue
        value = suppress_value(buffer, spans[row, suppress], spans[row, suppress + 1])
        answer = (language << 25) | ((LARGEST_RANK - ranks[term_types[row], value]) << 3)
        if value != 0:
            answer |= SUPPRESSED
        at = spans[row, ts]
        if spans[row, ts + 1] - at != 1 or buffer[at] != 80:
            answer |= 4
        at = spans[row, stt]
        if spans[row, stt + 1] - at != 2 or buffer[at] != 80 or buffer[at + 1] != 70:
            answer |= 2
        at = spans[row, ispref]
        if spans[row, ispref + 1] - at != 1 or buffer[at] != 89:
            answer |= 1
        grades[row] = answer


@compiled
def candidates(codes: Int32, grades: UInt32, all_names: bool, hidden: int, selected: Int32, suppressed: Int64) -> int:
    """Choose the rows whose name may be one of its concept's, from adjacent rows of the concept.

    Of names that are not hidden: all, or only the best. If all are hidden: the best. ``suppressed`` accumulates
    the hidden rows. Returns the number of rows chosen.
    """
    order = ~(SUPPRESSED ^ hidden)
    count = 0
    begin = 0
    while begin < codes.size:
        end = begin
        best = begin
        while end < codes.size and codes[end] == codes[begin]:
            if grades[end] & order < grades[best] & order:
                best = end
            if grades[end] != NO_NAME and grades[end] & hidden:
                suppressed[0] += 1
            end += 1
        if grades[best] != NO_NAME:
            if all_names and not grades[best] & hidden:
                for row in range(begin, end):
                    if grades[row] != NO_NAME and not grades[row] & hidden:
                        selected[count] = row
                        count += 1
            else:
                selected[count] = best
                count += 1
        begin = end
    return count


@compiled
def choose(
    order: Int64,
    concepts: Int32,
    grades: UInt32,
    sabs: UInt16,
    n_sabs: int,
    offsets: Int64,
    blob: UInt8,
    all_names: bool,
    hidden: int,
    selected: Int64,
    sab_sets: Int32,
    counts: Int32,
) -> tuple[int, int, Int32]:
    """Choose the names of each concept, best first, each text once.

    Args:
        order: the rows, ordered by concept and grade.
        concepts, grades, sabs: of each row, its concept, the grade of its name, and its vocabulary. Changed: the grade
            of a suppressed name that another vocabulary gives unsuppressed becomes that one's.
        offsets, blob: row r's text is ``blob[offsets[r]:offsets[r + 1]]``.
        all_names: all names, or only the best. A concept without any other gets one hidden name.
        selected, sab_sets: out, the rows, and for each the number of its set of vocabularies: those of all rows of
            this text.
        counts: out, the number of names of each concept.

    Returns:
        the number of names, of hidden ones among them, and the sets: for each the number of the set without its last
        vocabulary, -1 for none, and that vocabulary. Several may have the same members.
    """
    n_selected = 0
    n_hidden = 0
    n_sets = n_sabs
    sets, sets_by_hash = empty_sets(n_sabs)
    table = np.full(64, -1, dtype=np.int64)
    begin = 0
    while begin < order.size:
        concept = concepts[order[begin]]
        end = begin + 1
        while end < order.size and concepts[order[end]] == concept:
            end += 1
        first = n_selected
        selected[n_selected] = order[begin]
        sab_sets[n_selected] = sabs[order[begin]]
        n_selected += 1
        if grades[order[begin]] & hidden:
            n_hidden += 1
        elif all_names and end - begin > 1:
            size = 64
            while size < 2 * (end - begin):
                size *= 2
            if size > table.size:
                table = np.empty(size, dtype=np.int64)
            table[:size] = -1
            for i in range(begin, end):
                row = order[i]
                if grades[row] & hidden:
                    break
                slot = np.int64(hashed(blob, offsets[row], offsets[row + 1])) & (size - 1)
                name = -1
                while name < 0 and table[slot] >= 0:
                    other = selected[table[slot]]
                    if equal(blob, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1]):
                        name = table[slot]
                    slot = (slot + 1) & (size - 1)
                if name < 0:
                    if i > begin:
                        selected[n_selected] = row
                        sab_sets[n_selected] = sabs[row]
                        n_selected += 1
                    table[slot] = n_selected - 1
                else:
                    if grades[selected[name]] & SUPPRESSED and not grades[row] & SUPPRESSED:
                        grades[selected[name]] = grades[row]
                    if n_sets == sets.shape[0]:
                        sets, sets_by_hash = with_room(sets, n_sets)
                    sab_sets[name] = _with_sab(sab_sets[name], sabs[row], sets, n_sets, sets_by_hash)
                    n_sets = max(n_sets, sab_sets[name] + 1)
        counts[concept] = n_selected - first
        begin = end
    return n_selected, n_hidden, sets[:n_sets]


@compiled
def _with_sab(number: int, sab: int, sets: Int32, n_sets: int, table: Int32) -> int:
    """The number of a set with one vocabulary more: that of the set itself, of a known one, or ``n_sets``, entered."""
    at = number
    for _ in range(_LATEST):
        if at < 0:
            break
        if sets[at, 1] == sab:
            return number
        at = sets[at, 0]
    return with_member(number, sab, sets, n_sets, table)


@compiled
def gather(offsets: Int64, blob: UInt8, selected: Int64, new_offsets: Int64, new_blob: UInt8) -> None:
    """Copy the chosen rows' texts, one after the other, to ``new_offsets``."""
    for i in range(selected.size):
        copy_bytes(blob, offsets[selected[i]], offsets[selected[i] + 1], new_blob, new_offsets[i])
