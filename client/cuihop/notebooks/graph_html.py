"""Answers of a graph as HTML for notebooks: a path as a picture (SVG), the others as tables."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from cuihop.files.text_lines import counted
from cuihop.identifiers import codes_among
from cuihop.notebooks.table import Table
from cuihop.resources.arrays import Bool, Int32

_DIRECTIONS = {"any": "in both directions", "up": "upwards", "down": "downwards", "vertical": "all up or all down"}
_MOST_SHOWN = 20  # concepts at one distance, synonyms of one concept
_LETTERS = 26  # next to an arrow
_HOP = 0.6  # boxes to the right; the concepts of two hops lie on two levels, so that they may overlap sideways


def path_html(
    cuis: Sequence[str],
    upwards: Sequence[bool],
    sabs: Sequence[Sequence[str]],
    direction: str,
    merged: Mapping[str, str],
) -> str:
    """The path: broader concepts higher, next to each arrow the source vocabularies that assert it.

    ``upwards`` is true for each hop to a parent; ``sabs`` are its vocabularies; the rest is as in `cuihop.graph.Path`.
    """
    title = f"{counted(len(upwards), 'hop')} from {cuis[0]} to {cuis[-1]}, {_DIRECTIONS[direction]}"
    edges = path_edges(cuis, upwards)
    labels = {
        edge: textwrap.shorten(", ".join(vocabularies), _LETTERS, placeholder=" …")
        for edge, vocabularies in zip(edges, sabs, strict=True)
    }
    svg = boxes_svg(title, path_grid(cuis, upwards), edges, centres=(cuis[0], cuis[-1]), labels=labels)
    return f'<div style="overflow-x:auto">{svg}</div>{_merged(merged)}'


def path_grid(cuis: Sequence[str], upwards: Sequence[bool]) -> dict[str, tuple[float, float]]:
    """Concept → column and level: each hop a little to the right, up to a parent, down to a child."""
    centres, level = {cuis[0]: (0.0, 0.0)}, 0.0
    for number, (cui, up) in enumerate(zip(cuis[1:], upwards, strict=True), start=1):
        level += 1 if up else -1
        centres[cui] = (number * _HOP, level)
    return centres


def path_edges(cuis: Sequence[str], upwards: Sequence[bool]) -> list[tuple[str, str]]:
    """The edge of each hop: (child, parent)."""
    hops = zip(cuis, cuis[1:], upwards, strict=False)
    return [(before, after) if up else (after, before) for before, after, up in hops]


def neighbourhood_html(
    cui: str,
    neighbours: Sequence[tuple[int, str]],
    total: int,
    hops: int | None,
    direction: str,
    merged: Mapping[str, str],
) -> str:
    """The number of concepts at each distance, and the first of them; ``neighbours`` are hops and concept."""
    bound = "" if hops is None else f" within {counted(hops, 'hop')}"
    listed = f"; the nearest {len(neighbours):,} are listed" if total > len(neighbours) else ""
    title = f"{counted(total, 'concept')}{bound} of {cui}, {_DIRECTIONS[direction]}{listed}"
    at: dict[int, list[str]] = {}
    for distance, neighbour in neighbours:
        at.setdefault(distance, []).append(neighbour)
    rows = [(str(distance), f"{len(cuis):,}", _first(cuis)) for distance, cuis in at.items()]
    table = Table(("hops", "concepts", ""), rows).html() if rows else ""
    return f"<p>{escape(title)}</p>{table}{_merged(merged)}"


def concept_html(
    cui: str,
    name: str | None,
    semantic_types: Sequence[tuple[str, str]],
    synonyms: Sequence[str],
    parents: int,
    children: int,
) -> str:
    """The concept's card; the arguments as in `cuihop.graph.Concept`."""
    rows = [
        ("concept", f"{cui} {name or '(no name)'}"),
        ("semantic types", ", ".join(f"{type_name} ({tui})" for tui, type_name in semantic_types)),
        ("synonyms", _first(synonyms)),
        ("parents, children", f"{parents:,}, {children:,}"),
    ]
    return Table((), [row for row in rows if row[1]]).html()


def distances_html(hops: Int32, reached: Bool, direction: str, max_hops: int | None, merged: Mapping[str, str]) -> str:
    """The number of pairs at each distance; the arguments as in `cuihop.graph.Distances`."""
    bound = "" if max_hops is None else f", at most {counted(max_hops, 'hop')}"
    title = f"Distances of {counted(len(hops), 'pair')}, {_DIRECTIONS[direction]}{bound}"
    counts = Counter(hops[reached].tolist())
    rows = [(str(distance), f"{count:,}") for distance, count in sorted(counts.items())]
    if without := int((~reached).sum()):
        rows.append(("no path", f"{without:,}"))
    table = Table(("hops", "pairs"), rows).html() if rows else ""
    return f"<p>{escape(title)}</p>{table}{_merged(merged)}"


