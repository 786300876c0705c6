"""Strings in arrays: any, as one blob of UTF-8 bytes and their offsets in it; and identifiers, of one width."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, SnapshotError
from cuihop.graph import Release, Resolution, resolved
from cuihop.identifiers import MAX_LENGTH
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64, bounds_of, read_only

if TYPE_CHECKING:
    from cuihop.snapshot.file import Sections

_BLOCK = 1 << 26

_ASCII_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}
MANY = 64
"""Fewest identifiers that are looked up by compiled code, where it is loaded."""
_LOOKED_UP_BEFORE = 100_000  # identifiers: their search takes as long as making the set of a table's numbers
_SHORT = 8  # identifiers up to this many bytes are compared as one integer
_two_numbers: Callable[[bytes], tuple[int, int]] = Struct(">QQ").unpack


class StringTable:
    """Strings by position.

    Args:
        offsets: int64, shape (strings + 1,); string i is ``blob[offsets[i]:offsets[i + 1]]``.
        blob: uint8, UTF-8.
        origin: name of the file, for errors.
    """

    def __init__(self, offsets: Int64, blob: UInt8, origin: str = "memory") -> None:
        self.offsets = offsets
        self.blob = blob
        self._origin = origin

    @classmethod
    def stored(cls, sections: Sections, name: str) -> StringTable:
        """The table in two sections of a snapshot, whose names begin with this one."""
        return cls(sections[f"{name}_offsets"], sections[f"{name}_blob"], sections.origin)

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringTable:
        """The table of the given strings."""
        return cls.of_bytes([string.encode() for string in strings])

    @classmethod
    def of_bytes(cls, encoded: Sequence[bytes]) -> StringTable:
        """The table of strings given as UTF-8."""
        return cls(bounds_of([len(e) for e in encoded]), np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, position: int) -> str:
        try:
            return self.blob[self.offsets[position] : self.offsets[position + 1]].tobytes().decode()
        except UnicodeDecodeError:
            raise SnapshotError(f"{self._origin}: a text is not UTF-8; the file is damaged") from None

    def slice(self, begin: int, end: int) -> Iterable[str]:
        """The strings from ``begin`` up to ``end``."""
        return (self[i] for i in range(begin, end))

    def beyond_ascii(self) -> Int32:
        """Positions of the strings with a byte beyond ASCII, ascending."""
        blocks = []
        for begin in range(0, len(self.blob), _BLOCK):
            bytes_beyond = np.flatnonzero(self.blob[begin : begin + _BLOCK] >= 0x80) + begin
            rows = np.searchsorted(self.offsets, bytes_beyond, side="right") - 1
            blocks.append(rows[np.diff(rows, prepend=-1) > 0])
        rows = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
        return rows[np.diff(rows, prepend=-1) > 0].astype(np.int32)  # a string may span two blocks


def folded(text: str) -> str:
    """Fold text for search: lower case, without accents, words of letters and digits separated by one space.

    >>> folded("Sjögren's  Syndrome, NOS")
    'sjogren s syndrome nos'
    """
    if text.isascii():
        return " ".join(text.lower().translate(_ASCII_SEPARATORS).split())
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(
        character if character.isalnum() else " " for character in decomposed if not unicodedata.combining(character)
    )
    return " ".join(letters.split())


def folded_query(text: str) -> str:
    """Fold the text of a search.

    Raises:
        InputError: nothing is left of it.
    """
    if query := folded(text):
        return query
    raise InputError("nothing to search for", column="text", found=repr(text), expected="a letter or a digit")


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

    def __init__(self, stored: UInt64 | npt.NDArray[np.bytes_]) -> None:
        self.stored = stored
        self.keys = cast("UInt64", stored) if stored.dtype.kind == "u" else None
        """The identifiers as ascending numbers, where none is longer than 8 bytes."""
        self._texts: UInt8 | None = None
        self._width = _SHORT if stored.dtype.kind == "u" else stored.dtype.itemsize
        self.numbers = None if self.keys is None else self.keys.reshape(-1, 1)
        """What `cuihop._kernels.lookup.two_positions` reads: `keys`, and since `use_numbers`, the set of CUIs."""
        self._until_cuis: float = _LOOKED_UP_BEFORE

    @classmethod
    def packed(cls, identifiers: npt.NDArray[np.bytes_]) -> IdentifierTable:
        """The table of distinct, ascending identifiers of dtype ``S``."""
        if identifiers.dtype.itemsize <= _SHORT:
            return cls(_as_numbers(identifiers.astype(f"S{_SHORT}")))
        return cls(identifiers)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, position: int) -> str:
        entry = self.stored[position]
        raw = int(entry).to_bytes(_SHORT, "big").rstrip(b"\0") if self.stored.dtype.kind == "u" else bytes(entry)
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

    def two_positions(self, one: str, other: str) -> tuple[int, int] | None:
        """The positions of two identifiers; ``None`` where the table lacks one, or they are no text."""
        if not (isinstance(one, str) and isinstance(other, str)) or not len(self):
            return None
        from cuihop._kernels import lookup

        if self.numbers is not None:
            keys = self.keys_of_two(one, other)
            positions = (lookup.NOWHERE, lookup.NOWHERE) if keys is None else lookup.two_positions(self.numbers, *keys)
        else:
            both = one + other
            if not both.isascii() or "\0" in both or max(len(one), len(other)) > self._width:
                return None
            if self._texts is None:
                self._texts = np.ascontiguousarray(self.stored).view(np.uint8).reshape(len(self), self._width)
            positions = lookup.two_text_positions(self._texts, one.encode(), other.encode())
        return None if lookup.NOWHERE in positions else positions

    def as_bytes(self) -> npt.NDArray[np.bytes_]:
        """All identifiers, dtype ``S``."""
        return _as_texts(self.stored)

    def at(self, positions: npt.NDArray[np.integer]) -> list[str]:
        """Identifiers at the positions."""
        return [entry.decode("ascii") for entry in _as_texts(self.stored[positions]).tolist()]

    def positions_of_keys(self, keys: UInt64) -> Int32 | None:
        """The position of each key, int32, -1 for one that is absent; ``None`` where identifiers are long."""
        if self.keys is None or not len(self):
            return None
        return self._positions_of(self.keys, keys)

    def positions(self, identifiers: Sequence[str]) -> Int32:
        """The position of each identifier, int32; -1 for one that the table does not hold."""
        if not len(identifiers) or not len(self):
            return np.full(len(identifiers), -1, dtype=np.int32)
        if self.keys is not None and (numbers := _as_eight_bytes(identifiers)) is not None:
            return self._positions_of(self.keys, numbers)
        requested = identifier_array(identifiers)
        too_long = None
        if requested.dtype.itemsize > self._width:
            too_long = np.char.str_len(requested) > self._width
        requested = requested.astype(f"S{self._width}")
        keys = _as_numbers(requested) if self.stored.dtype.kind == "u" else requested
        rows = np.searchsorted(self.stored, keys)
        rows[rows == len(self)] = 0
        missing = self.stored[rows] != keys
        if too_long is not None:
            missing |= too_long
        positions = rows.astype(np.int32)
        positions[missing] = -1
        return positions

    def use_numbers(self) -> None:
        """Look up CUIs by their numbers from now on, in 2.5 MB more, if the table holds nothing else."""
        from cuihop._kernels import lookup

        if self._until_cuis == math.inf:
            return
        cuis = np.zeros((lookup.CUI_WORDS, 2), dtype=np.uint64)
        if self.keys is not None and lookup.set_bits(self.keys, cuis):
            self.numbers = read_only(cuis)
        self._until_cuis = math.inf

    def _positions_of(self, keys: UInt64, requested: UInt64) -> Int32:
        """The position of each number among the keys; -1 for one that is absent."""
        if len(requested) < MANY or "numba" not in sys.modules:
            rows = np.searchsorted(keys, requested)
            rows[rows == len(keys)] = 0
            return np.where(keys[rows] == requested, rows, -1).astype(np.int32)
        from cuihop._kernels import lookup

        self._until_cuis -= len(requested)
        if self._until_cuis < 0:
            self.use_numbers()
        positions = np.empty(len(requested), dtype=np.int32)
        if self.numbers is not None and self.numbers.shape[1] == 2:
            lookup.cui_positions(self.numbers, requested, positions)
        else:
            lookup.positions(keys, requested, positions)
        return positions

    def resolved_positions(
        self, identifiers: Sequence[str], resolutions: Callable[[list[str]], Iterable[Resolution]], release: Release
    ) -> tuple[Int32, dict[str, str]]:
        """The position of each identifier or of its successor, and the successors, by retired identifier.

        ``resolutions`` are those of the distinct identifiers that the table does not hold. Errors as `resolved`.
        """
        positions = self.positions(identifiers)
        absent = np.flatnonzero(positions < 0).tolist()
        if not absent:
            return positions, {}
        distinct = list(dict.fromkeys(identifiers[row] for row in absent))
        successors = dict(zip(distinct, resolved(resolutions(distinct), release), strict=True))
        positions[absent] = self.positions([successors[identifiers[row]] for row in absent])
        return positions, successors


def check_distinct(positions: Int32, identifiers: Sequence[str]) -> None:
    """Refuse identifiers of which two have one position.

    Raises:
        InputError: names the first.
    """
    distinct, counts = np.unique(positions, return_counts=True)
    if len(distinct) < len(positions):
        first = identifiers[int(np.flatnonzero(np.isin(positions, distinct[counts > 1]))[0])]
        raise InputError("a concept is given twice", found=first, expected="distinct concepts")


def _as_eight_bytes(identifiers: Sequence[str]) -> UInt64 | None:
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


def _as_texts(stored: UInt64 | npt.NDArray[np.bytes_]) -> npt.NDArray[np.bytes_]:
    return cast("npt.NDArray[np.bytes_]", stored.astype(">u8").view("S8") if stored.dtype.kind == "u" else stored)


def _as_numbers(identifiers: npt.NDArray[np.bytes_]) -> UInt64:
    """Eight bytes as one number each; numbers sort as the bytes do."""
    return np.ascontiguousarray(identifiers).view(">u8").astype(np.uint64)
