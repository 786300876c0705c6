"""What a notebook shows of a graph's answers: a path as a picture, the others as tables."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from cuihop.box_svg import boxes_svg
from cuihop.html_table import html_table

if TYPE_CHECKING:
    from cuihop.graph import Concept, Distances, Neighbourhood, Path

__all__ = ["concept_html", "distances_html", "neighbourhood_html", "path_edges", "path_html", "path_places"]

_WAYS = {"any": "either way", "up": "upwards", "down": "downwards"}
_MOST_SHOWN = 20  # concepts at one distance, synonyms of one concept
_LETTERS = 26  # beside an arrow
_HOP = 0.6  # boxes to the right; the concepts of two hops lie on two levels, so that they may overlap sideways


def path_html(path: Path) -> str:
    """The path: broader concepts higher, beside each arrow the source vocabularies that assert it."""
    title = f"{_count(path.hops, 'hop')} from {path.start} to {path.cuis[-1]}, {_WAYS[path.direction]}"
    edges = path_edges(path)
    told = {
        edge: textwrap.shorten(", ".join(step.sabs), _LETTERS, placeholder=" …")
        for edge, step in zip(edges, path.steps, strict=True)
    }
    svg = boxes_svg(title, path_places(path), edges, centres=(path.cuis[0], path.cuis[-1]), told=told)
    return f'<div style="overflow-x:auto">{svg}</div>{_merged(path.merged)}'


def path_places(path: Path) -> dict[str, tuple[float, float]]:
    """Concept → column and level: each hop a little to the right, up to a parent, down to a child."""
    places, level = {path.start: (0.0, 0.0)}, 0.0
    for number, step in enumerate(path.steps, start=1):
        level += 1 if step.relation == "parent" else -1
        places[step.cui] = (number * _HOP, level)
    return places


def path_edges(path: Path) -> list[tuple[str, str]]:
    """The edge of each hop: (child, parent)."""
    return [
        (before, step.cui) if step.relation == "parent" else (step.cui, before)
        for before, step in zip(path.cuis, path.steps, strict=False)
    ]


def neighbourhood_html(hood: Neighbourhood) -> str:
    """How many concepts lie at each distance, and the first of them."""
    bound = "" if hood.hops is None else f" within {_count(hood.hops, 'hop')}"
    shown = f"; the nearest {len(hood):,} are held" if hood.truncated else ""
    told = f"{_count(hood.total, 'concept')}{bound} of {hood.cui}, {_WAYS[hood.direction]}{shown}"
    at: dict[int, list[str]] = {}
    for neighbour in hood:
        at.setdefault(neighbour.hops, []).append(neighbour.cui)
    rows = [(str(hops), f"{len(cuis):,}", _first(cuis)) for hops, cuis in at.items()]
    table = html_table(("hops", "concepts", ""), rows) if rows else ""
    return f"<p>{escape(told)}</p>{table}{_merged(hood.merged)}"


def concept_html(concept: Concept) -> str:
    """The concept's card."""
    rows = [
        ("concept", f"{concept.cui} {concept.name or '(no name)'}"),
        ("semantic types", ", ".join(f"{name} ({tui})" for tui, name in concept.semantic_types)),
        ("synonyms", _first(concept.synonyms)),
        ("parents, children", f"{concept.parents:,}, {concept.children:,}"),
    ]
    return html_table((), [row for row in rows if row[1]])


def distances_html(distances: Distances) -> str:
    """How many pairs lie at each distance."""
    bound = "" if distances.max_hops is None else f", at most {_count(distances.max_hops, 'hop')}"
    told = f"Distances of {_count(len(distances), 'pair')}, {_WAYS[distances.direction]}{bound}"
    counts = Counter(distances.hops[distances.reached].tolist())
    rows = [(str(hops), f"{count:,}") for hops, count in sorted(counts.items())]
    if without := int((~distances.reached).sum()):
        rows.append(("no path", f"{without:,}"))
    table = html_table(("hops", "pairs"), rows) if rows else ""
    return f"<p>{escape(told)}</p>{table}{_merged(distances.merged)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _first(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_SHOWN
    return ", ".join(texts[:_MOST_SHOWN]) + (f" … and {more:,} more" if more > 0 else "")


def _merged(merged: Mapping[str, str]) -> str:
    told = ", ".join(f"{asked} is retired: taken for {cui}" for asked, cui in merged.items())
    return f"<p>{escape(told)}</p>" if told else ""
