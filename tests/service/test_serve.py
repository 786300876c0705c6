"""The program `cuihop serve`, in processes of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import pytest
import urllib3
from typer.testing import CliRunner

from cuihop import SnapshotGraph
from cuihop.cli.application import application
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_service import supervisor
from cuihop_service.addresses import Addresses
from cuihop_service.observe import logs
from example_graph import example_graph
from served_program import program, started
from waiting import wait_for, wait_until_still


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    return path


@pytest.mark.parametrize(
    ("workers", "explorer"), [pytest.param("1", "--explorer", marks=pytest.mark.core), ("2", "--no-explorer")]
)
def test_both_ports_answer_and_a_signal_stops_them(store: Path, tmp_path: Path, workers: str, explorer: str) -> None:
    with program(store, tmp_path, "--workers", workers, explorer, "--audit", "-") as running:
        assert running.hops() == 3
        wait_for(lambda: '"operation":"distance"' in running.log.read_text())  # of standard output and error
        with grpc.insecure_channel(running.grpc) as channel:
            stub: Any = pb_grpc.ConceptGraphServiceStub(channel)
            assert stub.Distance(pb.DistanceRequest(a="C0006121", b="C0018670"), timeout=300).hops == 3
        assert running.get("/health/ready")["status"] == "ready"
        start = urllib3.PoolManager(retries=False, timeout=300).request("GET", f"http://{running.http}/")
        assert (start.status, b"<title>cuihop explorer</title>" in start.data) in ((200, True), (404, False))
        assert (start.status == 200) is (explorer == "--explorer")
        assert running.stop() == 0
    log = running.log.read_text()
    assert "Traceback" not in log
    assert (f"to look at the graph, open http://{running.http}/" in log) is (explorer == "--explorer")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_answers_under_way_are_given_when_it_stops(tmp_path: Path, workers: str) -> None:
    chain = [(f"C{i:07d}", f"C{i + 1:07d}") for i in range(3_000)]
    path = tmp_path / "chain.cuihop"
    under_way = re.compile(rb"cuihop_requests_running(?:\{[^}]*\})? 1\.0")
    SnapshotGraph.of(chain, identifiers="cui").save(path)
    patient = ("--drain-seconds", "120")  # a busy machine computes the answer for longer than the default
    with program(path, tmp_path, "--workers", workers, "--limit-pairs", "1000000", *patient) as running:
        pairs = pb.PackedPairs(a=[0] * 100_000, b=[3_000] * 100_000)
        with grpc.insecure_channel(running.grpc) as channel:
            stub: Any = pb_grpc.ConceptGraphServiceStub(channel)
            future = stub.Distances.future(pb.DistancesRequest(packed=pairs), timeout=300)
            wait_for(lambda: future.done() or under_way.search(running.answer("/metrics")))
            running.expect_end()
            running.process.send_signal(signal.SIGTERM)
            answer = future.result(120)
        assert set(answer.hops) == {3_000}
        assert running.process.wait(60) == 0


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(store: Path, tmp_path: Path) -> None:
    with program(store, tmp_path, "--workers", "2") as running:
        wait_for(lambda: len(running.workers()) == 2)
        first = running.workers()[0]
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: len(running.workers()) == 2 and first not in running.workers())
        assert running.hops() == 3
        assert "a worker ended with code -9" in running.log.read_text()
        assert running.stop(signal.SIGINT) == 0


@pytest.mark.slow
@pytest.mark.parametrize("run", [program, started])
def test_workers_end_when_their_supervisor_was_killed(store: Path, tmp_path: Path, run: Any) -> None:
    with run(store, tmp_path, "--workers", "2") as running:
        wait_for(lambda: len(running.workers()) == 2)  # perhaps not yet ready
        orphans = running.workers()
        running.kill()
        wait_for(lambda: not any(Path(f"/proc/{pid}/stat").exists() and alive(pid) for pid in orphans))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_hangup_signal_brings_the_new_release_at_once(store: Path, tmp_path: Path, workers: str) -> None:
    with program(store, tmp_path, "--workers", workers, "--watch-seconds", "3600") as running:
        wait_for(lambda: running.ready_workers() == int(workers))  # a late one would open the new release
        assert running.hops() == 3
        SnapshotGraph.of([("C0006121", "C0018670")], identifiers="cui").save(store)
        assert running.hops() == 3
        running.process.send_signal(signal.SIGHUP)
        wait_for(lambda: all(running.hops() == 1 for _ in range(10)))
        assert running.stop() == 0


@pytest.mark.slow
def test_a_hangup_signal_reaches_a_worker_that_has_just_started(store: Path, tmp_path: Path) -> None:
    with program(store, tmp_path, "--workers", "2", "--watch-seconds", "3600") as running:
        wait_for(lambda: running.ready_workers() == 2)
        killed = running.workers()[0]
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: len(running.workers()) == 2 and killed not in running.workers())
        running.process.send_signal(signal.SIGSTOP)  # before it notes that the new worker is ready
        wait_for(lambda: running.ready_workers() == 2)
        wait_until_still(lambda: len(running.log.read_text()))
        SnapshotGraph.of([("C0006121", "C0018670")], identifiers="cui").save(store)
        running.process.send_signal(signal.SIGHUP)
        running.process.send_signal(signal.SIGCONT)
        wait_for(lambda: all(running.hops() == 1 for _ in range(10)))


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--graph", "nowhere.cuihop"), 5, "nowhere.cuihop: No such file"),
        (("--graph", "nowhere.cuihop", "--workers", "2"), 5, "nowhere.cuihop: No such file"),
        (("--graph", "ftp://x"), 5, "No such file"),
        (("--graph", "grpc://localhost:1"), 3, "expected the path of a snapshot, or the address of a Neo4j server"),
        (("--graph", "g.cuihop", "--index", "off"), 3, "a snapshot is an index"),
        (("--graph", "g.cuihop", "--tls-key", "k.pem"), 3, "TLS needs a certificate and its key"),
        (("--graph", "g.cuihop", "--workers", "0"), 3, "greater than or equal to 1"),
        (("--graph", "g.cuihop", "--http-port", "0", "--config", "none.toml"), 3, "none.toml"),
    ],
)
def test_a_store_that_cannot_be_served_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], code: int, complaint: str, forked_programs: Path
) -> None:
    example_graph().save(tmp_path / "g.cuihop")
    count = () if "--workers" in arguments else ("--workers", "1")
    done = subprocess.run(
        [forked_programs / "cuihop", "serve", "--http-port", "0", "--grpc-port", "0", *count, *arguments],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert complaint in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_named(store: Path, tmp_path: Path, forked_programs: Path) -> None:
    with program(store, tmp_path) as running:
        for flag, address in (("--http-port", running.http), ("--grpc-port", running.grpc)):
            for workers in ("1", "2"):
                other = {"--http-port": "--grpc-port", "--grpc-port": "--http-port"}[flag]
                done = subprocess.run(
                    [forked_programs / "cuihop", "serve", "--graph", str(store), "--workers", workers,
                     flag, address.split(":")[1], other, "0"],
                    capture_output=True, text=True, check=False, timeout=300,
                )  # fmt: skip
                assert done.returncode == 3, done.stderr
                assert "cannot listen for" in done.stderr


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_redis_that_does_not_answer_is_named_at_the_start(store: Path, tmp_path: Path) -> None:
    with program(store, tmp_path, "--redis", "redis://:hidden@127.0.0.1:9/0") as running:
        wait_for(lambda: "Redis does not answer" in running.log.read_text())
        assert running.hops() == 3
    log = running.log.read_text()
    assert "redis://127.0.0.1:9: Redis does not answer" in log
    assert "correct the setting redis" in log
    assert "hidden" not in log


@pytest.mark.parametrize(
    ("ready", "last"),
    [(True, "to look at the graph, open http://127.0.0.1:1/"),
     (False, "not ready: no release yet; /health/ready says why")],
)  # fmt: skip
def test_the_last_line_of_a_start_says_whether_there_is_a_release(
    store: Path, monkeypatch: pytest.MonkeyPatch, ready: bool, last: str
) -> None:
    def supervise(settings: object, http: socket.socket, on_ready: Callable[[Addresses], None]) -> int:
        http.close()
        on_ready(Addresses(1, 2, False, ready))
        return 0

    monkeypatch.setattr(supervisor, "supervise", supervise)
    monkeypatch.setattr(logs, "configure_logs", lambda *_, **__: None)
    arguments = ["serve", "--graph", str(store), "--http-port", "0", "--redis", "redis://127.0.0.1:9"]
    done = CliRunner().invoke(application(arguments), arguments)
    assert done.stderr.splitlines()[-1] == last


@pytest.mark.slow
def test_workers_are_forks_of_a_supervisor_without_threads(store: Path, tmp_path: Path) -> None:
    with program(store, tmp_path, "--workers", "2", PYTHONPROFILEIMPORTTIME="1") as running:
        wait_for(lambda: running.ready_workers() == 2)
        status = Path(f"/proc/{running.process.pid}/status").read_text()
        assert re.search(r"^Threads:\s+1$", status, re.MULTILINE), "what a thread has locked stays locked in a fork"
        assert running.stop() == 0
    imported = re.findall(r"\| +(\S+)$", running.log.read_text(), re.MULTILINE)
    for package in ("fastapi", "grpc", "numba", "numpy", "uvicorn"):
        assert imported.count(package) == 1


@pytest.mark.slow
def test_threads_of_a_worker_share_what_is_free(store: Path, tmp_path: Path) -> None:
    """A heap of glibc that is not the first begins at a multiple of its 64 MiB, whose rest cannot be read."""
    whole = 64 << 20
    with program(store, tmp_path, "--workers", "1") as running:
        [worker] = running.workers()
        assert len(list(Path(f"/proc/{worker}/task").iterdir())) > 4
        text = Path(f"/proc/{worker}/maps").read_text()
    found = re.findall(r"^(\w+)-(\w+) (\S+)", text, re.MULTILINE)
    places = [(int(begin, 16), int(end, 16), mode) for begin, end, mode in found]
    heaps = [a for (a, b, _), (c, d, mode) in pairwise(places) if (b, mode, d - a, a % whole) == (c, "---p", whole, 0)]
    assert len(heaps) <= 1
