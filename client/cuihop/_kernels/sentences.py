"""Ends of sentences in arrays of code points, compiled."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop._kernels.shared import CAPITAL, KIND, LETTER, NO_LETTER, NOT_A_STOP, SEVERAL, SPACE
from cuihop.resources.arrays import UInt8, UInt32

_STOP, _QUESTION, _EXCLAMATION = ord("."), ord("?"), ord("!")
_ROUND, _SQUARE, _SINGLE, _DOUBLE, _CLOSING_SINGLE, _CLOSING_DOUBLE = ord(")"), ord("]"), 39, 34, 0x2019, 0x201D
# Constants of compiled code:
_FORMS = np.frombuffer("".join(NOT_A_STOP).encode("utf-32-le"), dtype=np.uint32)
_FORM_BOUNDS = np.cumsum([0, *map(len, NOT_A_STOP)], dtype=np.int64)


@compiled
def is_word_part(code: np.uint32, classes: UInt8) -> bool:
    """True for a letter or digit."""
    kind = classes[code] & KIND
    return kind in (LETTER, SEVERAL)


@compiled
def is_letter(code: np.uint32, classes: UInt8) -> bool:
    """True for a letter."""
    return is_word_part(code, classes) and classes[code] & NO_LETTER == 0


@compiled
def is_blank(code: np.uint32, classes: UInt8) -> bool:
    """True for a blank, a tab, the end of a line and the like."""
    return bool(classes[code] & SPACE)


@compiled
def folded_code(code: np.uint32, classes: UInt8, folds: UInt32) -> int:
    """Small letter without diacritics; the code point itself where it folds to several letters, or is a sign."""
    return signed(folds[code]) if classes[code] & KIND == LETTER else signed(code)  # type: ignore[no-any-return]


@compiled
def stops_here(codes: UInt32, at: int, begin: int, end: int, classes: UInt8, folds: UInt32) -> bool:
    """True for a full stop, question mark or exclamation mark that ends a sentence.

    A blank or the end of the text, from ``begin`` to ``end``, follows it, perhaps after a closing bracket or quotation
    mark. A full stop ends none after a word of `NOT_A_STOP`, nor between a single letter and a small one (“E. coli”).
    """
    sign = codes[at]
    if sign not in (_STOP, _QUESTION, _EXCLAMATION):
        return False
    after = at + 1
    while after < end and _closes(codes[after]):
        after += 1
    if after == end:
        return True
    if not is_blank(codes[after], classes):
        return False
    if sign != _STOP:
        return True
    word = at
    while word > begin and (codes[word - 1] == _STOP or is_word_part(codes[word - 1], classes)):
        word -= 1
    if _listed(codes, word, at, classes, folds):
        return False
    while after < end and is_blank(codes[after], classes):
        after += 1
    single = at - word == 1 and is_letter(codes[word], classes)
    return not (single and after < end and is_letter(codes[after], classes) and not classes[codes[after]] & CAPITAL)


@compiled
def stops_before(codes: UInt32, at: int, begin: int, end: int, classes: UInt8, folds: UInt32) -> bool:
    """True if the characters just before a blank end a sentence: see `stops_here`."""
    before = at - 1
    while before >= begin and _closes(codes[before]):
        before -= 1
    return before >= begin and stops_here(codes, before, begin, end, classes, folds)


@compiled
def _closes(code: np.uint32) -> bool:
    """True for a sign that closes a bracket or quotation."""
    return code in (_ROUND, _SQUARE, _SINGLE, _DOUBLE, _CLOSING_SINGLE, _CLOSING_DOUBLE)


@compiled
def _listed(codes: UInt32, begin: int, end: int, classes: UInt8, folds: UInt32) -> bool:
    for word in range(len(_FORM_BOUNDS) - 1):
        first = _FORM_BOUNDS[word]
        if _FORM_BOUNDS[word + 1] - first != end - begin:
            continue
        same = 0
        while same < end - begin and folded_code(codes[begin + same], classes, folds) == signed(_FORMS[first + same]):
            same += 1
        if same == end - begin:
            return True
    return False
