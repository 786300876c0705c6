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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64, ascending, bounds_of
from cuihop.resources.cores import in_order
from cuihop_loader._kernels import edges, interning
from cuihop_loader.identifier_codes import (
    IdentifierColumn,
    NotCuis,
    ReleaseReading,
    identifier_column,
    members_of,
    vocabulary_codes,
)
from cuihop_loader.options import RelationFilter
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import SourceFile


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges, ascending by (child, parent), distinct.

    Attributes:
        children, parents: int32, codes of identifiers.
        sab_sets: for each edge the position of its vocabularies in `members`.
        members: sorted tuples of vocabularies, in the order of their first edges.
        sab_edges: number of edges of each vocabulary that asserts one.
        mirrored: number of edges asserted both with the parent first and with the child first.
    """

    children: Int32
    parents: Int32
    sab_sets: npt.NDArray[np.integer]
    members: Sequence[tuple[str, ...]]
    sab_edges: dict[str, int]
    mirrored: int


class EdgeRows:
    """Edge rows, collected in any order (see `cuihop_loader._kernels.edges`).

    They are stored in batches, and in each batch those of neighbouring children form a bucket. Buckets are sorted one
    at a time, within the cache and on all cores.
    """

    def __init__(self, batch: int = 1 << 18) -> None:
        self._batch = np.empty(batch, dtype=np.uint64)
        self._filled = 0
        self._in_buckets: list[tuple[UInt64, Int64]] = []
        self._counts = np.zeros(edges.BUCKETS, dtype=np.int64)

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._counts.sum()) + self._filled

    def room(self, rows: int) -> UInt64:
        """Memory for ``rows`` more rows; call `added` with the number written."""
        if self._filled + rows > len(self._batch):
            self._close()
            if rows > len(self._batch):
                self._batch = np.empty(rows, dtype=np.uint64)
        return self._batch[self._filled :]

    def added(self, rows: int) -> None:
        """Record that ``rows`` were written to the memory of `room`."""
        self._filled += rows

    def in_buckets(self) -> Iterator[UInt64]:
        """The rows of each bucket, not sorted; buckets in the order of their children. Consumes the rows."""
        self._close()
        self._batch = np.empty(0, dtype=np.uint64)
        for bucket in np.flatnonzero(self._counts).tolist():
            yield np.concatenate([batch[begins[bucket] : begins[bucket + 1]] for batch, begins in self._in_buckets])
        self._in_buckets.clear()

    def _close(self) -> None:
        """Sort the rows of the batch into their buckets."""
        rows = self._batch[: self._filled]
        counts = np.zeros(edges.BUCKETS, dtype=np.int64)
        edges.count_buckets(rows, counts)
        begins = bounds_of(counts)
        placed = np.empty_like(rows)
        edges.into_buckets(rows, begins[:-1].copy(), placed)
        self._in_buckets.append((placed, begins))
        self._counts += counts
        self._filled = 0


def edge_table(rows: EdgeRows, sabs: Sequence[str]) -> EdgeTable:
    """Build the edges of the rows, whose vocabularies are ``sabs`` by their numbers."""
    none = np.empty(0, dtype=np.int32)
    children, parents, of_edges = [none], [none], [none]
    sets, table = interning.empty_sets(len(sabs))
    n_sets, mirrored = len(sabs), 0

    def grouped(rows: UInt64) -> tuple[Int32, Int32, Int32, Int32, int]:
        rows.sort()
        return edges.group(rows, len(sabs))

    for of_children, of_parents, in_bucket, of_bucket, both in in_order(grouped, rows.in_buckets()):
        numbers, n_sets, sets, table = interning.common_sets(of_bucket, len(sabs), sets, n_sets, table)
        children.append(of_children)
        parents.append(of_parents)
        of_edges.append(numbers[in_bucket])
        mirrored += both
    sab_sets = np.concatenate(of_edges)
    order, counts = np.full(n_sets, -1, dtype=np.int32), np.empty(n_sets, dtype=np.int32)
    count = edges.by_first_occurrence(sab_sets, order, counts)
    occurring = np.empty(count, dtype=np.int32)
    occurring[order[order >= 0]] = np.flatnonzero(order >= 0)
    members = []
    sab_edges = dict.fromkeys(sorted(sabs), 0)
    chains = sets[:n_sets].tolist()
    for number, edges_of_set in zip(occurring.tolist(), counts[:count].tolist(), strict=True):
        members.append(tuple(sorted(sabs[sab] for sab in members_of(number, chains))))
        for sab in members[-1]:
            sab_edges[sab] += edges_of_set
    return EdgeTable(
        children=np.concatenate(children),
        parents=np.concatenate(parents),
        sab_sets=sab_sets.astype(np.uint16) if count <= 1 << 16 else sab_sets,
        members=members,
        sab_edges={sab: count for sab, count in sab_edges.items() if count},
        mirrored=mirrored,
    )


_BITS: dict[RelationFilter, int] = {"isa": 0b11, "par-chd": 0b1100, "rb-rn": 0b110000}


@dataclass(frozen=True, eq=False)
class IsARows:
    """Content of MRREL.

    Attributes:
        sab_rows: number of rows of each vocabulary; 0 for one that is excluded.
        loops: int32, codes of the concepts asserted as their own parent, ascending, distinct.
        relation_rows: number of rows used, by relation.
        offered: number of rows for each relation filter, with the requested vocabularies and suppression.
    """

    edges: EdgeTable
    sab_rows: dict[str, int]
    loops: Int32
    relation_rows: dict[str, int]
    offered: dict[RelationFilter, int]


@dataclass(frozen=True, eq=False)
class _Selected:
    """The usable rows of a block, and the number of the others."""

    first: IdentifierColumn
    second: IdentifierColumn
    sabs: Int32
    sab_names: tuple[bytes, ...]
    kinds: UInt8
    seen: Int64
    left_out: dict[str, int]
    not_cuis: NotCuis


def _selection(reading: ReleaseReading) -> Callable[[Rows], _Selected]:
    """The processing of a block of MRREL. Shared by threads, so it has no state that changes."""
    options = reading.options
    requested = sum(_BITS[relation] for relation in set(options.relations))

    def select(rows: Rows) -> _Selected:
        selected = np.empty(len(rows), dtype=np.int32)
        kinds = np.empty(len(rows), dtype=np.uint8)
        codes = np.empty((2, len(rows)), dtype=np.int32)
        seen = np.zeros(6, dtype=np.int64)
        left_out = np.zeros(2, dtype=np.int64)
        count, others = edges.select(
            rows.buffer, rows.spans, requested, options.include_suppressed,
            selected, kinds, codes, seen, left_out,
        )  # fmt: skip
        first, second = (IdentifierColumn(column[:count]) for column in codes)
        selected, kinds = selected[:count], kinds[:count]
        sabs, sab_names = rows.interned(edges.SAB, edges.SAB, selected)
        if options.chooses_sabs:
            includes = np.array([options.includes(sab.decode()) for sab in sab_names], dtype=np.bool_)
            usable = np.flatnonzero(includes[sabs])
            first, second = first.at(usable), second.at(usable)
            selected, kinds, sabs = selected[usable], kinds[usable], sabs[usable]
        not_cuis = NotCuis()
        reasons = {
            "other relation": int(left_out[0]), "suppressed": int(left_out[1]),
            "other vocabulary": count - len(selected),
        }  # fmt: skip
        if others:
            first = identifier_column(rows, edges.CUI1, "CUI1", selected)
            second = identifier_column(rows, edges.CUI2, "CUI2", selected)
            well_formed, not_cuis = reading.usable_rows(first, second)
            if not well_formed.all():
                rest = np.flatnonzero(well_formed)
                first, second, kinds, sabs = first.at(rest), second.at(rest), kinds[rest], sabs[rest]
        return _Selected(first, second, sabs, sab_names, kinds, seen, reasons, not_cuis)

    return select


def read_is_a_rows(file: SourceFile, reading: ReleaseReading) -> IsARows:
    """Read MRREL.

    Raises:
        InputError: the file or a row of it is malformed.
        LimitExceeded: more than 2,048 vocabularies.
    """
    codes = reading.codes
    scanner = reading.scanner(file, edges.COLUMNS, _selection(reading))
    sab_codes: dict[bytes, int] = {}
    sab_rows = np.zeros(edges.SAB_MASK + 1, dtype=np.int64)
    edge_rows = EdgeRows()
    loops: list[Int32] = []
    offered = np.zeros(6, dtype=np.int64)
    by_relation = np.zeros(6, dtype=np.int64)
    for block in scanner:
        codes_of_block = vocabulary_codes(block.sab_names, sab_codes, edges.SAB_MASK + 1, "MRREL")
        first, second = codes.codes(block.first), codes.codes(block.second)
        rows = edge_rows.room(2 * len(first))
        own = np.empty(len(first), dtype=np.int32)
        n_edges, n_loops = edges.pack(
            first, second, block.sabs, codes_of_block, block.kinds, rows, own, by_relation, sab_rows
        )
        edge_rows.added(n_edges)
        loops.append(own[:n_loops].copy())
        offered += block.seen
        scanner.skip("concept is its own parent", n_loops)
        codes.leave_out(scanner, block.not_cuis, block.left_out)
    sabs = [sab.decode() for sab in sab_codes]
    return IsARows(
        edges=edge_table(edge_rows, sabs),
        sab_rows=dict(zip(sabs, sab_rows.tolist(), strict=False)),
        loops=ascending(np.concatenate(loops)),
        relation_rows={
            name: int(count) for name, count in zip(edges.RELATION_NAMES, by_relation.tolist(), strict=True) if count
        },
        offered={
            relation: int(sum(offered[bit] for bit in range(6) if bits >> bit & 1)) for relation, bits in _BITS.items()
        },
    )
