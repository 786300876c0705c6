"""Pictures of a report, as SVG within the page, whose colours follow its scheme."""

from __future__ import annotations

from html import escape

import numpy as np

from cuihop.evaluation.means import mean_of, number_text
from cuihop.files.text_lines import counted
from cuihop.reports.page import Html
from cuihop.resources.arrays import Float64

__all__ = ["histogram", "interval_picture"]

_BINS = 20
_WIDTH, _HEIGHT, _TOP, _LEFT = 320, 130, 16, 8  # of a histogram and its margins, in pixels
_INTERVAL = 160  # pixels


def histogram(name: str, values: Float64, low: float, high: float) -> str:
    """The spread of the values of the queries between two limits, as a figure; NaN is no value."""
    scored = values[~np.isnan(values)]
    if not len(scored):
        return f"<figure><figcaption>{escape(name)}: no query has a value</figcaption></figure>"
    low, high = (float(edge) for edge in (min(low, scored.min()), max(high, scored.max(), low + 1e-9)))
    counts, _ = np.histogram(scored, _BINS, (low, high))
    base, largest = _HEIGHT - 20, int(counts.max())
    step = (_WIDTH - 2 * _LEFT) / _BINS

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_WIDTH - 2 * _LEFT)

    bars = "".join(
        f'<rect class="fill" x="{_LEFT + step * index + 0.5:.1f}" y="{base - height:.1f}" width="{step - 1:.1f}" '
        f'height="{height:.1f}"/>'
        for index, count in enumerate(counts.tolist())
        if (height := count / largest * (base - _TOP))
    )
    ticks = "".join(
        f'<text x="{x(value):.1f}" y="{_HEIGHT - 5}" text-anchor="{anchor}">{value:.3g}</text>'
        for value, anchor in ((low, "start"), ((low + high) / 2, "middle"), (high, "end"))
    )
    peak = _LEFT + step * (int(counts.argmax()) + 0.5)
    anchor = "start" if peak < _WIDTH / 4 else "end" if peak > _WIDTH * 3 / 4 else "middle"
    mean = mean_of(scored) or 0.0
    lower, median, upper = np.quantile(scored, [0.25, 0.5, 0.75]).tolist()
    ends = [f"{counted(int((scored == edge).sum()), 'query', 'queries')} at {edge:.3g}" for edge in (low, high)]
    spread = f"mean {number_text(mean)}, median {number_text(median)}, middle half {lower:.4f} to {upper:.4f}"
    return (
        f"<figure><figcaption><strong>{escape(name)}</strong>, {counted(len(scored), 'query', 'queries')}<br>"
        f"{spread}; {', '.join(ends)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Histogram of {escape(name)}: {spread}">'
        f'{bars}<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _LEFT}" y1="{base}" y2="{base}"/>'
        f'<line class="mean" x1="{x(mean):.1f}" x2="{x(mean):.1f}" y1="{_TOP}" y2="{base + 4}"/>'
        f'<text x="{peak:.1f}" y="{_TOP - 5}" text-anchor="{anchor}">{largest:,}</text>{ticks}</svg></figure>'
    )


def interval_picture(
    low: float | None, value: float | None, high: float | None, span: tuple[float, float], *, filled: bool = True,
    zero: bool = False,
) -> Html:  # fmt: skip
    """A value with its interval on a line from the first to the last number of ``span``; the numbers are next to it.

    Args:
        filled: the mark of the value is filled. zero: a line at 0.
    """
    if low is None or value is None or high is None:
        return Html("")
    first, last = span

    def x(number: float) -> str:
        return f"{5 + (number - first) / ((last - first) or 1.0) * (_INTERVAL - 10):.1f}"

    at_zero = f'<line class="axis" x1="{x(0)}" x2="{x(0)}" y1="0" y2="20" stroke-width="2"/>' if zero else ""
    ends = "".join(f'<line class="stroke" x1="{x(end)}" x2="{x(end)}" y1="5" y2="15"/>' for end in (low, high))
    return Html(
        f'<svg viewBox="0 0 {_INTERVAL} 20" aria-hidden="true">'
        f'<line class="axis" x1="5" x2="{_INTERVAL - 5}" y1="10" y2="10"/>{at_zero}'
        f'<line class="stroke" x1="{x(low)}" x2="{x(high)}" y1="10" y2="10" stroke-width="2"/>{ends}'
        f'<circle class="stroke {"fill" if filled else "open"}" cx="{x(value)}" cy="10" r="4"/></svg>'
    )
