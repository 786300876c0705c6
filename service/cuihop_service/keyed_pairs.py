"""Pairs of short identifiers as an array of keys, the form in which the index finds them soonest."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import orjson

_PAIRS = re.compile(rb'"pairs": ?(?=\[\[")')
_LENGTH = 8
_LOW_DIGITS = 10_000


class _Form:
    """JSON of a pair of identifiers of eight plain characters, with the comma after it, and a gap after each comma."""

    def __init__(self, gap: bytes) -> None:
        self.gap = gap
        one = np.frombuffer(b'["........",%b"........"],%b' % (gap, gap), dtype=np.uint8)
        self.frame = np.flatnonzero(one != ord("."))
        self.frame_characters = one[self.frame]
        offsets = [2, 13 + len(gap)]
        self.record = np.dtype({"names": ["a", "b"], "formats": [">u8"] * 2, "offsets": offsets, "itemsize": len(one)})


_COMPACT, _SPACED = _Form(b""), _Form(b" ")


class KeyedPairs(Sequence[tuple[str, str]]):
    """A sequence of pairs of CUIs, or of other identifiers of eight characters.

    Args:
        keys: uint64, shape (2 * pairs,): the first pair's ends, the second one's, and so on, each as in
            `cuihop.snapshot.string_table.IdentifierTable.keys`.
    """

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        self.keys = keys

    @classmethod
    def of(cls, pairs: object) -> KeyedPairs | None:
        """The same pairs as keys; None for values other than a list of pairs of texts of eight plain characters.

        >>> keyed = KeyedPairs.of_cuis(np.array([[42449, 5847]], np.uint32))
        >>> KeyedPairs.of([("C0042449", "C0005847")]).keys.tolist() == keyed.keys.tolist()
        True
        >>> KeyedPairs.of([("C0042449", "vein")]) is None
        True
        """
        try:
            return cls.in_json(orjson.dumps(pairs))
        except (TypeError, ValueError):
            return None

    @classmethod
    def in_json(cls, text: bytes) -> KeyedPairs | None:
        """The pairs of a list in JSON, with a space after each comma or after none; None as in `of`."""
        form = _SPACED if text[13:14] == _SPACED.gap else _COMPACT
        text = text[1:-1] + b"," + form.gap
        size = form.record.itemsize
        if len(text) % size or b"\\" in text or not text.isascii():
            return None
        characters = np.frombuffer(text, dtype=np.uint8)
        rows = characters.reshape(-1, size)
        # Such pairs have one form, so that all are checked at once.
        framed = (rows[:, form.frame] == form.frame_characters).all()
        if not framed or np.count_nonzero(characters == ord('"')) != 4 * len(rows) or characters.min() < ord(" "):
            return None
        ends = characters.view(form.record)
        keys = np.empty((len(rows), 2), dtype=np.uint64)
        keys[:, 0], keys[:, 1] = ends["a"], ends["b"]
        return cls(keys.ravel())

    @classmethod
    def of_cuis(cls, numbers: npt.NDArray[np.uint32]) -> KeyedPairs:
        """Pairs of CUIs by their numbers, shape (pairs, 2), 0 to 9,999,999; C0042449 is 42449.

        >>> list(KeyedPairs.of_cuis(np.array([[42449, 5847]], np.uint32)))
        [('C0042449', 'C0005847')]
        """
        high, low = np.divmod(numbers.ravel(), np.uint32(_LOW_DIGITS))
        begins, finishes = _texts()
        return cls(begins[high] | finishes[low])

    def __len__(self) -> int:
        return len(self.keys) // 2

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...

    @overload
    def __getitem__(self, index: slice) -> KeyedPairs: ...

    def __getitem__(self, index: int | slice) -> tuple[str, str] | KeyedPairs:
        rows = self.keys.reshape(-1, 2)[index]
        if isinstance(index, slice):
            return KeyedPairs(rows.ravel())
        return next(iter(KeyedPairs(rows)))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        texts = [text.decode("ascii") for text in self.keys.astype(">u8").view(f"S{_LENGTH}").tolist()]
        return zip(texts[::2], texts[1::2], strict=True)


def parsed_batch(body: bytes) -> Any:
    """A batch from its JSON, its pairs as `KeyedPairs` without an object for each; None where they have another form.

    >>> parsed_batch(b'{"pairs":[["C0006121","C0018670"]],"max_hops":3}')["max_hops"]
    3
    """
    match = _PAIRS.search(body)
    if match is None or b"\\" in body:
        return None
    first, last = match.end(), body.rfind(b'"]]') + 3
    rest = body[:first] + b"[]" + body[last:]
    pairs = KeyedPairs.in_json(body[first:last])
    if pairs is None or rest.count(b'"pairs"') != 1:
        return None
    try:
        batch = orjson.loads(rest)
    except ValueError:
        return None
    return {**batch, "pairs": pairs} if isinstance(batch, dict) and batch.get("pairs") == [] else None


@functools.cache
def _texts() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The upper and the lower four bytes of a CUI's key, by the upper three and the lower four of its digits."""
    begins = [int.from_bytes(f"C{high:03}".encode(), "big") << 32 for high in range(1_000)]
    finishes = [int.from_bytes(f"{low:04}".encode(), "big") for low in range(_LOW_DIGITS)]
    return np.array(begins, dtype=np.uint64), np.array(finishes, dtype=np.uint64)
