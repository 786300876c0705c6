"""Strings in two arrays: one blob of UTF-8 bytes, and their offsets in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.arrays import bounds_of

_BLOCK = 1 << 26


class StringTable:
    """Strings by position.

    Args:
        offsets: int64, shape (strings + 1,); string i is ``blob[offsets[i]:offsets[i + 1]]``.
        blob: uint8, UTF-8.
    """

    def __init__(self, offsets: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.blob = blob

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringTable:
        """The table of the given strings."""
        return cls.of_bytes([string.encode() for string in strings])

    @classmethod
    def of_bytes(cls, encoded: Sequence[bytes]) -> StringTable:
        """The table of strings given as UTF-8."""
        return cls(bounds_of([len(e) for e in encoded]), np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, position: int) -> str:
        return self.blob[self.offsets[position] : self.offsets[position + 1]].tobytes().decode()

    def slice(self, begin: int, end: int) -> Iterable[str]:
        """The strings from ``begin`` up to ``end``."""
        return (self[i] for i in range(begin, end))

    def beyond_ascii(self) -> npt.NDArray[np.int32]:
        """Positions of the strings with a byte beyond ASCII, ascending."""
        found = []
        for begin in range(0, len(self.blob), _BLOCK):
            places = np.flatnonzero(self.blob[begin : begin + _BLOCK] >= 0x80) + begin
            rows = np.searchsorted(self.offsets, places, side="right") - 1
            found.append(rows[np.diff(rows, prepend=-1) > 0])
        rows = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        return rows[np.diff(rows, prepend=-1) > 0].astype(np.int32)  # a string may span two blocks


_ASCII_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}


def folded(text: str) -> str:
    """Fold text for search: lower case, without accents, words of letters and digits separated by one space.

    >>> folded("Sjögren's  Syndrome, NOS")
    'sjogren s syndrome nos'
    """
    if text.isascii():
        return " ".join(text.lower().translate(_ASCII_SEPARATORS).split())
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(
        character if character.isalnum() else " " for character in decomposed if not unicodedata.combining(character)
    )
    return " ".join(letters.split())


def folded_query(text: str) -> str:
    """Fold the text of a search.

    Raises:
        InputError: nothing is left of it.
    """
    if query := folded(text):
        return query
    raise InputError("nothing to search for", column="text", found=repr(text), expected="a letter or a digit")
