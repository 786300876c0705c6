"""MRSTY and MRDEF: the semantic types of concepts, and their definitions by vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import bounds_of
from cuihop.snapshot.string_table import StringTable
from cuihop_loader.arrays import ascending
from cuihop_loader.identifier_codes import ConceptPlaces, IdentifierColumn, NotCuis, ReleaseReading, identifier_column
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

_UNKNOWN_CONCEPT = "concept is in neither MRREL nor MRCONSO"
_REASONS = ("suppressed", "other language", "no text")


@dataclass(frozen=True, eq=False)
class TypeRows:
    """One row for each statement.

    Attributes:
        codes: int32, of the concept.
        types: int32, a position in ``kinds``.
        kinds: pairs of type identifier and name.
        scanner: for the report.
    """

    codes: npt.NDArray[np.int32]
    types: npt.NDArray[np.int32]
    kinds: Sequence[tuple[str, str]]
    scanner: RowScanner[_BlockTypes]


@dataclass(frozen=True, eq=False)
class SemanticTypes:
    """Semantic types of each concept, as in `cuihop.snapshot.writer.GraphTables`."""

    kinds: Sequence[tuple[str, str]]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    report: FileReport


@dataclass(frozen=True, eq=False)
class DefinitionRows:
    """The usable rows.

    Attributes:
        codes: int32, of the concept.
        texts: of each row its vocabulary, a bar, and the definition, adjacent as in the file.
        scanner: for the report.
    """

    codes: npt.NDArray[np.int32]
    texts: list[bytes]
    scanner: RowScanner[_BlockDefinitions]


@dataclass(frozen=True, eq=False)
class Definitions:
    """Definitions of each concept, as in `cuihop.snapshot.writer.GraphTables`."""

    texts: StringTable
    indptr: npt.NDArray[np.int32]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _BlockTypes:
    concepts: IdentifierColumn
    types: npt.NDArray[np.int32]
    kinds: tuple[bytes, ...]
    not_cuis: NotCuis


def read_types(file: SourceFile, reading: ReleaseReading) -> TypeRows:
    """Read MRSTY.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def work(rows: Rows) -> _BlockTypes:
        concepts = identifier_column(rows, 0, "CUI", rows.all)
        usable, not_cuis = reading.usable_rows(concepts)
        # TUI, STN and STY are adjacent: one text "TUI|STN|STY".
        types, kinds = rows.interned(1, 2)
        chosen = np.flatnonzero(usable)
        return _BlockTypes(concepts.at(chosen), types[chosen], kinds, not_cuis)

    scanner = reading.scanner(file, ("CUI", "TUI", "STY"), work)
    kinds: dict[tuple[str, str], int] = {}
    codes = [np.empty(0, dtype=np.int32)]
    types = [np.empty(0, dtype=np.int32)]
    for block in scanner:
        numbers = []
        for kind in block.kinds:
            tui, _, sty = kind.decode().split("|")
            numbers.append(kinds.setdefault((tui, sty), len(kinds)))
        codes.append(reading.codes.codes(block.concepts))
        types.append(np.array(numbers, dtype=np.int32)[block.types])
        reading.codes.leave_out(scanner, block.not_cuis)
    return TypeRows(np.concatenate(codes), np.concatenate(types), list(kinds), scanner)


def types_of(rows: TypeRows, concepts: ConceptPlaces) -> SemanticTypes:
    """The types of each concept, in the order of their identifiers."""
    order = sorted(range(len(rows.kinds)), key=lambda kind: rows.kinds[kind])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    places = concepts.of(rows.codes)
    of_concepts = np.flatnonzero(places >= 0)
    rows.scanner.skip(_UNKNOWN_CONCEPT, len(places) - len(of_concepts))
    statements = ascending(places[of_concepts].astype(np.int64) << 32 | numbers[rows.types[of_concepts]])
    rows.scanner.skip("same type again", len(of_concepts) - len(statements))
    return SemanticTypes(
        [rows.kinds[kind] for kind in order],
        bounds_of(np.bincount(statements >> 32, minlength=len(concepts)), np.int32),
        (statements & 0xFFFFFFFF).astype(np.int32),
        rows.scanner.report,
    )


