"""MRREL: the distinct is_a edges of its rows, and the vocabularies that assert each.

A row reads from right to left (UMLS Reference Manual, MRREL: REL and RELA state what the second concept is to the
first): ``C1|…|CHD|C2|…|isa`` says that C2 is a child of C1, and C2 isa C1. So:

========================  =========================
the row says              the edge (child, parent)
========================  =========================
RELA isa, REL CHD, RN     (CUI2, CUI1)
RELA inverse_isa, PAR, RB (CUI1, CUI2)
========================  =========================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop_loader.arrays import ascending
from cuihop_loader.edge_table import EdgeRows, EdgeTable, edge_table
from cuihop_loader.identifier_codes import (
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
    vocabulary_codes,
)
from cuihop_loader.options import RelationFilter
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import SourceFile

_WANTED = ("CUI1", "REL", "CUI2", "RELA", "SAB", "SUPPRESS")
_CUI1, _REL, _CUI2, _RELA, _SAB, _SUPPRESS = range(6)
_BITS: dict[RelationFilter, int] = {"isa": 0b11, "par-chd": 0b1100, "rb-rn": 0b110000}


@dataclass(frozen=True, eq=False)
class IsARows:
    """Content of MRREL.

    Attributes:
        edges: the distinct edges.
        sab_rows: number of rows of each vocabulary; 0 for one that is excluded.
        loops: int32, codes of the concepts asserted as their own parent, ascending, distinct.
        relation_rows: number of rows used, by relation.
        offered: number of rows for each relation filter, with the requested vocabularies and suppression.
        report: of the file.
    """

    edges: EdgeTable
    sab_rows: dict[str, int]
    loops: npt.NDArray[np.int32]
    relation_rows: dict[str, int]
    offered: dict[RelationFilter, int]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _Selected:
    """The usable rows of a block, and the number of the others."""

    first: IdentifierColumn
    second: IdentifierColumn
    sabs: npt.NDArray[np.int32]
    sab_names: tuple[bytes, ...]
    kinds: npt.NDArray[np.uint8]
    seen: npt.NDArray[np.int64]
    other_relation: int
    suppressed: int
    other_sab: int
    not_cuis: NotCuis


class _Selection:
    """Processing of a block of MRREL. Shared by threads, so it has no state that changes."""

    def __init__(self, reading: ReleaseReading) -> None:
        options = reading.options
        self._reading = reading
        self._wanted = sum(_BITS[relation] for relation in set(options.relations))
        self._with_suppressed = options.include_suppressed
        self._include = {sab.encode() for sab in options.include_sabs}
        self._exclude = {sab.encode() for sab in options.exclude_sabs}

    def __call__(self, rows: Rows) -> _Selected:
        from cuihop_loader._kernels import edges

        chosen = np.empty(len(rows), dtype=np.int32)
        kinds = np.empty(len(rows), dtype=np.uint8)
        seen = np.zeros(6, dtype=np.int64)
        left_out = np.zeros(2, dtype=np.int64)
        count = edges.select(
            rows.buffer, rows.spans, 2 * _REL, 2 * _RELA, 2 * _SUPPRESS, self._wanted, self._with_suppressed,
            chosen, kinds, seen, left_out,
        )  # fmt: skip
        chosen, kinds = chosen[:count], kinds[:count]

        sabs, sab_names = rows.interned(_SAB, _SAB, chosen)
        if self._include or self._exclude:
            allowed = np.array(
                [(not self._include or sab in self._include) and sab not in self._exclude for sab in sab_names],
                dtype=np.bool_,
            )
            usable = np.flatnonzero(allowed[sabs]) if len(sabs) else np.empty(0, dtype=np.int64)
            chosen, kinds, sabs = chosen[usable], kinds[usable], sabs[usable]
        other_sab = count - len(chosen)

        first = identifier_column(rows, _CUI1, "CUI1", chosen)
        second = identifier_column(rows, _CUI2, "CUI2", chosen)
        well_formed, not_cuis = self._reading.usable_rows(first, second)
        if not well_formed.all():
            usable = np.flatnonzero(well_formed)
            first, second, kinds, sabs = first.at(usable), second.at(usable), kinds[usable], sabs[usable]
        return _Selected(
            first, second, sabs, sab_names, kinds, seen, int(left_out[0]), int(left_out[1]), other_sab, not_cuis
        )


def read_is_a_rows(file: SourceFile, reading: ReleaseReading) -> IsARows:
    """Read MRREL.

    Raises:
        InputError: the file or a row of it is malformed.
        LimitExceeded: more than 2,048 vocabularies.
    """
    from cuihop_loader._kernels import edges

    codes = reading.codes
    scanner = reading.scanner(file, _WANTED, _Selection(reading))
    sab_codes: dict[bytes, int] = {}
    sab_rows: list[int] = []
    found = EdgeRows()
    loops: list[npt.NDArray[np.int32]] = []
    offered = np.zeros(6, dtype=np.int64)
    by_relation = np.zeros(6, dtype=np.int64)
    for block in scanner:
        codes_of_block = vocabulary_codes(block.sab_names, sab_codes, edges.SAB_MASK + 1, "MRREL")
        sab_rows += [0] * (len(sab_codes) - len(sab_rows))
        first, second = codes.codes(block.first), codes.codes(block.second)
        rows = found.room(2 * len(first))
        own = np.empty(len(first), dtype=np.int32)
        n_edges, n_loops = edges.pack(first, second, block.sabs, codes_of_block, block.kinds, rows, own, by_relation)
        found.added(n_edges)
        loops.append(ascending(own[:n_loops]))
        counted = np.bincount(block.sabs[first != second], minlength=len(codes_of_block))
        for code, count in zip(codes_of_block.tolist(), counted.tolist(), strict=True):
            sab_rows[code] += count
        offered += block.seen
        scanner.skip("other relation", block.other_relation)
        scanner.skip("suppressed", block.suppressed)
        scanner.skip("other vocabulary", block.other_sab)
        scanner.skip("concept is its own parent", n_loops)
        codes.leave_out(scanner, block.not_cuis)
    sabs = [sab.decode() for sab in sab_codes]
    return IsARows(
        edges=edge_table(found, sabs),
        sab_rows=dict(zip(sabs, sab_rows, strict=True)),
        loops=ascending(np.concatenate(loops)),
        relation_rows={
            name: int(count) for name, count in zip(edges.RELATION_NAMES, by_relation.tolist(), strict=True) if count
        },
        offered={
            relation: int(sum(offered[bit] for bit in range(6) if bits >> bit & 1)) for relation, bits in _BITS.items()
        },
        report=scanner.report,
    )
