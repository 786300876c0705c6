"""The picture of an explanation: two columns of concepts, and the paths between them.

Colour (after Okabe and Ito, distinct for colour-blind readers), style of line and frame, and the sign at the inner edge
of each box say the same thing: the picture survives black-and-white print.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuihop.files.text_lines import counted, direction_text
from cuihop.measures.nearness import nearness_text, power_text, weight_text
from cuihop.notebooks.figures import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cuihop.explanation.values import ExplainedConcept, ExplainedPair, Match, PathStep

__all__ = ["figure_of_pairs"]

_STYLE: dict[Match, dict[str, Any]] = {
    "exact": {"colour": "#0072B2", "fill": "#E3F1FA", "line": "solid", "width": 1.8},
    "near": {"colour": "#B34700", "fill": "#FDF0E6", "line": (0, (5, 2)), "width": 1.2},
    "none": {"colour": "#6E6E6E", "fill": "#F3F3F3", "line": (0, (1, 2)), "width": 1.0},
}
_WIDTH, _BOX, _LANE = 12.0, 3.85, 2.7  # inches: of the picture, of a box, of a label in the middle
_MARGIN, _PAD, _GAP = 0.2, 0.07, 0.1  # inches
_LINE = 0.165  # inches from line to line
_TEXT, _LANE_TEXT = _BOX - 0.5, _LANE - 0.2  # inches a line may take
_HEAD, _FOOT = 1.0, 0.62  # inches
_SIZE = 9.0  # points
_FITTED = 1.06  # letters are drawn a little wider when they are fitted to pixels


@dataclass(frozen=True)
class _Block:
    """Lines of text at a height: inches from the top of the picture downwards."""

    lines: list[str]
    top: float

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PAD

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def figure_of_pairs(pairs: Sequence[ExplainedPair]) -> Figure:
    """The pictures of explanations, one under the other: 12 inches wide and as high as they need to be.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message names the extra.
    """
    with drawing():
        from matplotlib.figure import Figure

        pictures = [_Picture(pair) for pair in pairs]
        height = sum(picture.height for picture in pictures)
        figure = Figure(figsize=(_WIDTH, height))
        top = 1.0
        for picture in pictures:
            share = picture.height / height
            top -= share
            picture.draw(figure.add_axes((0.0, top, 1.0, share)))
        return figure


class _Picture:
    """Layout of one explanation. Columns are stacks of blocks: no label overlaps another."""

    def __init__(self, explanation: ExplainedPair) -> None:
        self._explanation = explanation
        lines_of = functools.partial(_lines, bound=explanation.n + explanation.look)
        shared, near, none = ([c for c in explanation.concepts if c.match == m] for m in ("exact", "near", "none"))
        paths = {_ends(concept): concept.path for concept in near}
        order = _order(list(paths))
        top = _end_of(_stacked([lines_of(concept) for concept in shared], _HEAD), _HEAD)
        sides: dict[str, list[ExplainedConcept]] = {s: [c for c in near if c.side == s] for s in ("A", "B")}
        height = max(
            _dense([_path_lines(paths[ends]) for ends in order]), *(_dense(map(lines_of, c)) for c in sides.values())
        )
        lanes = _spread([_path_lines(paths[ends]) for ends in order], top, height)
        self._labels = dict(zip(order, lanes, strict=True))
        self._boxes: dict[str, list[tuple[ExplainedConcept, _Block]]] = {}
        for side, concepts in sides.items():
            here = {c.cui: [b.middle for e, b in self._labels.items() if e[side == "B"] == c.cui] for c in concepts}
            pulled = sorted(((sum(here[c.cui]) / len(here[c.cui]), c.cui, c) for c in concepts), key=lambda p: p[:2])
            column = [*shared, *(concept for _, _, concept in pulled), *(c for c in none if c.side == side)]
            blocks = _stacked([lines_of(concept) for concept in shared], _HEAD)
            blocks += _pulled([(lines_of(c), middle) for middle, _, c in pulled], top, height)
            blocks += _stacked([lines_of(c) for c in none if c.side == side], _end_of(blocks, _HEAD))
            self._boxes[side] = list(zip(column, blocks, strict=True))
        ends = [_end_of([block for _, block in boxes], _HEAD) for boxes in self._boxes.values()]
        self.height = max(*ends, _end_of(lanes, _HEAD), _HEAD + 2 * _LINE) + _FOOT

    def draw(self, axes: Axes) -> None:
        axes.set_xlim(0.0, _WIDTH)
        axes.set_ylim(self.height, 0.0)
        axes.axis("off")
        self._draw_head(axes)
        self._draw_joints(axes)
        for side, boxes in self._boxes.items():
            for concept, block in boxes:
                _draw_box(axes, side, concept, block, self._explanation)
        self._draw_foot(axes)

    def _draw_head(self, axes: Axes) -> None:
        pair = self._explanation
        value = f"nn-IoU = {pair.arithmetic} = {pair.nn_iou:.4f}"
        direction = direction_text(pair.direction)
        small = (
            f"(shared + {weight_text(pair.weight, pair.ic)} · near) / union;  "
            f"{nearness_text(pair.n, f'{pair.lam:g}', pair.weight, pair.ic, direction)};  "
            f"IoU = {pair.iou:.4f};  release {pair.release.name}, digest {pair.release.digest[:12]}"
        )
        _write(axes, _WIDTH / 2, 0.22, value, size=13, weight="bold")
        _write(axes, _WIDTH / 2, 0.47, _cut(small, _WIDTH - 2 * _MARGIN, 8.5), size=8.5, colour="#444444")
        for side, x in (("A", _MARGIN), ("B", _WIDTH - _MARGIN - _BOX)):
            title = pair.titles[0 if side == "A" else 1]
            count = len(self._boxes[side])
            size = f" ({counted(count, 'concept')})"
            name = _cut(side if title == side else f"{side}: {title}", _BOX - _inches_of(size, 10, "bold"), 10, "bold")
            _write(axes, x, 0.8, name + size, size=10, weight="bold", align="left")

    def _draw_joints(self, axes: Axes) -> None:
        left, right = _MARGIN + _BOX, _WIDTH - _MARGIN - _BOX
        blocks = {side: {c.cui: b for c, b in boxes} for side, boxes in self._boxes.items()}
        for concept, block in self._boxes["A"]:
            if concept.match == "exact":
                y = block.middle
                axes.plot([left, right], [y, y], color=_STYLE["exact"]["colour"], lw=2.2, solid_capstyle="butt")
        from_lane, to_lane = (_WIDTH - _LANE) / 2, (_WIDTH + _LANE) / 2
        for ends, label in self._labels.items():
            _curve(axes, (left, blocks["A"][ends[0]].middle), (from_lane, label.middle))
            _curve(axes, (to_lane, label.middle), (right, blocks["B"][ends[1]].middle))
            _frame(axes, (from_lane, label.top), (_LANE, label.height), facecolor=_STYLE["near"]["fill"], linewidth=0)
            _write_lines(axes, _WIDTH / 2, label, align="center", colour=_STYLE["near"]["colour"])

    def _draw_foot(self, axes: Axes) -> None:
        y = self.height - 0.34
        pair = self._explanation
        weight = weight_text(pair.weight, pair.ic)
        legend: tuple[tuple[Match, str], ...] = (
            ("exact", f"1: in both ({pair.shared})"),
            ("near", f"{weight}: a concept of the other within {counted(pair.n, 'hop')} ({pair.near})"),
            ("none", f"0: none so near ({pair.count('none')})"),
        )
        x = _MARGIN
        for match, text in legend:
            style = _STYLE[match]
            axes.plot([x, x + 0.45], [y, y], color=style["colour"], lw=style["width"] + 0.4, ls=style["line"])
            _write(axes, x + 0.55, y, text, size=8.5, colour=style["colour"], align="left")
            x += 0.9 + 0.075 * len(text)
        _write(
            axes, _WIDTH - _MARGIN, y, "from A to B:  ↑ to a parent   ↓ to a child",
            size=8.5, colour="#444444", align="right",
        )  # fmt: skip


def _ends(concept: ExplainedConcept) -> tuple[str, str]:
    return concept.path[0].cui, concept.path[-1].cui


def _order(lanes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The paths in an order with few crossing lines: paths with a shared end are neighbours."""
    waiting, ordered = list(lanes), list[tuple[str, str]]()
    while waiting:
        reached = {cui for ends in ordered for cui in ends}
        following = max(waiting, key=lambda ends: len(reached.intersection(ends)))  # of several, the first
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _dense(texts: Iterable[list[str]]) -> float:
    """The height of a stack."""
    return sum(_Block(lines, 0.0).height + _GAP for lines in texts)


