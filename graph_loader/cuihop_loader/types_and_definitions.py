"""MRSTY: semantic types of concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.progress import StepProgress
from cuihop_loader.identifier_codes import ConceptPlaces, IdentifierCodes, IdentifierColumn, identifier_column, interned
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sorted_numbers import ascending
from cuihop_loader.sources import SourceFile

__all__ = ["SemanticTypes", "TypeRows", "read_types", "types_of"]

_WANTED = ("CUI", "TUI", "STY")
_CUI, _TUI, _STY = range(3)


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
    scanner: RowScanner[_Found]


@dataclass(frozen=True, eq=False)
class SemanticTypes:
    """Semantic types of each concept, as in `cuihop.snapshot.writer.GraphTables`."""

    kinds: Sequence[tuple[str, str]]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _Found:
    concepts: IdentifierColumn
    types: npt.NDArray[np.int32]
    kinds: tuple[bytes, ...]


def _work(rows: Rows) -> _Found:
    concepts = identifier_column(rows, _CUI, "CUI", rows.all)
    # TUI, STN and STY are adjacent: one text "TUI|STN|STY".
    types, kinds = interned(rows, 2 * _TUI, 2 * _STY + 1, rows.all)
    return _Found(concepts, types, kinds)


def read_types(
    file: SourceFile,
    codes: IdentifierCodes,
    rejected: RejectedRows,
    progress: StepProgress | None,
    *,
    only_cuis: bool,
) -> TypeRows:
    """Read MRSTY.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    scanner = RowScanner(file, _WANTED, _work, rejected, progress)
    kinds: dict[tuple[str, str], int] = {}
    all_codes = [np.empty(0, dtype=np.int32)]
    all_types = [np.empty(0, dtype=np.int32)]
    for block in scanner:
        numbers = []
        for kind in block.kinds:
            tui, _, sty = kind.decode().split("|")
            numbers.append(kinds.setdefault((tui, sty), len(kinds)))
        types = np.array(numbers, dtype=np.int32)[block.types]
        column = block.concepts
        good = ~column.is_invalid()
        if only_cuis and column.others:
            cuis = column.codes >= 0
            left_out = int(np.count_nonzero(good & ~cuis))
            scanner.skip("identifier is not a CUI", left_out)
            codes.leave_out("MRSTY", left_out, column.usable_others())
            all_codes.append(column.codes[cuis])
            all_types.append(types[cuis])
        else:
            usable = np.flatnonzero(good)
            all_codes.append(codes.codes(column.at(usable)))
            all_types.append(types[usable])
    return TypeRows(np.concatenate(all_codes), np.concatenate(all_types), list(kinds), scanner)


def types_of(rows: TypeRows, concepts: ConceptPlaces) -> SemanticTypes:
    """The types of each concept, in the order of their identifiers."""
    order = sorted(range(len(rows.kinds)), key=lambda kind: rows.kinds[kind])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    places = concepts.of(rows.codes)
    of_concepts = np.flatnonzero(places >= 0)
    rows.scanner.skip("concept is in neither MRREL nor MRCONSO", len(places) - len(of_concepts))
    statements = ascending(places[of_concepts].astype(np.int64) << 32 | numbers[rows.types[of_concepts]])
    rows.scanner.skip("same type again", len(of_concepts) - len(statements))
    indptr = np.zeros(len(concepts) + 1, dtype=np.int32)
    np.cumsum(np.bincount(statements >> 32, minlength=len(concepts)), out=indptr[1:])
    return SemanticTypes(
        [rows.kinds[kind] for kind in order],
        indptr,
        (statements & 0xFFFFFFFF).astype(np.int32),
        rows.scanner.report,
    )
