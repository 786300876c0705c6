"""``cuihop search`` and ``concept``: concepts by name, their content, and the names of those of a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer

from cuihop.answer_fields import fields_of
from cuihop.cli.command_files import CSV
from cuihop.cli.graph_option import (
    AddressOptions,
    NamesOptions,
    OptionalGraphOptions,
    ShownCodesOptions,
    code_text,
    note_merged,
    opened_graph,
    printed_as_json,
    read_identifiers,
)
from cuihop.cli.option_groups import ColumnOptions, JsonOptions, argument, option, option_group
from cuihop.cli.output import note, print_table
from cuihop.collection.concept_tables import ConceptList, ConceptNames, read_concept_file
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import first_few
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.written_files import write_whole
from cuihop.graph import Concept, ConceptGraph
from cuihop.measures.resolution import ResolvedConcepts, resolved_concepts
from cuihop.notebooks.table import Table
from cuihop.operations.answers import SearchAnswer

_OTHERWISE = {
    "form": "spelt otherwise, in another form, or written together or apart",
    "spelling": "no name has these words; shown are names with words spelt alike",
    "part": "no name has all of these words; shown are names with some of them",
}
"""Remark above hits whose best match is of this kind."""


@option_group
class _SearchOptions(ShownCodesOptions, JsonOptions, AddressOptions):
    text: str = argument("Words of a name, or an identifier.")
    limit: int = option("Maximum number of concepts.", default=10, min=1)


@option_group
class _ConceptOptions(JsonOptions, NamesOptions, OptionalGraphOptions, ColumnOptions):
    cui: str | None = argument("Identifier of a concept.", default=None)
    file: Path | None = option(
        "Instead of a concept: file of images and concepts, or of one identifier per line; - for stdin."
    )
    output: Path | None = option("File for the names of --file, as CSV.", "-o", shown="standard output", mark=CSV)

    def __post_init__(self) -> None:
        OptionalGraphOptions.__post_init__(self)
        if (self.cui is None) == (self.file is None):
            raise typer.BadParameter("give one concept, or --file FILE")
        if self.graph is None and (self.file is None or self.names is None):
            raise typer.BadParameter("give --graph (or CUIHOP_GRAPH); with --file also --names, or both")
        if self.file is None and self.output is not None:
            raise typer.BadParameter("--output goes with --file")
        if self.file is not None and self.json:
            raise typer.BadParameter("--json goes with one concept; the names of --file are CSV")


def search(options: _SearchOptions) -> None:
    """Find concepts by name or synonym."""
    text = options.text
    with options.opened() as opened:
        hits = opened.search(text, limit=options.limit)
        fields = fields_of(SearchAnswer(tuple(hits)))
        codes = options.add_codes(opened, [hit.cui for hit in hits], fields)
        if printed_as_json(options, opened, fields):
            return
        names = [hit.name or "(no name)" for hit in hits]
        repeated = len(set(names)) < len(names)
        about = _about(names, opened.concepts([hit.cui for hit in hits], codes=False)) if repeated else []
    if not hits:
        note(f"no concept has a name with the words {text!r}, or with words spelt alike; try other words")
        return
    if hits[0].kind in _OTHERWISE:
        note(f"{_OTHERWISE[hits[0].kind]}: {text!r}")
    columns = [[hit.cui for hit in hits], names, ["" if hit.matched == hit.name else hit.matched for hit in hits]]
    if repeated:
        columns.append(about)
    titles = [*("concept", "name", "matched", "about")[: len(columns)], *(["codes"] if codes else [])]
    print_table(Table(titles, list(zip(*columns, *codes, strict=True))))


def _about(names: Sequence[str], concepts: Sequence[Concept]) -> list[str]:
    """Texts that distinguish concepts of one name: semantic types or vocabularies; if these are alike, counts too."""
    texts = [", ".join(name for _, name in one.semantic_types) or ", ".join(one.sabs) for one in concepts]
    counts = Counter(zip(names, texts, strict=True))
    return [
        text
        if counts[name, text] == 1
        else f"{text}; parents: {one.parents}, children: {one.children}".removeprefix("; ")
        for name, text, one in zip(names, texts, concepts, strict=True)
    ]


def concept(options: _ConceptOptions) -> None:
    """Show a concept, or add preferred names to the concepts of a file.

    A concept is shown with names, semantic types, vocabularies, definitions, parents and children. The names of --file
    have a row for each image and concept. The field is empty for a concept without a name, and for an image without
    concepts.
    """
    if options.file is not None:
        _name_concepts(options, options.file)
    elif options.cui is not None and options.graph is not None:
        _show_concept(
            options, options.cui, opened_graph(options.graph, options.names, options.within_sab, options.many)
        )


def _show_concept(options: _ConceptOptions, cui: str, graph: ConceptGraph) -> None:
    with graph as opened:
        (cui,) = read_identifiers(opened, [cui])
        one = opened.concepts([cui])[0]
        parents = opened.ancestors(cui, hops=1)
        children = opened.descendants(cui, hops=1, limit=20)
        fields = {**fields_of(one), "parent_cuis": [n.cui for n in parents]}
        if printed_as_json(options, opened, fields, parents.merged):
            return
        rows = [
            ("concept", one.cui),
            ("name", one.name or "(no name)"),
            ("synonyms", "\n".join(one.synonyms) or "none"),
            ("semantic types", "\n".join(f"{code} {name}" for code, name in one.semantic_types) or "none given"),
            ("vocabularies", ", ".join(one.sabs) or "none given"),
        ]
        if one.codes:
            rows.append(("codes", "\n".join(map(code_text, one.codes))))
        if one.definitions:
            rows.append(("definitions", "\n".join(f"{each.text} ({each.sab})" for each in one.definitions)))
        for title, hood in (("parents", parents), ("children", children)):
            names = opened.names([n.cui for n in hood])
            lines = [f"{n.cui} {name or '(no name)'}" for n, name in zip(hood, names, strict=True)]
            if hood.truncated:
                lines.append(f"… and {hood.total - len(hood):,} more")
            rows.append((title, "\n".join(lines) or "none"))
    print_table(Table((), rows))


def distinct_concepts(read: ImageConcepts | ConceptList) -> frozenset[str]:
    """The concepts of a file, each once."""
    return frozenset(read.concepts if isinstance(read, ConceptList) else frozenset().union(*read.values()))


def _name_concepts(options: _ConceptOptions, file: Path) -> None:
    """Write the concepts of a file with their preferred names."""
    read = read_concept_file(file, **options.columns)
    distinct = sorted(distinct_concepts(read))
    added = None if options.names is None else ConceptNames.read(options.names)
    resolution, named = resolved_concepts(distinct, None), dict[str, str | None](added or {})
    if options.graph is not None:
        with opened_graph(options.graph, None, options.within_sab, options.many) as opened:
            resolution = resolved_concepts(distinct, opened, "isolated", read.place_of)
            held = sorted(set(resolution.concept.values()) - resolution.isolated)
            named |= {cui: name for cui, name in zip(held, opened.names(held), strict=True) if name is not None}
    named = {cui: named.get(resolution.concept[cui]) or named.get(cui) for cui in distinct}
    if isinstance(read, ConceptList):
        table = Table(("concept", "name"), [(cui, named[cui]) for cui in read.concepts])
    else:
        rows = [
            (image, cui, named[cui] if cui else None)
            for image, listed in read.items()
            for cui in (sorted(listed) or [""])
        ]
        table = Table(("image", "concept", "name"), rows)
    if options.output is None or str(options.output) == STANDARD_INPUT:  # standard output
        sys.stdout.write(table.csv())
    else:
        write_whole(options.output, table.csv())
    note(read.account)
    _note_counts(named, resolution, added)


def _note_counts(named: dict[str, str | None], resolution: ResolvedConcepts, added: ConceptNames | None) -> None:
    """Note the number of named, unknown and retired concepts, and the first of those without a name."""
    if added is not None:
        note(added.account)
    note_merged(resolution.replaced)
    without = [cui for cui, name in named.items() if name is None]
    counts = [f"{len(named):,} distinct concepts: {len(named) - len(without):,} with a name, {len(without):,} without"]
    if resolution.unknown:
        counts.append(f"{len(resolution.unknown):,} unknown in the graph")
    if resolution.retired:
        counts.append(f"{len(resolution.retired):,} retired without a successor")
    note("; ".join(counts))
    if without:
        note(f"without a name: {first_few(without)}")
