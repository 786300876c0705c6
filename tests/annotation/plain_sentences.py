"""Ends of sentences in plain strings: the oracle of the kernels."""

from __future__ import annotations

import re

from cuihop._kernels.shared import NOT_A_STOP
from cuihop.annotation.characters import folded_letters

STOP = re.compile(r"[.?!][)\]'\"’”]*(?=\s|$)")


def stops(text: str) -> list[int]:
    """Positions of the signs that end a sentence."""
    found = []
    for match in STOP.finditer(text):
        at = match.start()
        first = at
        while first and (text[first - 1] == "." or in_word(text[first - 1])):
            first -= 1
        word = "".join(map(small, text[first:at]))
        after = text[match.end() :].lstrip()[:1]
        single = len(word) == 1 and is_letter(word) and is_letter(after) and not after.isupper()
        if text[at] != "." or not (word in NOT_A_STOP or single):
            found.append(at)
    return found


def in_word(character: str) -> bool:
    """True for a letter or digit."""
    return bool(folded_letters(character))


def is_letter(character: str) -> bool:
    """True for a letter."""
    return bool(character) and (folded_letters(character) or "").isalpha()


def small(character: str) -> str:
    """The folded letter, or the character where that is not one."""
    letters = folded_letters(character) or ""
    return letters if len(letters) == 1 else character
