"""Keys and rates over two replicas, and TLS at the proxies."""

from __future__ import annotations

import http.client
import ssl

import grpc
import pytest

from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_service.guard.key_file import changed_keys
from guarded_service import refused
from proxies import PROXIES
from replica_callers import PAIR, PAIRS, Department, HttpCaller
from waiting import wait_for

DISTANCE = f"/v1/distance?a={PAIR[0]}&b={PAIR[1]}"


@pytest.mark.parametrize("name", PROXIES)
def test_one_key_opens_all_replicas_and_no_key_none(department: Department, name: str) -> None:
    proxy = department.cluster.proxies[name]
    caller = HttpCaller(proxy.http_port, department.key)
    assert [caller.send(DISTANCE)[0] for _ in range(4)] == [200] * 4
    caller.key = None
    for body in (None, {"pairs": PAIRS}):
        status, headers, problem = caller.send("/v1/distances" if body else DISTANCE, body)
        assert (status, problem["reason"]) == (401, "NOT_AUTHENTICATED")
        assert headers["www-authenticate"] == "Bearer"
    caller.close()
    with grpc.insecure_channel(f"127.0.0.1:{proxy.grpc_port}") as channel:
        from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub

        service = ConceptGraphServiceStub(channel)
        for _ in range(2):
            assert refused(lambda: service.GetRelease(pb.GetReleaseRequest()))[:2] == (
                grpc.StatusCode.UNAUTHENTICATED,
                "NOT_AUTHENTICATED",
            )


def test_a_revoked_key_is_refused_by_all_replicas_within_seconds(department: Department) -> None:
    key = department.new_key("leaked")
    caller = HttpCaller(department.cluster.proxies["haproxy"].http_port, key)
    wait_for(lambda: [caller.send(DISTANCE)[0] for _ in range(4)] == [200] * 4)
    with changed_keys(department.keys) as keys:
        keys[:] = [stored for stored in keys if stored.name != "leaked"]
    wait_for(lambda: [caller.send(DISTANCE)[0] for _ in range(6)] == [401] * 6)
    caller.close()


def wait_until_accepted(port: int, key: str) -> None:
    """Wait until a replica has read the file with the key: a request, which counts as a pair."""
    caller = HttpCaller(port, key)
    wait_for(lambda: caller.send("/v1/release")[0] == 200)
    caller.close()


def test_a_rate_holds_over_both_replicas_together_and_in_each_alone_while_redis_is_down(
    department: Department,
) -> None:
    pairs = [PAIR] * 99  # ten times within 1,000, also after the two requests before
    counted = department.new_key("counted", pairs=1000)
    alone = department.new_key("alone", pairs=1000)
    for replica in department.cluster.replicas:
        for key in (counted, alone):
            wait_until_accepted(replica.http_port, key)

    def answers(key: str) -> list[int]:
        caller = HttpCaller(department.cluster.proxies["haproxy"].http_port, key)
        found = [caller.send("/v1/distances", {"pairs": pairs})[0] for _ in range(26)]
        caller.close()
        return found

    together = answers(counted)
    assert set(together) == {200, 429}
    assert 10 <= together.count(200) <= 12  # and what fills up meanwhile
    department.redis.kill()
    try:
        each = answers(alone)
        assert set(each) == {200, 429}
        assert 20 <= each.count(200) <= 24
    finally:
        department.redis.start()


@pytest.mark.parametrize("name", PROXIES)
def test_tls_ends_at_the_proxy(department: Department, name: str) -> None:
    proxy = department.cluster.proxies[name]
    context = ssl.create_default_context(cafile=str(proxy.authority))
    connection = http.client.HTTPSConnection("localhost", proxy.https_port, context=context, timeout=300)
    headers = {"Authorization": f"Bearer {department.key}", "X-Request-Id": f"mine-{name}"}
    connection.request("GET", DISTANCE, headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["x-request-id"]) == (200, f"mine-{name}")
    assert answer.read()
    connection.request("GET", DISTANCE, headers=headers | {"X-Request-Id": ""})
    answer = connection.getresponse()
    answer.read()
    assert len(answer.headers["x-request-id"]) >= 20
    connection.request("GET", "/metrics", headers=headers)
    assert connection.getresponse().status == 404
    connection.close()
    settings = RemoteSettings(f"grpcs://localhost:{proxy.grpcs_port}", key=department.key, ca_file=proxy.authority)
    with RemoteGraph(settings) as graph:
        assert graph.distances(PAIRS)[2] == 0


def test_no_log_of_a_proxy_has_a_concept_or_a_key(department: Department) -> None:
    for proxy in department.cluster.proxies.values():
        caller = HttpCaller(proxy.http_port, department.key)
        caller.send(DISTANCE, **{"X-Request-Id": "looked-for"})
        caller.close()
        files = [proxy.log, *proxy.log.parent.glob("*.log")]
        wait_for(lambda: any("looked-for" in file.read_text() for file in files))  # noqa: B023 - called here
        text = "".join(file.read_text() for file in files)
        assert PAIR[0] not in text
        assert department.key[-20:] not in text
