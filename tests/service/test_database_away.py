"""A service whose database is empty, away or refuses, or that cannot write its index: the reason, and the way back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from neo4j import exceptions

from bolt_proxy import BoltProxy, bolt_proxy
from cuihop.errors import GraphUnavailable, OutputError
from cuihop.neo4j_graph import login
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.snapshot.file import Sections
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.limits import Limits
from cuihop_service.release_watch import ReleaseWatch
from cuihop_service.request_context import RequestContext
from cuihop_service.stores import Neo4jStore
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, emptied, make_active
from served_program import program
from waiting import wait_for

PAIR = ("C0006121", "C0018670")


@pytest.fixture
def database(killable_neo4j: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """A server that runs, and holds nothing."""
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(killable_neo4j.home / "password"))
    return emptied(killable_neo4j)


# The index folder


@pytest.fixture
def watched(database: LocalServer, tmp_path: Path) -> Iterator[tuple[GraphHolder, ReleaseWatch, Path]]:
    """A release that is served from a folder that the test makes."""
    make_active(database, example_graph())
    folder = tmp_path / "index"
    store = Neo4jStore(database.address, index=True, folder=folder, caching=lambda graph: None, timeout=30)
    holder = GraphHolder()
    watch = ReleaseWatch(holder, store, 0.05)
    yield holder, watch, folder
    watch.stop()
    holder.close()


def hops(holder: GraphHolder) -> tuple[int | None, str]:
    answer = ConceptService(holder, Limits()).distance(*PAIR, context=RequestContext())
    return answer.value, answer.tier


def test_a_folder_that_cannot_be_written_leaves_answers_by_cypher(
    watched: tuple[GraphHolder, ReleaseWatch, Path],
) -> None:
    holder, watch, folder = watched
    folder.write_text("a file where a folder should be")
    watch.open_first()
    watch.start()
    wait_for(lambda: holder.state == "degraded")
    assert str(folder) in holder.trouble
    assert "answers come by Cypher" in holder.trouble
    assert hops(holder) == (3, "cypher")
    folder.unlink()
    wait_for(lambda: holder.state == "ready")
    wait_for(lambda: hops(holder) == (3, "index"))


def test_on_a_full_disk_answers_come_by_cypher_until_there_is_room(
    watched: tuple[GraphHolder, ReleaseWatch, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, watch, _ = watched
    written, tried, looks = Sections.save, [], []
    usage = shutil.disk_usage
    full = True

    def write(sections: Sections, path: Path) -> None:
        tried.append(path)
        if full:
            raise OutputError(f"{path}: not written: No space left on device")
        written(sections, path)

    def free(path: Path) -> Any:
        looks.append(path)
        return usage(path)._replace(free=0) if full else usage(path)

    monkeypatch.setattr(Sections, "save", write)
    monkeypatch.setattr(shutil, "disk_usage", free)
    holder.set_state("unavailable", "as after a start without the database")
    watch.start()
    wait_for(lambda: holder.state == "degraded")
    assert hops(holder) == (3, "cypher")
    wait_for(lambda: "bytes are needed, 0 are free" in holder.trouble)
    seen = len(looks)
    wait_for(lambda: len(looks) > seen + 2)
    assert len(tried) <= 1  # the release is not read again and again in vain
    full = False
    wait_for(lambda: holder.state == "ready" and hops(holder) == (3, "index"))


def test_a_note_that_cannot_be_written_is_no_trouble(
    watched: tuple[GraphHolder, ReleaseWatch, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, watch, folder = watched
    folder.mkdir()
    example_graph().save(folder / f"{example_graph().release.digest}.cuihop")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_text", refuse)
    watch.open_first()
    watch.start()
    wait_for(lambda: holder.state == "ready")
    assert hops(holder) == (3, "index")


# The connection


def test_a_connection_that_is_lost_without_a_word_is_given_up(database: LocalServer, proxy: BoltProxy) -> None:
    """After three seconds, by the keep-alive of the server: by default it would be two minutes."""
    settings = Neo4jSettings(proxy.address, password=database.password, timeout=600.0)
    with Neo4jConnection(settings) as connection, ThreadPoolExecutor(1) as pool:

        def one() -> int:
            found: int = connection.read(lambda tx: tx.run("RETURN 1 AS one").single(strict=True)["one"])
            return found

        assert one() == 1
        proxy.half_open()
        proxy.heal()
        assert pool.submit(one).result(100) == 1


def test_a_database_that_was_silent_is_asked_over_new_connections(
    database: LocalServer, proxy: BoltProxy, tmp_path: Path
) -> None:
    """The pool may hold as many lost ones as it had; each would cost a question three seconds."""
    make_active(database, example_graph())
    store = Neo4jStore(proxy.address, index=False, folder=tmp_path, caching=lambda graph: None, timeout=30)
    holder = GraphHolder()
    watch = ReleaseWatch(holder, store, 0.05)
    with closing(holder):
        watch.open_first()
        watch.start()
        assert hops(holder) == (3, "cypher")
        before = holder.current
        proxy.half_open()
        wait_for(lambda: holder.state == "unavailable")
        proxy.heal()
        wait_for(lambda: holder.current is not before, 60)
        assert hops(holder) == (3, "cypher")
        watch.stop()


# The password


@pytest.fixture
def proxy(database: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoltProxy]:
    """The server, where wrong passwords are counted. What other tests were refused is forgotten."""
    monkeypatch.setattr(login, "_accounts", {})
    with bolt_proxy(database.address) as between:
        yield between


def test_a_wrong_password_is_tried_once_by_all_workers_and_locks_nobody_out(
    database: LocalServer, proxy: BoltProxy, tmp_path: Path
) -> None:
    make_active(database, example_graph())
    (tmp_path / "password").write_text("not-the-password")
    flags = ("--index-folder", str(tmp_path / "index"), "--workers", "2")
    with program(proxy.address, tmp_path, *flags, NEO4J_PASSWORD_FILE=str(tmp_path / "password")) as running:
        wait_for(lambda: b'cuihop_workers{state="unavailable"} 2' in running.answer("/metrics"))
        for _ in range(12):
            code, fields = running.health()
            assert (code, fields["status"]) == (503, "unavailable")
            assert "refuses user 'neo4j' with this password" in fields["trouble"]
            assert "tried again at" in fields["trouble"]
            assert "not-the-password" not in fields["trouble"]
        assert proxy.refusals == 1
        assert "not ready: no release yet; /health/ready says why" in running.log.read_text()
        assert "to look at the graph" not in running.log.read_text()
        (tmp_path / "password").write_text(database.password)
        wait_for(lambda: all(running.health()[0] == 200 for _ in range(8)))
        assert proxy.refusals == 1


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_password_is_refused_once_a_pause_whoever_needs_it(
    proxy: BoltProxy, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(login, "FIRST_PAUSE", 0.5)
    wrong = Neo4jSettings(proxy.address.replace("bolt", scheme), password="another-wrong-one", retry_time=0.0)  # noqa: S106
    seen = 0
    with Neo4jConnection(wrong) as first, Neo4jConnection(wrong) as second:
        begun = time.monotonic()
        while proxy.refusals < 2:
            for connection in (first, second):
                with pytest.raises(GraphUnavailable, match="refuses user 'neo4j'"):
                    connection.read(lambda tx: tx.run("RETURN 1").consume())
                seen += 1
        assert time.monotonic() - begun >= 0.5
    assert proxy.refusals == 2 < seen


def test_a_refusal_that_cannot_be_shared_pauses_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login._Account, "folder", tmp_path / "gone")
    account = login._Account("bolt://localhost", "neo4j", "wrong")
    attempts = []

    class Refused(exceptions.ClientError):
        code = login._REFUSED

    def attempt() -> None:
        attempts.append(1)
        raise Refused

    assert [account.try_once(attempt, 1.0) is not None for _ in range(3)] == [True] * 3
    assert len(attempts) == 1


def test_pauses_grow_to_a_quarter_of_an_hour() -> None:
    refusal, pauses = None, []
    for _ in range(7):
        refusal = login.Refusal.after(refusal, locked=False)
        pauses.append(round(refusal.until - time.monotonic()))
    assert pauses == [60, 120, 240, 480, 900, 900, 900]
    assert round(login.Refusal.after(refusal, locked=True).until - time.monotonic()) == 10


def test_a_password_that_is_changed_on_the_server_and_in_its_file_is_taken_without_a_new_connection(
    database: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text(database.password + "\n")
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(file))
    settings = Neo4jSettings.from_environment(database.address, retry_time=0.0)
    with Neo4jConnection(settings) as long_lived, connected(database) as admin:
        assert long_lived.read(lambda tx: tx.run("RETURN 1 AS one").single(strict=True))["one"] == 1
        admin.run_alone("ALTER CURRENT USER SET PASSWORD FROM $old TO $new", old=database.password, new="new-password")
        try:
            file.write_text("new-password")
            assert long_lived.read(lambda tx: tx.run("RETURN 1 AS one").single(strict=True))["one"] == 1
        finally:
            with Neo4jConnection(Neo4jSettings(database.address, password="new-password")) as new:  # noqa: S106
                new.run_alone(
                    "ALTER CURRENT USER SET PASSWORD FROM $old TO $new", old="new-password", new=database.password
                )
