"""``cuihop names``: the preferred names of the concepts of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import CSV
from cuihop.cli.evaluation_options import ColumnOptions
from cuihop.cli.graph_option import NamesOption, OptionalGraphOption, note_merged, opened_graph
from cuihop.cli.output import note
from cuihop.collection.concept_lists import ConceptList, read_concept_file
from cuihop.collection.concept_names import ConceptNames
from cuihop.errors import first_few
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.written_files import write_whole
from cuihop.measures.resolution import ResolvedConcepts, resolved_concepts
from cuihop.notebooks.table import Table


def names_of_concepts(
    concepts: Annotated[
        Path,
        typer.Argument(
            help="Images and their concepts, C1;C2, or one identifier a line; - for standard input.", show_default=False
        ),
    ],
    columns: ColumnOptions,
    graph: OptionalGraphOption = None,
    names: NamesOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the table; standard output by default."),
        CSV,
    ] = None,
) -> None:  # fmt: skip
    """Add preferred names to the concepts of a file: CSV with a row for each image and concept.

    A concept without a name has an empty field, as has an image without concepts.
    """
    if graph is None and names is None:
        raise typer.BadParameter("give --graph (or CUIHOP_GRAPH), --names, or both")
    read = read_concept_file(concepts, **columns.columns)
    distinct = sorted(set(read.concepts if isinstance(read, ConceptList) else frozenset().union(*read.values())))
    added = None if names is None else ConceptNames.read(names)
    resolution, named = resolved_concepts(distinct, None), dict[str, str | None](added or {})
    if graph is not None:
        with opened_graph(graph) as opened:
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
    if output is None or str(output) == STANDARD_INPUT:  # standard output
        sys.stdout.write(table.csv())
    else:
        write_whole(output, table.csv())
    note(read.account)
    _note_counts(named, resolution, added)


def _note_counts(named: dict[str, str | None], resolution: ResolvedConcepts, added: ConceptNames | None) -> None:
    """Note the number of named, unknown and retired concepts, and some of those without a name."""
    if added is not None:
        note(added.account)
    note_merged(resolution.merged)
    without = [cui for cui, name in named.items() if name is None]
    parts = [f"{len(named):,} distinct concepts: {len(named) - len(without):,} with a name, {len(without):,} without"]
    if resolution.unknown:
        parts.append(f"{len(resolution.unknown):,} unknown in the graph")
    if resolution.retired:
        parts.append(f"{len(resolution.retired):,} retired without a successor")
    note("; ".join(parts))
    if without:
        note(f"without a name: {first_few(without)}")
