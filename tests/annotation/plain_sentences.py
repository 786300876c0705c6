"""Ends of sentences in plain strings: the oracle of the kernels."""

from __future__ import annotations

import re

from cuihop.annotation.code_points import NOT_A_STOP

STOP = re.compile(r"[.?!][)\]'\"’”]*(?=\s|$)")


def stops(text: str) -> list[int]:
    """Positions of the signs that end a sentence."""
    found = []
    for match in STOP.finditer(text):
        at = match.start()
        word = re.search(r"(?:[^\W_]|\.)*$", letters_only(text[:at]))[0].lower()  # type: ignore[index]
        after = text[match.end() :].lstrip()[:1]
        small = after.isalpha() and after == after.lower() and ord(after) < 0x10000
        named = text[at] == "." and (word in NOT_A_STOP or (len(word) == 1 and word.isalpha() and small))
        if not named:
            found.append(at)
    return found


def letters_only(text: str) -> str:
    """Letters and digits beyond U+FFFF are signs."""
    return "".join(c if ord(c) < 0x10000 else "_" for c in text)
