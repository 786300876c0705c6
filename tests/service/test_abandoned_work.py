"""Work that nobody waits for any more: overdue, given up by its caller, or under way when the service stops."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
import urllib3

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from guarded_service import http, stub
from served_program import program
from waiting import wait_for

CONCEPTS = 250_000
HEAD = b"POST /v1/pack HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SOON = 5.0  # work that goes on is to be noticed, on whatever machine: it takes a minute and more


@pytest.fixture(scope="module")
def large() -> SnapshotGraph:
    """A graph in which all distances among some thousands of concepts take a minute."""
    draw = np.random.default_rng(3)
    parents = (draw.random(CONCEPTS) * np.arange(CONCEPTS)).astype(int).tolist()
    names = [f"C{i:07d}" for i in range(CONCEPTS)]
    graph = SnapshotGraph.of([(names[i], names[parents[i]]) for i in range(1, CONCEPTS)], identifiers="cui")
    graph.warm_up()
    return graph


@pytest.fixture
def service(large: SnapshotGraph) -> Iterator[RunningService]:
    with running_service(large) as running:
        yield running


def question(hops: int = 255) -> dict[str, object]:
    return {"cuis": [f"C{i:07d}" for i in range(5_000)], "hops": hops}


def message() -> pb.GetDistancePackRequest:
    return pb.GetDistancePackRequest(cuis=[f"C{i:07d}" for i in range(5_000)], hops=255)


@pytest.mark.slow
@pytest.mark.parametrize("hops", [254, 255])
def test_an_overdue_pack_stops(service: RunningService, hops: int) -> None:
    assert http(service, "/v1/pack", question(hops), X_Timeout_Seconds="0.5").status == 504
    wait_for(lambda: service.admission.running == 0, SOON)


def test_an_overdue_pack_over_grpc_stops(service: RunningService) -> None:
    with stub(service) as grpc_stub, pytest.raises(grpc.RpcError) as caught:
        list(grpc_stub.GetDistancePack(message(), timeout=0.5))
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_for(lambda: service.admission.running == 0, SOON)


def test_a_pack_whose_caller_hangs_up_stops(service: RunningService) -> None:
    ask_for_a_pack(("127.0.0.1", service.http_port), lambda: wait_for(lambda: service.admission.running == 1))
    wait_for(lambda: service.admission.running == 0, SOON)


def ask_for_a_pack(address: tuple[str, int], begun: Callable[[], object]) -> None:
    body = json.dumps(question()).encode()
    with socket.create_connection(address, timeout=300) as connection:
        connection.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        begun()


def test_a_pack_that_its_caller_cancels_stops(service: RunningService) -> None:
    with stub(service) as grpc_stub:
        call = grpc_stub.GetDistancePack(message(), timeout=300)
        wait_for(lambda: service.admission.running == 1)
        call.cancel()
    wait_for(lambda: service.admission.running == 0, SOON)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_service_ends_while_a_pack_is_computed(large: SnapshotGraph, tmp_path: Path, workers: str) -> None:
    path = tmp_path / "large.cuihop"
    large.save(path)
    with program(path, tmp_path, "--workers", workers, "--drain-seconds", "1") as running:
        host, _, port = running.http.partition(":")
        metrics = re.compile(rb"cuihop_requests_running(?:\{[^}]*\})? 1\.0")

        def stop() -> None:
            wait_for(lambda: metrics.search(page(running.http, "/metrics")) is not None)
            begun = time.monotonic()
            assert running.stop() == 0
            assert time.monotonic() - begun < 1 + 2 + SOON

        ask_for_a_pack((host, int(port)), stop)
    assert "Traceback" not in running.log.read_text()


def page(address: str, path: str) -> bytes:
    return urllib3.PoolManager(retries=False, timeout=300).request("GET", f"http://{address}{path}").data


STUBBORN = """
import sys, threading
from cuihop_service.core import ConceptService

def path(*arguments, **options):
    print("begun", file=sys.stderr, flush=True)
    threading.Event().wait()

ConceptService.path = path
"""


@pytest.mark.slow
def test_the_service_ends_without_a_thread_that_does_not_look(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STUBBORN)  # read by every process of the service, workers included
    chain = tmp_path / "chain.cuihop"
    SnapshotGraph.of([("C0000001", "C0000002")], identifiers="cui").save(chain)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP_")}
    arguments = ["serve", "--graph", str(chain), "--http-port", "0", "--grpc-port", "0", "--drain-seconds", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "cuihop", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, "PYTHONPATH": str(tmp_path)},
    ) as process:
        assert process.stderr is not None
        guard = threading.Timer(110, process.kill)  # its worker follows, and the lines end
        guard.start()
        try:
            lines = iter(process.stderr.readline, "")
            found = next(match for line in lines if (match := re.search(r"serving http://([^:]+):(\d+)", line)))
            with socket.create_connection((found[1], int(found[2])), timeout=300) as connection:
                connection.sendall(b"GET /v1/path?a=C0000001&b=C0000002 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert any("begun" in line for line in lines)
                process.send_signal(signal.SIGTERM)
                rest = "".join(lines)
            assert process.wait(30) == 0, rest
            assert "ending without waiting for 1 threads" in rest
        finally:
            guard.cancel()
            process.kill()
