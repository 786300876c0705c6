"""A real server, killed under all that uses it: nobody is misled, nothing is lost, and all go on once it is back."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cuihop.errors import CuihopError, GraphUnavailable
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.projection import snapshot_sections
from cuihop.neo4j_graph.releases import stored_releases
from cuihop_loader.neo4j_online import load_online
from cuihop_service.stores import Neo4jStore
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, emptied, make_active
from served_program import program
from stored_releases import counts, part_of_the_open_release, same_arrays, shorter_graph
from waiting import wait_for

PAIR = ("C0006121", "C0018670")
PATIENCE = 60.0
SOON = 35.0
"""Seconds: ten times what is meant."""

User = Generator[None]
"""What uses the server, in three parts: before it is killed, while it is away, and once it is back."""


def test_a_killed_server_misleads_nobody_and_loses_nothing(
    killable_neo4j: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = emptied(killable_neo4j)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(server.home / "password"))
    asking = curator(server)
    users = [
        indexed_service(server, tmp_path / "indexed"),
        bare_service(server, tmp_path / "bare"),
        readers(server),
        asking,
        loader(server, asking),  # the last: it has the curator ask, and kills the server
    ]
    with ExitStack() as stack:
        for user in users:
            stack.enter_context(closing(user))
            if user is not asking:
                next(user)
        for user in users:
            next(user)
        server.start()
        for user in reversed(users):
            assert next(user, "ended") == "ended"


def indexed_service(server: LocalServer, folder: Path) -> User:
    """The program, started on an empty database; then with an index of the example."""
    folder.mkdir()
    flags = ("--index-folder", str(folder), "--workers", "2")
    with program(server.address, folder, *flags) as running:

        def every_worker(status: str) -> bool:
            return all(running.health()[1]["status"] == status for _ in range(8))

        code, fields = running.health()
        assert (code, fields["status"], fields["release"]) == (503, "unavailable", None)
        assert "no release" in fields["trouble"]
        assert "no release" in running.get(f"/v1/distance?a={PAIR[0]}&b={PAIR[1]}")["detail"]
        make_active(server, example_graph())
        wait_for(lambda: all(running.health()[1]["indexed"] for _ in range(8)) and every_worker("ready"))
        assert running.hops() == 3
        yield
        wait_for(lambda: every_worker("degraded"), SOON)
        assert server.address in running.health()[1]["trouble"]
        assert running.hops() == 3
        again = Neo4jStore(server.address, index=True, folder=folder, caching=lambda graph: None, timeout=5)
        with closing(again.open()) as opened:  # a worker that starts now goes on from the file
            assert opened.quickest[0].distance(*PAIR) == 3
        yield
        wait_for(lambda: every_worker("ready"))
        make_active(server, shorter_graph())
        wait_for(lambda: all(running.hops() == 1 for _ in range(8)))


def bare_service(server: LocalServer, folder: Path) -> User:
    """The program without an index, where the server is frozen, too."""
    folder.mkdir()
    with program(server.address, folder, "--index-folder", str(folder), "--index", "off", "--workers", "1") as running:

        def wait_until_unavailable() -> None:
            wait_for(lambda: running.health()[1]["status"] == "unavailable", SOON)
            code, fields = running.health()
            assert code == 503
            assert server.address in fields["trouble"]

        def wait_until_ready() -> None:
            wait_for(lambda: running.health()[1]["status"] == "ready")
            assert running.hops() == 3
            assert not running.health()[1]["indexed"]

        wait_until_ready()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        try:
            wait_until_unavailable()
        finally:
            os.kill(server.pid, signal.SIGCONT)
        wait_until_ready()
        yield
        wait_until_unavailable()
        assert "detail" in running.get("/v1/distance?a=C0006104&b=C0018670")  # which nobody has asked for
        yield
        wait_until_ready()


def readers(server: LocalServer) -> User:
    """Threads that ask and ask again."""
    answers: list[int | None] = []
    errors: list[CuihopError] = []
    stop = threading.Event()
    with connected(server) as connection, ThreadPoolExecutor(2) as pool:
        graph = Neo4jGraph(connection)

        def ask() -> None:
            while not stop.wait(0.02):  # without it, they would take the processors from all others
                try:
                    answers.append(graph.distance(*PAIR))
                except CuihopError as error:
                    errors.append(error)

        asking = [pool.submit(ask) for _ in range(2)]
        try:
            wait_for(lambda: len(answers) > 20)
            yield
            yield
            before = len(answers)
            wait_for(lambda: len(answers) > before + 20)
        finally:
            stop.set()
        for one in asking:
            one.result()
    assert set(answers) == {3}
    assert all(isinstance(error, GraphUnavailable) for error in errors)


def curator(server: LocalServer) -> User:
    """A query that takes longer than anybody waits."""
    text = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000) AS b RETURN sum(a * b) AS s"
    running = "SHOW TRANSACTIONS YIELD metaData AS data WHERE data.cuihop IS NOT NULL RETURN count(*) AS n"
    released = threading.Event()
    with connected(server, retry_time=0.0, acquisition_timeout=2.0) as connection, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(curator_query, connection, text, timeout=PATIENCE, released=released.set)
        wait_for(lambda: connection.run_alone(running)[0]["n"])
        yield
        with pytest.raises(GraphUnavailable):
            asked.result(PATIENCE)
        assert not released.is_set()  # nobody can say yet that the server does not work on it
        yield
        assert released.wait(PATIENCE)


def loader(server: LocalServer, asking: User) -> User:
    """A load in which the server is killed, beside the first batch after half of the edges, once somebody has asked."""
    sections = part_of_the_open_release("killed").sections
    killing: list[Future[None]] = []

    def kill(what: str, done: int, total: int) -> None:
        if what == "edges" and done > total // 2 and not killing:
            next(asking)
            killing.append(pool.submit(server.kill))

    with ThreadPoolExecutor(1) as pool, connected(server, retry_time=1.0) as connection:
        with pytest.raises(GraphUnavailable):
            load_online(sections, connection, progress=kill, concepts_a_batch=400, edges_a_batch=400)
        killing[0].result()
    yield
    yield
    with connected(server) as connection:
        half = stored_releases(connection)[-1]
        assert half.state == "loading"
        assert 0 < half.loaded < 1
        stored = load_online(sections, connection, switch=False)
        assert (stored.number, stored.state) == (half.number, "complete")
        concepts, edges = stored.release.concepts, stored.release.edges
        assert counts(connection, stored.number) == (concepts, concepts, edges, 0)
        assert same_arrays(snapshot_sections(connection, stored.number), sections)
