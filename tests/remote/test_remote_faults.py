"""Servers that are down, mute, hostile or foreign, over real sockets: the error of each."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
import trustme

from cuihop import connect
from cuihop.errors import (
    CuihopError,
    GraphUnavailable,
    InputError,
    LimitExceeded,
    NotAuthenticated,
    QueryTimedOut,
    RateLimited,
)
from cuihop.graph import DistancePack
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop_server import running_service
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_tools.neo4j_server import free_ports
from example_graph import example_graph
from remote.recording_guard import RecordingGuard

KEY = "chk_0123456789abcdef"
DIGEST = "d1" * 32
RELEASE = {
    "name": "example", "digest": DIGEST, "relations": ["isa"], "sabs": [], "identifiers": "cui", "concepts": 17,
    "edges": 14, "source": "", "indexed": True, "names": True, "service_version": "9.9",
    "limits": {"pairs": 100, "concepts": 100, "neighbours": 100, "pack_concepts": 100},
}  # fmt: skip


@contextmanager
def server(*answers: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose connections are treated one after the other in these ways; the last way repeats."""
    listening = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        number = 0
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            held.append(connection)
            treat = answers[min(number, len(answers) - 1)]
            number += 1
            threading.Thread(target=treated, args=(treat, connection), daemon=True).start()

    def treated(treat: Callable[[socket.socket], None], connection: socket.socket) -> None:
        with suppress(OSError):
            treat(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)  # it may have accepted one more
        for connection in held:
            connection.close()


def http(status: str, kind: str, body: bytes, *more: str, length: int | None = None) -> Callable[[socket.socket], None]:
    """Answer every request of a connection alike; a length other than the body's ends the connection."""
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *more]
    if length != -1:
        head.append(f"Content-Length: {len(body) if length is None else length}")

    def treat(connection: socket.socket) -> None:
        while True:
            request = b""
            while b"\r\n\r\n" not in request:
                part = connection.recv(65536)
                if not part:
                    return
                request += part
            connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
            if length is not None:
                connection.close()
                return

    return treat


