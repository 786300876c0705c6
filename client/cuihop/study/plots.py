"""The figures of a study, as PNG, SVG and PDF: text of 8 points at the width of a page of the paper (LNCS, 122 mm).

Colours are those of Okabe and Ito, and greys for baselines; markers and dashes differ too, for print in grey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuihop.errors import installation
from cuihop.evaluation.result import Evaluation
from cuihop.notebooks.figures import drawing
from cuihop.study.ablation import HOPS, LAMBDAS
from cuihop.study.cost import Cost
from cuihop.study.cross_evaluation import BASELINES
from cuihop.study.difference import PrecisionDifference
from cuihop.study.inputs import CUT_OFFS, DEPTH, LongRow, StudyInputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GREYS = ("#000000", "#5A5A5A", "#949494")
_OF_HOPS = ("#0072B2", "#009E73", "#D55E00")  # blue, green and red, as in the paper's Fig. 3
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
_DASHES = ("-", "--", "-.", ":")
_COLUMN, _PAGE = 3.5, 4.8  # inches
_LINE = 0.17  # inches from line to line of a legend
_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 2.4,
    "pdf.fonttype": 42,  # letters stay letters
    "svg.hashsalt": "cuihop",  # the same figure is the same file
    "svg.fonttype": "none",
}
_DOTS_AN_INCH = 300


def check_plots() -> None:
    """Refuse early if no figure can be drawn: the error names the missing package and its command."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        message = f"figures need matplotlib: {installation('cuihop[plots]')}; --no-plots leaves them out"
        raise ModuleNotFoundError(message, name="matplotlib") from error


@contextmanager
def _figure(path: Path, panels: int, width: float, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of panels side by side, saved in each form when the block ends."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with drawing(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
        yield figure, axes
        figure.savefig(path.with_suffix(".png"), dpi=_DOTS_AN_INCH)
        figure.set_layout_engine("none")  # the same layout in each form, computed once
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})


