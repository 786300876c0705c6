"""Nearest images by the cosine or the product of embeddings, or by the Hamming distance of codes: all pairs, exactly.

Candidates of embeddings come from NumPy's products in single precision, with room for their rounding errors; values in
double precision decide. A flat index of faiss would find the same candidates in about the same time, as most of it goes
into the products and the values. The compiled search of codes stays: faiss's flat index takes three to six times as
long at 9,927 images, and breaks ties as they fall. Both are measured in benchmarks/RESULTS.md.
"""

from __future__ import annotations

from itertools import starmap
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.arrays import Rows
from cuihop.measures.judged_rankings import blocks
from cuihop.rankings.blocks import BYTES_OF_A_BLOCK
from cuihop.resources.arrays import Float64, Int32, Int64, UInt64
from cuihop.resources.memory_budget import MemoryBudget

_ROWS_AT_ONCE = 1024
_TILE = 2048  # images of the corpus in one product
_MOST_QUERIES = 512
_LISTS = 1 << 25  # bytes of the lists of a block
_OPERATIONS = 1 << 34  # products of a block: a product cannot be interrupted, some tenths of a second
_DIGITS = 30  # of a product, after the point
_SHARE = 24  # if more than one image in this number is requested, all are ordered
_ROWS_PARTITIONED = 16  # at once: the copies stay in the caches of the processor
_PAIRS = 1 << 20  # values computed at once, at most, unless one query has more; for each such group the corpus is read
_SHARE_OF_PAIRS = 16  # their memory: at most one part in this number of what is allowed, unless one query needs more
_BYTES_A_PAIR = 72  # of a candidate: indices, value, and their sorting
_PAIRS_A_BLOCK = 1 << 22  # some hundredths of a second, which is how long an interrupt waits
_CODES_AT_ONCE = 4096
_WORD = 8

Product: TypeAlias = Literal["cosine", "dot"]
"""``cosine`` of the angle, or ``dot``, the inner product, which prefers long vectors."""


class Embeddings:
    """One vector for each image: floating point, shape (images, dimensions); an array, or one that stays in its file.

    Raises:
        InputError: a vector holds NaN or infinity, or has no direction because it is zero; names the row.
    """

    def __init__(self, table: Rows, name: str) -> None:
        self._table = table
        self._held: npt.NDArray[np.floating] | None = None
        self._exponents: Int64 = np.empty(len(table), dtype=np.int64)
        self._lengths: Float64 = np.empty(len(table), dtype=np.float64)
        for first in range(0, len(table), _ROWS_AT_ONCE):
            chunk = slice(first, first + _ROWS_AT_ONCE)
            with np.errstate(over="ignore"):  # a number beyond double precision is infinite, and refused
                vectors = np.asarray(table[chunk], dtype=np.float64)
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
            self._exponents[chunk] = exponents
            self._lengths[chunk] = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
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
            chunk = slice(first, first + _ROWS_AT_ONCE)
            held[chunk] = self.directions(chunk, by, dtype)
        self._held = held

    def directions(self, rows: slice, by: Product, dtype: type[np.floating]) -> npt.NDArray[np.floating]:
        """Vectors whose product with a vector of length 1 is from -1 to 1.

        By cosine they have length 1; else they are all divided by one power of two.
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
            which: indices among ``block``; rows: indices in ``corpus``. Pairs, same shape.
        """
        from cuihop._kernels.vectors import inner_products

        ours = self._scaled(block)
        values = np.empty(len(which), dtype=np.float64)
        by_row = np.argsort(rows)
        ascending = rows[by_row]
        firsts = np.arange(0, len(corpus) + _ROWS_AT_ONCE, _ROWS_AT_ONCE)
        ends = np.searchsorted(ascending, firsts)
        for first, begin, end in zip(firsts.tolist(), ends.tolist(), ends[1:].tolist(), strict=False):
            if begin < end:
                needed, where = np.unique(ascending[begin:end] - first, return_inverse=True)
                theirs = corpus._scaled(slice(first, first + _ROWS_AT_ONCE), needed)
                pairs = by_row[begin:end]
                inner_products(ours, theirs, which[pairs], where, pairs, values)
        if by == "dot":
            return np.ldexp(values, corpus._exponents[rows] - corpus._most, out=values)
        values /= self._lengths[block][which] * corpus._lengths[rows]
        return values


def _shifted(vectors: Float64, exponents: Int64) -> Float64:
    """Each vector times 2 to the power of its exponent, which is exact: ldexp, several times faster."""
    once = np.minimum(exponents, 1023)
    shifted: Float64 = vectors * np.ldexp(1.0, once)[:, np.newaxis]
    if (exponents > once).any():
        shifted *= np.ldexp(1.0, exponents - once)[:, np.newaxis]
    return shifted


