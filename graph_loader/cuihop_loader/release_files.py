"""RRF files of a release as a graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuihop.errors import InputError
from cuihop.identifiers import Identifiers
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import GraphTables, RetiredTable
from cuihop_loader.concept_names import ConceptNames, names_of, read_names
from cuihop_loader.definitions import Definitions, definitions_of, read_definitions
from cuihop_loader.edge_table import EdgeTable
from cuihop_loader.history import read_history, retired_concepts
from cuihop_loader.identifier_codes import ConceptPlaces, ConceptSet, IdentifierCodes
from cuihop_loader.is_a_rows import IsARows, read_is_a_rows
from cuihop_loader.options import LoadOptions, RelationFilter
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.release_facts import Vocabularies, read_ranks, read_vocabularies
from cuihop_loader.report import ReadGraph, SabReport
from cuihop_loader.semantic_types import SemanticTypes, read_types, types_of
from cuihop_loader.sources import SourceFile

__all__ = ["read_release"]

_HISTORY = ("MRCUI", "MERGEDCUI", "DELETEDCUI")


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
    only_cuis = identifiers == "cui"
    codes = IdentifierCodes()
    concepts = ConceptSet()
    vocabularies = None if (file := files.get("MRSAB")) is None else read_vocabularies(file, rejected, progress)
    ranks, rank_report = ({}, None) if (file := files.get("MRRANK")) is None else read_ranks(file, rejected, progress)

    rows = read_is_a_rows(files["MRREL"], options, codes, rejected, progress, only_cuis=only_cuis)
    if not len(rows.edges.children):
        raise _no_edges(rows, options, files["MRREL"], codes)
    for found in (rows.edges.children, rows.edges.parents, rows.loops):
        concepts.add(found)

    name_rows = type_rows = definition_rows = None
    if file := files.get("MRCONSO"):
        name_rows = read_names(file, options, ranks, codes, concepts, rejected, progress, only_cuis=only_cuis)
    if file := files.get("MRSTY"):
        type_rows = read_types(file, codes, rejected, progress, only_cuis=only_cuis)
    if options.definitions and (file := files.get("MRDEF")):
        languages = {} if vocabularies is None else vocabularies.languages
        definition_rows = read_definitions(file, options, languages, codes, rejected, progress, only_cuis=only_cuis)
    history = [
        read_history(files[role], codes, rejected, progress, only_cuis=only_cuis) for role in _HISTORY if role in files
    ]

    places = ConceptPlaces(concepts, codes)
    del concepts
    retired = retired_concepts(history, places, codes)
    types = None if type_rows is None else types_of(type_rows, places)
    del type_rows
    definitions = None if definition_rows is None else definitions_of(definition_rows, places)
    del definition_rows
    names = None if name_rows is None else names_of(name_rows, places, all_names=options.synonyms)
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
        semantic_types=() if types is None else types.kinds,
        type_indptr=None if types is None else types.indptr,
        type_indices=np.empty(0, dtype=np.int32) if types is None else types.indices,
        definitions=StringTable.of([]) if definitions is None else definitions.texts,
        definition_indptr=None if definitions is None else definitions.indptr,
        retired=retired,
    )


def _sab_reports(rows: IsARows, vocabularies: Vocabularies | None) -> dict[str, SabReport]:
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
