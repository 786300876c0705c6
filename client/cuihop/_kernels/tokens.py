"""Tokens of texts: hashes of their letters, their positions, and the signs between them."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop._kernels.shared import (
    APOSTROPHE,
    CAPITAL,
    DASH,
    IGNORED,
    KIND,
    LETTER,
    NO_LETTER,
    SEPARATOR,
    SEVERAL,
    SPACE,
    UNKNOWN,
)
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32, UInt64

# Marks between tokens: bits.
HYPHEN, COMMA, OPEN, CLOSE, BREAK = 1, 2, 4, 8, 16

# Columns of a token's positions and marks.
START, END, CAPITALS, LETTERS, GAP, IN_TEXT = range(6)
TOKEN_COLUMNS = 6

# Columns of a token's keys.
WORD, JOINED, CASED = range(3)

_BASIS = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_SHORTEST, _LONGEST = 4, 64  # letters of a word that has other forms: see cuihop.snapshot.word_forms


@compiled
def _mixed(state: np.uint64, plain: bool) -> np.uint64:
    """Hash of the letters so far; its last bit is set where the word is its own form."""
    state ^= state >> np.uint64(33)
    state *= np.uint64(0xFF51AFD7ED558CCD)
    state ^= state >> np.uint64(33)
    state *= np.uint64(0xC4CEB9FE1A85EC53)
    state ^= state >> np.uint64(33)
    return (state & ~np.uint64(1)) | np.uint64(plain)


@compiled
def code_points(offsets: Int64, blob: UInt8, first: int, last: int) -> tuple[Int64, UInt32]:
    """Decode the UTF-8 strings ``first`` up to ``last``: bounds in code points, and the code points."""
    bounds = np.zeros(last - first + 1, dtype=np.int64)
    codes = np.empty(offsets[last] - offsets[first], dtype=np.uint32)
    filled = 0
    for row in range(first, last):
        i, end = offsets[row], offsets[row + 1]
        while i < end:
            byte = np.uint32(blob[i])
            if byte < 0x80:
                codes[filled] = byte
                filled += 1
                i += 1
                continue
            more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            code = byte & np.uint32(0x3F >> more)
            for k in range(i + 1, min(i + 1 + more, end)):
                code = (code << np.uint32(6)) | np.uint32(blob[k] & 0x3F)
            codes[filled] = code
            filled += 1
            i += 1 + more
        bounds[row - first + 1] = filled
    return bounds, codes[:filled]


@compiled
def tokens_of(
    bounds: Int64, text: UInt32, classes: UInt8, folds: UInt32, several: UInt32, unknown: UInt8
) -> tuple[Int64, Int32, UInt64]:
    """Tokens of texts.

    Args:
        bounds: shape (texts + 1,): of each text in the next array. text: code points of all texts.
        classes: of each code point. folds: its folded letter, or the index of its letters in ``several``.
        several: number of letters, and the letters.
        unknown: one value, raised to 1 where a class is unknown; the result is then of no use.

    Returns:
        bounds of each text's tokens, shape (texts + 1,); columns, shape (tokens, 6): first character in the text and
        the one after the last, capitals, letters, marks before the token, 1; keys, shape (tokens, 3): of its word, of
        its word joined to the one before (0 without a hyphen between), of its own letters.
    """
    token_bounds = np.zeros(bounds.size, dtype=np.int64)
    columns = np.empty((text.size // 4 + 64, TOKEN_COLUMNS), dtype=np.int32)
    keys = np.empty((text.size // 4 + 64, 3), dtype=np.uint64)
    count = 0
    for row in range(bounds.size - 1):
        filled = -1
        while filled < 0:
            filled = _tokens_of_one(
                bounds[row], bounds[row + 1], text, classes, folds, several, unknown, columns, keys, count
            )
            if filled < 0:
                more_columns = np.empty((2 * columns.shape[0], TOKEN_COLUMNS), dtype=np.int32)
                more_columns[:count] = columns[:count]
                columns = more_columns
                more_keys = np.empty((2 * keys.shape[0], 3), dtype=np.uint64)
                more_keys[:count] = keys[:count]
                keys = more_keys
        count = filled
        token_bounds[row + 1] = count
    return token_bounds, columns[:count], keys[:count]


@compiled
def _tokens_of_one(
    begin: int, stop: int, text: UInt32, classes: UInt8, folds: UInt32, several: UInt32, unknown: UInt8,
    columns: Int32, keys: UInt64, count: int,
) -> int:  # fmt: skip
    """Add the tokens of one text to ``count`` others. Returns their number, or -1 if the arrays are too short.

    Apart from `tokens_of`, because a loop that may replace an array counts its references at each step.
    """
    first = count
    marks = 0
    last_state, last_plain, last_letters = _BASIS, False, 0
    i = begin
    dashes, others = 0, 0  # between the last token and here
    after_apostrophe = False  # directly, and the apostrophe directly after a token
    ended = -1  # end of the last token
    while i < stop:
        code = text[i]
        cls = classes[code]
        kind = cls & KIND
        if kind == UNKNOWN:
            unknown[0] = 1
            i += 1
            continue
        if kind == SEPARATOR or kind == DASH or kind == APOSTROPHE or kind == IGNORED:
            if kind == DASH:
                dashes += 1
            elif kind != IGNORED:
                others += 1
                if code == 44:
                    if i + 1 < stop and classes[text[i + 1]] & SPACE:
                        marks |= COMMA
                elif code == 40 or code == 91 or code == 123:
                    marks |= OPEN
                elif code == 41 or code == 93 or code == 125:
                    marks |= CLOSE
                elif code == 59 or code == 58:
                    marks |= BREAK
                elif code == 46 or code == 33 or code == 63:
                    if i + 1 == stop or classes[text[i + 1]] & SPACE:
                        marks |= BREAK
                elif code == 10:
                    k = i + 1
                    while k < stop and classes[text[k]] & SPACE and text[k] != 10:
                        k += 1
                    if k < stop and text[k] == 10:
                        marks |= BREAK
            after_apostrophe = kind == APOSTROPHE and i == ended
            i += 1
            continue
        # A token.
        if count == columns.shape[0]:
            return -1
        hyphen = count > first and dashes == 1 and others == 0
        state, joined, cased = _BASIS, last_state, _BASIS
        letters, alphabetic, capitals = 0, 0, 0
        plain = False
        start = i
        end = i
        before_last = np.uint64(0)
        while i < stop:
            code = text[i]
            cls = classes[code]
            kind = cls & KIND
            if kind == LETTER:
                letter = np.uint64(folds[code])
                state = (state ^ letter) * _PRIME
                if hyphen:
                    joined = (joined ^ letter) * _PRIME
                letters += 1
            elif kind == SEVERAL:
                at = folds[code]
                for k in range(at + 1, at + 1 + several[at]):
                    letter = np.uint64(several[k])
                    state = (state ^ letter) * _PRIME
                    joined = (joined ^ letter) * _PRIME
                    letters += 1
            elif kind == IGNORED:
                i += 1
                continue
            else:
                break
            if cls & (CAPITAL | NO_LETTER):
                if cls & CAPITAL:
                    capitals += 1
                if cls & NO_LETTER:
                    plain = True
                    alphabetic -= 1
            alphabetic += 1
            before_last = cased
            cased = (cased ^ np.uint64(code)) * _PRIME
            i += 1
            end = i
        if after_apostrophe and letters == 1 and (text[start] == 115 or text[start] == 83):
            after_apostrophe = False  # a possessive
            ended = end
            dashes, others = 0, 1
            continue
        after_apostrophe = False
        if capitals >= 2 and end - start > 2 and text[end - 1] == 115 and classes[text[end - 2]] & CAPITAL:
            cased = before_last  # the plural of an acronym
        of_form = not plain and _SHORTEST <= letters <= _LONGEST
        keys[count, WORD] = _mixed(state, not of_form)
        keys[count, JOINED] = np.uint64(0)
        if hyphen:
            total = letters + last_letters
            either = plain or last_plain
            keys[count, JOINED] = _mixed(joined, either or not _SHORTEST <= total <= _LONGEST)
        keys[count, CASED] = _mixed(cased, True)
        columns[count, START] = start - begin
        columns[count, END] = end - begin
        columns[count, CAPITALS] = capitals
        columns[count, LETTERS] = alphabetic
        columns[count, GAP] = marks | (HYPHEN if hyphen else 0)
        columns[count, IN_TEXT] = 1
        count += 1
        ended = end
        last_state, last_plain, last_letters = state, plain, letters
        marks = 0
        dashes, others = 0, 0
    return count


@compiled
def form_keys(keys: UInt64, words: UInt64, forms: UInt64) -> Int64:
    """Replace the hash of each word in ``keys``, shape (tokens, 3), by that of its form.

    ``words``, ``forms``: table of words and of their forms, open addressing; 0 is empty.

    Returns:
        the tokens of words that the table does not hold, 2 * token, or 2 * token + 1 where the joined word is meant.
        These keys are unchanged.
    """
    missing = np.empty(64, dtype=np.int64)
    count = 0
    mask = np.uint64(words.size - 1)
    for token in range(keys.shape[0]):
        for column in range(2):
            key = keys[token, column]
            if key == 0 or key & np.uint64(1):
                continue
            slot = (key >> np.uint64(8)) & mask
            form = np.uint64(0)
            while words[slot] != 0:
                if words[slot] == key:
                    form = forms[slot]
                    break
                slot = (slot + np.uint64(1)) & mask
            if form != 0:
                keys[token, column] = form
                continue
            if count == missing.size:
                more = np.empty(2 * count, dtype=np.int64)
                more[:count] = missing
                missing = more
            missing[count] = 2 * token + column
            count += 1
    return missing[:count].copy()


@compiled
def insert_words(words: UInt64, forms: UInt64, keys: UInt64, values: UInt64) -> int:
    """Add words and their forms to a table; return how many are new. The form is written first: others may read."""
    mask = np.uint64(words.size - 1)
    new = 0
    for i in range(keys.size):
        slot = (keys[i] >> np.uint64(8)) & mask
        while words[slot] != 0 and words[slot] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if words[slot] == 0:
            forms[slot] = values[i]
            words[slot] = keys[i]
            new += 1
    return new


@compiled
def hashes_of(offsets: Int64, letters: UInt32) -> UInt64:
    """Hashes of forms given as code points: form i is ``letters[offsets[i]:offsets[i + 1]]``."""
    hashes = np.empty(offsets.size - 1, dtype=np.uint64)
    for i in range(hashes.size):
        state = _BASIS
        for k in range(offsets[i], offsets[i + 1]):
            state = (state ^ np.uint64(letters[k])) * _PRIME
        hashes[i] = _mixed(state, True)
    return hashes
