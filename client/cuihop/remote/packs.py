"""Packed data of requests and responses: CUIs as numbers; distance packs, split and joined."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuihop.graph import DistancePack
from cuihop.resources.arrays import bounds_of

Places = npt.NDArray[np.int64]

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


def pack_parts(concepts: int, limit: int) -> list[Places]:
    """Parts of a list of concepts, such that any two concepts stand together in at least one part.

    The concepts are cut into blocks of half the limit, and each part is two of these.

    Args:
        concepts: their number; more than the limit.
        limit: most concepts in one part, at least 2.

    Returns:
        int64, shape (concepts of the part,): their places.

    >>> [part.tolist() for part in pack_parts(3, 2)]
    [[0, 1], [0, 2], [1, 2]]
    """
    blocks = np.array_split(np.arange(concepts), -(-concepts // (limit // 2)))
    return [np.concatenate(two) for two in itertools.combinations(blocks, 2)]


def joined_pack(parts: Sequence[Places], packs: Sequence[DistancePack], concepts: int) -> DistancePack:
    """The pack of all concepts.

    Args:
        parts: the parts, from `pack_parts`.
        packs: the pack of each part.
        concepts: the number of all concepts.
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
    return DistancePack(
        cuis=tuple(cuis),
        indptr=bounds_of(np.bincount(rows, minlength=concepts)),
        indices=columns.astype(np.int32),
        hops=np.concatenate([hops for _, hops in entries])[first],
        bound=packs[0].bound,
        direction=packs[0].direction,
        digest=packs[0].digest,
    )
