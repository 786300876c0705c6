"""MRCONSO: the concepts of a release, and their names, best first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import Int32, Int64, UInt8, UInt16, UInt32, bounds_of
from cuihop.resources.cores import in_order
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import GraphTables
from cuihop_loader._kernels import interning, names
from cuihop_loader.identifier_codes import (
    ConceptNumbers,
    ConceptSet,
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
    members_of,
    vocabulary_codes,
)
from cuihop_loader.options import LoadOptions
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.source_codes import BlockCodes, ReadCodes
from cuihop_loader.sources import SourceFile

Ranks = Mapping[tuple[bytes, bytes], int]
"""Rank of ``b"SAB|TTY"`` and SUPPRESS; the highest rank gives the preferred name."""

_Columns: TypeAlias = tuple[Int32, UInt32, UInt16, Int32]  # codes, grades, vocabularies, lengths

_MOST_SABS = 1 << 16
_CONCEPTS_AT_ONCE = 1 << 16
_VALUES = len(names.SUPPRESS_VALUES) + 1

_COLUMNS = ("CUI", "LAT", "TS", "STT", "ISPREF", "SCUI", "SAB", "TTY", "CODE", "STR", "SUPPRESS")
_CUI, _LAT, _TS, _STT, _ISPREF, _SCUI, _SAB, _TTY, _CODE, _STR, _SUPPRESS = range(11)


@dataclass(eq=False)
class NameRows:
    """Rows whose name may be used.

    Attributes:
        grades: uint32, quality of the name: see `cuihop_loader._kernels.names`.
        sabs: uint16, index of its vocabulary in `sab_names`.
        lengths: int32, bytes of its text.
        blob: the texts, one after the other.
        suppressed: number of suppressed rows of the file, in the chosen languages; 0 where such names serve too.
        active: number of the others.
        source_codes: the codes of vocabularies in all rows; ``None`` if they are not wanted.
    """

    codes: Int32
    grades: UInt32
    sabs: UInt16
    lengths: Int32
    blob: bytearray
    sab_names: Sequence[bytes]
    suppressed: int
    active: int
    scanner: RowScanner[_Candidates]
    source_codes: ReadCodes | None


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Result of a block: the concepts of its rows, and the rows whose name may be used."""

    concepts: IdentifierColumn
    selected: Int32
    grades: UInt32
    term_types: Int32
    term_type_names: tuple[bytes, ...]
    lengths: Int32
    blob: UInt8
    left_out: dict[str, int]
    suppressed: int
    not_cuis: NotCuis
    source_codes: BlockCodes | None


def _naming(reading: ReleaseReading, ranks: Ranks) -> Callable[[Rows], _Candidates]:
    """The processing of a block of MRCONSO. Shared by threads, so it has no state that changes."""
    options = reading.options
    languages = StringTable.of(options.languages)
    columns = np.array([2 * column for column in (_LAT, _TS, _STT, _ISPREF, _SUPPRESS, _STR)], dtype=np.int64)
    hidden = hidden_names(options)

    @functools.cache
    def rank_bytes(term_type: bytes) -> bytes:
        """The row of ``b"SAB|TTY"`` in the ranks that `names.grade` takes."""
        of_values = [min(ranks.get((term_type, bytes([v])), 0), names.LARGEST_RANK) for v in names.SUPPRESS_VALUES]
        return np.array([*of_values, 0], dtype=np.int32).tobytes()

    def task(rows: Rows) -> _Candidates:
        concepts = identifier_column(rows, _CUI, "CUI", rows.all)
        usable, not_cuis = reading.usable_rows(concepts)
        if not usable.all():
            selected = np.flatnonzero(usable)
            concepts = concepts.at(selected)
            rows.spans = np.ascontiguousarray(rows.spans[selected])
            rows.positions = rows.positions[selected]

        # SAB and TTY are adjacent: one text "SAB|TTY".
        term_types, term_type_names = rows.interned(_SAB, _TTY)
        ranks = np.frombuffer(b"".join(map(rank_bytes, term_type_names)), np.int32).reshape(-1, _VALUES)
        grades = np.empty(len(rows), dtype=np.uint32)
        left_out = np.zeros(2, dtype=np.int64)
        names.grade(
            rows.buffer,
            rows.spans,
            columns,
            languages.offsets,
            languages.blob,
            term_types,
            ranks,
            grades,
            left_out,
        )
        suppressed = np.zeros(1, dtype=np.int64)
        selected_rows = np.empty(len(rows), dtype=np.int32)
        count = names.candidates(concepts.codes, grades, options.synonyms, hidden, selected_rows, suppressed)
        selected_rows = selected_rows[:count]
        texts = np.ascontiguousarray(rows.spans[selected_rows, 2 * _STR : 2 * _STR + 2])
        offsets, blob = interning.copied(rows.buffer, texts)
        of_codes = None
        if options.codes:
            located = _TS, _STT, _ISPREF, _SCUI, _CODE, _SUPPRESS
            of_codes = BlockCodes.of(rows, located, concepts.codes, term_types, term_type_names, ranks)
        others = {"other language": int(left_out[0]), "no text": int(left_out[1])}
        return _Candidates(
            concepts, selected_rows, grades[selected_rows], term_types[selected_rows], term_type_names,
            np.diff(offsets).astype(np.int32), blob, others, int(suppressed[0]), not_cuis, of_codes,
        )  # fmt: skip

    return task


