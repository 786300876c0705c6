"""The release that is served: opened, exchanged under load, closed after its last use; and a store that is down."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import GraphUnavailable, InputError, ReleaseBehind, ReleaseMismatch, SnapshotError
from cuihop.neo4j_graph.releases import roll_back, stored_releases, switch_to
from cuihop.remote.activation import Activation
from cuihop.resources.progress import check_interruption
from cuihop_server import running_service
from cuihop_service.cache import CachedGraph
from cuihop_service.graph_holder import GraphHolder, ServedGraph, State
from cuihop_service.release_watch import HIERARCHY_THREAD, WATCH_THREAD, ReleaseWatch
from cuihop_service.request_context import ReleaseSession
from cuihop_service.stores import Neo4jStore, SnapshotStore, store_at
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, make_active
from service_askers import GrpcAsker, HttpAsker
from stored_releases import shorter_graph
from waiting import wait_for

PAIR = ("C0006121", "C0018670")


class Closable(SnapshotGraph):
    """Records its closing."""

    closed = False

    def close(self) -> None:
        self.closed = True
        super().close()


def served(graph: SnapshotGraph) -> ServedGraph:
    return ServedGraph(graph.release, index=graph)


def test_nothing_is_lent_before_there_is_a_release() -> None:
    with pytest.raises(GraphUnavailable, match="no release is loaded yet"), GraphHolder().lease():
        pass


def test_a_replaced_release_is_closed_when_its_last_user_has_gone() -> None:
    holder = GraphHolder()
    old, new = Closable(example_graph().sections), Closable(shorter_graph().sections)
    holder.serve(served(old))
    with holder.lease() as first:
        with holder.lease() as second:
            holder.serve(served(new))
            assert not old.closed
            assert first is second
            with holder.lease() as third:
                assert third.index is new
        assert not old.closed
    assert old.closed
    assert not new.closed
    holder.close()
    assert new.closed
    assert holder.state == "stopping"
    with pytest.raises(GraphUnavailable), holder.lease():
        pass


def test_what_is_served_must_be_one_release() -> None:
    with pytest.raises(ReleaseMismatch, match="digest"):
        ServedGraph(example_graph().release, index=shorter_graph())
    with pytest.raises(ValueError, match="an index or a database"):
        ServedGraph(example_graph().release)


def test_a_database_is_of_the_same_release_and_a_cache_in_front_of_it() -> None:
    graph = example_graph()
    with pytest.raises(ReleaseMismatch, match="digest"):
        ServedGraph(graph.release, database=shorter_graph())
    with pytest.raises(ValueError, match="in front of a database"):
        ServedGraph(graph.release, index=graph, cached=CachedGraph(graph, entries=1))


@pytest.mark.parametrize("kept", [("index",), ("database",), ("index", "database"), ("database", "cached")])
def test_every_graph_of_a_release_is_closed_with_it(kept: tuple[str, ...]) -> None:
    graphs: dict[str, Any] = {name: Closable(example_graph().sections) for name in kept if name != "cached"}
    if "cached" in kept:
        graphs["cached"] = CachedGraph(graphs["database"], entries=1)
    holder = GraphHolder()
    assert not holder.indexed
    holder.serve(ServedGraph(example_graph().release, **graphs))
    assert holder.indexed == ("index" in kept)
    with holder.lease() as lent:
        assert lent is holder.current
        assert lent.quickest == ((graphs["index"], "index") if "index" in kept else (graphs["database"], "cypher"))
        holder.serve(None)
        assert not any(graph.closed for graph in graphs.values() if isinstance(graph, Closable))
    assert all(graph.closed for graph in graphs.values() if isinstance(graph, Closable))


def test_a_release_whose_restriction_is_refused_is_not_kept_open() -> None:
    holder, graph = GraphHolder(), Closable(example_graph().sections)
    holder.serve(served(graph))
    with pytest.raises(InputError), holder.lease(["NO_SUCH"]):
        pass
    assert not graph.closed
    holder.serve(None)
    assert graph.closed


def test_an_older_release_is_refused_and_each_answer_names_its_activation() -> None:
    holder, graph = GraphHolder(), example_graph()
    first, other = Activation.of(5, graph.release.digest), Activation.of(6, shorter_graph().release.digest)
    assert not holder.is_behind(other)
    holder.activated(5)
    assert holder.activation is None  # of no release
    holder.serve(served(graph), first)
    assert holder.is_behind(other)
    assert not holder.is_behind(first)
    session = ReleaseSession(seen=other)
    with pytest.raises(ReleaseBehind, match="has seen a newer one"), holder.lease(session=session):
        pass
    assert session.served is None
    holder.activated(7)
    assert not holder.is_behind(other)
    with holder.lease(session=session):
        assert session.served == Activation.of(7, graph.release.digest)


def test_troubles_are_those_of_the_state_and_of_each_reporter() -> None:
    holder = GraphHolder()
    assert (holder.state, holder.troubles) == ("starting", "")
    holder.add_reporter(lambda: "the cache is away")
    holder.add_reporter(str)
    holder.set_state("degraded", "the store is down")
    assert holder.troubles == "the store is down; the cache is away"
    with pytest.raises(GraphUnavailable, match="the store is down"), holder.lease():
        pass


def test_states_are_told_once_each_and_stopping_is_the_last() -> None:
    holder = GraphHolder()
    reported: list[str] = []
    holder.on_state_change(reported.append)
    states: list[State] = ["ready", "ready", "degraded", "ready"]
    for state in states:
        holder.set_state(state)
    holder.close()
    holder.set_state("ready")
    assert reported == ["ready", "degraded", "ready", "stopping"]


class BuiltSlowly(Closable):
    """Builds its hierarchy until a test lets it go on."""

    def __init__(self, outcome: Callable[[], None]) -> None:
        super().__init__(example_graph().sections)
        self.begun, self.proceed = threading.Event(), threading.Event()
        self._outcome = outcome

    def warm_up_hierarchy(self) -> None:
        self.begun.set()
        assert self.proceed.wait(30)
        self._outcome()


def out_of_threads() -> None:
    raise RuntimeError("cannot schedule new futures after interpreter shutdown")


@pytest.mark.parametrize("outcome", [out_of_threads, check_interruption])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_hierarchy_under_construction_ends_with_the_watch_and_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, outcome: Callable[[], None], stopped: bool
) -> None:
    uncaught: list[object] = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)
    caplog.set_level("INFO")
    graph, holder = BuiltSlowly(outcome), GraphHolder()

    class OneRelease(Neo4jStore):
        def __init__(self) -> None:
            self.activation, self._looking, self.closed = 1, None, False

        def open(self) -> ServedGraph:
            return served(graph)

        def close(self) -> None:
            self.closed = True

    store = OneRelease()
    watch = ReleaseWatch(holder, store, 60.0)
    watch.open_first()
    assert graph.begun.wait(30)
    (building,) = [thread for thread in threading.enumerate() if thread.name == HIERARCHY_THREAD]
    if stopped:
        watch.stop()
    graph.proceed.set()
    building.join(30)
    assert not uncaught
    assert store.closed is stopped
    failed = "the hierarchy was not built: cannot schedule new futures after interpreter shutdown"
    assert (failed in caplog.text) is (outcome is out_of_threads and not stopped)
    assert ("the hierarchy was built" in caplog.text) is (outcome is check_interruption and not stopped)


def test_a_listener_that_fails_stops_no_change_of_state(caplog: pytest.LogCaptureFixture) -> None:
    holder = GraphHolder()
    reported: list[State] = []

    def closed(state: State) -> None:
        raise RuntimeError("Event loop is closed")

    holder.on_state_change(closed)
    holder.on_state_change(reported.append)
    holder.set_state("ready")
    assert reported == ["ready"]
    assert [(each.name, each.message) for each in caplog.records] == [
        ("cuihop.service", "a change of the state could not be reported")
    ]


# Snapshots


def test_a_snapshot_store_sees_another_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    store = SnapshotStore(path, tmp_path / "own")
    first = store.open()
    assert not store.changed(first)
    shorter_graph().save(path)
    assert store.changed(first)
    assert store.open().release.name == "shorter"
    path.unlink()
    with pytest.raises(SnapshotError, match="No such file"):
        store.changed(first)


def test_the_activation_of_a_snapshot_is_the_time_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    store = SnapshotStore(path, tmp_path / "own")
    holder = GraphHolder()
    watch = ReleaseWatch(holder, store, 60.0)
    watch.open_first()
    first = Activation.of(path.stat().st_mtime_ns, example_graph().release.digest)
    assert holder.activation == first
    session = ReleaseSession(seen=first)
    with holder.lease(session=session):
        assert session.served == first
    watch.start()

    def look() -> Activation | None:
        asyncio.run(watch.catch_up(Activation.of(1 << 62, "f" * 64), 30.0))  # as if a caller had seen a newer one
        return holder.activation

    os.utime(path, ns=(0, first.number + 5))  # the same release once more
    assert look() == Activation(first.number + 5, first.digest)
    shorter_graph().save(path)
    second = look()
    assert second is not None
    assert second.is_after(first)
    assert (second.number, second.digest) == (path.stat().st_mtime_ns, shorter_graph().release.digest[:16])
    with (
        pytest.raises(ReleaseBehind, match="has seen a newer one") as behind,
        holder.lease(session=ReleaseSession(seen=Activation.of(second.number + 1, "f" * 64))),
    ):
        pass
    assert behind.value.retry_after > 0
    with holder.lease(session=ReleaseSession(seen=Activation(second.number + 1, second.digest))):
        pass  # the same release, under a later activation
    watch.stop()


def test_a_half_copied_snapshot_is_not_served(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    whole = path.read_bytes()
    holder = GraphHolder()
    watch = ReleaseWatch(holder, SnapshotStore(path, tmp_path / "own"), 0.02)
    watch.open_first()
    watch.start()
    # A worker that fails ends, although nobody has stopped its watch.
    assert {thread.daemon for thread in threading.enumerate() if thread.name == WATCH_THREAD} == {True}
    half = tmp_path / "half"
    half.write_bytes(shorter_bytes(tmp_path)[:-100])
    half.replace(path)
    wait_for(lambda: holder.state == "degraded")
    assert "graph.cuihop" in holder.trouble
    with holder.lease() as old:
        assert old.release.name == "example"
    whole_again = tmp_path / "whole"
    whole_again.write_bytes(whole)
    whole_again.replace(path)
    wait_for(lambda: holder.state == "ready")
    watch.stop()
    states = [line.partition(": ") for line in caplog.messages if line.startswith(("ready", "degraded"))]
    assert [(state, trouble.startswith(str(path))) for state, _, trouble in states] == [
        ("ready", False), ("degraded", True), ("ready", False)
    ]  # fmt: skip
    assert {trouble for state, _, trouble in states if state == "ready"} == {""}


def shorter_bytes(folder: Path) -> bytes:
    path = folder / "shorter.cuihop"
    shorter_graph().save(path)
    return path.read_bytes()


@pytest.mark.slow
def test_a_release_is_exchanged_without_a_failed_or_a_mixed_answer(tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    releases = [example_graph(), shorter_graph()]
    for number, graph in enumerate(releases):
        graph.save(tmp_path / f"{number}.cuihop")
    true = {graph.release.digest: graph.distance(*PAIR) for graph in releases}
    shutil.copyfile(tmp_path / "0.cuihop", path)
    store = SnapshotStore(path, tmp_path / "own")
    with running_service(store.open()) as service:
        watch = ReleaseWatch(service.holder, store, 0.01)
        watch.start()
        over = threading.Event()
        seen: set[str] = set()
        wrong: list[object] = []

        def ask(make: type[HttpAsker] | type[GrpcAsker]) -> None:
            asker = make(service)
            while not over.is_set():
                try:
                    for answer in (asker.distance(*PAIR), asker.distances([PAIR] * 100), asker.path(*PAIR)):
                        hops = answer["hops"] if "hops" in answer else len(answer["path"]) - 1
                        if hops not in (true[answer["release"]], [true[answer["release"]]] * 100):
                            wrong.append(answer)
                        seen.add(answer["release"])
                except Exception as error:  # any failure is one too many
                    wrong.append(error)
            asker.close()

        threads = [threading.Thread(target=ask, args=(make,)) for make in (HttpAsker, GrpcAsker) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(1, 21):
            fresh = tmp_path / "fresh"
            shutil.copyfile(tmp_path / f"{turn % 2}.cuihop", fresh)
            fresh.replace(path)
            wanted = releases[turn % 2].release.digest
            wait_for(lambda wanted=wanted: digest_of(service.holder) == wanted)  # type: ignore[misc]
        over.set()
        for thread in threads:
            thread.join()
        watch.stop()
    assert wrong == []
    assert seen == set(true)


def digest_of(holder: GraphHolder) -> str | None:
    return None if holder.current is None else holder.current.digest


def test_stores_by_their_addresses(tmp_path: Path) -> None:
    options: Any = {"index_folder": tmp_path, "caching": lambda graph: None}
    assert isinstance(store_at("snapshot:x.cuihop", index=True, **options), SnapshotStore)
    assert isinstance(store_at("x.cuihop", index=True, **options), SnapshotStore)
    assert isinstance(store_at("bolt://localhost", index=False, **options), Neo4jStore)
    with pytest.raises(InputError, match="a snapshot is an index"):
        store_at("x.cuihop", index=False, **options)


# Neo4j


@pytest.fixture
def database(killable_neo4j: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(killable_neo4j.home / "password"))
    return killable_neo4j


def test_cypher_answers_until_the_index_is_there(database: LocalServer, tmp_path: Path) -> None:
    make_active(database, example_graph())
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    first = store.open()
    assert first.quickest[1] == "cypher"
    assert first.quickest[0].distance(*PAIR) == 3
    complete = store.completed(first)
    assert complete is not None
    assert complete.quickest[1] == "index"
    assert complete.digest == first.digest == example_graph().release.digest
    assert complete.quickest[0].distance(*PAIR) == 3
    assert store.completed(complete) is None
    assert store.open().quickest[1] == "index"  # the file is there now
    first.close()


def test_the_activations_of_a_database_rise_with_every_switch_and_back(database: LocalServer, tmp_path: Path) -> None:
    make_active(database, example_graph())
    make_active(database, shorter_graph())
    store = Neo4jStore(database.address, index=False, folder=tmp_path, caching=lambda graph: None, timeout=30)
    numbers = []
    with connected(database) as connection, closing(store.open()) as opened:
        assert opened.digest == shorter_graph().release.digest
        numbers.append(store.activation)
        release = next(stored for stored in stored_releases(connection) if stored.active)
        switch_to(connection, release.number)
        assert not store.changed(opened)
        numbers.append(store.activation)
        roll_back(connection)
        assert store.changed(opened)
        with closing(store.open()) as back:
            assert back.digest == example_graph().release.digest
        numbers.append(store.activation)
        future = time.time_ns() + 10**15
        connection.run_alone("MATCH (s:CuihopStore) SET s.activated = $future", future=future)  # another clock
        switch_to(connection, release.number)
        assert not store.changed(opened)
        assert store.activation == future + 1
    assert numbers == sorted(set(numbers))
    assert abs(numbers[0] - time.time_ns()) < 600 * 10**9
    store.close()


def test_the_number_of_the_next_release_is_not_noted_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader may see the number of a switch before its release: the old one under it would be refused to nobody."""
    served = ServedGraph(example_graph().release, index=example_graph())
    store = Neo4jStore("bolt://127.0.0.1:1", index=False, folder=tmp_path, caching=lambda graph: None, timeout=30)
    old, new = served.digest, shorter_graph().release.digest
    reads = iter([(old, 1), (old, 1), (old, 2), (new, 2), (old, 3), (old, 3)])
    monkeypatch.setattr(store, "_active", lambda: next(reads))
    found = [(store.changed(served), store.activation) for _ in range(3)]
    assert found == [(False, 1), (True, 1), (False, 3)]


