"""Common parts of the guard's tests: a service with keys, and plain clients of both transports."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, cast

import grpc
import urllib3
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_service.callers import Rate
from cuihop_service.guard.api_keys import new_key
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile, changed_keys
from cuihop_service.settings import read_settings
from cuihop_service.worker import configured_guard

A, B = "C0006121", "C0018670"


def new_key_in(file: Path, name: str, *scopes: str, rate: Rate | None = None, days: float | None = None) -> str:
    """A new key, stored in the file."""
    text, stored = new_key(name, scopes or ("read",), now=datetime.now(UTC), days=days, rate=rate)
    with changed_keys(file) as keys:
        keys.append(stored)
    return text


def guard_of(**settings: Any) -> ConfiguredGuard:
    """The guard of a service with these settings."""
    return configured_guard(read_settings({"graph": "none.cuihop", **settings}))


def key_file(path: Path) -> KeyFile:
    """The keys of a file, which is looked at for every request, not once a second."""
    return KeyFile(path, clock=count(0.0, 2.0).__next__)


@dataclass
class Reply:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def http(
    service: Any, path: str, body: Any = None, *, key: str | None = None, method: str | None = None, **headers: str
) -> Reply:
    """Ask over HTTP. A body that is no bytes goes as JSON."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if key is not None:
        given["Authorization"] = f"Bearer {key}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        given.setdefault("Content-Type", "application/json")
    with urllib3.PoolManager(retries=False, timeout=300) as pool:
        answer = pool.request(
            method or ("GET" if body is None else "POST"), service.http + path, body=body, headers=given
        )
        return Reply(answer.status, answer.headers, answer.data)


@contextmanager
def stub(service: Any, credentials: grpc.ChannelCredentials | None = None) -> Iterator[pb_grpc.ConceptGraphServiceStub]:
    """The contract's client."""
    address = f"localhost:{service.grpc_port}"
    opened = grpc.insecure_channel(address) if credentials is None else grpc.secure_channel(address, credentials)
    with opened as channel:
        yield pb_grpc.ConceptGraphServiceStub(channel)


def refused(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str, dict[str, Any]]:
    """The status, reason and details of a call that fails."""
    try:
        call()
    except grpc.RpcError as error:
        status = rpc_status.from_call(cast(grpc.Call, error))
        details: dict[str, Any] = {}
        for detail in () if status is None else status.details:
            for kind in (error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo):
                if detail.Is(kind.DESCRIPTOR):
                    details[kind.DESCRIPTOR.name] = unpacked = kind()
                    detail.Unpack(unpacked)
        reason = details["ErrorInfo"].reason if "ErrorInfo" in details else ""
        return cast(grpc.Call, error).code(), reason, details
    raise AssertionError("the call succeeded")


def bearer(key: str) -> tuple[tuple[str, str], ...]:
    """Metadata with a key or a token."""
    return (("authorization", f"Bearer {key}"),)


DISTANCE = pb.DistanceRequest(a=A, b=B)


def raw(service: Any, sent: bytes, *, seconds: float = 20.0, context: ssl.SSLContext | None = None) -> bytes:
    """Bytes received on a plain connection, until it ends."""
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=seconds) as plain:
        connection = plain if context is None else context.wrap_socket(plain, server_hostname="localhost")
        connection.sendall(sent)
        got = b""
        try:
            while piece := connection.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got
