"""``cuihop search`` and ``cuihop concept``: concepts by name, and the content of a concept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from cuihop.answer_fields import fields_of, search_fields, with_release
from cuihop.cli.graph_option import GraphOption, GraphOptions, note_merged, opened_graph
from cuihop.cli.output import JsonOption, note, print_json, print_table
from cuihop.graph import Concept
from cuihop.notebooks.table import Table

_OTHERWISE = {
    "form": "spelt otherwise, in another form, or written together or apart",
    "spelling": "no name has these words; shown are names with words spelt alike",
    "part": "no name has all of these words; shown are names with some of them",
}
"""Remark above hits whose best match is of this kind."""


def search(
    text: Annotated[str, typer.Argument(help="Words of a name, or an identifier.", show_default=False)],
    graph: GraphOption,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of concepts.")] = 10,
    json: JsonOption = False,
) -> None:
    """Find concepts by name or synonym."""
    with opened_graph(graph) as opened:
        hits = opened.search(text, limit=limit)
        if json:
            print_json(with_release(opened.release, search_fields(hits)))
            return
        names = [hit.name or "(no name)" for hit in hits]
        repeated = len(set(names)) < len(names)
        about = _about(names, opened.concepts([hit.cui for hit in hits])) if repeated else []
    if not hits:
        note(f"no concept has a name with the words {text!r}, or with words spelt alike; try other words")
        return
    if hits[0].kind in _OTHERWISE:
        note(f"{_OTHERWISE[hits[0].kind]}: {text!r}")
    columns = [[hit.cui for hit in hits], names, ["" if hit.matched == hit.name else hit.matched for hit in hits]]
    if repeated:
        columns.append(about)
    print_table(Table(("concept", "name", "matched", "about")[: len(columns)], list(zip(*columns, strict=True))))


def _about(names: Sequence[str], concepts: Sequence[Concept]) -> list[str]:
    """Texts that distinguish concepts of one name: semantic types or vocabularies; if these are alike, counts too."""
    texts = [", ".join(name for _, name in one.semantic_types) or ", ".join(one.sabs) for one in concepts]
    found = Counter(zip(names, texts, strict=True))
    return [
        text
        if found[name, text] == 1
        else f"{text}; parents: {one.parents}, children: {one.children}".removeprefix("; ")
        for name, text, one in zip(names, texts, concepts, strict=True)
    ]


def concept(
    cui: Annotated[str, typer.Argument(help="Identifier of a concept.", show_default=False)],
    graph: GraphOptions,
    json: JsonOption = False,
) -> None:
    """Show a concept: names, semantic types, vocabularies, definitions, parents and children."""
    with graph.opened() as opened:
        found = opened.concepts([cui])[0]
        parents = opened.ancestors(cui, hops=1)
        children = opened.descendants(cui, hops=1, limit=20)
        if json:
            fields = {**fields_of(found), "parent_cuis": [n.cui for n in parents]}
            print_json(with_release(opened.release, fields, parents.merged))
            return
        note_merged(parents.merged)
        rows = [
            ("concept", found.cui),
            ("name", found.name or "(no name)"),
            ("synonyms", "\n".join(found.synonyms) or "none"),
            ("semantic types", "\n".join(f"{code} {name}" for code, name in found.semantic_types) or "none given"),
            ("vocabularies", ", ".join(found.sabs) or "none given"),
        ]
        if found.definitions:
            rows.append(("definitions", "\n".join(f"{each.text} ({each.sab})" for each in found.definitions)))
        for title, hood in (("parents", parents), ("children", children)):
            names = opened.names([n.cui for n in hood])
            lines = [f"{n.cui} {name or '(no name)'}" for n, name in zip(hood, names, strict=True)]
            if hood.truncated:
                lines.append(f"… and {hood.total - len(hood):,} more")
            rows.append((title, "\n".join(lines) or "none"))
    print_table(Table((), rows))
