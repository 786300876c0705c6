"""Contexts of mentions in arrays of code points, compiled: see `cuihop.annotation.context`."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop._kernels.sentences import folded_code, is_word_part, stops_here
from cuihop._kernels.shared import SEPARATOR, SPACE
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt32

Triggers = tuple[Int32, UInt32, Int64, int, Int32, Int32, Int32, UInt8, UInt8]
"""The triggers of `cuihop.annotation.context`, those of one first word one after the other, the longest first.

By place: words by their hash, open addressing, -1 for none; code points of the words in lower case, and the bounds of
each word among them; characters of the longest word; bounds of the triggers that begin with a word; words of the
triggers, and the bounds of each trigger among them; kinds: indices of the contexts, then 3 for pseudo-triggers and 4
for terminations; directions: 1 forward, 2 backward, 3 both. A plain tuple: compiled code is cached by its types.
"""

_NEWLINE, _COMMA, _SEMICOLON, _SLASH = 10, 44, 59, 47
_STOP, _AFTER_COMMA, _APART = 1, 2, 4  # between two words: the end of a sentence, a comma, more than joins a phrase
_FORWARD, _BACKWARD = 1, 2
_ASSERTIONS, _PSEUDO, _TERMINATION = 3, 3, 4  # kinds 0 and 1, negated and uncertain, are bits 1 and 2
_NO_WORD = -1


@compiled
def hash_of_word(codes: UInt32, begin: int, end: int, classes: UInt8, folds: UInt32) -> int:
    """Hash of a word: its length, its first and its last character, in lower case. A hit is compared in full."""
    first, last = folded_code(codes[begin], classes, folds), folded_code(codes[end - 1], classes, folds)
    return first * 37 + last * 1031 + (end - begin) * 211


@compiled
def mark_contexts(
    codes: UInt32,
    offsets: Int64,
    classes: UInt8,
    folds: UInt32,
    triggers: Triggers,
    texts: Int64,
    starts: Int64,
    ends: Int64,
    flags: UInt8,
) -> None:
    """Set the bits of the contexts of each mention in ``flags``, shape (mentions,), which holds zeros.

    Args:
        codes, offsets: texts, as `cuihop.annotation.characters.coded` gives them.
        classes, folds: see `cuihop.annotation.characters.CharacterClasses`.
        texts, starts, ends: mentions, by text and start, as code points of the batch.
    """
    longest = 0
    for text in range(len(offsets) - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    most = longest // 2 + 2
    words = np.empty(most, dtype=np.int32)
    bounds = np.empty((most, 2), dtype=np.int64)
    gaps = np.empty(most, dtype=np.uint8)
    covered = np.empty(most, dtype=np.bool_)
    hits = np.empty((most, 3), dtype=np.int32)
    first_words = np.empty(len(texts), dtype=np.int64)
    begin = 0
    while begin < len(texts):
        end = begin + 1
        while end < len(texts) and texts[end] == texts[begin]:
            end += 1
        count = _words(
            codes, offsets[texts[begin]], offsets[texts[begin] + 1], classes, folds, triggers, words, bounds, gaps
        )
        _cover(bounds, count, starts[begin:end], ends[begin:end], covered, first_words[begin:end])
        number = _find(words, gaps, covered, count, triggers, hits)
        _sweep_forward(gaps, count, hits[:number], triggers, first_words[begin:end], flags[begin:end])
        _sweep_backward(gaps, count, hits[:number], triggers, first_words[begin:end], flags[begin:end])
        begin = end


@compiled
def _words(
    codes: UInt32,
    begin: int,
    end: int,
    classes: UInt8,
    folds: UInt32,
    triggers: Triggers,
    words: Int32,
    bounds: Int64,
    gaps: UInt8,
) -> int:
    """Fill in the words of a text, their bounds, and the signs before each; return their number."""
    count, at = 0, begin
    gap = 0
    while at < end:
        code = codes[at]
        if is_word_part(code, classes):
            first = at
            at += 1
            while at < end and is_word_part(codes[at], classes):
                at += 1
            words[count] = _word(codes, first, at, classes, folds, triggers)
            bounds[count, 0], bounds[count, 1] = first, at
            gaps[count] = gap
            gap = 0
            count += 1
            continue
        if code in (_NEWLINE, _SEMICOLON) or stops_here(codes, at, begin, end, classes, folds):
            gap |= _STOP | _APART
        elif code == _COMMA:
            gap |= _AFTER_COMMA | _APART
        elif code != _SLASH and not classes[code] & SPACE and classes[code] & 7 == SEPARATOR:
            gap |= _APART
        at += 1
    return count


@compiled
def _word(codes: UInt32, begin: int, end: int, classes: UInt8, folds: UInt32, triggers: Triggers) -> int:
    """Number of a word that some trigger has; -1 for others."""
    slots, word_codes, word_bounds, longest = triggers[:4]
    if end - begin > longest:
        return _NO_WORD
    mask = len(slots) - 1
    slot = hash_of_word(codes, begin, end, classes, folds) & mask
    while slots[slot] >= 0:
        word = slots[slot]
        first = word_bounds[word]
        if word_bounds[word + 1] - first == end - begin:
            same = 0
            while same < end - begin and folded_code(codes[begin + same], classes, folds) == np.int64(
                word_codes[first + same]
            ):
                same += 1
            if same == end - begin:
                return signed(word)  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    return _NO_WORD


@compiled
def _cover(
    bounds: Int64,
    count: int,
    starts: Int64,
    ends: Int64,
    covered: Bool,
    first_words: Int64,
) -> None:
    """Mark the words that lie in mentions, and fill in the first word of each mention."""
    covered[:count] = False
    first, reached = 0, 0
    for mention in range(len(starts)):
        while first < count and bounds[first, 1] <= starts[mention]:
            first += 1
        first_words[mention] = first
        reached = max(reached, first)
        while reached < count and bounds[reached, 0] < ends[mention]:
            covered[reached] = True
            reached += 1


@compiled
def _find(
    words: Int32,
    gaps: UInt8,
    covered: Bool,
    count: int,
    triggers: Triggers,
    hits: Int32,
) -> int:
    """Fill in the triggers of a text from the left, the longest first: first word, last word, trigger."""
    by_first_word, trigger_words, bounds = triggers[4:7]
    number, at = 0, 0
    while at < count:
        length = 0
        if words[at] >= 0 and not covered[at]:
            for trigger in range(by_first_word[words[at]], by_first_word[words[at] + 1]):
                begin = bounds[trigger]
                length = bounds[trigger + 1] - begin
                same = 0
                while (
                    same < length
                    and at + same < count
                    and words[at + same] == trigger_words[begin + same]
                    and not covered[at + same]
                    and (same == 0 or not gaps[at + same] & _APART)
                ):
                    same += 1
                if same == length:
                    hits[number, 0], hits[number, 1], hits[number, 2] = at, at + length - 1, trigger
                    number += 1
                    break
                length = 0
        at += max(length, 1)
    return number


@compiled
def _sweep_forward(
    gaps: UInt8,
    count: int,
    hits: Int32,
    triggers: Triggers,
    first_words: Int64,
    flags: UInt8,
) -> None:
    """Set the bits of the triggers before the mentions."""
    kinds, directions = triggers[7:]
    active, mention, next_trigger = 0, 0, 0
    for at in range(count):
        if gaps[at] & _STOP:
            active = 0
        while mention < len(first_words) and first_words[mention] == at:
            flags[mention] |= active
            mention += 1
        if next_trigger == len(hits) or hits[next_trigger, 0] != at:
            continue
        trigger = hits[next_trigger, 2]
        next_trigger += 1
        kind = kinds[trigger]
        if kind == _TERMINATION:
            active = 0
        elif kind != _PSEUDO and directions[trigger] & _FORWARD:
            bit = 1 << kind
            if bit & _ASSERTIONS and gaps[at] & _AFTER_COMMA:
                active &= ~_ASSERTIONS
            active |= bit


@compiled
def _sweep_backward(
    gaps: UInt8,
    count: int,
    hits: Int32,
    triggers: Triggers,
    first_words: Int64,
    flags: UInt8,
) -> None:
    """Set the bits of the triggers after the mentions."""
    kinds, directions = triggers[7:]
    active, mention, trigger_left = 0, len(first_words) - 1, len(hits) - 1
    while mention >= 0 and first_words[mention] >= count:
        mention -= 1
    for at in range(count - 1, -1, -1):
        while mention >= 0 and first_words[mention] == at:
            flags[mention] |= active
            mention -= 1
        if trigger_left >= 0 and hits[trigger_left, 0] == at:
            trigger = hits[trigger_left, 2]
            trigger_left -= 1
            kind = kinds[trigger]
            if kind == _TERMINATION:
                active = 0
            elif kind != _PSEUDO:
                bit = 1 << kind
                if directions[trigger] & _FORWARD and bit & _ASSERTIONS:
                    active &= ~_ASSERTIONS
                if directions[trigger] & _BACKWARD:
                    active |= bit
        if gaps[at] & _STOP:
            active = 0