def plot_precision(path: Path, evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> None:
    """P@K by K, a panel for each set of labels, a line for each ranking."""
    titles = [" & ".join(labels) for labels in inputs.label_sets]

    def value(evaluation: Evaluation, panel: int, k: int) -> float | None:
        mean = evaluation.means[f"P@{k}({', '.join(inputs.label_sets[panel])})"]
        return None if mean is None else 100 * mean

    _lines_by_k(path, evaluations, titles, "precision@K (%)", value)


def plot_gains(path: Path, evaluations: Mapping[str, Evaluation], inputs: StudyInputs) -> None:
    """CUI@K and nn-CUI@K by K, a line for each ranking."""
    families = ("CUI", "nn-CUI")
    titles = ["CUI@K", f"nn-CUI@K ({inputs.nn_iou})"]
    _lines_by_k(path, evaluations, titles, "mean NDCG@K", lambda e, panel, k: e.means[f"{families[panel]}@{k}"])


def _lines_by_k(
    path: Path,
    evaluations: Mapping[str, Evaluation],
    titles: Sequence[str],
    label: str,
    value: Callable[[Evaluation, int, int], float | None],
) -> None:
    positions, lines = range(len(CUT_OFFS)), -(-len(evaluations) // _columns_of(list(evaluations)))
    with _figure(path, len(titles), _PAGE, 2.2 + _LINE * lines) as (figure, axes):
        for panel, (axis, title) in enumerate(zip(axes, titles, strict=True)):
            for name, look in _styles(list(evaluations)):
                values = [value(evaluations[name], panel, k) for k in CUT_OFFS]
                axis.plot(positions, _drawn(values), **look)
            _by_k(axis, title)
            axis.set_ylim(bottom=0)
            if panel:
                axis.sharey(axes[0])
        axes[0].set_ylabel(label)
        _legend(figure, axes[0])


def _by_k(axis: Axes, title: str) -> None:
    axis.set_title(_plain(title))
    axis.set_xticks(range(len(CUT_OFFS)), [str(k) for k in CUT_OFFS])
    axis.set_xlim(-0.3, len(CUT_OFFS) - 0.7)
    axis.set_xlabel("K (images)")


def _legend(figure: Figure, axis: Axes, title: str | None = None) -> None:
    """The legend, below the panels and never over them."""
    lines = axis.get_lines()
    names = [str(line.get_label()) for line in lines]
    figure.legend(lines, names, loc="outside lower center", ncols=_columns_of(names), title=title)


def _columns_of(names: Sequence[str]) -> int:
    """As many as fit the width of a page."""
    widest = max(map(len, names))
    return min(len(names), 4 if widest <= 14 else 3 if widest <= 22 else 2 if widest <= 34 else 1)


def _plain(name: str) -> str:
    """A name as it is: matplotlib reads formulas between dollars, and hides what begins with an underscore."""
    return ("\N{HAIR SPACE}" if name.startswith("_") else "") + name.replace("$", r"\$")


def plot_differences(path: Path, differences: Sequence[PrecisionDifference], inputs: StudyInputs) -> None:
    """P@K of nn-IoU less that of IoU by K, with confidence intervals, a panel for each set of labels."""
    with _figure(path, len(inputs.label_sets), _PAGE, 2.0) as (_, axes):
        for axis, labels in zip(axes, inputs.label_sets, strict=True):
            here = [each for each in differences if each.labels == labels]
            means = [100 * each.difference for each in here]
            below = [mean - 100 * each.interval[0] for mean, each in zip(means, here, strict=True)]
            above = [100 * each.interval[1] - mean for mean, each in zip(means, here, strict=True)]
            positions = [CUT_OFFS.index(each.k) for each in here]
            axis.axhline(0, color="#000000", linewidth=0.8)
            bars = [[max(0.0, length) for length in lengths] for lengths in (below, above)]
            axis.errorbar(positions, means, bars, fmt="s", color=_COLOURS[1], markersize=4, capsize=3)
            _by_k(axis, " & ".join(labels))
        axes[0].set_ylabel("nn-IoU − IoU, P@K\n(percentage points)")


def plot_ablation(path: Path, rows: Sequence[LongRow], subset: str, inputs: StudyInputs) -> None:
    """P@30 by λ, a line for each n, a panel for each set of labels, on one subset of queries."""
    values = {(x.subset, x.measure, x.n, x.lam): x for x in rows if x.part == "ablation"}
    panels = inputs.label_sets
    with _figure(path, len(panels), _PAGE, 2.5) as (figure, axes):
        for axis, labels in zip(axes, panels, strict=True):
            measure = f"P@{DEPTH}({', '.join(labels)})"
            for (_, look), n, colour in zip(_styles([f"n = {n}" for n in HOPS]), HOPS, _OF_HOPS, strict=True):
                means = [values[subset, measure, n, lam].value for lam in LAMBDAS]
                line = _drawn([None if v is None else 100 * v for v in means])
                axis.plot(LAMBDAS, line, **{**look, "color": colour, "markersize": look["markersize"] - 1.5})
            queries = values[subset, measure, 0, 0.0].queries
            axis.set_title(f"{_plain(' & '.join(labels))}\n{queries:,} queries")
            axis.set_xlabel("λ")
            axis.set_xticks(LAMBDAS[::5], [f"{lam:g}" for lam in LAMBDAS[::5]])
            axis.set_xticks(LAMBDAS, minor=True)
        axes[0].set_ylabel(f"P@{DEPTH} (%)")
        _legend(figure, axes[0], f"queries with {subset} by IoU and nn-IoU")


def plot_costs(path: Path, costs: Sequence[Cost]) -> None:
    """Seconds per query on a logarithmic axis."""
    with _figure(path, 1, _COLUMN, 2.2) as (_, axes):
        (axis,) = axes
        names = [f"{cost.measure}\n{cost.way}" for cost in costs]
        colours = [_COLOURS[0] if "compiled" in cost.way else _COLOURS[1] for cost in costs]
        hatches = ["" if "compiled" in cost.way else "////" for cost in costs]
        bars = axis.barh(names, [cost.seconds for cost in costs], color=colours, hatch=hatches, edgecolor="white")
        axis.bar_label(bars, [time_text(cost.seconds) for cost in costs], padding=2)
        axis.set_xscale("log")
        seconds = [cost.seconds for cost in costs]
        axis.set_xlim(min(seconds) / 3, max(seconds) * 50)  # space for the figures next to the bars
        axis.set_xlabel("seconds per query image (logarithmic)")
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")


def time_text(seconds: float) -> str:
    """A time with its unit, three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _styles(names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name with the style of its line. Markers grow smaller, so that lines that meet are all seen."""
    colours, greys = cycle(_COLOURS), cycle(_GREYS)
    for number, (name, marker, dash) in enumerate(zip(names, cycle(_MARKERS), cycle(_DASHES), strict=False)):
        colour = next(greys if name in BASELINES else colours)
        size = max(3.0, 5.5 - number / 2)
        yield name, {"label": _plain(name), "color": colour, "marker": marker, "linestyle": dash, "markersize": size}


def _drawn(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
