"""Releases in the order of their activation: no caller gets an older one after a newer one, whoever answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest

from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop_api.v1 import concept_graph_pb2 as pb
from guarded_service import bearer, refused, stub
from replica_callers import (
    PAIR,
    PAIRS,
    Department,
    GrpcCaller,
    HttpCaller,
    LibraryCaller,
    Replica,
    activate,
    callers_of,
    copied,
    load_by,
    release_digests,
    releases,
    running_cluster,
    running_replicas,
)
from waiting import wait_for

DISTANCE = f"/v1/distance?a={PAIR[0]}&b={PAIR[1]}"


def served_by(port: int, key: str | None = None, **headers: str) -> str:
    """The release that a replica answers from."""
    caller = HttpCaller(port, key)
    status, _, body = caller.send(DISTANCE, **headers)
    caller.close()
    assert status == 200, body
    digest: str = body["release"]
    return digest


@pytest.mark.slow
def test_releases_are_switched_under_load_and_nobody_goes_back(department: Department) -> None:
    activate(releases()[0], department.store)
    order = [release_digests()[0]]
    with load_by(callers_of(department.cluster, department.key)) as load:
        for graph in (releases()[number] for number in (1, 2, 1, 0, 2)):  # back as well
            load.go_on()
            activate(graph, department.store)
            order.append(graph.release.digest)
            load.reach(graph.release.digest)
    assert load.failures == {}
    assert load.wrong == []
    assert load.out_of_order(order) == []
    assert {digest for digests in load.digests.values() for digest in digests} == set(release_digests())


def test_a_caller_without_the_header_gets_what_the_replica_has(department: Department) -> None:
    quick, slow = department.cluster.replicas
    activate(releases()[0], department.store)
    newest = HttpCaller(quick.http_port, department.key)
    wait_for(lambda: newest.send(DISTANCE)[2]["release"] == release_digests()[0])
    served_by(slow.http_port, department.key, **{ACTIVATION_HEADER: newest.seen or ""})
    activate(releases()[1], department.store)
    wait_for(lambda: newest.send(DISTANCE)[2]["release"] == release_digests()[1])
    assert served_by(slow.http_port, department.key) == release_digests()[0]  # for up to a minute
    assert newest.seen is not None
    assert served_by(slow.http_port, department.key, **{ACTIVATION_HEADER: newest.seen}) == release_digests()[1]
    newest.close()


@pytest.mark.slow
def test_a_replica_whose_own_file_is_behind_refuses_and_the_proxy_asks_the_other(tmp_path: Path) -> None:
    stores = [tmp_path / "1.cuihop", tmp_path / "2.cuihop"]
    activate(releases()[0], stores[0])
    copied(*stores)
    replicas = [Replica(store, tmp_path / store.stem, ("--watch-seconds", "0.1")) for store in stores]
    with running_cluster(replicas, tmp_path) as cluster:
        ahead, behind = (HttpCaller(replica.http_port) for replica in replicas)
        assert ahead.send(DISTANCE)[1][ACTIVATION_HEADER] == behind.send(DISTANCE)[1][ACTIVATION_HEADER]
        activate(releases()[1], stores[0])
        wait_for(lambda: ahead.send(DISTANCE)[2]["release"] == release_digests()[1])
        behind.seen = ahead.seen
        for path, body in ((DISTANCE, None), ("/v1/distances", {"pairs": [PAIR]}), ("/v1/release", None)):
            status, headers, problem = behind.send(path, body)
            assert (status, problem["reason"], headers["retry-after"]) == (503, "RELEASE_BEHIND", "1")
        assert "activation" in problem["detail"]
        with stub(replicas[1]) as service:
            request = pb.DistanceRequest(a=PAIR[0], b=PAIR[1])
            metadata = ((ACTIVATION_HEADER, ahead.seen or ""),)
            code, reason, details = refused(lambda: service.Distance(request, metadata=metadata))
        assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "RELEASE_BEHIND")
        assert details["RetryInfo"].retry_delay.seconds == 1
        for proxy in cluster.proxies.values():
            through = HttpCaller(proxy.http_port)
            through.seen = ahead.seen
            assert {through.ask(turn)[0] for turn in range(8)} == {release_digests()[1]}
            through.close()
        copied(*stores)
        wait_for(lambda: behind.send(DISTANCE)[0] == 200)
        assert behind.send(DISTANCE)[2]["release"] == release_digests()[1]
        # The same release once more, under another time: no caller of it is refused by the replica with the older time.
        activate(releases()[1], stores[0])
        before = ahead.seen
        wait_for(lambda: ahead.send(DISTANCE)[0] == 200 and ahead.seen != before)
        behind.seen = ahead.seen
        assert behind.send(DISTANCE)[0] == 200
        ahead.close()
        behind.close()


def test_the_workers_of_one_replica_keep_the_order_too(tmp_path: Path) -> None:
    store = tmp_path / "graph.cuihop"
    activate(releases()[0], store)
    alone = Replica(store, tmp_path / "own", ("--workers", "3", "--watch-seconds", "60"))
    with running_replicas([alone]):
        assert alone.program is not None
        wait_for(lambda: alone.program is not None and alone.program.ready_workers() == 3)
        callers: list[Any] = [HttpCaller(alone.http_port) for _ in range(12)]
        assert {caller.ask(0)[0] for caller in callers} == {release_digests()[0]}
        activate(releases()[1], store)
        # One of them has seen the new release, by whichever worker: it asks all the others.
        activation = f"{store.stat().st_mtime_ns}-{release_digests()[1][:16]}"
        callers += [GrpcCaller(alone.grpc_port) for _ in range(3)]
        for caller in callers:  # the 12 connections may have missed a worker
            caller.seen = activation
        assert {caller.ask(1)[0] for caller in callers} == {release_digests()[1]}
        for caller in callers:
            caller.close()


@pytest.mark.slow
def test_the_library_sends_what_it_has_seen(department: Department) -> None:
    quick, slow = department.cluster.replicas
    activate(releases()[2], department.store)
    for scheme, of_quick, of_slow in (
        ("http", quick.http_port, slow.http_port),
        ("grpc", quick.grpc_port, slow.grpc_port),
    ):
        caller = LibraryCaller(f"{scheme}://127.0.0.1:{of_quick}", department.key)
        wait_for(lambda caller=caller: caller.ask(0)[0] == release_digests()[2])  # type: ignore[misc]
        seen = caller._graph._connection.transport.seen
        assert seen.activation is not None
        assert seen.activation.digest == release_digests()[2][:16]
        other = LibraryCaller(f"{scheme}://127.0.0.1:{of_slow}", department.key)
        other._graph._connection.transport.seen.note(str(seen.activation))
        assert other.ask(0)[0] == release_digests()[2]
        for one in (caller, other):
            one.close()


def test_each_answer_of_a_stream_has_its_activation(department: Department) -> None:
    replica = department.cluster.replicas[0]
    caller = HttpCaller(replica.http_port, department.key)
    line = caller.send("/v1/distances/stream", {"pairs": PAIRS})[2]
    assert line["activation"] == caller.seen
    caller.close()
    pairs = [pb.ConceptPair(a=a, b=b) for a, b in PAIRS]
    batch = pb.StreamDistancesRequest(batch=pb.DistancesRequest(pairs=pairs))
    with stub(replica) as service:
        answers = service.StreamDistances(iter([batch, batch]), metadata=bearer(department.key))
        assert [answer.batch.provenance.activation for answer in answers] == [caller.seen] * 2
        assert dict(answers.trailing_metadata())[ACTIVATION_HEADER] == caller.seen


@pytest.mark.parametrize("given", ["", "x", "7", "-1-0123456789abcdef", "9999999999999999999-0123456789abcdef"])
def test_a_malformed_activation_is_an_error_of_the_caller(department: Department, given: str) -> None:
    replica = department.cluster.replicas[0]
    caller = HttpCaller(replica.http_port, department.key, orders=False)
    for path, body in ((DISTANCE, None), ("/v1/distances", {"pairs": [PAIR]})):
        status, _, problem = caller.send(path, body, **{ACTIVATION_HEADER: given})
        assert (status, problem["reason"], problem["field"]) == (400, "INVALID_INPUT", ACTIVATION_HEADER)
    caller.close()
    metadata = (*bearer(department.key), (ACTIVATION_HEADER, given))
    with stub(replica) as service:
        code, reason, _ = refused(lambda: service.GetRelease(pb.GetReleaseRequest(), metadata=metadata))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_INPUT")


def test_an_activation_that_no_store_has_delays_nobody_else(department: Department) -> None:
    """Anybody may send any number: the store is looked at, at most twenty times a second, and others are answered."""
    quick = department.cluster.replicas[0]
    far = f"8000000000000000000-{'0' * 16}"
    caller, other = (HttpCaller(quick.http_port, department.key) for _ in range(2))
    caller.seen = far
    for _ in range(3):
        assert caller.send(DISTANCE)[0] == 503
        assert other.send(DISTANCE)[0] == 200
    for proxy in department.cluster.proxies.values():
        through = HttpCaller(proxy.http_port, department.key)
        through.seen = far
        assert through.send(DISTANCE)[0] == 503
        through.seen = None
        assert all(through.send(DISTANCE)[0] == 200 for _ in range(4))
        through.close()
    caller.close()
    other.close()
