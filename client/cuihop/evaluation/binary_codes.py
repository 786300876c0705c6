"""The images nearest to each query by the Hamming distance of their binary codes: all pairs, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.cores import cores, in_threads
from cuihop.errors import InputError
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget

__all__ = ["nearest_codes", "packed_codes"]

_PAIRS_A_BLOCK = 1 << 20  # some hundredths of a second, which is how long an interrupt waits
_ROWS_A_BLOCK = 4096
_WORD = 8

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def packed_codes(table: npt.NDArray[Any], name: str) -> Words:
    """Codes as words of 64 bits, filled up with zeros: uint64, shape (images, words).

    Args:
        table: shape (images, bits) of truth values, of 0 and 1, or of -1 and 1; or uint8, shape (images, bytes), of
            bits that are packed already.
        name: what messages call it.

    Raises:
        InputError: it holds other numbers; names the first.
    """
    packed = table.dtype == np.uint8 and bool((table > 1).any())
    width = table.shape[1] if packed else -(-table.shape[1] // 8)
    found = np.zeros((len(table), -(-width // _WORD) * _WORD), dtype=np.uint8)
    signed = not packed and table.dtype.kind in "if" and bool((table == -1).any())
    for first in range(0, len(table), _ROWS_A_BLOCK):
        block = np.asarray(table[first : first + _ROWS_A_BLOCK])
        if not packed:
            wrong = np.argwhere((block != 1) & (block != (-1 if signed else 0)))
            if len(wrong):
                row, column = (int(place) for place in wrong[0])
                raise InputError(
                    "not a bit",
                    file=name,
                    column=f"{column}, row {first + row:,} (both from 0)",
                    found=str(block[row, column]),
                    expected="only 0 and 1, or only -1 and 1; or packed bits, uint8",
                )
            block = np.packbits(block == 1, axis=1)
        found[first : first + len(block), :width] = block
    return found.view(np.uint64)


def nearest_codes(
    queries: Words, corpus: Words, own: Int32, names: Sequence[str], k: int, memory: MemoryBudget | None = None
) -> tuple[Int32, Int64]:
    """The k images of the corpus with the smallest Hamming distance: distance ascending, then name ascending.

    On all cores, as far as there is memory for it. An interrupt stops after the blocks that are under way.

    Args:
        queries, corpus: what `packed_codes` gives, of codes of one length.
        own, names, k, memory: as in `cuihop.evaluation.embeddings.nearest`.

    Returns:
        As `cuihop.evaluation.embeddings.nearest`.

    Raises:
        LimitExceeded: the memory allowed is not enough.
    """
    from cuihop._kernels.counting_sort import smallest

    memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
    by_name = np.empty(len(names), dtype=np.int64)
    by_name[order] = np.arange(len(names))
    ordered = np.ascontiguousarray(corpus[order].T)
    wanted = min(k, len(names))
    lengths = np.minimum(wanted, len(names) - (own >= 0)).astype(np.int64)
    beyond = queries.shape[1] * _WORD * 8 + 1  # the distance that a query gets from itself: behind every other
    distance = np.min_scalar_type(beyond)
    step = max(1, _PAIRS_A_BLOCK // max(1, len(names)))
    a_block = step * len(names) * distance.itemsize + len(names) * (_WORD + 1) + beyond * 8
    memory.take("codes in the order of their names", corpus.nbytes)
    memory.take("rankings", len(queries) * wanted * 9)
    memory.take("distances of a block", a_block)
    threads = min(cores(), 1 + memory.left // a_block)
    found = np.empty((len(queries), wanted), dtype=np.int32)

    def rank(first: int) -> None:
        block = slice(first, first + step)
        codes = queries[block]
        distances = np.zeros((len(codes), len(names)), dtype=distance)
        for row, code in enumerate(codes):
            for word, others in zip(code, ordered, strict=True):
                distances[row] += np.bitwise_count(others ^ word)
        inside = np.flatnonzero(own[block] >= 0)
        distances[inside, by_name[own[block][inside]]] = beyond
        smallest(distances, np.empty(beyond + 2, dtype=np.int64), found[block])

    in_threads(rank, range(0, len(queries), step), threads)
    kept = np.arange(wanted) < lengths[:, np.newaxis]
    return order[found[kept]], lengths
