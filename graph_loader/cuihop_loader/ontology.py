"""Ontologies and taxonomies as a graph: files of terms, of whichever format, read into one set of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from cuihop.errors import InputError, first_few
from cuihop.identifiers import Identifiers
from cuihop.resources.arrays import Bool, Int32, Int64, ascending, bounds_of
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.string_table import StringTable, identifier_array
from cuihop.snapshot.writer import GraphTables, RetiredTable
from cuihop_loader.annotated_terms import ontology_name
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport, ReadGraph, SabReport
from cuihop_loader.sources import SourceFile, term_format
from cuihop_loader.term_columns import MOST_SABS, TermColumns
from cuihop_loader.term_files import TermFile, TermReading, TermRows
from cuihop_loader.term_projection import ParentRows, TermProjection

_IMPORTS = 50  # named in a warning


def read_ontology(
    sources: Sequence[SourceFile],
    options: LoadOptions,
    identifiers: Identifiers,
    rejected: RejectedRows,
    progress: StepProgress,
) -> ReadGraph:
    """Read files of terms into one graph.

    Raises:
        InputError: a file or an identifier is malformed, or there is no is_a relation.
        LimitExceeded: more vocabularies than fit.
    """
    reading = TermReading(rejected, progress, options.languages)
    readers: list[TermFile] = []
    for source in sources:
        module, _, name = term_format(source.role).reader.partition(".")
        readers.append(getattr(import_module(f"cuihop_loader.{module}"), name)(source, reading))
    columns = TermColumns()
    ends = [0]  # of the statements of a parent, file by file
    for reader, source in zip(readers, sources, strict=True):
        for term in reader.terms():
            if isinstance(term, TermRows):
                columns.add_rows(term)
            else:
                columns.add(term, str(source))
        columns.end_file(reader.ontology)
        ends.append(len(columns.parents[0]))
    projection = TermProjection(columns, identifiers)
    statements, parents = columns.parents
    sabs = list(columns.sabs)
    included = np.array([options.includes(sab) for sab in sabs], dtype=np.bool_)[columns.sab_numbers[statements]]
    pairs = projection.pairs(included)
    fates = _fates(pairs, included, ~projection.usable[statements] | projection.gone[parents])
    used = fates["used"]
    if not used.any():
        raise InputError(
            "no is_a relation",
            file=", ".join(str(source) for source in sources),
            found=f"{len(parents):,} statements of a parent",
            expected="at least one between concepts" + (" in the chosen vocabularies" if options.chooses_sabs else ""),
            advice=". ".join(warning for reader in readers for warning in reader.warnings) or None,
        )
    tables, sab_edges = _tables(columns, projection, pairs, all_names=options.synonyms)
    sab_of_row = columns.sab_numbers[statements]
    sab_rows = dict(zip(sabs, np.bincount(sab_of_row[used], minlength=len(sabs)).tolist(), strict=True))
    instances = int(np.count_nonzero(used & columns.instances))
    relation_rows = {"is_a": int(np.count_nonzero(used)) - instances, "instance_of": instances}
    version_of = {
        sab: version
        for reader in readers
        for sab, version in {reader.ontology: reader.version or None, **reader.versions}.items()
        if sab_rows.get(sab)
    }
    versions = list(dict.fromkeys(reader.version for reader in readers if reader.version))
    return ReadGraph(
        tables=tables,
        release=", ".join(versions) or None,
        self_loops=len(ascending(pairs.children[pairs.children == pairs.parents])),
        mirrored=0,
        relation_rows={name: count for name, count in relation_rows.items() if count},
        sabs={
            sab: SabReport(version_of.get(sab), sab_rows[sab], sab_edges.get(sab, 0))
            for sab in dict.fromkeys([*version_of, *sorted(sab_edges)])
        },
        files=[
            report
            for reader, begin, end in zip(readers, ends, ends[1:], strict=False)
            for report in (_file_report(reader, fates, slice(begin, end)), *reader.companions)
        ],
        warnings=[
            *_missing_imports(readers),
            *([f"CUIs in lower case, read in upper case: {first_few(sorted(columns.lower))}"] if columns.lower else []),
            *projection.warnings(),
            *(warning for reader in readers for warning in reader.warnings),
        ],
        terms=projection.report(parents[included]),
    )


def _missing_imports(readers: Sequence[TermFile]) -> list[str]:
    """A warning with the imported ontologies that are none of those read, by their addresses or versions."""
    read = {
        name.casefold()
        for reader in readers
        for name in (reader.ontology, reader.version or "", f"{reader.ontology}/{reader.version}/{reader.ontology}")
    }
    imports = sorted({iri for reader in readers for iri in reader.imports})
    missing = [iri for iri in imports if ontology_name(iri).casefold() not in read]
    if not missing:
        return []
    return [
        "imports are not followed, so that terms and is_a relations may be missing; load these ontologies with the "
        f"file: {first_few(missing, _IMPORTS)}"
    ]


def _fates(pairs: ParentRows, included: Bool, gone: Bool) -> dict[str, Bool]:
    """Use of the statements of a parent, or the reason against it: masks with one entry for each statement."""
    used = np.zeros(len(included), dtype=np.bool_)
    used[pairs.rows[pairs.children != pairs.parents]] = True
    paired = np.zeros_like(used)
    paired[pairs.rows] = True
    return {
        "used": used,
        "obsolete": included & ~paired & gone,
        "term without CUI": included & ~paired & ~gone,
        "concept is its own parent": paired & ~used,
        "other vocabulary": ~included,
    }


def _file_report(reader: TermFile, fates: Mapping[str, Bool], of_file: slice) -> FileReport:
    counts = {reason: int(np.count_nonzero(mask[of_file])) for reason, mask in fates.items()}
    used = counts.pop("used") + reader.parentless
    skipped = {reason: count for reason, count in counts.items() if count}
    return reader.report(used, skipped | {why: skipped.get(why, 0) + count for why, count in reader.skipped.items()})


def _tables(
    columns: TermColumns, projection: TermProjection, pairs: ParentRows, *, all_names: bool
) -> tuple[GraphTables, dict[str, int]]:
    """The tables of the graph, and the number of edges of each vocabulary that asserts one."""
    _, of_terms = projection.expanded(np.flatnonzero(projection.current).astype(np.int32))
    used = ascending(np.concatenate([of_terms, pairs.children, pairs.parents]))
    identifiers = list(columns.code_of)
    cuis = identifier_array([identifiers[code] for code in used.tolist()])
    order = np.argsort(cuis)
    number_of = np.zeros(len(identifiers), dtype=np.int32)
    number_of[used[order]] = np.arange(len(used), dtype=np.int32)
    cuis = cuis[order]

    sabs = list(columns.sabs)
    sab_of_row = columns.sab_numbers[columns.parents[0]]
    proper = pairs.children != pairs.parents
    keys = number_of[pairs.children[proper]].astype(np.int64) << 32 | number_of[pairs.parents[proper]]
    edges = _Grouped(keys, sab_of_row[pairs.rows[proper]])
    sab_sets, members = edges.sab_sets(sabs)
    current = {identifiers[code] for code in used.tolist()} if columns.others else set()
    tables = GraphTables(
        cuis=cuis,
        children=(edges.keys >> 32).astype(np.int32),
        parents=(edges.keys & 0xFFFFFFFF).astype(np.int32),
        sab_sets=sab_sets,
        sab_set_members=members,
        retired=RetiredTable.of([row for row in projection.retired() if row[0] not in current]),
    )
    counts = np.bincount(edges.sabs, minlength=len(sabs)).tolist()
    sab_edges = {sab: count for sab, count in zip(sabs, counts, strict=True) if count}
    return _with_names(tables, columns, projection, number_of, all_names=all_names), sab_edges


class _Grouped:
    """Rows grouped by a key: the distinct ``keys``, ascending, and the vocabularies of each group in turn."""

    def __init__(self, keys: Int64, sabs: Int32) -> None:
        order = np.lexsort((sabs, keys))
        keys, sabs = keys[order], sabs[order]
        new_key = np.ones(len(keys), dtype=np.bool_)
        new_key[1:] = keys[1:] != keys[:-1]
        distinct = new_key.copy()
        distinct[1:] |= sabs[1:] != sabs[:-1]
        self.keys = keys[new_key]
        self.sabs = sabs[distinct]
        self._begins = np.flatnonzero(new_key[distinct])
        self.rows = order
        self.begins = np.flatnonzero(new_key)

    def sab_sets(self, sabs: Sequence[str], selected: Int64 | None = None) -> tuple[Int32, list[tuple[str, ...]]]:
        """For each group, or the selected ones, the index of its vocabularies among the distinct sets; and the sets."""
        begins = np.append(self._begins, len(self.sabs))
        groups = np.arange(len(self.keys)) if selected is None else selected
        first, size = begins[groups], begins[groups + 1] - begins[groups]
        numbers = self.sabs[first].astype(np.int64)  # a set of one vocabulary has its number
        several: dict[tuple[int, ...], int] = {}
        for group in np.flatnonzero(size > 1).tolist():
            of_group = tuple(self.sabs[first[group] : first[group] + size[group]].tolist())
            numbers[group] = MOST_SABS + several.setdefault(of_group, len(several))
        tuples = list(several)
        members = {
            number: tuple(
                sorted(sabs[sab] for sab in (tuples[number - MOST_SABS] if number >= MOST_SABS else (number,)))
            )
            for number in ascending(numbers).tolist()
        }
        ordered = sorted(members, key=lambda number: members[number])
        place_of = np.zeros(MOST_SABS + len(several), dtype=np.int32)
        place_of[ordered] = np.arange(len(ordered), dtype=np.int32)
        return place_of[numbers], [members[number] for number in ordered]


def _with_names(
    tables: GraphTables, columns: TermColumns, projection: TermProjection, number_of: Int32, *, all_names: bool
) -> GraphTables:
    """The tables with the names of each concept: terms as they come, of each its name and then its synonyms.

    The grade is 0 for the name of a term, 1 for a synonym. A name has the vocabularies of all statements that give it.
    """
    statements, texts, synonyms = columns.names
    rows = np.flatnonzero(projection.usable[statements]).astype(np.int32)
    terms = columns.terms
    # A term stands where its first statement does; its name is the first that any of its statements gives.
    first_statement, first_name = (np.full(len(columns.code_of), -1, dtype=np.int64) for _ in range(2))
    usable = np.flatnonzero(projection.usable)[::-1]
    first_statement[terms[usable]] = usable
    named = rows[synonyms[rows] == 0][::-1]
    first_name[terms[statements[named]]] = named
    at, of_concept = projection.expanded(terms[statements[rows]])
    rows = rows[at]
    row_terms = terms[statements[rows]]
    within = np.where(rows == first_name[row_terms], 0, rows.astype(np.int64) + 1)
    of_concept = number_of[of_concept]
    order = np.lexsort((within, first_statement[row_terms], of_concept))
    rows, of_concept = rows[order], of_concept[order]
    grouped = _Grouped(of_concept.astype(np.int64) << 32 | texts[rows], columns.sab_numbers[statements[rows]])
    firsts = np.minimum.reduceat(grouped.rows, grouped.begins)
    grades = np.minimum.reduceat(synonyms[rows][grouped.rows], grouped.begins)
    selected = np.argsort(firsts)
    owners = (grouped.keys >> 32)[selected]
    if not all_names:
        preferred = np.ones(len(selected), dtype=np.bool_)
        preferred[1:] = owners[1:] != owners[:-1]
        selected, owners = selected[preferred], owners[preferred]
    strings = list(columns.text_of)
    sab_sets, members = grouped.sab_sets(list(columns.sabs), selected)
    return replace(
        tables,
        names=StringTable.of([strings[code] for code in (grouped.keys[selected] & 0xFFFFFFFF).tolist()]),
        name_indptr=bounds_of(np.bincount(owners, minlength=len(tables.cuis)), np.int32),
        name_grades=grades[selected].astype(np.uint32),
        name_sab_sets=sab_sets.astype(np.uint32),
        name_sab_set_members=members,
    )
