"""The shared level on a real Redis: what it keeps, and that whatever becomes of it no answer is wrong or missing."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import ConceptNotFound, InputError, InvalidCui
from cuihop_service.cache import CachedGraph
from cuihop_service.cache.local_cache import NO_PATH, entry_beyond
from cuihop_tools.neo4j_server import free_ports
from examples import examples
from redis_server import PATIENT, RedisServer, new_redis, shared_cache
from waiting import wait_for

if TYPE_CHECKING:
    from cuihop_service.cache.redis_cache import RedisCache

CHAIN = [f"C{i:07d}" for i in range(20)]
PAIRS = [(a, b) for i, a in enumerate(CHAIN) for b in CHAIN[i + 1 :]]


def chain(name: str = "chain", cut: int = 19) -> SnapshotGraph:
    """Concepts in a row, with or without a gap; the content makes the digest, the name does not."""
    edges = [pair for i, pair in enumerate(itertools.pairwise(CHAIN)) if i != cut]
    return SnapshotGraph.of(edges, concepts=CHAIN, name=name, identifiers="cui")


@cache
def expected() -> list[int | None]:
    return list(chain().distances(PAIRS))


@pytest.fixture
def emptied(redis_server: RedisServer) -> RedisServer:
    with redis_server.client() as client:
        client.flushall()
    return redis_server


def opened(server: RedisServer, **others: object) -> RedisCache:
    return shared_cache(server.address, **{"timeout": PATIENT, **others})


class Clock:
    """A clock that a test moves on: a busy machine neither ends a pause nor keeps it on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def recovers(shared: RedisCache) -> bool:
    """True if the shared level answers again."""
    answer = CachedGraph(chain(), shared=shared).answered(PAIRS)
    assert answer.distances == expected()
    return bool(answer.from_cache.all())