def test_an_index_is_of_the_release_that_it_completes(database: LocalServer, tmp_path: Path) -> None:
    """The release after it would have the activation of the one before: no such activation was ever made."""
    make_active(database, example_graph())
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    with closing(store.open()) as first:
        make_active(database, shorter_graph())
        assert store.completed(first) is None
        assert not list(tmp_path.glob("*.cuihop"))
        assert store.changed(first)
    with closing(store.open()) as second:
        complete = store.completed(second)
        assert complete is not None
        assert complete.digest == shorter_graph().release.digest
    store.close()


def test_an_outage_leads_back_to_no_older_release(
    database: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_active(database, example_graph())
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)

    def unavailable() -> NoReturn:
        raise GraphUnavailable("as in an outage")

    with closing(store.open()) as first:
        store.completed(first)
        with monkeypatch.context() as outage:
            outage.setattr(store, "_active_graph", unavailable)
            assert store.open().digest == first.digest  # the same, by its index
    make_active(database, shorter_graph())
    with closing(store.open()) as second:
        assert second.quickest[1] == "cypher"
        monkeypatch.setattr(store, "_active_graph", unavailable)
        with pytest.raises(GraphUnavailable, match="as in an outage"):
            store.open()
    store.close()


def test_the_next_start_without_a_database_continues_from_what_was_served_last(
    database: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_active(database, example_graph())
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    first = store.open()
    served = store.completed(first)
    assert served is not None
    first.close()

    def started_in_an_outage() -> tuple[str, int]:
        def unavailable() -> NoReturn:
            raise GraphUnavailable("as in an outage")

        next_store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
        monkeypatch.setattr(next_store, "_active_graph", unavailable)
        with closing(next_store.open()) as found:
            return found.digest, next_store.activation

    [note] = tmp_path.glob("*.last")
    note.write_text(f"{'0' * 64} 1")  # of a slower worker, which had the release before
    assert not store.changed(served)
    assert started_in_an_outage() == (served.digest, store.activation)
    before = store.activation
    for graph in (shorter_graph(), example_graph()):  # and back, between two looks
        make_active(database, graph)
    assert not store.changed(served)
    assert store.activation > before
    assert started_in_an_outage() == (served.digest, store.activation)
    served.close()
    store.close()


def test_a_note_that_cannot_be_written_is_reported_once(
    database: LocalServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_active(database, example_graph())
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    store._last.mkdir()
    with closing(store.open()) as first:
        served = store.completed(first)
    assert served is not None
    assert not any(store.changed(served) for _ in range(3))
    assert caplog.text.count("no note of the release that is served") == 1
    assert not list(tmp_path.glob(f"*.{os.getpid()}"))
    served.close()
    store.close()


def test_a_damaged_index_file_is_made_anew(database: LocalServer, tmp_path: Path) -> None:
    make_active(database, example_graph())
    digest = example_graph().release.digest
    damaged = tmp_path / f"{digest}.cuihop"
    example_graph().save(damaged)
    damaged.write_bytes(damaged.read_bytes()[:-50])
    store = Neo4jStore(database.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    first = store.open()
    assert first.quickest[1] == "cypher"
    complete = store.completed(first)
    assert complete is not None
    assert complete.quickest[0].distance(*PAIR) == 3
    first.close()
