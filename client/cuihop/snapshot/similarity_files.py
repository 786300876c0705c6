"""Files of all similarities: an array with its identifiers beside it, or a table of the nearest pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file, write_whole
from cuihop.resources.optional_packages import installed_by
from cuihop.resources.resources import Resources
from cuihop.similarity.options import DISTANCES
from cuihop.snapshot.all_similarities import AllSimilarities

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
_Write = Callable[[Int64, Int64, Float64], None]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""Suffix of a table in text → what stands between its fields."""


def identifier_files(path: Path, every: AllSimilarities) -> dict[Path, list[str]]:
    """The files of identifiers beside an array, one a line: of its rows and, where they are others, of its columns."""
    files = {path.with_name(f"{path.name}.rows.txt"): every.rows}
    if every.columns is not every.rows:
        files[path.with_name(f"{path.name}.columns.txt")] = every.columns
    return files


def write_array(
    every: AllSimilarities, path: Path, *, dtype: Literal["float64", "float32"] = "float64", resources: Resources
) -> None:
    """Write a NumPy array of shape (rows, columns), NaN for no value, and `identifier_files` beside it.

    ``numpy.load(path, mmap_mode="r")`` reads it without taking memory.

    Args:
        every: the similarities. path: the array, ``.npy``.
        dtype: float32 rounds to about 7 digits and takes half the room.
        resources: threads, and the progress of rows.

    Raises:
        OutputError: a file cannot be written; the array is written whole or not at all.
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
    """Write a table of pairs, columns a, b and the measure; pairs without a value are left out.

    Of one list compared with itself, each pair stands once, with ``top`` once for each of its two rows; no concept is
    paired with itself.

    Args:
        every: the similarities. path: ``.csv``, ``.tsv`` or ``.parquet``.
        at_least: the least value; of a distance, the greatest.
        top: nearest columns of each row, of equal ones those that stand first; ``None`` for all.
        resources: threads, and the progress of rows.

    Returns:
        The number of pairs.

    Raises:
        InputError: another suffix. OutputError: the file cannot be written; it is written whole or not at all.
        ModuleNotFoundError: Parquet, and pyarrow is not installed.
    """
    sign = -1.0 if every.options.measure in DISTANCES else 1.0
    alone = every.columns is every.rows
    count = 0
    with replaced_file(path) as file, _table(file, path, every) as write:
        for begin, block in _blocks(every, resources):
            near = sign * block
            if alone:
                places = begin + np.arange(len(block))
                columns = np.arange(block.shape[1])
                near[columns == places[:, None] if top else columns <= places[:, None]] = np.nan
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
