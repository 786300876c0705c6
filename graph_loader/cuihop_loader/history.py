"""MRCUI, MERGEDCUI and DELETEDCUI: retired concepts and their successors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.snapshot.writer import RETIRED_RELATIONS, RetiredTable
from cuihop_loader.arrays import ascending
from cuihop_loader.identifier_codes import (
    ConceptPlaces,
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


@dataclass(frozen=True, eq=False)
class HistoryRows:
    """Statements of one file.

    Attributes:
        retired, successors: int32, codes; 0 for no successor.
        relations: int64, positions in `RETIRED_RELATIONS`.
        scanner: for the report.
    """

    retired: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int64]
    successors: npt.NDArray[np.int32]
    scanner: RowScanner[_Found]


@dataclass(frozen=True, eq=False)
class _Found:
    retired: IdentifierColumn
    successors: IdentifierColumn
    relations: npt.NDArray[np.int64]
    left_out: dict[str, int]
    not_cuis: NotCuis


class _Statements:
    """Processing of a block of such a file. Shared by threads, so it has no state that changes."""

    def __init__(self, reading: ReleaseReading, role: str) -> None:
        self._reading = reading
        self._role = role
        self._names = _COLUMNS[role]

    def __call__(self, rows: Rows) -> _Found:
        chosen = rows.all
        left_out: dict[str, int] = {}
        if self._role == "MRCUI":
            numbers, names = rows.interned(2, 2)
            indices = [RETIRED_RELATIONS.index(n.decode()) if n.decode() in RETIRED_RELATIONS else -1 for n in names]
            relations = np.array(indices, dtype=np.int64)[numbers]
            for number, name in enumerate(names):
                if indices[number] < 0:
                    why = "not in this subset" if name.decode() == _NOT_IN_SUBSET else "other relation"
                    left_out[why] = left_out.get(why, 0) + int(np.count_nonzero(numbers == number))
            chosen = np.flatnonzero(relations >= 0).astype(np.int32)
            relations = relations[chosen]
        else:
            relations = np.full(len(rows), RETIRED_RELATIONS.index(_RELATION[self._role]), dtype=np.int64)
        retired = identifier_column(rows, 0, self._names[0], chosen)
        if self._role == "DELETEDCUI":
            successors = IdentifierColumn(np.zeros(len(chosen), dtype=np.int32))
        else:
            successors = identifier_column(rows, 1, self._names[1], chosen, may_be_empty=True)
            faulty = {fault.row for fault in rows.faults}
            for i in np.flatnonzero((successors.codes == 0) & (relations != _WITHOUT_SUCCESSOR)).tolist():
                if int(rows.places[chosen[i]]) not in faulty:
                    relation = RETIRED_RELATIONS[int(relations[i])]
                    rows.refuse(
                        int(chosen[i]), self._names[1], f"no successor for {relation}", "nothing", "an identifier"
                    )
        usable = ~(retired.is_invalid() | successors.is_invalid())
        usable &= (successors.codes != 0) | (relations == _WITHOUT_SUCCESSOR)
        rest = np.flatnonzero(usable)
        retired, successors, relations = retired.at(rest), successors.at(rest), relations[rest]
        usable, not_cuis = self._reading.usable_rows(retired)
        rest = np.flatnonzero(usable)
        return _Found(retired.at(rest), successors.at(rest), relations[rest], left_out, not_cuis)


def read_history(file: SourceFile, reading: ReleaseReading) -> HistoryRows:
    """Read one of the three files.

    Successors that the graph does not hold are included, so that a message can name them.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    codes = reading.codes
    scanner = reading.scanner(file, _COLUMNS[file.role], _Statements(reading, file.role))
    retired = [np.empty(0, dtype=np.int32)]
    relations = [np.empty(0, dtype=np.int64)]
    successors = [np.empty(0, dtype=np.int32)]
    for block in scanner:
        retired.append(codes.codes(block.retired))
        relations.append(block.relations)
        successors.append(codes.codes(block.successors))
        for reason, count in block.left_out.items():
            scanner.skip(reason, count)
        codes.leave_out(scanner, block.not_cuis)
    return HistoryRows(np.concatenate(retired), np.concatenate(relations), np.concatenate(successors), scanner)


def retired_concepts(files: Sequence[HistoryRows], concepts: ConceptPlaces, codes: IdentifierCodes) -> RetiredTable:
    """The retired concepts, each statement once. Concepts of the release are left out."""
    triples = []
    for rows in files:
        retired = np.flatnonzero(concepts.of(rows.retired) < 0)
        rows.scanner.skip("concept is current", len(rows.retired) - len(retired))
        triples.append(np.stack([rows.retired[retired], rows.relations[retired], rows.successors[retired]]))
    old, relation, new = np.concatenate([np.empty((3, 0), dtype=np.int64), *triples], axis=1)
    distinct = ascending(np.concatenate([old, new]))
    identifiers, places = codes.in_order(distinct)
    key = places[np.searchsorted(distinct, old)].astype(np.int64) << 32 | relation << 29
    key |= places[np.searchsorted(distinct, new)]
    key = ascending(key)
    relations = ((key >> 29) & 7).astype(np.uint8)
    return RetiredTable(identifiers[key >> 32], relations, identifiers[key & ((1 << 29) - 1)])