def mute(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def rude(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"\x00\x01 who are you?\r\n\r\n")
    connection.close()


def hanging_up(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.close()


def opening_error(port: int, scheme: str = "http", **settings: object) -> CuihopError:
    """The error of opening the address, raised within a minute."""
    options: dict[str, object] = {"retry_time": 0.0, "timeout": 5.0, "connect_timeout": 1.0}
    begun = time.monotonic()
    with pytest.raises(CuihopError) as caught:
        RemoteGraph(RemoteSettings(f"{scheme}://127.0.0.1:{port}", **(options | settings)))  # type: ignore[arg-type]
    assert time.monotonic() - begun < 60
    return caught.value


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def good() -> Callable[[socket.socket], None]:
    return http("200 OK", "application/json", as_json(RELEASE))


PAGE = b"<html><h1>Bad Gateway</h1>\n nginx \xff</html>"


OK, JSON, PROBLEM, HTML = "200 OK", "application/json", "application/problem+json", "text/html"


@pytest.mark.parametrize(
    ("treat", "kind", "says"),
    [
        (http("502 Bad Gateway", HTML, PAGE), GraphUnavailable, "answered 502 Bad Gateway with text/html: '<html>"),
        (http(OK, HTML, b"<html>Welcome</html>"), GraphUnavailable, "of the type 'text/html': '<html>Welc"),
        (http(OK, JSON, b'{"name": "x'), GraphUnavailable, "not the answer of a cuihop service"),
        (http(OK, JSON, as_json(RELEASE), length=9000), GraphUnavailable, "broke"),
        (http(OK, JSON, b'5\r\n{"na', "Transfer-Encoding: chunked", length=-1), GraphUnavailable, "broke"),
        (http(OK, JSON, b'{"name": "\xff\xfe"}'), GraphUnavailable, "utf-8"),
        (http(OK, JSON, b"[1]"), GraphUnavailable, "no JSON object"),
        (http(OK, JSON, b"[" * 100_000), GraphUnavailable, "not the answer of a cuihop service"),
        (http(OK, JSON, b'{"status": "up"}'), GraphUnavailable, "not the answer of a cuihop service: 'limits'"),
        (http(OK, JSON, as_json(RELEASE | {"identifiers": "x"})), GraphUnavailable, "kind 'x'"),
        (http(OK, JSON, as_json(RELEASE | {"concepts": True})), GraphUnavailable, "concepts is not"),
        (http(OK, JSON, as_json(RELEASE | {"sabs": [1]})), GraphUnavailable, "sabs is not"),
        (http(OK, JSON, b"this is plain", "Content-Encoding: gzip"), GraphUnavailable, "gzip"),
        (http("302 Found", HTML, b"", "Location: http://elsewhere/"), GraphUnavailable, "leads to 'http://elsew"),
        (http("404 Not Found", JSON, b'{"detail":"Not Found"}'), GraphUnavailable, "404 Not Found with"),
        (http("401 Unauthorized", "text/plain", b"who?"), NotAuthenticated, "401 Unauthorized with text/plain"),
        (http("413 Too Large", HTML, b""), LimitExceeded, "answered 413 Too Large"),
        (http("429 Slow Down", HTML, b""), RateLimited, "answered 429 Slow Down"),
        (http("500 Oops", PROBLEM, b'{"reason": 7}'), GraphUnavailable, "500 Oops with application/prob"),
        (http("500 Oops", PROBLEM, b"{"), GraphUnavailable, "answered 500 Oops"),
        (rude, GraphUnavailable, "not HTTP"),
        (hanging_up, GraphUnavailable, "the connection broke"),
        (mute, QueryTimedOut, "no answer within 1 s"),
    ],
)
def test_the_error_of_each_http_server(
    treat: Callable[[socket.socket], None], kind: type[CuihopError], says: str
) -> None:
    with server(treat) as port:
        error = opening_error(port, timeout=1.0)
    assert type(error) is kind
    assert says in str(error)
    assert f"http://127.0.0.1:{port}: " in str(error)


def test_a_trickling_answer_times_out() -> None:
    def trickle(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.05)

    with server(trickle) as port:
        begun = time.monotonic()
        error = opening_error(port, timeout=1.0)
        assert time.monotonic() - begun < 10
    assert isinstance(error, QueryTimedOut)


def test_an_answer_that_grows_on_decompression_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuihop.remote.http_transport._LARGEST_RESPONSE", 1 << 20)
    bomb = gzip.compress(bytes(64 << 20))
    with server(http("200 OK", "application/json", bomb, "Content-Encoding: gzip")) as port:
        error = opening_error(port)
    assert isinstance(error, GraphUnavailable)
    assert "larger than 1,048,576 bytes" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"hops": [3]},
        {"hops": [3, 4], "release": DIGEST},
        {"hops": "3", "release": DIGEST},
        {"hops": [-1], "release": DIGEST},
        {"hops": [2.5], "release": DIGEST},
        {"hops": [True], "release": DIGEST},
        {"hops": [10**30], "release": DIGEST},
        {"hops": [[3]], "release": DIGEST},
        {"hops": [3], "release": DIGEST, "merged": {"C0000001": 7}},
        {"hops": [3], "release": 7},
    ],
)
def test_a_response_of_another_shape_is_refused(body: object) -> None:
    with (
        server(both(good(), http("200 OK", "application/json", as_json(body)))) as port,
        RemoteGraph(RemoteSettings(f"http://127.0.0.1:{port}", retry_time=0)) as graph,
        pytest.raises(GraphUnavailable, match="not the answer of a cuihop service"),
    ):
        graph.distance("C0006121", "C0018670")


PACK = {
    "release": DIGEST, "cuis": ["C0006121", "C0018670"],
    "indptr": [0, 2, 4], "indices": [0, 1, 0, 1], "hops": [0, 3, 3, 0],
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"cuis": ["C0006121"]},
        {"indptr": [0, 2]},
        {"indptr": []},
        {"indptr": [1, 2, 4]},
        {"indptr": [0, 5, 4]},
        {"indptr": [0, 2, 3]},
        {"indices": [0, 1, 0, 2]},
        {"indices": [0, 1, -1, 1]},
        {"indices": [1, 0, 0, 1]},
        {"indices": [0, 0, 0, 1]},
        {"indices": [0, 1, 0]},
        {"hops": [0, 3, 3, 4]},
        {"hops": [0, 3, 3, 256]},
        {"hops": [0, 3, 3]},
    ],
)
def test_an_invalid_pack_never_reaches_compiled_code(wrong: dict[str, object]) -> None:
    def served(body: object) -> Callable[[socket.socket], None]:
        return both(good(), http("200 OK", "application/json", as_json(body)))

    def packed(body: object) -> DistancePack:
        with (
            server(served(body)) as port,
            RemoteGraph(RemoteSettings(f"http://127.0.0.1:{port}", retry_time=0)) as graph,
        ):
            return graph.pack(["C0006121", "C0018670"], hops=3)

    assert packed(PACK).hops.tolist() == [0, 3, 3, 0]
    with pytest.raises(GraphUnavailable, match="not the answer of a cuihop service"):
        packed(PACK | wrong)


