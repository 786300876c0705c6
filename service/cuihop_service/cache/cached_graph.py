"""A graph behind a cache of distances: a `ConceptGraph` around any other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from cuihop.errors import ConceptError, GraphError, QueryTimedOut
from cuihop.graph import (
    ConceptGraph,
    Direction,
    Distances,
    checked_direction,
    checked_hops,
    checked_pairs,
    resolved,
)
from cuihop.graph_wrapper import GraphWrapper
from cuihop.resources.arrays import Bool
from cuihop_service.cache.local_cache import (
    DEFAULT_ENTRIES,
    NO_PATH,
    Claim,
    Entry,
    LocalCache,
    PairCounts,
    SingleFlight,
    answers,
    entry_beyond,
    pair_key,
    pair_keys,
    within,
)
from cuihop_service.request_context import Overdue

if TYPE_CHECKING:
    from cuihop_service.cache.redis_cache import RedisCache

_PAIRS_A_FLIGHT = 8_192  # a request that waits for a part of a large batch does not wait for the whole
_MOST_SUCCESSORS = 100_000
_SHARE_OF_RESTRICTED = 4


@dataclass(frozen=True)
class CachedDistances:
    """The distances of a batch and their origin.

    Attributes:
        distances: the graph's answers, present or past.
        from_cache: bool, shape (pairs,); false where the graph computed the distance for this call, or for another
            one at the same time.
    """

    distances: Distances
    from_cache: Bool


@dataclass
class _Batch:
    """One batch on its way through the levels.

    Attributes:
        pairs: as requested.
        entries: the entry of each pair, as far as found; complete at the end.
        positions: the missing keys, and the positions of each in the batch.
        direction, bound: of the search.
        from_cache: see `CachedDistances`.
        merged: retired identifiers among the pairs so far.
        memory_hits, shared_hits, collapsed, misses: of the pairs that were missing at first, as in `PairCounts`.
    """

    pairs: list[tuple[str, str]]
    entries: list[Entry | None]
    positions: dict[str, list[int]]
    direction: Direction
    bound: int | None
    from_cache: Bool
    merged: dict[str, str]
    memory_hits: int = 0
    shared_hits: int = 0
    collapsed: int = 0
    misses: int = 0

    def fill(self, key: str, entry: Entry, *, from_cache: bool) -> int:
        """Set the entry of a missing key. Returns the number of pairs with that key."""
        positions = self.positions[key]
        for position in positions:
            self.entries[position] = entry
            self.from_cache[position] = from_cache
        return len(positions)

    def pair(self, key: str) -> tuple[str, str]:
        """The first pair of the batch with that key."""
        return self.pairs[self.positions[key][0]]


class CachedGraph(GraphWrapper):
    """A `ConceptGraph` that caches the distances of another one, and hands everything else on to it.

    Only answers of the inner graph are cached, under current identifiers. An identifier that it does not hold goes to
    it each time, and the error is its own.

    Args:
        graph: computes. Closed with this graph.
        entries: the most pairs in process.
        shared: a further level that other processes share; may serve several graphs, and is not closed with this one.
        counts: of the pairs answered; shared with the graphs that it is given to.

    Raises:
        InputError: no room for an entry.
    """

    def __init__(
        self,
        graph: ConceptGraph,
        *,
        entries: int = DEFAULT_ENTRIES,
        shared: RedisCache | None = None,
        counts: PairCounts | None = None,
    ) -> None:
        super().__init__(graph)
        self._release = graph.release
        self._largest = entries
        self._memory = LocalCache(entries)
        self._shared = shared
        self._flights = SingleFlight()
        self._successors: dict[str, str] = {}
        self.counts = PairCounts() if counts is None else counts
        self._count = self.counts.add

    def __repr__(self) -> str:
        return f"<CachedGraph of {self.graph!r}: {len(self._memory):,} pairs>"

    @property
    def entries(self) -> int:
        """Pairs in process at present."""
        return len(self._memory)

    # Distances

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        return self._answered(list(zip(ends[::2], ends[1::2], strict=True)), direction, bound, None).distances

    def distance(self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None) -> int | None:
        """See `ConceptGraph.distance`. One pair takes a shorter way than a batch of one, to the same answer."""
        direction = checked_direction(direction)
        bound = self._bound(checked_hops(max_hops))
        successors = self._successors
        entry = self._memory.entry(pair_key(successors.get(a, a), successors.get(b, b), direction))
        if entry is not None and answers(entry, bound):
            self._count(1)
            return within(entry, bound)
        return self.answered([(a, b)], direction=direction, max_hops=max_hops).distances[0]

    def answered(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        direction: Direction = "any",
        max_hops: int | None = None,
        timeout: float | None = None,
    ) -> CachedDistances:
        """The distance of each pair, and its origin.

        Args:
            timeout: seconds to wait for pairs that other calls are computing; ``None``: until they are done. The time
                of this call's own computation is not bounded by it.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `ConceptGraph.distances`.
            QueryTimedOut: the timeout passed.
            GraphError: as the inner graph; also the error of another call that computed the same pair.
        """
        direction, bound = checked_direction(direction), checked_hops(max_hops)
        return self._answered(checked_pairs(pairs), direction, bound, timeout)

    def _answered(
        self, pairs: list[tuple[str, str]], direction: Direction, max_hops: int | None, timeout: float | None
    ) -> CachedDistances:
        bound = self._bound(max_hops)
        successors = self._successors
        keys = pair_keys(pairs, direction, successors)
        entries = self._memory.entries(keys)
        from_cache = np.ones(len(pairs), dtype=np.bool_)
        merged: dict[str, str] = {}
        positions: dict[str, list[int]] = {}
        hits = len(pairs)
        for position, entry in enumerate(entries):
            if entry is None or not answers(entry, bound):
                positions.setdefault(keys[position], []).append(position)
                hits -= 1
        if positions:
            batch = _Batch(pairs, entries, positions, direction, bound, from_cache, merged)
            try:
                self._fill(batch, timeout)
            except ConceptError:
                # The graph saw a part of the batch; the error names every identifier at fault.
                ends = dict.fromkeys(cui for pair in pairs for cui in pair)
                resolved(self.graph.resolve(list(ends)), self._release)
                raise
            self._count(batch.memory_hits + hits, batch.shared_hits, batch.collapsed, batch.misses)
        else:
            self._count(hits)
        if successors:
            merged.update((cui, successors[cui]) for pair in pairs for cui in pair if cui in successors)
        hops = np.array(entries, dtype=np.int32)
        reached = hops >= 0 if bound is None else (hops >= 0) & (hops <= bound)
        return CachedDistances(Distances(hops, reached, direction, max_hops, merged), from_cache)

    def _bound(self, max_hops: int | None) -> int | None:
        """The bound; ``None`` also where no path of this graph is longer."""
        return None if max_hops is None or max_hops >= self._release.concepts else max_hops

    def _fill(self, batch: _Batch, timeout: float | None) -> None:
        """Complete the entries of a batch."""
        deadline = None if timeout is None else time.monotonic() + timeout
        missing = iter(batch.positions)
        while keys := list(islice(missing, _PAIRS_A_FLIGHT)):
            claim = self._flights.claim(keys, batch.bound)
            try:
                computed = self._fly(batch, claim)
            except BaseException as error:
                claim.flight.error = error
                raise
            finally:
                self._flights.land(claim)
            if self._shared is not None and computed:
                self._shared.store(self._release.digest, computed)
            alone = self._collect(batch, claim, deadline)
            if alone:
                self._compute(batch, alone)

    def _fly(self, batch: _Batch, claim: Claim) -> dict[str, Entry]:
        """Fill the claimed keys. Returns the entries that the graph had to compute."""
        missing = claim.own
        # Another flight may have landed between the first look and the claim.
        entries = self._memory.entries(missing)
        missing, answered = self._take_over(batch, claim, missing, entries)
        batch.memory_hits += answered
        if self._shared is not None and missing:
            entries = self._shared.entries(self._release.digest, missing)
            self._memory.store((key, entry) for key, entry in zip(missing, entries, strict=True) if entry is not None)
            missing, answered = self._take_over(batch, claim, missing, entries)
            batch.shared_hits += answered
        return self._compute(batch, missing, claim) if missing else {}

    def _take_over(
        self, batch: _Batch, claim: Claim, keys: list[str], entries: Sequence[Entry | None]
    ) -> tuple[list[str], int]:
        """Take over the entries of one level. Returns the keys still missing, and the number of pairs answered."""
        left, answered = [], 0
        for key, entry in zip(keys, entries, strict=True):
            if entry is None or not answers(entry, batch.bound):
                left.append(key)
            else:
                claim.flight.entries[key] = entry
                answered += batch.fill(key, entry, from_cache=True)
        return left, answered

    def _compute(self, batch: _Batch, keys: list[str], claim: Claim | None = None) -> dict[str, Entry]:
        """Compute the keys by the graph, and store its answers in process."""
        pairs = [batch.pair(key) for key in keys]
        answer = self.graph.distances(pairs, direction=batch.direction, max_hops=batch.bound)
        nothing = NO_PATH if batch.bound is None else entry_beyond(batch.bound)
        entries: list[Entry] = np.where(answer.reached, answer.hops, nothing).tolist()
        if answer.merged:
            batch.merged.update(answer.merged)
            if len(self._successors) < _MOST_SUCCESSORS:
                self._successors.update(answer.merged)
        computed = dict(zip(pair_keys(pairs, batch.direction, answer.merged), entries, strict=True))
        self._memory.store(computed.items())
        if claim is not None:
            claim.flight.merged = answer.merged
            claim.flight.entries.update(zip(keys, entries, strict=True))
        for key, entry in zip(keys, entries, strict=True):
            batch.collapsed += batch.fill(key, entry, from_cache=False) - 1
        batch.misses += len(keys)
        return computed

    def _collect(self, batch: _Batch, claim: Claim, deadline: float | None) -> list[str]:
        """Take over the results of other calls. Returns the keys that they left without one."""
        alone = []
        for key, flight in claim.others.items():
            if not flight.landed.is_set():
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not flight.landed.wait(left):
                    raise QueryTimedOut(
                        "the same pair is being computed for another call, and the time to wait is over"
                    )
            entry = flight.entries.get(key)
            if entry is not None:
                batch.collapsed += batch.fill(key, entry, from_cache=False)
                batch.merged.update((cui, flight.merged[cui]) for cui in batch.pair(key) if cui in flight.merged)
            elif isinstance(flight.error, GraphError) and not isinstance(flight.error, Overdue):
                raise type(flight.error)(str(flight.error)) from flight.error
            else:  # the other call was refused for another pair, or had less time
                alone.append(key)
        return alone

    # Everything else

    def within(self, sabs: Sequence[str]) -> CachedGraph:
        """See `ConceptGraph.within`. With a cache of its own, of a quarter of the size, and the same shared level."""
        entries = max(1, self._largest // _SHARE_OF_RESTRICTED)
        return CachedGraph(self.graph.within(sabs), entries=entries, shared=self._shared, counts=self.counts)
