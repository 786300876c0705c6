"""Answers of a graph as HTML for notebooks: a path as a picture, the others as tables."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from cuihop.files.text_lines import counted
from cuihop.notebooks.box_svg import boxes_svg
from cuihop.notebooks.table import Table

__all__ = ["concept_html", "distances_html", "neighbourhood_html", "path_edges", "path_html", "path_places"]

_DIRECTIONS = {"any": "either way", "up": "upwards", "down": "downwards"}
_MOST_SHOWN = 20  # concepts at one distance, synonyms of one concept
_LETTERS = 26  # beside an arrow
_HOP = 0.6  # boxes to the right; the concepts of two hops lie on two levels, so that they may overlap sideways


def path_html(
    cuis: Sequence[str],
    upwards: Sequence[bool],
    sabs: Sequence[Sequence[str]],
    direction: str,
    merged: Mapping[str, str],
) -> str:
    """The path: broader concepts higher, beside each arrow the source vocabularies that assert it.

    Args:
        cuis: the concepts, both ends included. upwards: for each hop, true where it goes to a parent.
        sabs: the vocabularies of each hop. direction, merged: as in `cuihop.graph.Path`.
    """
    title = f"{counted(len(upwards), 'hop')} from {cuis[0]} to {cuis[-1]}, {_DIRECTIONS[direction]}"
    edges = path_edges(cuis, upwards)
    beside = {
        edge: textwrap.shorten(", ".join(vocabularies), _LETTERS, placeholder=" …")
        for edge, vocabularies in zip(edges, sabs, strict=True)
    }
    svg = boxes_svg(title, path_places(cuis, upwards), edges, centres=(cuis[0], cuis[-1]), labels=beside)
    return f'<div style="overflow-x:auto">{svg}</div>{_merged(merged)}'


def path_places(cuis: Sequence[str], upwards: Sequence[bool]) -> dict[str, tuple[float, float]]:
    """Concept → column and level: each hop a little to the right, up to a parent, down to a child."""
    places, level = {cuis[0]: (0.0, 0.0)}, 0.0
    for number, (cui, up) in enumerate(zip(cuis[1:], upwards, strict=True), start=1):
        level += 1 if up else -1
        places[cui] = (number * _HOP, level)
    return places


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
    """The number of concepts at each distance, and the first of them.

    Args:
        neighbours: hops and concept, nearest first. cui, total, hops, direction, merged: as in
            `cuihop.graph.Neighbourhood`.
    """
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


def distances_html(
    hops: npt.NDArray[np.int32],
    reached: npt.NDArray[np.bool_],
    direction: str,
    max_hops: int | None,
    merged: Mapping[str, str],
) -> str:
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
    notes = ", ".join(f"{requested} is retired: taken for {cui}" for requested, cui in merged.items())
    return f"<p>{escape(notes)}</p>" if notes else ""
