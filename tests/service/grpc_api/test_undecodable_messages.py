"""Bytes that are no message: refused without a trace in the log, after their sender was looked at."""

from __future__ import annotations

import io
import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.observe.logs import configure_logs
from example_graph import example_graph
from guarded_service import DISTANCE, bearer, new_key_in, raw, refused


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


def bare(service: RunningService, path: str, *messages: bytes, key: str | None = None, **options: Any) -> list[bytes]:
    """The answers of a service to bytes."""
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        call = channel.stream_stream(path, request_serializer=bytes, response_deserializer=bytes)
        metadata = () if key is None else bearer(key)
        return list(call(iter(messages), metadata=metadata, timeout=60, **options))


RPCS = [
    f"/{service.full_name}/{method.name}"
    for service in (pb.DESCRIPTOR.services_by_name["ConceptGraphService"],)
    for method in service.methods
] + ["/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"]


@pytest.mark.parametrize("path", RPCS)
def test_what_is_no_message_is_an_invalid_argument(
    service: RunningService, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, reason, details = refused(lambda: bare(service, path, b"\xff" * 100))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_INPUT")
    assert details["ErrorInfo"].metadata["found"] == "100 bytes"
    assert not [record for record in caplog.records if record.exc_info]


def test_who_sends_it_is_looked_at_first(tmp_path: Path) -> None:
    key = new_key_in(tmp_path / "keys.json", "atlas")
    with running_service(example_graph(), guard=ConfiguredGuard(KeyFile(tmp_path / "keys.json"))) as service:
        for path in RPCS[:12]:
            for messages in ((b"\xff" * 100,), ()):
                assert refused(lambda: bare(service, path, *messages))[0] == grpc.StatusCode.UNAUTHENTICATED  # noqa: B023
            assert refused(lambda: bare(service, path, b"\xff", key=key))[1] == "INVALID_INPUT"  # noqa: B023
        assert bare(service, RPCS[0], DISTANCE.SerializeToString(), key=key)


def test_a_message_that_never_comes_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuihop_service.grpc_api.guarded_handlers.MESSAGE_SECONDS", 0.3)
    monkeypatch.setattr("cuihop_service.grpc_api.guarded_handlers.PAUSE_SECONDS", 0.6)
    with running_service(example_graph()) as service:
        over = threading.Event()

        def nothing() -> Iterator[bytes]:
            over.wait(60)
            yield b""

        try:
            for path in (RPCS[0], "/cuihop_api.v1.ConceptGraphService/StreamDistances"):
                with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
                    call = channel.stream_stream(path, request_serializer=bytes, response_deserializer=bytes)
                    begun = time.monotonic()
                    assert refused(lambda: list(call(nothing(), timeout=30)))[1] == "TIMED_OUT"  # noqa: B023
                    assert time.monotonic() - begun < 10
        finally:
            over.set()


def test_no_stranger_fills_the_log(root_log: io.StringIO) -> None:
    with running_service(example_graph()) as service:
        for _ in range(100):
            raw(service, b"nonsense\r\n\r\n")
            refused(lambda: bare(service, RPCS[0], b"\xff" * 100))
    lines = root_log.getvalue().splitlines()
    assert lines
    assert len(lines) < 100
    assert not [line for line in lines if "Traceback" in line or "exception" in line]
    assert all(json.loads(line)["logger"] in ("cuihop.connections", "cuihop.service") for line in lines)


@pytest.fixture
def root_log() -> Iterator[io.StringIO]:
    """The log of the service, as it is written."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    stream = io.StringIO()
    configure_logs("json", stream)
    yield stream
    logger.handlers[:], logger.level = handlers, level
    logging.captureWarnings(False)
