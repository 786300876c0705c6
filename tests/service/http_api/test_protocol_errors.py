"""Refusals of HTTP, below the application or in it, are problem documents; requested over bare sockets."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
import tomllib
import weakref
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from packaging.requirements import Requirement
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from cuihop_server import RunningService, running_service
from cuihop_service.callers import Rate
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Rates
from cuihop_service.http_api.bounded_protocol import BoundedHttp
from cuihop_service.limits import Limits
from example_graph import example_graph
from guarded_service import A, B, http, key_file, new_key_in
from waiting import wait_for

PATH = f"/v1/distance?a={A}&b={B}".encode()
ROUTE = f"/v1/path?a={A}&b={B}".encode()
HOST = b"Host: localhost\r\n"


class Hurried(BoundedHttp):
    """The protocol with shorter times, so that a test need not wait."""

    head_seconds = 0.5
    body_seconds = 0.5


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cuihop_service.servers.BoundedHttp", Hurried)
        limits = AddressLimits(connections=64, address_connections=8)
        with running_service(
            example_graph(), hosts=("localhost",), address_limits=limits, limits=Limits(message_bytes=4096)
        ) as running:
            yield running


def answers(service: RunningService, sent: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """All answers on one connection: status, headers, body."""
    got = b""
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        try:
            connection.sendall(sent)
            while piece := connection.recv(65536):
                got += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
    found = []
    while got:
        head, _, rest = got.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        size = int(headers["content-length"])
        found.append((int(first.split()[1]), headers, rest[:size]))
        got = rest[size:]
    return found


def check_problem(status: int, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """The document, which has the fields of all others."""
    assert headers["content-type"] == "application/problem+json", (status, body)
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    document: dict[str, Any] = json.loads(body)
    assert document["status"] == status
    assert document["type"] == f"urn:cuihop:{document['reason']}"
    assert set(document) >= {"title", "detail", "request_id"}
    assert document["request_id"]
    return document


REFUSED = {
    "no request": (400, b"nonsense\r\n\r\n"),
    "TLS to a plain port": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "a line feed in a header": (400, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST + b"X: a\nb\x00\r\n\r\n"),
    "an invalid path": (400, b"GET http://[::1/x HTTP/1.1\r\n" + HOST + b"\r\n"),
    "no host": (400, b"GET " + PATH + b" HTTP/1.1\r\n\r\n"),
    "two hosts": (400, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST + HOST + b"\r\n"),
    "two different hosts": (400, b"GET " + ROUTE + b" HTTP/1.1\r\n" + HOST + b"Host: elsewhere\r\n\r\n"),
    "another host": (400, b"GET " + PATH + b" HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n"),
    "HTTP/2.0": (505, b"GET " + PATH + b" HTTP/2.0\r\n" + HOST + b"\r\n"),
    "HTTP/0.9": (505, b"GET " + PATH + b" HTTP/0.9\r\n" + HOST + b"\r\n"),
    "HTTP/1.2": (400, b"GET " + PATH + b" HTTP/1.2\r\n" + HOST + b"\r\n"),
    "the preface of HTTP/2": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "many headers": (431, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 101 + b"\r\n"),
    "a large header": (431, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 66_000 + b"\r\n\r\n"),
    "a slow head": (408, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST),
    "a slow body": (
        408,
        b"POST /v1/distances HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ),
    "two lengths": (400, b"POST /v1/distances HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
    "an invalid chunk": (
        400,
        b"POST /v1/distances HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    ),
    "a large body": (
        413,
        b"POST /v1/distances HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: 5000\r\n\r\n" + b"x" * 5_000,
    ),
    "no such route": (404, b"GET /nothing HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"),
    "a method that is not for it": (405, b"DELETE " + PATH + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"),
    "a tunnel": (400, b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"),
    "all of it": (404, b"OPTIONS * HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_a_problem_document(service: RunningService, name: str) -> None:
    expected, sent = REFUSED[name]
    ((status, headers, body),) = answers(service, sent)
    assert status == expected, body
    check_problem(status, headers, body)
    assert headers["connection"] == "close"


def test_too_many_connections_get_a_problem_document(service: RunningService) -> None:
    held = [socket.create_connection(("127.0.0.1", service.http_port), timeout=300) for _ in range(9)]
    try:
        document = held[-1].recv(65536)
        assert document.startswith(b"HTTP/1.1 503 ")
        head, _, body = document.partition(b"\r\n\r\n")
        assert b"application/problem+json" in head
        assert json.loads(body)["reason"] == "GRAPH_UNAVAILABLE"
        assert json.loads(body)["status"] == 503
    finally:
        for connection in held:
            connection.close()
        wait_for(lambda: http(service, PATH.decode()).status != 503)


def test_the_answer_before_a_malformed_request_is_given(service: RunningService) -> None:
    good = b"GET " + ROUTE + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    ((status, _, body),) = answers(service, good + b"nonsense\r\n\r\n")
    assert status == 200
    assert json.loads(body)["hops"] == 3


def test_a_request_of_http_1_0_needs_no_host_where_any_is_answered() -> None:
    with running_service(example_graph()) as service:
        for path in (PATH, ROUTE):
            ((status, _, body),) = answers(service, b"GET " + path + b" HTTP/1.0\r\n\r\n")
            assert status == 200, body


def test_an_upgrade_to_what_is_not_spoken_is_answered_as_it_stands(service: RunningService) -> None:
    upgrade = b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n"
    ((status, _, body), *_) = answers(service, b"GET " + PATH + b" HTTP/1.1\r\n" + HOST + upgrade)
    assert status == 200
    assert json.loads(body)["hops"] == 3


# Streams of batches


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[RunningService, Path]]:
    keys = tmp_path / "keys.json"
    new_key_in(keys, "first")
    with running_service(example_graph(), guard=ConfiguredGuard(key_file(keys), rates=Rates(Rate()))) as running:
        yield running, keys


def test_a_stream_of_who_may_not_is_refused_before_its_first_line(guarded: tuple[RunningService, Path]) -> None:
    service, keys = guarded
    key = new_key_in(keys, "gauge", "metrics")
    head = f"POST /v1/distances/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")  # and no line
        got = b""
        while b"request_id" not in got:
            got += connection.recv(65536)
    assert got.startswith(b"HTTP/1.1 403 ")
    assert b"application/problem+json" in got
    assert b'"NOT_ALLOWED"' in got


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        (b'{"pairs": [["C0006121", "C0018670"]]}', 429, "RATE_LIMITED"),
        (b"nonsense", 400, "INVALID_INPUT"),
    ],
)
def test_what_is_wrong_with_the_first_line_is_the_status(
    guarded: tuple[RunningService, Path], line: bytes, status: int, reason: str
) -> None:
    service, keys = guarded
    key = new_key_in(keys, "slow", rate=Rate(requests=0.01, burst=1))
    assert http(service, PATH.decode(), key=key).status == 200
    answer = http(service, "/v1/distances/stream", line + b"\n", key=key)
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["reason"] == reason
    assert ("Retry-After" in answer.headers) == (status == 429)


def test_an_answer_begins_within_a_second_where_no_line_comes(guarded: tuple[RunningService, Path]) -> None:
    service, keys = guarded
    key = new_key_in(keys, "patient")
    head = f"POST /v1/distances/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    line = b'{"pairs": [["C0006121", "C0018670"]]}\n'
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(line), line))
        assert b'"hops":[3]' in connection.recv(65536)


@pytest.mark.parametrize("path", [PATH, ROUTE])
def test_nothing_is_kept_of_a_connection_that_its_caller_resets(service: RunningService, path: bytes) -> None:
    """Not until the time for another request on it is over, either: that is a minute and more."""
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        own = connection.getsockname()
        (kept,) = [weakref.ref(each) for each in gc.get_objects() if isinstance(each, Hurried) and each.client == own]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def is_gone() -> bool:
        gc.collect()
        return kept() is None

    wait_for(is_gone, Hurried.answer_seconds / 2)


def test_uvicorn_has_the_private_attributes_that_the_protocol_uses() -> None:
    config = uvicorn.Config(FastAPI(), http="httptools", ws="none", lifespan="off", log_config=None)

    async def uvicorns_own() -> HttpToolsProtocol:
        own = HttpToolsProtocol(config=config, server_state=ServerState(), app_state={})
        own.on_message_begin()
        return own

    protocol = asyncio.run(uvicorns_own())
    for name in ("loop", "parser", "flow", "transport", "client", "scope", "headers", "url", "cycle", "server_state"):
        assert hasattr(protocol, name), name
    for name in ("_unset_keepalive_if_required", "on_response_complete", "pause_writing", "resume_writing"):
        assert callable(getattr(protocol, name)), name
    cycle = RequestResponseCycle.__init__.__code__.co_names
    assert {"response_complete", "response_started", "keep_alive"} <= set(cycle)
    assert STATUS_LINE[200].startswith(b"HTTP/1.1 200")
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (bound,) = [line for line in project["optional-dependencies"]["service"] if line.startswith("uvicorn")]
    tried = Requirement(bound).specifier.contains(version("uvicorn"))
    assert tried, f"uvicorn {version('uvicorn')} is newer than {bound}: run these tests with it, and raise the bound"
