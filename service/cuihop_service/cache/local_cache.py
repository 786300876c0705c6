"""Entries of pairs of concepts, and the cache in process: the pairs of the latest requests, up to a number of them.

An entry is one integer, so that an entry in memory costs no object of its own and one in Redis four bytes:

- 0 and above: the distance, exactly;
- -1: there is no path at all;
- -2 - n: there is no path of up to n hops; beyond that the graph has not been searched.

Key and entry belong to current identifiers of one release. Within it an entry stays true for ever.

A pair that several requests need at the same time is computed once, by a single flight. A batch claims its missing
pairs in one step. It computes the pairs that it claimed, lands them, and only then waits for pairs that others claimed.
A batch that waits owes no pairs, so no two batches wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

_WORTH_WAITING = 16


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
    """Entries by key, at least 1, of which the least recently used go first. Safe to share between threads."""

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
        entries: list[Entry | None] = []
        stored = self._entries
        for first in range(0, len(keys), _ENTRIES_A_HOLD):
            with self._lock:
                for key in keys[first : first + _ENTRIES_A_HOLD]:
                    entries.append(stored.get(key))
        return entries

    def store(self, entries: Iterable[tuple[str, Entry]]) -> None:
        """Store entries; one that answers less never replaces one that answers more."""
        rest = iter(entries)
        stored = self._entries
        while block := list(islice(rest, _ENTRIES_A_HOLD)):
            with self._lock:
                for key, entry in block:
                    stored[key] = better_entry(stored[key], entry) if key in stored else entry


class PairCounts:
    """Pairs answered, by level. Graphs that replace one another share it, so that no count is lost.

    ``memory_hits`` and ``shared_hits`` are answered by the level in process, and by the shared one; ``collapsed`` by a
    computation of the same pair for another request at the same time; ``misses`` are computed by the graph. They add up
    to all pairs answered; an error is no answer.
    """

    def __init__(self) -> None:
        self._counts = [0, 0, 0, 0]
        self._counting = threading.Lock()

    def add(self, memory_hits: int, shared_hits: int = 0, collapsed: int = 0, misses: int = 0) -> None:
        """Count pairs by the level that answered."""
        with self._counting:
            counts = self._counts
            counts[0] += memory_hits
            counts[1] += shared_hits
            counts[2] += collapsed
            counts[3] += misses

    def numbers(self) -> dict[str, int]:
        """The counts by their names."""
        with self._counting:
            return dict(zip(("memory_hits", "shared_hits", "collapsed", "misses"), self._counts, strict=True))


@dataclass(frozen=True, slots=True)
class SharedStatistics:
    """Calls of this process to the shared level since its start.

    Attributes:
        reads, writes: calls that were answered.
        errors: calls that failed, or were answered too late to be worth waiting for.
        held_back: calls left out during a pause after a failure.
        refused: values that were no entry, or not signed for their key.
        reading, writing: False during such a pause.
    """

    reads: int = 0
    writes: int = 0
    errors: int = 0
    held_back: int = 0
    refused: int = 0
    reading: bool = True
    writing: bool = True


@dataclass(eq=False)
class Flight:
    """The pairs that one batch computes.

    Attributes:
        bound: of the search, in hops; ``None`` is no bound.
        size: number of pairs that it needs.
        landed: set at its end, successful or not.
        entries: its results, by key.
        merged: the retired identifiers among them, and their successors.
        error: the cause, where there are no results.
    """

    bound: int | None
    size: int
    landed: threading.Event = field(default_factory=threading.Event)
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(frozen=True)
class Claim:
    """The missing keys of a batch: those of its own flight, and those of others, with their flights."""

    flight: Flight
    own: list[str]
    others: dict[str, Flight]


class SingleFlight:
    """The computations under way in one process, by key."""

    def __init__(self) -> None:
        self._under_way: dict[str, Flight] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._under_way)

    def claim(self, keys: Collection[str], bound: int | None) -> Claim:
        """Claim each key, unless another flight has it and is worth waiting for. A claim must be landed.

        A flight is worth waiting for if its bound is as large and it has not many times the pairs: a few pairs are
        computed sooner than a large batch.
        """
        claim = Claim(Flight(bound, len(keys)), [], {})
        most = _WORTH_WAITING * len(keys)
        with self._lock:
            for key in keys:
                flight = self._under_way.get(key)
                if (
                    flight is not None
                    and flight.size <= most
                    and (flight.bound is None or (bound is not None and bound <= flight.bound))
                ):
                    claim.others[key] = flight
                else:
                    self._under_way[key] = claim.flight
                    claim.own.append(key)
        return claim

    def land(self, claim: Claim) -> None:
        """End a claim, computed or not, and wake those who wait for it."""
        with self._lock:
            for key in claim.own:
                if self._under_way.get(key) is claim.flight:  # another may have taken its place
                    del self._under_way[key]
        claim.flight.landed.set()
