"""Figures of results: the values of each measure, and the differences between systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cuihop.picture_file import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cuihop.evaluation.comparison import Comparison
    from cuihop.evaluation.result import MeasuredQueries

__all__ = ["comparison_figure", "evaluation_figure"]

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#777777"


def evaluation_figure(evaluation: MeasuredQueries) -> Figure:
    """How the values of the queries are spread under each measure: middle half, median, mean, and 5 to 95 %.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; says what to do.
    """
    with drawing():
        from matplotlib.figure import Figure

        names = [str(measure) for measure in evaluation.measures]
        columns = [column[~np.isnan(column)] for column in evaluation.values.T]
        figure = Figure(figsize=(6.0, 0.9 + 0.42 * len(names)), layout="constrained")
        axes = figure.subplots()
        axes.boxplot(
            columns, orientation="horizontal", whis=(5, 95), showfliers=False, showmeans=True,
            widths=0.5, medianprops={"color": _ORANGE, "linewidth": 1.6}, boxprops={"color": _BLUE},
            whiskerprops={"color": _BLUE}, capprops={"color": _BLUE},
            meanprops={"marker": "D", "markerfacecolor": _BLUE, "markeredgecolor": _BLUE, "markersize": 5},
        )  # fmt: skip
        scored = [f"{name}\n{len(column):,} queries" for name, column in zip(names, columns, strict=True)]
        axes.set_yticks(range(1, len(names) + 1), scored, fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("value of a query (◆ mean, line: median, box: middle half, whiskers: 5 to 95 %)", fontsize=8)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def comparison_figure(comparison: Comparison) -> Figure:
    """Each difference with its confidence interval; filled where Holm's adjusted p is below 1 − confidence.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; says what to do.
    """
    with drawing():
        from matplotlib.figure import Figure

        found = comparison.differences
        figure = Figure(figsize=(6.0, 0.9 + 0.42 * len(found)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0.0, color=_GREY, linewidth=1.0)
        for place, one in enumerate(found):
            sure = one.p_holm < 1.0 - comparison.confidence
            axes.plot([one.low, one.high], [place, place], color=_BLUE, linewidth=1.6)
            axes.plot(
                one.difference, place, "o", markersize=7, color=_BLUE,
                markerfacecolor=_BLUE if sure else "white",
            )  # fmt: skip
        axes.set_yticks(range(len(found)), [f"{d.measure}\n{d.system} − {d.baseline}" for d in found], fontsize=8)
        axes.invert_yaxis()
        axes.margins(y=0.6 / max(len(found), 1))
        axes.set_xlabel(
            f"difference of means with {comparison.confidence:.0%} interval (filled: p < "
            f"{1 - comparison.confidence:.2g} after Holm)",
            fontsize=8,
        )
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        return figure
