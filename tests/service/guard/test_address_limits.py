"""Bounds for each address and in all: the counts themselves, and both ports of a real process under them."""

from __future__ import annotations

import contextlib
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import urllib3

from cuihop.errors import InputError
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import RunningService, running_service
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.guard.address_limits import AddressCount, AddressLimits, FailureCount, LineBudget
from cuihop_service.servers import connections_each
from example_graph import example_graph
from guarded_service import A, B
from served_program import program
from waiting import wait_for, wait_until_still

HEAD = f"GET /v1/distance?a={A}&b={B} HTTP/1.1\r\nHost: x\r\n".encode()
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


# The counts


def test_one_address_holds_its_share_and_all_hold_what_there_is() -> None:
    count = AddressCount(3, 16)
    assert [count.enter("192.0.2.1") for _ in range(5)] == [True] * 3 + [False] * 2
    assert all(count.enter(f"192.0.2.{number}") for number in range(2, 15))
    assert not count.enter("192.0.2.99")
    count.leave("192.0.2.1")
    assert count.enter("192.0.2.99")
    assert count.held == 16


def test_one_address_never_holds_more_than_a_quarter() -> None:
    count = AddressCount(1_000, 40)
    assert sum(count.enter("192.0.2.1") for _ in range(100)) == 10


def test_proxies_stand_for_many_callers() -> None:
    count = AddressCount(2, 8, ["10.0.0.0/24", "2001:db8::1"])
    assert sum(count.enter("10.0.0.7") for _ in range(5)) == 5
    assert sum(count.enter("10.0.1.7") for _ in range(5)) == 2
    assert sum(count.enter("2001:db8::/64") for _ in range(9)) == 1  # no more than there are in all


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.0/99", ""])
def test_a_proxy_is_an_address(proxy: str) -> None:
    with pytest.raises(InputError, match="proxies"):
        AddressLimits(proxies=[proxy])


def test_failures_of_one_address_and_of_all() -> None:
    now = 0.0
    failures = FailureCount(AddressLimits(failures=20, address_failures=5), lambda: now)
    for _ in range(5):
        assert failures.wait("192.0.2.1") == 0
        failures.count("192.0.2.1")
    assert failures.wait("192.0.2.1") == pytest.approx(5.0)
    for number in range(2, 30):
        failures.count(f"192.0.2.{number}")
    assert failures.wait("192.0.2.2") > 0  # it has failed, and all together too often
    assert failures.wait("192.0.2.200") == 0  # it has not
    now = 25.0
    assert failures.wait("192.0.2.1") == failures.wait("192.0.2.2") == 0


def test_a_network_of_64_bits_is_one_address() -> None:
    failures = FailureCount(AddressLimits(address_failures=2))
    failures.count("2001:db8::1")
    failures.count("2001:db8::2")
    assert failures.wait("2001:db8::3") > 0
    assert failures.wait("2001:db8:0:1::3") == 0


def test_lines_in_a_second() -> None:
    now = 0.5
    budget = LineBudget(2, 5, lambda: now)
    assert [budget.has_room("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [budget.has_room() for _ in range(4)] == [True, True, True, False]
    assert budget.take_left_out() == 2
    assert budget.take_left_out() == 0
    now = 1.0
    assert budget.has_room("192.0.2.1")


@pytest.mark.slow
def test_the_limit_of_descriptors_is_raised_and_divided() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    program = """
import resource
from cuihop_service.servers import connections_each
from cuihop.errors import InputError
print(connections_each(None), resource.getrlimit(resource.RLIMIT_NOFILE)[0], connections_each(50))
try:
    connections_each(500)
except InputError as error:
    print(error)
"""
    raise_to = min(hard, 700) if hard != resource.RLIM_INFINITY else 700

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, raise_to))

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, preexec_fn=little
    )
    first, complaint = done.stdout.split("\n", 1)
    each, now, wanted = map(int, first.split())
    assert (now, wanted) == (raise_to, 50)
    assert 200 < each < 310
    assert "too few file descriptors" in complaint
    assert "connections" in complaint
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
    assert connections_each(10) == 10