_WANTED = ("CUI", "SAB", "DEF", "SUPPRESS")
_CUI, _SAB, _DEF, _SUPPRESS = range(4)


@dataclass(frozen=True, eq=False)
class _BlockDefinitions:
    concepts: IdentifierColumn
    texts: list[bytes]
    left_out: tuple[int, ...]
    not_cuis: NotCuis


class _Selection:
    """Processing of a block of MRDEF. Shared by threads, so it has no state that changes."""

    def __init__(self, reading: ReleaseReading, languages: Mapping[str, str]) -> None:
        options = reading.options
        self._reading = reading
        self._with_suppressed = options.include_suppressed
        self._other_languages = {
            sab.encode() for sab, language in languages.items() if language and language not in options.languages
        }

    def __call__(self, rows: Rows) -> _BlockDefinitions:
        concepts = identifier_column(rows, _CUI, "CUI", rows.all)
        usable, not_cuis = self._reading.usable_rows(concepts)
        at, end = rows.spans[:, 2 * _SUPPRESS], rows.spans[:, 2 * _SUPPRESS + 1]
        suppressed = (end - at != 1) | (rows.buffer[at] != ord("N"))
        sabs, names = rows.interned(_SAB, _SAB)
        foreign = np.array([name in self._other_languages for name in names], dtype=np.bool_)
        left_out = []
        for reason in (
            np.zeros(len(rows), dtype=np.bool_) if self._with_suppressed else suppressed,
            foreign[sabs],
            rows.spans[:, 2 * _DEF] == rows.spans[:, 2 * _DEF + 1],
        ):
            left_out.append(int(np.count_nonzero(usable & reason)))
            usable &= ~reason
        chosen = np.flatnonzero(usable)
        # SAB and DEF are adjacent: one text "SAB|DEF".
        spans = rows.spans[chosen][:, [2 * _SAB, 2 * _DEF + 1]].tolist()
        texts = [rows.buffer[begin:end].tobytes() for begin, end in spans]
        return _BlockDefinitions(concepts.at(chosen), texts, tuple(left_out), not_cuis)


def read_definitions(file: SourceFile, languages: Mapping[str, str], reading: ReleaseReading) -> DefinitionRows:
    """Read MRDEF.

    Args:
        file: the file.
        languages: the language of each vocabulary, from MRSAB; vocabularies without one are used.
        reading: common to all files.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    scanner = reading.scanner(file, _WANTED, _Selection(reading, languages))
    found = [np.empty(0, dtype=np.int32)]
    texts: list[bytes] = []
    for block in scanner:
        found.append(reading.codes.codes(block.concepts))
        texts += block.texts
        for reason, count in zip(_REASONS, block.left_out, strict=True):
            scanner.skip(reason, count)
        reading.codes.leave_out(scanner, block.not_cuis)
    return DefinitionRows(np.concatenate(found), texts, scanner)


def definitions_of(rows: DefinitionRows, concepts: ConceptPlaces) -> Definitions:
    """Distinct definitions of each concept, by vocabulary and text."""
    placed = list(zip(concepts.of(rows.codes).tolist(), rows.texts, strict=True))
    of_concepts = [row for row in placed if row[0] >= 0]
    distinct = sorted(set(of_concepts), key=lambda row: (row[0], *row[1].split(b"|", 1)))
    rows.scanner.skip(_UNKNOWN_CONCEPT, len(placed) - len(of_concepts))
    rows.scanner.skip("same definition again", len(of_concepts) - len(distinct))
    counts = np.bincount(np.array([place for place, _ in distinct], dtype=np.int64), minlength=len(concepts))
    return Definitions(
        StringTable.of_bytes([text for _, text in distinct]), bounds_of(counts, np.int32), rows.scanner.report
    )