def _first(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_SHOWN
    return ", ".join(texts[:_MOST_SHOWN]) + (f" … and {more:,} more" if more > 0 else "")


def _merged(merged: Mapping[str, str]) -> str:
    codes = codes_among(merged)
    why = {requested: "" if requested in codes else "is retired: " for requested in merged}
    notes = ", ".join(f"{requested} {why[requested]}taken for {cui}" for requested, cui in merged.items())
    return f"<p>{escape(notes)}</p>" if notes else ""


LETTERS, LINES = 24, 2
"""Limits of a name in a box: letters of a line, and lines."""

_WIDTH, _HEIGHT = 150, 50  # of a box, in pixels
_RIGHT, _UP = 190, 96  # from box to box
_EDGE, _TITLE, _HEAD = 12, 24, 7
_STYLE = "font-family:system-ui,'DejaVu Sans',Arial,sans-serif;max-width:none"
_BOX, _CENTRE, _LINE, _TEXT, _FAINT = "#f2f4f7", "#cfe3f5", "#47566b", "#16202c", "#4a5665"


def boxes_svg(
    title: str,
    grid: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    *,
    names: Mapping[str, str | None] | None = None,
    centres: Sequence[str] = (),
    labels: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """A picture on a white ground, legible on a dark page too. All texts are escaped.

    Args:
        title: text above, and description for screen readers.
        grid: concept → column and level, in boxes; a broader concept's level is higher.
        edges: (child, parent); the arrow points to the parent. labels: edge → text next to its arrow.
        names: concept → its preferred name; without them a box holds only the identifier.
        centres: concepts in a highlight colour.
    """
    columns, levels = zip(*grid.values(), strict=True)
    left, top = min(columns), max(levels)
    at = {
        cui: (_EDGE + _WIDTH / 2 + (column - left) * _RIGHT, _TITLE + _EDGE + _HEIGHT / 2 + (top - level) * _UP)
        for cui, (column, level) in grid.items()
    }
    width = max((max(columns) - left) * _RIGHT + _WIDTH, 7.5 * len(title)) + 2 * _EDGE
    height = (top - min(levels)) * _UP + _HEIGHT + 2 * _EDGE + _TITLE
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}" style="{_STYLE}">',
        '<rect width="100%" height="100%" rx="6" fill="#fff"/>',
        _text(_EDGE, _TITLE - 5, title, 'font-size="12" font-weight="600"'),
    ]
    for edge in edges:
        elements += _arrow(at[edge[0]], at[edge[1]], (labels or {}).get(edge, ""))
    for cui, centre_of_box in at.items():
        elements += _box(centre_of_box, cui, None if names is None else names.get(cui) or "(no name)", cui in centres)
    return "".join([*elements, "</svg>"])


def _box(middle: tuple[float, float], cui: str, name: str | None, centre: bool) -> Iterator[str]:
    x, y = middle
    yield f"<g><title>{escape(cui if name is None else f'{cui} {name}')}</title>"
    yield (
        f'<rect x="{x - _WIDTH / 2:.0f}" y="{y - _HEIGHT / 2:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'fill="{_CENTRE if centre else _BOX}" stroke="{_LINE}" stroke-width="{1.6 if centre else 0.8}"/>'
    )
    lines = [] if name is None else textwrap.wrap(name, LETTERS, max_lines=LINES, placeholder=" …")
    first = y + 4 - 6.5 * len(lines)
    for number, line in enumerate(lines):
        yield _text(x, first + 13 * number, line, 'font-size="11" text-anchor="middle"')
    size = 'font-size="12" font-weight="600"' if name is None else f'font-size="10" fill="{_FAINT}"'
    yield _text(x, first + 13 * len(lines), cui, f'{size} text-anchor="middle"')
    yield "</g>"


def _arrow(child: tuple[float, float], parent: tuple[float, float], label: str) -> Iterator[str]:
    (x, y), (to_x, to_y) = (child[0], child[1] - _HEIGHT / 2), (parent[0], parent[1] + _HEIGHT / 2)
    length = math.hypot(to_x - x, to_y - y) or 1.0
    along, across = (to_x - x) / length, (to_y - y) / length
    base_x, base_y = to_x - _HEAD * along, to_y - _HEAD * across
    yield f'<path d="M{x:.1f} {y:.1f}L{base_x:.1f} {base_y:.1f}" stroke="{_LINE}"/>'
    sides = [(base_x - s * 3.5 * across, base_y + s * 3.5 * along) for s in (1, -1)]
    yield f'<path d="M{to_x:.1f} {to_y:.1f}' + "".join(f"L{a:.1f} {b:.1f}" for a, b in sides) + f'Z" fill="{_LINE}"/>'
    if label:
        halo = 'stroke="#fff" stroke-width="4" paint-order="stroke"'
        style = f'font-size="10" fill="{_FAINT}" text-anchor="middle" {halo}'
        yield _text((x + to_x) / 2, (y + to_y) / 2 + 3, label, style)


def _text(x: float, y: float, text: str, style: str) -> str:
    fill = "" if "fill=" in style else f' fill="{_TEXT}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{fill} {style}>{escape(text)}</text>'
