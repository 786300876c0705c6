"""Stores of releases: a snapshot file, or a Neo4j database with an index file on the machine of the service."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cuihop.addresses import is_neo4j_address, is_remote_address, is_routed_address
from cuihop.errors import GraphUnavailable, InputError, OutputError, QueryTimedOut, SnapshotError, reason_of
from cuihop.graph import ConceptGraph
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.folders import not_written
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.own_copy import opened_copy, state_of, written_at

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
    from cuihop.neo4j_graph.graph import Neo4jGraph
    from cuihop_service.cache import CachedGraph

_log = logging.getLogger("cuihop.service")

_LOOK_SECONDS = 2.0
_SWITCH_SECONDS = 0.2
_OPENINGS = 3
_INDEX_PAUSE_SECONDS = 60.0

T = TypeVar("T")

Caching = Callable[[ConceptGraph], "CachedGraph | None"]
"""Puts a cache before a graph; None for no cache."""


class Store(Protocol):
    """A store of releases. Its methods may block, and are called from one thread at a time.

    Attributes:
        activation: of the release that was opened last, or found to be active still: nanoseconds since 1970, and more
            for each later activation, also of a release that was active before.
    """

    activation: int

    def open(self) -> ServedGraph:
        """The release that should be served now, or a `GraphError`."""

    def changed(self, served: ServedGraph) -> bool:
        """True where another release should be served; `GraphError` if the store cannot be reached."""

    def completed(self, served: ServedGraph) -> ServedGraph | None:
        """The same release with an index, where it had none and should; this may take minutes. None: as it is.

        Raises:
            GraphError: the store cannot be reached.
            OutputError: the index cannot be written. Answers continue without.
        """

    def close(self) -> None:
        """Give back what the store holds open; not what it opened."""


def store_at(
    address: str, *, index: bool, index_folder: Path, caching: Caching, timeout: float = 30.0, traces: bool = False
) -> Store:
    """The store at an address.

    Args:
        address: ``snapshot:PATH``, a path, or a Neo4j server's address.
        index_folder: of index files and copies of snapshots, shared by the workers.

    Raises:
        InputError: the address of a service, or a snapshot without an index.
    """
    if is_neo4j_address(address):
        return Neo4jStore(address, index=index, folder=index_folder, caching=caching, timeout=timeout, traces=traces)
    if is_remote_address(address):
        raise InputError(
            "a service serves no other service", column="setting graph", found=address,
            expected="the path of a snapshot, or the address of a Neo4j server",
        )  # fmt: skip
    if not index:
        raise InputError(
            "a snapshot is an index: it cannot be served without", column="setting index", found="off",
            expected="on, or a Neo4j server as the graph",
        )  # fmt: skip
    return SnapshotStore(Path(address.removeprefix("snapshot:")), index_folder)


class SnapshotStore:
    """A snapshot file. A new file in its place, or other content in it, is a new release.

    Its activation is the time at which the file was written. Replicas with files of their own need the same time.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._seen: tuple[int, ...] | None = None
        self.activation = 0

    def open(self) -> ServedGraph:
        """Copy the file and map the copy, after a check of all of it: a file still being written must not be served."""
        for _ in range(_OPENINGS):
            seen = state_of(self._path)
            graph = opened_copy(self._path, self._folder)
            if state_of(self._path) == seen:
                self._seen, self.activation = seen, written_at(seen)
                return ServedGraph(graph.release, index=graph)
            graph.close()  # another file: whose time belongs to this content is unknown
        raise SnapshotError(f"{self._path}: another file lies there at each look; put it in its place by renaming")

    def changed(self, served: ServedGraph) -> bool:
        """True where another file lies there, or the file has changed."""
        return state_of(self._path) != self._seen

    def completed(self, served: ServedGraph) -> None:
        """Return None: a snapshot is an index."""

    def close(self) -> None:
        """Do nothing: no file is open."""


