"""MRCUI, MERGEDCUI and DELETEDCUI: retired concepts and their successors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cuihop.resources.arrays import Int32, Int64, ascending
from cuihop.snapshot.writer import RETIRED_RELATIONS, RetiredTable
from cuihop_loader.identifier_codes import (
    ConceptNumbers,
    IdentifierCodes,
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
)
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

_COLUMNS = {"MRCUI": ("CUI1", "CUI2", "REL"), "MERGEDCUI": ("PCUI", "CUI"), "DELETEDCUI": ("PCUI",)}
_RELATION = {"MERGEDCUI": "SY", "DELETEDCUI": "DEL"}
_WITHOUT_SUCCESSOR = RETIRED_RELATIONS.index("DEL")
_NOT_IN_SUBSET = "SUBX"
"""MRCUI's word for a concept of UMLS that is missing from this subset only; it is not retired."""

_Block: TypeAlias = tuple[IdentifierColumn, Int64, IdentifierColumn, dict[str, int], NotCuis]
"""Of a block's statements the concepts, relations and successors; and rows left out, by reason and as no CUIs."""


@dataclass(frozen=True, eq=False)
class HistoryRows:
    """Statements of one file.

    Attributes:
        retired, successors: int32, codes; 0 for no successor.
        relations: int64, positions in `RETIRED_RELATIONS`.
    """

    retired: Int32
    relations: Int64
    successors: Int32
    scanner: RowScanner[_Block]


def _statements(reading: ReleaseReading, role: str) -> Callable[[Rows], _Block]:
    """The processing of a block of such a file. Shared by threads, so it has no state that changes."""
    names = _COLUMNS[role]

    def task(rows: Rows) -> _Block:
        selected = rows.all
        left_out: dict[str, int] = {}
        if role == "MRCUI":
            numbers, words = rows.interned(2, 2)
            indices = [RETIRED_RELATIONS.index(w.decode()) if w.decode() in RETIRED_RELATIONS else -1 for w in words]
            relations = np.array(indices, dtype=np.int64)[numbers]
            for number, word in enumerate(words):
                if indices[number] < 0:
                    why = "not in this subset" if word.decode() == _NOT_IN_SUBSET else "other relation"
                    left_out[why] = left_out.get(why, 0) + int(np.count_nonzero(numbers == number))
            selected = np.flatnonzero(relations >= 0).astype(np.int32)
            relations = relations[selected]
        else:
            relations = np.full(len(rows), RETIRED_RELATIONS.index(_RELATION[role]), dtype=np.int64)
        retired = identifier_column(rows, 0, names[0], selected)
        if role == "DELETEDCUI":
            successors = IdentifierColumn(np.zeros(len(selected), dtype=np.int32))
        else:
            successors = identifier_column(rows, 1, names[1], selected, may_be_empty=True)
            refused = {bad.row for bad in rows.bad_rows}
            for i in np.flatnonzero((successors.codes == 0) & (relations != _WITHOUT_SUCCESSOR)).tolist():
                if int(rows.positions[selected[i]]) not in refused:
                    problem = f"no successor for {RETIRED_RELATIONS[int(relations[i])]}"
                    rows.refuse(int(selected[i]), names[1], problem, "nothing", "an identifier")
        usable = ~(retired.is_invalid() | successors.is_invalid())
        usable &= (successors.codes != 0) | (relations == _WITHOUT_SUCCESSOR)
        rest = np.flatnonzero(usable)
        retired, successors, relations = retired.at(rest), successors.at(rest), relations[rest]
        usable, not_cuis = reading.usable_rows(retired)
        rest = np.flatnonzero(usable)
        return retired.at(rest), relations[rest], successors.at(rest), left_out, not_cuis

    return task


def read_history(file: SourceFile, reading: ReleaseReading) -> HistoryRows:
    """Read one of the three files.

    Successors that the graph does not hold are included, so that a message can name them.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    codes = reading.codes
    scanner = reading.scanner(file, _COLUMNS[file.role], _statements(reading, file.role))
    retired = [np.empty(0, dtype=np.int32)]
    relations = [np.empty(0, dtype=np.int64)]
    successors = [np.empty(0, dtype=np.int32)]
    for of_retired, of_relations, of_successors, left_out, not_cuis in scanner:
        retired.append(codes.codes(of_retired))
        relations.append(of_relations)
        successors.append(codes.codes(of_successors))
        codes.leave_out(scanner, not_cuis, left_out)
    return HistoryRows(np.concatenate(retired), np.concatenate(relations), np.concatenate(successors), scanner)


def retired_concepts(files: Sequence[HistoryRows], concepts: ConceptNumbers, codes: IdentifierCodes) -> RetiredTable:
    """The retired concepts, each statement once. Concepts of the release are left out."""
    triples = []
    for rows in files:
        retired = np.flatnonzero(concepts.of(rows.retired) < 0)
        rows.scanner.skip("concept is current", len(rows.retired) - len(retired))
        triples.append(np.stack([rows.retired[retired], rows.relations[retired], rows.successors[retired]]))
    old, relation, new = np.concatenate([np.empty((3, 0), dtype=np.int64), *triples], axis=1)
    distinct = ascending(np.concatenate([old, new]))
    identifiers, ranks = codes.in_order(distinct)
    key = ranks[np.searchsorted(distinct, old)].astype(np.int64) << 32 | relation << 29
    key |= ranks[np.searchsorted(distinct, new)]
    key = ascending(key)
    relations = ((key >> 29) & 7).astype(np.uint8)
    return RetiredTable(identifiers[key >> 32], relations, identifiers[key & ((1 << 29) - 1)])
