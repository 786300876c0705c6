"""Readiness, as a load balancer sees it over real sockets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import urllib3
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

from cuihop_server import running_service
from cuihop_service.graph_holder import State
from example_graph import example_graph

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
CUIHOP = str(Path(sys.executable).parent / "cuihop")


def readiness(address: str) -> tuple[int, dict[str, Any]]:
    answer = urllib3.request("GET", address, retries=False, headers={"Connection": "close"})
    return answer.status, json.loads(answer.data)


def health(channel: grpc.Channel, service: str = "") -> int:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    status: int = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10).status
    return status


@pytest.mark.parametrize(
    ("state", "status"), [("starting", 503), ("ready", 200), ("degraded", 200), ("unavailable", 503), ("stopping", 503)]
)
def test_ready_is_who_can_answer_and_alive_is_everybody(state: State, status: int) -> None:
    graph = example_graph()
    with running_service(graph) as service:
        service.holder.set_state(state, "the reason")
        code, fields = readiness(f"{service.http}/health/ready")
        assert code == status
        assert fields["status"] == state
        assert fields["trouble"] == "the reason"
        assert fields["release"] == {"name": graph.release.name, "digest": graph.release.digest, "activation": None}
        assert readiness(f"{service.http}/health/live") == (200, {"status": "alive"})


@contextmanager
def serving(*flags: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """``cuihop serve`` on free ports, with its addresses."""
    own_environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUIHOP_", "NEO4J_"))}
    process = subprocess.Popen(
        [CUIHOP, "serve", "--http-port", "0", "--grpc-port", "0", *flags],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**own_environment, **environment},
    )
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "the service ended"
            found = re.search(r"serving (http://\S+) and grpc://(\S+)", line)
        yield process, found[1], found[2]
    finally:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_both_transports_say_ready_and_then_that_the_service_stops(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "example.cuihop")
    store = f"snapshot:{tmp_path / 'example.cuihop'}"
    with (
        serving("--store", store, "--drain-delay", "5") as (process, http, target),
        grpc.insecure_channel(target) as channel,
    ):
        assert readiness(f"{http}/health/ready")[0] == 200
        for name in ("", "cuihop_api.v1.ConceptGraphService"):
            assert health(channel, name) == SERVING
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=30)
        assert next(watch).status == SERVING
        process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        status, fields = readiness(f"{http}/health/ready")
        assert (status, fields["status"]) == (503, "stopping")
        assert readiness(f"{http}/health/live")[0] == 200


def test_both_transports_say_that_the_database_is_away(tmp_path: Path) -> None:
    flags = ("--store", "bolt://127.0.0.1:1", "--index-folder", str(tmp_path))
    with serving(*flags, NEO4J_PASSWORD="long-enough") as (_, http, target):  # noqa: S106
        status, fields = readiness(f"{http}/health/ready")
        assert (status, fields["status"], fields["release"]) == (503, "unavailable", None)
        assert "127.0.0.1:1" in fields["trouble"]
        assert readiness(f"{http}/health/live")[0] == 200
        with grpc.insecure_channel(target) as channel:
            assert health(channel) == NOT_SERVING
        assert states(http)["unavailable"] == 1


def states(http: str) -> dict[str, float]:
    """Workers in each state, by the metrics."""
    text = urllib3.request("GET", f"{http}/metrics").data.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {sample.labels["state"]: sample.value for sample in families["cuihop_workers"].samples}


def questions(http: str) -> float:
    text = urllib3.request("GET", f"{http}/metrics", headers={"Connection": "close"}).data.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    if "cuihop_requests" not in families:
        return 0
    samples = families["cuihop_requests"].samples
    return sum(sample.value for sample in samples if sample.labels["operation"] == "distance")


def test_two_workers_give_one_account_and_a_killed_one_takes_nothing_with_it(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "example.cuihop")
    with serving("--store", f"snapshot:{tmp_path / 'example.cuihop'}", "--workers", "2") as (process, http, _):
        until(lambda: states(http)["ready"] == 2)
        for number in range(1, 21):
            pool = urllib3.PoolManager()
            assert pool.request("GET", f"{http}/v1/distance?a=C0006121&b=C0018670").status == 200
            pool.clear()
            assert questions(http) == number
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
        )
        os.kill(int(children.stdout.split()[0]), signal.SIGKILL)
        until(lambda: states(http)["ready"] == 1)
        assert questions(http) == 20
        until(lambda: states(http)["ready"] == 2)
        assert questions(http) == 20


def until(holds: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not _tried(holds):
        assert time.monotonic() < end
        time.sleep(0.05)


def _tried(holds: Any) -> bool:
    try:
        return bool(holds())
    except urllib3.exceptions.HTTPError:  # asked of the worker that was killed
        return False
