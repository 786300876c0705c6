"""The distinct is_a edges, and the vocabularies that assert each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import bounds_of
from cuihop.resources.cores import in_order

_FIRST_SETS = 1 << 10
_FIRST_NUMBERS = 1 << 14


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges, ascending by (child, parent), distinct.

    Attributes:
        children, parents: int32, codes of identifiers.
        sab_sets: for each edge the position of its vocabularies in `members`.
        members: sorted tuples of vocabularies.
        sab_edges: number of edges of each vocabulary that asserts one.
        mirrored: number of edges asserted both with the parent first and with the child first.
    """

    children: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
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
        from cuihop_loader._kernels import edges

        self._batch = np.empty(batch, dtype=np.uint64)
        self._filled = 0
        self._in_buckets: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]] = []
        self._counts = np.zeros(edges.BUCKETS, dtype=np.int64)

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._counts.sum()) + self._filled

    def room(self, rows: int) -> npt.NDArray[np.uint64]:
        """Memory for ``rows`` more rows; call `added` with the number written."""
        if self._filled + rows > len(self._batch):
            self._close()
            if rows > len(self._batch):
                self._batch = np.empty(rows, dtype=np.uint64)
        return self._batch[self._filled :]

    def added(self, rows: int) -> None:
        """Record that ``rows`` were written to the memory of `room`."""
        self._filled += rows

    def ascending(self) -> Iterator[tuple[npt.NDArray[np.uint64], int]]:
        """Distinct rows in ascending order, a bucket at a time, with their number of edges. Consumes the rows."""
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
        """Sort the rows of the batch into their buckets."""
        from cuihop_loader._kernels import edges

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
    """Build the edges of the rows.

    Args:
        rows: the edge rows.
        sabs: the vocabularies by their numbers in the rows.
    """
    # As long as the rows, which outnumber the edges: unused memory is never touched.
    children, parents, sets = (np.empty(rows.count, dtype=np.int32) for _ in range(3))
    grouped = _SabSets(np.empty((_FIRST_SETS, 3), dtype=np.int32), np.empty(_FIRST_NUMBERS, dtype=np.uint16))
    filled = 0
    for part, n_edges in rows.ascending():
        here = slice(filled, filled + n_edges)
        grouped.group(part, children[here], parents[here], sets[here])
        filled += n_edges
    members = grouped.members(sabs)
    sab_edges = dict.fromkeys(sorted(sabs), 0)
    for of_set, count in zip(members, grouped.counts(), strict=True):
        for sab in of_set:
            sab_edges[sab] += count
    few = len(members) <= 1 << 16
    return EdgeTable(
        children=children[:filled],
        parents=parents[:filled],
        sab_sets=sets[:filled].astype(np.uint16) if few else sets[:filled],
        members=members,
        sab_edges={sab: count for sab, count in sab_edges.items() if count},
        mirrored=grouped.mirrored,
    )


@dataclass(eq=False)
class _SabSets:
    """Sets of vocabularies in the order of their first occurrence.

    Attributes:
        spans: begin and end of each in `numbers`, and the number of its edges.
        numbers: the vocabularies.
    """

    spans: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.uint16]

    def __post_init__(self) -> None:
        self._state = np.zeros(2, dtype=np.int64)
        self._table = np.full(2 * len(self.spans), -1, dtype=np.int32)

    @property
    def mirrored(self) -> int:
        """Number of edges asserted in both notations, child first and parent first."""
        from cuihop_loader._kernels import edges

        return int(self._state[edges.MIRRORED])

    def group(
        self,
        rows: npt.NDArray[np.uint64],
        children: npt.NDArray[np.int32],
        parents: npt.NDArray[np.int32],
        sets: npt.NDArray[np.int32],
    ) -> None:
        """Write the edges of ascending distinct rows, and the number of the set of each."""
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
        """Number of edges of each set."""
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