@pytest.mark.core
def test_replicas_share_what_one_of_them_computed(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as one, contextlib.closing(opened(emptied)) as other:
        first, second = CachedGraph(chain(), shared=one), CachedGraph(chain("by another name"), shared=other)
        assert not first.answered(PAIRS).from_cache.any()
        answer = second.answered([(b, a) for a, b in PAIRS])
        assert answer.from_cache.all()
        assert answer.distances == expected()
        assert second.counts.numbers()["misses"] == 0


def test_a_better_answer_replaces_a_worse_one(emptied: RedisServer) -> None:
    far = [(CHAIN[0], CHAIN[10])]
    with contextlib.closing(opened(emptied)) as shared:
        for bound, cached in [(3, False), (2, True), (5, False), (4, True), (None, False), (3, True), (15, True)]:
            graph = CachedGraph(chain(), shared=shared)  # with nothing in process
            answer = graph.answered(far, max_hops=bound)
            assert answer.distances == [10 if bound is None or bound >= 10 else None]
            assert answer.from_cache.tolist() == [cached]


def test_a_new_release_on_the_same_redis_never_gets_old_answers(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as shared:
        old, new = CachedGraph(chain(), shared=shared), CachedGraph(chain(cut=7), shared=shared)
        assert old.distances(PAIRS) == expected()
        answer = new.answered(PAIRS)
        assert not answer.from_cache.any()
        assert answer.distances == chain(cut=7).distances(PAIRS)
        assert old.distances(PAIRS) == expected()


def test_an_unknown_concept_is_neither_asked_nor_kept(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        graph = CachedGraph(chain(), shared=shared)
        for text in ("C9999999", "no identifier", "C" * 5000, "\ud800", "C0000001\n"):
            with pytest.raises((ConceptNotFound, InvalidCui)):
                graph.distance(CHAIN[0], text)
        assert client.dbsize() == 0


def test_a_batch_is_one_command_to_read_and_one_to_write(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        graph = CachedGraph(chain(), shared=shared)
        client.config_resetstat()
        graph.distances(PAIRS)
        commands = client.info("commandstats")
        assert (commands["cmdstat_mget"]["calls"], commands["cmdstat_mset"]["calls"]) == (1, 1)
        assert "cmdstat_client|setinfo" not in commands


# Values that are not what this cache wrote


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=20)
    | st.integers(-(2**31), 2**31 - 1).map(lambda n: struct.pack("<i", n))
    | st.tuples(st.integers(-30, 30), st.binary(min_size=8, max_size=8)).map(lambda v: struct.pack("<i", v[0]) + v[1])
)
def test_garbage_is_taken_for_missing(emptied: RedisServer, value: bytes) -> None:
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        CachedGraph(chain(), shared=shared).distances(PAIRS)
        for name in client.scan_iter("cuihop:*"):
            client.set(name, value)
        graph = CachedGraph(chain(), shared=shared)
        answer = graph.answered(PAIRS)
        assert answer.distances == expected()
        assert not answer.from_cache.any()
        assert shared.statistics.refused == len(PAIRS)
        assert CachedGraph(chain(), shared=shared).answered(PAIRS).from_cache.all()  # written again


def test_values_of_other_keys_releases_and_secrets_are_refused(emptied: RedisServer) -> None:
    digest, key, other = "a" * 64, "C0000001|C0000002", "C0000001|C0000003"
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        shared.store(digest, {key: 5})
        written = client.get(f"cuihop:1:{digest[:16]}:{key}")
        assert isinstance(written, bytes)
        assert shared.entries(digest, [key, other]) == [5, None]
        client.set(f"cuihop:1:{digest[:16]}:{other}", written)
        assert shared.entries(digest, [key, other]) == [5, None]
        assert shared.entries("a" * 16 + "b" * 48, [key]) == [
            None
        ]  # the digest's beginning is in the key, all is signed
        with contextlib.closing(opened(emptied)) as stranger:
            stranger._secret = b"another"
            assert stranger.entries(digest, [key]) == [None]
            stranger.store(digest, {key: 1})
        assert shared.entries(digest, [key]) == [None]


@given(st.integers(0, 2**30) | st.just(NO_PATH) | st.integers(0, 2**30).map(entry_beyond))
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_every_entry_comes_back_as_it_was(redis_server: RedisServer, entry: int) -> None:
    with contextlib.closing(opened(redis_server)) as shared:
        shared.store("f" * 64, {"HP:0000001;HP:0000002": entry})
        assert shared.entries("f" * 64, ["HP:0000001;HP:0000002"]) == [entry]


def test_keys_of_another_type_are_taken_for_missing(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        graph = CachedGraph(chain(), shared=shared)
        client.lpush(f"cuihop:1:{chain().release.digest[:16]}:{CHAIN[0]}|{CHAIN[1]}", "x")
        assert graph.distances(PAIRS) == expected()
        assert CachedGraph(chain(), shared=shared).distances(PAIRS) == expected()


# Servers that fail


def test_a_server_that_is_killed_costs_nothing_and_is_used_again_when_it_is_back(killable_redis: RedisServer) -> None:
    clock = Clock()
    with contextlib.closing(opened(killable_redis, clock=clock)) as shared:
        CachedGraph(chain(), shared=shared).distances(PAIRS)
        killable_redis.kill()
        for _ in range(20):
            assert CachedGraph(chain(), shared=shared).distances(PAIRS) == expected()
        numbers = shared.statistics
        assert numbers.errors >= 1
        assert numbers.held_back >= 1
        assert not numbers.reading
        killable_redis.start()
        clock.now += 5
        wait_for(lambda: recovers(shared))
        assert shared.statistics.reading


def test_a_server_that_hangs_holds_up_few_calls_and_is_used_again_when_it_goes_on(killable_redis: RedisServer) -> None:
    clock = Clock()
    with contextlib.closing(opened(killable_redis, timeout=0.3, clock=clock)) as shared:
        CachedGraph(chain(), shared=shared).distances(PAIRS)
        killable_redis.freeze()
        try:
            for _ in range(50):
                assert CachedGraph(chain(), shared=shared).distances(PAIRS) == expected()
        finally:
            killable_redis.thaw()
        numbers = shared.statistics
        assert 1 <= numbers.errors < 10
        assert numbers.held_back >= 40
        clock.now += 5
        wait_for(lambda: recovers(shared))


def test_a_full_server_is_still_read(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    with (
        new_redis(tmp_path_factory, "maxmemory-policy noeviction") as server,
        contextlib.closing(opened(server, clock=clock)) as shared,
        server.client() as client,
        caplog.at_level(logging.INFO, "cuihop_service"),
    ):
        CachedGraph(chain(), shared=shared).distances(PAIRS)
        client.config_set("maxmemory", 1)
        graph = CachedGraph(chain(cut=3), shared=shared)
        assert graph.distances(PAIRS) == chain(cut=3).distances(PAIRS)
        numbers = shared.statistics
        assert (numbers.reading, numbers.writing, numbers.errors) == (True, False, 1)
        assert CachedGraph(chain(), shared=shared).answered(PAIRS).from_cache.all()
        client.config_set("maxmemory", 0)
        clock.now += 5
        assert CachedGraph(chain(cut=5), shared=shared).distances(PAIRS) == chain(cut=5).distances(PAIRS)
        assert shared.statistics.writing
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
        assert "writing to the shared cache" in caplog.text
        assert "OutOfMemoryError" in caplog.text


def test_a_flushed_server_is_filled_again(emptied: RedisServer) -> None:
    with contextlib.closing(opened(emptied)) as shared, emptied.client() as client:
        CachedGraph(chain(), shared=shared).distances(PAIRS)
        client.flushall()
        assert not CachedGraph(chain(), shared=shared).answered(PAIRS).from_cache.any()
        assert CachedGraph(chain(), shared=shared).answered(PAIRS).from_cache.all()


def test_a_wrong_password_fails_no_request_and_is_never_logged(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    address = redis_server.address.replace(redis_server.password, "a-wrong-pass-word")
    with (
        contextlib.closing(shared_cache(address, timeout=PATIENT)) as shared,
        caplog.at_level(logging.DEBUG),
    ):
        graph = CachedGraph(chain(), shared=shared)
        assert graph.distances(PAIRS) == expected()
        assert shared.statistics.errors == 1
        assert "AuthenticationError" in caplog.text
        for secret in ("a-wrong-pass-word", redis_server.password):
            assert secret not in caplog.text + repr(shared) + repr(graph)


@contextlib.contextmanager
def impostor(reply: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that is no Redis, and answers each first message in its own way."""
    stop = threading.Event()

    def serve(server: socket.socket) -> None:
        server.settimeout(0.1)
        while not stop.is_set():
            try:
                peer = server.accept()[0]
            except TimeoutError:
                continue
            with peer, contextlib.suppress(OSError):
                peer.recv(100_000)
                reply(peer)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        serving = pool.submit(serve, server)
        try:
            yield f"redis://127.0.0.1:{server.getsockname()[1]}"
        finally:
            stop.set()
        serving.result(60)


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"*1\r\n$-1\r\n",
        b"$5\r\nabcde\r\n",
        b":7\r\n",
        b"+OK\r\n",
        b"-ERR no\r\n",
        b"\x00\xff\xfe\r\n",
        b"*190\r\n$99999999\r\nabc",
        b"",
    ],
)
def test_a_server_that_is_no_redis_fails_no_request(reply: bytes) -> None:
    clock = Clock()
    with (
        impostor(lambda peer: peer.sendall(reply)) as address,
        contextlib.closing(shared_cache(address, timeout=0.5, clock=clock)) as shared,
    ):
        for cut in (19, 3):
            graph = CachedGraph(chain(cut=cut), shared=shared)
            assert graph.distances(PAIRS) == chain(cut=cut).distances(PAIRS)
            clock.now += 3
        assert shared.statistics.reads == 0


def test_a_server_that_answers_in_small_pieces_is_left_alone() -> None:
    clock = Clock()

    def dribble(peer: socket.socket) -> None:
        for piece in [b"*50\r\n", *[b"$-1\r\n"] * 50]:
            clock.now += PATIENT / 20
            peer.sendall(piece)

    with (
        impostor(dribble) as address,
        contextlib.closing(shared_cache(address, timeout=PATIENT, clock=clock)) as shared,
    ):
        for _ in range(5):
            assert CachedGraph(chain(), shared=shared).distances(PAIRS[:50]) == expected()[:50]
        numbers = shared.statistics
        assert (numbers.reads, numbers.errors, numbers.reading) == (1, 1, False)


def test_nothing_listens() -> None:
    with contextlib.closing(shared_cache("redis://127.0.0.1:1", timeout=PATIENT)) as shared:
        for _ in range(100):
            assert CachedGraph(chain(), shared=shared).distances(PAIRS[:5]) == expected()[:5]
        assert shared.statistics.errors < 10


# Addresses


def test_a_unix_socket(redis_server: RedisServer) -> None:
    path = redis_server.home / "redis.sock"
    with contextlib.closing(shared_cache(f"unix://:{redis_server.password}@{path}", timeout=PATIENT)) as shared:
        shared.store("e" * 64, {"C0000001|C0000002": 4})
        assert shared.entries("e" * 64, ["C0000001|C0000002"]) == [4]
        assert repr(shared) == f"<RedisCache unix://{path}>"


def test_tls_with_the_right_and_the_wrong_authority(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("tls")
    authority, stranger = trustme.CA(), trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "certificate.pem"))
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    stranger.cert_pem.write_to_path(str(folder / "stranger.pem"))
    (port,) = free_ports(1)
    server = new_redis(
        tmp_path_factory,
        f"tls-port {port}",
        f"tls-cert-file {folder / 'certificate.pem'}",
        f"tls-key-file {folder / 'key.pem'}",
        f"tls-ca-cert-file {folder / 'authority.pem'}",
        "tls-auth-clients no",
    )
    with server:
        for name, works in [("authority.pem", True), ("stranger.pem", False)]:
            address = f"rediss://:{server.password}@127.0.0.1:{port}/0?ssl_ca_certs={folder / name}"
            with contextlib.closing(shared_cache(address, timeout=PATIENT)) as shared:
                shared.store("d" * 64, {"C0000001|C0000002": 4})
                assert shared.entries("d" * 64, ["C0000001|C0000002"]) == [4 if works else None]


@pytest.mark.parametrize(
    "address",
    ["", "localhost:6379", "http://localhost", "redis://:hid/den@localhost:6379", "redis://h:hidden@x:99999999"],
)
def test_what_is_no_address_is_refused_without_telling_its_password(address: str) -> None:
    with pytest.raises(InputError, match="not the address of a Redis server") as raised:
        shared_cache(address)
    assert "hid" not in str(raised.value)
