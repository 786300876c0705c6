"""MRCONSO: the concepts of a release, and their names, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.snapshot.string_table import StringTable, bounds_of
from cuihop_loader.identifier_codes import (
    ConceptPlaces,
    ConceptSet,
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
)
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

__all__ = ["ConceptNames", "NameRows", "Ranks", "names_of", "read_names"]

Ranks = Mapping[tuple[bytes, bytes], int]
"""Rank of ``b"SAB|TTY"`` and SUPPRESS; the highest rank gives the preferred name."""

_WANTED = ("CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS")
_CUI, _LAT, _TS, _STT, _ISPREF, _SAB, _TTY, _STR, _SUPPRESS = range(9)


@dataclass(eq=False)
class NameRows:
    """Rows whose name may be used.

    Attributes:
        codes: int32, of the concept.
        grades: uint32, quality of the name: see `cuihop_loader._kernels.names`.
        lengths: int32, bytes of its text.
        blob: the texts, one after the other.
        suppressed: number of suppressed rows of the file, in the chosen languages.
        active: number of the others.
        scanner: for the report.
    """

    codes: npt.NDArray[np.int32]
    grades: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.int32]
    blob: bytearray
    suppressed: int
    active: int
    scanner: RowScanner[_Candidates]


@dataclass(frozen=True, eq=False)
class ConceptNames:
    """Names of each concept, as in `cuihop.snapshot.writer.GraphTables`."""

    names: StringTable
    indptr: npt.NDArray[np.int32]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Result of a block: the concepts of its rows, and the rows whose name may be used."""

    concepts: IdentifierColumn
    chosen: npt.NDArray[np.int32]
    grades: npt.NDArray[np.uint32]
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
        self._with_suppressed = options.include_suppressed
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
            self._with_suppressed,
            grades,
            left_out,
        )
        suppressed = np.zeros(1, dtype=np.int64)
        chosen_rows = np.empty(len(rows), dtype=np.int32)
        count = names.candidates(concepts.codes, grades, self._all_names, chosen_rows, suppressed)
        chosen_rows = chosen_rows[:count]
        lengths = np.empty(count, dtype=np.int32)
        blob = np.empty(names.lengths(rows.spans, 2 * _STR, chosen_rows, lengths), dtype=np.uint8)
        names.copy(rows.buffer, rows.spans, 2 * _STR, chosen_rows, blob)
        return _Candidates(
            concepts, chosen_rows, grades[chosen_rows], lengths, blob,
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
    """
    scanner = reading.scanner(file, _WANTED, _Naming(reading, ranks))
    blob = bytearray()
    found: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.int32]]] = []
    rows = suppressed = other = 0
    for block in scanner:
        of = reading.codes.codes(block.concepts)
        concepts.add(of)
        found.append((of[block.chosen], block.grades, block.lengths))
        blob += block.blob.data
        scanner.skip("other language", block.other_language)
        scanner.skip("no text", block.without_text)
        reading.codes.leave_out(scanner, block.not_cuis)
        rows += len(of)
        suppressed += block.suppressed
        other += block.other_language + block.without_text
    return NameRows(
        codes=np.concatenate([np.empty(0, dtype=np.int32), *(code for code, _, _ in found)]),
        grades=np.concatenate([np.empty(0, dtype=np.uint32), *(grade for _, grade, _ in found)]),
        lengths=np.concatenate([np.empty(0, dtype=np.int32), *(length for _, _, length in found)]),
        blob=blob,
        suppressed=suppressed,
        active=rows - suppressed - other,
        scanner=scanner,
    )


def names_of(rows: NameRows, concepts: ConceptPlaces, *, all_names: bool) -> ConceptNames:
    """Choose and sort the names of each concept. Frees the memory of ``rows``."""
    from cuihop_loader._kernels import names

    places = concepts.of(rows.codes)
    offsets = bounds_of(rows.lengths)
    order = np.argsort(places.astype(np.int64) << 32 | rows.grades, kind="stable")
    blob = np.frombuffer(rows.blob, dtype=np.uint8) if rows.blob else np.empty(0, dtype=np.uint8)
    chosen_rows = np.empty(len(places), dtype=np.int64)
    counts = np.zeros(len(concepts), dtype=np.int32)
    count, suppressed = names.choose(order, places, rows.grades, offsets, blob, all_names, chosen_rows, counts)
    chosen_rows = chosen_rows[:count]
    del order, places
    new_offsets = bounds_of(rows.lengths[chosen_rows])
    new_blob = np.empty(int(new_offsets[-1]), dtype=np.uint8)
    names.gather(offsets, blob, chosen_rows, new_offsets, new_blob)
    del blob
    rows.blob = bytearray()
    rows.scanner.skip("suppressed", rows.suppressed - suppressed)
    rows.scanner.skip("same name again" if all_names else "not the preferred name", rows.active - (count - suppressed))
    return ConceptNames(StringTable(new_offsets, new_blob), bounds_of(counts, np.int32), rows.scanner.report)
