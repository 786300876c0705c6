"""The error rate of codes: the share that is not wholly right (ImageCLEFmed 2007, Table 7)."""

from __future__ import annotations

from cuihop.measures.family import Family


def code_error(correct: str, predicted: str) -> float:
    """1 unless the codes are equal, else 0: a code with a wildcard is not right.

    >>> [code_error("318a", code) for code in ("318a", "318*", "1000")]
    [0.0, 1.0, 1.0]
    """
    return float(correct != predicted)


FAMILY = Family("ER", "error rate: share of codes that are not wholly right", "code", error=True)
