"""Means over queries, the queries behind each, and the relevance that these are judged by."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cuihop.measures.family import RELEVANT_FROM
from cuihop.measures.measure import Measure


@dataclass(frozen=True, slots=True)
class MeanQueries:
    """The queries behind the mean of a measure.

    Attributes:
        nothing_relevant: judged queries without anything relevant; among the scored ones with the value 0, or left out.
        unjudged: queries without the label or without a judgement that the measure needs; left out.
    """

    scored: int
    nothing_relevant: int
    unjudged: int


def mean_of(values: Iterable[float]) -> float | None:
    """The exact mean of those that are numbers, rounded once; ``None`` where none is.

    >>> mean_of([0.1, math.nan, 0.3]), mean_of([])
    (0.2, None)
    """
    numbers = values.tolist() if isinstance(values, np.ndarray) else values  # its own elements are three times slower
    scored = [value for value in numbers if not math.isnan(value)]
    return math.fsum(scored) / len(scored) if scored else None


def number_text(mean: float | None) -> str:
    """A mean with four digits."""
    return "none" if mean is None else f"{mean:.4f}"


def signed_text(value: float, digits: int = 4) -> str:
    """A difference with its sign; the minus is a true one.

    >>> signed_text(-0.03), signed_text(0.5, 2)
    ('−0.0300', '+0.50')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def p_text(p: float) -> str:
    """A p value as papers print it.

    >>> p_text(0.0421), p_text(0.0001)
    ('0.042', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def mean_columns(behind: Sequence[Collection[MeanQueries]], empty_ideal: str | None) -> list[tuple[str, Sequence[str]]]:
    """Counts of each mean, as texts: title and cells of each column.

    ``behind`` has for each mean its queries, of several systems those of each.
    """
    treated = "scored 0" if empty_ideal == "zero" else "left out"
    nothing = [span_text([each.nothing_relevant for each in group]) for group in behind]
    unjudged = [span_text([each.unjudged for each in group]) for group in behind]
    columns: list[tuple[str, Sequence[str]]] = [
        ("queries", [span_text([each.scored for each in group]) for group in behind]),
        ("nothing relevant", [count if count == "0" else f"{count} {treated}" for count in nothing]),
    ]
    if any(count != "0" for count in unjudged):
        columns.append(("unjudged", [count if count == "0" else f"{count} left out" for count in unjudged]))
    return columns


def mean_text(behind: MeanQueries, empty_ideal: str | None) -> str:
    """The queries behind a mean in one line.

    >>> mean_text(MeanQueries(2_591, 3, 7_336), "zero")
    '2,591 (nothing relevant: 3 scored 0, unjudged: 7,336 left out)'
    """
    (_, scored), *others = mean_columns([[behind]], empty_ideal)
    return f"{scored[0]} ({', '.join(f'{title}: {cells[0]}' for title, cells in others)})"


def span_of(low: float | None, high: float | None) -> str:
    """An interval with four digits.

    >>> span_of(0.25, 0.5)
    '0.2500 to 0.5000'
    """
    return "none" if low is None or high is None else f"{number_text(low)} to {number_text(high)}"


def span_text(counts: Collection[int]) -> str:
    """The smallest and the largest count.

    >>> span_text([1_000, 9_999]), span_text([0])
    ('1,000 to 9,999', '0')
    """
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


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
