"""The hierarchical error of IRMA codes, and the error rate of codes (ImageCLEFmed 2007, section 3.1 and Table 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from cuihop.errors import InputError
from cuihop.measures.family import Family, Option, whole

Branching: TypeAlias = Callable[[str], int]
"""Number of labels possible after a prefix of a code; b of the first position is ``branching("")``."""

WILDCARD = "*"


def irma_error(correct: str, predicted: str, branching: Branching | Sequence[int] | int) -> float:
    """The error of a predicted code of one axis, from 0 (all right) to 1 (all wrong).

    Σ_i (1 / b_i) (1 / i) δ_i over the positions i, divided by the same sum with every δ_i = 1. δ_i is 0 as long as all
    positions up to i agree; from the first that does not, it is 0.5 if that is ``*`` (don't know), else 1, whatever
    follows. b_i is the number of labels that are possible at position i, given the
    correct code before it.

    Args:
        correct: the code; every position specified.
        predicted: of the same length; may hold ``*``.
        branching: b: one number for all positions, one for each, or a function of the correct code before it.

    Raises:
        InputError: the codes differ in length, one is empty, the correct one holds ``*``, or a b is less than 1.

    Table 6 of the source has eight codes. It does not print b; its values follow from 10, 3, 9 and 16:

    >>> [round(irma_error("318a", code, (10, 3, 9, 16)), 3) for code in ("318*", "31*a", "32**", "1000")]
    [0.024, 0.082, 0.687, 1.0]
    >>> [round(irma_error("318a", code, 2), 3) for code in ("318*", "31*a", "32**", "1000")]
    [0.06, 0.14, 0.52, 1.0]
    """
    if len(correct) != len(predicted) or not correct:
        raise InputError(
            "not a prediction of this code", found=f"{predicted!r} for {correct!r}", expected="codes of one length"
        )
    if WILDCARD in correct:
        raise InputError("the correct code is not wholly specified", found=repr(correct), expected="no '*'")
    weights = [1 / (b * i) for i, b in enumerate(_labels(correct, branching), start=1)]
    wrong = next((i for i, (own, other) in enumerate(zip(correct, predicted, strict=True)) if own != other), None)
    if wrong is None:
        return 0.0
    delta = 0.5 if predicted[wrong] == WILDCARD else 1.0
    return delta * math.fsum(weights[wrong:]) / math.fsum(weights)


def _labels(correct: str, branching: Branching | Sequence[int] | int) -> list[int]:
    if callable(branching):
        labels = [branching(correct[:i]) for i in range(len(correct))]
    else:
        labels = [branching] * len(correct) if isinstance(branching, int) else list(branching)
    if len(labels) != len(correct) or min(labels) < 1:
        raise InputError(
            "not numbers of possible labels", column="branching", found=repr(labels),
            expected=f"{len(correct)} whole numbers, 1 or more",
        )  # fmt: skip
    return labels


def branching_of(codes: Iterable[str]) -> Branching:
    """B from all codes of an axis: the number of different labels that follow each prefix.

    The function returned raises `InputError` for a prefix that no code has.

    >>> b = branching_of(["10", "11", "12", "20"])
    >>> b(""), b("1"), b("2")
    (2, 3, 1)
    """
    following: dict[str, set[str]] = {}
    for code in codes:
        for position, label in enumerate(code):
            following.setdefault(code[:position], set()).add(label)

    def labels(beginning: str) -> int:
        if beginning not in following:
            raise InputError(
                "no code of the hierarchy begins so", found=repr(beginning), expected="the beginning of a code"
            )
        return len(following[beginning])

    return labels


def code_error(correct: str, predicted: str) -> float:
    """1 unless the codes are equal, else 0: a code with a wildcard is not right.

    >>> [code_error("318a", code) for code in ("318a", "318*", "1000")]
    [0.0, 1.0, 1.0]
    """
    return float(correct != predicted)


IRMA_FAMILIES = (
    Family("IRMA", "hierarchical error of IRMA codes", "code",
           options=(Option("b", "a whole number, 1 or more", whole(1)),), error=True),
    Family("ER", "error rate: share of codes that are not wholly right", "code", error=True),
)  # fmt: skip
