"""The images nearest to each query by the cosine or the product of their embeddings: all pairs, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop.rankings.blocks import BYTES_OF_A_BLOCK
from cuihop.rankings.embeddings import Embeddings, Product
from cuihop.resources.memory_budget import MemoryBudget

__all__ = ["NearestVectors"]

_TILE = 2048  # images of the corpus at once: their products with a block of queries stay in the cache
_MOST_QUERIES = 512
_WHOLE_QUERIES = 128
_OPERATIONS = 1 << 34  # products of a block: a compiled call cannot be interrupted, some tenths of a second
_CANDIDATES = 1 << 21
_SPARE = 2048  # candidates of a query beyond twice those that are wanted
_SHARE = 4  # where more than one image in this number is wanted, all are put in order
_PAIRS = 1 << 16  # whose values are computed alone at once, unless one query has more
_BYTES_A_PAIR = 56  # of a candidate: places, value, and what putting them in order takes

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


class NearestVectors:
    """The images of the corpus with the largest cosine or product: descending, then name ascending.

    Candidates are found by products in single precision, with room for its rounding errors; their values in double
    precision, each computed alone, decide. Where most images are wanted, products in double precision put them in
    order, and of those that are too close to tell, the values computed alone decide again. So the answer does not
    depend on how the products were cut into blocks or threads, and equal vectors are ties.

    Args:
        queries, corpus: the embeddings.
        own: int32, shape (queries,): the place of each query in the corpus, which is left out; -1 if it is not there.
        by_name: int32, shape (corpus,): the place of each image in the order of the names.
        wanted: how many of each query, at most as many as the corpus has.
        by: cosine or inner product.
        threads: how many ask for blocks at once, at most.
        memory: what this may take beside the embeddings.

    Attributes:
        step: queries of a block. It depends on numbers of images and dimensions, not on memory or threads.
        threads: how many there is memory for.

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
        self._by_name = by_name
        self._name_order = np.empty_like(by_name)
        self._name_order[by_name] = np.arange(len(by_name), dtype=np.int32)
        self._wanted = wanted
        images, dimensions = len(corpus), corpus.dimensions
        self._whole = wanted * _SHARE > images
        self._capacity = 2 * wanted + _SPARE
        most = _WHOLE_QUERIES if self._whole else min(_MOST_QUERIES, _CANDIDATES // self._capacity)
        self.step = max(1, min(most, _OPERATIONS // max(1, images * dimensions)))
        # Of vectors no longer than 1, a sum of d products of numbers rounded once or twice errs by at most about d + 3
        # units of rounding. Both the least of the wanted sums and one that should be before it may err.
        self._room = np.float32((dimensions + 4) * np.finfo(np.float32).eps)
        self._rows_at_once = self.step
        tile = min(_TILE, images)
        a_row = 13 * images + 8 * tile if self._whole else 4 * tile + 8 * self._capacity + _BYTES_A_PAIR * wanted
        a_row += 16 * dimensions
        fixed = 12 * images + 16 * tile * dimensions + _BYTES_A_PAIR * max(_PAIRS, images)
        fixed += self.step * wanted * BYTES_OF_A_BLOCK
        memory.take("products of one query", fixed + a_row)
        self._rows_at_once = min(self.step, 1 + memory.left // a_row)
        a_thread = fixed + self._rows_at_once * a_row
        memory.take("products of a block", (self._rows_at_once - 1) * a_row)
        self.threads = min(threads, 1 + memory.left // a_thread)
        memory.take("products of a block", (self.threads - 1) * a_thread)
        corpus.hold(by, np.float64 if self._whole else np.float32, memory)

    def rows(self, block: slice) -> Int32:
        """Places in the corpus: int32, shape (queries of the block, wanted); -1 beyond the end of the corpus."""
        parts = [
            slice(first, min(first + self._rows_at_once, block.stop))
            for first in range(block.start, block.stop, self._rows_at_once)
        ]
        return np.concatenate([self._all(part) if self._whole else self._candidates(part) for part in parts])

    def _candidates(self, block: slice) -> Int32:
        from cuihop._kernels import nearest

        own = self._own[block]
        ours = self._queries.directions(block, "cosine", np.float32)
        counts = np.zeros(len(own), dtype=np.int64)
        floors = np.full(len(own), -2.0, dtype=np.float32)
        values = np.empty((len(own), self._capacity), dtype=np.float32)
        rows = np.empty(values.shape, dtype=np.int32)
        for first in range(0, len(self._corpus), _TILE):
            theirs = self._corpus.directions(slice(first, first + _TILE), self._by, np.float32)
            nearest.gather(ours @ theirs.T, first, own, self._wanted, self._room, floors, counts, values, rows)
        nearest.tighten(self._wanted, self._room, floors, counts, values, rows)
        crowded = counts == nearest.TOO_MANY
        counts[crowded] = 0
        filled = np.arange(self._capacity) < counts[:, np.newaxis]
        which, where = np.nonzero(filled)[0], rows[filled].astype(np.int64)
        exact = self._queries.products(block, which, self._corpus, where, self._by)
        found = np.empty((len(own), self._wanted), dtype=np.int32)
        starts = np.concatenate([[0], np.cumsum(counts)])
        nearest.put_in_order(starts, exact, self._by_name[where], found)
        found[found >= 0] = self._name_order[found[found >= 0]]
        for query in np.flatnonzero(crowded).tolist():
            place = block.start + query
            found[query] = self._all(slice(place, place + 1))[0]
        return found

    def _all(self, block: slice) -> Int32:
        """With every image of the corpus put in order."""
        from cuihop._kernels import nearest

        own = self._own[block]
        ours = self._queries.directions(block, "cosine", np.float64)
        products = np.empty((len(own), len(self._corpus)), dtype=np.float64)
        for first in range(0, len(self._corpus), _TILE):
            part = slice(first, first + _TILE)
            np.matmul(ours, self._corpus.directions(part, self._by, np.float64).T, out=products[:, part])
        order = np.empty(products.shape, dtype=np.int32)
        close = np.empty(products.shape, dtype=np.bool_)
        nearest.order_all(products, self._wanted + 1, order, close)  # one more: the query may be among them
        del products
        members = close.copy()
        members[:, :-1] |= close[:, 1:]
        ends = np.cumsum(members.sum(axis=1))
        first = 0
        while first < len(own):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
            which, ranks = np.nonzero(members[first:last])
            rows = order[first:last][which, ranks].astype(np.int64)
            some = slice(block.start + first, block.start + last)
            values = self._queries.products(some, which, self._corpus, rows, self._by)
            nearest.settle(order[first:last], close[first:last], values, self._by_name)
            first = last
        found = np.empty((len(own), self._wanted), dtype=np.int32)
        nearest.others(order, own, found)
        return found
