"""Pictures of a path or a neighbourhood, for notebooks and papers: broader concepts stand higher."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph, Neighbourhood, Path
from cuihop.notebooks.figures import drawing, save_picture
from cuihop.notebooks.graph_html import LETTERS, LINES, boxes_svg, path_edges, path_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "draw"]

_WIDTH, _HEIGHT = 1.75, 0.62  # inches of a box
_RIGHT, _UP = 2.15, 1.0  # inches from box to box
_A_LINE, _NEXT_LINE = 6, 0.75  # boxes side by side, and how much higher the next line of a level is
_MOST = 60
_BOX, _CENTRE, _LINE = "#f2f4f7", "#cfe3f5", "#47566b"


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """Concepts in boxes and is_a edges as arrows from the narrower to the broader concept.

    Attributes:
        title: of the picture.
        places: concept → column and level, in boxes; a broader concept's level is higher.
        edges: (child, parent).
        names: concept → its preferred name.
        centres: the ends of the path, or the centre of the neighbourhood.
    """

    title: str
    places: Mapping[str, tuple[float, float]]
    edges: Sequence[tuple[str, str]]
    names: Mapping[str, str | None]
    centres: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Drawing: {self.title}>"

    def figure(self) -> Figure:
        """The picture as a matplotlib figure.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; the message names the extra.
        """
        with drawing():
            return self._drawn()

    def _drawn(self) -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyBboxPatch

        columns, levels = zip(*self.places.values(), strict=True)
        left, right = min(columns) * _RIGHT - _WIDTH / 2 - 0.1, max(columns) * _RIGHT + _WIDTH / 2 + 0.1
        low, high = min(levels) * _UP - _HEIGHT / 2 - 0.1, max(levels) * _UP + _HEIGHT / 2 + 0.45
        figure = Figure(figsize=(max(right - left, 3.0), high - low))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(left, max(right, left + 3.0)), ylim=(low, high))
        axes.axis("off")
        axes.text(left + 0.1, high - 0.1, self.title, fontsize=9, va="top", fontweight="bold")
        for child, parent in self.edges:
            (x, y), (to_x, to_y) = ((c * _RIGHT, v * _UP) for c, v in (self.places[child], self.places[parent]))
            start, end = (x, y + _HEIGHT / 2), (to_x, to_y - _HEIGHT / 2)
            arrow = {"arrowstyle": "-|>", "color": _LINE, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 1}
            axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=1)
        for cui, (column, level) in self.places.items():
            x, y = column * _RIGHT, level * _UP
            centre = cui in self.centres
            axes.add_patch(
                FancyBboxPatch(
                    (x - _WIDTH / 2, y - _HEIGHT / 2), _WIDTH, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.06",
                    facecolor=_CENTRE if centre else _BOX, edgecolor=_LINE, linewidth=1.6 if centre else 0.8, zorder=2,
                )
            )  # fmt: skip
            lines = textwrap.wrap(self.names.get(cui) or "(no name)", LETTERS, max_lines=LINES, placeholder=" …")
            axes.text(x, y, "\n".join([*lines, cui]), fontsize=7, ha="center", va="center", zorder=3)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as SVG, PNG or PDF, as the suffix says; the write is atomic.

        Raises:
            InputError: another suffix.
            OutputError: the file cannot be written.
        """
        save_picture(self.figure, path)

    def _repr_svg_(self) -> str:
        return boxes_svg(self.title, self.places, self.edges, names=self.names, centres=self.centres)


def draw(graph: ConceptGraph, found: Path | Neighbourhood) -> Drawing:
    """Draw a path or a neighbourhood.

    Args:
        graph: source of names, and of the paths from the centre of a neighbourhood.
        found: a path, or a neighbourhood of at most 60 concepts (``limit=60``).

    Raises:
        InputError: a larger neighbourhood, or something else.
    """
    if isinstance(found, Path):
        return _of_path(graph, found)
    if isinstance(found, Neighbourhood):
        if len(found) > _MOST:
            raise InputError(
                "too large a neighbourhood to draw", found=f"{len(found):,} concepts", expected=f"at most {_MOST}",
                advice=f"Ask for it with limit={_MOST}.",
            )  # fmt: skip
        return _of_neighbourhood(graph, found)
    raise InputError("not to be drawn", found=type(found).__name__, expected="a Path or a Neighbourhood")


def _of_path(graph: ConceptGraph, path: Path) -> Drawing:
    names = dict(zip(path.cuis, graph.names(path.cuis), strict=True))
    ends = (path.start, path.cuis[-1])
    upwards = [step.relation == "parent" for step in path.steps]
    positions, edges = path_grid(path.cuis, upwards), path_edges(path.cuis, upwards)
    return Drawing(f"{counted(path.hops, 'hop')} from {ends[0]} to {ends[1]}", positions, edges, names, ends)


def _of_neighbourhood(graph: ConceptGraph, hood: Neighbourhood) -> Drawing:
    """A tree: each concept is joined to the one before it on its path from the centre."""
    cuis = [hood.cui, *(neighbour.cui for neighbour in hood)]
    levels, edges = {hood.cui: 0}, []
    reached_from = {hood.cui: hood.cui}
    for neighbour in hood:
        path = graph.path(hood.cui, neighbour.cui, direction=hood.direction)
        if path is not None:
            before, step = path.cuis[-2], path.steps[-1]
            upwards = step.relation == "parent"
            levels[step.cui] = levels[before] + (1 if upwards else -1)
            reached_from[step.cui] = before
            edges.append((before, step.cui) if upwards else (step.cui, before))
    rows: dict[int, list[str]] = {}
    for cui, level in levels.items():
        rows.setdefault(level, []).append(cui)
    # A long level is folded into lines of a few boxes; the lines of levels above the centre go on upwards.
    positions: dict[str, tuple[float, float]] = {}
    for sign in (1, -1):
        height = 0.0
        for level in sorted((k for k in rows if k * sign >= (0 if sign == 1 else 1)), key=abs):
            rows[level].sort(key=lambda cui: positions.get(reached_from[cui], (0.0, 0.0))[0])  # a stable sort
            lines = [rows[level][i : i + _A_LINE] for i in range(0, len(rows[level]), _A_LINE)]
            if level:
                height += sign * 1.0
            for number, line in enumerate(lines):
                height += sign * _NEXT_LINE if number else 0.0
                for column, cui in enumerate(line):
                    positions[cui] = (column - (len(line) - 1) / 2, height)
    names = dict(zip(cuis, graph.names(cuis), strict=True))
    bound = "" if hood.hops is None else f" within {counted(hood.hops, 'hop')}"
    cut = f", {len(hood):,} shown" if hood.truncated else ""
    return Drawing(f"{hood.total:,} concepts{bound} of {hood.cui}{cut}", positions, edges, names, (hood.cui,))
