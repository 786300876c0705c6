"""A path or a neighbourhood drawn with lines, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cuihop.graph import ConceptGraph, Neighbourhood, Path, Step

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["TreeOption", "neighbourhood_tree", "path_tree"]

TreeOption = Annotated[bool, typer.Option("--tree", help="Draw it with lines: ↑ leads to a parent, ↓ to a child.")]


def _tree(text: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    return Tree(Text(text))


def _told(cui: str, name: str | None, step: Step | None = None) -> str:
    sign = "" if step is None else ("↑ " if step.relation == "parent" else "↓ ")
    sabs = "" if step is None or not step.sabs else f"  ({', '.join(step.sabs)})"
    return f"{sign}{cui} {name or '(no name)'}{sabs}"


def path_tree(path: Path, names: Sequence[str | None]) -> Tree:
    """A path, each hop one step further in.

    Args:
        path: the path.
        names: of its concepts, in their order.
    """
    drawn = _tree(_told(path.start, names[0]))
    here = drawn
    for step, name in zip(path.steps, names[1:], strict=True):
        here = here.add(_tree(_told(step.cui, name, step)))
    return drawn


def neighbourhood_tree(graph: ConceptGraph, hood: Neighbourhood, names: Sequence[str | None]) -> Tree:
    """A neighbourhood, each concept under the one before it on `ConceptGraph.path` from the centre.

    The beginning of such a path is itself the path to where it ends, so all of them together are a tree.

    Args:
        graph: asked for one path to each neighbour.
        hood: the neighbourhood, nearest first.
        names: of its concepts, in their order.
    """
    drawn = _tree(_told(hood.cui, graph.names([hood.cui])[0]))
    branches = {hood.cui: drawn}
    for neighbour, name in zip(hood, names, strict=True):
        path = graph.path(hood.cui, neighbour.cui, direction=hood.direction)
        if path is not None:
            branch = branches[path.cuis[-2]].add(_tree(_told(neighbour.cui, name, path.steps[-1])))
            branches[neighbour.cui] = branch
    return drawn
