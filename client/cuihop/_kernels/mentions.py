"""Mentions of names in a batch of texts, and the name and rule of each."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop._kernels.shared import (
    ABBREVIATION,
    ACRONYM,
    EXACT,
    FORM,
    KIND,
    LETTER,
    SEVERAL,
    UNKNOWN,
)
from cuihop._kernels.shared import INVERTED as BY_INVERSION
from cuihop._kernels.shared import SPACING as BY_SPACING
from cuihop._kernels.shared import TAIL as BY_TAIL
from cuihop._kernels.terms import GENERAL, INVERTED, LAST, MOST_MATCHES, PLAIN, RULE, SPACING, TAIL, expanded, matches
from cuihop._kernels.tokens import END, START
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32, UInt64

# Columns of a mention: first character, the one after the last, candidate, flags.
MENTION_COLUMNS = 4

MOST_ABBREVIATIONS = 256
"""Most definitions of abbreviations in a text that count, the first ones."""
_LONGEST_FORM = 32  # tokens of a long form


@compiled
def _tokens_at(first: int, stop: int, columns: Int32, begin: int, end: int) -> tuple[int, int]:
    """Tokens that lie in the characters ``begin`` up to ``end``."""
    low = first
    while low < stop and columns[low, START] < begin:
        low += 1
    high = low
    while high < stop and columns[high, END] <= end:
        high += 1
    return low, high


@compiled
def mentions_of(
    token_bounds: Int64, columns: Int32, keys: UInt64, abbreviations: Int64, hashes: UInt64, buckets: Int32,
    rows: Int32, rules: UInt8, words: UInt64, usable: UInt8, general: bool, longest: bool,
) -> tuple[Int64, Int32]:  # fmt: skip
    """Matches of names in every text.

    Args:
        token_bounds, columns, keys: see `cuihop._kernels.tokens.tokens_of`.
        abbreviations: shape (abbreviations, 5), ascending by text: its text, the characters of the short form, and
            those of the long form, both counted in the text.
        table, …: see `cuihop._kernels.terms.matches`.

    Returns:
        bounds of each text's mentions, shape (texts + 1,); mentions, shape (mentions, 4): first character and the one
        after the last, candidate, flags.
    """
    texts = token_bounds.size - 1
    indptr = np.zeros(texts + 1, dtype=np.int64)
    hits = np.empty((columns.shape[0] // 4 + MOST_MATCHES, MENTION_COLUMNS), dtype=np.int32)
    count = 0
    at = 0
    for row in range(texts):
        first, stop = token_bounds[row], token_bounds[row + 1]
        begin = at
        while at < abbreviations.shape[0] and abbreviations[at, 0] == row:
            at += 1
        text_columns, text_keys = columns, keys
        if at > begin:
            shorts = np.empty((at - begin, 2), dtype=np.int64)
            longs = np.empty((at - begin, 2), dtype=np.int64)
            usable_pairs = 0
            low = first
            for i in range(begin, at):
                if usable_pairs == MOST_ABBREVIATIONS:
                    break
                while low < stop and columns[low, END] < min(abbreviations[i, 1], abbreviations[i, 3]):
                    low += 1
                short = _tokens_at(low, stop, columns, abbreviations[i, 1], abbreviations[i, 2])
                long = _tokens_at(low, stop, columns, abbreviations[i, 3], abbreviations[i, 4])
                if short[1] > short[0] and 0 < long[1] - long[0] <= _LONGEST_FORM:
                    shorts[usable_pairs, 0], shorts[usable_pairs, 1] = short
                    longs[usable_pairs, 0], longs[usable_pairs, 1] = long
                    usable_pairs += 1
            if usable_pairs:
                text_columns, text_keys = expanded(
                    first, stop, columns, keys, shorts[:usable_pairs], longs[:usable_pairs]
                )
                first, stop = 0, text_columns.shape[0]
        while first < stop:
            if hits.shape[0] - count < MOST_MATCHES:
                more = np.empty((2 * hits.shape[0], MENTION_COLUMNS), dtype=np.int32)
                more[:count] = hits[:count]
                hits = more
            first, count = matches(
                first, stop, text_columns, text_keys, hashes, buckets, rows, rules, words, usable, general, longest,
                hits, count,
            )  # fmt: skip
        indptr[row + 1] = count
    return indptr, hits[:count].copy()


@compiled
def names_of(
    hits: Int32, mention_texts: Int64, bounds: Int64, text: UInt32, classes: UInt8, folds: UInt32, several: UInt32,
    rows: Int32, rules: UInt8, usable: UInt8, name_indptr: Int32, name_offsets: Int64, name_blob: UInt8,
    candidates: Int32, mention_rules: UInt8,
) -> np.uint32:  # fmt: skip
    """The name of each mention, and its rule: among the names of the best concept, the one that is written alike.

    Args:
        hits: see `mentions_of`. mention_texts: shape (mentions,): the text of each.
        bounds, text, classes, folds, several: see `cuihop._kernels.tokens.tokens_of`.
        rows, rules: candidates of the table. usable: see `cuihop._kernels.terms.matches`.
        name_indptr, name_offsets, name_blob: names of the snapshot.
        candidates, mention_rules: receive a candidate and the rule, shape (mentions,).

    Returns:
        a code point without a class, where there is one: the result is then of no use; otherwise 0.
    """
    for m in range(hits.shape[0]):
        at = np.int64(hits[m, 2])
        flags = hits[m, 3]
        rule = rules[at] & RULE
        candidates[m] = at
        if flags & 2:
            mention_rules[m] = ABBREVIATION
        elif flags & 1 or rule == SPACING:
            mention_rules[m] = BY_SPACING
        elif rule == INVERTED:
            mention_rules[m] = BY_INVERSION
        elif rule == TAIL:
            mention_rules[m] = BY_TAIL
        elif rule != PLAIN:
            mention_rules[m] = ACRONYM
        else:
            mention_rules[m] = FORM
            concept = np.searchsorted(name_indptr, rows[at], side="right") - 1
            begin = bounds[mention_texts[m]]
            k = at
            while True:
                row = rows[k]
                if not name_indptr[concept] <= row < name_indptr[concept + 1] or rules[k] & RULE != PLAIN:
                    break
                if usable.size == 0 or usable[row]:
                    same, unknown = _same_letters(
                        text, begin + hits[m, 0], begin + hits[m, 1], classes, folds, several,
                        name_blob, name_offsets[row], name_offsets[row + 1],
                    )  # fmt: skip
                    if unknown:
                        return unknown
                    if same:
                        candidates[m] = k
                        mention_rules[m] = EXACT
                        break
                if rules[k] & LAST:
                    break
                k += 1
    return np.uint32(0)


@compiled
def _same_letters(
    text: UInt32, begin: int, end: int, classes: UInt8, folds: UInt32, several: UInt32,
    blob: UInt8, first: int, stop: int,
) -> tuple[bool, np.uint32]:  # fmt: skip
    """Compare the folded letters of a text with those of a name; and a code point of the name without a class, or 0."""
    i, k = begin, first
    more_i, more_k = 0, 0  # letters left of a character with several
    at_i, at_k = 0, 0
    while True:
        letter_i, letter_k = np.uint32(0), np.uint32(0)
        if more_i:
            letter_i = several[at_i]
            at_i += 1
            more_i -= 1
        while letter_i == 0 and i < end:
            code = text[i]
            i += 1
            if classes[code] & KIND == LETTER:
                letter_i = folds[code]
            elif classes[code] & KIND == SEVERAL:
                at_i = int(folds[code]) + 2
                more_i = int(several[at_i - 2]) - 1
                letter_i = several[at_i - 1]
        if more_k:
            letter_k = several[at_k]
            at_k += 1
            more_k -= 1
        while letter_k == 0 and k < stop:
            code = np.uint32(blob[k])
            k += 1
            if code >= 0x80:
                more = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
                code &= np.uint32(0x3F >> more)
                for _ in range(more):
                    code = (code << np.uint32(6)) | np.uint32(blob[k] & 0x3F)
                    k += 1
            if classes[code] & KIND == UNKNOWN:
                return False, code
            if classes[code] & KIND == LETTER:
                letter_k = folds[code]
            elif classes[code] & KIND == SEVERAL:
                at_k = int(folds[code]) + 2
                more_k = int(several[at_k - 2]) - 1
                letter_k = several[at_k - 1]
        if letter_i != letter_k:
            return False, np.uint32(0)
        if letter_i == 0:
            return True, np.uint32(0)


@compiled
def distinct_numbers(numbers: Int32) -> tuple[Int32, Int32]:
    """The distinct numbers by first occurrence, and the index of each number among them."""
    size = 64
    while size < 2 * numbers.size:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    distinct = np.empty(numbers.size, dtype=np.int32)
    indices = np.empty(numbers.size, dtype=np.int32)
    count = 0
    for i in range(numbers.size):
        slot = np.int64((np.uint64(numbers[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
        while slots[slot] >= 0 and distinct[slots[slot]] != numbers[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = numbers[i]
            count += 1
        indices[i] = slots[slot]
    return distinct[:count].copy(), indices


@compiled
def candidates_of(
    starts: Int32, rows: Int32, rules: UInt8, usable: UInt8, general: bool, name_indptr: Int32
) -> tuple[Int64, Int32]:
    """All concepts of each mention, best first, one candidate each: bounds, shape (mentions + 1,), and candidates.

    Args:
        starts: shape (mentions,): the first usable candidate of the sequence.
        rows, rules: candidates of the table. usable, general: see `cuihop._kernels.terms.matches`.
        name_indptr: bounds of each concept's names.
    """
    bounds = np.zeros(starts.size + 1, dtype=np.int64)
    candidates = np.empty(2 * starts.size + 64, dtype=np.int32)
    count = 0
    for m in range(starts.size):
        begin = count
        k = np.int64(starts[m])
        while True:
            if (usable.size == 0 or usable[rows[k]]) and (general or not rules[k] & GENERAL):
                concept = np.searchsorted(name_indptr, rows[k], side="right") - 1
                new = True
                for other in range(begin, count):
                    held = rows[candidates[other]]
                    new &= not name_indptr[concept] <= held < name_indptr[concept + 1]
                if new:
                    if count == candidates.size:
                        more = np.empty(2 * count, dtype=np.int32)
                        more[:count] = candidates
                        candidates = more
                    candidates[count] = k
                    count += 1
            if rules[k] & LAST:
                break
            k += 1
        bounds[m + 1] = count
    return bounds, candidates[:count].copy()
