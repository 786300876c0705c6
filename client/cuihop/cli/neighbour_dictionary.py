"""``cuihop neighbours --concepts``: the neighbour dictionary of files of concepts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuihop.answer_fields import with_release
from cuihop.cli.graph_option import GraphOptions
from cuihop.cli.output import console, note, print_json, print_table
from cuihop.collection.concept_lists import ConceptList, read_concept_file
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import Direction
from cuihop.measures.resolution import resolved_concepts
from cuihop.notebooks.table import Table
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary


def write_neighbour_dictionary(
    files: Sequence[Path],
    columns: Mapping[str, str | None],
    graph: GraphOptions,
    hops: int,
    direction: Direction,
    output: Path,
    json: bool,
) -> None:
    """Write the dictionary of all concepts of the files, and print its content.

    Args:
        files: of images and concepts, or lists of identifiers. columns: names of their columns.
        graph: its address and vocabularies. hops: N. direction: of the hops.
        output: the file to write. json: print JSON.
    """
    read = [read_concept_file(file, **columns) for file in files]
    identifiers = {
        cui
        for each in read
        for cui in (each.concepts if isinstance(each, ConceptList) else frozenset().union(*each.values()))
    }

    def place_of(concept: str) -> str | None:
        return next((place for each in read if (place := each.place_of(concept)) is not None), None)

    started = time.perf_counter()
    with graph.opened() as opened:
        resolved_concepts(identifiers, opened, "isolated", place_of)  # a malformed one is an error with its place
        found = NeighbourDictionary.of(
            opened, identifiers, hops=hops, direction=direction, files=[file.name for file in files]
        )
    found.save(output)
    seconds, size = time.perf_counter() - started, output.stat().st_size
    merged = {answer.requested: answer.cui for answer in found.others.values() if answer.cui is not None}
    if json:
        fields = {**found.facts, "inputs": [each.account for each in read], "output": str(output), "bytes": size}
        print_json(with_release(found.release, fields, merged))
        return
    facts = found.facts["neighbour_dictionary"]
    near = f"{facts['pairs']:,} within {counted(hops, 'hop')}, {direction_text(direction)}"
    rows = [
        ("release", f"{found.release.name}, digest {found.release.digest[:12]}"),
        *(("read", each.account) for each in read),
        ("concepts", f"{facts['concepts']:,} in the graph"),
        ("retired", f"{facts['merged']:,} taken for successors, {facts['retired']:,} without one"),
        ("unknown", f"{facts['unknown']:,}"),
        ("ordered pairs", near),
        ("written", f"{output}, {size:,} bytes, in {seconds:.1f} s"),
    ]
    print_table(Table((), rows))
    console().print(f"It is used as a graph: --graph {output}")
    note("it holds identifiers and relations of the release: pass it only to people with its licence")
