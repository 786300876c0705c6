"""Replicas that are killed, stopped, or lose their store, while callers ask through the proxies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cuihop_tools.neo4j_server import free_ports
from replica_callers import (
    Department,
    HttpCaller,
    Replica,
    activate,
    callers_of,
    load_by,
    release_digests,
    releases,
    running_cluster,
)
from waiting import wait_for


@pytest.mark.slow
def test_a_killed_replica_fails_no_request_and_is_asked_again_when_it_is_back(department: Department) -> None:
    first, second = department.cluster.replicas
    with load_by(callers_of(department.cluster, department.key)) as load:
        load.go_on()
        second.kill()
        load.go_on(20)
        second.start()
        wait_for(lambda: is_ready(second))
        load.go_on()
    assert load.wrong == []
    # Every request only reads: the proxies repeat those without an answer, but for calls of gRPC through nginx. If
    # the replica died within an answer, its caller has the beginning.
    others = [each for each in load.failures if not each.startswith("gRPC") and "IncompleteRead" not in each]
    assert others == []
    assert sum(load.failures.values()) <= len(load.digests)
    before = [requests_of(replica) for replica in (first, second)]

    def both_are_asked() -> bool:
        for proxy in department.cluster.proxies.values():
            caller = HttpCaller(proxy.http_port, department.key)
            caller.ask(0)
            caller.close()
        return all(requests_of(replica) > number for replica, number in zip((first, second), before, strict=True))

    wait_for(both_are_asked)


def is_ready(replica: Replica) -> bool:
    """True where the replica says that it can answer."""
    caller = HttpCaller(replica.http_port)
    try:
        return caller.send("/health/ready")[0] == 200
    finally:
        caller.close()


def requests_of(replica: Replica) -> int:
    """Requests for distances in the replica's log."""
    return (replica.folder / "log").read_text().count("distance")


@pytest.mark.slow
def test_a_stopped_replica_is_drained_without_a_failed_request(department: Department) -> None:
    second = department.cluster.replicas[1]
    assert second.program is not None
    with load_by(callers_of(department.cluster, department.key)) as load:
        load.go_on()
        assert second.program.stop(signal.SIGTERM) == 0
        load.go_on()
        second.start()
        load.go_on()
    assert load.wrong == []
    # nginx passes calls on for a moment after the replica has said that it stops; cuihop's client repeats them.
    others = {
        each: n for each, n in load.failures.items() if "gRPC through nginx" not in each or "CANCELLED" not in each
    }
    assert others == {}
    assert sum(load.failures.values()) <= 1


@pytest.mark.slow
def test_a_replica_without_a_release_is_passed_over_and_one_that_lost_its_file_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "graph.cuihop"
    activate(releases()[0], store)
    nowhere = f"bolt://127.0.0.1:{free_ports(1)[0]}"
    replicas = [
        Replica(store, tmp_path / "1", ("--watch-seconds", "0.1")),
        Replica(nowhere, tmp_path / "2", ("--watch-seconds", "0.1"), {"NEO4J_PASSWORD": os.urandom(8).hex()}),
    ]
    with running_cluster(replicas, tmp_path) as cluster:
        ready = [HttpCaller(replica.http_port) for replica in replicas]
        assert [caller.send("/health/ready")[0] for caller in ready] == [200, 503]
        with load_by(callers_of(cluster)) as load:
            load.go_on()
        assert {failure for failure in load.failures if "HTTP" in failure} == set()
        assert load.wrong == []
        store.unlink()
        wait_for(lambda: ready[0].send("/health/ready")[2]["status"] == "degraded")
        assert ready[0].send("/health/ready")[0] == 200
        through = HttpCaller(cluster.proxies["haproxy"].http_port)
        assert through.ask(0)[0] == release_digests()[0]
        for caller in (*ready, through):
            caller.close()
