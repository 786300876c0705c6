"""Definitions of abbreviations in arrays of code points, compiled: see `cuihop.annotation.abbreviations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop._kernels.sentences import character_class, lower_case, stops_before, stops_here

if TYPE_CHECKING:
    from cuihop.annotation.code_points import Characters

__all__ = ["find_definitions"]

_OPEN, _CLOSE, _COMMA, _SEMICOLON = ord("("), ord(")"), ord(","), ord(";")
_LETTER, _DIGIT, _BLANK = 1, 2, 4  # as in cuihop.annotation.code_points
_SHORTEST, _LONGEST, _MOST_WORDS = 2, 10, 2
_FURTHEST = 300  # characters before a bracket: bounds the work on a text of brackets without blanks


@compiled
def find_definitions(
    codes: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    brackets: npt.NDArray[np.int64],
    characters: Characters,
    definitions: npt.NDArray[np.int64],
) -> int:
    """Fill the rows of ``definitions``: text, begin and end of the short form, begin and end of the long form.

    Args:
        codes, offsets: texts, as `cuihop.annotation.code_points.coded` gives them.
        brackets: int64: positions of the opening brackets, ascending.
        characters: tables of characters.
        definitions: int64, shape (opening brackets, 5).

    Returns:
        The number of rows filled.
    """
    count, text = 0, 0
    for bracket in brackets:
        while offsets[text + 1] <= bracket:
            text += 1
        if _definition(codes, bracket, offsets[text], offsets[text + 1], characters, definitions[count]):
            definitions[count, 0] = text
            count += 1
    return count


@compiled
def _definition(
    codes: npt.NDArray[np.uint32],
    bracket: int,
    begin: int,
    end: int,
    characters: Characters,
    definition: npt.NDArray[np.int64],
) -> bool:
    """Fill a row with the definition at an opening bracket, if there is one."""
    close = bracket + 1
    inner_end = -1  # at the first comma or semicolon before a blank
    while close < end and codes[close] != _CLOSE:
        if codes[close] == _OPEN or stops_here(codes, close, begin, end, characters):
            return False
        cut = codes[close] in (_COMMA, _SEMICOLON) and inner_end < 0 and close + 1 < end
        if cut and character_class(codes[close + 1], characters) == _BLANK:
            inner_end = close
        close += 1
    if close == end:
        return False
    if inner_end < 0:
        inner_end = close
    inner, inner_end = _trimmed(codes, bracket + 1, inner_end, characters)
    before = bracket
    while before > begin and character_class(codes[before - 1], characters) == _BLANK:
        before -= 1
    if inner == inner_end or before == begin or stops_before(codes, before, begin, end, characters):
        return False
    inside = inner_end - inner <= _LONGEST and _words(codes, inner, inner_end, characters) <= _MOST_WORDS
    if inside:
        short, short_end = inner, inner_end
    else:
        short, short_end = _last_words(codes, begin, before, end, 1, characters), before
    if not _valid(codes, short, short_end, characters):
        return False
    most = min(short_end - short + 5, 2 * (short_end - short))
    if inside:
        window, window_end = _last_words(codes, begin, before, end, most, characters), before
    else:
        window, window_end = _last_words(codes, inner, inner_end, end, most, characters), inner_end
    first = _long_form(codes, short, short_end, window, window_end, characters)
    if first < 0:
        return False
    while window_end > first and not character_class(codes[window_end - 1], characters) & (_LETTER | _DIGIT):
        window_end -= 1
    if window_end - first <= short_end - short or _holds(codes, short, short_end, first, window_end, characters):
        return False
    definition[1], definition[2], definition[3], definition[4] = short, short_end, first, window_end
    return True


@compiled
def _trimmed(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters) -> tuple[int, int]:
    """Bounds without the blanks at both ends."""
    while begin < end and character_class(codes[begin], characters) == _BLANK:
        begin += 1
    while end > begin and character_class(codes[end - 1], characters) == _BLANK:
        end -= 1
    return begin, end


@compiled
def _words(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters) -> int:
    words = 0
    for at in range(begin, end):
        blank = character_class(codes[at], characters) == _BLANK
        words += not blank and (at == begin or character_class(codes[at - 1], characters) == _BLANK)
    return words


@compiled
def _valid(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters) -> bool:
    """True for a valid short form: its length, a letter in it, a letter or digit in front."""
    if not _SHORTEST <= end - begin <= _LONGEST:
        return False
    if not character_class(codes[begin], characters) & (_LETTER | _DIGIT):
        return False
    for at in range(begin, end):  # noqa: SIM110 - compiled code has no any()
        if character_class(codes[at], characters) == _LETTER:
            return True
    return False


@compiled
def _last_words(
    codes: npt.NDArray[np.uint32], begin: int, before: int, end: int, most: int, characters: Characters
) -> int:
    """Begin of the last words before a position, ``most`` at the most, within a sentence and few characters."""
    first, at, words = before, before, 0
    furthest = max(begin, before - _FURTHEST)
    while at > furthest and words < most:
        at -= 1
        if character_class(codes[at], characters) != _BLANK:
            if at == begin or character_class(codes[at - 1], characters) == _BLANK:
                first = at
                words += 1
        elif stops_before(codes, at, begin, end, characters):
            break
    return first


@compiled
def _long_form(
    codes: npt.NDArray[np.uint32], short: int, short_end: int, window: int, window_end: int, characters: Characters
) -> int:
    """Begin of the shortest long form that ends at ``window_end``; -1 without one. The algorithm of the paper."""
    at = window_end - 1
    for letter in range(short_end - 1, short - 1, -1):
        if not character_class(codes[letter], characters) & (_LETTER | _DIGIT):
            continue
        sought = lower_case(codes[letter], characters)
        while at >= window and (
            lower_case(codes[at], characters) != sought
            or (letter == short and at > window and character_class(codes[at - 1], characters) & (_LETTER | _DIGIT))
        ):
            at -= 1
        if at < window:
            return -1
        at -= 1
    at += 1
    first = at
    while first > window and character_class(codes[first - 1], characters) != _BLANK:
        first -= 1
    while not character_class(codes[first], characters) & (_LETTER | _DIGIT):
        first += 1
    return first


@compiled
def _holds(
    codes: npt.NDArray[np.uint32], short: int, short_end: int, first: int, end: int, characters: Characters
) -> bool:
    """True if the short form is a word of the long form, in the same letters."""
    length = short_end - short
    for at in range(first, end - length + 1):
        if at > first and character_class(codes[at - 1], characters) != _BLANK:
            continue
        after = at + length
        if after < end and character_class(codes[after], characters) & (_LETTER | _DIGIT):
            continue
        same = 0
        while same < length and codes[at + same] == codes[short + same]:
            same += 1
        if same == length:
            return True
    return False
