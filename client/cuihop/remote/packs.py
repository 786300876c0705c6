"""Distance packs as they arrive: checked, and joined where a service packs fewer concepts at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuihop.graph import DistancePack

__all__ = ["checked_pack", "joined_pack", "parts_of_pack"]

Places = npt.NDArray[np.int64]


def checked_pack(pack: DistancePack, concepts: int) -> DistancePack:
    """The pack, where it is one of so many concepts: compiled code will follow its numbers without a look.

    Raises:
        ValueError: it is not what a pack must be.
    """
    indptr, indices, hops = pack.indptr, pack.indices, pack.hops
    if len(pack.cuis) != concepts or len(indptr) != concepts + 1:
        raise ValueError(f"a pack of {len(pack.cuis):,} concepts and {len(indptr) - 1:,} rows for {concepts:,}")
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or not int(indptr[-1]) == len(indices) == len(hops):
        raise ValueError("rows, columns and hops of the pack do not fit together")
    if len(indices) and (indices.min() < 0 or indices.max() >= concepts or hops.max() > pack.bound):
        raise ValueError("a column or a distance of the pack is out of its range")
    rows = np.repeat(np.arange(concepts, dtype=np.int64), np.diff(indptr))
    if (np.diff(rows * concepts + indices) <= 0).any():
        raise ValueError("the columns of a row of the pack do not ascend")
    return pack


def parts_of_pack(concepts: int, limit: int) -> list[Places]:
    """Which concepts to pack together, so that any two of them are packed together at least once.

    The concepts are cut into blocks of half the limit, and each part is two of these.

    Args:
        concepts: how many there are; more than the limit.
        limit: the most in one part, at least 2.

    Returns:
        int64, shape (concepts of the part,): their places.

    >>> [part.tolist() for part in parts_of_pack(3, 2)]
    [[0, 1], [0, 2], [1, 2]]
    """
    blocks = np.array_split(np.arange(concepts), -(-concepts // (limit // 2)))
    return [np.concatenate(two) for two in itertools.combinations(blocks, 2)]


def joined_pack(parts: Sequence[Places], packs: Sequence[DistancePack], concepts: int) -> DistancePack:
    """The pack of all concepts.

    Args:
        parts: what `parts_of_pack` gave.
        packs: the pack of each.
        concepts: how many there are.
    """
    cuis = [""] * concepts
    entries: list[tuple[Places, npt.NDArray[np.uint8]]] = []
    for places, pack in zip(parts, packs, strict=True):
        for place, cui in zip(places.tolist(), pack.cuis, strict=True):
            cuis[place] = cui
        rows = np.repeat(places, np.diff(pack.indptr))
        entries.append((rows * concepts + places[pack.indices], pack.hops))
    # Two concepts of one block stand in several parts, each time with the same distance.
    where, first = np.unique(np.concatenate([keys for keys, _ in entries]), return_index=True)
    rows, columns = np.divmod(where, concepts)
    indptr = np.zeros(concepts + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=concepts), out=indptr[1:])
    return DistancePack(
        cuis=tuple(cuis),
        indptr=indptr,
        indices=columns.astype(np.int32),
        hops=np.concatenate([hops for _, hops in entries])[first],
        bound=packs[0].bound,
        direction=packs[0].direction,
        digest=packs[0].digest,
    )
