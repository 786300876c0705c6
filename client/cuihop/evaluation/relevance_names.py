"""Names of the relevance under a measure: a gain of concepts, labels, or judgements."""

from __future__ import annotations

from cuihop.measures.family import RELEVANT_FROM
from cuihop.measures.measure import Measure

__all__ = ["relevance_name", "relevant_from"]


def relevance_name(measure: Measure) -> str:
    """The name of a measure's relevance, as the counts of an evaluation use it.

    >>> from cuihop.measures import measures_named
    >>> [relevance_name(m) for m in measures_named(["CUI@5", "nn-CUI@5(n=2)", "AP", "P@5(a+b, rel=2)"])]
    ['IoU', 'nn-IoU(n=2)', 'judgements', 'a+b, rel=2']
    """
    if measure.family == "CUI":
        return "IoU"
    if measure.kind == "concepts":
        options = ", ".join(f"{name}={value}" for name, value in measure.options)
        return f"nn-IoU({options})" if options else "nn-IoU"
    name = ", ".join(measure.labels) if measure.labels else "judgements"
    threshold = relevant_from(measure)
    return name if threshold == 1 else f"{name}, rel={threshold}"


def relevant_from(measure: Measure) -> int:
    """The smallest grade of a relevant document."""
    return int(measure.values.get(RELEVANT_FROM.name, 1))