def _stacked(texts: Sequence[list[str]], top: float) -> list[_Block]:
    return _spread(texts, top, _dense(texts))


def _spread(texts: Sequence[list[str]], top: float, height: float) -> list[_Block]:
    """Blocks one under the other, evenly spread over a sufficient height."""
    stack = []
    more = (height - _dense(texts)) / max(1, len(texts))
    for lines in texts:
        stack.append(_Block(lines, top + more / 2))
        top += stack[-1].height + _GAP + more
    return stack


def _pulled(texts: Sequence[tuple[list[str], float]], top: float, height: float) -> list[_Block]:
    """Blocks one under the other, each as near to the middle of its paths as the others allow."""
    tops: list[float] = []
    for lines, middle in texts:
        here = _Block(lines, 0.0).height
        tops.append(max(top, middle - here / 2))
        top = tops[-1] + here + _GAP
    end = min(top, tops[0] + height) if tops else top
    for index in reversed(range(len(tops))):
        end -= _Block(texts[index][0], 0.0).height + _GAP
        end = tops[index] = min(tops[index], end)
    return [_Block(lines, at) for (lines, _), at in zip(texts, tops, strict=True)]


def _end_of(blocks: Sequence[_Block], top: float) -> float:
    """The top of the next block."""
    return max((block.top + block.height + _GAP for block in blocks), default=top)


