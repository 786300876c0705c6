"""``cuihop load``: files into a snapshot or a Neo4j server, with a report."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cuihop.cli.command_files import JSON, REJECTS, SNAPSHOT, TSV
from cuihop.cli.option_groups import VerboseOptions, argument, file_option, option, option_group
from cuihop.cli.output import console, note, print_json, print_table
from cuihop.cli.releases import SERVER
from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file
from cuihop.identifiers import Identifiers
from cuihop.notebooks.table import Table
from cuihop.resources.compilation import seconds_of_compilation
from cuihop.resources.progress import StepProgress
from cuihop_loader.options import LoadOptions, OnBadRow
from cuihop_loader.sources import FORMAT_OPTIONS

if TYPE_CHECKING:
    from cuihop_loader.report import LoadReport

_SABS = 15
_SIZES = 8
_RETIRED = {"SY": "merged", "DEL": "deleted", "RB": "broader", "RN": "narrower", "RO": "related"}


class _Relation(StrEnum):
    """`RelationFilter` as an enumeration for a list option of the command line."""

    ISA = "isa"
    PAR_CHD = "par-chd"
    RB_RN = "rb-rn"


_edge_option = partial(option, panel="Which edges")
_name_option = partial(option, panel="Names")
_server_option = partial(option, panel="Neo4j")


@option_group
class _TargetOptions(VerboseOptions):
    """The files to read, the snapshot or the server to write, and the report."""

    sources: list[Path] = argument(
        "A folder with RRF files, a SNOMED CT release or OMOP vocabularies, a .zip of them, or files: RRF, RF2, OBO, "
        "MeSH, edge lists (.csv, .tsv, .parquet) and others, plain or compressed."
    )
    output: Path | None = file_option("Path of the snapshot.", "-o", mark=SNAPSHOT)
    graph: str | None = _server_option(f"Store the graph in a Neo4j server. {SERVER}", "-g", metavar="GRAPH")
    switch: bool = _server_option("Make the new release active at the end.", "--switch/--no-switch", default=True)
    changes: Path | None = _server_option("File for all changes since the active release.", mark=TSV)
    report_json: Path | None = file_option("File for the report, as JSON.", mark=JSON)

    def __post_init__(self) -> None:
        if self.output is None and self.graph is None:
            raise typer.BadParameter("say where to write the graph", param_hint="'--output' or '--graph'")
        if self.graph is None and (self.changes is not None or not self.switch):
            raise InputError("--changes and --no-switch are for a Neo4j server", advice="Add --graph ADDRESS.")


@option_group
class _LoadOptions:
    """Rows and names that are loaded."""

    relations: list[_Relation] | None = _edge_option(
        "isa: RELA isa and inverse_isa; par-chd: REL PAR and CHD; rb-rn: REL RB and RN. May be repeated.", shown="isa"
    )
    include_sabs: list[str] | None = _edge_option("Only edges from this vocabulary. May be repeated.", "--sab")
    exclude_sabs: list[str] | None = _edge_option("No edge from this vocabulary. May be repeated.", "--exclude-sab")
    identifiers: Identifiers | None = _edge_option(
        "cui: only C and seven digits; any: other vocabularies' identifiers too.", shown="cui for RRF, any for others"
    )
    include_suppressed: bool = _edge_option("Include rows whose SUPPRESS is not N.", default=False)
    languages: list[str] | None = _name_option(
        "Names in this language (LAT, or a tag: en), preferred ones from the first given. May be repeated.",
        "--language",
        shown="ENG",
    )
    synonyms: bool = _name_option("Keep all names, or preferred ones only.", "--synonyms/--no-synonyms", default=True)
    definitions: bool = _name_option("Keep the definitions of MRDEF.", "--definitions/--no-definitions", default=True)
    codes: bool = _name_option(
        "Keep codes of vocabularies (RRF, OMOP), and mappings in MRMAP.", "--source-codes/--no-codes", default=True
    )
    release: str | None = _name_option("Name of the release; by default the one in the files.")
    on_bad_row: OnBadRow = file_option("Stop at an invalid row, or skip it.", default="error")
    rejects: Path | None = file_option("With --on-bad-row skip: file for the skipped rows.", mark=REJECTS)
    file_format: str | None = file_option(
        "Format of the files, if their names do not show it: " + ", ".join(FORMAT_OPTIONS) + ".",
        "--format",
        shown="by name and content",
    )

    @property
    def options(self) -> LoadOptions:
        """Options of the library; those without a value have its defaults.

        Raises:
            InputError: an option has an invalid value.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["relations"] = [relation.value for relation in self.relations or [_Relation.ISA]]
        return LoadOptions(**{name: value for name, value in values.items() if value not in (None, [])})


def load(target: _TargetOptions, rows: _LoadOptions) -> None:
    """Load a UMLS release, or ontologies and taxonomies, into a snapshot, a Neo4j server, or both.

    A server keeps serving its release until the new one is complete and verified. Importing files into a new database
    while the server is stopped is faster: write a snapshot, then run `cuihop neo4j push --import-files`.
    """
    options = rows.options

    from cuihop_loader.loading import load_to
    from cuihop_loader.neo4j_command import store_online

    if target.graph is not None:  # problems of the server are reported before files are read for minutes
        from cuihop.neo4j_graph.connection import Neo4jSettings
        from cuihop.neo4j_graph.releases import check_server

        check_server(Neo4jSettings.from_environment(target.graph))
    with _progress() as show:
        loaded = load_to(target.output, target.sources, options, show)
    outcome = None
    if target.graph is not None:
        outcome = store_online(loaded.sections, target.graph, switch=target.switch, changes=target.changes)
    facts = loaded.report
    values = facts.to_json()
    if target.report_json is not None:
        with replaced_file(target.report_json) as file:
            file.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")
    if target.json:
        print_json(values if outcome is None else {**values, **outcome.to_json()})
    else:
        _print_report(facts, verbose=target.verbose)
        if outcome is not None:
            outcome.print_summary()
    for warning in facts.warnings:
        note(f"warning: {warning}")


