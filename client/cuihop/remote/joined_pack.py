"""A distance pack of more concepts than a service packs at once, joined from packs of some of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuihop.graph import DistancePack

__all__ = ["joined_pack", "parts_of_pack"]

Places = npt.NDArray[np.int64]


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
