"""Features of HTTP alone: caching, problem documents, compression, streams of lines, the OpenAPI document."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from cuihop.operations import table
from cuihop_server import RunningService, running_service
from cuihop_service.http_api.application import application
from cuihop_service.http_api.models import AnswerBody, ProblemBody, answer_model
from cuihop_service.http_api.openapi import completed
from cuihop_service.http_api.quick_distance import plain_head, plain_query
from cuihop_service.http_api.responder import until_gone
from cuihop_service.limits import Limits
from cuihop_service.request_context import Cancelled
from example_graph import UNKNOWN, example_graph

PAIR = ["C0006121", "C0018670"]
PATH = "/v1/distance?a=C0006121&b=C0018670"


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph(), limits=Limits(message_bytes=100_000)) as running:
        yield running


class Caller:
    """Plain requests."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._pool = urllib3.PoolManager(retries=False, timeout=300)

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._pool.request("GET", self._base + path, headers=named, decode_content=False)

    def post(self, path: str, body: bytes | object, **headers: str) -> urllib3.BaseHTTPResponse:
        named = {"content-type": "application/json"} | {n.replace("_", "-"): value for n, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._pool.request("POST", self._base + path, body=data, headers=named, decode_content=False)

    def close(self) -> None:
        self._pool.clear()


@pytest.fixture(scope="module")
def call(service: RunningService) -> Iterator[Caller]:
    plain_caller = Caller(service.http)
    yield plain_caller
    plain_caller.close()


def problem(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    content: dict[str, Any] = json.loads(response.data)
    assert content["status"] == response.status
    assert content["type"] == f"urn:cuihop:{content['reason']}"
    return content


def test_an_answer_can_be_kept_and_asked_again(call: Caller) -> None:
    first = call.get(PATH)
    assert first.headers["cache-control"] == "private, no-cache"
    again = call.get(PATH, if_none_match=first.headers["etag"])
    assert (again.status, again.data, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = call.get("/v1/distance?a=C0006121&b=C0006104", if_none_match=first.headers["etag"])
    assert other.status == 200
    assert other.headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize(
    "query",
    [
        "a=C0006121&b=C0018670",
        "a=C0006121&b=C0018670&direction=up&max_hops=2",
        "a=C0006121&b=C0018670&max_hops=2&direction=up",
        "a=C9000901&b=C0018670&direction=down",
        "direction=down&b=C0018670&a=C9000901",
        f"a=C0006121&b={UNKNOWN}",
        "a=brain&b=C9000902",
        "a=C9000903&b=C0006121",
    ],
)
def test_the_short_way_gives_the_answers_of_the_documented_route(call: Caller, query: str) -> None:
    short = call.get(f"/v1/distance?{query}", x_request_id="same")
    documented = call.get(f"/v1/distance?{query.replace('a=', '%61=', 1)}", x_request_id="same")
    assert (short.status, short.data) == (documented.status, documented.data)
    tag = short.headers.get("etag")
    assert {n.lower(): v for n, v in short.headers.items() if n != "etag"} == {
        n.lower(): v for n, v in documented.headers.items() if n != "etag"
    }
    if tag is not None:
        assert call.get(f"/v1/distance?{query}", if_none_match=tag).status == 304


async def status_by_asgi(app: ASGIApp, query: bytes = b"", batch: bytes | None = None) -> int:
    """Status of the answer of an application without its server, to a distance or to a batch."""
    sent: list[MutableMapping[str, Any]] = []
    method, path = ("GET", "/v1/distance") if batch is None else ("POST", "/v1/distances")
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
             "path": path, "raw_path": path.encode(), "root_path": "", "query_string": query,
             "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)}  # fmt: skip

    async def receive() -> Message:
        if batch is not None and not sent:
            return {"type": "http.request", "body": batch}
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


def test_plain_distances_reach_no_route_on_any_server(service: RunningService) -> None:
    app = application(service.core, service.admission)
    app.router.routes[:] = [Route("/v1/distance", lambda request: Response(status_code=418))]
    pair = b"a=C0006121&b=C0018670"
    for query in (pair, pair + b"&direction=up", pair + b"&max_hops=3", pair + b"&direction=any&max_hops=1"):
        assert asyncio.run(status_by_asgi(app, query)) == 200
    assert asyncio.run(status_by_asgi(app, b"%61=C0006121&b=C0018670")) == 418


def test_plain_batches_reach_no_route_on_any_server(service: RunningService) -> None:
    app = application(service.core, service.admission)
    app.router.routes[:] = [Route("/v1/distances", lambda request: Response(status_code=418), methods=["POST"])]
    plain = b'{"pairs":[["C0006121","C0018670"]],"max_hops":3}'
    assert asyncio.run(status_by_asgi(app, batch=plain)) == 200
    for other in (b'{"max_hops":3}', plain.replace(b"C0006121", b"vein"), plain.replace(b":3", b":-3"), b"[]"):
        assert asyncio.run(status_by_asgi(app, batch=other)) == 418
    assert asyncio.run(status_by_asgi(app, b"x=1", plain)) == 418


@pytest.mark.parametrize(
    "query",
    ["a=C001&a=C002&b=C003", "a=C001", "a=C001&b=C002&c=3", "a=C001&b=", "a=C001&b=C002&max_hops=x", "a=C%3101&b=C002",
     "a=C001&b=C002&release=0", "a=C001&b=C002&max_hops=9999999999", "a=C001&b=C002&max_hops=\u00b2",
     "a=C001&b=C002&direction=sideways", "", "&", "a=C001&b=C002&", "a=C001&b=C\u00b2", "a=heart&b=C002",
     "a=T3&b=C002"],
)  # fmt: skip
def test_only_plain_querys_take_the_short_way(query: str) -> None:
    assert plain_query(query) is None


@pytest.mark.parametrize(
    "more",
    [(b"if-none-match", b'W/"x"'), (b"x-timeout-seconds", b"1"), (b"traceparent", b"00-x"), (b"origin", b"http://a")],
)
def test_heads_that_say_more_are_left_to_the_documented_route(more: tuple[bytes, bytes]) -> None:
    head = [(b"host", b"localhost:80"), (b"user-agent", b"x"), (b"authorization", b"Bearer k"), (b"x-request-id", b"7")]
    assert plain_head(head, [b"localhost"]) == ("Bearer k", "7", None)
    assert plain_head([*head, more], [b"localhost"]) is None
    for twice in (head[0], head[2], head[3]):
        assert plain_head([*head, twice], [b"localhost"]) is None


@pytest.mark.parametrize("host", [b"elsewhere", b"localhost.elsewhere", b"localhost:80:90", b"", b"[::2]:80"])
def test_other_hosts_are_left_to_who_refuses_them(host: bytes) -> None:
    hosts = [b"localhost", b"[::1]"]
    assert plain_head([(b"host", host)], hosts) is None
    assert plain_head([], hosts) is None
    assert plain_head([(b"host", host)], [b"*"]) is not None
    for mine in (b"localhost", b"localhost:8080", b"[::1]", b"[::1]:8080"):
        assert plain_head([(b"host", mine)], hosts) is not None


def test_the_short_way_and_the_documented_one_answer_alike(call: Caller) -> None:
    short, long = call.get(PATH, x_request_id="7"), call.get(PATH, x_request_id="7", x_timeout_seconds="9")
    assert short.data == long.data
    assert sorted(short.headers.items()) == sorted(long.headers.items())


def test_an_answer_of_a_named_release_never_changes(call: Caller) -> None:
    digest = example_graph().release.digest
    first_answer = call.get(f"{PATH}&release={digest}")
    assert first_answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    content = problem(call.get(f"{PATH}&release={'0' * 64}"))
    assert (content["status"], content["reason"]) == (409, "RELEASE_MISMATCH")
    assert digest in content["detail"]
    assert problem(call.get(f"{PATH}&release=latest"))["field"] == "release"


def test_another_release_has_other_tags(call: Caller) -> None:
    from cuihop import SnapshotGraph

    with running_service(SnapshotGraph.of([("C0006121", "C0018670")], identifiers="cui")) as other:
        there = Caller(other.http)
        response = there.get(PATH, if_none_match=call.get(PATH).headers["etag"])
        assert (response.status, json.loads(response.data)["hops"]) == (200, 1)
        there.close()


@pytest.mark.parametrize(
    ("path", "field", "found", "expected"),
    [
        ("/v1/distance?a=C0006121", "b", None, None),
        (PATH + "&max_hops=-1", "max_hops", '"-1"', "at least 0"),
        (PATH + "&max_hops=99999999999", "max_hops", '"99999999999"', "at most 2147483647"),
        (PATH + "&max_hops=two", "max_hops", '"two"', "a whole number"),
        (PATH + "&direction=sideways", "direction", '"sideways"', "any, up, down or vertical"),
        ("/v1/neighbourhood?cui=C0006121&hops=1.5", "hops", '"1.5"', "a whole number"),
        ("/v1/search?text=a&limit=x", "limit", '"x"', "a whole number"),
    ],
)
def test_a_parameter_at_fault_is_named(
    call: Caller, path: str, field: str, found: str | None, expected: str | None
) -> None:
    content = problem(call.get(path))
    assert (content["status"], content["reason"], content["field"], content["found"]) == (
        400,
        "INVALID_INPUT",
        field,
        found,
    )
    assert content["expected"] is None if expected is None else expected in content["expected"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"\xff\xfe", "body"),
        ({"pairs": [["C0006121"]]}, "pairs.0.1"),
        ({"pairs": [["C0006121", 7]]}, "pairs.0.1"),
        ({"pairs": [[*PAIR, "C0006104"]]}, "pairs.0"),
        ({"pairs": "C0006121"}, "pairs"),
        ({"pairs": [PAIR], "max_hops": True}, "max_hops"),
        ({"pairs": [PAIR], "max_hops": 1.0}, "max_hops"),
        ({"pairs": [PAIR], "direction": None}, "direction"),
        ({"pairs": [PAIR], "hops": 3}, "hops"),
        (b'{"pairs": [["\\ud800", "C0006121"]]}', "pairs.0.0"),
    ],
)
def test_a_body_at_fault_is_told_by_its_field(call: Caller, body: bytes | object, field: str) -> None:
    content = problem(call.post("/v1/distances", body))
    assert (content["status"], content["reason"]) == (400, "INVALID_INPUT")
    assert content["field"] == field


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/v1/distances", {"pairs": [["C0006121", 7]]}, 'pairs.0.1: not valid; found 7; expected a text, as in "…"'),
        ("/v1/distances", {"pairs": [{"a": None}]}, 'found {"a": null}; expected a list, as in ["…", "…"]'),
        ("/v1/distances", {"pairs": [["a", "b", "c"]]}, "expected at most 2 items"),
        ("/v1/distances", {"pairs": [PAIR], "direction": "left"}, 'found "left"; expected any, up, down or vertical'),
        ("/v1/distances", {"pairs": [PAIR], "max_hops": 1.5}, "found 1.5; expected a whole number"),
        ("/v1/distances", {"pairs": [PAIR], "max_hops": -1}, "found -1; expected at least 0"),
        ("/v1/distances", {"pairs": [PAIR], "directon": "up"}, "no such field; expected pairs, direction, max_hops, "
         "within_sabs. Did you mean direction?"),
        ("/v1/concepts", {"identifiers": PAIR}, "expected cuis, names_only, within_sabs. Did you mean cuis?"),
        ("/v1/annotate", {"texts": [], "options": {"candidate": True}}, "Did you mean candidates?"),
        ("/v1/distances", b"{", "the body is not JSON; found Expecting property name"),
        ("/v1/relevance", {"a": PAIR, "b": PAIR, "lambda": "much"}, 'found "much"; expected a number'),
        ("/v1/search?q=brain", None, "expected text, limit, code_sabs, release. Did you mean text?"),
        ("/v1/distance?from=C0006121&to=C0018670", None, "Did you mean a?"),
    ],
)  # fmt: skip
def test_faults_of_a_request_are_in_plain_words(call: Caller, path: str, body: bytes | object, text: str) -> None:
    content = problem(call.get(path) if body is None else call.post(path, body))
    assert text in content["detail"]
    assert not re.search(r"Input should|Extra inputs|(found|expected) [b']|None", content["detail"])


