"""MRCONSO: the concepts of a release, and their names, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import bounds_of
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop.snapshot.string_table import StringTable
from cuihop_loader.identifier_codes import (
    ConceptPlaces,
    ConceptSet,
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
    vocabulary_codes,
)
from cuihop_loader.options import LoadOptions
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

Ranks = Mapping[tuple[bytes, bytes], int]
"""Rank of ``b"SAB|TTY"`` and SUPPRESS; the highest rank gives the preferred name."""

_Columns: TypeAlias = tuple[
    npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.uint16], npt.NDArray[np.int32]
]  # codes, grades, vocabularies, lengths

_MOST_SABS = 1 << 16

_WANTED = ("CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS")
_CUI, _LAT, _TS, _STT, _ISPREF, _SAB, _TTY, _STR, _SUPPRESS = range(9)


@dataclass(eq=False)
class NameRows:
    """Rows whose name may be used.

    Attributes:
        codes: int32, of the concept.
        grades: uint32, quality of the name: see `cuihop_loader._kernels.names`.
        sabs: uint16, place of its vocabulary in `sab_names`.
        lengths: int32, bytes of its text.
        blob: the texts, one after the other.
        sab_names: the vocabularies.
        suppressed: number of suppressed rows of the file, in the chosen languages; 0 where such names serve too.
        active: number of the others.
        scanner: for the report.
    """

    codes: npt.NDArray[np.int32]
    grades: npt.NDArray[np.uint32]
    sabs: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.int32]
    blob: bytearray
    sab_names: Sequence[bytes]
    suppressed: int
    active: int
    scanner: RowScanner[_Candidates]


@dataclass(frozen=True, eq=False)
class ConceptNames:
    """Names of each concept, their grades and vocabularies, as in `cuihop.snapshot.writer.GraphTables`."""

    names: StringTable
    indptr: npt.NDArray[np.int32]
    grades: npt.NDArray[np.uint32]
    sab_sets: npt.NDArray[np.integer]
    sab_set_members: Sequence[tuple[str, ...]]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Result of a block: the concepts of its rows, and the rows whose name may be used."""

    concepts: IdentifierColumn
    chosen: npt.NDArray[np.int32]
    grades: npt.NDArray[np.uint32]
    sabs: npt.NDArray[np.int32]
    sab_names: tuple[bytes, ...]
    lengths: npt.NDArray[np.int32]
    blob: npt.NDArray[np.uint8]
    other_language: int
    without_text: int
    suppressed: int
    not_cuis: NotCuis


class _Naming:
    """Processing of a block of MRCONSO. Shared by threads, so it has no state that changes."""

    def __init__(self, reading: ReleaseReading, ranks: Ranks) -> None:
        options = reading.options
        self._reading = reading
        self._languages = {language.encode(): place for place, language in enumerate(options.languages)}
        self._all_names = options.synonyms
        self._hidden = hidden_names(options)
        self._ranks = ranks

    def __call__(self, rows: Rows) -> _Candidates:
        from cuihop_loader._kernels import names

        concepts = identifier_column(rows, _CUI, "CUI", rows.all)
        usable, not_cuis = self._reading.usable_rows(concepts)
        if not usable.all():
            chosen = np.flatnonzero(usable)
            concepts = concepts.at(chosen)
            rows.spans = np.ascontiguousarray(rows.spans[chosen])
            rows.places = rows.places[chosen]

        languages, language_names = rows.interned(_LAT, _LAT)
        # SAB and TTY are adjacent: one text "SAB|TTY".
        term_types, term_type_names = rows.interned(_SAB, _TTY)
        grades = np.empty(len(rows), dtype=np.uint32)
        left_out = np.zeros(2, dtype=np.int64)
        names.grade(
            rows.buffer,
            rows.spans,
            np.array([2 * column for column in (_TS, _STT, _ISPREF, _SUPPRESS, _STR)], dtype=np.int64),
            languages,
            np.array([self._languages.get(name, -1) for name in language_names], dtype=np.int32),
            term_types,
            self._ranks_of(term_type_names),
            grades,
            left_out,
        )
        suppressed = np.zeros(1, dtype=np.int64)
        chosen_rows = np.empty(len(rows), dtype=np.int32)
        count = names.candidates(concepts.codes, grades, self._all_names, self._hidden, chosen_rows, suppressed)
        chosen_rows = chosen_rows[:count]
        lengths = np.empty(count, dtype=np.int32)
        blob = np.empty(names.lengths(rows.spans, 2 * _STR, chosen_rows, lengths), dtype=np.uint8)
        names.copy(rows.buffer, rows.spans, 2 * _STR, chosen_rows, blob)
        sab_names = tuple(name.partition(b"|")[0] for name in term_type_names)  # some of them several times
        return _Candidates(
            concepts, chosen_rows, grades[chosen_rows], term_types[chosen_rows], sab_names, lengths, blob,
            int(left_out[0]), int(left_out[1]), int(suppressed[0]), not_cuis,
        )  # fmt: skip

    def _ranks_of(self, term_types: Sequence[bytes]) -> npt.NDArray[np.int32]:
        from cuihop_loader._kernels import names

        ranks = np.zeros((max(1, len(term_types)), len(names.SUPPRESS_VALUES) + 1), dtype=np.int32)
        for row, term_type in enumerate(term_types):
            for column, value in enumerate(names.SUPPRESS_VALUES):
                ranks[row, column] = min(self._ranks.get((term_type, bytes([value])), 0), names.LARGEST_RANK)
        return ranks


