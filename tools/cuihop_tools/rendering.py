"""Rendering of synthetic RRF files: columns of numbers to rows of bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

LONGEST_ROW = 512
"""The most bytes of a row, as long as no word or code has more than 32."""

_BAR, _SPACE, _LINE_FEED = 124, 32, 10


@compiled
def _number(out: UInt8, at: int, letter: int, number: int, digits: int) -> int:
    """Write a letter, the number with leading zeros, and a bar."""
    out[at] = letter
    for i in range(digits, 0, -1):
        out[at + i] = 48 + number % 10
        number //= 10
    out[at + digits + 1] = _BAR
    return at + digits + 2


@compiled
def _text(out: UInt8, at: int, blob: UInt8, offsets: Int64, which: int, end: int) -> int:
    """Write one text of a list, and the byte that ends it."""
    for i in range(offsets[which], offsets[which + 1]):
        out[at] = blob[i]
        at += 1
    out[at] = end
    return at + 1


@compiled
def relation_rows(
    out: UInt8,
    first: int,
    last: int,
    cui1: Int32,
    cui2: Int32,
    rel: UInt8,
    rela: UInt8,
    sab: UInt8,
    suppress: UInt8,
    random: UInt64,
    blob: UInt8,
    offsets: Int64,
) -> int:
    """Write MRREL rows ``first`` up to ``last`` into ``out``; small columns index the list. Returns the bytes."""
    at = 0
    for row in range(first, last):
        r = random[row]
        with_atoms = r % np.uint64(20) != 0
        for side in range(2):
            cui = cui1[row] if side == 0 else cui2[row]
            at = _number(out, at, 67, cui, 7)
            if with_atoms:
                at = _number(out, at, 65, (int(cui) * 7 + side * int(r % np.uint64(5))) % 100_000_000, 8)
                out[at] = 65  # STYPE is AUI; CUI for rows without atoms
            else:
                out[at] = _BAR
                at += 1
                out[at] = 67
            out[at + 1] = 85
            out[at + 2] = 73
            out[at + 3] = _BAR
            at += 4
            at = _text(out, at, blob, offsets, rel[row] if side == 0 else rela[row], _BAR)
        at = _number(out, at, 82, row, 8)
        out[at] = _BAR  # SRUI
        at = _text(out, at + 1, blob, offsets, sab[row], _BAR)
        at = _text(out, at, blob, offsets, sab[row], _BAR)  # SL
        out[at] = _BAR  # RG
        at += 1
        if r & np.uint64(1 << 20):  # DIR
            out[at] = 89
            at += 1
        out[at] = _BAR
        at = _text(out, at + 1, blob, offsets, suppress[row], _BAR)
        out[at] = _BAR  # CVF
        out[at + 1] = _LINE_FEED
        at += 2
    return at


@compiled
def name_rows(
    out: UInt8,
    first: int,
    last: int,
    cui: Int32,
    language: UInt8,
    preference: UInt8,
    sab: UInt8,
    term_type: UInt8,
    suppress: UInt8,
    text: UInt64,
    words: int,
    rare_words: int,
    blob: UInt8,
    offsets: Int64,
) -> int:
    """Write MRCONSO rows ``first`` up to ``last`` into ``out``. Returns the bytes.

    ``preference``: bit 0 TS=P, bit 1 STT=PF, bit 2 ISPREF=Y. ``text``: seed of the words of the name; the list
    begins with words, and with rare words, of which every 32nd name has one.
    """
    at = 0
    for row in range(first, last):
        at = _number(out, at, 67, cui[row], 7)
        at = _text(out, at, blob, offsets, language[row], _BAR)
        out[at] = 80 if preference[row] & 1 else 83
        out[at + 1] = _BAR
        at = _number(out, at + 2, 76, row % 100_000_000, 8)
        if preference[row] & 2:
            out[at] = 80
            out[at + 1] = 70
        else:
            out[at] = 86
            out[at + 1] = 79
        out[at + 2] = _BAR
        at = _number(out, at + 3, 83, row % 100_000_000, 8)
        out[at] = 89 if preference[row] & 4 else 78
        out[at + 1] = _BAR
        at = _number(out, at + 2, 65, row % 100_000_000, 8)
        out[at] = out[at + 1] = out[at + 2] = _BAR  # SAUI, SCUI, SDUI
        at = _text(out, at + 3, blob, offsets, sab[row], _BAR)
        at = _text(out, at, blob, offsets, term_type[row], _BAR)
        at = _number(out, at, 68, row % 1_000_000, 6)
        t = text[row]
        for k in range(2 + int(t % np.uint64(4))):
            at = _text(out, at, blob, offsets, int((t >> np.uint64(8 + 9 * k)) % np.uint64(words)), _SPACE)
        if (t >> np.uint64(2)) % np.uint64(32) == 0:
            at = _text(out, at, blob, offsets, words + int((t >> np.uint64(7)) % np.uint64(rare_words)), _SPACE)
        at = _number(out, at, 35, int(t >> np.uint64(48)), 5)
        out[at] = 48  # SRL
        out[at + 1] = _BAR
        at = _text(out, at + 2, blob, offsets, suppress[row], _BAR)
        out[at] = _BAR  # CVF
        out[at + 1] = _LINE_FEED
        at += 2
    return at
