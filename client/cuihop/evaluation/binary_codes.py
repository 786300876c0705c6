"""The images nearest to each query by the Hamming distance of their binary codes: all pairs, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError

__all__ = ["nearest_codes", "packed_codes"]

_PAIRS_A_BLOCK = 1 << 22  # bounds the memory of a block: 32 MB for its distances
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


def nearest_codes(queries: Words, corpus: Words, own: Int32, names: Sequence[str], k: int) -> tuple[Int32, Int64]:
    """The k images of the corpus with the smallest Hamming distance: distance ascending, then name ascending.

    Args:
        queries, corpus: what `packed_codes` gives, of codes of one length.
        own, names, k: as in `cuihop.evaluation.embeddings.nearest`.

    Returns:
        As `cuihop.evaluation.embeddings.nearest`.
    """
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    by_name = np.empty(len(names), dtype=np.int64)
    by_name[order] = np.arange(len(names))
    ordered = corpus[order]
    wanted = min(k, len(names))
    lengths = np.minimum(wanted, len(names) - (own >= 0)).astype(np.int64)
    parts: list[Int32] = []
    step = max(1, _PAIRS_A_BLOCK // max(1, len(names)))
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        keys = np.zeros((len(block), len(names)), dtype=np.int64)
        for word in range(block.shape[1]):
            keys += np.bitwise_count(block[:, word, np.newaxis] ^ ordered[np.newaxis, :, word])
        # Distance and place by name in one number: no two are equal, so every way of sorting gives one order.
        keys *= len(names)
        keys += np.arange(len(names))
        inside = np.flatnonzero(own[first : first + step] >= 0)
        keys[inside, by_name[own[first : first + step][inside]]] = np.iinfo(np.int64).max
        best = np.sort(np.partition(keys, wanted - 1, axis=1)[:, :wanted], axis=1)
        kept = np.arange(wanted) < lengths[first : first + step, np.newaxis]
        parts.append(order[best[kept] % len(names)].astype(np.int32))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32), lengths