def test_a_body_of_another_type_is_told_the_header(call: Caller) -> None:
    content = problem(call.post("/v1/distances", b"a=C0006121", content_type="application/x-www-form-urlencoded"))
    assert content["detail"].endswith("Send JSON, with the header Content-Type: application/json.")
    assert content["found"] == "a=C0006121"


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/distnce", "/nothing"])
def test_a_path_without_a_route_leads_to_the_documentation(call: Caller, path: str) -> None:
    content = problem(call.get(path))
    assert (content["status"], content["reason"]) == (404, "NO_SUCH_ROUTE")
    assert content["detail"].endswith("See /openapi.json.")  # these tests serve no pages
    assert ("Did you mean /v1/distance?" in content["detail"]) == (path == "/v1/distnce")


@pytest.mark.parametrize("path", [PATH, "/v1/search?text=brain", "/v1/release", "/openapi.json", "/v1/no"])
def test_head_is_answered_as_get_is_without_the_body(service: RunningService, call: Caller, path: str) -> None:
    got = call.get(path, x_request_id="7")
    headers = {"x-request-id": "7", "accept-encoding": "identity"}
    with urllib3.PoolManager(retries=False) as pool:
        head = pool.request("HEAD", service.http + path, headers=headers)
    assert (head.status, head.data) == (got.status, b"")
    assert {n: v for n, v in head.headers.items() if n != "date"} == {
        n: v for n, v in got.headers.items() if n != "date"
    }


