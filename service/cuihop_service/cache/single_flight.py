"""Single flight: a pair that several requests need at the same time is computed once.

A batch claims its missing pairs in one step. It computes the pairs that it claimed, lands them, and only then waits for
pairs that others claimed. A batch that waits owes no pairs, so no two batches wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cuihop_service.cache.local_cache import Entry

_WORTH_WAITING = 16


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
    """The missing pairs of a batch, divided by who computes them.

    Attributes:
        flight: the batch's own.
        own: the keys of that flight.
        others: the keys that other batches compute, with their flights.
    """

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
