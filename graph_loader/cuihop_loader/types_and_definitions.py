"""MRSTY and MRDEF: the semantic types of concepts, and their definitions by vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cuihop.resources.arrays import Int32, ascending, bounds_of
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import GraphTables
from cuihop_loader.identifier_codes import ConceptNumbers, IdentifierColumn, NotCuis, ReleaseReading, identifier_column
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

_UNKNOWN_CONCEPT = "concept is in neither MRREL nor MRCONSO"


@dataclass(frozen=True, eq=False)
class TypeRows:
    """Statements: codes of concepts, and positions of types in ``kinds``, pairs of identifier and name."""

    codes: Int32
    types: Int32
    kinds: Sequence[tuple[str, str]]
    scanner: RowScanner[Any]


@dataclass(frozen=True, eq=False)
class DefinitionRows:
    """The usable rows: codes of concepts; and vocabulary, a bar and the definition, adjacent as in the file."""

    codes: Int32
    texts: list[bytes]
    scanner: RowScanner[Any]


def read_types(file: SourceFile, reading: ReleaseReading) -> TypeRows:
    """Read MRSTY.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def task(rows: Rows) -> tuple[IdentifierColumn, Int32, list[tuple[str, str]], NotCuis]:
        concepts = identifier_column(rows, 0, "CUI", rows.all)
        usable, not_cuis = reading.usable_rows(concepts)
        # TUI, STN and STY are adjacent: one text "TUI|STN|STY".
        types, texts = rows.interned(1, 2)
        kinds = [(tui, sty) for tui, _, sty in (text.decode().split("|") for text in texts)]
        selected = np.flatnonzero(usable)
        return concepts.at(selected), types[selected], kinds, not_cuis

    scanner = reading.scanner(file, ("CUI", "TUI", "STY"), task)
    kinds: dict[tuple[str, str], int] = {}
    codes = [np.empty(0, dtype=np.int32)]
    types = [np.empty(0, dtype=np.int32)]
    for concepts, of_block, kinds_of_block, not_cuis in scanner:
        numbers = [kinds.setdefault(kind, len(kinds)) for kind in kinds_of_block]
        codes.append(reading.codes.codes(concepts))
        types.append(np.array(numbers, dtype=np.int32)[of_block])
        reading.codes.leave_out(scanner, not_cuis, {})
    return TypeRows(np.concatenate(codes), np.concatenate(types), list(kinds), scanner)


def with_types(tables: GraphTables, rows: TypeRows, concepts: ConceptNumbers) -> GraphTables:
    """The tables with the types of each concept, in the order of their identifiers."""
    order = sorted(range(len(rows.kinds)), key=lambda kind: rows.kinds[kind])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    owners = concepts.of(rows.codes)
    of_concepts = np.flatnonzero(owners >= 0)
    rows.scanner.skip(_UNKNOWN_CONCEPT, len(owners) - len(of_concepts))
    statements = ascending(owners[of_concepts].astype(np.int64) << 32 | numbers[rows.types[of_concepts]])
    rows.scanner.skip("same type again", len(of_concepts) - len(statements))
    return replace(
        tables,
        semantic_types=[rows.kinds[kind] for kind in order],
        type_indptr=bounds_of(np.bincount(statements >> 32, minlength=len(concepts)), np.int32),
        type_indices=(statements & 0xFFFFFFFF).astype(np.int32),
    )


_COLUMNS = ("CUI", "SAB", "DEF", "SUPPRESS")
_CUI, _SAB, _DEF, _SUPPRESS = range(4)


def read_definitions(file: SourceFile, languages: Mapping[str, str], reading: ReleaseReading) -> DefinitionRows:
    """Read MRDEF, with the language of each vocabulary from MRSAB; vocabularies without one are used.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    options = reading.options
    other_languages = {
        sab.encode() for sab, language in languages.items() if language and language not in options.languages
    }

    def task(rows: Rows) -> tuple[IdentifierColumn, list[bytes], dict[str, int], NotCuis]:
        concepts = identifier_column(rows, _CUI, "CUI", rows.all)
        usable, not_cuis = reading.usable_rows(concepts)
        at, end = rows.spans[:, 2 * _SUPPRESS], rows.spans[:, 2 * _SUPPRESS + 1]
        suppressed = ((end - at != 1) | (rows.buffer[at] != ord("N"))) & (not options.include_suppressed)
        sabs, names = rows.interned(_SAB, _SAB)
        foreign = np.array([name in other_languages for name in names], dtype=np.bool_)
        empty = rows.spans[:, 2 * _DEF] == rows.spans[:, 2 * _DEF + 1]
        left_out = {}
        for reason, mask in (("suppressed", suppressed), ("other language", foreign[sabs]), ("no text", empty)):
            left_out[reason] = int(np.count_nonzero(usable & mask))
            usable &= ~mask
        selected = np.flatnonzero(usable)
        # SAB and DEF are adjacent: one text "SAB|DEF".
        spans = rows.spans[selected][:, [2 * _SAB, 2 * _DEF + 1]].tolist()
        texts = [rows.buffer[begin:end].tobytes() for begin, end in spans]
        return concepts.at(selected), texts, left_out, not_cuis

    scanner = reading.scanner(file, _COLUMNS, task)
    codes = [np.empty(0, dtype=np.int32)]
    texts: list[bytes] = []
    for concepts, texts_of_block, left_out, not_cuis in scanner:
        codes.append(reading.codes.codes(concepts))
        texts += texts_of_block
        reading.codes.leave_out(scanner, not_cuis, left_out)
    return DefinitionRows(np.concatenate(codes), texts, scanner)


def with_definitions(tables: GraphTables, rows: DefinitionRows, concepts: ConceptNumbers) -> GraphTables:
    """The tables with the distinct definitions of each concept, by vocabulary and text."""
    placed = list(zip(concepts.of(rows.codes).tolist(), rows.texts, strict=True))
    of_concepts = [row for row in placed if row[0] >= 0]
    distinct = sorted(set(of_concepts), key=lambda row: (row[0], *row[1].split(b"|", 1)))
    rows.scanner.skip(_UNKNOWN_CONCEPT, len(placed) - len(of_concepts))
    rows.scanner.skip("same definition again", len(of_concepts) - len(distinct))
    counts = np.bincount(np.array([owner for owner, _ in distinct], dtype=np.int64), minlength=len(concepts))
    texts = StringTable.of_bytes([text for _, text in distinct])
    return replace(tables, definitions=texts, definition_indptr=bounds_of(counts, np.int32))
