"""Characters of texts and names: their code points, their folded letters, and the separators of tokens.

A token is a run of letters and digits. Letters are folded: lower case, without diacritics, ligatures and wide letters
apart (Unicode NFKD), a Greek letter as its English name. Combining marks and soft hyphens are skipped.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from cuihop._kernels.shared import (
    APOSTROPHE,
    CAPITAL,
    DASH,
    IGNORED,
    LETTER,
    NO_LETTER,
    SEPARATOR,
    SEVERAL,
    SPACE,
    UNKNOWN,
)
from cuihop.resources.arrays import Int64, UInt8, UInt32

_APOSTROPHES = frozenset("'`´ʹʼˈ‘’′＇")
_DASHES = frozenset("-‐‑‒–−﹣－")
_GREEK = "GREEK SMALL LETTER "
_CODE_POINTS = 0x110000
_SEVERAL_ROOM = 1 << 16  # numbers and letters of all characters with several; a test classifies every code point


@lru_cache(maxsize=1 << 12)
def folded_letters(character: str) -> str | None:
    """Folded letters of a character, perhaps none; ``None`` if it is no letter or digit.

    >>> folded_letters("É"), folded_letters("β"), folded_letters("ﬁ"), folded_letters("-")
    ('e', 'beta', 'fi', None)
    """
    if unicodedata.category(character) == "Cf" or unicodedata.combining(character):
        return ""
    once = unicodedata.normalize("NFKD", character.casefold())
    decomposed = unicodedata.normalize("NFKD", once.casefold())
    letters = "".join(_latin(letter) for letter in decomposed if not unicodedata.combining(letter))
    return letters if letters.isalnum() else None


def _latin(letter: str) -> str:
    name = unicodedata.name(letter, "")
    return name.removeprefix(_GREEK).lower() if name.startswith(_GREEK) and " " not in name[len(_GREEK) :] else letter


class CharacterClasses:
    """Classes of code points for compiled code, filled as texts need them.

    Attributes:
        classes: uint8, shape (1114112,): a kind and bits, see `cuihop._kernels.shared`; 0 is not classified yet.
        folds: uint32, shape (1114112,): the folded letter, or the index of several in the next array.
        several: uint32: their number, and the letters.

    Compiled code reads the arrays while other threads fill them: they never move, and the class is written last.
    """

    def __init__(self) -> None:
        self.classes: UInt8 = np.zeros(_CODE_POINTS, dtype=np.uint8)
        self.folds: UInt32 = np.zeros(_CODE_POINTS, dtype=np.uint32)
        self.several: UInt32 = np.zeros(_SEVERAL_ROOM, dtype=np.uint32)
        self._filled = 0
        self._lock = threading.Lock()
        self.classify(np.arange(256, dtype=np.uint32))

    def classify(self, codes: UInt32) -> None:
        """Fill in the classes of these code points."""
        with self._lock:
            for code in np.unique(codes[self.classes[codes] == UNKNOWN]).tolist():
                self._classify(code)

    def _classify(self, code: int) -> None:
        character = chr(code)
        letters = folded_letters(character)
        if character in _APOSTROPHES:
            kind = APOSTROPHE
        elif character in _DASHES:
            kind = DASH
        elif letters is None:
            kind = SEPARATOR
        elif not letters:
            kind = IGNORED
        elif len(letters) == 1:
            kind = LETTER
            self.folds[code] = ord(letters)
        else:
            kind = SEVERAL
            end = self._filled + 1 + len(letters)
            self.several[self._filled : end] = [len(letters), *map(ord, letters)]
            self.folds[code] = self._filled
            self._filled = end
        if character.isupper():
            kind |= CAPITAL
        if letters and not letters.isalpha():
            kind |= NO_LETTER
        if character.isspace():
            kind |= SPACE
        self.classes[code] = kind


def coded(texts: Sequence[str] | Iterable[str]) -> tuple[UInt32, Int64]:
    """Code points of a batch of texts, uint32, and the bounds of the texts among them, int64, shape (texts + 1,).

    >>> codes, bounds = coded(["ab", "", "é"])
    >>> codes.tolist(), bounds.tolist()
    ([97, 98, 233], [0, 2, 2, 3])
    """
    texts = list(texts)
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return codes, np.cumsum([0, *map(len, texts)], dtype=np.int64)
