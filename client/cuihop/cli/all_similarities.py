"""``cuihop similarity --all``, and the information content of all commands that compute similarities."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import typer

from cuihop.cli.command_files import TSV, FileForm
from cuihop.cli.graph_option import printed_as_json
from cuihop.cli.option_groups import JsonOptions, option, option_group
from cuihop.cli.output import note, print_table, progress_bars
from cuihop.collection.concept_tables import ConceptCounts, ConceptList, read_concept_file
from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.files.written_files import check_output
from cuihop.graph import ConceptGraph
from cuihop.notebooks.table import Table
from cuihop.resources.optional_packages import PYARROW
from cuihop.resources.resources import Resources
from cuihop.similarity.options import (
    INFORMATION_CONTENTS,
    SIMILARITY_MEASURES,
    InformationContent,
    SimilarityMeasure,
    SimilarityOptions,
)
from cuihop.snapshot.all_similarities import DELIMITERS, AllSimilarities, identifier_files, write_array, write_pairs
from cuihop.snapshot.hierarchy import SnapshotHierarchy

_option = partial(option, panel="All pairs")
_PAIRS_OR_ARRAY = FileForm(
    "an array or a table of pairs", (".npy", *DELIMITERS, ".parquet"), by_ending=True,
    packages={".parquet": PYARROW},
)  # fmt: skip
SIMILARITIES = FileForm(
    "similarities", tuple(dict.fromkeys((*_PAIRS_OR_ARRAY.endings, *TSV.endings))), packages=_PAIRS_OR_ARRAY.packages
)
"""The file of ``--output``: the answers to ``--pairs``, or the array or the table of ``--all``."""


@option_group
class ContentOptions:
    """Information content, and counts of concepts in a corpus."""

    ic: InformationContent | None = option(
        "Information content: Sanchez (the default) or Seco, from the graph; corpus, from --counts or the service."
    )
    counts: Path | None = option(
        "Occurrences of concepts, for --ic corpus: two columns, concept and count; or images and their concepts."
    )

    def content(self, graph: ConceptGraph) -> Content:
        """The information content; counts without ``--ic`` are for ``corpus``."""
        if self.counts is None:
            return Content(self.ic or "Sanchez", {})
        if self.ic not in (None, "corpus"):
            raise typer.BadParameter(f"--counts goes with --ic corpus, not with {self.ic}")
        used, summary = ConceptCounts.read(self.counts).used_in(graph)
        return Content("corpus", used, summary)


@dataclass(frozen=True)
class Content:
    """Information content, with counts of concepts that the graph holds, and their summary."""

    ic: InformationContent
    counts: Mapping[str, float]
    counts_summary: str = ""

    @property
    def summary(self) -> str:
        """The information content in one line."""
        of_counts = f"; {self.counts_summary}" if self.counts_summary else ""
        return f"information content {self.ic}: {INFORMATION_CONTENTS[self.ic]}{of_counts}"


def _is_array(output: Path) -> bool:
    return output.suffix.lower() == ".npy"


@option_group
class AllOptions:
    """Values of all pairs to compute."""

    every: bool = _option("All concepts with all others, into .npy, .csv, .tsv or .parquet.", "--all", default=False)
    concepts: Path | None = _option("With --all: only the concepts of this file, one per line, as rows.")
    with_concepts: Path | None = _option("With --all: concepts of the columns; those of the rows by default.", "--with")
    at_least: float | None = _option("With --all: only pairs of at least this value, or for a distance at most.")
    top: int | None = _option("With --all: only the nearest columns of each row.", min=1)
    dtype: Literal["float64", "float32"] = _option("Number type of the array.", default="float64")
    threads: int | None = _option("Number of threads; all cores by default.", min=1)

    def check_all(self, output: Path | None) -> bool:
        """True with ``--all``; refuses options that do not go together."""
        if not self.every:
            others = {"--concepts": self.concepts, "--with": self.with_concepts, "--at-least": self.at_least,
                      "--top": self.top, "--threads": self.threads}  # fmt: skip
            unused = [name for name, value in others.items() if value is not None]
            if unused or self.dtype != "float64":
                raise typer.BadParameter(f"{(*unused, '--dtype')[0]} goes with --all")
            if output is not None:
                TSV.check(output, "--output")
            return False
        if output is None:
            raise typer.BadParameter("--all needs --output FILE")
        _PAIRS_OR_ARRAY.check(output, "--output")
        array = _is_array(output)
        if array and (self.at_least is not None or self.top is not None):
            raise typer.BadParameter("--at-least and --top are for a table of pairs: .csv, .tsv or .parquet")
        if not array and self.dtype != "float64":
            raise typer.BadParameter("--dtype is for an array: .npy")
        if self.at_least is not None and math.isnan(self.at_least):
            raise typer.BadParameter("--at-least: expected a number")
        return True


def all_similarities(
    opened: ConceptGraph, measure: SimilarityMeasure, content: Content, pairing: AllOptions, options: JsonOptions,
    output: Path,
) -> None:  # fmt: skip
    """Write the similarity of all concepts with all, or of a list of concepts with itself or with another.

    Values are those of a pair. Of one list, a table has each pair once, or with ``--top`` the nearest of each.
    """
    array, rows, columns = _is_array(output), _listed(pairing.concepts), _listed(pairing.with_concepts)
    begun = time.perf_counter()
    hierarchy = opened.hierarchy
    if not isinstance(hierarchy, SnapshotHierarchy):
        raise InputError(
            "all similarities need a snapshot", expected="the path of a snapshot as --graph",
            advice="cuihop neo4j pull copies a release of a Neo4j server into one.",
        )  # fmt: skip
    every = AllSimilarities(hierarchy, rows, columns, SimilarityOptions(measure, content.ic, content.counts))
    for file in identifier_files(output, every) if array else ():
        check_output(file)
    with progress_bars() as bar_of:
        resources = Resources(pairing.threads, progress=bar_of(measure))
        if array:
            write_array(every, output, dtype=pairing.dtype, resources=resources)
            pairs = len(every.rows) * len(every.columns)
        else:
            pairs = write_pairs(every, output, at_least=pairing.at_least, top=pairing.top, resources=resources)
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
