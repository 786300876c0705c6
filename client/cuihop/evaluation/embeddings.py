"""The images nearest to each query by the cosine or the product of their embeddings: all pairs, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget

__all__ = ["Embeddings", "Product", "nearest"]

_ROWS_A_BLOCK = 256
_PAIRS_A_BLOCK = 4096
_BYTES_A_PAIR = 16  # a product, its copy that is partitioned, and whether it is a candidate; some to spare

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

Product: TypeAlias = Literal["cosine", "dot"]
"""``cosine`` of the angle, or ``dot``, the inner product, which prefers long vectors."""


class Embeddings:
    """One vector for each image, and its direction in single precision for a first look.

    Args:
        table: floating point, shape (images, dimensions); may be a mapped file.
        name: what messages call it.

    Raises:
        InputError: a vector holds NaN or infinity, or has no direction because it is zero; names the row.
    """

    def __init__(self, table: npt.NDArray[Any], name: str) -> None:
        self._table = table
        self._exponents: Int64 = np.empty(len(table), dtype=np.int64)
        self._lengths: Float64 = np.empty(len(table), dtype=np.float64)
        self.unit: Float32 = np.empty(table.shape, dtype=np.float32)
        for first in range(0, len(table), _ROWS_A_BLOCK):
            part = slice(first, first + _ROWS_A_BLOCK)
            vectors = np.asarray(table[part], dtype=np.float64)
            largest = np.abs(vectors).max(axis=1, initial=0.0)  # NaN stays NaN
            wrong = np.flatnonzero(~(np.isfinite(largest) & (largest > 0)))
            if len(wrong):
                row = int(wrong[0])
                raise InputError(
                    "an embedding without a direction",
                    file=name,
                    column=f"row {first + row:,} (from 0)",
                    found="a zero vector" if largest[row] == 0 else "NaN or infinity",
                    expected="finite numbers, not all of them 0",
                )
            self._exponents[part] = np.frexp(largest)[1]
            scaled = self._scaled(part)
            self._lengths[part] = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
            self.unit[part] = scaled / self._lengths[part, np.newaxis]

    def __len__(self) -> int:
        return len(self._table)

    def _scaled(self, rows: slice | npt.NDArray[np.integer]) -> Float64:
        """Vectors times a power of two, which is exact, so that no square overflows or vanishes."""
        vectors = np.array(self._table[rows], dtype=np.float64)
        scaled: Float64 = np.ldexp(vectors, -self._exponents[rows, np.newaxis], out=vectors)
        return scaled

    def reduced_lengths(self) -> Float64:
        """The lengths of all vectors, times one power of two that brings the longest near 1."""
        exponents = self._exponents - self._exponents.max(initial=np.iinfo(np.int64).min)
        lengths: Float64 = np.ldexp(self._lengths, exponents)
        return lengths

    def products(self, asked: slice, which: Int64, corpus: Embeddings, rows: Int64, by: Product) -> Float64:
        """Cosines, or products up to a factor of each query, in double precision, each computed alone, in parts.

        Args:
            asked: some of these vectors.
            which: places among ``asked``; rows: places in ``corpus``. Pairs, same shape.
        """
        ours, lengths = self._scaled(asked), self._lengths[asked]
        found = np.empty(len(which), dtype=np.float64)
        for first in range(0, len(which), _PAIRS_A_BLOCK):
            part = slice(first, first + _PAIRS_A_BLOCK)
            np.einsum("ij,ij->i", ours[which[part]], corpus._scaled(rows[part]), out=found[part])
        if by == "dot":
            exponents = corpus._exponents - corpus._exponents.max()
            shifted: Float64 = np.ldexp(found, exponents[rows])
            return shifted
        found /= lengths[which] * corpus._lengths[rows]
        return found


def nearest(
    queries: Embeddings,
    corpus: Embeddings,
    own: Int32,
    names: Sequence[str],
    k: int,
    by: Product = "cosine",
    memory: MemoryBudget | None = None,
) -> tuple[Int32, Int64]:
    """The k images of the corpus with the largest cosine or product: descending, then name ascending.

    A product of matrices in single precision finds the candidates, with room for its rounding errors; the
    candidates' values in double precision, each computed alone, decide. So the answer does not depend on how the
    matrix product was cut into blocks or threads, and equal vectors are ties.

    Args:
        queries, corpus: the embeddings.
        own: int32, shape (queries,): the place of each query in the corpus, which is left out; -1 if it is not there.
        names: of the corpus.
        k: how many.
        by: cosine or inner product.
        memory: what this may take beside the embeddings. Smaller blocks where it is little.

    Returns:
        The places in the corpus one query after the other, and how many there are of each: int64, shape (queries,).

    Raises:
        LimitExceeded: the memory allowed is not enough for one query at a time.
    """
    by_name = np.empty(len(names), dtype=np.int32)
    by_name[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.int32)
    # Of unit vectors, a sum of d products of numbers rounded once errs by at most about d + 2 units of rounding. Both
    # the k-th of the sums and one that should be before it may err.
    unit_of_rounding = np.finfo(np.float32).eps / 2
    room = np.float32(2.0 * (corpus.unit.shape[1] + 4) * unit_of_rounding)
    # A product is a cosine times a length of the corpus' vector; the longest is between 1/2 and the root of d.
    factors = None if by == "cosine" else corpus.reduced_lengths()
    if factors is not None:
        room *= np.float32(2.0 * factors.max(initial=0.0))  # twice: the factor and the product are rounded too
    wanted = min(k, len(names))
    parts: list[Int32] = []
    lengths = np.minimum(wanted, len(names) - (own >= 0)).astype(np.int64)
    memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
    memory.take("rankings", len(queries) * wanted * 8)
    memory.take("products of one query", len(names) * _BYTES_A_PAIR)
    step = min(_ROWS_A_BLOCK, 1 + memory.left // (len(names) * _BYTES_A_PAIR))
    for first in range(0, len(queries), step):
        block = slice(first, first + step)
        rough = queries.unit[block] @ corpus.unit.T
        if factors is not None:
            rough *= factors.astype(np.float32)
        inside = np.flatnonzero(own[block] >= 0)
        rough[inside, own[block][inside]] = -np.inf
        least = np.partition(rough, len(names) - wanted, axis=1)[:, len(names) - wanted]
        lowest = np.float32(-2.0 if factors is None else -2.0 * factors.max())
        least = np.maximum(least - room, lowest)  # below every value, above the query itself
        which, candidates = np.nonzero(rough >= least[:, np.newaxis])
        values = queries.products(block, which, corpus, candidates, by)
        order = np.lexsort((by_name[candidates], -values, which))
        counts = np.bincount(which, minlength=len(rough))
        ranks = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        parts.append(candidates[order][ranks < np.repeat(lengths[block], counts)].astype(np.int32))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32), lengths
