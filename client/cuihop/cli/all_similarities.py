"""``cuihop all-similarities``: the similarity of all concepts with all, or of a list with a list."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Literal

import typer

from cuihop.cli.command_files import FileForm
from cuihop.cli.graph_option import GraphOptions, printed_as_json
from cuihop.cli.option_groups import JsonOptions, option, option_group
from cuihop.cli.output import note, print_table, progress_bars
from cuihop.cli.similarity import ContentOptions
from cuihop.collection.concept_tables import ConceptList, read_concept_file
from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.files.written_files import check_output
from cuihop.notebooks.table import Table
from cuihop.resources.optional_packages import PYARROW
from cuihop.resources.resources import Resources
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions, named_measure
from cuihop.snapshot.all_similarities import DELIMITERS, AllSimilarities, identifier_files, write_array, write_pairs
from cuihop.snapshot.hierarchy import SnapshotHierarchy

_PAIRS_OR_ARRAY = FileForm(
    "an array or a table of pairs", (".npy", *DELIMITERS, ".parquet"), by_ending=True,
    packages={".parquet": PYARROW},
)  # fmt: skip


@option_group
class _Options(JsonOptions, ContentOptions, GraphOptions):
    """Values to compute, and the file for them."""

    output: Path = option(
        "File to write: an array (.npy) with its identifiers beside it, or pairs (.csv, .tsv, .parquet).",
        "-o", required=True, mark=_PAIRS_OR_ARRAY,
    )  # fmt: skip
    measure: str = option(f"One of {', '.join(SIMILARITY_MEASURES)}.", "-m", default="simUI")
    concepts: Path | None = option("Concepts of the rows, one a line; all by default.")
    with_concepts: Path | None = option("Concepts of the columns; those of the rows by default.", "--with")
    at_least: float | None = option("Pairs of this value or more; of a distance, or less.")
    top: int | None = option("Nearest columns of each row.", min=1)
    dtype: Literal["float64", "float32"] = option("Numbers of the array.", default="float64")
    threads: int | None = option("Threads; all cores by default.", min=1)

    @property
    def is_array(self) -> bool:
        """True for an array; refuses options that are for the other kind of file."""
        array = self.output.suffix.lower() == ".npy"
        if array and (self.at_least is not None or self.top is not None):
            raise typer.BadParameter("--at-least and --top are for a table of pairs: .csv, .tsv or .parquet")
        if not array and self.dtype != "float64":
            raise typer.BadParameter("--dtype is for an array: .npy")
        if self.at_least is not None and math.isnan(self.at_least):
            raise typer.BadParameter("--at-least: expected a number")
        return array


def all_similarities(options: _Options) -> None:
    """Write the similarity of all concepts with all, or of a list of concepts with itself or with another.

    Values are those of `cuihop similarity`. Of one list, a table has each pair once, or with --top the nearest of each.
    """
    array, output, measure = options.is_array, options.output, named_measure(options.measure)
    rows, columns = _listed(options.concepts), _listed(options.with_concepts)
    begun = time.perf_counter()
    with options.opened() as opened:
        hierarchy = opened.hierarchy
        if not isinstance(hierarchy, SnapshotHierarchy):
            raise InputError(
                "all similarities need a snapshot", found=options.graph, expected="the path of a snapshot",
                advice="cuihop snapshot copies a release of a Neo4j server into one.",
            )  # fmt: skip
        content = options.content(opened)
        every = AllSimilarities(hierarchy, rows, columns, SimilarityOptions(measure, content.ic, content.counts))
        for file in identifier_files(output, every) if array else ():
            check_output(file)
        with progress_bars() as bar_of:
            resources = Resources(options.threads, progress=bar_of(measure))
            if array:
                write_array(every, output, dtype=options.dtype, resources=resources)
                pairs = len(every.rows) * len(every.columns)
            else:
                pairs = write_pairs(every, output, at_least=options.at_least, top=options.top, resources=resources)
    facts, seconds = hierarchy.facts(), time.perf_counter() - begun
    identifiers = [str(file) for file in identifier_files(output, every)] if array else []
    fields = {
        "measure": measure, "ic": content.ic, "rows": len(every.rows), "columns": len(every.columns),
        "pairs": pairs, "virtual_root": facts.virtual_root, "cycles": facts.cycles, "output": str(output),
        "identifiers": identifiers, "seconds": round(seconds, 3),
    }  # fmt: skip
    if printed_as_json(options, opened, fields, every.merged):
        return
    lines = [
        ("measure", f"{measure}: {SIMILARITY_MEASURES[measure]}"),
        ("with", content.summary),
        ("hierarchy", facts.account),
        ("concepts", f"{len(every.rows):,} rows, {len(every.columns):,} columns"),
        ("written", f"{output}, {counted(pairs, 'pair')}, in {seconds:.1f} s"),
        *(("identifiers", file) for file in identifiers),
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
