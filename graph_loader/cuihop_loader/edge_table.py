"""The distinct is_a edges, and the set of vocabularies behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.cores import in_order

__all__ = ["EdgeRows", "EdgeTable", "edge_table"]

_FIRST_SETS = 1 << 10
_FIRST_NUMBERS = 1 << 14


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges, ascending by (child, parent), distinct.

    Attributes:
        children, parents: int32, codes of identifiers.
        sab_sets: for each edge the place of its vocabularies in `members`.
        members: sorted tuples of vocabularies.
        sab_edges: for each vocabulary that asserts an edge, how many.
        mirrored: edges that are asserted with the parent first and with the child first.
    """

    children: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    sab_sets: npt.NDArray[np.integer]
    members: Sequence[tuple[str, ...]]
    sab_edges: dict[str, int]
    mirrored: int


class EdgeRows:
    """Edge rows, collected in any order (see `cuihop_loader._kernels.edges`).

    They are kept in batches, and in each batch those of neighbouring children stand together in a bucket: so that a
    bucket at a time can be put into order, which then happens in the cache, and on all cores.
    """

    def __init__(self, batch: int = 1 << 18) -> None:
        from cuihop_loader._kernels import edges

        self._batch = np.empty(batch, dtype=np.uint64)
        self._filled = 0
        self._in_buckets: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]] = []
        self._counts = np.zeros(edges.BUCKETS, dtype=np.int64)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._counts.sum()) + self._filled

    def room(self, rows: int) -> npt.NDArray[np.uint64]:
        """Where so many rows can be written; then tell `added` how many were."""
        if self._filled + rows > len(self._batch):
            self._close()
            if rows > len(self._batch):
                self._batch = np.empty(rows, dtype=np.uint64)
        return self._batch[self._filled :]

    def added(self, rows: int) -> None:
        """So many rows were written."""
        self._filled += rows

    def ascending(self) -> Iterator[tuple[npt.NDArray[np.uint64], int]]:
        """The distinct rows in their order, a bucket at a time, and how many edges they are. Then none are left."""
        from cuihop_loader._kernels import edges

        self._close()
        self._batch = np.empty(0, dtype=np.uint64)

        def in_order_of_edges(bucket: int) -> tuple[npt.NDArray[np.uint64], int]:
            rows = np.concatenate([batch[begins[bucket] : begins[bucket + 1]] for batch, begins in self._in_buckets])
            rows.sort()
            count, n_edges = edges.distinct(rows)
            return rows[:count], n_edges

        yield from in_order(in_order_of_edges, np.flatnonzero(self._counts).tolist())
        self._in_buckets.clear()

    def _close(self) -> None:
        """Put the rows of the batch into their buckets."""
        from cuihop_loader._kernels import edges

        rows = self._batch[: self._filled]
        counts = np.zeros(edges.BUCKETS, dtype=np.int64)
        edges.count_buckets(rows, counts)
        begins = np.zeros(edges.BUCKETS + 1, dtype=np.int64)
        np.cumsum(counts, out=begins[1:])
        placed = np.empty_like(rows)
        edges.into_buckets(rows, begins[:-1].copy(), placed)
        self._in_buckets.append((placed, begins))
        self._counts += counts
        self._filled = 0


def edge_table(rows: EdgeRows, sabs: Sequence[str]) -> EdgeTable:
    """The edges of the rows.

    Args:
        rows: the edge rows.
        sabs: the vocabularies by the numbers that the rows have.
    """
    # As long as the rows, of which there are more than edges: memory that is not used is never touched.
    children, parents, sets = (np.empty(rows.count, dtype=np.int32) for _ in range(3))
    known = _SabSets(np.empty((_FIRST_SETS, 3), dtype=np.int32), np.empty(_FIRST_NUMBERS, dtype=np.uint16))
    filled = 0
    for part, n_edges in rows.ascending():
        here = slice(filled, filled + n_edges)
        known.group(part, children[here], parents[here], sets[here])
        filled += n_edges
    members = known.members(sabs)
    sab_edges = dict.fromkeys(sorted(sabs), 0)
    for of_set, count in zip(members, known.counts(), strict=True):
        for sab in of_set:
            sab_edges[sab] += count
    few = len(members) <= 1 << 16
    return EdgeTable(
        children=children[:filled],
        parents=parents[:filled],
        sab_sets=sets[:filled].astype(np.uint16) if few else sets[:filled],
        members=members,
        sab_edges={sab: count for sab, count in sab_edges.items() if count},
        mirrored=known.mirrored,
    )


@dataclass(eq=False)
class _SabSets:
    """The sets of vocabularies seen so far, in the order in which they first occurred.

    Attributes:
        spans: where each begins and ends in `numbers`, and how many edges have it.
        numbers: the vocabularies.
    """

    spans: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.uint16]

    def __post_init__(self) -> None:
        self._state = np.zeros(2, dtype=np.int64)
        self._table = np.full(2 * len(self.spans), -1, dtype=np.int32)

    @property
    def mirrored(self) -> int:
        """How many edges were asserted both ways of writing."""
        from cuihop_loader._kernels import edges

        return int(self._state[edges.MIRRORED])

    def group(
        self,
        rows: npt.NDArray[np.uint64],
        children: npt.NDArray[np.int32],
        parents: npt.NDArray[np.int32],
        sets: npt.NDArray[np.int32],
    ) -> None:
        """Fill in the edges of ascending distinct rows, and the number of the set of each."""
        from cuihop_loader._kernels import edges

        row = edge = 0
        while True:
            row, edge = edges.group(
                rows, row, edge, children, parents, sets, self.numbers, self.spans, self._table, self._state
            )
            if row == len(rows):
                return
            self.spans = np.concatenate([self.spans, np.empty_like(self.spans)])
            self.numbers = np.concatenate([self.numbers, np.empty_like(self.numbers)])
            self._table = np.full(2 * len(self._table), -1, dtype=np.int32)
            edges.enter_sets(self.numbers, self.spans, int(self._state[edges.SETS]), self._table)

    def counts(self) -> list[int]:
        """How many edges have each set."""
        from cuihop_loader._kernels import edges

        counts: list[int] = self.spans[: self._state[edges.SETS], 2].tolist()
        return counts

    def members(self, sabs: Sequence[str]) -> list[tuple[str, ...]]:
        """The vocabularies of each set, sorted by name."""
        from cuihop_loader._kernels import edges

        return [
            tuple(sorted(sabs[number] for number in self.numbers[begin:end].tolist()))
            for begin, end, _ in self.spans[: self._state[edges.SETS]].tolist()
        ]
