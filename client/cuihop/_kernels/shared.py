"""Constants and formulas that compiled code shares with Python. This module imports no compiler."""

from __future__ import annotations

UNKNOWN, LETTER, SEPARATOR, IGNORED, APOSTROPHE, DASH, SEVERAL = range(7)
"""Kinds of characters: the low bits of their class."""

KIND = 7
"""The bits of the kind."""

CAPITAL, NO_LETTER, SPACE = 8, 16, 32
"""Further bits of a class."""

NOT_A_STOP = (
    "al", "approx", "ca", "cf", "dr", "e.g", "eq", "esp", "fig", "figs", "i.e", "incl", "mr", "mrs", "ms", "prof",
    "ref", "refs", "resp", "spp", "st", "viz", "vs",
)  # fmt: skip
"""Short forms whose full stop does not end a sentence."""

EXACT, FORM, SPACING, INVERTED, TAIL, ACRONYM, ABBREVIATION, SPELLING = range(8)
"""Positions of the rules of matching in `cuihop.annotation.mentions.RULES`."""


def nn_iou_of_counts(shared: int, near: float, union: int, lam: float) -> float:
    """Equation 2: (|A ∩ B| + λ |rel(A, B)|) / |A ∪ B|; 0 for an empty union.

    ``near`` may be a `credit_of_near`, with λ = 1.

    The one place of the formula: the evaluation kernels compile this function.
    """
    if union == 0:
        return 0.0
    return (shared + lam * near) / union
