"""``cuihop path``, ``neighbours``, ``ancestors``, ``descendants``, ``common-ancestors``: the graph around a concept."""

from __future__ import annotations

from typing import Annotated

import typer

from cuihop.answer_fields import (
    common_ancestors_fields,
    neighbourhood_fields,
    path_fields,
    with_release,
)
from cuihop.cli.graph_option import (
    DirectionOption,
    GraphOption,
    MaxHopsOption,
    note_merged,
    opened_graph,
)
from cuihop.cli.output import JsonOption, console, direction_text, hops_text, note, print_json, print_table
from cuihop.cli.tree import TreeOption, neighbourhood_tree, path_tree
from cuihop.files.text_lines import counted
from cuihop.graph import Direction, Neighbourhood

__all__ = ["ancestors", "common_ancestors", "descendants", "neighbours", "path"]

CuiArgument = Annotated[str, typer.Argument(help="Identifier of a concept.", show_default=False)]
LimitOption = Annotated[
    int, typer.Option("--limit", min=0, help="Concepts to list at most; the total is always given.")
]
BoundOption = Annotated[
    int | None, typer.Option("--hops", min=0, help="Bound in hops; no bound by default.", show_default=False)
]


def path(
    a: CuiArgument,
    b: CuiArgument,
    graph: GraphOption,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """Show a shortest path; of several, the first in the order of identifiers."""
    with opened_graph(graph) as opened:
        found = opened.path(a, b, direction=direction, max_hops=max_hops)
        cuis = () if found is None else found.cuis
        names = opened.names(cuis)
        if json:
            fields = path_fields(found, names, a, b, direction, max_hops)
            print_json(with_release(opened.release, fields, None if found is None else found.merged))
            return
    screen = console()
    if found is None:
        screen.print(f"{hops_text(None, max_hops)} from {a} to {b} ({direction_text(direction)})")
        return
    note_merged(found.merged)
    screen.print(f"{hops_text(found.hops)} ({direction_text(direction)})")
    if tree:
        screen.print(path_tree(found, names))
        return
    signs = {"parent": "↑ parent", "child": "↓ child"}
    rows = [("", found.start, names[0] or "(no name)", "")]
    rows += [
        (signs[step.relation], step.cui, name or "(no name)", ", ".join(step.sabs))
        for step, name in zip(found.steps, names[1:], strict=True)
    ]
    print_table(("", "concept", "name", "asserted by"), rows)


def neighbours(
    cui: CuiArgument,
    graph: GraphOption,
    hops: Annotated[int, typer.Option("--hops", min=0, help="Bound in hops.")] = 1,
    direction: DirectionOption = "any",
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the neighbourhood of a concept: the concepts within --hops, nearest first."""
    _show_neighbourhood(cui, graph, hops, direction, limit, tree, json)


def ancestors(
    cui: CuiArgument,
    graph: GraphOption,
    hops: BoundOption = None,
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the ancestors of a concept, nearest first."""
    _show_neighbourhood(cui, graph, hops, "up", limit, tree, json)


def descendants(
    cui: CuiArgument,
    graph: GraphOption,
    hops: BoundOption = None,
    limit: LimitOption = 100,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """List the descendants of a concept, nearest first."""
    _show_neighbourhood(cui, graph, hops, "down", limit, tree, json)


def _show_neighbourhood(
    cui: str, graph: str, hops: int | None, direction: Direction, limit: int, tree: bool, json: bool
) -> None:
    with opened_graph(graph) as opened:
        hood: Neighbourhood = opened.neighbours([cui], hops=hops, direction=direction, limit=limit)[0]
        names = opened.names([n.cui for n in hood])
        if json:
            fields = {**neighbourhood_fields(hood), "hops": hops, "direction": direction}
            for row, name in zip(fields["neighbours"], names, strict=True):
                row["name"] = name
            print_json(with_release(opened.release, fields, hood.merged))
            return
        drawn = neighbourhood_tree(opened, hood, names) if tree else None
    note_merged(hood.merged)
    where = {"any": "around", "up": "above", "down": "below"}[direction]
    bound = "" if hops is None else f", within {counted(hops, 'hop')}"
    console().print(f"{counted(hood.total, 'concept')} {where} {hood.cui}{bound}")
    if drawn is not None:
        console().print(drawn)
    elif hood.neighbours:
        rows = ((str(each.hops), each.cui, name or "(no name)") for each, name in zip(hood, names, strict=True))
        print_table(("hops", "concept", "name"), rows)
    if hood.truncated:
        note(f"the nearest {len(hood):,} of {hood.total:,} are listed; --limit lists more")


def common_ancestors(
    a: CuiArgument, b: CuiArgument, graph: GraphOption, limit: LimitOption = 20, json: JsonOption = False
) -> None:
    """List the common ancestors of two concepts, nearest first."""
    with opened_graph(graph) as opened:
        shared = opened.common_ancestors(a, b)
        names = opened.names([ancestor.cui for ancestor in shared[:limit]])
        merged = {r.asked: r.cui for r in opened.resolve([a, b]) if r.status == "merged" and r.cui}
        if json:
            print_json(with_release(opened.release, common_ancestors_fields(shared, names, a, b, limit), merged))
            return
        note_merged(merged)
    console().print(f"{counted(len(shared), 'concept')} above both {a} and {b}")
    if shared:
        rows = (
            (str(ancestor.hops_a), str(ancestor.hops_b), ancestor.cui, name or "(no name)")
            for ancestor, name in zip(shared, names, strict=False)
        )
        print_table(("hops from a", "hops from b", "concept", "name"), rows)
    if len(shared) > limit:
        note(f"the nearest {limit:,} of {len(shared):,} are listed; --limit lists more")
