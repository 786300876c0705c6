"""Similarities of all concepts of one list with all of another, or of all with all, in blocks of rows.

Every value has the bits of `Hierarchy.similarity`. Three ways lead there:

- Resnik, Lin and Jiang-Conrath: for each row, the greatest information content of a common ancestor is passed down the
  hierarchy once, from parents to children, so that a column takes a comparison per parent rather than a search.
- simUI: for each row, every ancestor adds 1 to the columns below it, which are listed once.
- Others: each pair by itself.

Only the ancestors of the concepts are walked, so a few thousand concepts of a large graph take little more time than
those of a small one.

They are written as an array with its identifiers in files next to it, or as a table of the nearest pairs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file, write_whole
from cuihop.resources.arrays import Float64, Int32, Int64, bounds_of
from cuihop.resources.cores import in_order
from cuihop.resources.optional_packages import installed_by
from cuihop.resources.resources import Resources
from cuihop.similarity.options import DISTANCES, SIMILARITY_MEASURES, SimilarityOptions
from cuihop.snapshot.hierarchy import SnapshotHierarchy
from cuihop.snapshot.string_table import check_distinct

__all__ = ["AllSimilarities"]


_CELLS_A_BLOCK = 1 << 20  # 8 MB; some blocks of each thread wait for the reader
_MOST_BELOW = 1 << 27  # listed columns: 512 MB

_Write = Callable[[Int64, Int64, Float64], None]
DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""Suffix of a table in text → what stands between its fields."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The ancestors of some concepts as a hierarchy of its own. A parent has a smaller number than its child."""

    nodes: Int32
    up_indptr: Int32
    up_indices: Int32

    @classmethod
    def of(cls, up_indptr: Int32, up_indices: Int32, selected: Int32) -> _Part:
        """The part with these nodes."""
        from cuihop._kernels.hierarchy import ancestors_of_all

        count = len(up_indptr) - 1
        mark, united = np.zeros(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        nodes = np.sort(united[: ancestors_of_all(up_indptr, up_indices, selected, mark, united, 1)])
        positions = np.empty(count, dtype=np.int32)
        positions[nodes] = np.arange(len(nodes), dtype=np.int32)
        sizes = np.diff(up_indptr)[nodes]
        indptr = bounds_of(sizes, np.int32)
        edges = np.repeat(up_indptr[nodes] - indptr[:-1], sizes) + np.arange(indptr[-1], dtype=np.int32)
        return cls(nodes, indptr, positions[up_indices[edges]])

    def numbers(self, nodes: Int32) -> Int32:
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
        return self._hierarchy.of_positions(pairs.ravel(), self.options).reshape(len(rows), -1)

    def _by_content(self) -> Callable[[Int32], Float64]:
        from cuihop._kernels import all_similarities as kernel

        above, node_of = self._part()
        content = self._hierarchy.information_content(self.options)[above.nodes]
        number = [*SIMILARITY_MEASURES].index(self.options.measure)
        columns = above.numbers(node_of[self._columns])

        def values_of(rows: Int32) -> Float64:
            values = np.empty((len(rows), len(columns)), dtype=np.float64)
            mark, queue = _scratch(above)
            kernel.content_rows(
                above.up_indptr, above.up_indices, content, number, above.numbers(node_of[rows]), columns,
                mark, queue, 0,
                values,
            )  # fmt: skip
            return values

        return values_of

    def _by_overlap(self) -> Callable[[Int32], Float64] | None:
        """``None`` where the lists of columns would be too long."""
        from cuihop._kernels import all_similarities as kernel

        above, node_of = self._part()
        columns = above.numbers(node_of[self._columns])
        counts, sizes = np.empty(len(columns), dtype=np.int32), np.zeros(len(above.nodes), dtype=np.int64)
        kernel.ancestor_counts(above.up_indptr, above.up_indices, columns, *_scratch(above), counts, sizes)
        if sizes.sum() > _MOST_BELOW:
            return None
        bounds = bounds_of(sizes, np.int64)
        below = np.empty(int(bounds[-1]), dtype=np.int32)
        kernel.columns_below(above.up_indptr, above.up_indices, columns, *_scratch(above), bounds[:-1].copy(), below)

        def values_of(rows: Int32) -> Float64:
            values = np.empty((len(rows), len(columns)), dtype=np.float64)
            kernel.overlap_rows(
                above.up_indptr, above.up_indices, bounds, below, counts, above.numbers(node_of[rows]),
                *_scratch(above), 0,
                values,
            )  # fmt: skip
            return values

        return values_of

    def _part(self) -> tuple[_Part, Int32]:
        """The ancestors of rows and columns, and the node of each concept in the whole hierarchy."""
        tables = self._hierarchy.tables
        selected = tables.node_of[np.concatenate((self._rows, self._columns))]
        return _Part.of(tables.up_indptr, tables.up_indices, selected), tables.node_of


def _scratch(above: _Part) -> tuple[Int32, Int32]:
    """Marks and a queue."""
    return np.full(len(above.nodes), -1, dtype=np.int32), np.empty(len(above.nodes), dtype=np.int32)


def _distinct(hierarchy: SnapshotHierarchy, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
    """The number of each concept, and successors used."""
    positions, merged = hierarchy.positions(cuis)
    check_distinct(positions, cuis)
    return positions, merged


def identifier_files(path: Path, every: AllSimilarities) -> dict[Path, list[str]]:
    """The files of identifiers next to an array, one a line: of its rows and, where they are others, of its columns."""
    files = {path.with_name(f"{path.name}.rows.txt"): every.rows}
    if every.columns is not every.rows:
        files[path.with_name(f"{path.name}.columns.txt")] = every.columns
    return files


def write_array(
    every: AllSimilarities, path: Path, *, dtype: Literal["float64", "float32"] = "float64", resources: Resources
) -> None:
    """Write a NumPy array of shape (rows, columns), NaN for no value, and `identifier_files` next to it.

    ``numpy.load(path, mmap_mode="r")`` reads it without taking memory.

    Args:
        dtype: float32 rounds to about 7 digits and takes half the room.

    Raises:
        OutputError: a file cannot be written; the array is written atomically.
    """
    shape = (len(every.rows), len(every.columns))
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    with replaced_file(path, expected_bytes=size) as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in _blocks(every, resources):
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
    for name, cuis in identifier_files(path, every).items():
        write_whole(name, "".join(f"{cui}\n" for cui in cuis))


def write_pairs(
    every: AllSimilarities, path: Path, *, at_least: float | None = None, top: int | None = None, resources: Resources
) -> int:
    """Write a table (.csv, .tsv or .parquet) of columns a, b and the measure; pairs without a value are left out.

    Of one list compared with itself, each pair stands once, with ``top`` once for each of its two rows; no concept is
    paired with itself.

    Args:
        at_least: the least value; of a distance, the greatest.
        top: nearest columns of each row, of equal ones those that stand first; ``None`` for all.

    Returns:
        The number of pairs.

    Raises:
        InputError: another suffix. OutputError: the file cannot be written; it is written atomically.
        ModuleNotFoundError: Parquet, and pyarrow is not installed.
    """
    sign = -1.0 if every.options.measure in DISTANCES else 1.0
    alone = every.columns is every.rows
    count = 0
    with replaced_file(path) as file, _table(file, path, every) as write:
        for begin, block in _blocks(every, resources):
            near = sign * block
            if alone:
                positions = begin + np.arange(len(block))
                columns = np.arange(block.shape[1])
                near[columns == positions[:, None] if top else columns <= positions[:, None]] = np.nan
            valued = ~np.isnan(near)
            if at_least is not None:
                valued &= near >= sign * at_least
            if top is None:
                rows, columns = np.nonzero(valued)
            else:
                rows, columns = _nearest(np.where(valued, near, -np.inf), top)
            write(begin + rows, columns, block[rows, columns])
            count += len(rows)
    return count


def _blocks(every: AllSimilarities, resources: Resources) -> Iterator[tuple[int, Float64]]:
    """First row and values of each block."""
    begin = 0
    for block in every.blocks(resources.threads):
        yield begin, block
        begin += len(block)
        if resources.progress is not None:
            resources.progress(begin, len(every.rows))


def _nearest(near: Float64, top: int) -> tuple[Int64, Int64]:
    """Row and column of the greatest values of each row, greatest first, of equal ones the first; -inf is none."""
    rows, columns = [], []
    for row, values in enumerate(near):
        finite = np.flatnonzero(values > -np.inf)
        if len(finite) > top:
            last = np.partition(values[finite], len(finite) - top)[len(finite) - top]
            above, equal = finite[values[finite] > last], finite[values[finite] == last]
            finite = np.sort(np.concatenate((above, equal[: top - len(above)])))
        order = finite[np.argsort(-values[finite], kind="stable")]
        rows.append(np.full(len(order), row))
        columns.append(order)
    return np.concatenate(rows), np.concatenate(columns)


@contextmanager
def _table(file: BinaryIO, path: Path, every: AllSimilarities) -> Iterator[_Write]:
    """A function that writes rows, columns and values to the table."""
    header = ("a", "b", every.options.measure)
    ending = path.suffix.lower()
    if ending in DELIMITERS:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        rows_of = csv.writer(text, delimiter=DELIMITERS[ending], lineterminator="\n")
        rows_of.writerow(header)
        yield lambda rows, columns, values: rows_of.writerows(
            (every.rows[row], every.columns[column], value)
            for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)
        )
        text.detach()
        return
    if ending != ".parquet":
        raise InputError(
            "no such table", file=path, found=path.suffix or "no suffix", expected=".csv, .tsv or .parquet"
        )
    with installed_by("cuihop[parquet]"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    names: tuple[Any, Any] = (pa.array(every.rows), pa.array(every.columns))
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), (header[2], pa.float64())])
    with pq.ParquetWriter(file, schema) as writer:
        yield lambda rows, columns, values: writer.write_table(
            pa.table([names[0].take(rows), names[1].take(columns), values], schema=schema)
        )
