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

import numpy as np

from cuihop.annotation.characters import CharacterClasses
from cuihop.resources.arrays import Int64, UInt32

_OPEN = ord("(")


def definitions(codes: UInt32, offsets: Int64, characters: CharacterClasses) -> Int64:
    """Definitions of abbreviations in a batch of `coded` texts, whose characters are classified.

    Returns:
        int64, shape (definitions, 5), by position: the index of the text, start and end of the short form, and start
        and end of the long form, as code points counted from the beginning of the batch.
    """
    from cuihop._kernels.abbreviations import find_definitions

    brackets = np.flatnonzero(codes == _OPEN)
    rows = np.empty((len(brackets), 5), dtype=np.int64)
    return rows[: find_definitions(codes, offsets, brackets, characters.classes, characters.folds, rows)]
