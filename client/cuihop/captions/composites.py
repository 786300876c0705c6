"""Relevance, factuality and overall score of captions: means of other measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.measures.measure import Measure, measures_named

Float64 = npt.NDArray[np.float64]

Official: TypeAlias = Literal["2025", "2026"]
"""Edition of the evaluation program of ImageCLEFmedical caption whose rules hold."""

_PAPER = ("BERTScore", "ROUGE-1", "similarity", "BLEURT")
_RELEVANCE: Mapping[Official | None, Sequence[str]] = {
    None: _PAPER,
    "2025": ("BERTScore(value=F1)", "ROUGE-1", "similarity"),
    "2026": ("BERTScore(value=F1)", "ROUGE-1", "similarity", "BLEURT"),
}


def components(family: str, official: Official | None = None) -> tuple[Measure, ...]:
    """The measures that a composite is the mean of.

    Args:
        family: ``relevance``, ``factuality`` or ``overall``.
        official: by the program of this edition; by default as the overview paper of 2025 defines it, section 4. The
            programs have no overall score; it is the mean of their two.

    >>> [str(measure) for measure in components("relevance", "2025")]
    ['BERTScore(value=F1)', 'ROUGE-1', 'similarity']
    """
    named = {
        "relevance": _RELEVANCE[official],
        "factuality": ("concept-F1", "AlignScore"),
        "overall": ("relevance", "factuality"),
    }
    return measures_named(named[family])


def composite(columns: Sequence[Float64]) -> Float64:
    """The mean of the components of each caption, float64, shape (captions,)."""
    return np.asarray(np.mean(columns, axis=0), dtype=np.float64)
