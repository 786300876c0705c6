"""RRF files of a release as a graph; and MRRANK and MRSAB: the ranks of names, the vocabularies and their versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np

from cuihop.errors import InputError
from cuihop.identifiers import Identifiers
from cuihop.resources.cores import meanwhile
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.writer import GraphTables
from cuihop_loader.code_maps import ReadMaps, read_code_maps, unknown_sources
from cuihop_loader.concept_names import Ranks, read_names, with_names
from cuihop_loader.history import read_history, retired_concepts
from cuihop_loader.identifier_codes import ConceptNumbers, ConceptSet, IdentifierCodes, ReleaseReading
from cuihop_loader.is_a_rows import EdgeTable, IsARows, read_is_a_rows
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import ReadGraph, SabReport
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import LAYOUTS, SourceFile
from cuihop_loader.types_and_definitions import read_definitions, read_types, with_definitions, with_types

_HISTORY = ("MRCUI", "MERGEDCUI", "DELETEDCUI")
_RELEASE = re.compile(r"\d{4}[A-Z]{2}|\d{6}")


def read_release(
    files: Mapping[str, SourceFile],
    options: LoadOptions,
    identifiers: Identifiers,
    rejected: RejectedRows,
    progress: StepProgress,
    running: ExitStack,
) -> ReadGraph:
    """Read the files of a release, by role.

    Args:
        running: gets the thread that puts the codes in order, which goes on after this function has returned.

    Raises:
        InputError: a file or a row of it is malformed, or there is no is_a relation.
        LimitExceeded: more vocabularies or identifiers than fit.
    """
    identifier_codes = IdentifierCodes()
    reading = ReleaseReading(options, identifier_codes, rejected, progress, only_cuis=identifiers == "cui")
    concepts = ConceptSet()
    versions, languages, release = _read_vocabularies(file, reading) if (file := files.get("MRSAB")) else ({}, {}, None)
    ranks = _read_ranks(file, reading) if (file := files.get("MRRANK")) else {}

    rows = read_is_a_rows(files["MRREL"], reading)
    if not len(rows.edges.children):
        raise _no_edges(rows, options, files["MRREL"], reading)
    for asserted in (rows.edges.children, rows.edges.parents, rows.loops):
        concepts.add(asserted)

    without_code = 0
    name_rows = read_names(file, ranks, concepts, reading) if (file := files.get("MRCONSO")) else None
    type_rows = read_types(file, reading) if (file := files.get("MRSTY")) else None
    definition_rows = None
    if options.definitions and (file := files.get("MRDEF")):
        definition_rows = read_definitions(file, languages, reading)
    code_maps = None
    if options.codes and name_rows is not None and (file := files.get("MRMAP")):
        code_maps = read_code_maps(file, reading)
    history = [read_history(files[role], reading) for role in _HISTORY if role in files]

    progress("choosing names", 0, 0)
    numbers = ConceptNumbers(concepts, identifier_codes)
    del concepts
    none = np.empty(0, dtype=np.int32)
    codes = None
    if name_rows is not None and (read_codes := name_rows.source_codes) is not None:
        without_code = read_codes.without
        codes = running.enter_context(meanwhile(partial(read_codes.sections, numbers)))
    retired = retired_concepts(history, numbers, identifier_codes)
    tables = GraphTables(numbers.identifiers, none, none, codes=codes, code_maps=code_maps, retired=retired)
    if type_rows is not None:
        tables = with_types(tables, type_rows, numbers)
        del type_rows
    if definition_rows is not None:
        tables = with_definitions(tables, definition_rows, numbers)
        del definition_rows
    if name_rows is not None:
        tables = with_names(tables, name_rows, numbers, options)
        del name_rows
    return ReadGraph(
        tables=_with_edges(tables, rows.edges, numbers),
        release=release,
        mirrored=rows.edges.mirrored,
        self_loops=len(rows.loops),
        relation_rows=rows.relation_rows,
        sabs={
            sab: SabReport(versions.get(sab) or None, rows.sab_rows[sab], edges)
            for sab, edges in sorted(rows.edges.sab_edges.items(), key=lambda item: (-item[1], item[0]))
        },
        other_identifiers=identifier_codes.skipped,
        other_identifier_samples=identifier_codes.samples,
        without_code=without_code,
        files=[reading.scanners[role].report for role in LAYOUTS if role in reading.scanners],
        warnings=_warnings(files, options, rows, identifier_codes, code_maps),
    )


def _read_ranks(file: SourceFile, reading: ReleaseReading) -> Ranks:
    """Read MRRANK: the rank of each vocabulary, term type and SUPPRESS; the highest gives the preferred name."""

    def task(rows: Rows) -> dict[tuple[bytes, bytes], int]:
        ranks = {}
        for row in range(len(rows)):
            rank = rows.raw(row, 0)
            if not rank.isdigit():
                rows.refuse(row, "RANK", "not a rank", repr(rank.decode()), "digits")
                continue
            ranks[rows.raw(row, 1) + b"|" + rows.raw(row, 2), rows.raw(row, 3)] = int(rank)
        return ranks

    scanner = reading.scanner(file, ("RANK", "SAB", "TTY", "SUPPRESS"), task)
    ranks: dict[tuple[bytes, bytes], int] = {}
    for block in scanner:
        ranks.update(block)
    return ranks


def _read_vocabularies(file: SourceFile, reading: ReleaseReading) -> tuple[dict[str, str], dict[str, str], str | None]:
    """Read MRSAB: versions and languages of the current vocabularies by SAB, and the release if it names one.

    The release is that of the newest current vocabulary (IMETA): the Metathesaurus' own vocabularies come with
    every release.
    """

    def task(rows: Rows) -> list[list[str]]:
        return [[rows.raw(row, column).decode() for column in range(5)] for row in range(len(rows))]

    scanner = reading.scanner(file, ("RSAB", "SVER", "IMETA", "CURVER", "LAT"), task)
    versions: dict[str, str] = {}
    languages: dict[str, str] = {}
    releases: set[str] = set()
    for block in scanner:
        current = [row for row in block if row[3] == "Y"]
        scanner.skip("not the current version", len(block) - len(current))
        versions.update((sab, version) for sab, version, *_ in current)
        languages.update((sab, language) for sab, _, _, _, language in current)
        releases.update(release for _, _, release, *_ in current if _RELEASE.fullmatch(release))
    return versions, languages, max(releases, default=None)


def _with_edges(tables: GraphTables, edges: EdgeTable, numbers: ConceptNumbers) -> GraphTables:
    children, parents, sab_sets = numbers.of(edges.children), numbers.of(edges.parents), edges.sab_sets
    key = children.astype(np.int64) << 32 | parents
    if not np.all(key[1:] > key[:-1]):  # identifiers that are not CUIs have codes in another order
        order = np.argsort(key)
        children, parents, sab_sets = children[order], parents[order], sab_sets[order]
    return replace(tables, children=children, parents=parents, sab_sets=sab_sets, sab_set_members=edges.members)


def _warnings(
    files: Mapping[str, SourceFile], options: LoadOptions, rows: IsARows, codes: IdentifierCodes, maps: ReadMaps | None
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
    if maps is not None and (unknown := unknown_sources(maps)):
        warnings.append(unknown)
    return warnings


def _no_edges(rows: IsARows, options: LoadOptions, file: SourceFile, reading: ReleaseReading) -> InputError:
    """The error for a release without an edge, with advice on options that give some."""
    report, codes = reading.scanners["MRREL"].report, reading.codes
    requested = {relation: rows.offered[relation] for relation in options.relations}
    others = {relation: count for relation, count in rows.offered.items() if relation not in requested and count}
    hint = None
    listed = ", ".join(f"{relation}: {count:,}" for relation, count in requested.items())
    actual = f"{report.rows:,} rows, of which {listed}"
    if not any(requested.values()):
        if suppressed := report.skipped.get("suppressed"):
            actual += f", and {suppressed:,} suppressed ones"
            hint = "To take suppressed rows: --include-suppressed"
        elif others:
            hint = "Others would find some: " + ", ".join(
                f"--relations {relation} (rows: {count:,})" for relation, count in others.items()
            )
    elif left_out := report.skipped.get("other vocabulary"):
        actual += f", {left_out:,} of them from vocabularies that were not asked for"
        hint = f"Vocabularies with such rows: {', '.join(sorted(rows.sab_rows))}"
    elif codes.skipped:
        actual += f", {codes.skipped['MRREL']:,} of them with identifiers as {', '.join(codes.samples)}"
        hint = "To keep them: --identifiers any"
    return InputError("no is_a relation", file=str(file), found=actual, expected="at least one", advice=hint)
