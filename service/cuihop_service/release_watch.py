"""Watch over the store: opens its release, exchanges it for a newer one, and reports a store that is down."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from cuihop.errors import CuihopError, GraphUnavailable, reason_of
from cuihop.remote.activation import Activation
from cuihop.resources.progress import interrupted_by
from cuihop_service.graph_holder import GraphHolder, ServedGraph, State
from cuihop_service.stores import Store

_log = logging.getLogger("cuihop.service")

HIERARCHY_THREAD, WATCH_THREAD = "hierarchy", "release-watch"
"""Names of the threads. Both are daemons: a worker that fails to start does not wait for them."""

_SHORTEST_PAUSE = 0.05  # between two looks, however many callers have seen a newer release
_CATCHING_UP_SECONDS = 2.0
_POLL_SECONDS = 0.01
_LINE_SECONDS = 60.0  # between two lines of one state: a server that comes up has a new reason at each look


class _Stopped(Exception):
    """The watch has ended."""


class ReleaseWatch:
    """A thread that supplies a holder from a store, with some seconds between two looks."""

    def __init__(self, holder: GraphHolder, store: Store, seconds: float) -> None:
        self._holder = holder
        self._store = store
        self._seconds = seconds
        self._wake = threading.Event()
        self._over = False
        self._next_line = 0.0
        self._begun = self._ended = 0  # looks at the store
        self._thread = threading.Thread(target=self._run, name=WATCH_THREAD, daemon=True)

    def open_first(self) -> None:
        """Open the release before the first request, or raise its error: `start` may still get it later."""
        self._serve(self._store.open())

    def start(self) -> None:
        """Look at the store from now on."""
        self._thread.start()

    def look_now(self) -> None:
        """Do not wait for the next look."""
        self._wake.set()

    async def catch_up(self, seen: Activation, seconds: float) -> None:
        """Wait, two seconds at most, for the release that a caller has seen, unless the store has none so new."""
        if not self._holder.is_behind(seen):
            return
        begun, ends = self._begun, time.monotonic() + min(seconds, _CATCHING_UP_SECONDS)
        self.look_now()
        while self._holder.is_behind(seen) and self._ended <= begun and time.monotonic() < ends:
            await asyncio.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the thread; a look that is under way is not waited for."""
        self._over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._store.close()

    def _run(self) -> None:
        while not self._over:
            self._begun += 1
            try:
                with interrupted_by(self._check):
                    self._look()
            except _Stopped:
                break
            except CuihopError as error:
                self._report(str(error))
            except Exception:  # the watch must outlive unforeseen errors
                if self._over:  # of an interpreter that ends
                    break
                _log.exception("the look at the store failed")
                self._report("the look at the store failed; see the log")
            self._ended = self._begun
            if not self._over:
                time.sleep(min(self._seconds, _SHORTEST_PAUSE))
            self._wake.wait(self._seconds)
            self._wake.clear()

    def _look(self) -> None:
        served = self._holder.current
        if served is None or self._store.changed(served):
            opened = self._store.open()
            if served is None or served.index is None or opened.digest != served.digest:
                self._serve(opened)
            else:
                opened.close()
        before, now = self._holder.activation, self._store.activation
        if before is not None and before.number != now:  # a later activation of the same release
            self._holder.activated(now)
        served = self._holder.current
        if served is not None and not self._over:
            if self._holder.state in ("starting", "unavailable"):
                self._set_state("ready", "")  # the index may take minutes, and answers do not wait for it
            try:
                complete = self._store.completed(served)
            except GraphUnavailable:
                raise
            except CuihopError as error:
                self._set_state("degraded", f"no index; answers come by Cypher: {error}")
                return
            if complete is not None:
                self._serve(complete)
        self._set_state("ready", "")

    def _serve(self, opened: ServedGraph) -> None:
        """Warm this release up, and answer from it then."""
        tier = opened.quickest[1]
        before = self._holder.activation
        if before is not None and self._store.activation < before.number:
            _log.warning(
                "the store has an older release than before, by its activation: callers who have seen the newer one "
                "are refused. Put back on purpose, it is activated again by: cuihop neo4j releases switch, or "
                "touch FILE"
            )
        if opened.index is not None:
            opened.index.warm_up()
        if self._over:
            opened.close()
            return
        self._holder.serve(opened, Activation.of(self._store.activation, opened.digest))
        _log.info(
            "serving release %s, digest %s, %d concepts, %d edges, by %s",
            opened.release.name,
            opened.digest,
            opened.release.concepts,
            opened.release.edges,
            tier,
        )
        if opened.index is not None:
            try:
                threading.Thread(target=self._build_hierarchy, name=HIERARCHY_THREAD, daemon=True).start()
            except RuntimeError as error:  # no thread left
                _log.warning("the hierarchy is built with the first similarity: %s", reason_of(error))

    def _build_hierarchy(self) -> None:
        """Build the hierarchy of the release, while everything else is answered: a similarity waits for it."""
        try:
            with interrupted_by(self._check), self._holder.lease() as served:
                if served.index is not None:
                    begun = time.monotonic()
                    served.index.warm_up_hierarchy()
                    _log.info("the hierarchy was built in %.1f s", time.monotonic() - begun)
        except Exception as error:  # a similarity builds it, or fails with the reason
            if not self._over:
                _log.warning("the hierarchy was not built: %s", reason_of(error))

    def _check(self) -> None:
        """Stop the work of a thread of this watch once it has ended."""
        if self._over:
            raise _Stopped

    def _report(self, trouble: str) -> None:
        served = self._holder.current
        self._set_state("degraded" if served is not None and served.index is not None else "unavailable", trouble)

    def _set_state(self, state: State, trouble: str) -> None:
        if self._over:
            return
        changed = state != self._holder.state
        if changed or (trouble != self._holder.trouble and time.monotonic() >= self._next_line):
            (_log.warning if trouble else _log.info)("%s%s", state, f": {trouble}" if trouble else "")
            self._next_line = time.monotonic() + _LINE_SECONDS
        self._holder.set_state(state, trouble)
