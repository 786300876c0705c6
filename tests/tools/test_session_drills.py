"""The drills of sessions and of overload notice what is wrong."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from drills import overload
from drills.client import Client
from drills.overload import Question, Times, overloaded
from drills.session_history import Hops, Operation, broken_rules

from cuihop.remote.activation import Activation
from cuihop.remote.settings import RemoteSettings
from cuihop_server import RunningService, running_service
from cuihop_service.graph_holder import ServedGraph
from relay import Relay
from replica_callers import PAIR, Replica, activate, releases, running_replicas

A, B = "a" * 64, "b" * 64
FIRST, SECOND, THIRD = Activation.of(1, A), Activation.of(2, B), Activation.of(3, A)
TRUTH: dict[str, Hops] = {A: {("any", *PAIR): 1}, B: {("any", *PAIR): 2}}


def done(place: float, activation: Activation, hops: Sequence[int | None], client: str = "one") -> Operation:
    digest = A if activation.digest == A[:16] else B
    return Operation(client, place, place + 0.5, "any", [PAIR], digest, activation, hops)


def broken(*history: Operation) -> list[str]:
    return list(broken_rules(history, TRUTH, [FIRST, SECOND, THIRD]))


def test_a_history_without_a_fault_breaks_no_rule() -> None:
    assert broken(done(1, FIRST, [1]), done(2, SECOND, [2]), done(3, SECOND, [2]), done(4, THIRD, [1])) == []


def test_the_release_of_an_answer_decides_what_is_right() -> None:
    [text] = broken(done(1, FIRST, [1]), done(2, SECOND, [1]))
    assert text.endswith("1 in place of 2")
    assert "None in place of 1" in broken(done(1, FIRST, [None]))[0]
    assert "0 answers to 1 pairs" in broken(done(1, FIRST, []))[0]


def test_a_step_back_counts_within_one_client_only() -> None:
    [text] = broken(done(2, FIRST, [1]), done(1, SECOND, [2]))  # in the order of their beginnings
    assert "which is newer" in text
    assert broken(done(1, SECOND, [2], "one"), done(2, FIRST, [1], "other")) == []
    assert len(broken(done(1, THIRD, [1]), done(2, FIRST, [1]), done(3, SECOND, [2]))) == 1  # A again is no step back


def test_a_lost_operation_and_a_release_that_never_was_are_noticed() -> None:
    assert "neither an answer nor an error" in broken(Operation("one", 1, None, "any", [PAIR]))[0]
    other = done(1, FIRST, [1])._replace(digest="f" * 64)
    assert any("a release that was never made" in text for text in broken(other))
    assert any("was never made" in text for text in broken(done(1, Activation.of(9, A), [1])))
    assert any("was never made" in text for text in broken(done(1, FIRST, [1])._replace(activation=None)))


def test_few_failures_among_many_answers_are_allowed() -> None:
    failed = Operation("one", 0, 1, "any", [PAIR], failure="GraphUnavailable: away")
    answers = [done(place, FIRST, [1]) for place in range(1, 10_000)]
    assert broken(failed, *answers) == []
    [text] = broken(failed, *answers[:-1])
    assert text == "1 of 9999 operations failed, retries included: 1 times GraphUnavailable: away"


@pytest.fixture
def service() -> Iterator[RunningService]:
    with running_service(releases()[0]) as running:
        running.holder.activated(SECOND.number)
        yield running


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_client_writes_down_what_it_got(service: RunningService, scheme: str) -> None:
    client = Client(RemoteSettings(getattr(service, scheme), retry_time=0.0), scheme)
    one, two, three = releases()
    now = Activation.of(SECOND.number, one.release.digest)

    def asked() -> tuple[Operation, list[str]]:
        got = client.ask("any", [PAIR])
        return got, list(broken_rules([got], {one.release.digest: TRUTH[A]}, [now, THIRD]))

    assert asked()[1] == []
    assert client.ask("any", [PAIR], single=True).hops == [1]
    service.holder.serve(ServedGraph(three.release, index=three), THIRD)
    assert any("a release that was never made" in text for text in asked()[1])
    service.holder.serve(ServedGraph(two.release, index=two), Activation.of(1, B))
    assert asked()[0].failure.startswith("ReleaseBehind")
    client.close()
    assert asked()[0].failure
    assert client.attempts == 5 or scheme == "http"


def test_a_relay_cuts_slows_and_falls_silent_until_it_is_healed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()

        def echo(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                while data := connection.recv(100):
                    connection.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        relay = Relay("127.0.0.1", server.getsockname()[1])

        def opened() -> socket.socket:
            return socket.create_connection(("127.0.0.1", relay.port), timeout=30)

        def answer(connection: socket.socket) -> bytes:
            connection.sendall(b"a")
            return connection.recv(100)

        with opened() as first:
            assert answer(first) == b"a"
            relay.delay(0.01)
            assert answer(first) == b"a"
            relay.half_open()
            relay.heal()
            with opened() as second:
                assert answer(second) == b"a"
                first.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    answer(first)
                relay.cut()
                assert ended(second)
            with opened() as third:
                assert ended(third)
        relay.heal()
        with opened() as fourth:
            assert answer(fourth) == b"a"
            relay.close()
            assert ended(fourth)
        server.shutdown(socket.SHUT_RDWR)


def ended(connection: socket.socket) -> bool:
    with suppress(ConnectionError):
        return connection.recv(100) == b""
    return True


@pytest.mark.slow
def test_a_wrong_answer_a_starved_client_and_what_is_not_given_back_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, graph = tmp_path / "graph.cuihop", releases()[0]
    activate(graph, store)
    replica = Replica(store, tmp_path / "replica", ("--proxies", "127.0.0.1"))
    many = 4_000  # pairs: asked for single ones, this process would be overloaded before the service
    right, wrong = Question([PAIR] * many, [1] * many), Question([PAIR] * many, [2] * many)
    times = Times(0.3, 3.0, 5.0)
    with running_replicas([replica]):
        found = overloaded(replica, graph.release.digest, [right], random.Random(1), times)
        assert (found.wrong, found.tried > 0) == ([], True)
        asked = overload.Tally.ask
        starved = "client 3, grpc"
        monkeypatch.setattr(overload, "_BACK_SECONDS", 0.2)
        monkeypatch.setattr(overload, "_BY_CHANCE", 1e-4)  # a short overload
        monkeypatch.setattr(
            overload.Tally, "ask", lambda tally, client, one: client.name != starved and asked(tally, client, one)
        )
        texts = overloaded(replica, graph.release.digest, [*[right] * 4, wrong], random.Random(1), times).wrong
        assert any("a wrong answer" in text for text in texts)
        assert [text.split(":")[0] for text in texts if "in the second half" in text] == [starved]
        assert len(list(overload._left(replica, overload._Usage(0, -100, -(1 << 40), 0.0)))) == 3