def test_a_lambda_out_of_its_range(call: Caller) -> None:
    for lam in ("-0.1", "1.1", "NaN", "Infinity", '"a"'):
        body = f'{{"a": ["C0042449"], "b": ["C0005847"], "lambda": {lam}}}'.encode()
        assert problem(call.post("/v1/relevance", body))["field"] in ("lambda", "body")


def test_each_status_has_its_problem_document(call: Caller) -> None:
    content = problem(call.get(f"/v1/distance?a=C9000903&b={UNKNOWN}"))
    assert (content["status"], content["title"]) == (410, "Concept retired")
    assert content["faults"] == [
        {"cui": "C9000903", "status": "retired", "candidates": [{"relation": "RB", "cui": "C0005847"}]}
    ]
    assert problem(call.get(f"/v1/distance?a=C0006121&b={UNKNOWN}"))["status"] == 404
    assert problem(call.get("/v1/nothing"))["reason"] == "NO_SUCH_ROUTE"
    refused = call.get("/v1/distances")
    assert problem(refused)["reason"] == "METHOD_NOT_ALLOWED"
    assert refused.headers["allow"] == "POST"


def test_the_request_id_is_the_callers_where_it_is_harmless(call: Caller) -> None:
    assert call.get(PATH, x_request_id="my-request").headers["x-request-id"] == "my-request"
    assert problem(call.get("/v1/distance", x_request_id="my-request"))["request_id"] == "my-request"
    for bad in ("x" * 200, "tab\there", "ümlaut"):
        plain_caller = call.get(PATH, x_request_id=bad).headers["x-request-id"]
        assert plain_caller != bad
        assert len(plain_caller) == 32