class Neo4jStore:
    """A Neo4j database. With an index, its active release is written to a file once, and the workers map it.

    Until the file is there, Cypher answers; also where it cannot be written. A service that starts while the database
    is down continues from the file of the release that it served last.
    """

    def __init__(
        self, address: str, *, index: bool, folder: Path, caching: Caching, timeout: float, traces: bool = False
    ) -> None:
        self._address = address
        self._index = index
        self._folder = folder
        self._caching = caching
        self._timeout = timeout
        self._traces = traces
        self._last = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.last"
        self._not_noted: tuple[str, int] | None = None  # could not be written: tried once, and not at each look
        self._looking: Neo4jConnection | None = None
        self._silent = False  # a look had no answer: no connection of that time may ever carry one
        self.activation = 0
        self._needed: dict[str, int] = {}
        self._next_index = 0.0

    def open(self) -> ServedGraph:
        """The active release: from its index file where there is one, otherwise by Cypher."""
        try:
            graph = self._active_graph()
        except (GraphUnavailable, QueryTimedOut):
            served = self._served_last() if self._index else None
            if served is None:
                raise
            return served
        if self._index and (index := self._from_file(graph.release.digest)) is not None:
            graph.close()
            self._remember(index.release.digest)
            return ServedGraph(index.release, index=index)
        if is_routed_address(self._address):  # the index is checked by its digest
            try:
                graph.check_counts()
            except BaseException:
                graph.close()
                raise
        return ServedGraph(graph.release, database=graph, cached=self._caching(graph))

    def changed(self, served: ServedGraph) -> bool:
        """True where another release is active in the database, or none, or new connections are needed.

        Two seconds at most, as readiness needs it.
        """
        same = self._note(lambda: self._answered_soon(self._active), served.digest)
        if same and served.index is not None:
            self._remember(served.digest)  # again: a slower worker may have noted the release before
        return not same or (self._silent and served.index is None)

    def _note(self, read: Callable[[], tuple[str, int] | None], digest: str) -> bool:
        """Note the activation of a release. False where another release is active, or none."""
        active = read()
        if active is not None and active[0] == digest and active[1] != self.activation:
            # A server shows the writes of a switch piece by piece: the number may already be that of the next release.
            time.sleep(_SWITCH_SECONDS)
            active = read()
        if active is None or active[0] != digest:
            return False
        self.activation = active[1]
        return True

    def _active(self) -> tuple[str, int] | None:
        """Digest and activation of the active release; None where none is."""
        from cuihop.neo4j_graph.connection import Neo4jConnection

        looking = self._looking
        if looking is None:
            bounds = {"timeout": _LOOK_SECONDS, "acquisition_timeout": 2 * _LOOK_SECONDS, "retry_time": 0.0}
            looking = self._looking = Neo4jConnection(self._settings(connections=1, idle_time=0.0, **bounds))
        try:
            return _active_release(looking)
        finally:
            if self._looking is not looking:  # abandoned
                looking.close()

    def _answered_soon(self, query: Callable[[], T]) -> T:
        """The answer to a short query, within seconds: a frozen server, or one that is gone, leaves a socket waiting.

        Raises:
            GraphUnavailable: no answer within the time. The query is left behind with its connection.
        """
        outcome: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()

        def ask() -> None:
            try:
                outcome.put((query(),))
            except BaseException as error:
                outcome.put(error)

        threading.Thread(target=ask, name="look", daemon=True).start()
        try:
            answer = outcome.get(timeout=_LOOK_SECONDS)
        except Empty:
            self._looking, self._silent = None, True
            raise GraphUnavailable(f"{self._address}: no answer within {_LOOK_SECONDS:g} s") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer[0]

    def completed(self, served: ServedGraph) -> ServedGraph | None:
        """The release with its index. One worker of a machine writes the file; the others find it."""
        if not self._index or served.index is not None:
            return None
        path = self._file(served.digest)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with _locked(path.with_suffix(".lock")) as alone:
                if not alone:  # another worker is writing it
                    return None
                index = self._from_file(served.digest)
                if index is None:
                    index = self._written(path, served.digest)
                if index is None:
                    return None
        except OSError as error:
            raise not_written(self._folder, error, "the setting index_folder") from error
        self._remember(index.release.digest)
        return ServedGraph(index.release, index=index)

    def _written(self, path: Path, digest: str) -> SnapshotGraph | None:
        """The index, built from the database; `None` where another release is active.

        That reads the complete release, so it is not tried if it must fail.
        """
        from cuihop.neo4j_graph.projection import snapshot_sections

        needed, free = self._needed.get(digest, 0), shutil.disk_usage(self._folder).free
        if needed > free:
            raise OutputError(f"{path}: not written: {needed:,} bytes are needed, {free:,} are free")
        if time.monotonic() < self._next_index:
            raise OutputError(f"{path}: not written; it is tried again within a minute")
        with self._graph() as graph:
            if graph.release.digest != digest:
                return None
            sections = snapshot_sections(graph.connection, graph.number)
        try:
            sections.save(path)
        except OutputError:
            self._needed = {digest: sum(sections[name].nbytes for name in sections)}
            if self._needed[digest] <= shutil.disk_usage(self._folder).free:
                self._next_index = time.monotonic() + _INDEX_PAUSE_SECONDS
            raise
        return SnapshotGraph.open(path)

    def _settings(self, **others: Any) -> Neo4jSettings:
        from cuihop.neo4j_graph.connection import Neo4jSettings

        return Neo4jSettings.from_environment(self._address, **others)

    def _graph(self) -> Neo4jGraph:
        from cuihop.neo4j_graph.connection import Neo4jConnection
        from cuihop.neo4j_graph.graph import Neo4jGraph

        settings = self._settings(timeout=self._timeout, retry_time=min(5.0, self._timeout), acquisition_timeout=5.0)
        if self._traces:
            from cuihop_service.observe.traces import TracedConnection

            connection: Neo4jConnection = TracedConnection(settings)
        else:
            connection = Neo4jConnection(settings)
        try:
            return Neo4jGraph(connection)
        except BaseException:
            connection.close()
            raise

    def _active_graph(self) -> Neo4jGraph:
        """The graph of the active release, whose activation is noted.

        Raises:
            GraphUnavailable: the server cannot be reached, or releases are switched all the time.
        """
        for _ in range(_OPENINGS):
            graph = self._graph()
            try:
                if self._note(partial(_active_release, graph.connection), graph.release.digest):
                    self._silent = False
                    return graph
            except BaseException:
                graph.close()
                raise
            graph.close()
        raise GraphUnavailable(f"{self._address}: another release is active at each look")

    def _file(self, digest: str) -> Path:
        return self._folder / f"{digest}.cuihop"

    def _from_file(self, digest: str) -> SnapshotGraph | None:
        """The index file of a release, if it exists and is complete."""
        path = self._file(digest)
        try:
            graph = SnapshotGraph.open(path)
            graph.verify()
        except SnapshotError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        return graph if graph.release.digest == digest else None

    def _remember(self, digest: str) -> None:
        """Note the release to continue from, should the database be down at the next start."""
        note = digest, self.activation
        if note in (self._not_noted, self._noted()):
            return
        scratch = self._last.with_suffix(f".{os.getpid()}")
        try:
            scratch.write_text("{} {}".format(*note), encoding="ascii")
            scratch.replace(self._last)
        except OSError as error:
            self._not_noted = note
            _log.warning("%s: no note of the release that is served: %s", self._last, reason_of(error))
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _noted(self) -> tuple[str, int] | None:
        """Digest and activation of that release. A note of an earlier version lacks the second: then the oldest."""
        try:
            digest, _, activation = self._last.read_text(encoding="ascii").strip().partition(" ")
            return digest, int(activation or 0)
        except (OSError, ValueError):
            return None

    def _served_last(self) -> ServedGraph | None:
        """The release that was noted, unless a newer one is served already."""
        digest, activation = self._noted() or ("", 0)
        if activation < self.activation or len(digest) != 64 or not digest.isalnum():
            return None
        index = self._from_file(digest)
        if index is None:
            return None
        self.activation = activation
        return ServedGraph(index.release, index=index)

    def close(self) -> None:
        """Give back the connection for looks."""
        if self._looking is not None:
            self._looking.close()


def _active_release(connection: Neo4jConnection) -> tuple[str, int] | None:
    """Digest and activation of the active release; None where none is."""
    from cuihop.neo4j_graph import cypher

    row = connection.read(lambda tx: tx.run(cypher.ACTIVE_DIGEST).single())
    return None if row is None else (row["digest"], row["activated"])


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """True where no other process of this machine works on it."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
