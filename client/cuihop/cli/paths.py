"""``cuihop path``, ``neighbours``, ``ancestors``, ``descendants``, ``common-ancestors``: the graph around a concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated

import typer

from cuihop.answer_fields import common_ancestors_fields, neighbourhood_fields, path_fields, with_release
from cuihop.cli.command_files import DICTIONARY
from cuihop.cli.evaluation_options import ColumnOptions
from cuihop.cli.graph_option import DirectionOption, GraphOptions, MaxHopsOption, note_merged
from cuihop.cli.output import JsonOption, console, hops_text, note, print_json, print_table
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import MOST_PATHS, ConceptGraph, Direction, Neighbourhood, Path, Step
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from rich.tree import Tree

CuiArgument = Annotated[str, typer.Argument(help="Identifier of a concept.", show_default=False)]
TreeOption = Annotated[bool, typer.Option("--tree", help="Draw a tree: ↑ leads to a parent, ↓ to a child.")]
BoundOption = Annotated[
    int | None, typer.Option("--hops", min=0, help="Bound in hops; no bound by default.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class _ListOptions:
    """Form of a list of concepts."""

    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Concepts to list at most; the total is always given.")
    ] = 100
    tree: TreeOption = False
    json: JsonOption = False


def path(
    a: CuiArgument,
    b: CuiArgument,
    graph: GraphOptions,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    which: Annotated[
        int, typer.Option("--which", min=1, help="Rank of the path among all shortest ones, by identifiers.")
    ] = 1,
    tree: TreeOption = False,
    json: JsonOption = False,
) -> None:
    """Show a shortest path, and the number of them; of several, the first in the order of identifiers."""
    with graph.opened() as opened:
        found = opened.path(a, b, direction=direction, max_hops=max_hops, which=which)
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
    screen.print(f"{hops_text(found.hops)} ({direction_text(direction)}){_rank_text(found)}")
    if tree:
        screen.print(_path_tree(found, names))
        return
    signs = {"parent": "↑ parent", "child": "↓ child"}
    rows = [("", found.start, names[0] or "(no name)", "")]
    rows += [
        (signs[step.relation], step.cui, name or "(no name)", ", ".join(step.sabs))
        for step, name in zip(found.steps, names[1:], strict=True)
    ]
    print_table(Table(("", "concept", "name", "asserted by"), rows))


def neighbours(
    cui: Annotated[str | None, typer.Argument(help="Identifier of a concept.", show_default=False)] = None,
    *,
    graph: GraphOptions,
    columns: ColumnOptions,
    listing: _ListOptions,
    concepts: Annotated[
        list[FilePath] | None,
        typer.Option(
            "--concepts", show_default=False,
            help="Instead of a concept: concepts of images, or a list of identifiers. May be repeated.",
        ),
    ] = None,
    output: Annotated[
        FilePath | None,
        typer.Option(
            "--output", "-o", show_default=False,
            help="With --concepts: file for the neighbour dictionary, which --graph takes in place of the graph.",
        ),
        DICTIONARY,
    ] = None,
    hops: Annotated[int, typer.Option("--hops", min=0, help="Bound in hops.")] = 1,
    direction: DirectionOption = "any",
) -> None:  # fmt: skip
    """List the concepts within --hops of a concept, or write those of all concepts of files as a neighbour dictionary.

    The list has the nearest first. The dictionary holds which concepts of the files lie within --hops of one another.
    """
    if concepts or output is not None:
        if cui is not None or not concepts or output is None:
            raise typer.BadParameter("give one concept, or --concepts FILE with --output FILE")
        from cuihop.cli.neighbour_dictionary import write_neighbour_dictionary

        write_neighbour_dictionary(concepts, columns.columns, graph, hops, direction, output, listing.json)
        return
    if cui is None:
        raise typer.BadParameter("give one concept, or --concepts FILE with --output FILE")
    _show_neighbourhood(cui, graph, hops, direction, listing)


def ancestors(
    cui: CuiArgument,
    graph: GraphOptions,
    listing: _ListOptions,
    hops: BoundOption = None,
) -> None:
    """List the ancestors of a concept, nearest first."""
    _show_neighbourhood(cui, graph, hops, "up", listing)


def descendants(
    cui: CuiArgument,
    graph: GraphOptions,
    listing: _ListOptions,
    hops: BoundOption = None,
) -> None:
    """List the descendants of a concept, nearest first."""
    _show_neighbourhood(cui, graph, hops, "down", listing)


def _show_neighbourhood(
    cui: str, graph: GraphOptions, hops: int | None, direction: Direction, listing: _ListOptions
) -> None:
    with graph.opened() as opened:
        hood: Neighbourhood = opened.neighbours([cui], hops=hops, direction=direction, limit=listing.limit)[0]
        names = opened.names([n.cui for n in hood])
        if listing.json:
            fields = {**neighbourhood_fields(hood), "hops": hops, "direction": direction}
            for row, name in zip(fields["neighbours"], names, strict=True):
                row["name"] = name
            print_json(with_release(opened.release, fields, hood.merged))
            return
        drawn = _neighbourhood_tree(opened, hood, names) if listing.tree else None
    note_merged(hood.merged)
    where = {"any": "around", "up": "above", "down": "below", "vertical": "above or below"}[direction]
    bound = "" if hops is None else f", within {counted(hops, 'hop')}"
    console().print(f"{counted(hood.total, 'concept')} {where} {hood.cui}{bound}")
    if drawn is not None:
        console().print(drawn)
    elif hood.neighbours:
        rows = [(str(each.hops), each.cui, name or "(no name)") for each, name in zip(hood, names, strict=True)]
        print_table(Table(("hops", "concept", "name"), rows))
    if hood.truncated:
        note(f"the nearest {len(hood):,} of {hood.total:,} are listed; --limit lists more")


def common_ancestors(
    a: CuiArgument,
    b: CuiArgument,
    graph: GraphOptions,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Concepts to list at most; the total is always given.")
    ] = 20,
    json: JsonOption = False,
) -> None:
    """List the common ancestors of two concepts, nearest first."""
    with graph.opened() as opened:
        shared = opened.common_ancestors(a, b)
        names = opened.names([ancestor.cui for ancestor in shared[:limit]])
        merged = {r.requested: r.cui for r in opened.resolve([a, b]) if r.status == "merged" and r.cui}
        if json:
            print_json(with_release(opened.release, common_ancestors_fields(shared, names, a, b, limit), merged))
            return
        note_merged(merged)
    console().print(f"{counted(len(shared), 'concept')} above both {a} and {b}")
    if shared:
        rows = [
            (str(ancestor.hops_a), str(ancestor.hops_b), ancestor.cui, name or "(no name)")
            for ancestor, name in zip(shared, names, strict=False)
        ]
        print_table(Table(("hops from a", "hops from b", "concept", "name"), rows))
    if len(shared) > limit:
        note(f"the nearest {limit:,} of {len(shared):,} are listed; --limit lists more")


def _rank_text(path: Path) -> str:
    """The rank of a path where there are several."""
    if path.total == 1:
        return ""
    return f", {path.which:,} of {'at least ' if path.total == MOST_PATHS else ''}{path.total:,} shortest paths"


def _tree(text: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    return Tree(Text(text))


def _line(cui: str, name: str | None, step: Step | None = None) -> str:
    sign = "" if step is None else ("↑ " if step.relation == "parent" else "↓ ")
    sabs = "" if step is None or not step.sabs else f"  ({', '.join(step.sabs)})"
    return f"{sign}{cui} {name or '(no name)'}{sabs}"


def _path_tree(path: Path, names: Sequence[str | None]) -> Tree:
    """A path, each hop indented by one step more.

    Args:
        path: the path.
        names: names of its concepts, in their order.
    """
    root = here = _tree(_line(path.start, names[0]))
    for step, name in zip(path.steps, names[1:], strict=True):
        here = here.add(_tree(_line(step.cui, name, step)))
    return root


def _neighbourhood_tree(graph: ConceptGraph, hood: Neighbourhood, names: Sequence[str | None]) -> Tree:
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
