"""Keys, scopes, rates and names, asked for over HTTP and gRPC."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest

from cuihop.errors import InputError, OutputError
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.addresses import check_exposure
from cuihop_service.admission import Observers, RequestInfo, RequestOutcome
from cuihop_service.callers import Rate
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Rates
from cuihop_service.http_api.application import metrics_route
from cuihop_service.observe.metrics import Metrics
from cuihop_service.settings import read_settings
from example_graph import NAMES, RETIRED, example_graph
from guarded_service import DISTANCE, A, B, bearer, guard_of, http, key_file, new_key_in, refused, stub
from neo4j_server import typed_graph

DISTANCE_PATH = f"/v1/distance?a={A}&b={B}"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def service(keys: Path) -> Iterator[RunningService]:
    new_key_in(keys, "first")
    with running_service(example_graph(), guard=ConfiguredGuard(key_file(keys))) as running:
        yield running


def test_without_a_valid_key_nobody_is_answered(service: RunningService, keys: Path) -> None:
    stranger = new_key_in(keys.with_name("other.json"), "stranger")
    expired = new_key_in(keys, "late", days=1e-9)
    with stub(service) as grpc_stub:
        for credentials in (
            None,
            "",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "Bearer x",
            f"Bearer {stranger}",
            f"Bearer {expired}",
        ):
            headers = {} if credentials is None else {"Authorization": credentials}
            for path, body in ((DISTANCE_PATH, None), ("/v1/distances", {"pairs": [[A, B]]}), ("/v1/release", None)):
                answer = http(service, path, body, **headers)
                assert (answer.status, answer.json["reason"]) == (401, "NOT_AUTHENTICATED"), (credentials, path)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
            metadata = () if credentials is None else (("authorization", credentials),)
            status = refused(partial(grpc_stub.Distance, DISTANCE, metadata=metadata))
            assert status[:2] == (grpc.StatusCode.UNAUTHENTICATED, "NOT_AUTHENTICATED"), credentials
    assert http(service, "/health/live").status == 200


def test_with_a_key_both_transports_answer(service: RunningService, keys: Path) -> None:
    key = new_key_in(keys, "atlas")
    assert http(service, DISTANCE_PATH, key=key).json["hops"] == 3
    assert http(service, DISTANCE_PATH, authorization=f"bearer  {key} ").json["hops"] == 3
    assert http(service, "/v1/distances", {"pairs": [[A, B]]}, key=key).json["hops"] == [3]
    with stub(service) as grpc_stub:
        assert grpc_stub.Distance(DISTANCE, metadata=bearer(key)).hops == 3


def test_a_revoked_key_is_refused_within_seconds(service: RunningService, keys: Path) -> None:
    key = new_key_in(keys, "brief")
    assert http(service, DISTANCE_PATH, key=key).status == 200
    content = json.loads(keys.read_text())
    content["keys"] = [record for record in content["keys"] if record["name"] != "brief"]
    keys.write_text(json.dumps(content))
    assert http(service, DISTANCE_PATH, key=key).status == 401


def test_a_revoked_key_ends_its_streams(service: RunningService, keys: Path) -> None:
    key = new_key_in(keys, "brief")
    line = json.dumps({"pairs": [[A, B]]}).encode() + b"\n"
    head = b"POST /v1/distances/stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    head += f"Authorization: Bearer {key}\r\n\r\n".encode()
    piece = b"%x\r\n%s\r\n" % (len(line), line)
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(head + piece)
        got = b""
        while b'"hops":[3]' not in got:
            got += connection.recv(5000)
        keys.write_text('{"version": 1, "keys": []}')
        connection.sendall(piece)
        assert b"NOT_AUTHENTICATED" in connection.recv(5000)
    with stub(service) as grpc_stub:

        def batches() -> Iterator[pb.StreamDistancesRequest]:
            yield pb.StreamDistancesRequest(batch=pb.DistancesRequest(pairs=[pb.ConceptPair(a=A, b=B)]))

        stream = partial(next, grpc_stub.StreamDistances(batches(), metadata=bearer(key)))
        assert refused(stream)[0] == grpc.StatusCode.UNAUTHENTICATED


def test_a_key_without_the_scope_is_told_which_one(service: RunningService, keys: Path) -> None:
    reader, named, gauge = (new_key_in(keys, scope, scope) for scope in ("read", "names", "metrics"))
    for key, path, status in (
        (reader, "/v1/search?text=brain", 403),
        (gauge, DISTANCE_PATH, 403),
        (named, DISTANCE_PATH, 403),
        (named, "/v1/search?text=brain", 200),
    ):
        answer = http(service, path, key=key)
        assert answer.status == status, (path, answer.body)
        if status == 403:
            assert answer.json["reason"] == "NOT_ALLOWED"
            assert "scope" in answer.json["detail"]
    with stub(service) as grpc_stub:
        code, reason, _ = refused(lambda: grpc_stub.Search(pb.SearchRequest(text="brain"), metadata=bearer(reader)))
        assert (code, reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED")


def test_a_strangers_body_is_not_read(service: RunningService) -> None:
    head = (
        b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(head)
        assert b" 401 " in connection.recv(100)


def test_rates_are_told_with_the_time_to_wait(keys: Path) -> None:
    slow = new_key_in(keys, "slow", rate=Rate(requests=0.2, burst=3))
    small = new_key_in(keys, "small", rate=Rate(pairs=10))
    other = new_key_in(keys, "other")
    guard = ConfiguredGuard(key_file(keys), rates=Rates(Rate()))
    with running_service(example_graph(), guard=guard) as service, stub(service) as grpc_stub:
        assert grpc_stub.Distance(DISTANCE, metadata=bearer(slow)).hops == 3
        assert [http(service, DISTANCE_PATH, key=slow).status for _ in range(3)] == [200, 200, 429]
        answer = http(service, DISTANCE_PATH, key=slow)
        assert answer.json["reason"] == "RATE_LIMITED"
        assert 3 < answer.json["retry_after"] <= 5
        assert 4 <= int(answer.headers["Retry-After"]) <= 5
        code, reason, details = refused(lambda: grpc_stub.Distance(DISTANCE, metadata=bearer(slow)))
        assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        wait = details["RetryInfo"].retry_delay
        assert 3 < wait.seconds + wait.nanos / 1e9 <= 5
        batch = {"pairs": [[A, B]] * 6}
        assert http(service, "/v1/distances", batch, key=small).status == 200
        assert http(service, "/v1/distances", batch, key=small).status == 429
        too_large = http(service, "/v1/distances", {"pairs": [[A, B]] * 11}, key=small)
        assert (too_large.status, too_large.json["reason"]) == (413, "LIMIT_EXCEEDED")
        assert http(service, DISTANCE_PATH, key=other).status == 200


def test_many_failures_from_one_address_are_limited_and_valid_keys_are_not(keys: Path) -> None:
    key = new_key_in(keys, "atlas")
    guard = ConfiguredGuard(key_file(keys), clock=lambda: 0.0)  # nothing is forgiven meanwhile
    with running_service(example_graph(), guard=guard) as service:
        statuses = [http(service, DISTANCE_PATH, key="wrong").status for _ in range(60)]
        assert statuses == [401] * 50 + [429] * 10
        with stub(service) as grpc_stub:
            code, _, details = refused(lambda: grpc_stub.Distance(DISTANCE, metadata=bearer("wrong")))
            assert code == grpc.StatusCode.RESOURCE_EXHAUSTED  # the same address, over the other transport
            assert "RetryInfo" in details
        assert http(service, DISTANCE_PATH, key=key).status == 200


def test_metrics_have_the_same_bound_on_failures(keys: Path, tmp_path: Path) -> None:
    key, gauge = new_key_in(keys, "atlas"), new_key_in(keys, "gauge", "metrics")
    metrics = Metrics()
    audit = AuditLog(str(tmp_path / "audit"))
    guard = ConfiguredGuard(key_file(keys), limits=AddressLimits(address_failures=5), clock=lambda: 0.0)
    observer, routes = Observers(metrics, audit), [metrics_route(metrics)]
    with running_service(example_graph(), guard=guard, observer=observer, more_routes=routes) as service:
        statuses = [http(service, "/metrics", key="wrong").status for _ in range(7)]
        assert statuses == [401] * 5 + [429] * 2
        assert http(service, DISTANCE_PATH, key="wrong").status == 429  # the same count
        assert http(service, "/metrics", key=key).status == 403
        assert http(service, "/metrics", key=gauge).status == 200
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert {line["peer"] for line in lines if line["operation"] == "metrics"} == {"127.0.0.1"}


def test_definitions_reach_only_who_may_see_names(keys: Path) -> None:
    named, unnamed = new_key_in(keys, "named", "read", "names"), new_key_in(keys, "unnamed", "read")
    first = {"sab": "MSH", "text": 'The "first" of Ménière, 1861.'}
    with running_service(typed_graph(), guard=ConfiguredGuard(key_file(keys))) as service:
        concept = http(service, "/v1/concept?cui=C0000001", key=named).json
        assert concept["definitions"] == [first, {"sab": "NCI", "text": "The first."}]
        answer = http(service, "/v1/concept?cui=C0000001", key=unnamed)
        assert (answer.json["definitions"], answer.json["names_hidden"]) == ([], True)
        assert b"first" not in answer.body
        with stub(service) as grpc_stub:
            request = pb.GetConceptRequest(cuis=["C0000001"])
            (described,) = grpc_stub.GetConcept(request, metadata=bearer(named)).concepts
            assert [(d.sab, d.text) for d in described.definitions] == [tuple(first.values()), ("NCI", "The first.")]
            (described,) = grpc_stub.GetConcept(request, metadata=bearer(unnamed)).concepts
            assert not described.definitions
            assert [kind.tui for kind in described.semantic_types] == ["T047"]


def test_names_reach_nobody_where_they_are_hidden(keys: Path) -> None:
    key = new_key_in(keys, "all", "read", "names", "metrics")
    unnamed = new_key_in(keys, "unnamed", "read")
    for key_text, names in ((key, False), (unnamed, True)):
        with running_service(example_graph(), guard=ConfiguredGuard(key_file(keys)), names=names) as service:
            sent: list[bytes] = []
            pairs = [[A, B], ["C0042449", "C0003483"]]
            for path, body in (
                (f"/v1/path?a={A}&b={B}", None),
                (f"/v1/concept?cui={A}", None),
                ("/v1/concept?cui=C9000902", None),
                ("/v1/concept?cui=Brain", None),
                ("/v1/concepts", {"cuis": sorted(NAMES)}),
                ("/v1/concepts", {"cuis": sorted(NAMES), "names_only": True}),
                ("/v1/search?text=bra", None),
                ("/v1/search?text=Aorta", None),
                (f"/v1/neighbourhood?cui={A}&hops=3", None),
                ("/v1/neighbourhoods", {"cuis": sorted(NAMES), "hops": None}),
                ("/v1/relevance", {"a": [A], "b": [B], "n": 3}),
                ("/v1/resolutions", {"cuis": [old for old, _, _ in RETIRED]}),
                ("/v1/distances", {"pairs": pairs}),
                ("/v1/pack", {"cuis": [A, B], "hops": 3}),
                ("/v1/release", None),
                ("/openapi.json", None),
                ("/health/ready", None),
            ):
                answer = http(service, path, body, key=key_text)
                assert answer.status in ((403,) if "search" in path else (200, 400, 410)), (path, answer.body)
                sent.append(b"" if path == "/openapi.json" else answer.body)
                sent.extend(value.encode() for value in answer.headers.values())
            with stub(service) as grpc_stub:
                metadata = bearer(key_text)
                sent.extend(
                    answer.SerializeToString()
                    for answer in (
                        grpc_stub.Path(pb.PathRequest(a=A, b=B), metadata=metadata),
                        grpc_stub.GetConcept(pb.GetConceptRequest(cuis=sorted(NAMES)), metadata=metadata),
                        grpc_stub.GetConcept(
                            pb.GetConceptRequest(cuis=sorted(NAMES), names_only=True), metadata=metadata
                        ),
                        grpc_stub.Neighbourhood(pb.NeighbourhoodRequest(cuis=[A], hops=3), metadata=metadata),
                        grpc_stub.Resolve(pb.ResolveRequest(cuis=[r[0] for r in RETIRED]), metadata=metadata),
                        grpc_stub.GetRelease(pb.GetReleaseRequest(), metadata=metadata),
                    )
                )
                search = partial(grpc_stub.Search, pb.SearchRequest(text="brain"), metadata=metadata)
                code, _, _ = refused(search)
                assert code == grpc.StatusCode.PERMISSION_DENIED
            everything = b"\n".join(sent)
            for name in {name for names_of in NAMES.values() for name in names_of} - {"Brain", "Aorta"}:
                assert name.encode() not in everything, name
            assert b'"Aorta"' not in everything


def test_the_audit_says_who_asked_what_sort_of_question(keys: Path, tmp_path: Path) -> None:
    key = new_key_in(keys, "atlas")
    short, full = tmp_path / "audit.jsonl", tmp_path / "full.jsonl"
    observer = Observers(AuditLog(str(short)), AuditLog(str(full), concepts=True))
    with running_service(example_graph(), guard=ConfiguredGuard(key_file(keys)), observer=observer) as service:
        http(service, DISTANCE_PATH, key=key, x_request_id="mine")
        http(service, "/v1/distances", {"pairs": [[A, B]] * 3}, key=key)
        http(service, "/v1/distances", {"pairs": [[A, "C9999999"]]}, key=key)
        http(service, "/v1/distances", {"pairs": []}, key="secret-looking")
        http(service, DISTANCE_PATH, key="secret-looking")
        line = b'{"sequence": 1, "pairs": [["C0006121", "C0018670"]]}\n'
        assert http(service, "/v1/distances/stream", line, key=key).json["hops"] == [3]
        with stub(service) as grpc_stub:
            grpc_stub.Distance(DISTANCE, metadata=bearer(key))
            grpc_stub.Distances(pb.DistancesRequest(pairs=[pb.ConceptPair(a=A, b=B)]), metadata=bearer(key))
            grpc_stub.Neighbourhood(pb.NeighbourhoodRequest(cuis=[A], hops=1), metadata=bearer(key))
        digest = service.holder.current.digest  # type: ignore[union-attr]
    lines = [json.loads(line) for line in short.read_text().splitlines()]
    assert [(line["transport"], line["operation"], line["size"], line["outcome"], line["tier"]) for line in lines] == [
        ("http", "distance", 1, "OK", "index"),
        ("http", "distances", 3, "OK", "index"),
        ("http", "distances", 1, "CONCEPT_NOT_FOUND", None),
        ("http", "unread", 1, "NOT_AUTHENTICATED", None),
        ("http", "distance", 1, "NOT_AUTHENTICATED", None),
        ("http", "stream_distances", 1, "OK", "index"),
        ("grpc", "distance", 1, "OK", "index"),
        ("grpc", "distances", 1, "OK", "index"),
        ("grpc", "neighbourhood", 1, "OK", "index"),
    ]
    assert lines[0]["request_id"] == "mine"
    assert {line["caller"] for line in lines} == {"atlas", None}
    assert {line["peer"] for line in lines} == {"127.0.0.1"}
    assert {line["release"] for line in lines if line["outcome"] == "OK"} == {digest}
    assert all(line["milliseconds"] > 0 for line in lines)
    text = short.read_text() + full.read_text()
    assert key.rpartition("_")[2] not in text
    assert "secret-looking" not in text
    assert A not in short.read_text()
    contents = [json.loads(line).get("request") for line in full.read_text().splitlines()]
    assert contents[0] == {"a": A, "b": B}
    assert contents[1]["pairs"] == [[A, B]] * 3
    assert contents[5]["pairs"] == [[A, B]]
    assert contents[6] == {"a": A, "b": B}
    assert short.stat().st_mode & 0o777 == 0o600


def test_the_audit_bears_being_moved_away_and_a_full_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "audit.jsonl"
    audit = AuditLog(str(path))
    outcome = RequestOutcome(RequestInfo("distance", "http"), None, 0.001, "OK")
    audit.finished(outcome, None)
    path.rename(tmp_path / "audit.1")
    audit._look_again = 0.0
    audit.finished(outcome, None)
    assert len(path.read_text().splitlines()) == 1
    audit.close()
    full = AuditLog("/dev/full")
    full.finished(outcome, None)
    full.finished(outcome, None)
    assert full.lost == 2
    assert caplog.text.count("cannot be written") == 1
    with pytest.raises(OutputError, match="audit"):
        AuditLog(str(tmp_path / "nowhere" / "audit"))


def test_an_observer_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        def started(self, info: RequestInfo) -> None:
            raise ZeroDivisionError

        finished = waiting = started

    with running_service(example_graph(), observer=Observers(Failing())) as service:  # type: ignore[arg-type]
        assert http(service, DISTANCE_PATH).json["hops"] == 3
    assert "an observer failed" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.1", "[::1]", "::ffff:127.0.0.1"])
def test_loopback_needs_nothing(host: str) -> None:
    assert check_exposure(host, False, False) is None


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104
        "::",
        "",
        "10.1.2.3",
        "localhost.example.org",
        "example.org",
        "::ffff:10.0.0.1",
    ],
)
def test_beyond_loopback_needs_authentication_and_better_tls(host: str) -> None:
    with pytest.raises(InputError, match="service keys create"):
        check_exposure(host, False, True)
    assert "TLS" in (check_exposure(host, True, False) or "")
    assert check_exposure(host, True, True) is None


def test_settings_that_make_no_sense_are_refused(keys: Path) -> None:
    store = {"graph": "none.cuihop"}
    assert not read_settings(store).authenticates
    with pytest.raises(InputError, match="all three"):
        read_settings({**store, "issuer": "https://idp.example"})
    with pytest.raises(InputError, match="password"):
        read_settings({**store, "cypher_user": "reader"})
    with pytest.raises(InputError, match="cannot be read"):
        guard_of(keys_file=keys)
    with pytest.raises(InputError, match="scope"):
        guard_of(certificate_scopes=["root"])
    with pytest.raises(InputError, match="rate"):
        guard_of(rate_requests=-1)
    hidden = "not to be shown"
    assert hidden not in repr(read_settings({**store, "cypher_user": "u", "cypher_password": hidden, "redis": hidden}))


def test_rates_hold_without_authentication_too() -> None:
    with running_service(example_graph(), guard=guard_of(rate_requests=0.1, rate_burst=2)) as service:
        assert [http(service, DISTANCE_PATH).status for _ in range(3)] == [200, 200, 429]
