"""Contexts of mentions in arrays of code points, compiled: see `cuihop.annotation.context`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled, signed
from cuihop._kernels.sentences import character_class, lower_case, stops_here

if TYPE_CHECKING:
    from cuihop.annotation.code_points import Characters
    from cuihop.annotation.context import TriggerTable

__all__ = ["hash_of_word", "mark_contexts"]

_LETTER, _DIGIT, _BLANK = 1, 2, 4  # as in cuihop.annotation.code_points
_NEWLINE, _COMMA, _SEMICOLON, _HYPHEN, _APOSTROPHE, _RIGHT_QUOTE, _SLASH = 10, 44, 59, 45, 39, 0x2019, 47
_STOP, _AFTER_COMMA, _APART = 1, 2, 4  # between two words: the end of a sentence, a comma, more than joins a phrase
_FORWARD, _BACKWARD = 1, 2
_ASSERTIONS, _PSEUDO, _TERMINATION = 3, 3, 4  # kinds 0 and 1, negated and uncertain, are bits 1 and 2
_NO_WORD = -1


@compiled
def hash_of_word(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters) -> int:
    """Hash of a word: its length, its first and its last character, in lower case. A hit is compared in full."""
    first, last = lower_case(codes[begin], characters), lower_case(codes[end - 1], characters)
    return first * 37 + last * 1031 + (end - begin) * 211


@compiled
def mark_contexts(
    codes: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    characters: Characters,
    triggers: TriggerTable,
    texts: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    flags: npt.NDArray[np.uint8],
) -> None:
    """Set the bits of the contexts of each mention.

    Args:
        codes, offsets: texts, as `cuihop.annotation.code_points.coded` gives them.
        characters: tables of characters.
        triggers: the triggers.
        texts, starts, ends: mentions, by text and start, as code points of the batch.
        flags: uint8, shape (mentions,), zeros.
    """
    longest = 0
    for text in range(len(offsets) - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    most = longest // 2 + 2
    words = np.empty(most, dtype=np.int32)
    bounds = np.empty((most, 2), dtype=np.int64)
    gaps = np.empty(most, dtype=np.uint8)
    covered = np.empty(most, dtype=np.bool_)
    found = np.empty((most, 3), dtype=np.int32)
    first_words = np.empty(len(texts), dtype=np.int64)
    begin = 0
    while begin < len(texts):
        end = begin + 1
        while end < len(texts) and texts[end] == texts[begin]:
            end += 1
        count = _words(
            codes, offsets[texts[begin]], offsets[texts[begin] + 1], characters, triggers, words, bounds, gaps
        )
        _cover(bounds, count, starts[begin:end], ends[begin:end], covered, first_words[begin:end])
        number = _find(words, gaps, covered, count, triggers, found)
        _sweep_forward(gaps, count, found[:number], triggers, first_words[begin:end], flags[begin:end])
        _sweep_backward(gaps, count, found[:number], triggers, first_words[begin:end], flags[begin:end])
        begin = end


@compiled
def _words(
    codes: npt.NDArray[np.uint32],
    begin: int,
    end: int,
    characters: Characters,
    triggers: TriggerTable,
    words: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    gaps: npt.NDArray[np.uint8],
) -> int:
    """Fill in the words of a text, their bounds, and the signs before each; return their number."""
    count, at = 0, begin
    gap = 0
    while at < end:
        code = codes[at]
        kind = character_class(code, characters)
        if kind & (_LETTER | _DIGIT):
            first = at
            at += 1
            while at < end and character_class(codes[at], characters) & (_LETTER | _DIGIT):
                at += 1
            words[count] = _word(codes, first, at, characters, triggers)
            bounds[count, 0], bounds[count, 1] = first, at
            gaps[count] = gap
            gap = 0
            count += 1
            continue
        if code in (_NEWLINE, _SEMICOLON) or stops_here(codes, at, begin, end, characters):
            gap |= _STOP | _APART
        elif code == _COMMA:
            gap |= _AFTER_COMMA | _APART
        elif kind != _BLANK and code not in (_HYPHEN, _APOSTROPHE, _RIGHT_QUOTE, _SLASH):
            gap |= _APART
        at += 1
    return count


@compiled
def _word(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters, triggers: TriggerTable) -> int:
    """Number of a word that some trigger has; -1 for others."""
    if end - begin > triggers.longest:
        return _NO_WORD
    mask = len(triggers.slots) - 1
    slot = hash_of_word(codes, begin, end, characters) & mask
    while triggers.slots[slot] >= 0:
        word = triggers.slots[slot]
        first = triggers.word_bounds[word]
        if triggers.word_bounds[word + 1] - first == end - begin:
            same = 0
            while same < end - begin and lower_case(codes[begin + same], characters) == np.int64(
                triggers.word_codes[first + same]
            ):
                same += 1
            if same == end - begin:
                return signed(word)  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    return _NO_WORD


@compiled
def _cover(
    bounds: npt.NDArray[np.int64],
    count: int,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    covered: npt.NDArray[np.bool_],
    first_words: npt.NDArray[np.int64],
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
    words: npt.NDArray[np.int32],
    gaps: npt.NDArray[np.uint8],
    covered: npt.NDArray[np.bool_],
    count: int,
    triggers: TriggerTable,
    found: npt.NDArray[np.int32],
) -> int:
    """Fill in the triggers of a text from the left, the longest first: first word, last word, trigger."""
    number, at = 0, 0
    while at < count:
        length = 0
        if words[at] >= 0 and not covered[at]:
            for trigger in range(triggers.by_first_word[words[at]], triggers.by_first_word[words[at] + 1]):
                begin = triggers.bounds[trigger]
                length = triggers.bounds[trigger + 1] - begin
                same = 0
                while (
                    same < length
                    and at + same < count
                    and words[at + same] == triggers.words[begin + same]
                    and not covered[at + same]
                    and (same == 0 or not gaps[at + same] & _APART)
                ):
                    same += 1
                if same == length:
                    found[number, 0], found[number, 1], found[number, 2] = at, at + length - 1, trigger
                    number += 1
                    break
                length = 0
        at += max(length, 1)
    return number


@compiled
def _sweep_forward(
    gaps: npt.NDArray[np.uint8],
    count: int,
    found: npt.NDArray[np.int32],
    triggers: TriggerTable,
    first_words: npt.NDArray[np.int64],
    flags: npt.NDArray[np.uint8],
) -> None:
    """Set the bits of the triggers before the mentions."""
    active, mention, next_trigger = 0, 0, 0
    for at in range(count):
        if gaps[at] & _STOP:
            active = 0
        while mention < len(first_words) and first_words[mention] == at:
            flags[mention] |= active
            mention += 1
        if next_trigger == len(found) or found[next_trigger, 0] != at:
            continue
        trigger = found[next_trigger, 2]
        next_trigger += 1
        kind = triggers.kinds[trigger]
        if kind == _TERMINATION:
            active = 0
        elif kind != _PSEUDO and triggers.directions[trigger] & _FORWARD:
            bit = 1 << kind
            if bit & _ASSERTIONS and gaps[at] & _AFTER_COMMA:
                active &= ~_ASSERTIONS
            active |= bit


@compiled
def _sweep_backward(
    gaps: npt.NDArray[np.uint8],
    count: int,
    found: npt.NDArray[np.int32],
    triggers: TriggerTable,
    first_words: npt.NDArray[np.int64],
    flags: npt.NDArray[np.uint8],
) -> None:
    """Set the bits of the triggers after the mentions."""
    active, mention, trigger_left = 0, len(first_words) - 1, len(found) - 1
    while mention >= 0 and first_words[mention] >= count:
        mention -= 1
    for at in range(count - 1, -1, -1):
        while mention >= 0 and first_words[mention] == at:
            flags[mention] |= active
            mention -= 1
        if trigger_left >= 0 and found[trigger_left, 0] == at:
            trigger = found[trigger_left, 2]
            trigger_left -= 1
            kind = triggers.kinds[trigger]
            if kind == _TERMINATION:
                active = 0
            elif kind != _PSEUDO:
                bit = 1 << kind
                if triggers.directions[trigger] & _FORWARD and bit & _ASSERTIONS:
                    active &= ~_ASSERTIONS
                if triggers.directions[trigger] & _BACKWARD:
                    active |= bit
        if gaps[at] & _STOP:
            active = 0