def test_large_answers_are_compressed_for_who_accepts_it(call: Caller) -> None:
    body = {"pairs": [PAIR] * 2_000}
    packed = call.post("/v1/distances", body, accept_encoding="gzip")
    plain = call.post("/v1/distances", body, accept_encoding="identity")
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.data) < len(plain.data) / 10
    assert gzip.decompress(packed.data) == plain.data
    assert "content-encoding" not in call.get(PATH, accept_encoding="gzip").headers


def test_packed_bodies_are_understood_within_the_limit(call: Caller) -> None:
    body = json.dumps({"pairs": [PAIR]}).encode()
    assert json.loads(call.post("/v1/distances", gzip.compress(body), content_encoding="gzip").data)["hops"] == [3]
    for bad, status, detail in (
        (gzip.compress(body)[:-9], 400, "its end is missing"),
        (body, 400, "the body is not gzip"),
        (gzip.compress(b" " * 50_000_000), 413, "allows 100,000 bytes"),
        (b"", 400, "its end is missing"),
    ):
        found = problem(call.post("/v1/distances", bad, content_encoding="gzip"))
        assert found["status"] == status
        assert detail in found["detail"]
    stream = call.post("/v1/distances/stream", gzip.compress(body), content_encoding="gzip")
    assert "expected identity" in json.loads(stream.data)["detail"]
    assert "gzip or identity" in problem(call.post("/v1/distances", body, content_encoding="br"))["detail"]


def test_a_body_that_is_too_large(call: Caller) -> None:
    assert problem(call.post("/v1/distances", b" " * 100_001))["reason"] == "LIMIT_EXCEEDED"