def _lines(concept: ExplainedConcept, bound: int) -> list[str]:
    """The text of a box; ``bound`` is the largest distance sought."""
    if concept.outside is not None:
        return _wrapped(f"{concept.cui}  ({_OUTSIDE[concept.outside]})", _TEXT)
    lines = _wrapped(f"{concept.cui}  {concept.name or ''}".rstrip(), _TEXT)
    if concept.given:
        lines += _wrapped(f"given as {', '.join(concept.given)} (retired)", _TEXT)
    if concept.match == "none":
        nearest = concept.partners[0] if concept.partners else None
        far = (
            f"none within {counted(bound, 'hop')}"
            if nearest is None
            else f"{nearest.name or nearest.cui}, {counted(nearest.hops, 'hop')}"
        )
        lines += _wrapped(f"nearest: {far}", _TEXT)
    return lines


_OUTSIDE = {"unknown": "not in the graph", "retired": "retired, no successor"}


def _path_lines(path: Sequence[PathStep]) -> list[str]:
    """The label of a path: its hops, and the concepts in between by name, with the direction of each hop."""
    arrows = ["↑" if concept.relation == "parent" else "↓" for concept in path[1:]]
    between = [f"{arrow}\N{NO-BREAK SPACE}{c.name or c.cui}" for arrow, c in zip(arrows, path[1:-1], strict=False)]
    steps = " ".join(between) + "\N{NO-BREAK SPACE}" * bool(between) + arrows[-1]
    return _wrapped(f"{counted(len(arrows), 'hop')}:  {steps}", _LANE_TEXT)


def _draw_box(axes: Axes, side: str, concept: ExplainedConcept, block: _Block, pair: ExplainedPair) -> None:
    style = _STYLE[concept.match]
    x = _MARGIN if side == "A" else _WIDTH - _MARGIN - _BOX
    _frame(
        axes, (x, block.top), (_BOX, block.height), facecolor=style["fill"], edgecolor=style["colour"],
        linestyle=style["line"], linewidth=style["width"],
    )  # fmt: skip
    _write_lines(axes, x + (0.1 if side == "A" else 0.4), block, align="left", colour="#111111")
    near = f"{concept.earned:.2f}"
    if concept.similarity is None:
        near = power_text("λ", concept.partners[0].hops if concept.match == "near" and pair.weight == "hops" else 1)
    earned = {"exact": "1", "near": near, "none": "0"}[concept.match]
    at = x + _BOX - 0.18 if side == "A" else x + 0.18
    _write(axes, at, block.middle, earned, size=11, weight="bold", colour=style["colour"])


def _frame(axes: Axes, corner: tuple[float, float], size: tuple[float, float], **style: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=0.06", **style))


def _write_lines(axes: Axes, x: float, block: _Block, *, align: str, colour: str) -> None:
    for number, line in enumerate(block.lines):
        _write(axes, x, block.top + _PAD + (number + 0.5) * _LINE, line, align=align, colour=colour)


def _curve(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    style = _STYLE["near"]
    middle = (start[0] + end[0]) / 2
    outline = Outline(
        [start, (middle, start[1]), (middle, end[1]), end],
        [Outline.MOVETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4],
    )
    line = {"edgecolor": style["colour"], "linestyle": style["line"], "linewidth": style["width"]}
    axes.add_patch(PathPatch(outline, facecolor="none", **line))


def _write(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float = _SIZE,
    colour: str = "#111111",
    weight: str = "normal",
    align: str = "center",
) -> None:
    axes.text(x, y, text, fontsize=size, color=colour, fontweight=weight, ha=align, va="center", parse_math=False)


def _wrapped(text: str, inches: float) -> list[str]:
    """The text in lines no wider than this; a wider word is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if _inches_of(longer) > inches and line:
            lines.append(line)
            longer = word
        while _inches_of(longer) > inches:
            fitting = next(end for end in range(len(longer) - 1, 0, -1) if _inches_of(longer[:end]) <= inches)
            lines.append(longer[:fitting])
            longer = longer[fitting:]
        line = longer
    return [*lines, line]


def _cut(text: str, inches: float, size: float, weight: str = "normal") -> str:
    """The text, its end left out if it is wider than this."""
    if _inches_of(text, size, weight) <= inches:
        return text
    fits = (f"{text[:end]}…" for end in range(len(text) - 1, 0, -1))
    return next(shorter for shorter in fits if _inches_of(shorter, size, weight) <= inches)


def _inches_of(text: str, size: float = _SIZE, weight: str = "normal") -> float:
    """The largest width of a text."""
    return _FITTED * size / 72 * sum(_advance(letter, weight) for letter in text)


@functools.lru_cache(maxsize=4096)
def _advance(letter: str, weight: str) -> float:
    """The advance width of a letter, for type of size 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    def width(text: str) -> float:
        return float(
            text_to_path.get_text_width_height_descent(text, FontProperties(size=100, weight=weight), False)[0]
        )

    return (width(f"|{letter}|") - width("||")) / 100