def read_names(file: SourceFile, ranks: Ranks, concepts: ConceptSet, reading: ReleaseReading) -> NameRows:
    """Read MRCONSO. Every concept in it is added to ``concepts``, with or without a usable name.

    Raises:
        InputError: the file or a row of it is malformed.
        LimitExceeded: more than 65,536 vocabularies.
    """
    scanner = reading.scanner(file, _WANTED, _Naming(reading, ranks))
    blob = bytearray()
    sab_codes: dict[bytes, int] = {}
    found: list[_Columns] = []
    rows = suppressed = other = 0
    for block in scanner:
        of = reading.codes.codes(block.concepts)
        concepts.add(of)
        sabs = vocabulary_codes(block.sab_names, sab_codes, _MOST_SABS, "MRCONSO")[block.sabs]
        found.append((of[block.chosen], block.grades, sabs.astype(np.uint16), block.lengths))
        blob += block.blob.data
        scanner.skip("other language", block.other_language)
        scanner.skip("no text", block.without_text)
        reading.codes.leave_out(scanner, block.not_cuis)
        rows += len(of)
        suppressed += block.suppressed
        other += block.other_language + block.without_text
    return NameRows(
        codes=np.concatenate([np.empty(0, dtype=np.int32), *(codes for codes, *_ in found)]),
        grades=np.concatenate([np.empty(0, dtype=np.uint32), *(grades for _, grades, *_ in found)]),
        sabs=np.concatenate([np.empty(0, dtype=np.uint16), *(sabs for *_, sabs, _ in found)]),
        lengths=np.concatenate([np.empty(0, dtype=np.int32), *(lengths for *_, lengths in found)]),
        blob=blob,
        sab_names=list(sab_codes),
        suppressed=suppressed,
        active=rows - suppressed - other,
        scanner=scanner,
    )


def hidden_names(options: LoadOptions) -> int:
    """The bit of the grades of names that serve only where a concept has no other; 0 for none."""
    return 0 if options.include_suppressed else SUPPRESSED_NAME


def names_of(rows: NameRows, concepts: ConceptPlaces, options: LoadOptions) -> ConceptNames:
    """Choose and sort the names of each concept. Frees the memory of ``rows``."""
    from cuihop_loader._kernels import names

    places = concepts.of(rows.codes)
    offsets = bounds_of(rows.lengths)
    all_names, hidden = options.synonyms, hidden_names(options)
    keys = places.astype(np.int64) << 32 | (rows.grades & ~np.uint32(SUPPRESSED_NAME ^ hidden))
    order = np.argsort(keys, kind="stable")
    del keys
    blob = np.frombuffer(rows.blob, dtype=np.uint8) if rows.blob else np.empty(0, dtype=np.uint8)
    chosen_rows = np.empty(len(places), dtype=np.int64)
    counts = np.zeros(len(concepts), dtype=np.int32)
    sab_sets = np.empty(len(places), dtype=np.int32)
    count, suppressed, sets = names.choose(
        order, places, rows.grades, rows.sabs, len(rows.sab_names), offsets, blob, all_names, hidden,
        chosen_rows, sab_sets, counts,
    )  # fmt: skip
    chosen_rows = chosen_rows[:count]
    del order, places
    new_offsets = bounds_of(rows.lengths[chosen_rows])
    new_blob = np.empty(int(new_offsets[-1]), dtype=np.uint8)
    names.gather(offsets, blob, chosen_rows, new_offsets, new_blob)
    del blob
    rows.blob = bytearray()
    rows.scanner.skip("suppressed", rows.suppressed - suppressed)
    rows.scanner.skip("same name again" if all_names else "not the preferred name", rows.active - (count - suppressed))
    of_names, members = _renumbered(sab_sets[:count], sets.tolist(), rows.sab_names)
    return ConceptNames(
        StringTable(new_offsets, new_blob),
        bounds_of(counts, np.int32),
        rows.grades[chosen_rows],
        of_names,
        members,
        rows.scanner.report,
    )


def _renumbered(
    sab_sets: npt.NDArray[np.int32], sets: Sequence[tuple[int, int]], sab_names: Sequence[bytes]
) -> tuple[npt.NDArray[np.integer], list[tuple[str, ...]]]:
    """The sets of vocabularies that occur, each once and sorted, and the number of each name's set among them."""
    occurs = np.zeros(len(sets), dtype=np.bool_)
    occurs[sab_sets] = True
    members = {number: _members(number, sets, sab_names) for number in np.flatnonzero(occurs).tolist()}
    distinct = sorted(set(members.values()))
    places = {of_set: place for place, of_set in enumerate(distinct)}
    renumbered = np.zeros(len(sets), dtype=np.uint32)
    for number, of_set in members.items():
        renumbered[number] = places[of_set]
    few = len(distinct) <= 1 << 16
    return renumbered.astype(np.uint16)[sab_sets] if few else renumbered[sab_sets], distinct


def _members(number: int, sets: Sequence[tuple[int, int]], sab_names: Sequence[bytes]) -> tuple[str, ...]:
    found = set()
    while number >= 0:
        number, sab = sets[number]
        found.add(sab_names[sab].decode())
    return tuple(sorted(found - {""}))
