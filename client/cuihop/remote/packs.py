"""Packed data of requests and responses: CUIs as numbers; distance packs, split and joined."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuihop.graph import DistancePack
from cuihop.resources.arrays import bounds_of

Indices = npt.NDArray[np.int64]

_LENGTH = 8
_POWERS = 10 ** np.arange(_LENGTH - 2, -1, -1, dtype=np.uint32)


def cui_numbers(cuis: Sequence[str]) -> npt.NDArray[np.uint32] | None:
    """The number of each CUI, uint32; ``None`` where one of them is not the letter C and seven digits.

    >>> cui_numbers(["C0042449", "C0000000"]).tolist()
    [42449, 0]
    >>> cui_numbers(["C0042449", "c0042449"]) is None
    True
    """
    if any(len(cui) != _LENGTH for cui in cuis):
        return None
    text = "".join(cuis)
    if not text.isascii():
        return None
    letters = np.frombuffer(text.encode("ascii"), dtype=np.uint8).reshape(-1, _LENGTH)
    digits = letters[:, 1:] - np.uint8(ord("0"))  # characters before the digits wrap round, beyond 9
    if (letters[:, 0] != ord("C")).any() or (digits > 9).any():
        return None
    numbers: npt.NDArray[np.uint32] = digits.astype(np.uint32) @ _POWERS
    return numbers


def pack_subsets(concepts: int, limit: int) -> list[Indices]:
    """Subsets of the indices of more concepts than the limit (2 or more): any two are together in at least one.

    The concepts are cut into blocks of half the limit, and each subset is two of these.

    >>> [subset.tolist() for subset in pack_subsets(3, 2)]
    [[0, 1], [0, 2], [1, 2]]
    """
    blocks = np.array_split(np.arange(concepts), -(-concepts // (limit // 2)))
    return [np.concatenate(two) for two in itertools.combinations(blocks, 2)]


def joined_pack(subsets: Sequence[Indices], packs: Sequence[DistancePack], concepts: int) -> DistancePack:
    """The pack of all concepts, from the packs of their subsets: see `pack_subsets`."""
    cuis = [""] * concepts
    entries: list[tuple[Indices, npt.NDArray[np.uint8]]] = []
    for indices, pack in zip(subsets, packs, strict=True):
        for index, cui in zip(indices.tolist(), pack.cuis, strict=True):
            cuis[index] = cui
        rows = np.repeat(indices, np.diff(pack.indptr))
        entries.append((rows * concepts + indices[pack.indices], pack.hops))
    # Two concepts of one block are in several subsets, each time with the same distance.
    pairs, first = np.unique(np.concatenate([keys for keys, _ in entries]), return_index=True)
    rows, columns = np.divmod(pairs, concepts)
    return DistancePack(
        cuis=tuple(cuis),
        indptr=bounds_of(np.bincount(rows, minlength=concepts)),
        indices=columns.astype(np.int32),
        hops=np.concatenate([hops for _, hops in entries])[first],
        bound=packs[0].bound,
        direction=packs[0].direction,
        digest=packs[0].digest,
    )
