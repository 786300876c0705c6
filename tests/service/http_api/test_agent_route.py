"""``/mcp`` of the service: the official client over a real socket, behind keys, scopes, rates, limits and the audit."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_client import MODES, answer, calls, message, over_http
from cuihop.agents.arguments import MOST_ROWS
from cuihop.agents.tools import TOOLS
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission, Observer
from cuihop_service.callers import Rate
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.application import LOOPBACK_HOSTS
from cuihop_service.http_api.responder import Responder
from cuihop_service.limits import Limits
from cuihop_service.request_context import Cancelled
from cuihop_service.request_graph import RequestGraph
from example_graph import example_graph
from guarded_service import A, B, Reply, http, new_key_in
from served_program import program
from waiting import wait_for

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult

PATH: tuple[str, dict[str, Any]] = ("path", {"a": A, "b": B})
SEARCH: tuple[str, dict[str, Any]] = ("search", {"text": "brain"})
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = "application/json, text/event-stream"


def routes(core: ConceptService, admission: Admission) -> list[Any]:
    return list(agent_routes(Responder(core, admission)))


def posted(service: RunningService, body: Any, **options: Any) -> Reply:
    """A message without a client, in the protocol of 2025."""
    return http(service, "/mcp", body, Accept=ACCEPT, **options)


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph(), routes=routes, hosts=LOOPBACK_HOSTS) as running:
        yield running


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    new_key_in(path, "first")
    return path


def guarded(keys: Path, *, rates: Rates | None = None, observer: Observer | None = None, **options: Any) -> Any:
    """A service with keys."""
    guard = ConfiguredGuard(KeyFile(keys), rates=rates)
    return running_service(example_graph(), guard=guard, observer=observer, routes=routes, **options)


@pytest.mark.parametrize("mode", MODES)
def test_the_client_lists_and_calls_the_tools(mode: str, service: RunningService) -> None:
    async def use(client: Client) -> tuple[list[str], list[CallToolResult]]:
        listed = await client.list_tools()
        return [tool.name for tool in listed.tools], await calls(PATH, SEARCH, ("path", {"a": A}))(client)

    names, (path, search, missing) = over_http(service.http, use, mode=mode)
    assert names == list(TOOLS)
    assert (answer(path)["hops"], answer(path)["release_name"]) == (3, "example")
    assert answer(path)["release"] == example_graph().release.digest
    assert [hit["cui"] for hit in answer(search)["hits"]][:1] == ["C0006104"]
    assert message(missing) == "parameter b: missing; found nothing; expected identifier of a concept"


def test_without_a_key_nobody_is_answered(keys: Path) -> None:
    key = new_key_in(keys, "agent", "read")
    with guarded(keys) as service:
        for headers in ({}, {"Authorization": "Bearer x"}):
            refused = posted(service, LIST, **headers)
            assert (refused.status, refused.json["reason"]) == (401, "NOT_AUTHENTICATED")
            assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert posted(service, LIST, key=key).status == 200
        (path,) = over_http(service.http, calls(PATH), key=key)
        assert answer(path)["hops"] == 3


def test_a_strangers_body_is_not_read(keys: Path) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n"
    with (
        guarded(keys) as service,
        socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection,
    ):
        connection.sendall(head)
        assert b" 401 " in connection.recv(100)


@pytest.mark.parametrize("mode", MODES)
def test_names_need_their_scope(mode: str, keys: Path) -> None:
    reader, gauge = new_key_in(keys, "reader", "read"), new_key_in(keys, "gauge", "metrics")
    with guarded(keys) as service:
        concept, path, search = over_http(
            service.http, calls(("concept", {"cui": A}), PATH, SEARCH), key=reader, mode=mode
        )
        assert answer(concept)["names_hidden"]
        assert (answer(concept)["name"], answer(concept)["synonyms"]) == (None, [])
        assert {row["name"] for row in answer(path)["path"]} == {None}
        assert message(search) == "the key of 'reader' lacks the scope 'names'"
        refused = posted(service, LIST, key=gauge)
        assert (refused.status, refused.json["reason"]) == (403, "NOT_ALLOWED")


def test_a_service_that_hides_names_hides_them_here_too() -> None:
    with running_service(example_graph(), routes=routes, names=False) as service:
        path, search = over_http(service.http, calls(PATH, SEARCH))
    assert answer(path)["names_hidden"]
    assert {row["name"] for row in answer(path)["path"]} == {None}
    assert "names are hidden here" in message(search)


def test_rates_count_calls_other_messages_and_pairs(keys: Path) -> None:
    slow = new_key_in(keys, "slow", "read", rate=Rate(requests=0.01, burst=3))
    few = new_key_in(keys, "few", "read", rate=Rate(pairs=10))
    with guarded(keys, rates=Rates(Rate())) as service:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "path", "arguments": PATH[1]}}
        assert posted(service, LIST, key=slow).status == 200
        assert [posted(service, call, key=slow).json["result"].get("isError", False) for _ in range(3)] == [
            False, False, True,
        ]  # fmt: skip
        refused = posted(service, LIST, key=slow)
        assert (refused.status, refused.json["reason"]) == (429, "RATE_LIMITED")
        assert int(refused.headers["Retry-After"]) > 0
        pairs = [{"a": A, "b": B}] * 8
        first, second = over_http(service.http, calls(*[("distances", {"pairs": pairs})] * 2), key=few)
        assert len(answer(first)["distances"]) == 8
        assert "few" in message(second) or "pairs" in message(second)


def test_the_audit_has_a_line_for_each_call(keys: Path, tmp_path: Path) -> None:
    key = new_key_in(keys, "agent", "read")
    short, full = tmp_path / "audit.jsonl", tmp_path / "full.jsonl"
    pairs = {"pairs": [{"a": A, "b": B}] * 3}
    for path, concepts, mode in ((short, False, MODES[0]), (full, True, MODES[-1])):
        audit = AuditLog(str(path), concepts=concepts)
        with guarded(keys, observer=audit) as service:
            posted(service, LIST)
            over_http(service.http, calls(("distances", pairs), SEARCH), key=key, mode=mode)
            lines = [json.loads(line) for line in path.read_text().splitlines()]
        audit.close()
        digest = example_graph().release.digest
        requests = [
            (line["caller"], line["transport"], line["operation"], line["size"], line["outcome"], line["tier"])
            for line in lines
            if line["operation"] != "agent_session"
        ]
        assert requests == [
            (None, "http", "unread", 1, "NOT_AUTHENTICATED", None),
            ("agent", "mcp", "distances", 3, "OK", "index"),
            ("agent", "mcp", "search", 1, "NOT_ALLOWED", None),
        ]
        assert {line["release"] for line in lines if line["operation"] == "distances"} == {digest}
        assert {line["outcome"] for line in lines if line["operation"] == "agent_session"} == {"OK"}
    assert A not in short.read_text()
    assert [json.loads(line).get("request") for line in full.read_text().splitlines() if '"distances"' in line] == [
        {**pairs, "direction": "any", "max_hops": None, "within_sabs": []}
    ]


def test_a_call_that_reaches_no_tool_is_admitted_before_it_is_answered(keys: Path, tmp_path: Path) -> None:
    key = new_key_in(keys, "agent", "read", rate=Rate(requests=0.01, burst=4))
    audit = AuditLog(str(tmp_path / "audit.jsonl"))

    with guarded(keys, observer=audit, rates=Rates(Rate())) as running:

        def call(name: str, arguments: dict[str, Any], **headers: str) -> Reply:
            params = {"name": name, "arguments": arguments}
            sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return posted(running, sent, key=key, **headers)

        unknown = call("erase", PATH[1])
        assert "no such tool" in unknown.json["result"]["content"][0]["text"]
        assert len(unknown.headers["X-Request-Id"]) == 32
        assert "missing" in call("path", {"a": A}).json["result"]["content"][0]["text"]
        assert call("path", PATH[1], Origin="http://evil.example").status == 403
        assert call("path", PATH[1]).json["result"]["structuredContent"]["hops"] == 3
        refused = call("erase", PATH[1])
        assert (refused.status, refused.json["reason"]) == (429, "RATE_LIMITED")
    audit.close()
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["caller"], line["operation"], line["outcome"]) for line in lines] == [
        ("agent", "agent_session", "INVALID_INPUT"),
        ("agent", "agent_session", "INVALID_INPUT"),
        ("agent", "agent_session", "INVALID_INPUT"),
        ("agent", "path", "OK"),
        ("agent", "agent_session", "RATE_LIMITED"),
    ]


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({"Content_Type": "application/json", "Origin": "http://evil.example"}, 403, "NOT_ALLOWED"),
        ({"Content_Type": "text/plain"}, 400, "INVALID_INPUT"),
    ],
)
def test_an_error_of_the_protocol_is_no_plain_text(
    headers: dict[str, str], status: int, reason: str, service: RunningService
) -> None:
    refused = http(service, "/mcp", json.dumps(LIST).encode(), **{"Accept": ACCEPT, **headers})
    assert (refused.status, refused.json["reason"]) == (status, reason)
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.headers["X-Request-Id"] == refused.json["request_id"]


def test_the_limits_of_the_service_hold() -> None:
    limits = Limits(pairs=2, hops=3, text=64, set_concepts=1, message_bytes=2048)
    with running_service(example_graph(), routes=routes, limits=limits) as service:
        pairs, hops, text, sets, within = over_http(
            service.http,
            calls(
                ("distances", {"pairs": [{"a": A, "b": B}] * 3, "max_hops": 1}),
                PATH,
                ("search", {"text": "x" * 65}),
                ("compare", {"a": [A, B], "b": [A]}),
                ("path", {"a": A, "b": B, "max_hops": 3}),
            ),
        )
        assert "too many pairs: found 3; this service allows 2" in message(pairs)
        assert "too many hops: found no bound; this service allows a bound of at most 3" in message(hops)
        assert "at most 64" in message(text)
        assert "too many set concepts: found 2; this service allows 1" in message(sets)
        assert answer(within)["hops"] == 3
        large = posted(service, {**LIST, "params": {"_meta": {"x": "x" * 2048}}})
        assert (large.status, large.json["reason"]) == (413, "LIMIT_EXCEEDED")


def test_an_address_with_many_wrong_keys_waits(keys: Path) -> None:
    guard = ConfiguredGuard(KeyFile(keys), limits=AddressLimits(address_failures=2), clock=lambda: 0.0)
    with running_service(example_graph(), guard=guard, routes=routes) as service:
        assert [posted(service, LIST, key="x").status for _ in range(3)] == [401, 401, 429]


def test_a_request_has_its_identifier(service: RunningService) -> None:
    assert posted(service, LIST, X_Request_Id="mine").headers["X-Request-Id"] == "mine"
    assert len(posted(service, LIST).headers["X-Request-Id"]) == 32


def test_a_message_is_smaller_than_other_bodies_may_be(service: RunningService) -> None:
    large = posted(service, {**LIST, "params": {"_meta": {"x": "x" * (1 << 20)}}})
    assert (large.status, large.json["reason"]) == (413, "LIMIT_EXCEEDED")
    assert "1,048,576 bytes" in large.json["detail"]


def test_the_deadline_of_a_request_holds(service: RunningService) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "path", "arguments": PATH[1]}}
    late = posted(service, call, X_Timeout_Seconds="0.0000001").json["result"]
    assert late["isError"]
    assert "took longer than allowed" in late["content"][0]["text"]
    refused = posted(service, LIST, X_Timeout_Seconds="soon")
    assert (refused.status, refused.json["reason"]) == (400, "INVALID_INPUT")


def test_pages_of_other_origins_and_other_names_are_refused(service: RunningService) -> None:
    own = f"http://127.0.0.1:{service.http_port}"
    assert posted(service, LIST, Origin=own).status == 200
    for origin in ("http://evil.example", "null", f"{own}.evil.example", "http://127.0.0.1:1"):
        assert posted(service, LIST, Origin=origin).status == 403, origin
    assert posted(service, LIST, Host="evil.example").status == 400


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_state_to_open_or_to_end(method: str, service: RunningService) -> None:
    refused = http(service, "/mcp", None if method == "GET" else LIST, method=method, Accept=ACCEPT)
    assert (refused.status, refused.headers["Allow"], refused.json["reason"]) == (405, "POST", "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_a_fault_is_logged_and_its_text_is_not_sent(
    version: str, service: RunningService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of a secret number")

    monkeypatch.setattr(RequestGraph, "path", fail)
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    params = {"name": "path", "arguments": PATH[1], "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP_Protocol_Version": version, "MCP_Method": "tools/call", "MCP_Name": "path"}
    failed = posted(service, call, **headers)
    assert failed.json["error"]["message"] == "a fault in cuihop; please report it"
    assert b"secret" not in failed.body
    assert "of a secret number" in caplog.text


def test_a_call_whose_caller_hangs_up_stops(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def wait(graph: RequestGraph, *_: object, **__: object) -> None:
        begun.set()
        try:
            while True:
                graph.context.check()
                stopped.wait(0.005)
        except Cancelled:
            stopped.set()
            raise

    monkeypatch.setattr(RequestGraph, "path", wait)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "path", "arguments": PATH[1]}}
    body = json.dumps(call).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {ACCEPT}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(head.encode() + body)
        assert begun.wait(300)  # a call whose caller hangs up before may never begin
    assert stopped.wait(60)
    wait_for(lambda: service.admission.running == 0)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"[" * 100_000, b"null", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b'{"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":[]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"path","arguments":{"a":"\\ud800","b":"x"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
        b'{"jsonrpc":"2.0","id":"' + b"9" * 10_000 + b'","method":"ping"}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [None, "2025-06-18", "2026-07-28", "1999-01-01"])
def test_malformed_messages_are_no_fault_of_the_service(
    body: bytes, version: str | None, service: RunningService
) -> None:
    headers = {"Content_Type": "application/json", "Accept": ACCEPT}
    if version is not None:
        headers["MCP_Protocol_Version"] = version
    assert http(service, "/mcp", body, method="POST", **headers).status < 500


def test_an_answer_comes_from_one_release() -> None:
    graph = example_graph()
    with running_service(graph, routes=routes) as service:

        async def use(client: Client) -> list[dict[str, Any]]:
            answers = []
            for place in range(40):
                release = type(graph).of([(A, f"C{place:07d}")], name=f"r{place}", identifiers="cui")
                service.holder.serve(ServedGraph(release.release, index=release))
                answers.append(answer(await client.call_tool("neighbourhood", {"cui": A})))
            return answers

        answers = over_http(service.http, use)
    assert [(a["release_name"], a["neighbours"][0]["cui"]) for a in answers] == [
        (f"r{place}", f"C{place:07d}") for place in range(40)
    ]


def test_several_workers_answer_one_client(tmp_path: Path) -> None:
    store = tmp_path / "graph.cuihop"
    example_graph().save(store)
    with program(store, tmp_path, "--mcp", "--workers", "2", "--index-folder", str(tmp_path)) as running:

        async def use(client: Client) -> list[int]:
            return [answer(await client.call_tool(*PATH))["hops"] for _ in range(20)]

        for mode in MODES:
            assert over_http(f"http://{running.http}", use, mode=mode) == [3] * 20
        assert "Traceback" not in running.log.read_text()


def test_the_setting_turns_it_off(tmp_path: Path) -> None:
    store = tmp_path / "graph.cuihop"
    example_graph().save(store)
    with program(store, tmp_path, "--no-mcp", "--index-folder", str(tmp_path), CUIHOP_MCP="true") as running:
        assert running.get("/mcp")["reason"] == "NO_SUCH_ROUTE"


def test_rows_are_bounded_here_too(service: RunningService) -> None:
    (around,) = over_http(service.http, calls(("neighbourhood", {"cui": A, "hops": 9})))
    assert len(answer(around)["neighbours"]) <= MOST_ROWS
