"""Figures of results: the values of each measure, and the differences between systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop.notebooks.picture_file import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["DifferenceRow", "comparison_figure", "evaluation_figure"]

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#777777"


def evaluation_figure(names: Sequence[str], values: npt.NDArray[np.float64]) -> Figure:
    """Spread of the values of the queries under each measure: middle half, median, mean, and 5 to 95 %.

    Args:
        names: the measures, m of them. values: shape (queries, m); NaN is no value.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message names the extra.
    """
    with drawing():
        from matplotlib.figure import Figure

        columns = [column[~np.isnan(column)] for column in values.T]
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


class DifferenceRow(NamedTuple):
    """One difference of a comparison: its labels, its interval, and its adjusted p."""

    measure: str
    system: str
    baseline: str
    low: float
    difference: float
    high: float
    p_holm: float


def comparison_figure(differences: Sequence[DifferenceRow], confidence: float) -> Figure:
    """Each difference with its confidence interval; filled where Holm's adjusted p is below 1 − confidence.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message names the extra.
    """
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 0.9 + 0.42 * len(differences)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0.0, color=_GREY, linewidth=1.0)
        for place, one in enumerate(differences):
            sure = one.p_holm < 1.0 - confidence
            axes.plot([one.low, one.high], [place, place], color=_BLUE, linewidth=1.6)
            axes.plot(one.difference, place, "o", markersize=7, color=_BLUE, markerfacecolor=_BLUE if sure else "white")
        axes.set_yticks(
            range(len(differences)), [f"{d.measure}\n{d.system} − {d.baseline}" for d in differences], fontsize=8
        )
        axes.invert_yaxis()
        axes.margins(y=0.6 / max(len(differences), 1))
        axes.set_xlabel(
            f"difference of means with {confidence:.0%} interval (filled: p < {1 - confidence:.2g} after Holm)",
            fontsize=8,
        )
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        return figure
