"""The load report as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table

from cuihop.cli.output import table
from cuihop_loader.report import LoadReport

__all__ = ["report_table"]

_SABS = 15
_SIZES = 8
_RETIRED = {"SY": "merged", "DEL": "deleted", "RB": "broader", "RN": "narrower", "RO": "related"}


def report_table(report: LoadReport) -> Group:
    """Tables of the report, without its warnings."""
    return Group(_files(report), _graph(report), _sabs(report), _hubs(report))


def _files(report: LoadReport) -> Table:
    result = _with_numbers(table("file", "rows", "used", "left out", title="Files"), 1, 2)
    for file in report.files:
        reasons = [f"{count:,} {reason}" for reason, count in file.skipped.items()]
        if file.line_ends != "LF":
            reasons.append(f"(line ends: {file.line_ends})")
        result.add_row(file.role, f"{file.rows:,}", f"{file.used:,}", ", ".join(reasons))
    return result


def _graph(report: LoadReport) -> Table:
    result = table("", "", title=f"Graph of release {report.release}")
    result.show_header = False
    for label, value in _facts(report):
        result.add_row(label, value if isinstance(value, str) else f"{value:,}")
    return result


def _facts(report: LoadReport) -> Iterator[tuple[str, int | str]]:
    yield "relations", ", ".join(report.relations)
    for relation, rows in report.relation_rows.items():
        yield f"  {relation} rows", rows
    yield "concepts", report.concepts
    yield "  without a name", report.nameless
    yield "  without any edge", report.isolated
    yield "is_a edges", report.edges
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
    yield "retired concepts", report.retired.concepts
    for relation, count in report.retired.statements.items():
        yield f"  {_RETIRED[relation]} ({relation})", count
    if report.obo is not None:
        yield "ontology terms", report.obo.terms
        yield "  obsolete, left out", report.obo.obsolete
        yield "  without a CUI", report.obo.without_cui
        yield "  with several CUIs", report.obo.several_cuis
        yield "  CUIs of several terms", report.obo.shared_cuis
        yield "  parents defined nowhere", report.obo.undefined_parents
    yield "read", f"{report.bytes / 1e6:,.1f} MB in {report.seconds:,.1f} s"


def _sabs(report: LoadReport) -> Table:
    result = _with_numbers(table("SAB", "version", "rows", "edges", title="Vocabularies that assert an edge"), 2, 3)
    for sab, facts in list(report.sabs.items())[:_SABS]:
        result.add_row(sab, facts.version or "", f"{facts.rows:,}", f"{facts.edges:,}")
    if len(report.sabs) > _SABS:
        result.add_row(f"and {len(report.sabs) - _SABS:,} more", "", "", "")
    return result


def _hubs(report: LoadReport) -> Table:
    result = _with_numbers(table("concept", "name", "children", title="Concepts with the most children"), 2)
    for hub in report.hubs:
        result.add_row(hub.cui, hub.name or "(no name)", f"{hub.children:,}")
    return result


def _with_numbers(result: Table, *columns: int) -> Table:
    for column in columns:
        result.columns[column].justify = "right"
    return result
