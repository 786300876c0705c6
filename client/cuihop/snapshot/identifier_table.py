"""Sorted identifiers in an array: identifier to position and back, one at a time or many at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from struct import Struct
from typing import cast

import numpy as np
import numpy.typing as npt

from cuihop.identifiers import MAX_LENGTH

MANY = 64
"""Fewest identifiers that are looked up by compiled code, where it is loaded."""

_SHORT = 8  # identifiers up to this many bytes are compared as one integer
_two_numbers: Callable[[bytes], tuple[int, int]] = Struct(">QQ").unpack


def identifier_array(identifiers: Sequence[str]) -> npt.NDArray[np.bytes_]:
    """Identifiers as ASCII bytes, dtype ``S`` as wide as the longest (at least 8).

    Text that no table can hold (beyond ASCII, too long, with NUL) becomes the empty identifier, which no table holds.
    """
    try:
        array = np.array(identifiers, dtype=np.bytes_)
    except UnicodeEncodeError:
        array = np.array([i if i.isascii() else "" for i in identifiers], dtype=np.bytes_)
    if array.dtype.itemsize > MAX_LENGTH or any("\0" in i for i in identifiers if i.endswith("\0")):
        storable = [i if i.isascii() and len(i) <= MAX_LENGTH and "\0" not in i else "" for i in identifiers]
        array = np.array(storable, dtype=np.bytes_)
    width = max(_SHORT, array.dtype.itemsize)
    return array.astype(f"S{width}")


class IdentifierTable:
    """Distinct identifiers in the order of their bytes. The position of each is its number in the graph.

    Args:
        stored: uint64, big-endian bytes as one number, where no identifier is longer than 8 bytes; else
            ``S`` of one width. Ascending. Not copied, so it may be a view of a mapped file.
    """

    def __init__(self, stored: npt.NDArray[np.uint64] | npt.NDArray[np.bytes_]) -> None:
        self._stored = stored
        self.keys = cast("npt.NDArray[np.uint64]", stored) if stored.dtype.kind == "u" else None
        """The identifiers as ascending numbers, where none is longer than 8 bytes."""
        self._texts: npt.NDArray[np.uint8] | None = None
        self._width = _SHORT if stored.dtype.kind == "u" else stored.dtype.itemsize

    @classmethod
    def packed(cls, identifiers: npt.NDArray[np.bytes_]) -> IdentifierTable:
        """The table of distinct, ascending identifiers of dtype ``S``."""
        if identifiers.dtype.itemsize <= _SHORT:
            return cls(_as_numbers(identifiers.astype(f"S{_SHORT}")))
        return cls(identifiers)

    @property
    def stored(self) -> npt.NDArray[np.uint64] | npt.NDArray[np.bytes_]:
        """The array behind the table."""
        return self._stored

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, position: int) -> str:
        entry = self._stored[position]
        raw = int(entry).to_bytes(_SHORT, "big").rstrip(b"\0") if self._stored.dtype.kind == "u" else bytes(entry)
        return raw.decode("ascii")

    @staticmethod
    def key(identifier: str) -> int | None:
        """The number of a short identifier, as in `keys`; ``None`` for one that cannot be in a table."""
        if not identifier.isascii() or "\0" in identifier or (missing := _SHORT - len(identifier)) < 0:
            return None
        return int.from_bytes(identifier.encode(), "big") << 8 * missing

    @staticmethod
    def keys_of_two(one: str, other: str) -> tuple[int, int] | None:
        """The numbers of two identifiers, as in `keys`; ``None`` where one of them cannot be in a table."""
        if len(one) == len(other) == _SHORT:
            both = one + other
            return None if not both.isascii() or "\0" in both else _two_numbers(both.encode())
        a, b = IdentifierTable.key(one), IdentifierTable.key(other)
        return None if a is None or b is None else (a, b)

    def two_places(self, one: str, other: str) -> tuple[int, int] | None:
        """The positions of two identifiers; ``None`` where the table lacks one, or they are no text."""
        if not (isinstance(one, str) and isinstance(other, str)) or not len(self):
            return None
        from cuihop._kernels import lookup

        if self.keys is not None:
            keys = self.keys_of_two(one, other)
            found = (lookup.NOWHERE, lookup.NOWHERE) if keys is None else lookup.two_places(self.keys, *keys)
        else:
            both = one + other
            if not both.isascii() or "\0" in both or max(len(one), len(other)) > self._width:
                return None
            if self._texts is None:
                self._texts = np.ascontiguousarray(self._stored).view(np.uint8).reshape(len(self), self._width)
            found = lookup.two_text_places(self._texts, one.encode(), other.encode())
        return None if lookup.NOWHERE in found else found

    def as_bytes(self) -> npt.NDArray[np.bytes_]:
        """All identifiers, dtype ``S``."""
        if self._stored.dtype.kind == "u":
            return cast("npt.NDArray[np.bytes_]", self._stored.astype(">u8").view(f"S{_SHORT}"))
        return cast("npt.NDArray[np.bytes_]", self._stored)

    def at(self, positions: npt.NDArray[np.integer]) -> list[str]:
        """Identifiers at the positions."""
        chosen = self._stored[positions]
        if chosen.dtype.kind == "u":
            chosen = chosen.astype(">u8").view(f"S{_SHORT}")
        return [entry.decode("ascii") for entry in chosen.tolist()]

    def places(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32] | None:
        """The position of each key, int32, -1 for one that is absent; ``None`` where identifiers are long."""
        if self.keys is None or not len(self):
            return None
        return _places(self.keys, keys)

    def positions(self, identifiers: Sequence[str]) -> npt.NDArray[np.int32]:
        """The position of each identifier, int32; -1 for one that the table does not hold."""
        if not len(identifiers) or not len(self):
            return np.full(len(identifiers), -1, dtype=np.int32)
        if self.keys is not None and (numbers := _as_eight_bytes(identifiers)) is not None:
            return _places(self.keys, numbers)
        requested = identifier_array(identifiers)
        too_long = None
        if requested.dtype.itemsize > self._width:
            too_long = np.char.str_len(requested) > self._width
        requested = requested.astype(f"S{self._width}")
        wanted = _as_numbers(requested) if self._stored.dtype.kind == "u" else requested
        found = np.searchsorted(self._stored, wanted)
        found[found == len(self)] = 0
        missing = self._stored[found] != wanted
        if too_long is not None:
            missing |= too_long
        positions = found.astype(np.int32)
        positions[missing] = -1
        return positions


def _places(keys: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """The position of each number among the keys; -1 for one that is absent."""
    if len(wanted) >= MANY and "numba" in sys.modules:
        from cuihop._kernels import lookup

        places = np.empty(len(wanted), dtype=np.int32)
        lookup.positions(keys, wanted, places)
        return places
    found = np.searchsorted(keys, wanted)
    found[found == len(keys)] = 0
    return np.where(keys[found] == wanted, found, -1).astype(np.int32)


def _as_eight_bytes(identifiers: Sequence[str]) -> npt.NDArray[np.uint64] | None:
    """Identifiers of 8 ASCII characters each, such as CUIs, as numbers; ``None`` where some are longer or shorter.

    They are joined by line feeds: if every ninth character is one, and no other, each identifier has 8.
    """
    joined = "\n".join([*identifiers, ""])
    count = len(identifiers)
    if len(joined) != (_SHORT + 1) * count or joined.count("\n") != count or not joined.isascii() or "\0" in joined:
        return None
    rows = np.frombuffer(joined.encode("ascii"), dtype=np.uint8).reshape(count, _SHORT + 1)
    if (rows[:, _SHORT] != ord("\n")).any():
        return None
    return np.ascontiguousarray(rows[:, :_SHORT]).view(">u8").ravel().astype(np.uint64)


def _as_numbers(identifiers: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint64]:
    """Eight bytes as one number each; numbers sort as the bytes do."""
    return np.ascontiguousarray(identifiers).view(">u8").astype(np.uint64)
