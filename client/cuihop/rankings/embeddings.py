"""Vectors of images, checked, and their inner products in double precision."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.array_file import Rows
from cuihop.resources.memory_budget import MemoryBudget

_ROWS_AT_ONCE = 1024

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

Product: TypeAlias = Literal["cosine", "dot"]
"""``cosine`` of the angle, or ``dot``, the inner product, which prefers long vectors."""


class Embeddings:
    """One vector for each image.

    Args:
        table: floating point, shape (images, dimensions); an array, or one that stays in its file.
        name: what messages call it.

    Raises:
        InputError: a vector holds NaN or infinity, or has no direction because it is zero; names the row.
    """

    def __init__(self, table: Rows, name: str) -> None:
        self._table = table
        self._held: npt.NDArray[np.floating] | None = None
        self._exponents: Int64 = np.empty(len(table), dtype=np.int64)
        self._lengths: Float64 = np.empty(len(table), dtype=np.float64)
        for first in range(0, len(table), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            with np.errstate(over="ignore"):  # a number beyond double precision is infinite, and refused
                vectors = np.asarray(table[part], dtype=np.float64)
            largest = np.abs(vectors).max(axis=1, initial=0.0)  # NaN stays NaN
            wrong = np.flatnonzero(~(np.isfinite(largest) & (largest > 0)))
            if len(wrong):
                row = int(wrong[0])
                raise InputError(
                    "an embedding without a direction", file=name, column=f"row {first + row:,} (from 0)",
                    found="a zero vector" if largest[row] == 0 else "NaN or infinity",
                    expected="finite numbers, not all of them 0",
                )  # fmt: skip
            exponents = np.frexp(largest)[1]
            scaled = _shifted(vectors, -exponents)
            self._exponents[part] = exponents
            self._lengths[part] = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        self._most = int(self._exponents.max()) if len(table) else 0
        longest = np.ldexp(self._lengths, self._exponents - self._most).max(initial=0.0)
        self._common = self._most + int(np.frexp(longest)[1])

    def __len__(self) -> int:
        return len(self._table)

    @property
    def dimensions(self) -> int:
        """Numbers of each vector."""
        return self._table.shape[1]

    def _scaled(self, rows: slice, of_them: Int64 | None = None) -> Float64:
        """Vectors times a power of two, which is exact, so that no square overflows or vanishes."""
        vectors, exponents = self._table[rows], self._exponents[rows]
        if of_them is not None:
            vectors, exponents = vectors[of_them], exponents[of_them]
        return _shifted(np.asarray(vectors, dtype=np.float64), -exponents)

    def hold(self, by: Product, dtype: type[np.floating], memory: MemoryBudget) -> None:
        """Keep all `directions`, if they take less than half of the memory that is left."""
        size = len(self) * self.dimensions * np.dtype(dtype).itemsize
        if 2 * size > memory.left:
            return
        memory.take("directions of embeddings", size)
        held = np.empty((len(self), self.dimensions), dtype=dtype)
        for first in range(0, len(self), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            held[part] = self.directions(part, by, dtype)
        self._held = held

    def directions(self, rows: slice, by: Product, dtype: type[np.floating]) -> npt.NDArray[np.floating]:
        """Vectors whose product with a vector of length 1 is from -1 to 1.

        By cosine they have length 1; else they are all made shorter by one power of two.
        """
        if self._held is not None and self._held.dtype == dtype:
            return self._held[rows]
        scaled = self._scaled(rows)
        if by == "cosine":
            scaled /= self._lengths[rows, np.newaxis]
        else:
            scaled = _shifted(scaled, self._exponents[rows] - self._common)
        return scaled.astype(dtype, copy=False)

    def products(self, block: slice, which: Int64, corpus: Embeddings, rows: Int64, by: Product) -> Float64:
        """Cosines, or products up to a factor of each query, in double precision, each computed alone.

        Args:
            block: some of these vectors.
            which: places among ``block``; rows: places in ``corpus``. Pairs, same shape.
        """
        from cuihop._kernels.inner_products import inner_products

        ours = self._scaled(block)
        found = np.empty(len(which), dtype=np.float64)
        by_row = np.argsort(rows)
        ascending = rows[by_row]
        firsts = np.arange(0, len(corpus) + _ROWS_AT_ONCE, _ROWS_AT_ONCE)
        ends = np.searchsorted(ascending, firsts)
        for first, begin, end in zip(firsts.tolist(), ends.tolist(), ends[1:].tolist(), strict=False):
            if begin < end:
                needed, where = np.unique(ascending[begin:end] - first, return_inverse=True)
                theirs = corpus._scaled(slice(first, first + _ROWS_AT_ONCE), needed)
                pairs = by_row[begin:end]
                inner_products(ours, theirs, which[pairs], where, pairs, found)
        if by == "dot":
            return np.ldexp(found, corpus._exponents[rows] - corpus._most, out=found)
        found /= self._lengths[block][which] * corpus._lengths[rows]
        return found


def _shifted(vectors: Float64, exponents: Int64) -> Float64:
    """Each vector times 2 to the power of its exponent, which is exact: ldexp, several times faster.

    A power beyond the largest number is multiplied in two steps.
    """
    once = np.minimum(exponents, 1023)
    found: Float64 = vectors * np.ldexp(1.0, once)[:, np.newaxis]
    if (exponents > once).any():
        found *= np.ldexp(1.0, exponents - once)[:, np.newaxis]
    return found
