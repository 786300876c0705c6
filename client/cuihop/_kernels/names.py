"""Search in folded names: lower-case ASCII words, each separated from the next by one space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

WHOLE, BEGINNING, WORDS, PREFIXES, NO_MATCH = 0, 1, 2, 3, 4
"""Kinds of match, best first: the whole name; its beginning; whole words; beginnings of words; none."""


def _folding() -> npt.NDArray[np.uint8]:
    """For each byte, itself in lower case where it belongs to a word, and 0 where it separates words."""
    fold = np.zeros(256, dtype=np.uint8)
    for byte in range(256):
        if byte >= 128 or chr(byte).isalnum():
            fold[byte] = ord(chr(byte).lower()) if byte < 128 else byte
    return fold


FOLD = _folding()


@compiled
def match(
    blob: npt.NDArray[np.uint8],
    begin: int,
    end: int,
    text: npt.NDArray[np.uint8],
    word_starts: npt.NDArray[np.int32],
    word_ends: npt.NDArray[np.int32],
) -> int:
    """Kind of match of the name ``blob[begin:end]`` with the folded ``text`` and its words."""
    whole_words = True
    for w in range(word_starts.size):
        low, high = word_starts[w], word_ends[w]
        first = text[low]
        best = 0  # 0: no word with this prefix, 1: a longer word, 2: the word itself
        inside = False  # true where the byte before belongs to a word
        i = begin
        while i < end:
            byte = FOLD[blob[i]]
            i += 1
            if byte == 0:
                inside = False
                continue
            if inside or byte != first:
                inside = True
                continue
            inside = True
            k = low + 1
            while k < high and i < end and FOLD[blob[i]] == text[k]:
                i += 1
                k += 1
            if k == high:
                if i == end or FOLD[blob[i]] == 0:
                    best = 2
                    break
                best = 1
        if best == 0:
            return NO_MATCH
        if best == 1:
            whole_words = False
    # Every word matches. Compare the name, or its beginning, with the whole text.
    i = begin
    k = 0
    while i < end and FOLD[blob[i]] == 0:
        i += 1
    while k < text.size and i < end:
        byte = FOLD[blob[i]]
        if byte == 0:
            while i < end and FOLD[blob[i]] == 0:
                i += 1
            if text[k] != 32:
                break
            k += 1
        elif byte == text[k]:
            i += 1
            k += 1
        else:
            break
    if k == text.size:
        while i < end and FOLD[blob[i]] == 0:
            i += 1
        return WHOLE if i == end else BEGINNING
    return WORDS if whole_words else PREFIXES


@compiled
def search(
    concept_indptr: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    blob: npt.NDArray[np.uint8],
    folded_rows: npt.NDArray[np.int32],
    folded_offsets: npt.NDArray[np.int64],
    folded_blob: npt.NDArray[np.uint8],
    text: npt.NDArray[np.uint8],
    word_starts: npt.NDArray[np.int32],
    word_ends: npt.NDArray[np.int32],
    first: int,
    scores: npt.NDArray[np.uint8],
    rows: npt.NDArray[np.int32],
) -> None:
    """The best match among the names of each concept ``first``, ``first + 1``, …, and the row of that name.

    ``scores``: twice the kind of match, plus one for a synonym. ``folded_rows`` (ascending) are the names that hold
    letters beyond ASCII; they are compared in their folded form, at the same position in ``folded_offsets``.
    """
    begin_row = concept_indptr[first]
    f = np.searchsorted(folded_rows, begin_row)
    for c in range(scores.size):
        low = concept_indptr[first + c]
        high = concept_indptr[first + c + 1]
        best = 2 * NO_MATCH
        best_row = -1
        best_length = 0
        for row in range(low, high):
            if f < folded_rows.size and folded_rows[f] == row:
                kind = match(folded_blob, folded_offsets[f], folded_offsets[f + 1], text, word_starts, word_ends)
                f += 1
            else:
                kind = match(blob, offsets[row], offsets[row + 1], text, word_starts, word_ends)
            if kind == NO_MATCH:
                continue
            score = 2 * kind + (1 if row > low else 0)
            length = offsets[row + 1] - offsets[row]
            if score < best or (score == best and length < best_length):
                best = score
                best_row = row
                best_length = length
        scores[c] = best
        rows[c] = best_row
