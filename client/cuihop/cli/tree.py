"""Paths and neighbourhoods drawn as trees, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cuihop.graph import ConceptGraph, Neighbourhood, Path, Step

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["TreeOption", "neighbourhood_tree", "path_tree"]

TreeOption = Annotated[bool, typer.Option("--tree", help="Draw a tree: ↑ leads to a parent, ↓ to a child.")]


def _tree(text: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    return Tree(Text(text))


def _line(cui: str, name: str | None, step: Step | None = None) -> str:
    sign = "" if step is None else ("↑ " if step.relation == "parent" else "↓ ")
    sabs = "" if step is None or not step.sabs else f"  ({', '.join(step.sabs)})"
    return f"{sign}{cui} {name or '(no name)'}{sabs}"


def path_tree(path: Path, names: Sequence[str | None]) -> Tree:
    """A path, each hop indented by one step more.

    Args:
        path: the path.
        names: names of its concepts, in their order.
    """
    root = here = _tree(_line(path.start, names[0]))
    for step, name in zip(path.steps, names[1:], strict=True):
        here = here.add(_tree(_line(step.cui, name, step)))
    return root


def neighbourhood_tree(graph: ConceptGraph, hood: Neighbourhood, names: Sequence[str | None]) -> Tree:
    """A neighbourhood, each concept under its predecessor on `ConceptGraph.path` from the centre.

    The beginning of such a path is itself such a path, so all of them together are a tree.

    Args:
        graph: gives one path to each neighbour.
        hood: the neighbourhood, nearest first.
        names: names of its concepts, in their order.
    """
    root = _tree(_line(hood.cui, graph.names([hood.cui])[0]))
    branches = {hood.cui: root}
    for neighbour, name in zip(hood, names, strict=True):
        path = graph.path(hood.cui, neighbour.cui, direction=hood.direction)
        if path is not None:
            branch = branches[path.cuis[-2]].add(_tree(_line(neighbour.cui, name, path.steps[-1])))
            branches[neighbour.cui] = branch
    return root
