"""``cuihop path``, ``neighbours``, ``ancestors``, ``descendants``, ``common-ancestors``: the graph around a concept."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from cuihop.cli.graph_option import (
    DirectionOption,
    GraphOption,
    MaxHopsOption,
    opened_graph,
    release_json,
    tell_merged,
)
from cuihop.cli.output import JsonOption, console, direction_told, hops_told, note, print_json, table
from cuihop.cli.tree import TreeOption, neighbourhood_tree, path_tree
from cuihop.files.text_lines import counted
from cuihop.graph import Direction, Neighbourhood

__all__ = ["ancestors", "common_ancestors", "descendants", "neighbours", "path"]

CuiArgument = Annotated[str, typer.Argument(help="An identifier.", show_default=False)]
LimitOption = Annotated[int, typer.Option("--limit", min=0, help="List at most so many; the total is always told.")]
BoundOption = Annotated[int | None, typer.Option("--hops", min=0, help="Only within so many hops.", show_default=False)]


def path(
    a: CuiArgument,
    b: CuiArgument,
    graph: GraphOption,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """Show one shortest path; of several, always the same one."""
    with opened_graph(graph) as opened:
        found = opened.path(a, b, direction=direction, max_hops=max_hops)
        cuis = () if found is None else found.cuis
        names = opened.names(cuis)
        if json:
            print_json(
                {
                    "release": release_json(opened),
                    "a": a,
                    "b": b,
                    "direction": direction,
                    "max_hops": max_hops,
                    "hops": None if found is None else found.hops,
                    "path": None
                    if found is None
                    else [
                        {"cui": found.start, "name": names[0]},
                        *(
                            {**dataclasses.asdict(step), "name": name}
                            for step, name in zip(found.steps, names[1:], strict=True)
                        ),
                    ],
                    "merged": {} if found is None else dict(found.merged),
                }
            )
            return
    screen = console()
    if found is None:
        screen.print(f"{hops_told(None, max_hops)} from {a} to {b} ({direction_told(direction)})")
        return
    tell_merged(found.merged)
    screen.print(f"{hops_told(found.hops)} ({direction_told(direction)})")
    if tree:
        screen.print(path_tree(found, names))
        return
    rows = table("", "concept", "name", "told by")
    rows.add_row("", found.start, names[0] or "(no name)", "")
    for step, name in zip(found.steps, names[1:], strict=True):
        sign = "↑ parent" if step.relation == "parent" else "↓ child"
        rows.add_row(sign, step.cui, name or "(no name)", ", ".join(step.sabs))
    screen.print(rows)


def neighbours(
    cui: CuiArgument,
    graph: GraphOption,
    hops: Annotated[int, typer.Option("--hops", min=0, help="How far.")] = 1,
    direction: DirectionOption = "any",
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the concepts within some hops, nearest first."""
    _show_neighbourhood(cui, graph, hops, direction, limit, tree, json)


def ancestors(
    cui: CuiArgument,
    graph: GraphOption,
    hops: BoundOption = None,
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the concepts above, nearest first."""
    _show_neighbourhood(cui, graph, hops, "up", limit, tree, json)


def descendants(
    cui: CuiArgument,
    graph: GraphOption,
    hops: BoundOption = None,
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the concepts below, nearest first."""
    _show_neighbourhood(cui, graph, hops, "down", limit, tree, json)


def _show_neighbourhood(
    cui: str, graph: str, hops: int | None, direction: Direction, limit: int, tree: bool, json: bool
) -> None:
    with opened_graph(graph) as opened:
        hood: Neighbourhood = opened.neighbours([cui], hops=hops, direction=direction, limit=limit)[0]
        names = opened.names([n.cui for n in hood])
        if json:
            print_json(
                {
                    "release": release_json(opened),
                    "cui": hood.cui,
                    "direction": direction,
                    "hops": hops,
                    "total": hood.total,
                    "neighbours": [
                        {**dataclasses.asdict(n), "name": name} for n, name in zip(hood, names, strict=True)
                    ],
                    "merged": dict(hood.merged),
                }
            )
            return
        drawn = neighbourhood_tree(opened, hood, names) if tree else None
    tell_merged(hood.merged)
    where = {"any": "around", "up": "above", "down": "below"}[direction]
    bound = "" if hops is None else f", within {counted(hops, 'hop')}"
    console().print(f"{counted(hood.total, 'concept')} {where} {hood.cui}{bound}")
    if drawn is not None:
        console().print(drawn)
    elif hood.neighbours:
        rows = table("hops", "concept", "name")
        for neighbour, name in zip(hood, names, strict=True):
            rows.add_row(str(neighbour.hops), neighbour.cui, name or "(no name)")
        console().print(rows)
    if hood.truncated:
        note(f"the nearest {len(hood):,} of {hood.total:,} are listed; --limit lists more")


def common_ancestors(
    a: CuiArgument, b: CuiArgument, graph: GraphOption, limit: LimitOption = 20, json: JsonOption = False
) -> None:
    """List the concepts above both, nearest first."""
    with opened_graph(graph) as opened:
        shared = opened.common_ancestors(a, b)
        names = opened.names([ancestor.cui for ancestor in shared[:limit]])
        if json:
            print_json(
                {
                    "release": release_json(opened),
                    "a": a,
                    "b": b,
                    "total": len(shared),
                    "common_ancestors": [
                        {**dataclasses.asdict(c), "name": name} for c, name in zip(shared[:limit], names, strict=True)
                    ],
                }
            )
            return
        tell_merged({r.requested: r.cui for r in opened.resolve([a, b]) if r.status == "merged" and r.cui})
    console().print(f"{counted(len(shared), 'concept')} above both {a} and {b}")
    if shared:
        rows = table("hops from a", "hops from b", "concept", "name")
        for ancestor, name in zip(shared, names, strict=False):
            rows.add_row(str(ancestor.hops_a), str(ancestor.hops_b), ancestor.cui, name or "(no name)")
        console().print(rows)
    if len(shared) > limit:
        note(f"the nearest {limit:,} of {len(shared):,} are listed; --limit lists more")