def read_names(file: SourceFile, ranks: Ranks, concepts: ConceptSet, reading: ReleaseReading) -> NameRows:
    """Read MRCONSO. Every concept in it is added to ``concepts``, with or without a usable name.

    Raises:
        InputError: the file or a row of it is malformed.
        LimitExceeded: more than 65,536 vocabularies.
    """
    scanner = reading.scanner(file, _COLUMNS, _naming(reading, ranks))
    blob = bytearray()
    sab_codes: dict[bytes, int] = {}

    @functools.cache
    def sab_of(term_type: bytes) -> int:
        return int(vocabulary_codes([term_type.partition(b"|")[0]], sab_codes, _MOST_SABS, "MRCONSO")[0])

    blocks: list[_Columns] = []
    source_codes = ReadCodes() if reading.options.codes else None
    rows = suppressed = other = 0
    for block in scanner:
        of = reading.codes.codes(block.concepts)
        concepts.add(of)
        sabs = np.array([*map(sab_of, block.term_type_names)], dtype=np.uint16)[block.term_types]
        blocks.append((of[block.selected], block.grades, sabs, block.lengths))
        blob += block.blob.data
        if source_codes is not None and block.source_codes is not None:
            source_codes.add(of, block.source_codes)
        reading.codes.leave_out(scanner, block.not_cuis, block.left_out)
        rows += len(of)
        suppressed += block.suppressed
        other += sum(block.left_out.values())
    return NameRows(
        codes=np.concatenate([np.empty(0, dtype=np.int32), *(codes for codes, *_ in blocks)]),
        grades=np.concatenate([np.empty(0, dtype=np.uint32), *(grades for _, grades, *_ in blocks)]),
        sabs=np.concatenate([np.empty(0, dtype=np.uint16), *(sabs for *_, sabs, _ in blocks)]),
        lengths=np.concatenate([np.empty(0, dtype=np.int32), *(lengths for *_, lengths in blocks)]),
        blob=blob,
        sab_names=list(sab_codes),
        suppressed=suppressed,
        active=rows - suppressed - other,
        scanner=scanner,
        source_codes=source_codes,
    )


def hidden_names(options: LoadOptions) -> int:
    """The bit of the grades of names that serve only where a concept has no other; 0 for none."""
    return 0 if options.include_suppressed else SUPPRESSED_NAME


