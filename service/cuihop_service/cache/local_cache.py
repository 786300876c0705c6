"""Entries of pairs of concepts, and the cache in process: the pairs of the latest requests, up to a number of them.

An entry is one integer, so that an entry in memory costs no object of its own and one in Redis four bytes:

- 0 and above: the distance, exactly;
- -1: there is no path at all;
- -2 - n: there is no path of up to n hops; beyond that the graph has not been searched.

Key and entry belong to current identifiers of one release. Within it an entry stays true for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from cachetools import LRUCache

from cuihop.errors import InputError
from cuihop.graph import Direction

DEFAULT_ENTRIES = 200_000
"""Pairs that one process holds: see docs/decisions/0006-the-distance-cache.md for what they weigh."""

_ENTRIES_A_HOLD = 1_000  # the lock is given back in between: a large batch does not hold up a single pair

Entry: TypeAlias = int

NO_PATH: Entry = -1
_BEYOND_NOTHING = -2

_BETWEEN: Mapping[Direction, str] = {"any": "|", "vertical": " "}
"""Symmetric direction → what stands between the identifiers of a key."""

_NO_SUCCESSORS: Mapping[str, str] = {}


def entry_beyond(hops: int) -> Entry:
    """The entry of a pair without a path of up to this many hops."""
    return _BEYOND_NOTHING - hops


def answers(entry: Entry, bound: int | None) -> bool:
    """True where the distance within the bound follows from the entry."""
    return entry >= NO_PATH or (bound is not None and bound <= _BEYOND_NOTHING - entry)


def within(entry: Entry, bound: int | None) -> int | None:
    """The distance within the bound, from an entry that answers it."""
    return entry if entry >= 0 and (bound is None or entry <= bound) else None


def better_entry(one: Entry, other: Entry) -> Entry:
    """The entry that answers more requests, of two that are both true."""
    return max(one, other) if one >= NO_PATH or other >= NO_PATH else min(one, other)


def pair_key(a: str, b: str, direction: Direction) -> str:
    """The key of a pair: one for both orders in a symmetric direction, and for up from a to b and down from b to a.

    No identifier that a graph holds has ``|``, ``;`` or a blank in it, so no other pair has this key.
    """
    if direction in _BETWEEN:
        return _BETWEEN[direction].join((a, b) if a <= b else (b, a))
    return f"{a};{b}" if direction == "up" else f"{b};{a}"


def pair_keys(
    pairs: Iterable[tuple[str, str]], direction: Direction, successors: Mapping[str, str] = _NO_SUCCESSORS
) -> list[str]:
    """The key of each pair, with retired identifiers replaced by the given successors."""
    if successors:
        pairs = ((successors.get(a, a), successors.get(b, b)) for a, b in pairs)
    if between := _BETWEEN.get(direction):
        return [f"{a}{between}{b}" if a <= b else f"{b}{between}{a}" for a, b in pairs]
    if direction == "up":
        return [f"{a};{b}" for a, b in pairs]
    return [f"{b};{a}" for a, b in pairs]


class LocalCache:
    """Entries by key, of which the least recently used go first. Safe to share between threads.

    Args:
        entries: the most that it holds, at least 1.

    Raises:
        InputError: fewer than 1.
    """

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        if entries < 1:
            raise InputError("no room for an entry", column="entries", found=repr(entries), expected="1 or more")
        self._entries: LRUCache[str, Entry] = LRUCache(entries)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, key: str) -> Entry | None:
        """The entry of one key."""
        with self._lock:
            return self._entries.get(key)

    def entries(self, keys: Sequence[str]) -> list[Entry | None]:
        """The entry of each key."""
        found: list[Entry | None] = []
        stored = self._entries
        for first in range(0, len(keys), _ENTRIES_A_HOLD):
            with self._lock:
                for key in keys[first : first + _ENTRIES_A_HOLD]:
                    found.append(stored.get(key))
        return found

    def store(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Store entries; one that answers less never replaces one that answers more."""
        rest = iter(entries)
        stored = self._entries
        while block := list(islice(rest, _ENTRIES_A_HOLD)):
            with self._lock:
                for key, entry in block:
                    stored[key] = better_entry(stored[key], entry) if key in stored else entry
