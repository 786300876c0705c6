"""``cuihop all-similarities``: the similarity of all concepts with all, or of a list with a list."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from cuihop.answer_fields import with_release
from cuihop.cli.command_files import FileForm
from cuihop.cli.graph_option import GraphOptions, note_merged
from cuihop.cli.information_content import ContentOptions
from cuihop.cli.output import JsonOption, note, print_json, print_table, progress
from cuihop.collection.concept_lists import ConceptList, read_concept_file
from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.files.written_files import check_output
from cuihop.notebooks.table import Table
from cuihop.resources.optional_packages import PYARROW
from cuihop.resources.resources import Resources
from cuihop.similarity.hierarchy import Hierarchy
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions, named_measure
from cuihop.snapshot.all_similarities import AllSimilarities
from cuihop.snapshot.hierarchy import SnapshotHierarchy
from cuihop.snapshot.similarity_files import DELIMITERS, identifier_files, write_array, write_pairs

_PAIRS_OR_ARRAY = FileForm(
    "an array or a table of pairs", (".npy", *DELIMITERS, ".parquet"), by_ending=True,
    packages={".parquet": PYARROW},
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Values to compute, and the file for them."""

    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", show_default=False,
            help="File to write: an array (.npy) with its identifiers beside it, or pairs (.csv, .tsv, .parquet).",
        ),
        _PAIRS_OR_ARRAY,
    ]  # fmt: skip
    measure: Annotated[str, typer.Option("--measure", "-m", help=f"One of {', '.join(SIMILARITY_MEASURES)}.")] = "simUI"
    concepts: Annotated[
        Path | None,
        typer.Option("--concepts", help="Concepts of the rows, one a line; all by default.", show_default=False),
    ] = None
    with_concepts: Annotated[
        Path | None,
        typer.Option("--with", help="Concepts of the columns; those of the rows by default.", show_default=False),
    ] = None
    at_least: Annotated[
        float | None,
        typer.Option("--at-least", help="Pairs of this value or more; of a distance, or less.", show_default=False),
    ] = None
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Nearest columns of each row.", show_default=False)
    ] = None
    dtype: Annotated[Literal["float64", "float32"], typer.Option("--dtype", help="Numbers of the array.")] = "float64"

    @property
    def is_array(self) -> bool:
        """True for an array.

        Raises:
            typer.BadParameter: an option is for the other kind of file.
        """
        array = self.output.suffix.lower() == ".npy"
        if array and (self.at_least is not None or self.top is not None):
            raise typer.BadParameter("--at-least and --top are for a table of pairs: .csv, .tsv or .parquet")
        if not array and self.dtype != "float64":
            raise typer.BadParameter("--dtype is for an array: .npy")
        if self.at_least is not None and math.isnan(self.at_least):
            raise typer.BadParameter("--at-least: expected a number")
        return array


def all_similarities(
    graph: GraphOptions,
    content_options: ContentOptions,
    requested: _Options,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads; all cores by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Write the similarity of all concepts with all, or of a list of concepts with itself or with another.

    Values are those of `cuihop similarity`. Of one list, a table has each pair once, or with --top the nearest of each.
    """
    array, output, chosen = requested.is_array, requested.output, named_measure(requested.measure)
    rows, columns = _listed(requested.concepts), _listed(requested.with_concepts)
    begun = time.perf_counter()
    with graph.opened() as opened:
        hierarchy = _of_snapshot(opened.hierarchy, graph.graph)
        content = content_options.content(opened)
        every = AllSimilarities(hierarchy, rows, columns, SimilarityOptions(chosen, content.ic, content.counts))
        for file in identifier_files(output, every) if array else ():
            check_output(file)
        with progress() as bar:
            task = bar.add_task(chosen, total=len(every.rows))
            resources = Resources(threads, progress=lambda done, total: bar.update(task, completed=done, total=total))
            if array:
                write_array(every, output, dtype=requested.dtype, resources=resources)
                pairs = len(every.rows) * len(every.columns)
            else:
                pairs = write_pairs(every, output, at_least=requested.at_least, top=requested.top, resources=resources)
    facts, seconds = hierarchy.facts(), time.perf_counter() - begun
    beside = [str(file) for file in identifier_files(output, every)] if array else []
    if json:
        fields = {
            "measure": chosen, "ic": content.ic, "rows": len(every.rows), "columns": len(every.columns),
            "pairs": pairs, "virtual_root": facts.virtual_root, "cycles": facts.cycles, "output": str(output),
            "identifiers": beside, "seconds": round(seconds, 3),
        }  # fmt: skip
        print_json(with_release(opened.release, fields, every.merged))
        return
    note_merged(every.merged)
    lines = [
        ("measure", f"{chosen}: {SIMILARITY_MEASURES[chosen]}"),
        ("with", content.account),
        ("hierarchy", facts.account),
        ("concepts", f"{len(every.rows):,} rows, {len(every.columns):,} columns"),
        ("written", f"{output}, {counted(pairs, 'pair')}, in {seconds:.1f} s"),
        *(("identifiers", file) for file in beside),
        ("release", f"{opened.release.name}, digest {opened.release.digest[:12]}"),
    ]  # fmt: skip
    print_table(Table((), lines))
    note("it holds identifiers of the release: pass it only to people with its licence")


def _listed(file: Path | None) -> list[str] | None:
    """The identifiers of a list; ``None`` without one."""
    if file is None:
        return None
    read = read_concept_file(file)
    if not isinstance(read, ConceptList):
        raise InputError("not a list of concepts", file=file, found="images", expected="one identifier a line")
    return list(read.concepts)


def _of_snapshot(hierarchy: Hierarchy, address: str) -> SnapshotHierarchy:
    if not isinstance(hierarchy, SnapshotHierarchy):
        raise InputError("all similarities need a snapshot", found=address, expected="the path of a snapshot",
                         advice="cuihop snapshot copies a release of a Neo4j server into one.")  # fmt: skip
    return hierarchy
