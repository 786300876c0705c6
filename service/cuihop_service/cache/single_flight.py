"""Computations under way, so that a pair that many ask for at once is computed once.

A batch claims its missing pairs in one step. It computes what it claimed, lands it, and only then waits for what others
claimed. Nobody who waits owes an answer, so no two batches wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cuihop_service.cache.entries import Entry

__all__ = ["Claim", "Flight", "Flights"]


_WORTH_WAITING = 16


@dataclass(eq=False)
class Flight:
    """The pairs that one batch computes.

    Attributes:
        bound: how far it looks; ``None`` is no bound.
        size: how many pairs it asked for.
        landed: set when it is over, well or ill.
        entries: what it found, by key.
        merged: the retired identifiers it met, and their successors.
        error: why it found nothing.
    """

    bound: int | None
    size: int
    landed: threading.Event = field(default_factory=threading.Event)
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(frozen=True)
class Claim:
    """What became of a batch's missing pairs.

    Attributes:
        flight: the batch's own.
        own: the keys it computes itself.
        others: the keys that other batches compute, and where.
    """

    flight: Flight
    own: list[str]
    others: dict[str, Flight]


class Flights:
    """All computations under way in one process, by key."""

    def __init__(self) -> None:
        self._under_way: dict[str, Flight] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._under_way)

    def claim(self, keys: Collection[str], bound: int | None) -> Claim:
        """Claim each key, unless a flight has it that is worth waiting for. A claim must be landed.

        It is, if it looks as far and is not many times as large: a few pairs are computed sooner than a large batch.
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
        """The claimed pairs are computed, or never will be: whoever waits for them goes on."""
        with self._lock:
            for key in claim.own:
                if self._under_way.get(key) is claim.flight:  # another may have taken its place
                    del self._under_way[key]
        claim.flight.landed.set()
