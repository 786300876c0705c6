"""The images nearest to each query by the Hamming distance of their binary codes: all pairs, exactly.

The compiled search stays: faiss's flat index takes three to six times as long at 9,927 images, and breaks ties as they
fall (benchmarks/RESULTS.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.array_file import Rows
from cuihop.rankings.blocks import BYTES_OF_A_BLOCK
from cuihop.resources.memory_budget import MemoryBudget

_PAIRS_A_BLOCK = 1 << 22  # some hundredths of a second, which is how long an interrupt waits
_ROWS_A_BLOCK = 4096
_WORD = 8

Int32 = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


def packed_codes(table: Rows, name: str) -> Words:
    """Codes as words of 64 bits, filled up with zeros: uint64, shape (images, words).

    Args:
        table: shape (images, bits) of truth values, of 0 and 1, or of -1 and 1; or uint8, shape (images, bytes), of
            bits that are packed already.
        name: what messages call it.

    Raises:
        InputError: it holds other numbers; names the first.
    """
    blocks = [slice(first, first + _ROWS_A_BLOCK) for first in range(0, len(table), _ROWS_A_BLOCK)]
    packed = table.dtype == np.uint8 and any(bool((table[block] > 1).any()) for block in blocks)
    width = table.shape[1] if packed else -(-table.shape[1] // 8)
    found = np.zeros((len(table), -(-width // _WORD) * _WORD), dtype=np.uint8)
    signed = not packed and table.dtype.kind in "if" and any(bool((table[block] == -1).any()) for block in blocks)
    for rows in blocks:
        block = np.asarray(table[rows])
        if not packed:
            wrong = np.argwhere((block != 1) & (block != (-1 if signed else 0)))
            if len(wrong):
                row, column = (int(place) for place in wrong[0])
                raise InputError(
                    "not a bit", file=name, column=f"{column}, row {rows.start + row:,} (both from 0)",
                    found=str(block[row, column]), expected="only 0 and 1, or only -1 and 1; or packed bits, uint8",
                )  # fmt: skip
            block = np.packbits(block == 1, axis=1)
        found[rows, :width] = block
    return found.view(np.uint64)


class NearestCodes:
    """The images of the corpus with the smallest Hamming distance: distance ascending, then name ascending.

    Args:
        queries, corpus: what `packed_codes` gives, of codes of one length.
        own, by_name, wanted, threads, memory: as `cuihop.rankings.nearest_vectors.NearestVectors` takes them.

    Attributes:
        step, threads: as those of `cuihop.rankings.nearest_vectors.NearestVectors`.

    Raises:
        LimitExceeded: the memory allowed is not enough.
    """

    def __init__(
        self, queries: Words, corpus: Words, own: Int32, by_name: Int32, wanted: int, threads: int, memory: MemoryBudget
    ) -> None:
        self._queries, self._own, self._by_name, self._wanted = queries, own, by_name, wanted
        memory.take("codes in the order of their names", corpus.nbytes + by_name.nbytes)
        self._order = np.empty_like(by_name)
        self._order[by_name] = np.arange(len(by_name), dtype=np.int32)
        self._corpus = np.ascontiguousarray(corpus[self._order].T)
        self._beyond = queries.shape[1] * _WORD * 8 + 1  # the distance a query gets from itself: behind every other
        self._distance = np.min_scalar_type(self._beyond)
        self.step = max(1, _PAIRS_A_BLOCK // max(1, len(by_name)))
        a_thread = len(by_name) * self._distance.itemsize + self._beyond * 8 + self.step * wanted * BYTES_OF_A_BLOCK
        memory.take("distances of a block", a_thread)
        self.threads = min(threads, 1 + memory.left // a_thread)
        memory.take("distances of a block", (self.threads - 1) * a_thread)

    def rows(self, block: slice) -> Int32:
        """As `cuihop.rankings.nearest_vectors.NearestVectors.rows`."""
        from cuihop._kernels.nearest_codes import rank

        own = self._own[block]
        itself = np.where(own >= 0, self._by_name[own], np.int32(-1))
        found = np.empty((len(own), self._wanted), dtype=np.int32)
        distances = np.empty(self._corpus.shape[1], dtype=self._distance)
        rank(self._queries[block], self._corpus, itself, self._beyond, distances, found)
        rows = self._order[found]
        rows[rows == own[:, np.newaxis]] = -1  # it came last, as there are no more
        return rows