def both(
    release: Callable[[socket.socket], None], other: Callable[[socket.socket], None]
) -> Callable[[socket.socket], None]:
    """Treat requests for the release in one way, and all others in another."""

    def treat(connection: socket.socket) -> None:
        while beginning := connection.recv(12, socket.MSG_PEEK):
            (release if beginning.startswith(b"GET /v1/rel") else other)(Once(connection))  # type: ignore[arg-type]

    return treat


class Once:
    """A connection that ends after one request."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._done = False

    def recv(self, size: int) -> bytes:
        return b"" if self._done else self._connection.recv(size)

    def sendall(self, data: bytes) -> None:
        self._connection.sendall(data)
        self._done = True


def test_a_broken_request_is_repeated() -> None:
    answers = [http("503 Busy", "text/html", b"later", length=5), hanging_up, good()]
    with (
        server(*answers) as port,
        RemoteGraph(RemoteSettings(f"http://127.0.0.1:{port}", retry_time=20)) as graph,
    ):
        assert graph.release.digest == DIGEST


@pytest.mark.parametrize(
    ("treat", "kind", "says"),
    [
        (mute, GraphUnavailable, "cannot be reached"),
        (rude, GraphUnavailable, "cannot be reached"),
        (hanging_up, GraphUnavailable, "cannot be reached"),
        (http("400 Bad Request", "text/html", PAGE), GraphUnavailable, "http1.x server"),
    ],
)
def test_the_error_of_each_server_without_grpc(
    treat: Callable[[socket.socket], None], kind: type[CuihopError], says: str
) -> None:
    with server(treat) as port:
        error = opening_error(port, "grpc")
    assert type(error) is kind
    assert says in str(error)


@contextmanager
def foreign_grpc(*handlers: grpc.GenericRpcHandler) -> Iterator[int]:
    foreign = grpc.server(ThreadPoolExecutor(2), list(handlers))
    port = foreign.add_insecure_port("127.0.0.1:0")
    foreign.start()
    try:
        yield port
    finally:
        foreign.stop(None).wait(5)


def test_a_foreign_grpc_server_is_not_of_this_version() -> None:
    with foreign_grpc() as port:
        error = opening_error(port, "grpc")
    assert type(error) is GraphUnavailable
    assert "not of this version of cuihop" in str(error)


@pytest.mark.parametrize("answer", [b"", b"\xff\xff\xff", b"\x0a\x02\x0a\x00"])
def test_an_invalid_grpc_reply_is_unavailable(answer: bytes) -> None:
    name = "cuihop_api.v1.ConceptGraphService"
    handler = grpc.method_handlers_generic_handler(
        name, {"GetRelease": grpc.unary_unary_rpc_method_handler(lambda request, context: answer)}
    )
    with foreign_grpc(handler) as port:
        error = opening_error(port, "grpc")
    assert type(error) is GraphUnavailable


@pytest.mark.parametrize("scheme", ["http", "grpc", "https", "grpcs"])
def test_a_port_without_a_listener_is_refused_at_once(scheme: str) -> None:
    (port,) = free_ports(1)
    begun = time.monotonic()
    error = opening_error(port, scheme, retry_time=60.0)
    assert time.monotonic() - begun < 30  # no retries while opening
    assert type(error) is GraphUnavailable
    assert "refused" in str(error)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_an_unresolved_name_is_unavailable(scheme: str) -> None:
    with pytest.raises(GraphUnavailable, match=r"resolv") as caught:
        RemoteGraph(RemoteSettings(f"{scheme}://no-such-host.invalid:1", connect_timeout=2, retry_time=0))
    assert "no-such-host.invalid" in str(caught.value)


def test_the_scheme_of_the_other_transport_is_unavailable() -> None:
    with running_service(example_graph()) as running:
        for address in (f"http://127.0.0.1:{running.grpc_port}", f"grpc://127.0.0.1:{running.http_port}"):
            with pytest.raises(GraphUnavailable):
                RemoteGraph(RemoteSettings(address, retry_time=0, connect_timeout=2))
        for address in (f"https://127.0.0.1:{running.http_port}", f"grpcs://127.0.0.1:{running.grpc_port}"):
            with pytest.raises(GraphUnavailable, match=r"no encrypted connection: .*The port does not speak TLS"):
                RemoteGraph(RemoteSettings(address, retry_time=0, connect_timeout=2))
        with pytest.raises(GraphUnavailable, match="/elsewhere/v1/release is not there"):
            connect(f"{running.http}/elsewhere")


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    trustme.CA().cert_pem.write_to_path(folder / "other-ca.pem")
    for name, issued in (
        ("server", authority.issue_cert("127.0.0.1", "localhost")),
        ("elsewhere", authority.issue_cert("graph.example")),
        ("client", authority.issue_cert("researcher@example.org", common_name="researcher")),
    ):
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        (folder / f"{name}.pem").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    return folder


def addresses(http_port: int, grpc_port: int, host: str = "127.0.0.1") -> list[str]:
    return [f"https://{host}:{http_port}", f"grpcs://{host}:{grpc_port}"]


def test_tls_with_a_certificate_authority_of_ones_own(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = TlsFiles(files / "server.pem", files / "server.key")
    with running_service(example_graph(), tls=tls) as running:
        for address in addresses(running.http_port, running.grpc_port):
            monkeypatch.setenv("CUIHOP_CA_FILE", str(files / "ca.pem"))
            with connect(address) as graph:
                assert graph.distance("C0006121", "C0018670") == 3
            for ca_file in (None, files / "other-ca.pem"):
                with pytest.raises(GraphUnavailable, match=r"no encrypted connection: .*CUIHOP_CA_FILE"):
                    RemoteGraph(RemoteSettings(address, ca_file=ca_file))
        with pytest.raises(GraphUnavailable, match="A port with TLS has an address with grpcs:// or https://"):
            RemoteGraph(RemoteSettings(f"grpc://127.0.0.1:{running.grpc_port}", retry_time=0, connect_timeout=2))
        with pytest.raises(InputError, match=f"this port speaks TLS: https://127.0.0.1:{running.http_port}"):
            RemoteGraph(RemoteSettings(f"http://127.0.0.1:{running.http_port}", retry_time=0, connect_timeout=2))


def test_the_certificate_of_another_host_is_refused(files: Path) -> None:
    tls = TlsFiles(files / "elsewhere.pem", files / "elsewhere.key")
    with running_service(example_graph(), tls=tls) as running:
        for address in addresses(running.http_port, running.grpc_port):
            with pytest.raises(GraphUnavailable, match="no encrypted connection"):
                RemoteGraph(RemoteSettings(address, ca_file=files / "ca.pem"))


def test_mutual_tls(files: Path) -> None:
    tls = TlsFiles(files / "server.pem", files / "server.key", client_ca=files / "ca.pem")
    with running_service(example_graph(), tls=tls) as running:
        for address in addresses(running.http_port, running.grpc_port, "localhost"):
            mine = RemoteSettings(
                address,
                ca_file=files / "ca.pem",
                client_cert=files / "client.pem",
                client_key=files / "client.key",
            )
            with RemoteGraph(mine) as graph:
                assert graph.distance("C0006121", "C0018670") == 3
            with pytest.raises(GraphUnavailable):
                RemoteGraph(RemoteSettings(address, ca_file=files / "ca.pem", retry_time=0))


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_unreadable_tls_files_are_named(scheme: str, files: Path) -> None:
    absent = files / "absent.pem"
    with pytest.raises(InputError, match=r"absent\.pem"):
        RemoteGraph(RemoteSettings(f"{scheme}://127.0.0.1:1", ca_file=absent))
    with pytest.raises(InputError, match=r"absent\.pem"):
        RemoteGraph(RemoteSettings(f"{scheme}://127.0.0.1:1", client_cert=absent, client_key=files / "client.key"))


# The key


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_the_key_is_sent_to_the_service_and_nowhere_else(
    scheme: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CUIHOP_API_KEY", KEY)
    guard = RecordingGuard()
    with running_service(example_graph(), guard=guard) as running:
        with connect(running.grpc if scheme == "grpc" else running.http) as graph:
            assert graph.distance("C0006121", "C0018670") == 3
            guard.error = NotAuthenticated("the key has expired")
            with pytest.raises(NotAuthenticated) as caught:
                graph.distance("C0006121", "C0018670")
        texts = [repr(graph), str(caught.value), repr(caught.value.__cause__), *caught.value.__notes__, caplog.text]
    assert set(guard.credentials) == {f"Bearer {KEY}"}
    assert not [text for text in texts if KEY in text]


def test_the_key_does_not_follow_a_redirection() -> None:
    received: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        received.append(connection.recv(65536))

    with server(listen) as elsewhere:
        location = f"Location: http://127.0.0.1:{elsewhere}/v1/release"
        with server(http("307 Temporary Redirect", "text/html", b"", location)) as port:
            error = opening_error(port, key=KEY)
    assert "leads to" in str(error)
    assert received == []


def test_system_authorities_are_trusted_by_default() -> None:
    from cuihop.remote.http_transport import _context

    context = _context(RemoteSettings("https://graph.example"))
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
