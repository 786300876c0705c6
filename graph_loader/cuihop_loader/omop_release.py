"""OMOP vocabularies, as Athena gives them, as a graph of their standard and classification concepts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from cuihop.errors import InputError
from cuihop.resources.arrays import Int64, UInt8, ascending, bounds_of
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.layout import MARK_SHIFT
from cuihop.snapshot.source_codes import CodeRows, code_sections
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import RETIRED_RELATIONS, GraphTables, RetiredTable
from cuihop_loader._kernels import names
from cuihop_loader.concept_names import with_names
from cuihop_loader.identifier_codes import IdentifierCodes, ReleaseReading
from cuihop_loader.omop_concepts import (
    INVALID,
    KEPT,
    NON_STANDARD,
    Concepts,
    concept_rows,
    letters,
    read_concepts,
    read_names,
    read_versions,
)
from cuihop_loader.omop_levels import END, bridged, compare_levels
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import OmopReport, ReadGraph, SabReport
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import OMOP_LAYOUTS, SourceFile
from cuihop_loader.types_and_definitions import TypeRows, with_types

_COLUMNS = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_OTHER, _IS_A, _SUBSUMES, _MAPS_TO = range(4)
_KINDS = {b"Is a": _IS_A, b"Subsumes": _SUBSUMES, b"Maps to": _MAPS_TO}
_OBSOLETE = np.uint32(2 << MARK_SHIFT)
_MAPPED = np.uint32(1 << 24)  # behind a concept's own codes
_USED, _UNREAD, _INVALID_ROW, _FROM_STANDARD, _TO_OTHER, _EXCLUDED, _LOOP, _OF_INVALID, _OF_OTHER = range(9)
_REASONS = (
    "other relationship", "invalid", "maps a standard concept", "maps to a concept that is not standard",
    "other vocabulary", "concept is its own parent", "invalid concept", "non-standard concept",
)  # fmt: skip
"""Why a row is not used, in this order; one with a non-standard concept may still be part of a way up."""

_MERGED, _RELATED, _DELETED = map(RETIRED_RELATIONS.index, ("SY", "RO", "DEL"))


@dataclass(frozen=True, eq=False)
class _Relationships:
    """Content of CONCEPT_RELATIONSHIP; concepts are rows of CONCEPT.

    Attributes:
        is_a, subsumes: pairs of child and parent, distinct, ascending; an edge may be in both.
        maps: pairs of a concept that is not kept and a kept one, likewise.
        loops: number of concepts asserted as their own parent.
        relation_rows: rows used by relation; sab_rows: by vocabulary.
    """

    is_a: Int64
    subsumes: Int64
    maps: Int64
    loops: int
    relation_rows: dict[str, int]
    sab_rows: Int64


def read_omop(file: SourceFile, options: LoadOptions, rejected: RejectedRows, progress: StepProgress) -> ReadGraph:
    """Read CONCEPT_RELATIONSHIP and the files beside it.

    Raises:
        InputError: a file or a row of it is malformed, CONCEPT is missing, there is no is_a relation, or an option is
            for other files only.
        LimitExceeded: more vocabularies, names or codes than fit.
    """
    if options.identifiers == "cui":
        raise InputError(
            "no identifier of OMOP vocabularies is a CUI", column="identifiers", found="cui", expected="any"
        )
    files = {each.role.removeprefix("OMOP "): each for each in (file, *file.companions)}
    if "CONCEPT" not in files:
        raise InputError("no CONCEPT.csv", file=str(file), expected="CONCEPT.csv beside it")
    reading = ReleaseReading(options, IdentifierCodes(), rejected, progress, only_cuis=False)
    versions, release = read_versions(of, reading) if (of := files.get("VOCABULARY")) else ({}, None)
    concepts = read_concepts(files["CONCEPT"], reading)
    synonyms = files.get("CONCEPT_SYNONYM")
    name_rows = read_names(synonyms if options.synonyms else None, concepts, reading)
    relationships = _read_relationships(file, concepts, reading)

    progress("choosing names", 0, 0)
    number, standard, sab_names = concepts.numbers, concepts.standing == KEPT, concepts.vocabulary_names
    stated = ascending(np.concatenate([relationships.is_a, relationships.subsumes]))
    direct, both = (
        int(np.count_nonzero(standard[pairs >> 32] & standard[pairs & END]))
        for pairs in (stated, np.intersect1d(relationships.is_a, relationships.subsumes, assume_unique=True))
    )
    rows = bridged(stated, standard)
    if not len(rows):
        raise InputError(
            "no is_a relation", file=str(file), found=f"{reading.scanners[file.role].report.rows:,} rows",
            expected="at least one of “Is a” or “Subsumes” between standard concepts"
            + (" in the chosen vocabularies" if options.chooses_sabs else ""),
        )  # fmt: skip
    edges = number.of(rows >> 32).astype(np.int64) << 32 | number.of(rows & END)
    order = np.argsort(edges)
    edges, of_edges = edges[order], concepts.vocabularies[(rows >> 32)[order]]
    sab_edges = np.bincount(of_edges, minlength=len(sab_names)).tolist()
    used = sorted(np.flatnonzero(sab_edges).tolist(), key=lambda sab: sab_names[sab])
    set_of = np.zeros(len(sab_names), dtype=np.uint16)
    set_of[used] = np.arange(len(used))
    tables = GraphTables(
        cuis=number.identifiers,
        children=(edges >> 32).astype(np.int32),
        parents=(edges & END).astype(np.int32),
        sab_sets=set_of[of_edges],
        sab_set_members=[(sab_names[sab],) for sab in used],
        codes=partial(code_sections, _codes(relationships.maps, concepts), len(number)) if options.codes else None,
        retired=_retired(relationships.maps, concepts),
    )
    tables = with_names(with_types(tables, _types(concepts), number), name_rows, number, options)
    ancestors = files.get("CONCEPT_ANCESTOR")
    levels, deviations = compare_levels(ancestors, concepts, edges, reading) if ancestors else ({}, {})
    standing = np.bincount(concepts.standing, minlength=3).tolist()
    targets = np.bincount(relationships.maps >> 32, minlength=len(standard))[~standard]
    return ReadGraph(
        tables=tables,
        release=release,
        self_loops=relationships.loops,
        mirrored=both,
        relation_rows=relationships.relation_rows,
        sabs={
            sab_names[sab]: SabReport(versions.get(sab_names[sab]), int(relationships.sab_rows[sab]), sab_edges[sab])
            for sab in sorted(used, key=lambda sab: -sab_edges[sab])
        },
        files=[reading.scanners[role].report for role in OMOP_LAYOUTS if role in reading.scanners],
        warnings=[
            f"CONCEPT_ANCESTOR and this graph: {kind}: {levels[kind]:,}, as {'; '.join(pairs)}"
            for kind, pairs in deviations.items()
        ],
        omop=OmopReport(
            invalid=standing[INVALID],
            non_standard=standing[NON_STANDARD],
            merged=int(np.count_nonzero(targets == 1)),
            several=int(np.count_nonzero(targets > 1)),
            unmapped=int(np.count_nonzero(targets == 0)),
            bridged=len(edges) - direct,
            levels=levels,
            deviations=deviations,
        ),
    )


def _read_relationships(file: SourceFile, concepts: Concepts, reading: ReleaseReading) -> _Relationships:
    """Read CONCEPT_RELATIONSHIP; the ends of rows that are of no use are not looked up."""
    includes = np.array([reading.options.includes(sab) for sab in concepts.vocabulary_names], dtype=np.bool_)

    def task(rows: Rows) -> tuple[UInt8, Int64, UInt8, Int64]:
        numbers, texts = rows.interned(2, 2)
        kinds = np.array([_KINDS.get(text, _OTHER) for text in texts], dtype=np.uint8)[numbers]
        invalid, unknown = letters(rows, 3, "invalid_reason", "DU")
        unused = np.where(kinds == _OTHER, _UNREAD, np.where(invalid > 0, _INVALID_ROW, _USED))
        selected = np.flatnonzero(~unknown & (unused == _USED)).astype(np.int32)
        first, second = (concept_rows(rows, i, _COLUMNS[i], selected, concepts) for i in range(2))
        sound = (first >= 0) & (second >= 0)
        kinds, first, second = kinds[selected[sound]], first[sound], second[sound]
        child, parent = np.where(kinds == _SUBSUMES, (second, first), (first, second))
        maps, of_child, of_parent = kinds == _MAPS_TO, concepts.standing[child], concepts.standing[parent]
        worse = np.maximum(of_child, of_parent)
        fates = np.select([
            maps & (of_child == KEPT), maps & (of_parent != KEPT), maps, ~includes[concepts.vocabularies[child]],
            child == parent, worse == INVALID, worse == NON_STANDARD,
        ], [_FROM_STANDARD, _TO_OTHER, _USED, _EXCLUDED, _LOOP, _OF_INVALID, _OF_OTHER], _USED)  # fmt: skip
        counts = np.bincount(np.concatenate([unused[~unknown & (unused != _USED)], fates]), minlength=_OF_OTHER + 1)
        retained = np.isin(fates, (_USED, _LOOP, _OF_OTHER))
        pairs = child[retained].astype(np.int64) << 32 | parent[retained]
        return kinds[retained], pairs, fates[retained].astype(np.uint8), counts

    scanner = reading.scanner(file, _COLUMNS, task)
    blocks = []
    for *columns, counts in scanner:
        blocks.append(columns)
        for reason, count in zip(_REASONS, counts[1:].tolist(), strict=True):
            scanner.skip(reason, count)
    kinds, pairs, fates = (np.concatenate(of_blocks) for of_blocks in zip(*blocks, strict=True))
    relations = np.bincount(kinds[fates == _USED], minlength=len(_KINDS) + 1).tolist()
    of_edges = concepts.vocabularies[pairs[(fates == _USED) & (kinds != _MAPS_TO)] >> 32]
    proper = fates != _LOOP
    return _Relationships(
        is_a=ascending(pairs[proper & (kinds == _IS_A)]),
        subsumes=ascending(pairs[proper & (kinds == _SUBSUMES)]),
        maps=ascending(pairs[kinds == _MAPS_TO]),
        loops=len(ascending(pairs[fates == _LOOP])),
        relation_rows={text.decode(): relations[kind] for text, kind in _KINDS.items() if kind != _MAPS_TO},
        sab_rows=np.bincount(of_edges, minlength=len(includes)),
    )


def _retired(maps: Int64, concepts: Concepts) -> RetiredTable:
    """Concepts that are not kept: merged into the one that they map to, related to several, or deleted.

    A valid concept that maps to none is no deleted one: it is unknown.
    """
    sources, targets = maps >> 32, maps & END
    counts = np.bincount(sources, minlength=len(concepts.ids))
    deleted = np.flatnonzero((concepts.standing == INVALID) & (counts == 0))
    ranks = concepts.ranks.astype(np.int64)
    relations = np.where(counts[sources] > 1, _RELATED, _MERGED)
    keys = np.sort(np.concatenate([
        ranks[sources] << 32 | relations << 29 | ranks[targets], ranks[deleted] << 32 | _DELETED << 29,
    ]))  # fmt: skip
    return RetiredTable(
        concepts.texts[keys >> 32], (keys >> 29 & 7).astype(np.uint8), concepts.texts[keys & ((1 << 29) - 1)]
    )


def _codes(maps: Int64, concepts: Concepts) -> CodeRows:
    """The codes of the kept concepts, and behind them those of the concepts that map to them, with their concept_id."""
    lengths = np.diff(concepts.codes.offsets)
    standard, maps = np.flatnonzero((concepts.standing == KEPT) & (lengths > 0)), maps[lengths[maps >> 32] > 0]
    sources = maps >> 32
    rows = np.concatenate([standard, sources])
    grades = np.zeros(len(rows), dtype=np.uint32)
    grades[len(standard) :] = np.where(concepts.standing[sources] == INVALID, _OBSOLETE, np.uint32(0)) | _MAPPED
    offsets = bounds_of(lengths[rows])
    codes = StringTable(offsets, np.empty(int(offsets[-1]), dtype=np.uint8))
    names.gather(concepts.codes.offsets, concepts.codes.blob, rows, codes.offsets, codes.blob)
    return CodeRows(
        owners=concepts.numbers.of(np.concatenate([standard, maps & END])),
        grades=grades,
        sabs=concepts.vocabularies[rows],
        sab_names=concepts.vocabulary_names,
        codes=codes,
        source_concepts=StringTable.of_bytes([b""] * len(standard) + concepts.texts[concepts.ranks[sources]].tolist()),
    )


def _types(concepts: Concepts) -> TypeRows:
    """The domain and the class of each kept concept; one type if they are called the same."""
    kinds: dict[str, int] = {}
    of_domain, of_class = (
        np.array([kinds.setdefault(pair[i], len(kinds)) for pair in concepts.types], dtype=np.int32) for i in range(2)
    )
    standard = np.flatnonzero(concepts.standing == KEPT).astype(np.int32)
    domains, classes = of_domain[concepts.kinds[standard]], of_class[concepts.kinds[standard]]
    both = domains != classes
    return TypeRows(
        codes=np.concatenate([standard, standard[both]]),
        types=np.concatenate([domains, classes[both]]),
        kinds=[(text, text) for text in kinds],
        scanner=concepts.scanner,
    )
