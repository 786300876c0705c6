"""Readiness, as a load balancer sees it over real sockets."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
import urllib3
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

import cuihop
from cuihop_server import running_service
from cuihop_service.graph_holder import State
from example_graph import example_graph
from served_program import program
from waiting import wait_for

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
CUIHOP = str(Path(sys.executable).parent / "cuihop")


def readiness(address: str) -> tuple[int, dict[str, Any]]:
    answer = urllib3.request("GET", address, retries=False, headers={"Connection": "close"}, timeout=300)
    return answer.status, json.loads(answer.data)


def health(channel: grpc.Channel, service: str = "") -> int:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    status: int = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=300).status
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
        assert readiness(f"{service.http}/health/live") == (
            200,
            {"status": "alive", "service": f"cuihop {cuihop.__version__}"},
        )


def test_both_transports_say_ready_and_then_that_the_service_stops(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "example.cuihop")
    with (
        program(tmp_path / "example.cuihop", tmp_path, "--drain-delay", "5") as running,
        grpc.insecure_channel(running.grpc) as channel,
    ):
        http = f"http://{running.http}"
        assert readiness(f"{http}/health/ready")[0] == 200
        for name in ("", "cuihop_api.v1.ConceptGraphService"):
            assert health(channel, name) == SERVING
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=300)
        assert next(watch).status == SERVING
        running.expect_end()
        running.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        status, fields = readiness(f"{http}/health/ready")
        assert (status, fields["status"]) == (503, "stopping")
        assert readiness(f"{http}/health/live")[0] == 200


def test_both_transports_say_that_the_database_is_away(tmp_path: Path) -> None:
    flags = ("--index-folder", str(tmp_path))
    with program("bolt://127.0.0.1:1", tmp_path, *flags, NEO4J_PASSWORD="long-enough") as running:  # noqa: S106
        http = f"http://{running.http}"
        status, fields = readiness(f"{http}/health/ready")
        assert (status, fields["status"], fields["release"]) == (503, "unavailable", None)
        assert "127.0.0.1:1" in fields["trouble"]
        assert readiness(f"{http}/health/live")[0] == 200
        with grpc.insecure_channel(running.grpc) as channel:
            assert health(channel) == NOT_SERVING
        assert states(http)["unavailable"] == 1


def states(http: str) -> dict[str, float]:
    """Workers in each state, by the metrics."""
    text = urllib3.request("GET", f"{http}/metrics", timeout=300).data.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {sample.labels["state"]: sample.value for sample in families["cuihop_workers"].samples}


def questions(http: str) -> float:
    text = urllib3.request("GET", f"{http}/metrics", headers={"Connection": "close"}, timeout=300).data.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    if "cuihop_requests" not in families:
        return 0
    samples = families["cuihop_requests"].samples
    return sum(sample.value for sample in samples if sample.labels["operation"] == "distance")


@pytest.mark.slow
def test_two_workers_give_one_account_and_a_killed_one_takes_nothing_with_it(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "example.cuihop")
    with program(tmp_path / "example.cuihop", tmp_path, "--workers", "2") as running:
        http = f"http://{running.http}"
        wait_for(lambda: ready(http, 2))
        for number in range(1, 21):
            pool = urllib3.PoolManager(timeout=300)
            assert pool.request("GET", f"{http}/v1/distance?a=C0006121&b=C0018670").status == 200
            pool.clear()
            assert questions(http) == number
        os.kill(running.workers()[0], signal.SIGKILL)
        wait_for(lambda: ready(http, 1))
        assert questions(http) == 20
        wait_for(lambda: ready(http, 2))
        assert questions(http) == 20


def ready(http: str, workers: int) -> bool:
    """True where this number of workers is ready; False while none answers."""
    try:
        return states(http)["ready"] == workers
    except urllib3.exceptions.HTTPError:  # asked of the worker that was killed
        return False