def test_a_stream_of_lines_is_answered_line_by_line(service: RunningService) -> None:
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(
            b"POST /v1/distances/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            b"Accept-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        stream = connection.makefile("rb")

        def send(text: bytes) -> None:
            connection.sendall(f"{len(text):x}\r\n".encode() + text + b"\r\n")

        def line() -> dict[str, Any]:
            size = int(stream.readline(), 16)
            content: dict[str, Any] = json.loads(stream.read(size))
            stream.readline()
            return content

        send(b'{"sequence": 1, "pairs": [["C0006121", "C0018670"]]}\n')
        assert stream.readline().startswith(b"HTTP/1.1 200")
        while stream.readline().strip():
            pass
        assert (first := line())["hops"] == [3]
        assert first["sequence"] == 1
        send(b'{"sequence": 2, "pairs": [["C0006121", "C00')  # half a line waits for its end
        send(b'18670"]], "max_hops": 2}\n\n')
        assert line()["hops"] == [None]
        send(b'{"pairs": [["C0006121", "' + UNKNOWN.encode() + b'"]]}\n')
        content = line()
        assert (content["reason"], content["status"], content["faults"][0]["cui"]) == (
            "CONCEPT_NOT_FOUND",
            404,
            UNKNOWN,
        )
        assert stream.readline() == b"0\r\n"  # the end


@pytest.mark.parametrize(
    ("lines", "answered", "detail"),
    [
        (b'{"pairs": []}', 1, None),
        (b"", 0, None),
        (b'{"pairs": []}\n[]\n', 1, "line 2"),
        (b'{"pairs": []}\nnonsense', 1, "line 2"),
        (b"x" * 100_002, 0, "line is too long"),
    ],
)
def test_ends_of_streams(call: Caller, lines: bytes, answered: int, detail: str | None) -> None:
    response = call.post("/v1/distances/stream", lines, content_type="application/x-ndjson")
    found = [json.loads(line) for line in response.data.splitlines()]
    refused = detail is not None and not answered  # what is wrong with the first line is the status of the answer
    assert response.headers["content-type"] == ("application/problem+json" if refused else "application/x-ndjson")
    assert response.status == (found[-1]["status"] if refused else 200)
    assert [("hops" in line) for line in found[:answered]] == [True] * answered
    assert len(found) == answered + (detail is not None)
    if detail is not None:
        assert found[-1]["status"] in (400, 413)
        assert detail in found[-1]["detail"]


@pytest.mark.slow
def test_the_openapi_document_is_valid_and_tells_every_operation(call: Caller) -> None:
    document = json.loads(call.get("/openapi.json").data)
    OpenAPIV31SpecValidator(document).validate()
    assert set(document["paths"]) == {
        "/v1/distance", "/v1/distances", "/v1/distances/stream", "/v1/path", "/v1/neighbourhood", "/v1/neighbourhoods",
        "/v1/pack", "/v1/relevance", "/v1/relevances", "/v1/search", "/v1/concept", "/v1/concepts", "/v1/resolutions",
        "/v1/annotate", "/v1/release", "/v1/similarity", "/v1/similarities", "/v1/pair-similarities", "/v1/placements",
        "/v1/hierarchy", "/v1/paths", "/v1/similarity-scale", "/v1/codes", "/v1/code-maps",
    }  # fmt: skip
    assert [o["operationId"] for each in document["paths"].values() for o in each.values() if "x-grpc" not in o] == [
        "stream_distances", "neighbourhood", "similarity", "concept"
    ]  # fmt: skip
    assert document["paths"]["/v1/distance"]["get"]["operationId"] == "distance"
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert document["security"] == [{"bearer": []}, {}]
    assert [server["url"] for server in document["servers"]] == ["."]
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation.get("description")
            assert {"400", "401", "403", "404", "429", "503"} <= set(operation["responses"])
            assert "application/problem+json" in operation["responses"]["404"]["content"]


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/nothing"])
def test_others_are_answered_while_the_document_is_made(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answered = threading.Event(), threading.Event()

    def slowly(document: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        assert answered.wait(10)
        return completed(document)

    monkeypatch.setattr("cuihop_service.http_api.application.completed", slowly)
    with running_service(example_graph()) as running, ThreadPoolExecutor(1) as threads:
        first, other = Caller(running.http), Caller(running.http)
        made = threads.submit(first.get, path)
        assert begun.wait(60)
        assert other.get(PATH, x_timeout_seconds="5").status == 200
        answered.set()
        assert made.result().status == (200 if path == "/openapi.json" else 404)
        first.close()
        other.close()


def test_the_examples_of_the_document_are_answered(call: Caller) -> None:
    document = json.loads(call.get("/openapi.json").data)
    receptions = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path in (
                "/v1/distances/stream",
                "/v1/pack",
                "/v1/codes",
                "/v1/code-maps",
            ):  # the last two need a graph with codes
                continue
            if method == "get":
                given = {
                    p["name"]: p["schema"].get("examples", p.get("examples", ["brain"]))[0]
                    for p in operation.get("parameters", ())
                    if p["required"]
                }
                query = "&".join(f"{name}={value}" for name, value in given.items())
                assert call.get(f"{path}?{query}").status == 200
            else:
                name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
                schema = document["components"]["schemas"][name]
                needed = schema.get("required") or ["pairs"]
                body = {field: schema["properties"][field]["examples"][0] for field in needed}
                assert call.post(path, body).status == 200, path
            receptions += 1
    assert receptions == 20


def test_answers_are_as_the_document_says(call: Caller) -> None:
    got: list[tuple[str, table.Operation[Any, Any]]] = [
        (PATH, table.DISTANCE),
        ("/v1/path?a=C0006121&b=C0018670", table.PATH),
        ("/v1/path?a=C0006121&b=C9000004", table.PATH),
        ("/v1/paths?a=C9000011&b=C9000014", table.PATHS),
        ("/v1/paths?a=C0006121&b=C9000004", table.PATHS),
        ("/v1/similarity-scale?ic=Seco", table.SIMILARITY_SCALE),
        ("/v1/neighbourhood?cui=C0006121&hops=2", table.NEIGHBOURHOOD),
        ("/v1/search?text=brain", table.SEARCH),
        ("/v1/concept?cui=C0006121", table.CONCEPT),
        ("/v1/release", table.RELEASE),
    ]
    for path, operation in got:
        content = json.loads(call.get(path).data)
        model = answer_model(operation.answer, BaseModel if operation is table.RELEASE else AnswerBody)
        assert set(model.model_validate(content).model_dump(by_alias=True)) == set(content)
    posted: list[tuple[table.Operation[Any, Any], object]] = [
        (table.DISTANCES, {"pairs": [PAIR]}),
        (table.NEIGHBOURHOODS, {"cuis": PAIR}),
        (table.RELEVANCE, {"a": PAIR, "b": PAIR[:1]}),
        (table.RELEVANCES, {"query": PAIR, "corpus": [PAIR]}),
        (table.CONCEPTS, {"cuis": PAIR}),
        (table.RESOLUTIONS, {"cuis": PAIR}),
        (table.PACK, {"cuis": PAIR, "hops": 3}),
        (table.ANNOTATE, {"texts": ["a brain stem", ""]}),
    ]
    for operation, body in posted:
        content = json.loads(call.post(f"/v1{operation.path}", body).data)
        assert set(answer_model(operation.answer).model_validate(content).model_dump(by_alias=True)) == set(content)
    content = json.loads(call.get("/v1/distance").data)
    assert set(content) <= set(ProblemBody.model_validate(content).model_dump())


def test_pages_elsewhere_cannot_ask_through_a_browser() -> None:
    with running_service(example_graph(), hosts=("localhost", "127.0.0.1")) as running:
        there = Caller(running.http)
        assert there.get(PATH).status == 200
        assert there.get(PATH, host="evil.example").status == 400
        there.close()


def test_headers_that_every_answer_has(call: Caller) -> None:
    for path in (PATH, "/v1/nothing", "/openapi.json", "/health/live"):
        headers = call.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_states_of_health(service: RunningService, call: Caller) -> None:
    try:
        for state, status in (("ready", 200), ("degraded", 200), ("unavailable", 503), ("starting", 503)):
            service.holder.set_state(state, "a reason")  # type: ignore[arg-type]
            response = call.get("/health/ready")
            content = json.loads(response.data)
            assert (response.status, content["status"], content["trouble"]) == (status, state, "a reason")
            assert call.get("/health/live").status == 200
    finally:
        service.holder.set_state("ready")


def test_a_caller_who_hangs_up_is_no_fault_of_the_service() -> None:
    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def ask() -> None:
        await until_gone(Request({"type": "http"}, gone), asyncio.Event().wait())

    with pytest.raises(Cancelled):
        asyncio.run(ask())
