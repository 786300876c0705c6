"""Similarities of all concepts of one list with all of another, or of all with all, in blocks of rows.

Every value has the bits of `Hierarchy.similarity`. Three ways lead there:

- Resnik, Lin and Jiang-Conrath: for each row, the greatest information content of a common ancestor is passed down the
  hierarchy once, from parents to children, so that a column takes a comparison per parent rather than a search.
- simUI: for each row, every ancestor adds 1 to the columns below it, which are listed once.
- Others: each pair by itself.

Only the ancestors of the concepts are walked, so a few thousand concepts of a large graph take little more time than
those of a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.arrays import bounds_of
from cuihop.resources.cores import in_order
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions
from cuihop.snapshot.hierarchy import SnapshotHierarchy

__all__ = ["AllSimilarities"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_CELLS_A_BLOCK = 1 << 20  # 8 MB; some blocks of each thread wait for the reader
_MOST_BELOW = 1 << 27  # listed columns: 512 MB


@dataclass(frozen=True, eq=False)
class _Part:
    """The ancestors of some concepts as a hierarchy of its own. A parent has a smaller number than its child."""

    nodes: Int32
    up_indptr: Int32
    up_indices: Int32

    @classmethod
    def of(cls, up_indptr: Int32, up_indices: Int32, chosen: Int32) -> _Part:
        """The part with these nodes."""
        from cuihop._kernels import all_similarities as kernel

        count = len(up_indptr) - 1
        mark, united = np.zeros(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        nodes = np.sort(united[: kernel.united_ancestors(up_indptr, up_indices, chosen, mark, united)])
        places = np.empty(count, dtype=np.int32)
        places[nodes] = np.arange(len(nodes), dtype=np.int32)
        sizes = np.diff(up_indptr)[nodes]
        indptr = bounds_of(sizes, np.int32)
        edges = np.repeat(up_indptr[nodes] - indptr[:-1], sizes) + np.arange(indptr[-1], dtype=np.int32)
        return cls(nodes, indptr, places[up_indices[edges]])

    def places(self, nodes: Int32) -> Int32:
        """The numbers in this part of nodes of the whole."""
        return np.searchsorted(self.nodes, nodes).astype(np.int32)


class AllSimilarities:
    """The similarity of each row with each column.

    Args:
        hierarchy: of a snapshot.
        rows: identifiers, each once; ``None`` for all concepts, in the order of their identifiers.
        columns: identifiers, each once; ``None`` for those of the rows.
        options: as in `Hierarchy.similarities`.

    Attributes:
        rows, columns: the identifiers used, in order: successors in place of retired ones. One list where all of the
            rows are compared among themselves.
        merged: retired identifier → the successor used in its place.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("gold", "metal"), ("silver", "metal")])
    >>> every = AllSimilarities(graph.hierarchy, ["gold", "silver"], options=SimilarityOptions("simUI"))
    >>> [block.tolist() for block in every.blocks()]
    [[[1.0, 0.3333333333333333], [0.3333333333333333, 1.0]]]

    Raises:
        InputError: a concept is given twice.
        InvalidCui, ConceptNotFound, ConceptRetired: as `Hierarchy.similarities`.
    """

    def __init__(
        self,
        hierarchy: SnapshotHierarchy,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        options: SimilarityOptions | None = None,
    ) -> None:
        self.options = options or SimilarityOptions()
        self._hierarchy = hierarchy
        if rows is None:
            rows = hierarchy.identifiers()
        self._rows, self.merged = _distinct(hierarchy, rows)
        self._columns = self._rows
        if columns is not None:
            self._columns, merged = _distinct(hierarchy, columns)
            self.merged = {**self.merged, **merged}
        self.rows = [self.merged.get(cui, cui) for cui in rows]
        self.columns = self.rows if columns is None else [self.merged.get(cui, cui) for cui in columns]

    def blocks(self, threads: int | None = None) -> Iterator[Float64]:
        """Consecutive rows, each block float64 of shape (some rows, columns); NaN where a pair has no value.

        Args:
            threads: ``None`` for one for each core.
        """
        if not len(self._rows) or not len(self._columns):
            return
        height = max(1, _CELLS_A_BLOCK // len(self._columns))
        values_of = self._method()
        yield from in_order(
            lambda begin: values_of(self._rows[begin : begin + height]), range(0, len(self._rows), height), threads
        )

    def _method(self) -> Callable[[Int32], Float64]:
        measure = self.options.measure
        if measure in ("Resnik", "Lin", "Jiang-Conrath"):
            return self._by_content()
        return (self._by_overlap() if measure == "simUI" else None) or self._by_pairs

    def _by_pairs(self, rows: Int32) -> Float64:
        pairs = np.empty((len(rows), len(self._columns), 2), dtype=np.int32)
        pairs[:, :, 0], pairs[:, :, 1] = rows[:, None], self._columns
        return self._hierarchy.of_places(pairs.ravel(), self.options).reshape(len(rows), -1)

    def _by_content(self) -> Callable[[Int32], Float64]:
        from cuihop._kernels import all_similarities as kernel

        part, node_of = self._part()
        content = self._hierarchy.information_content(self.options)[part.nodes]
        number = [*SIMILARITY_MEASURES].index(self.options.measure)
        columns = part.places(node_of[self._columns])

        def values_of(rows: Int32) -> Float64:
            values = np.empty((len(rows), len(columns)), dtype=np.float64)
            mark, queue = _scratch(part)
            kernel.content_rows(
                part.up_indptr, part.up_indices, content, number, part.places(node_of[rows]), columns, mark, queue, 0,
                values,
            )  # fmt: skip
            return values

        return values_of

    def _by_overlap(self) -> Callable[[Int32], Float64] | None:
        """``None`` where the lists of columns would be too long."""
        from cuihop._kernels import all_similarities as kernel

        part, node_of = self._part()
        columns = part.places(node_of[self._columns])
        counts, sizes = np.empty(len(columns), dtype=np.int32), np.zeros(len(part.nodes), dtype=np.int64)
        kernel.ancestor_counts(part.up_indptr, part.up_indices, columns, *_scratch(part), counts, sizes)
        if sizes.sum() > _MOST_BELOW:
            return None
        bounds = bounds_of(sizes, np.int64)
        below = np.empty(int(bounds[-1]), dtype=np.int32)
        kernel.columns_below(part.up_indptr, part.up_indices, columns, *_scratch(part), bounds[:-1].copy(), below)

        def values_of(rows: Int32) -> Float64:
            values = np.empty((len(rows), len(columns)), dtype=np.float64)
            kernel.overlap_rows(
                part.up_indptr, part.up_indices, bounds, below, counts, part.places(node_of[rows]), *_scratch(part), 0,
                values,
            )  # fmt: skip
            return values

        return values_of

    def _part(self) -> tuple[_Part, Int32]:
        """The ancestors of rows and columns, and the node of each concept in the whole hierarchy."""
        tables = self._hierarchy.tables
        chosen = tables.node_of[np.concatenate((self._rows, self._columns))]
        return _Part.of(tables.up_indptr, tables.up_indices, chosen), tables.node_of


def _scratch(part: _Part) -> tuple[Int32, Int32]:
    """Marks and a queue."""
    return np.full(len(part.nodes), -1, dtype=np.int32), np.empty(len(part.nodes), dtype=np.int32)


def _distinct(hierarchy: SnapshotHierarchy, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
    """The number of each concept, and successors used."""
    places, merged = hierarchy.places(cuis)
    found, counts = np.unique(places, return_counts=True)
    if len(found) < len(places):
        twice = int(np.flatnonzero(np.isin(places, found[counts > 1]))[0])
        raise InputError("a concept is given twice", found=cuis[twice], expected="distinct concepts")
    return places, merged