# Both ports


@dataclass
class Small:
    """A `cuihop serve` with 600 file descriptors, which tests use one after another: its ports and its log."""

    http: int
    grpc: int
    log: Path
    files: Callable[[], int]
    at_rest: int


@contextlib.contextmanager
def small_program(folder: Path, *arguments: str) -> Iterator[Small]:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))

    path = folder / "graph.cuihop"
    example_graph().save(path)
    (folder / "keys.json").write_text('{"version": 1, "keys": []}')
    (folder / "keys.json").chmod(0o600)
    flags = ("--host", "0.0.0.0", "--keys-file", str(folder / "keys.json"), *arguments)  # noqa: S104
    with program(path, folder, *flags, limit=little) as running:
        http, grpc_port = (int(address.rpartition(":")[2]) for address in (running.http, running.grpc))

        def files() -> int:
            """The open connections and other files of the workers."""
            return sum(len([*Path(f"/proc/{worker}/fd").iterdir()]) for worker in running.workers())

        assert (alive(http), grpc_status(grpc_port)) == (200, grpc.StatusCode.UNAUTHENTICATED)
        yield Small(http, grpc_port, running.log, files, wait_until_still(files))
        assert running.stop() == 0


def without_callers(small: Small) -> Small:
    """The program, once the connections of the test before are closed there too."""
    wait_for(lambda: small.files() <= small.at_rest)
    return small


@pytest.fixture(scope="module")
def of_any_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with small_program(tmp_path_factory.mktemp("any")) as small:
        yield small


@pytest.fixture(scope="module")
def of_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """A program with little room, and a proxy at 127.0.0.4."""
    settings = ("--connections", "80", "--address-connections", "15", "--proxies", "127.0.0.4")
    with small_program(tmp_path_factory.mktemp("proxy"), *settings) as small:
        yield small


@contextlib.contextmanager
def held(port: int, count: int, first: bytes, host: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Connections from one address, which have sent this and no more."""
    connections = []
    try:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=300, source_address=(host, 0))
            connections.append(connection)
            with contextlib.suppress(OSError):
                connection.sendall(first)
        yield connections
    finally:
        for connection in connections:
            connection.close()


def alive(port: int, host: str = "127.0.0.2") -> int:
    """The status of /health/live, asked from another address."""
    pool: Any = urllib3.PoolManager(retries=False, timeout=300, source_address=(host, 0))
    return int(pool.request("GET", f"http://127.0.0.1:{port}/health/live", headers={"Host": "localhost"}).status)


def grpc_status(port: int) -> grpc.StatusCode:
    """The status of a call without a key: an answer means that the connection got through."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            pb_grpc.ConceptGraphServiceStub(channel).Distance(  # type: ignore[no-untyped-call,unused-ignore]
                pb.DistanceRequest(a=A, b=B), timeout=300, wait_for_ready=True
            )
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


def open_ends(connections: list[socket.socket]) -> int:
    """Number of connections that are still open."""
    count = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            while piece := connection.recv(65536):
                del piece
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", PREFACE], ids=["silent", "HTTP/2"])
def test_connections_on_the_grpc_port_take_nothing_from_http(of_any_address: Small, first: bytes) -> None:
    small = without_callers(of_any_address)
    with held(small.grpc, 800, first) as connections:
        for _ in range(5):
            assert alive(small.http) == 200
            assert alive(small.http, "127.0.0.1") == 200
        wait_for(lambda: open_ends(connections) <= 70)


