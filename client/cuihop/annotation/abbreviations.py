"""Abbreviations that a text defines: the algorithm of Schwartz and Hearst.

A. Schwartz and M. Hearst, *A simple algorithm for identifying abbreviation definitions in biomedical text*, Pacific
Symposium on Biocomputing 2003. A definition is “long form (short form)” or, if the bracket holds more than two
words or ten characters, “short form (long form)”, within a sentence. A comma or semicolon before a blank ends what the
bracket holds. A short form has n = 2–10 characters and at most two words, begins with a letter or digit, and has a
letter. The long form lies among the min(n + 5, 2·n) words next to it, and before the bracket within 300 characters:
letters and digits are matched backwards, from the end of both, and the first one stands at the beginning of a word. A
long form that is no longer than its short form, or has it as a word, is none. Signs at both ends of it are cut off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuihop.annotation.characters import CharacterClasses, coded
from cuihop.resources.arrays import Int64, UInt32

_OPEN = ord("(")


class Definitions(NamedTuple):
    """Definitions of a batch of texts, by position: int64, shape (definitions,) each.

    Attributes:
        texts: indices of the texts.
        short_starts, short_ends: code points of the short form, counted from the beginning of the batch.
        long_starts, long_ends: those of the long form.
    """

    texts: Int64
    short_starts: Int64
    short_ends: Int64
    long_starts: Int64
    long_ends: Int64


def definitions(codes: UInt32, offsets: Int64, characters: CharacterClasses) -> Definitions:
    """Definitions of abbreviations in a batch of `coded` texts, whose characters are classified."""
    from cuihop._kernels.abbreviations import find_definitions

    brackets = np.flatnonzero(codes == _OPEN)
    rows = np.empty((len(brackets), 5), dtype=np.int64)
    rows_of_definitions = rows[: find_definitions(codes, offsets, brackets, characters.classes, characters.folds, rows)]
    return Definitions(*(np.ascontiguousarray(rows_of_definitions[:, column]) for column in range(5)))


def definitions_in(text: str) -> list[tuple[str, str]]:
    """Short forms that a text defines, each with its long form, by position.

    >>> definitions_in("Mutations of WT1 in acute myeloid leukaemia (AML).")
    [('AML', 'acute myeloid leukaemia')]
    >>> definitions_in("MDS (a myelodysplastic syndrome, low risk) had been excluded.")
    [('MDS', 'myelodysplastic syndrome')]
    """
    codes, offsets = coded([text])
    characters = CharacterClasses()
    characters.classify(codes)
    positions = definitions(codes, offsets, characters)
    return [
        (text[begin:end], text[first:last])
        for begin, end, first, last in zip(*(column.tolist() for column in positions[1:]), strict=True)
    ]