class NearestVectors:
    """The images of the corpus with the largest cosine or product: descending, then name ascending.

    The value of a pair is computed alone, in double precision and in one order of additions. Products of matrices only
    choose the pairs whose values have to be compared, so that the ranking does not depend on blocks or threads, and
    equal vectors are ties.

    Args:
        own: int32, shape (queries,): the index of each query in the corpus, which is left out; -1 if it is not there.
        by_name: int32, shape (corpus,): the index of each image in the order of the names.
        count: images for each query, at most as many as the corpus has.
        threads: number of blocks ranked at once, at most.
        memory: allowance in addition to the embeddings.

    Attributes:
        step: queries of a block. It depends on numbers of images and dimensions, not on memory or threads.
        threads: number that there is memory for.

    Raises:
        LimitExceeded: the memory allowed is not enough.
    """

    def __init__(
        self,
        queries: Embeddings,
        corpus: Embeddings,
        own: Int32,
        by_name: Int32,
        count: int,
        by: Product,
        threads: int,
        memory: MemoryBudget,
    ) -> None:
        self._queries, self._corpus, self._own, self._by = queries, corpus, own, by
        self._by_name, self._count = by_name, count
        images, dimensions = len(corpus), corpus.dimensions
        self._complete = count * _SHARE > images
        self._dtype: type[np.floating] = np.float64 if self._complete else np.float32
        most = min(_MOST_QUERIES, _LISTS // (max(1, count) * BYTES_OF_A_BLOCK))
        self.step = max(1, min(most, _OPERATIONS // max(1, images * dimensions)))
        # Of vectors no longer than 1, a sum of d products of numbers rounded once or twice errs by at most about d + 3
        # units of rounding. Both sums of a comparison may err.
        self._room = np.float32((dimensions + 4) * np.finfo(np.float32).eps * 2)
        self._rows_at_once = self.step
        # Of a query: products and their order, or their partition; of a thread: a tile and the pairs of one query.
        a_row = (
            (26 if self._complete else 5) * images + 16 * dimensions + _BYTES_A_PAIR * (0 if self._complete else count)
        )
        self._pairs = max(images, min(_PAIRS, memory.left // (_SHARE_OF_PAIRS * _BYTES_A_PAIR)))
        fixed = 16 * min(_TILE, images) * dimensions + _BYTES_A_PAIR * self._pairs
        fixed += self.step * count * BYTES_OF_A_BLOCK + (0 if self._complete else 6 * _ROWS_PARTITIONED * images)
        memory.take("products of one query", fixed + a_row)
        self._rows_at_once = min(self.step, 1 + memory.left // a_row)
        a_thread = fixed + self._rows_at_once * a_row
        memory.take("products of a block", (self._rows_at_once - 1) * a_row)
        self.threads = min(threads, 1 + memory.left // a_thread)
        memory.take("products of a block", (self.threads - 1) * a_thread)
        corpus.hold(by, self._dtype, memory)

    def rows(self, block: slice) -> Int32:
        """Indices in the corpus: int32, shape (queries of the block, count); -1 beyond the end of the corpus."""
        ranked = np.full((block.stop - block.start, self._count), -1, dtype=np.int32)
        for first in range(block.start, block.stop, self._rows_at_once):
            chunk = slice(first, min(first + self._rows_at_once, block.stop))
            rank = self._all if self._complete else self._candidates
            rank(chunk, ranked[first - block.start : chunk.stop - block.start])
        return ranked

    def _products(self, chunk: slice) -> npt.NDArray[np.floating]:
        """Products of some queries with every image, shape (queries, images); -inf for a query with itself."""
        vectors = self._queries.directions(chunk, "cosine", self._dtype)
        products = np.empty((len(vectors), len(self._corpus)), dtype=self._dtype)
        for first in range(0, len(self._corpus), _TILE):
            tile = slice(first, first + _TILE)
            np.matmul(vectors, self._corpus.directions(tile, self._by, self._dtype).T, out=products[:, tile])
        own = self._own[chunk]
        products[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
        return products

    def _candidates(self, chunk: slice, ranked: Int32) -> None:
        """Order the images that may be among the first: those no more than the room below the last of them."""
        products = self._products(chunk)
        last = len(self._corpus) - self._count
        candidates = np.empty(products.shape, dtype=np.bool_)
        for first in range(0, len(products), _ROWS_PARTITIONED):
            part = products[first : first + _ROWS_PARTITIONED]
            floors = np.partition(part, last, axis=1)[:, last] - self._room
            candidates[first : first + _ROWS_PARTITIONED] = (part >= floors[:, np.newaxis]) & (part > -np.inf)
        del products
        for group in starmap(slice, blocks(candidates.sum(axis=1), self._pairs)):
            which, images = np.divmod(np.flatnonzero(candidates[group]), len(self._corpus))
            values = self._values(chunk, group, which, images)
            order = np.lexsort((self._by_name[images], -values, which))
            which, images = which[order], images[order]
            starts = np.searchsorted(which, np.arange(group.stop - group.start))
            ranks = np.arange(len(which)) - starts[which]
            listed = ranks < self._count
            ranked[group][which[listed], ranks[listed]] = images[listed]

    def _all(self, chunk: slice, ranked: Int32) -> None:
        """Order every image by its product, and runs of products too close to tell apart by their values."""
        products = self._products(chunk)
        own = self._own[chunk]
        # Products to 31 binary digits, descending, and indices: integers, which NumPy sorts by vector instructions.
        np.subtract(1.0, products, out=products)
        products *= 2.0**_DIGITS
        np.clip(products, 0.0, 2.0 ** (_DIGITS + 1) - 3, out=products)
        keys = products.astype(np.int64)
        del products
        keys[np.flatnonzero(own >= 0), own[own >= 0]] = 2 ** (_DIGITS + 1) - 1  # after every other, and close to none
        keys <<= 32
        keys |= np.arange(len(self._corpus))
        keys.sort(axis=1)
        order = (keys & 0xFFFFFFFF).astype(np.int32)
        keys >>= 32
        close = np.zeros(order.shape, dtype=np.bool_)
        close[:, 1:] = np.diff(keys, axis=1) <= 1
        del keys
        members = close.copy()
        members[:, :-1] |= close[:, 1:]
        for group in starmap(slice, blocks(members.sum(axis=1), self._pairs)):
            which, ranks = np.divmod(np.flatnonzero(members[group]), len(self._corpus))
            images = order[group][which, ranks]
            run = np.cumsum(~close[group][which, ranks])
            values = self._values(chunk, group, which, images)
            order[group][which, ranks] = images[np.lexsort((self._by_name[images], -values, run))]
        ranked[:] = order[:, : self._count]
        ranked[ranked == own[:, np.newaxis]] = -1  # it came last

    def _values(self, chunk: slice, group: slice, which: Int64, images: npt.NDArray[np.int32 | np.int64]) -> Float64:
        queries = slice(chunk.start + group.start, chunk.start + group.stop)
        return self._queries.products(queries, which, self._corpus, images.astype(np.int64, copy=False), self._by)


def packed_codes(table: Rows, name: str) -> UInt64:
    """Codes as words of 64 bits, filled up with zeros: uint64, shape (images, words).

    The table has the shape (images, bits), of truth values, of 0 and 1, or of -1 and 1; or it is uint8, shape (images,
    bytes), of bits that are packed already. An `InputError` names the first other number.
    """
    blocks = [slice(first, first + _CODES_AT_ONCE) for first in range(0, len(table), _CODES_AT_ONCE)]
    packed = table.dtype == np.uint8 and any(bool((table[block] > 1).any()) for block in blocks)
    width = table.shape[1] if packed else -(-table.shape[1] // 8)
    words = np.zeros((len(table), -(-width // _WORD) * _WORD), dtype=np.uint8)
    signed = not packed and table.dtype.kind in "if" and any(bool((table[block] == -1).any()) for block in blocks)
    for rows in blocks:
        block = np.asarray(table[rows])
        if not packed:
            wrong = np.argwhere((block != 1) & (block != (-1 if signed else 0)))
            if len(wrong):
                row, column = wrong[0].tolist()
                raise InputError(
                    "not a bit", file=name, column=f"{column}, row {rows.start + row:,} (both from 0)",
                    found=str(block[row, column]), expected="only 0 and 1, or only -1 and 1; or packed bits, uint8",
                )  # fmt: skip
            block = np.packbits(block == 1, axis=1)
        words[rows, :width] = block
    return words.view(np.uint64)


class NearestCodes:
    """The images of the corpus with the smallest Hamming distance: distance ascending, then name ascending.

    Other arguments, attributes and errors are those of `NearestVectors`.

    Args:
        queries, corpus: the results of `packed_codes`, of codes of one length.
    """

    def __init__(
        self,
        queries: UInt64,
        corpus: UInt64,
        own: Int32,
        by_name: Int32,
        count: int,
        threads: int,
        memory: MemoryBudget,
    ) -> None:
        self._queries, self._own, self._by_name, self._count = queries, own, by_name, count
        memory.take("codes in the order of their names", corpus.nbytes + by_name.nbytes)
        self._order = np.empty_like(by_name)
        self._order[by_name] = np.arange(len(by_name), dtype=np.int32)
        self._corpus = np.ascontiguousarray(corpus[self._order].T)
        self._beyond = queries.shape[1] * _WORD * 8 + 1  # the distance a query gets from itself: behind every other
        self._distance = np.min_scalar_type(self._beyond)
        self.step = max(1, _PAIRS_A_BLOCK // max(1, len(by_name)))
        a_thread = len(by_name) * self._distance.itemsize + self._beyond * 8 + self.step * count * BYTES_OF_A_BLOCK
        memory.take("distances of a block", a_thread)
        self.threads = min(threads, 1 + memory.left // a_thread)
        memory.take("distances of a block", (self.threads - 1) * a_thread)

    def rows(self, block: slice) -> Int32:
        """As `NearestVectors.rows`."""
        from cuihop._kernels.vectors import rank

        own = self._own[block]
        itself = np.where(own >= 0, self._by_name[own], np.int32(-1))
        nearest = np.empty((len(own), self._count), dtype=np.int32)
        distances = np.empty(self._corpus.shape[1], dtype=self._distance)
        rank(self._queries[block], self._corpus, itself, self._beyond, distances, nearest)
        rows = self._order[nearest]
        rows[rows == own[:, np.newaxis]] = -1  # it came last, as there are no more
        return rows
