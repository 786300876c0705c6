"""Texts as arrays of code points, for compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BLANK", "DIGIT", "LETTER", "NOT_A_STOP", "Characters", "characters", "coded"]

LETTER, DIGIT, BLANK = 1, 2, 4
_CODES = 1 << 16

NOT_A_STOP = (
    "al", "approx", "ca", "cf", "dr", "e.g", "eq", "esp", "fig", "figs", "i.e", "incl", "mr", "mrs", "ms", "prof",
    "ref", "refs", "resp", "spp", "st", "viz", "vs",
)  # fmt: skip
"""Short forms whose full stop does not end a sentence."""


class Characters(NamedTuple):
    """Properties of characters, and the words of `NOT_A_STOP`.

    Characters beyond U+FFFF are neither letter nor digit here, and have no lower case.

    Attributes:
        lower: uint32, shape (65536,): the lower case of a code point, itself where that is not one character.
        classes: uint8, shape (65536,): `LETTER`, `DIGIT` or `BLANK`; 0 for all others.
        words: uint32: the code points of the short forms, one after the other.
        bounds: int64, shape (short forms + 1,): short form i is ``words[bounds[i]:bounds[i + 1]]``.
    """

    lower: npt.NDArray[np.uint32]
    classes: npt.NDArray[np.uint8]
    words: npt.NDArray[np.uint32]
    bounds: npt.NDArray[np.int64]


@lru_cache(maxsize=1)
def characters() -> Characters:
    """The tables, made on the first call in some hundredths of a second."""
    lower = np.arange(_CODES, dtype=np.uint32)
    classes = np.zeros(_CODES, dtype=np.uint8)
    for code in range(_CODES):
        character = chr(code)
        small = character.lower()
        if len(small) == 1:
            lower[code] = ord(small)
        classes[code] = (
            LETTER if character.isalpha() else DIGIT if character.isalnum() else BLANK if character.isspace() else 0
        )
    return Characters(lower, classes, *coded(NOT_A_STOP))


def coded(texts: Sequence[str] | Iterable[str]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Code points of a batch of texts, one after the other, and the bounds of the texts among them.

    Returns:
        uint32, shape (characters,), and int64, shape (texts + 1,).

    >>> codes, bounds = coded(["ab", "", "é"])
    >>> codes.tolist(), bounds.tolist()
    ([97, 98, 233], [0, 2, 2, 3])
    """
    texts = list(texts)
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return codes, np.cumsum([0, *map(len, texts)], dtype=np.int64)