def with_names(tables: GraphTables, rows: NameRows, concepts: ConceptNumbers, options: LoadOptions) -> GraphTables:
    """The tables with the names of each concept, chosen and sorted. Frees the memory of ``rows``."""
    offsets = bounds_of(rows.lengths)
    counts = np.zeros(len(concepts), dtype=np.int32)
    selected, sab_sets, sets, suppressed = _selected_names(rows, offsets, concepts, options, counts)
    new_offsets = bounds_of(rows.lengths[selected])
    texts = StringTable(new_offsets, np.empty(int(new_offsets[-1]), dtype=np.uint8))
    names.gather(offsets, np.frombuffer(rows.blob, dtype=np.uint8), selected, texts.offsets, texts.blob)
    rows.blob = bytearray()
    rows.scanner.skip("suppressed", rows.suppressed - suppressed)
    reason = "same name again" if options.synonyms else "not the preferred name"
    rows.scanner.skip(reason, rows.active - (len(selected) - suppressed))
    of_names, members = _renumbered(sab_sets, sets.tolist(), rows.sab_names)
    return replace(
        tables,
        names=texts,
        name_indptr=bounds_of(counts, np.int32),
        name_grades=rows.grades[selected],
        name_sab_sets=of_names,
        name_sab_set_members=members,
    )


def _selected_names(
    rows: NameRows, offsets: Int64, concepts: ConceptNumbers, options: LoadOptions, counts: Int32
) -> tuple[Int64, Int32, Int32, int]:
    """The rows of the names chosen, their sets of vocabularies, all sets, and the number of suppressed names.

    ``counts``: out, the number of names of each concept. Frees the codes of ``rows``.
    """
    owners = concepts.of(rows.codes)
    rows.codes = np.empty(0, dtype=np.int32)
    hidden, n_sabs = hidden_names(options), len(rows.sab_names)
    order = np.argsort(
        owners.astype(np.int64) << 32 | (rows.grades & ~np.uint32(SUPPRESSED_NAME ^ hidden)), kind="stable"
    )
    blob = np.frombuffer(rows.blob, dtype=np.uint8)
    rows_of = bounds_of(np.bincount(owners, minlength=len(concepts)))

    def choose(first: int) -> tuple[Int64, Int32, int, Int32]:
        here = order[rows_of[first] : rows_of[min(first + _CONCEPTS_AT_ONCE, len(concepts))]]
        selected, sab_sets = np.empty(len(here), dtype=np.int64), np.empty(len(here), dtype=np.int32)
        count, suppressed, sets = names.choose(
            here, owners, rows.grades, rows.sabs, n_sabs, offsets, blob, options.synonyms, hidden,
            selected, sab_sets, counts,
        )  # fmt: skip
        return selected[:count].copy(), sab_sets[:count].copy(), suppressed, sets[n_sabs:]

    selected, of_names, suppressed = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)], 0
    sets, table = interning.empty_sets(n_sabs)
    n_sets = n_sabs
    for of_piece, sab_sets, hidden_ones, added in in_order(choose, range(0, len(concepts), _CONCEPTS_AT_ONCE)):
        numbers, n_sets, sets, table = interning.common_sets(added, n_sabs, sets, n_sets, table)
        selected.append(of_piece)
        of_names.append(numbers[sab_sets])
        suppressed += hidden_ones
    return np.concatenate(selected), np.concatenate(of_names), sets[:n_sets], suppressed


def _renumbered(
    sab_sets: Int32, sets: Sequence[tuple[int, int]], sab_names: Sequence[bytes]
) -> tuple[npt.NDArray[np.integer], list[tuple[str, ...]]]:
    """The sets of vocabularies that occur, each once and sorted, and the number of each name's set among them."""
    occurs = np.zeros(len(sets), dtype=np.bool_)
    occurs[sab_sets] = True
    members = {
        number: tuple(sorted({sab_names[sab].decode() for sab in members_of(number, sets)} - {""}))
        for number in np.flatnonzero(occurs).tolist()
    }
    distinct = sorted(set(members.values()))
    index_of = {of_set: index for index, of_set in enumerate(distinct)}
    renumbered = np.zeros(len(sets), dtype=np.uint32)
    for number, of_set in members.items():
        renumbered[number] = index_of[of_set]
    few = len(distinct) <= 1 << 16
    return renumbered.astype(np.uint16)[sab_sets] if few else renumbered[sab_sets], distinct
