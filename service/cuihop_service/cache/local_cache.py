"""The level in process: the pairs asked most recently, up to a number of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import islice

from cachetools import LRUCache

from cuihop.errors import InputError
from cuihop_service.cache.entries import Entry, better_entry

__all__ = ["DEFAULT_ENTRIES", "PairMemory"]

DEFAULT_ENTRIES = 200_000
"""How many pairs one process keeps: see docs/decisions/0006-the-distance-cache.md for what they weigh."""

_ENTRIES_A_HOLD = 1_000  # the lock is given back in between: a large batch does not hold up a single pair


class PairMemory:
    """Entries by key, of which the least recently used go first. Safe to share between threads.

    Args:
        entries: the most that are kept, at least 1.

    Raises:
        InputError: fewer than 1.
    """

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        if entries < 1:
            raise InputError("no room for an entry", column="entries", found=repr(entries), expected="1 or more")
        self._kept: LRUCache[str, Entry] = LRUCache(entries)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def entry(self, key: str) -> Entry | None:
        """The entry of one key."""
        with self._lock:
            return self._kept.get(key)

    def entries(self, keys: Sequence[str]) -> list[Entry | None]:
        """The entry of each key."""
        found: list[Entry | None] = []
        kept = self._kept
        for first in range(0, len(keys), _ENTRIES_A_HOLD):
            with self._lock:
                for key in keys[first : first + _ENTRIES_A_HOLD]:
                    found.append(kept.get(key))
        return found

    def keep(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Keep entries; one that answers less never replaces one that answers more."""
        rest = iter(entries)
        kept = self._kept
        while block := list(islice(rest, _ENTRIES_A_HOLD)):
            with self._lock:
                for key, entry in block:
                    kept[key] = better_entry(kept[key], entry) if key in kept else entry
