"""Definitions of abbreviations in arrays of code points, compiled: see `cuihop.annotation.abbreviations`."""

from __future__ import annotations

from cuihop._kernels.jit import compiled
from cuihop._kernels.sentences import folded_code, is_blank, is_letter, is_word_part, stops_before, stops_here
from cuihop.resources.arrays import Int64, UInt8, UInt32

_OPEN, _CLOSE, _COMMA, _SEMICOLON = ord("("), ord(")"), ord(","), ord(";")
_SHORTEST, _LONGEST, _MOST_WORDS = 2, 10, 2
_FURTHEST = 300  # characters before a bracket: bounds the work on a text of brackets without blanks


@compiled
def find_definitions(
    codes: UInt32,
    offsets: Int64,
    brackets: Int64,
    classes: UInt8,
    folds: UInt32,
    definitions: Int64,
) -> int:
    """Fill the rows of ``definitions``, and return their number.

    Args:
        codes, offsets: texts, as `cuihop.annotation.characters.coded` gives them.
        brackets: positions of the opening brackets, ascending.
        classes, folds: see `cuihop.annotation.characters.CharacterClasses`.
        definitions: shape (opening brackets, 5): text, begin and end of the short form, begin and end of the long form.
    """
    count, text = 0, 0
    for bracket in brackets:
        while offsets[text + 1] <= bracket:
            text += 1
        if _definition(codes, bracket, offsets[text], offsets[text + 1], classes, folds, definitions[count]):
            definitions[count, 0] = text
            count += 1
    return count


@compiled
def _definition(
    codes: UInt32,
    bracket: int,
    begin: int,
    end: int,
    classes: UInt8,
    folds: UInt32,
    definition: Int64,
) -> bool:
    """Fill a row with the definition at an opening bracket, if there is one."""
    close = bracket + 1
    inner_end = -1  # at the first comma or semicolon before a blank
    while close < end and codes[close] != _CLOSE:
        if codes[close] == _OPEN or stops_here(codes, close, begin, end, classes, folds):
            return False
        cut = codes[close] in (_COMMA, _SEMICOLON) and inner_end < 0 and close + 1 < end
        if cut and is_blank(codes[close + 1], classes):
            inner_end = close
        close += 1
    if close == end:
        return False
    if inner_end < 0:
        inner_end = close
    inner, inner_end = _trimmed(codes, bracket + 1, inner_end, classes)
    before = bracket
    while before > begin and is_blank(codes[before - 1], classes):
        before -= 1
    if inner == inner_end or before == begin or stops_before(codes, before, begin, end, classes, folds):
        return False
    inside = inner_end - inner <= _LONGEST and _words(codes, inner, inner_end, classes) <= _MOST_WORDS
    if inside:
        short, short_end = inner, inner_end
    else:
        short, short_end = _last_words(codes, begin, before, end, 1, classes, folds), before
    if not _valid(codes, short, short_end, classes):
        return False
    most = min(short_end - short + 5, 2 * (short_end - short))
    if inside:
        window, window_end = _last_words(codes, begin, before, end, most, classes, folds), before
    else:
        window, window_end = _last_words(codes, inner, inner_end, end, most, classes, folds), inner_end
    first = _long_form(codes, short, short_end, window, window_end, classes, folds)
    if first < 0:
        return False
    while window_end > first and not is_word_part(codes[window_end - 1], classes):
        window_end -= 1
    if window_end - first <= short_end - short or _holds(codes, short, short_end, first, window_end, classes):
        return False
    definition[1], definition[2], definition[3], definition[4] = short, short_end, first, window_end
    return True


@compiled
def _trimmed(codes: UInt32, begin: int, end: int, classes: UInt8) -> tuple[int, int]:
    """Bounds without the blanks at both ends."""
    while begin < end and is_blank(codes[begin], classes):
        begin += 1
    while end > begin and is_blank(codes[end - 1], classes):
        end -= 1
    return begin, end


@compiled
def _words(codes: UInt32, begin: int, end: int, classes: UInt8) -> int:
    words = 0
    for at in range(begin, end):
        blank = is_blank(codes[at], classes)
        words += not blank and (at == begin or is_blank(codes[at - 1], classes))
    return words


@compiled
def _valid(codes: UInt32, begin: int, end: int, classes: UInt8) -> bool:
    """True for a valid short form: its length, a letter in it, a letter or digit in front."""
    if not _SHORTEST <= end - begin <= _LONGEST:
        return False
    if not is_word_part(codes[begin], classes):
        return False
    for at in range(begin, end):  # noqa: SIM110 - compiled code has no any()
        if is_letter(codes[at], classes):
            return True
    return False


@compiled
def _last_words(codes: UInt32, begin: int, before: int, end: int, most: int, classes: UInt8, folds: UInt32) -> int:
    """Begin of the last words before a position, ``most`` at the most, within a sentence and few characters."""
    first, at, words = before, before, 0
    furthest = max(begin, before - _FURTHEST)
    while at > furthest and words < most:
        at -= 1
        if not is_blank(codes[at], classes):
            if at == begin or is_blank(codes[at - 1], classes):
                first = at
                words += 1
        elif stops_before(codes, at, begin, end, classes, folds):
            break
    return first


@compiled
def _long_form(
    codes: UInt32, short: int, short_end: int, window: int, window_end: int, classes: UInt8, folds: UInt32
) -> int:
    """Begin of the shortest long form that ends at ``window_end``; -1 without one. The algorithm of the paper."""
    at = window_end - 1
    for letter in range(short_end - 1, short - 1, -1):
        if not is_word_part(codes[letter], classes):
            continue
        sought = folded_code(codes[letter], classes, folds)
        while at >= window and (
            folded_code(codes[at], classes, folds) != sought
            or (letter == short and at > window and is_word_part(codes[at - 1], classes))
        ):
            at -= 1
        if at < window:
            return -1
        at -= 1
    at += 1
    first = at
    while first > window and not is_blank(codes[first - 1], classes):
        first -= 1
    while not is_word_part(codes[first], classes):
        first += 1
    return first


@compiled
def _holds(codes: UInt32, short: int, short_end: int, first: int, end: int, classes: UInt8) -> bool:
    """True if the short form is a word of the long form, in the same letters."""
    length = short_end - short
    for at in range(first, end - length + 1):
        if at > first and not is_blank(codes[at - 1], classes):
            continue
        after = at + length
        if after < end and is_word_part(codes[after], classes):
            continue
        same = 0
        while same < length and codes[at + same] == codes[short + same]:
            same += 1
        if same == length:
            return True
    return False
