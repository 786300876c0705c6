"""``cuihop search`` and ``cuihop concept``: find a concept by name, and what the graph knows of it."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from cuihop.cli.graph_option import GraphOption, opened_graph, release_json, tell_merged
from cuihop.cli.output import JsonOption, console, note, print_json, table

__all__ = ["concept", "search"]


def search(
    text: Annotated[str, typer.Argument(help="Words of a name, or an identifier.", show_default=False)],
    graph: GraphOption,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many concepts.")] = 10,
    json: JsonOption = False,
) -> None:
    """Find concepts by name or synonym."""
    with opened_graph(graph) as opened:
        hits = opened.search(text, limit=limit)
        if json:
            print_json({"release": release_json(opened), "hits": [dataclasses.asdict(hit) for hit in hits]})
            return
    if not hits:
        note(f"no concept has a name with the words {text!r}; fewer words, or their beginnings, find more")
        return
    found = table("concept", "name", "matched")
    for hit in hits:
        found.add_row(hit.cui, hit.name or "(no name)", "" if hit.matched == hit.name else hit.matched)
    console().print(found)


def concept(
    cui: Annotated[str, typer.Argument(help="An identifier.", show_default=False)],
    graph: GraphOption,
    json: JsonOption = False,
) -> None:
    """Say what the graph knows of a concept."""
    with opened_graph(graph) as opened:
        known = opened.concepts([cui])[0]
        parents = opened.ancestors(cui, hops=1)
        children = opened.descendants(cui, hops=1, limit=20)
        if json:
            print_json(
                {
                    "release": release_json(opened),
                    "concept": dataclasses.asdict(known),
                    "merged": dict(parents.merged),
                    "parents": [n.cui for n in parents],
                }
            )
            return
        tell_merged(parents.merged)
        rows = table("", "")
        rows.show_header = False
        rows.add_row("concept", known.cui)
        rows.add_row("name", known.name or "(no name)")
        rows.add_row("synonyms", "\n".join(known.synonyms) or "none")
        rows.add_row(
            "semantic types", "\n".join(f"{code} {name}" for code, name in known.semantic_types) or "none told"
        )
        rows.add_row("vocabularies", ", ".join(known.sabs) or "none told")
        if known.definitions:
            rows.add_row("definitions", "\n".join(f"{told.text} ({told.sab})" for told in known.definitions))
        for title, hood in (("parents", parents), ("children", children)):
            names = opened.names([n.cui for n in hood])
            told = [f"{n.cui} {name or '(no name)'}" for n, name in zip(hood, names, strict=True)]
            if hood.truncated:
                told.append(f"… and {hood.total - len(hood):,} more")
            rows.add_row(title, "\n".join(told) or "none")
    console().print(rows)
