"""Nearest images by the cosine or the product of embeddings: all pairs, exactly.

Candidates come from NumPy's products in single precision, with room for their rounding errors; values in double
precision decide. A flat index of faiss would find the same candidates in about the same time, as most of it goes into
the products and the values: measured in benchmarks/RESULTS.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cuihop.rankings.blocks import BYTES_OF_A_BLOCK
from cuihop.rankings.embeddings import Embeddings, Product
from cuihop.resources.memory_budget import MemoryBudget

_TILE = 2048  # images of the corpus in one product
_MOST_QUERIES = 512
_LISTS = 1 << 25  # bytes of the lists of a block
_OPERATIONS = 1 << 34  # products of a block: a product cannot be interrupted, some tenths of a second
_DIGITS = 30  # of a product, after the point
_SHARE = 24  # where more than one image in this number is wanted, all are ordered
_PAIRS = 1 << 15  # values computed at once, unless one query has more
_BYTES_A_PAIR = 72  # of a candidate: places, value, and their sorting

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


class NearestVectors:
    """The images of the corpus with the largest cosine or product: descending, then name ascending.

    The value of a pair is computed alone, in double precision and in one order of additions. Products of matrices only
    choose the pairs whose values have to be compared, so that the ranking does not depend on blocks or threads, and
    equal vectors are ties.

    Args:
        queries, corpus: the embeddings.
        own: int32, shape (queries,): the place of each query in the corpus, which is left out; -1 if it is not there.
        by_name: int32, shape (corpus,): the place of each image in the order of the names.
        wanted: images for each query, at most as many as the corpus has.
        by: cosine or inner product.
        threads: number of blocks ranked at once, at most.
        memory: allowance beside the embeddings.

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
        wanted: int,
        by: Product,
        threads: int,
        memory: MemoryBudget,
    ) -> None:
        self._queries, self._corpus, self._own, self._by = queries, corpus, own, by
        self._by_name, self._wanted = by_name, wanted
        images, dimensions = len(corpus), corpus.dimensions
        self._whole = wanted * _SHARE > images
        self._dtype: type[np.floating] = np.float64 if self._whole else np.float32
        most = min(_MOST_QUERIES, _LISTS // (max(1, wanted) * BYTES_OF_A_BLOCK))
        self.step = max(1, min(most, _OPERATIONS // max(1, images * dimensions)))
        # Of vectors no longer than 1, a sum of d products of numbers rounded once or twice errs by at most about d + 3
        # units of rounding. Both sums of a comparison may err.
        self._room = np.float32((dimensions + 4) * np.finfo(np.float32).eps * 2)
        self._rows_at_once = self.step
        # Of a query: products and their order, or their partition; of a thread: a tile and the pairs of one query.
        a_row = (26 if self._whole else 9) * images + 16 * dimensions + _BYTES_A_PAIR * (0 if self._whole else wanted)
        fixed = 16 * min(_TILE, images) * dimensions + _BYTES_A_PAIR * max(_PAIRS, images)
        fixed += self.step * wanted * BYTES_OF_A_BLOCK
        memory.take("products of one query", fixed + a_row)
        self._rows_at_once = min(self.step, 1 + memory.left // a_row)
        a_thread = fixed + self._rows_at_once * a_row
        memory.take("products of a block", (self._rows_at_once - 1) * a_row)
        self.threads = min(threads, 1 + memory.left // a_thread)
        memory.take("products of a block", (self.threads - 1) * a_thread)
        corpus.hold(by, self._dtype, memory)

    def rows(self, block: slice) -> Int32:
        """Places in the corpus: int32, shape (queries of the block, wanted); -1 beyond the end of the corpus."""
        ranked = np.full((block.stop - block.start, self._wanted), -1, dtype=np.int32)
        for first in range(block.start, block.stop, self._rows_at_once):
            part = slice(first, min(first + self._rows_at_once, block.stop))
            rank = self._all if self._whole else self._candidates
            rank(part, ranked[first - block.start : part.stop - block.start])
        return ranked

    def _products(self, part: slice) -> npt.NDArray[np.floating]:
        """Products of some queries with every image, shape (queries, images); -inf for a query with itself."""
        vectors = self._queries.directions(part, "cosine", self._dtype)
        products = np.empty((len(vectors), len(self._corpus)), dtype=self._dtype)
        for first in range(0, len(self._corpus), _TILE):
            tile = slice(first, first + _TILE)
            np.matmul(vectors, self._corpus.directions(tile, self._by, self._dtype).T, out=products[:, tile])
        own = self._own[part]
        products[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
        return products

    def _candidates(self, part: slice, ranked: Int32) -> None:
        """Order the images that may be among the wanted: those no more than the room below the last of them."""
        products = self._products(part)
        last = len(self._corpus) - self._wanted
        floors = np.partition(products, last, axis=1)[:, last] - self._room
        candidates = (products >= floors[:, np.newaxis]) & (products > -np.inf)
        del products
        for some in _groups(candidates.sum(axis=1)):
            which, images = np.divmod(np.flatnonzero(candidates[some]), len(self._corpus))
            values = self._values(part, some, which, images)
            order = np.lexsort((self._by_name[images], -values, which))
            which, images = which[order], images[order]
            starts = np.searchsorted(which, np.arange(some.stop - some.start))
            ranks = np.arange(len(which)) - starts[which]
            listed = ranks < self._wanted
            ranked[some][which[listed], ranks[listed]] = images[listed]

    def _all(self, part: slice, ranked: Int32) -> None:
        """Order every image by its product, and runs of products too close to tell apart by their values."""
        products = self._products(part)
        own = self._own[part]
        # Products to 31 binary digits, descending, and places: integers, which NumPy sorts by vector instructions.
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
        for some in _groups(members.sum(axis=1)):
            which, ranks = np.divmod(np.flatnonzero(members[some]), len(self._corpus))
            images = order[some][which, ranks]
            run = np.cumsum(~close[some][which, ranks])
            values = self._values(part, some, which, images)
            order[some][which, ranks] = images[np.lexsort((self._by_name[images], -values, run))]
        ranked[:] = order[:, : self._wanted]
        ranked[ranked == own[:, np.newaxis]] = -1  # it came last

    def _values(self, part: slice, some: slice, which: Int64, images: npt.NDArray[np.int32 | np.int64]) -> Float64:
        queries = slice(part.start + some.start, part.start + some.stop)
        return self._queries.products(queries, which, self._corpus, images.astype(np.int64, copy=False), self._by)


def _groups(counts: Int64) -> Iterator[slice]:
    """Queries one after the other whose pairs fit in the memory set apart for them, one query at least."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        yield slice(first, last)
        first = last
