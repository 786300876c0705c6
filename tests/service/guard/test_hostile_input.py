"""Input of hostile clients over both transports: refused; the process goes on, and memory stays bounded."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest

from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.http_api.bounded_protocol import BoundedHttp
from cuihop_service.limits import Limits
from example_graph import example_graph
from guarded_service import DISTANCE, A, B, bearer, http, new_key_in, raw, refused, stub
from waiting import wait_for

MEBIBYTE = 1 << 20
GET = f"GET /v1/distance?a={A}&b={B} HTTP/1.1\r\nHost: x\r\n".encode()


@pytest.fixture
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running
        assert http(running, f"/v1/distance?a={A}&b={B}").json["hops"] == 3  # it still answers
        with stub(running) as grpc_stub:
            assert grpc_stub.Distance(DISTANCE).hops == 3


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def status_line(answer: bytes) -> bytes:
    return answer.partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "head",
    [
        GET + b"X-Bomb: " + b"x" * (4 * MEBIBYTE) + b"\r\n\r\n",
        GET + b"".join(b"X-%d: y\r\n" % i for i in range(5_000)) + b"\r\n",
        b"GET /" + b"x" * (4 * MEBIBYTE) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        GET + b"X-Endless: " + b"y" * (8 * MEBIBYTE),
        b"\r\n" * (2 * MEBIBYTE),
        b"x" * (4 * MEBIBYTE),
    ],
    ids=["one header", "many headers", "path", "a header without end", "empty lines", "no request"],
)
def test_a_head_that_is_too_large_ends_the_connection(service: RunningService, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        got = b""
        try:
            for first in range(0, len(head), 65536):
                connection.sendall(head[first : first + 65536])
            connection.shutdown(socket.SHUT_WR)
            got = connection.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent
    assert got == b"" or status_line(got).split()[1] in (b"400", b"431")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\x00/ HTTP/1.1\r\n\r\n",
        b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde",
        b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
    ],
)
def test_what_is_no_request_is_refused(service: RunningService, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        got = connection.recv(1000)
    assert got == b"" or status_line(got).split()[1][:1] in (b"4", b"5")
    assert b"200 OK" not in got


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../../etc/passwd",
        "/v1/%2e%2e/%2e%2e/etc/passwd",
        "/%00",
        "/v1/distance/..%2f..%2f",
        "//v1//distance",
        "/v1/distance?a=%FF%FE&b=C0018670",
        "/v1/distance?a=%00&b=C0018670",
        "/v1/distance?a=%ED%A0%80&b=C0018670",
        "/v1/concept?cui=../../etc/passwd",
        "/v1/concept?cui=' OR 1=1 --",
        "/v1/search?text=%ED%A0%80",
        "/v1/search?text=" + "x" * 2000,
        "/v1/distance?a=C0006121&b=C0018670&max_hops=-1",
        "/v1/distance?a=C0006121&b=C0018670&max_hops=" + "9" * 4000,
        "/v1/distance?a=C0006121&b=C0018670&direction=sideways",
    ],
)
def test_paths_and_parameters_out_of_order(service: RunningService, path: str) -> None:
    got = raw(service, f"GET {path.replace(' ', '%20')} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    status = int(status_line(got).split()[1])
    assert 400 <= status < 500 or (status == 200 and "/v1/search?text=%ED" in path)
    assert b"root:" not in got
    assert b"Traceback" not in got


NINE_MILLION = 9 * MEBIBYTE


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"[" * NINE_MILLION,
        b'{"pairs":' * 200_000,
        b'{"pairs": [' + b"1," * 4_000_000 + b"1]}",
        b'{"pairs": [' + b"[]," * 2_000_000 + b"[]]}",
        b'{"pairs": [' + b'["C0006121"],' * 500_000 + b"[]]}",
        b'{"pairs": [' + b'["C0006121","C0018670"],' * 400_000 + b'["C0006121","C0018670"]]}',
        b"{" + b",".join(b'"f%d":1' % i for i in range(500_000)) + b"}",
        b'{"pairs": ' + b"9" * 2_000_000 + b"}",
        b'{"pairs": "' + b"x" * NINE_MILLION + b'"}',
        b'{"pairs": [["' + b"x" * NINE_MILLION + b'", "C0018670"]]}',
        b'{"pairs": [["\\ud800", "C0018670"]]}',
        b'\xff\xfe{"pairs": []}',
        b'{"pairs": [], "max_hops": 1e999}',
        b'{"pairs": [], "max_hops": NaN}',
        b"",
        b"null",
    ],
    ids=["deep list", "deep object", "numbers", "empty lists", "short pairs", "too many pairs", "fields", "number",
         "text", "long identifier", "half a character", "not UTF-8", "infinite", "NaN", "nothing", "null"],
)  # fmt: skip
def test_bodies_out_of_order(service: RunningService, body: bytes) -> None:
    before = peak()
    answer = http(service, "/v1/distances", body, Content_Type="application/json")
    assert 400 <= answer.status < 500, answer.body[:500]
    assert answer.json["reason"]
    assert len(answer.body) < 5_000
    assert peak() - before < 900 * MEBIBYTE


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/concepts", "cuis"), ("/v1/pack", "cuis"), ("/v1/relevances", "corpus"), ("/v1/relevance", "a")],
)
def test_lists_of_a_million_wrong_things_give_one_error(service: RunningService, path: str, field: str) -> None:
    before = peak()
    answer = http(service, path, json.dumps({field: [1] * 1_000_000}).encode(), Content_Type="application/json")
    assert answer.status == 400
    assert peak() - before < 300 * MEBIBYTE


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/relevance", {"a": [A], "b": [B], "lambda": False}),
        ("/v1/relevance", {"a": [A], "b": [B], "lambda": "0.5"}),
        ("/v1/relevances", {"query": [A], "corpus": [[B]], "lambda": True}),
        ("/v1/concepts", {"cuis": [A], "names_only": 0}),
        ("/v1/pack", {"cuis": [A], "hops": True}),
        ("/v1/distances", {"pairs": [[A, B]], "max_hops": "3"}),
    ],
)
def test_values_of_another_type_are_not_guessed_at(service: RunningService, path: str, body: object) -> None:
    assert http(service, path, body).status == 400


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json;", ""]
)
def test_other_content_types_are_refused_or_read_as_json(service: RunningService, kind: str) -> None:
    answer = http(service, "/v1/distances", b'{"pairs": []}', Content_Type=kind)
    assert answer.status == 200 if "json" in kind else 400 <= answer.status < 500


@pytest.mark.slow
def test_gzip_bombs(service: RunningService) -> None:
    limit = service.core.limits.message_bytes
    bomb = gzip.compress(b'{"pairs": [' + b" " * (1 << 28))
    twice = gzip.compress(bomb)
    head = zlib.compressobj(wbits=31).compress(b"")
    endless = head + b"\x00\x00\x00\xff\xff" * (limit // 5 + 1)  # blocks of nothing
    good = gzip.compress(b'{"pairs": []}')
    before = peak()
    for body, status in (
        (bomb, 413),
        (twice, 400),
        (endless, 413),
        (good + b"x" * 1000, 400),
        (good + good, 400),
        (good[:-4], 400),
        (b"not gzip", 400),
        (good, 200),
    ):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        assert http(service, "/v1/distances", body, **headers).status == status, body[:20]
    assert peak() - before < 200 * MEBIBYTE


def test_a_stream_line_without_end_is_refused() -> None:
    with running_service(example_graph(), limits=Limits(message_bytes=MEBIBYTE)) as service:
        answer = http(service, "/v1/distances/stream", b'{"pairs": [' + b" " * (3 * MEBIBYTE))
        assert b"too long" in answer.body or answer.status == 413
        answer = http(service, "/v1/distances/stream", b"\n".join([b"[" * 100_000, b"{}"]))
        assert answer.json["reason"] == "INVALID_INPUT"


class Hurried(BoundedHttp):
    """The protocol with shorter times, so that a test need not wait."""

    head_seconds = 0.6
    body_seconds = 0.8


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningService]:
    monkeypatch.setattr("cuihop_service.servers.BoundedHttp", Hurried)
    limits = AddressLimits(connections=200, address_connections=50)
    with running_service(example_graph(), address_limits=limits) as running:
        yield running
        assert http(running, f"/v1/distance?a={A}&b={B}").json["hops"] == 3


def trickled(service: RunningService, first: bytes, piece: bytes, seconds: float) -> tuple[bytes, float]:
    """The answer to a piece every tenth of a second, and the time until it comes."""
    begun = time.monotonic()
    got = b""
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=0.1) as connection:
        connection.sendall(first)
        while time.monotonic() - begun < seconds:
            try:
                received = connection.recv(1000)
            except TimeoutError:
                try:
                    connection.sendall(piece)
                except OSError:
                    break
                continue
            except ConnectionResetError:
                break
            if not received:
                break
            got += received
    return got, time.monotonic() - begun


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b""),
        (b"G", b"E"),
        (GET, b"X-a: b\r\n"),
        (b"\r\n", b"\r\n"),
        (GET + b"\r\n", b"\r\n"),
        (b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", b" "),
        (b"POST /v1/distances HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\n \r\n"),
    ],
    ids=["silent", "letter by letter", "header by header", "empty lines", "empty lines after", "body", "chunks"],
)
def test_slow_callers_do_not_keep_a_connection(hurried: RunningService, first: bytes, piece: bytes) -> None:
    got, spent = trickled(hurried, first, piece, 60)
    assert spent < 30, got
    if first.startswith(b"GET") and first.endswith(b"\r\n\r\n"):
        assert b"200 OK" in got


def test_a_slow_answer_and_a_quiet_connection_are_no_offence(hurried: RunningService) -> None:
    with socket.create_connection(("127.0.0.1", hurried.http_port), timeout=300) as connection:
        for _ in range(3):
            connection.sendall(GET + b"\r\n")
            got = b""
            while not got.endswith(b"}"):
                got += connection.recv(5000)
            assert b'"hops":3' in got
            time.sleep(1.0)


def test_two_requests_in_one_packet_are_both_answered(hurried: RunningService) -> None:
    got = raw(hurried, (GET + b"\r\n") * 4 + GET + b"Connection: close\r\n\r\n")
    assert got.count(b'"hops":3') == 5


def test_connections_beyond_the_allowed_are_closed(hurried: RunningService) -> None:
    held = []
    for _ in range(80):
        held.append(socket.create_connection(("127.0.0.1", hurried.http_port), timeout=300))
    closed: set[int] = set()

    def enough_are_closed() -> bool:
        for number, connection in enumerate(held):
            connection.setblocking(False)
            try:
                if connection.recv(12) in (b"", b"HTTP/1.1 503"):
                    closed.add(number)
            except ConnectionResetError:
                closed.add(number)
            except BlockingIOError:
                pass
        return len(closed) >= 30

    wait_for(enough_are_closed)
    assert len(closed) < len(held)  # the others were let in
    for connection in held:
        connection.close()
    wait_for(lambda: b'"hops":3' in raw(hurried, GET + b"Connection: close\r\n\r\n"))


def test_grpc_messages_out_of_order(service: RunningService) -> None:
    address = f"127.0.0.1:{service.grpc_port}"
    path = "/cuihop_api.v1.ConceptGraphService/Distance"
    options = [("grpc.max_send_message_length", -1), ("grpc.max_metadata_size", 1 << 24)]
    before = peak()
    with grpc.insecure_channel(address, options=options) as channel:
        call = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
        for message in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x02\xff\xfe", b"\x0b" * 200_000):
            code, _, _ = refused(partial(call, message, timeout=300))
            assert code == grpc.StatusCode.INVALID_ARGUMENT, message[:20]
        code, _, _ = refused(partial(call, bytes(service.core.limits.message_bytes + 1), timeout=300))
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
        large = (("x-bomb", "y" * 1_000_000),)
        code, _, _ = refused(partial(call, DISTANCE.SerializeToString(), metadata=large, timeout=300))
        assert code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL)
        unknown = channel.unary_unary("/../../etc/passwd", request_serializer=bytes, response_deserializer=bytes)
        assert refused(partial(unknown, b"", timeout=300))[0] == grpc.StatusCode.UNIMPLEMENTED
    with stub(service) as grpc_stub:
        many = pb.DistancesRequest(pairs=[pb.ConceptPair(a=A, b=B)] * 200_000)
        assert refused(partial(grpc_stub.Distances, many))[1] == "LIMIT_EXCEEDED"
        long = pb.DistanceRequest(a="x" * MEBIBYTE, b=B)
        assert refused(partial(grpc_stub.Distance, long))[0] == grpc.StatusCode.INVALID_ARGUMENT
        sets = pb.RelevancesRequest(query=pb.ConceptSet(cuis=[A]), corpus=[pb.ConceptSet()] * 100_000)
        assert refused(partial(grpc_stub.Relevances, sets))[1] == "LIMIT_EXCEEDED"
    assert peak() - before < 500 * MEBIBYTE


def test_bytes_that_are_no_http2_do_not_hurt_grpc(service: RunningService) -> None:
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 10_000):
        with socket.create_connection(("127.0.0.1", service.grpc_port), timeout=300) as connection:
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1000)
            except OSError:
                pass


def test_credentials_out_of_order(tmp_path: Path) -> None:
    key = new_key_in(tmp_path / "keys.json", "atlas")
    with running_service(example_graph(), guard=ConfiguredGuard(KeyFile(tmp_path / "keys.json"))) as service:
        for credentials in (
            b"Bearer \xff\xfe",
            b"Bearer " + b"x" * 60_000,
            b"Bearer cuihop_" + b"\xc3\xa9" * 60,
            b"\xe9",
        ):
            got = raw(service, GET + b"Connection: close\r\nAuthorization: " + credentials + b"\r\n\r\n")
            assert status_line(got).split()[1] == b"401", credentials[:20]
        two = f"Authorization: Bearer wrong\r\nAuthorization: Bearer {key}\r\n".encode()
        assert b" 401 " in status_line(raw(service, GET + b"Connection: close\r\n" + two + b"\r\n"))
        with stub(service) as grpc_stub:
            for text in ("Bearer " + "x" * 8_000, "Bearer ..", "Bearer cuihop_"):
                code, _, _ = refused(partial(grpc_stub.Distance, DISTANCE, metadata=(("authorization", text),)))
                assert code == grpc.StatusCode.UNAUTHENTICATED
            assert grpc_stub.Distance(DISTANCE, metadata=bearer(key)).hops == 3