@pytest.mark.slow
def test_a_name_of_two_addresses_has_one_bound_on_the_grpc_port(tmp_path: Path) -> None:
    settings = ("--connections", "40", "--host", "localhost", "--proxies", "127.0.0.0/8", "--proxies", "::/0")
    with small_program(tmp_path, *settings) as small:
        connections = []
        with contextlib.ExitStack() as all_of_them:
            for address in ("127.0.0.1", "::1"):
                with contextlib.suppress(OSError):  # a machine may have no IPv6
                    connections += [all_of_them.enter_context(socket.create_connection((address, small.grpc), 10))
                                    for _ in range(60)]  # fmt: skip
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.sendall(PREFACE)
            wait_for(lambda: open_ends(connections) <= 40)
            assert open_ends(connections) >= 20
            assert alive(small.http, "127.0.0.1") == 200


@pytest.mark.slow
def test_one_address_shuts_nobody_out_of_the_grpc_port(of_a_proxy: Small) -> None:
    small = without_callers(of_a_proxy)
    with held(small.grpc, 60, PREFACE, "127.0.0.2") as many, held(small.grpc, 5, PREFACE, "127.0.0.3") as few:
        wait_for(lambda: open_ends(many) == 15)
        assert grpc_status(small.grpc) == grpc.StatusCode.UNAUTHENTICATED
        assert open_ends(many) == 15
        assert open_ends(few) == 5
    assert "gRPC connections too many were closed" in small.log.read_text()


@pytest.mark.slow
def test_a_proxy_may_hold_all_connections_of_the_grpc_port(of_a_proxy: Small) -> None:
    port = without_callers(of_a_proxy).grpc
    with held(port, 60, PREFACE, "127.0.0.4") as many, held(port, 20, PREFACE, "127.0.0.3") as others:
        wait_for(lambda: open_ends(others) == 15)
        assert open_ends(many) == 60


@pytest.mark.slow
def test_half_open_heads_of_one_address_shut_nobody_out(of_any_address: Small) -> None:
    small = without_callers(of_any_address)
    with held(small.http, 800, HEAD) as connections:
        assert alive(small.http) == 200
        assert open_ends(connections) <= 70
        assert grpc_status(small.grpc) == grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture
def bounded() -> Iterator[RunningService]:
    limits = AddressLimits(connections=40, address_connections=10, heads=16, address_heads=4)
    with running_service(example_graph(), limits=None, address_limits=limits) as service:
        yield service


def test_heads_and_connections_of_one_address_have_bounds_of_their_own(bounded: RunningService) -> None:
    port = bounded.http_port
    with held(port, 6, HEAD) as heads:
        wait_for(lambda: open_ends(heads) == 4)
        assert alive(port) == 200
    with held(port, 0, b"") as connections:
        for _ in range(12):
            connection = socket.create_connection(("127.0.0.1", port), timeout=300)
            connections.append(connection)
            connection.sendall(HEAD + b"\r\n")
            assert connection.recv(5_000).split()[1] == (b"200" if len(connections) <= 10 else b"503")
        assert alive(port) == 200
        connections.pop(0).close()

        def again() -> bool:
            with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
                connection.sendall(HEAD + b"\r\n")
                return connection.recv(5_000).split()[1] == b"200"

        wait_for(again)


@pytest.fixture
def tls(tmp_path: Path) -> TlsFiles:
    certificate, key = tmp_path / "service.pem", tmp_path / "service.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return TlsFiles(certificate, key)


@pytest.mark.slow
def test_handshakes_that_never_end_are_bounded_too(tls: TlsFiles) -> None:
    limits = AddressLimits(connections=40, address_connections=10)
    context = ssl.create_default_context(cafile=str(tls.certificate))
    with (
        running_service(example_graph(), tls=tls, address_limits=limits) as service,
        held(service.http_port, 60, b"\x16\x03\x01") as silent,
    ):
        wait_for(lambda: open_ends(silent) <= 10)
        plain = socket.create_connection(("127.0.0.1", service.http_port), 10, ("127.0.0.2", 0))
        with plain, context.wrap_socket(plain, server_hostname="localhost") as secured:
            secured.sendall((HEAD + b"\r\n") * 2)
            got = b""
            while got.count(b'"hops":3') < 2:
                got += secured.recv(5_000)
    assert got.count(b"200 OK") == 2
