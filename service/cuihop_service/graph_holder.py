"""The release that is served, its graphs, and its exchange for another one."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from cuihop.adapter_rules import checked_sabs
from cuihop.errors import GraphUnavailable, ReleaseBehind, ReleaseMismatch
from cuihop.graph import ConceptGraph, Release
from cuihop.remote.activation import Activation
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.request_context import ReleaseSession, Tier

if TYPE_CHECKING:
    from cuihop_service.cache import CachedGraph

_log = logging.getLogger("cuihop.service")

State: TypeAlias = Literal["starting", "ready", "degraded", "unavailable", "stopping"]
"""``degraded``: answers continue from the index while the store is down, or by Cypher while the index cannot be made.
``unavailable``: nothing can be answered."""


T = TypeVar("T")

_SECONDS_BETWEEN_CHECKS = 0.05

MOST_RESTRICTED = 4
"""Restricted graphs that are held for one release. Each has a copy of its edges, at most as large as those of all."""


class RestrictedGraphs(Generic[T]):
    """The most recently requested restrictions of one release. Safe to share between threads.

    One is built at a time, so that a burst of requests needs the memory of one more, and computes each only once.
    """

    def __init__(self, most: int = MOST_RESTRICTED) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, ...], T] = OrderedDict()
        self._lock = threading.Lock()
        self._building = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def graph(self, sabs: tuple[str, ...], build: Callable[[], T]) -> T:
        """The graph within these vocabularies.

        Args:
            sabs: sorted and distinct.
            build: makes the graph where it is not held. Its error is raised, and nothing is stored.

        Raises:
            CuihopError: the request was abandoned, or overdue, while another graph was built.
        """
        if (held := self._recent(sabs)) is not None:
            return held
        while not self._building.acquire(timeout=_SECONDS_BETWEEN_CHECKS):
            check_interruption()
        try:
            check_interruption()
            if (held := self._recent(sabs)) is not None:
                return held
            built = build()
            with self._lock:
                self._held[sabs] = built
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return built
        finally:
            self._building.release()

    def _recent(self, sabs: tuple[str, ...]) -> T | None:
        with self._lock:
            if sabs in self._held:
                self._held.move_to_end(sabs)
            return self._held.get(sabs)


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """One release, ready to answer.

    Attributes:
        index: the release in memory; None where it is switched off, or not made yet.
        database: the release in Neo4j; None where the store is a snapshot.
        cached: the database behind a cache, for distances; None for no cache. An index needs none.
        restricted: the same release within vocabularies.
    """

    release: Release
    index: SnapshotGraph | None = None
    database: ConceptGraph | None = None
    cached: CachedGraph | None = None
    restricted: RestrictedGraphs[ServedGraph] = field(default_factory=RestrictedGraphs, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.index is None and self.database is None:
            raise ValueError("a served graph needs an index or a database")
        if self.cached is not None and self.database is None:
            raise ValueError("a cache stands in front of a database")
        for graph in (self.index, self.database, self.cached):
            if graph is not None and graph.release.digest != self.release.digest:
                raise ReleaseMismatch(
                    f"release {self.release.name} has digest {self.release.digest}, "
                    f"and what should hold it too has {graph.release.digest}"
                )

    @property
    def digest(self) -> str:
        """Digest of the release."""
        return self.release.digest

    @property
    def quickest(self) -> tuple[ConceptGraph, Tier]:
        """The graph that answers soonest, and its tier."""
        if self.index is not None:
            return self.index, "index"
        if self.database is not None:
            return self.database, "cypher"
        raise ValueError("a served graph needs an index or a database")

    def within(self, sabs: Sequence[str]) -> ServedGraph:
        """The release restricted to the edges of some vocabularies; without any, the release itself.

        The first request for some vocabularies takes as long as `ConceptGraph.within`, and not in the event loop.
        """
        if not sabs:
            return self
        selected = checked_sabs(sabs, self.release)
        return self.restricted.graph(selected, lambda: self._within(selected))

    def _within(self, sabs: tuple[str, ...]) -> ServedGraph:
        index = None if self.index is None else self.index.within(sabs)
        cached = None if self.cached is None else self.cached.within(sabs)
        database = None if self.database is None else self.database.within(sabs) if cached is None else cached.graph
        release = next(graph.release for graph in (cached, index, database) if graph is not None)
        return ServedGraph(release, index, database, cached)

    def close(self) -> None:
        """Give back what the graphs hold open."""
        for graph in (self.cached or self.database, self.index):  # a cache closes what it is in front of
            if graph is not None:
                graph.close()


class Lease:
    """The release that is served when the block begins, or its restriction, kept open until it ends.

    A class of its own, since a generator takes thrice as long.
    """

    __slots__ = ("_holder", "_sabs", "_served", "_session")

    def __init__(self, holder: GraphHolder, sabs: Sequence[str], session: ReleaseSession | None = None) -> None:
        self._holder = holder
        self._sabs = sabs
        self._session = session

    def __enter__(self) -> ServedGraph:
        self._served = self._holder.acquire(self._session)
        if not self._sabs:
            return self._served
        try:
            return self._served.within(self._sabs)
        except BaseException:
            self._holder.release(self._served)
            raise

    def __exit__(self, *_: object) -> None:
        self._holder.release(self._served)


class GraphHolder:
    """Holder of the release that is served, which exchanges it while others still use the old one.

    A release that was replaced is closed when the last answer from it is made.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served: ServedGraph | None = None
        self.activation: Activation | None = None
        self._users: dict[int, int] = {}
        self._retired: dict[int, ServedGraph] = {}
        self.state: State = "starting"
        self.trouble = ""
        self._listeners: list[Callable[[State], None]] = []
        self._reporters: list[Callable[[], str]] = []

    @property
    def indexed(self) -> bool:
        """True where the release that is served has an index in memory."""
        served = self._served
        return served is not None and served.index is not None

    @property
    def current(self) -> ServedGraph | None:
        """The release that is served now; for a look, not for an answer."""
        return self._served

    def lease(self, within_sabs: Sequence[str] = (), session: ReleaseSession | None = None) -> Lease:
        """The release that is served now, kept open until the ``with`` block ends.

        Args:
            session: of the request; it gets the activation of the release. None for no request.

        Raises:
            GraphUnavailable: where the block begins; none is served yet, or not any more.
            ReleaseBehind: there; the caller has seen a newer one.
            InputError: there; see `ServedGraph.within`.
        """
        return Lease(self, within_sabs, session)

    def is_behind(self, seen: Activation) -> bool:
        """True where an older release is served than this one."""
        return self.activation is not None and seen.is_after(self.activation)

    def acquire(self, session: ReleaseSession | None = None) -> ServedGraph:
        """The release that is served now, for a request; to be ended by `release`."""
        with self._lock:
            served = self._served
            if served is None:
                raise GraphUnavailable(self.trouble or "no release is loaded yet; ask again in a moment")
            if session is not None and self.activation is not None:
                if session.seen is not None and session.seen.is_after(self.activation):
                    raise ReleaseBehind(
                        f"this replica serves release {served.release.name}, activation {self.activation}, and the "
                        f"caller has seen a newer one, activation {session.seen}: ask again, or another replica"
                    )
                session.served = self.activation
            self._users[id(served)] = self._users.get(id(served), 0) + 1
        return served

    def release(self, served: ServedGraph) -> None:
        """End the use of a release that `acquire` returned."""
        with self._lock:
            left = self._users[id(served)] - 1
            self._users[id(served)] = left
            over = self._retired.pop(id(served), None) if left == 0 else None
            if left == 0:
                del self._users[id(served)]
        if over is not None:
            over.close()

    def serve(self, served: ServedGraph | None, activation: Activation | None = None) -> None:
        """Answer from this release from now on. The one before is closed after its last use."""
        with self._lock:
            before, self._served = self._served, served
            self.activation = activation
            if before is not None and id(before) in self._users:
                self._retired[id(before)] = before
                before = None
        if before is not None:
            before.close()

    def activated(self, number: int) -> None:
        """Note the number of the activation of the release that is served: it may be activated once more."""
        with self._lock:
            if self._served is not None:
                self.activation = Activation.of(number, self._served.digest)

    def on_state_change(self, listener: Callable[[State], None]) -> None:
        """Call the listener on each change of the state, in the thread of that change. Its failure is logged."""
        self._listeners.append(listener)

    def add_reporter(self, reporter: Callable[[], str]) -> None:
        """Add to `troubles` what this function returns."""
        self._reporters.append(reporter)

    @property
    def troubles(self) -> str:
        """`trouble` of the state, and what the reporters add, for people; empty for none."""
        return "; ".join(filter(None, [self.trouble, *(reporter() for reporter in self._reporters)]))

    def set_state(self, state: State, trouble: str = "") -> None:
        """Set the state. A holder that is stopping stays so."""
        if self.state == "stopping":
            return
        before, self.state, self.trouble = self.state, state, trouble
        if state != before:
            for listener in self._listeners:
                try:
                    listener(state)
                except Exception:  # the event loop has ended, say
                    _log.exception("a change of the state could not be reported")

    def close(self) -> None:
        """Stop serving."""
        self.set_state("stopping")
        self.serve(None)
