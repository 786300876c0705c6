"""Ends of sentences in arrays of code points, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled, signed

if TYPE_CHECKING:
    from cuihop.annotation.code_points import Characters

__all__ = ["character_class", "lower_case", "stops_before", "stops_here"]

_STOP, _QUESTION, _EXCLAMATION = ord("."), ord("?"), ord("!")
_ROUND, _SQUARE, _SINGLE, _DOUBLE, _CLOSING_SINGLE, _CLOSING_DOUBLE = ord(")"), ord("]"), 39, 34, 0x2019, 0x201D
_LETTER, _DIGIT, _BLANK = 1, 2, 4  # as in cuihop.annotation.code_points


@compiled
def character_class(code: np.uint32, characters: Characters) -> int:
    """Class of a code point: letter, digit, blank, or 0."""
    return signed(characters.classes[code]) if code < 0x10000 else 0


@compiled
def lower_case(code: np.uint32, characters: Characters) -> int:
    """Lower case of a code point."""
    return signed(characters.lower[code]) if code < 0x10000 else signed(code)  # type: ignore[no-any-return]


@compiled
def stops_here(codes: npt.NDArray[np.uint32], at: int, begin: int, end: int, characters: Characters) -> bool:
    """True for a full stop, question mark or exclamation mark that ends a sentence.

    A blank or the end of the text follows it, perhaps after a closing bracket or quotation mark. A full stop ends none
    after a word of ``characters.words``, nor between a single letter and a small one (“E. coli”).

    Args:
        codes: code points of a batch of texts.
        at: the position.
        begin, end: the bounds of the text.
        characters: their tables.
    """
    sign = codes[at]
    if sign not in (_STOP, _QUESTION, _EXCLAMATION):
        return False
    after = at + 1
    while after < end and _closes(codes[after]):
        after += 1
    if after == end:
        return True
    if character_class(codes[after], characters) != _BLANK:
        return False
    if sign != _STOP:
        return True
    word = at
    while word > begin and (
        codes[word - 1] == _STOP or character_class(codes[word - 1], characters) & (_LETTER | _DIGIT)
    ):
        word -= 1
    if _listed(codes, word, at, characters):
        return False
    while after < end and character_class(codes[after], characters) == _BLANK:
        after += 1
    single = at - word == 1 and character_class(codes[word], characters) == _LETTER
    return not (
        single
        and after < end
        and character_class(codes[after], characters) == _LETTER
        and lower_case(codes[after], characters) == signed(codes[after])
    )


@compiled
def stops_before(codes: npt.NDArray[np.uint32], at: int, begin: int, end: int, characters: Characters) -> bool:
    """True if the characters just before a blank end a sentence: see `stops_here`."""
    before = at - 1
    while before >= begin and _closes(codes[before]):
        before -= 1
    return before >= begin and stops_here(codes, before, begin, end, characters)


@compiled
def _closes(code: np.uint32) -> bool:
    """True for a sign that closes a bracket or quotation."""
    return code in (_ROUND, _SQUARE, _SINGLE, _DOUBLE, _CLOSING_SINGLE, _CLOSING_DOUBLE)


@compiled
def _listed(codes: npt.NDArray[np.uint32], begin: int, end: int, characters: Characters) -> bool:
    for word in range(len(characters.bounds) - 1):
        first = characters.bounds[word]
        if characters.bounds[word + 1] - first != end - begin:
            continue
        same = 0
        while same < end - begin and lower_case(codes[begin + same], characters) == signed(
            characters.words[first + same]
        ):
            same += 1
        if same == end - begin:
            return True
    return False
