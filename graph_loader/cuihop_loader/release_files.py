"""RRF files of a release as a graph; and MRRANK and MRSAB: the ranks of names, the vocabularies and their versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cuihop.errors import InputError
from cuihop.identifiers import Identifiers
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import GraphTables, RetiredTable
from cuihop_loader.concept_names import ConceptNames, Ranks, names_of, read_names
from cuihop_loader.edge_table import EdgeTable
from cuihop_loader.history import read_history, retired_concepts
from cuihop_loader.identifier_codes import ConceptPlaces, ConceptSet, IdentifierCodes, ReleaseReading
from cuihop_loader.is_a_rows import IsARows, read_is_a_rows
from cuihop_loader.options import LoadOptions, RelationFilter
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport, ReadGraph, SabReport
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import SourceFile
from cuihop_loader.types_and_definitions import (
    Definitions,
    SemanticTypes,
    definitions_of,
    read_definitions,
    read_types,
    types_of,
)  # fmt: skip

_HISTORY = ("MRCUI", "MERGEDCUI", "DELETEDCUI")
_RELEASE = re.compile(r"\d{4}[A-Z]{2}|\d{6}")


@dataclass(frozen=True)
class _Vocabularies:
    """Content of MRSAB for the current vocabularies.

    Attributes:
        versions: of each vocabulary (SAB).
        languages: of each vocabulary (LAT).
        release: name of the release; ``None`` if the file has none.
        report: of the file.
    """

    versions: Mapping[str, str]
    languages: Mapping[str, str]
    release: str | None
    report: FileReport


def read_release(
    files: Mapping[str, SourceFile],
    options: LoadOptions,
    identifiers: Identifiers,
    rejected: RejectedRows,
    progress: StepProgress | None,
) -> ReadGraph:
    """Read the files of a release, by role.

    Raises:
        InputError: a file or a row of it is malformed, or there is no is_a relation.
        LimitExceeded: more vocabularies or identifiers than fit.
    """
    codes = IdentifierCodes()
    reading = ReleaseReading(options, codes, rejected, progress, only_cuis=identifiers == "cui")
    concepts = ConceptSet()
    vocabularies = None if (file := files.get("MRSAB")) is None else _read_vocabularies(file, reading)
    ranks, rank_report = ({}, None) if (file := files.get("MRRANK")) is None else _read_ranks(file, reading)

    rows = read_is_a_rows(files["MRREL"], reading)
    if not len(rows.edges.children):
        raise _no_edges(rows, options, files["MRREL"], codes)
    for found in (rows.edges.children, rows.edges.parents, rows.loops):
        concepts.add(found)

    name_rows = type_rows = definition_rows = None
    if file := files.get("MRCONSO"):
        name_rows = read_names(file, ranks, concepts, reading)
    if file := files.get("MRSTY"):
        type_rows = read_types(file, reading)
    if options.definitions and (file := files.get("MRDEF")):
        definition_rows = read_definitions(file, {} if vocabularies is None else vocabularies.languages, reading)
    history = [read_history(files[role], reading) for role in _HISTORY if role in files]

    if progress is not None:
        progress("choosing names", 0, 0)
    places = ConceptPlaces(concepts, codes)
    del concepts
    retired = retired_concepts(history, places, codes)
    types = None if type_rows is None else types_of(type_rows, places)
    del type_rows
    definitions = None if definition_rows is None else definitions_of(definition_rows, places)
    del definition_rows
    names = None if name_rows is None else names_of(name_rows, places, options)
    del name_rows
    reports = [
        rows.report,
        None if names is None else names.report,
        None if types is None else types.report,
        None if definitions is None else definitions.report,
        rank_report,
        None if vocabularies is None else vocabularies.report,
        *(file_rows.scanner.report for file_rows in history),
    ]
    return ReadGraph(
        tables=_tables(rows.edges, places, names, types, definitions, retired),
        release=None if vocabularies is None else vocabularies.release,
        mirrored=rows.edges.mirrored,
        self_loops=len(rows.loops),
        relation_rows=rows.relation_rows,
        sabs=_sab_reports(rows, vocabularies),
        other_identifiers=codes.skipped,
        other_identifier_samples=codes.samples,
        files=[report for report in reports if report is not None],
        warnings=_warnings(files, options, rows, codes),
    )


def _read_ranks(file: SourceFile, reading: ReleaseReading) -> tuple[Ranks, FileReport]:
    """Read MRRANK: the rank of each vocabulary, term type and SUPPRESS; the highest gives the preferred name."""

    def work(rows: Rows) -> dict[tuple[bytes, bytes], int]:
        ranks = {}
        for row in range(len(rows)):
            rank = rows.raw(row, 0)
            if not rank.isdigit():
                rows.refuse(row, "RANK", "not a rank", repr(rank.decode()), "digits")
                continue
            ranks[rows.raw(row, 1) + b"|" + rows.raw(row, 2), rows.raw(row, 3)] = int(rank)
        return ranks

    scanner = reading.scanner(file, ("RANK", "SAB", "TTY", "SUPPRESS"), work)
    ranks: dict[tuple[bytes, bytes], int] = {}
    for found in scanner:
        ranks.update(found)
    return ranks, scanner.report


def _read_vocabularies(file: SourceFile, reading: ReleaseReading) -> _Vocabularies:
    """Read MRSAB.

    The release is that of the newest current vocabulary (IMETA): the Metathesaurus' own vocabularies come with
    every release.
    """

    def work(rows: Rows) -> list[tuple[str, str, str, bool, str]]:
        return [
            (rows.text(row, 0), rows.text(row, 1), rows.text(row, 2), rows.raw(row, 3) == b"Y", rows.text(row, 4))
            for row in range(len(rows))
        ]

    scanner = reading.scanner(file, ("RSAB", "SVER", "IMETA", "CURVER", "LAT"), work)
    versions: dict[str, str] = {}
    languages: dict[str, str] = {}
    releases: set[str] = set()
    for found in scanner:
        current = [row for row in found if row[3]]
        scanner.skip("not the current version", len(found) - len(current))
        versions.update((sab, version) for sab, version, *_ in current)
        languages.update((sab, language) for sab, _, _, _, language in current)
        releases.update(release for _, _, release, *_ in current if _RELEASE.fullmatch(release))
    return _Vocabularies(versions, languages, max(releases, default=None), scanner.report)


def _tables(
    edges: EdgeTable,
    places: ConceptPlaces,
    names: ConceptNames | None,
    types: SemanticTypes | None,
    definitions: Definitions | None,
    retired: RetiredTable,
) -> GraphTables:
    children, parents, sab_sets = places.of(edges.children), places.of(edges.parents), edges.sab_sets
    key = children.astype(np.int64) << 32 | parents
    if not np.all(key[1:] > key[:-1]):  # identifiers that are not CUIs have codes in another order
        order = np.argsort(key)
        children, parents, sab_sets = children[order], parents[order], sab_sets[order]
    return GraphTables(
        cuis=places.identifiers,
        children=children,
        parents=parents,
        sab_sets=sab_sets,
        sab_set_members=edges.members,
        names=StringTable.of([]) if names is None else names.names,
        name_indptr=None if names is None else names.indptr,
        name_grades=None if names is None else names.grades,
        name_sab_sets=None if names is None else names.sab_sets,
        name_sab_set_members=() if names is None else names.sab_set_members,
        semantic_types=() if types is None else types.kinds,
        type_indptr=None if types is None else types.indptr,
        type_indices=np.empty(0, dtype=np.int32) if types is None else types.indices,
        definitions=StringTable.of([]) if definitions is None else definitions.texts,
        definition_indptr=None if definitions is None else definitions.indptr,
        retired=retired,
    )


def _sab_reports(rows: IsARows, vocabularies: _Vocabularies | None) -> dict[str, SabReport]:
    """Vocabularies that assert an edge, most edges first."""
    versions: Mapping[str, str] = {} if vocabularies is None else vocabularies.versions
    return {
        sab: SabReport(versions.get(sab) or None, rows.sab_rows[sab], edges)
        for sab, edges in sorted(rows.edges.sab_edges.items(), key=lambda item: (-item[1], item[0]))
    }


def _warnings(
    files: Mapping[str, SourceFile], options: LoadOptions, rows: IsARows, codes: IdentifierCodes
) -> list[str]:
    warnings = []
    if codes.skipped:
        counts = ", ".join(f"{count:,} of {role}" for role, count in codes.skipped.items())
        warnings.append(
            f"rows left out because an identifier is not a CUI (as {', '.join(codes.samples)}): {counts}. "
            "To keep them: --identifiers any"
        )
    requested = [*options.include_sabs, *options.exclude_sabs]
    if unseen := [sab for sab in requested if sab not in rows.sab_rows]:
        warnings.append(f"no row with the relations asked for is from {', '.join(unseen)}")
    if "MRCONSO" not in files:
        warnings.append("no MRCONSO: concepts have no names, and concepts without an edge are unknown")
    elif "MRRANK" not in files:
        warnings.append("no MRRANK: preferred names are chosen by TS, STT and ISPREF alone")
    if not any(role in files for role in _HISTORY):
        warnings.append("no MRCUI, MERGEDCUI or DELETEDCUI: retired CUIs are unknown concepts")
    return warnings


def _no_edges(rows: IsARows, options: LoadOptions, file: SourceFile, codes: IdentifierCodes) -> InputError:
    """The error where there is no edge, with advice on options that give some."""
    requested = {relation: rows.offered[relation] for relation in options.relations}
    others = {relation: count for relation, count in rows.offered.items() if relation not in requested and count}
    advice = None
    found = f"{rows.report.rows:,} rows, of which {_listed(requested)}"
    if not any(requested.values()):
        if suppressed := rows.report.skipped.get("suppressed"):
            found += f", and {suppressed:,} suppressed ones"
            advice = "To take suppressed rows: --include-suppressed"
        elif others:
            advice = "Others would find some: " + ", ".join(
                f"--relations {relation} (rows: {count:,})" for relation, count in others.items()
            )
    elif left_out := rows.report.skipped.get("other vocabulary"):
        found += f", {left_out:,} of them from vocabularies that were not asked for"
        advice = f"Vocabularies with such rows: {', '.join(sorted(rows.sab_rows))}"
    elif codes.skipped:
        found += f", {codes.skipped['MRREL']:,} of them with identifiers as {', '.join(codes.samples)}"
        advice = "To keep them: --identifiers any"
    return InputError("no is_a relation", file=str(file), found=found, expected="at least one", advice=advice)


def _listed(counts: Mapping[RelationFilter, int]) -> str:
    return ", ".join(f"{relation}: {count:,}" for relation, count in counts.items())