@contextlib.contextmanager
def _progress() -> Iterator[StepProgress | None]:
    """A progress bar on standard error where that is a terminal."""
    screen = console(error=True)
    if not screen.is_terminal:
        yield None
        return
    from rich import progress as rich

    kinds = (rich.BarColumn, rich.DownloadColumn, rich.TimeRemainingColumn)
    columns = (rich.TextColumn("{task.description}", markup=False), *(kind() for kind in kinds))
    with rich.Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=Path(step).name, completed=done, total=total)

        yield show


def _print_report(report: LoadReport, *, verbose: bool) -> None:
    """Print the files, and the totals of the graph with what was out of the ordinary; ``verbose`` prints all facts."""
    rows = []
    for file in report.files:
        reasons = [f"{count:,} {reason}" for reason, count in file.skipped.items()]
        if file.line_ends not in ("LF", ""):
            reasons.append(f"(line ends: {file.line_ends})")
        rows.append([file.role, f"{file.rows:,}", f"{file.used:,}", ", ".join(reasons)])
    print_table(Table(["file", "rows", "used", "left out"], rows), "Files", numbers=(1, 2))
    facts = [(label, value) for label, value in _facts(report) if verbose or (value and not _is_further(label, report))]
    if report.sabs and not verbose:
        more = ", …" if len(report.sabs) > _SABS else ""
        facts.append(("vocabularies", ", ".join(list(report.sabs)[:_SABS]) + more))
    rows = [[label, value if isinstance(value, str) else f"{value:,}"] for label, value in facts]
    print_table(Table([], rows), f"Graph of release {report.release}")
    if not verbose:
        return
    sabs = [(sab, x.version or "", f"{x.rows:,}", f"{x.edges:,}") for sab, x in list(report.sabs.items())[:_SABS]]
    if len(report.sabs) > _SABS:
        sabs.append((f"and {len(report.sabs) - _SABS:,} more", "", "", ""))
    print_table(Table(["SAB", "version", "rows", "edges"], sabs), "Vocabularies that assert an edge", numbers=(2, 3))
    hubs = [(hub.cui, hub.name or "(no name)", f"{hub.children:,}") for hub in report.hubs]
    print_table(Table(["concept", "name", "children"], hubs), "Concepts with the most children", numbers=(2,))


_FURTHER = frozenset({
    "relations", "  asserted both ways of writing", "  of how many concepts", "  the largest", "connected parts",
    "  concepts in the largest", "longest upward path", "semantic types", "definitions", "codes of vocabularies",
    "  rows without one",
})  # fmt: skip
"""Facts that only ``--verbose`` prints."""


def _is_further(label: str, report: LoadReport) -> bool:
    of_one_way = label == "  asserted one way only" and not report.mirrored  # as in all files but RRF
    return label in _FURTHER or label.endswith(" rows") or of_one_way


def _facts(report: LoadReport) -> Iterator[tuple[str, int | str]]:
    yield "relations", ", ".join(report.relations)
    for relation, rows in report.relation_rows.items():
        yield f"  {relation} rows", rows
    yield "concepts", report.concepts
    yield "  without a name", report.nameless
    yield "  without any edge", report.isolated
    yield "is_a edges", report.edges
    yield "  for example", report.example
    yield "  asserted both ways of writing", report.mirrored
    yield "  asserted one way only", report.one_directional
    yield "self-loops, left out", report.self_loops
    cycles = report.cycles
    yield "cycles (strongly connected components)", cycles.components
    if cycles.components:
        sizes = ", ".join(f"{count:,} of {size:,}" for size, count in cycles.sizes[:_SIZES])
        yield "  of how many concepts", sizes + (", …" if len(cycles.sizes) > _SIZES else "")
        yield "  the largest", " ".join(cycles.examples[0])
    yield "connected parts", report.weak_components
    yield "  concepts in the largest", report.giant_component
    yield "longest upward path", f"{report.depth:,} hops"
    yield "names", report.names
    yield "semantic types", report.semantic_types
    if report.definitions:
        yield "definitions", report.definitions
    if report.codes:
        yield "codes of vocabularies", report.codes
        yield "  rows without one", report.without_code
    yield "retired concepts", report.retired.concepts
    for relation, count in report.retired.statements.items():
        yield f"  {_RETIRED[relation]} ({relation})", count
    if report.terms is not None:
        yield "terms", report.terms.terms
        yield "  obsolete, left out", report.terms.obsolete
        yield "  without a CUI", report.terms.without_cui
        yield "  with several CUIs", report.terms.several_cuis
        yield "  CUIs of several terms", report.terms.shared_cuis
        yield "  parents defined nowhere", report.terms.undefined_parents
    if (omop := report.omop) is not None:
        yield "invalid concepts, left out", omop.invalid
        yield "non-standard concepts, left out", omop.non_standard
        yield "  of both, mapped to one standard concept", omop.merged
        yield "  mapped to several", omop.several
        yield "  mapped to none", omop.unmapped
        yield "is_a edges through non-standard concepts", omop.bridged
        yield from ((f"CONCEPT_ANCESTOR, {kind}", count) for kind, count in omop.levels.items())
    yield "read", f"{report.bytes / 1e6:,.1f} MB in {report.seconds:,.1f} s"
    if (seconds := seconds_of_compilation()) > 1:
        yield "  of it compiling, once", f"{seconds:,.1f} s"
