"""Promises of docs/security.md about what is open, whose address counts, and how long a connection may be idle."""

from __future__ import annotations

import json
import re
import socket
import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute, Route

from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.explorer import explorer_routes
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.application import application, metrics_route
from cuihop_service.http_api.bounded_protocol import BoundedHttp
from cuihop_service.http_api.responder import Responder
from cuihop_service.observe.metrics import Metrics
from example_graph import NAMES, example_graph
from guarded_service import A, B, http, key_file, new_key_in

OPEN = {"/health/live", "/health/ready", "/openapi.json"}
HEADERS_FRAME, SETTINGS_FRAME, END_HEADERS = 1, 4, 4
MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE = 3, 6


def every_route(core: ConceptService, admission: Admission) -> list[BaseRoute]:
    return [metrics_route(Metrics()), *explorer_routes(), *agent_routes(Responder(core, admission))]


def test_what_is_open_to_strangers_holds_no_name_and_no_distance_and_all_else_is_shut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applications = []

    def remembered(*arguments: Any, **options: Any) -> FastAPI:
        applications.append(application(*arguments, **options))
        return applications[-1]

    monkeypatch.setattr("cuihop_service.servers.application", remembered)
    new_key_in(tmp_path / "keys.json", "reader")
    guard = ConfiguredGuard(key_file(tmp_path / "keys.json"))
    pages = {route.path for route in explorer_routes()}
    names = [name.encode() for of_concept in NAMES.values() for name in of_concept]
    with running_service(example_graph(), guard=guard, routes=every_route) as service:
        paths = {route.path: set(route.methods or ()) for route in applications[0].routes if isinstance(route, Route)}
        assert paths.keys() > OPEN | pages
        documented = http(service, "/openapi.json").json["paths"]
        for path, methods in paths.items():
            for method in methods - {"HEAD"}:
                parameters = documented.get(path, {}).get(method.lower(), {}).get("parameters", ())
                required = {
                    one["name"]: one["schema"].get("examples", ["brain"])[0] for one in parameters if one["required"]
                }
                query = f"?{urlencode(required)}" if required else ""
                answer = http(service, path + query, {} if method == "POST" else None, method=method)
                if path in OPEN or path in pages:
                    assert answer.status != 401
                    assert not re.search(rb'"hops": ?[0-9]', answer.body)
                    assert path in pages or not any(name in answer.body for name in names)
                else:
                    assert answer.status == 401, path


def test_nobody_chooses_an_address_by_a_header(tmp_path: Path) -> None:
    keys, audit = tmp_path / "keys.json", AuditLog(str(tmp_path / "audit"))
    new_key_in(keys, "reader")
    guard = ConfiguredGuard(key_file(keys), clock=lambda: 0.0)
    with running_service(example_graph(), guard=guard, observer=audit) as service:
        statuses = [
            http(service, f"/v1/distance?a={A}&b={B}", key="wrong", X_Forwarded_For=f"203.0.113.{at}").status
            for at in range(60)
        ]
        assert statuses == [401] * 50 + [429] * 10
    assert {json.loads(line)["peer"] for line in (tmp_path / "audit").read_text().splitlines()} == {"127.0.0.1"}


def test_an_answer_that_nobody_takes_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hurried(BoundedHttp):
        answer_seconds = 0.5

    monkeypatch.setattr("cuihop_service.servers.BoundedHttp", Hurried)
    body = json.dumps({"cuis": ["x" * 500] * 10_000}).encode()
    head = "POST /v1/resolutions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with running_service(example_graph()) as service, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", service.http_port))
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while True:  # what is sent until the other end is gone; nothing is received
            try:
                connection.sendall(b" ")
            except OSError:
                break
        assert http(service, f"/v1/distance?a={A}&b={B}").json["hops"] == 3


def frame(kind: int, content: bytes, *, stream: int = 0, flags: int = 0) -> bytes:
    """A frame of HTTP/2."""
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def greeted(service: RunningService) -> socket.socket:
    """A connection to the gRPC port that has begun HTTP/2, and makes no call."""
    connection = socket.create_connection(("127.0.0.1", service.grpc_port), timeout=300)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS_FRAME, b""))
    return connection


def begun_call() -> bytes:
    """The head of a call whose message never comes."""
    head = {
        ":method": "POST", ":scheme": "http", ":path": "/cuihop_api.v1.ConceptGraphService/StreamDistances",
        ":authority": "x", "content-type": "application/grpc", "te": "trailers",
    }  # fmt: skip
    literal = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in head.items()
    )
    return frame(HEADERS_FRAME, literal, stream=1, flags=END_HEADERS)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["_IDLE_SECONDS", "_PING_SECONDS"])
def test_a_grpc_connection_without_a_call_or_an_answer_to_a_ping_is_ended(
    monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(f"cuihop_service.grpc_api.server.{bound}", 1)
    monkeypatch.setattr("cuihop_service.grpc_api.server._PONG_SECONDS", 1)
    with running_service(example_graph()) as service, greeted(service) as connection:
        connection.settimeout(30)
        if bound == "_PING_SECONDS":
            connection.sendall(frame(SETTINGS_FRAME, b"", flags=1) + begun_call())
        while connection.recv(65536):
            pass


def test_calls_and_metadata_of_a_grpc_connection_are_bounded() -> None:
    with running_service(example_graph()) as service, greeted(service) as connection:
        got = b""
        while len(got) < 9 or len(got) < 9 + int.from_bytes(got[:3], "big"):
            got += connection.recv(65536)
    assert got[3] == SETTINGS_FRAME
    pairs = dict(struct.iter_unpack(">HI", got[9 : 9 + int.from_bytes(got[:3], "big")]))
    assert pairs[MAX_CONCURRENT_STREAMS] == 1_000
    assert pairs[MAX_HEADER_LIST_SIZE] <= 16_384
