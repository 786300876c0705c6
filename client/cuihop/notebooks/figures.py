"""Figures of results, and figures as files: SVG, PNG or PDF."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cuihop.errors import InputError
from cuihop.files.written_files import write_whole
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "svg.hashsalt": "cuihop",  # one explanation, one file
    "pdf.fonttype": 42,
}


@contextlib.contextmanager
def drawing(settings: Any = _SETTINGS) -> Iterator[None]:
    """Set matplotlib's parameters for pictures until the block ends; without matplotlib, the error names the extra."""
    with installed_by("cuihop[plots]"):
        import matplotlib as mpl
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # a name in another script
        yield


def save_picture(figure: Callable[[], Figure], path: str | os.PathLike[str]) -> None:
    """Draw a figure and write it atomically, in the format of the path's suffix, which is checked first."""
    form = Path(path).suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise InputError(
            "not a format of pictures", column="path", found=repr(Path(path).name),
            expected="a name that ends with .svg, .png or .pdf",
        )  # fmt: skip
    write_whole(path, picture_bytes(figure(), form))


def picture_bytes(figure: Figure, form: str) -> bytes:
    """Content of a figure's file; the same figure gives the same bytes."""
    file = io.BytesIO()
    undated = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}[form]
    with drawing():
        figure.savefig(file, format=form, dpi=200, metadata=undated)
    return file.getvalue()


def saved_figure(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, after writing it to ``path`` where that is given: see `save_picture`."""
    if path is not None:
        save_picture(lambda: figure, path)
    return figure


def notebook_svg(figure: Callable[[], Figure]) -> str | None:
    """A figure as SVG for a notebook; ``None`` where matplotlib is not installed."""
    try:
        return picture_bytes(figure(), "svg").decode()
    except ModuleNotFoundError:
        return None


_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#777777"


@contextlib.contextmanager
def _rows_drawn(labels: Sequence[str], first: int = 0) -> Iterator[tuple[Figure, Axes]]:
    """A figure of rows with these labels, the first at the top, that is drawn in the block."""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 0.9 + 0.42 * len(labels)), layout="constrained")
        axes = figure.subplots()
        yield figure, axes
        axes.set_yticks(range(first, first + len(labels)), labels, fontsize=8)
        axes.invert_yaxis()
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)


def evaluation_figure(names: Sequence[str], values: Float64) -> Figure:
    """Spread of the values of the queries under each measure: middle half, median, mean, and 5 to 95 %.

    ``values`` are of shape (queries, measures); NaN is no value.
    """
    columns = [column[~np.isnan(column)] for column in values.T]
    scored = [f"{name}\n{len(column):,} queries" for name, column in zip(names, columns, strict=True)]
    with _rows_drawn(scored, first=1) as (figure, axes):
        axes.boxplot(
            columns, orientation="horizontal", whis=(5, 95), showfliers=False, showmeans=True,
            widths=0.5, medianprops={"color": _ORANGE, "linewidth": 1.6}, boxprops={"color": _BLUE},
            whiskerprops={"color": _BLUE}, capprops={"color": _BLUE},
            meanprops={"marker": "D", "markerfacecolor": _BLUE, "markeredgecolor": _BLUE, "markersize": 5},
        )  # fmt: skip
        axes.set_xlabel("value of a query (◆ mean, line: median, box: middle half, whiskers: 5 to 95 %)", fontsize=8)
    return figure


def comparison_figure(differences: Mapping[str, tuple[float, float, float, float]], confidence: float) -> Figure:
    """Each difference with its confidence interval; filled where Holm's adjusted p is below 1 − confidence.

    Of each label, ``differences`` have lower bound, difference, upper bound, and adjusted p.
    """
    with _rows_drawn(list(differences)) as (figure, axes):
        axes.axvline(0.0, color=_GREY, linewidth=1.0)
        for position, (low, difference, high, p) in enumerate(differences.values()):
            inside = _BLUE if p < 1.0 - confidence else "white"
            axes.errorbar(
                difference, position, xerr=[[difference - low], [high - difference]], fmt="o", markersize=6, capsize=6,
                color=_BLUE, linewidth=1.6, capthick=1.6, markerfacecolor=inside,
            )  # fmt: skip
        axes.margins(y=0.6 / max(len(differences), 1))
        axes.set_xlabel(
            f"difference of means with {confidence:.0%} interval (filled: p < {1 - confidence:.2g} after Holm)",
            fontsize=8,
        )
    return figure
