"""Questions that are answered past the framework: as the routes answer them, in their order, and never misread."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import re
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Asked
from cuihop_service.callers import ANONYMOUS, Caller, Rate
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Rates, SharedRates
from cuihop_service.http_api.quick_batches import even_batch
from cuihop_service.http_api.request_models import DistancesQuestion
from cuihop_service.worker import spare_collector
from example_graph import ISOLATED, UNKNOWN, example_graph

PATH = "/v1/distance?a=C0006121&b=C0018670"


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


def asked(service: RunningService, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Status, body and headers of the answer to a batch."""
    named = {"content-type": "application/json", "x-request-id": "7"} | headers
    url = f"{service.http}/v1/distances"
    told = urllib3.request("POST", url, body=body, headers=named, retries=False, decode_content=False)
    return told.status, told.data, sorted((n.lower(), v) for n, v in told.headers.items() if n.lower() != "date")


def test_answers_of_both_ways_come_in_the_order_of_their_questions(service: RunningService) -> None:
    """Four kinds of requests in one packet: answered at once, by the route, with a body, with an error."""
    body = b'{"pairs":[["C0006121","C0018670"],["C0042449","C0005847"]]}'
    begin, head = b"GET /v1/distance?a=C0006121&b=", b" HTTP/1.1\r\nHost: x\r\n"
    form = b"Content-Type: application/json\r\n"
    packet = [
        begin + b"C0006104" + head + b"\r\n",
        begin + b"C0018670" + head + b"X-Timeout-Seconds: 5\r\n\r\n",
        begin + b"C0926510" + head + b"\r\n",
        b"POST /v1/distances" + head + form + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        begin + UNKNOWN.encode() + head + b"\r\n",
        begin + b"C0006121" + head + b"Connection: close\r\n\r\n",
    ]  # fmt: skip
    got = b""
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=20) as connection:
        connection.sendall(b"".join(packet))
        while piece := connection.recv(65536):
            got += piece
    told = re.findall(rb'"hops":(\d+|\[.*?\])|"reason":"(\w+)"', got)
    found = [(hops or reason).decode() for hops, reason in told]
    assert found == ["1", "3", "2", "[3,1]", "CONCEPT_NOT_FOUND", "0"]


def test_who_asks_much_before_reading_anything_gets_every_answer(service: RunningService) -> None:
    questions = 5_000
    request = f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=20) as connection:
        sender = threading.Thread(target=connection.sendall, args=(request * questions,))
        sender.start()
        time.sleep(0.3)  # by now neither side's buffers take any more
        got = b""
        while got.count(b'"hops":3') < questions:
            piece = connection.recv(1 << 20)
            assert piece
            got += piece
        sender.join()
    assert got.count(b"HTTP/1.1 200 OK") == questions


CUIS = st.integers(0, 9_999_999).map("C{:07d}".format)


def body_of(pairs: list[tuple[str, str]], compact: bool, **bounds: object) -> bytes:
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps({"pairs": pairs, **bounds}, separators=separators).encode()


def as_json(body: bytes) -> tuple[list[tuple[str, str]], str, int | None] | None:
    """What the framework reads; None for what it refuses."""
    try:
        read = DistancesQuestion.model_validate_json(body)
    except ValueError:
        return None
    return list(read.pairs), read.direction, read.max_hops


@given(
    pairs=st.lists(st.tuples(CUIS, CUIS), min_size=1, max_size=6),
    compact=st.booleans(),
    direction=st.sampled_from([None, "any", "up", "down"]),
    max_hops=st.sampled_from([None, 0, 3, 999_999_999]),
)
def test_an_even_batch_is_read_as_json_is(
    pairs: list[tuple[str, str]], compact: bool, direction: str | None, max_hops: int | None
) -> None:
    bounds = ({} if direction is None else {"direction": direction}) | {"max_hops": max_hops}
    read = even_batch(body_of(pairs, compact, **bounds))
    assert read is not None
    assert (list(read.pairs), read.direction, read.max_hops) == (pairs, direction or "any", max_hops)
    assert [read.pairs[i] for i in range(len(pairs))] == pairs
    assert list(read.pairs[1:]) == pairs[1:]


@settings(max_examples=400)
@given(
    pairs=st.lists(st.tuples(CUIS, CUIS), min_size=1, max_size=3),
    compact=st.booleans(),
    place=st.integers(0, 10_000),
    new=st.binary(max_size=2),
    gone=st.integers(0, 2),
)
def test_a_body_that_departs_from_the_pattern_is_never_misread(
    pairs: list[tuple[str, str]], compact: bool, place: int, new: bytes, gone: int
) -> None:
    body = body_of(pairs, compact, direction="up", max_hops=12)
    place %= len(body)
    body = body[:place] + new + body[place + gone :]
    read = even_batch(body)
    if read is not None:
        assert (list(read.pairs), read.direction, read.max_hops) == as_json(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"pairs": []}',
        b'{"pairs": [["C0006121", "C0018670"],["C0006121", "C0018670"]]}',
        b'{"pairs": [["brain", "C0018670"]]}',
        b'{"pairs": [["C0006121", "C0018670"]], "max_hops": 01}',
        b'{"pairs": [["C0006121", "C0018670"]], "more": 1}',
        b'{"pairs": [["C0006121", "C0018670"]], "pairs": []}',
        b'{"pairs": [["C0006121", "C0018670"], ]}',
        b'{"pairs":\x0b[["C0006121", "C0018670"]]}',
        b'[["C0006121", "C0018670"]]',
        b'"]',
        b"",
    ],
)
def test_batches_that_are_left_to_the_documented_route(body: bytes) -> None:
    assert even_batch(body) is None


@pytest.mark.parametrize(
    "pairs",
    [
        [("C0006121", "C0018670"), (ISOLATED, "C0018670")],
        [("C9000901", "C0005847"), ("C0042449", "C0042449")],  # retired, with a successor
        [("C0006121", UNKNOWN), (UNKNOWN, "C9999998")],
        [("C9000902", "C0006121")],
    ],
)
@pytest.mark.parametrize("headers", [{}, {"accept-encoding": "gzip"}, {"x-timeout-seconds": "never"}])
def test_an_even_batch_is_answered_as_the_documented_route_answers(
    service: RunningService, pairs: list[tuple[str, str]], headers: dict[str, str]
) -> None:
    even = body_of(pairs * 400, compact=True, max_hops=5)
    uneven = even.replace(b'"pairs":', b'"pairs":' + b" " * 20)
    assert even_batch(even) is not None
    assert even_batch(uneven) is None
    short, documented = (asked(service, body, headers) for body in (even, uneven))
    assert short[:2] == documented[:2]
    assert short[2] == documented[2]
    assert asked(service, gzip.compress(even), headers | {"content-encoding": "gzip"})[:2] == short[:2]


class Elsewhere:
    """A guard that has to ask others about every question."""

    def __init__(self) -> None:
        self.admitted = 0

    async def caller(self, asked: Asked) -> Caller:
        await asyncio.sleep(0)
        return ANONYMOUS

    async def admit(self, caller: Caller, asked: Asked) -> None:
        await asyncio.sleep(0)
        self.admitted += 1

    def waits(self, asked: Asked) -> bool:
        return True


def test_a_guard_that_waits_is_asked_once_for_each_question() -> None:
    guard = Elsewhere()
    with running_service(example_graph(), guard=guard) as service:
        for _ in range(3):
            told = urllib3.request("GET", service.http + PATH, retries=False)
            assert told.json()["hops"] == 3
    assert guard.admitted == 3


def test_replicas_that_count_together_wait() -> None:
    alone, together = Rates(Rate()), Rates(Rate(), SharedRates("redis://127.0.0.1:1/0"))
    question = Asked("distance", "http")
    assert not ConfiguredGuard(rates=alone).waits(question)
    assert ConfiguredGuard(rates=together).waits(question)


def test_a_release_is_given_back_though_the_collector_is_spared(tmp_path: Path) -> None:
    """What the collector never looks at again must go without it."""
    example_graph().save(tmp_path / "graph.cuihop")
    graph = SnapshotGraph.open(tmp_path / "graph.cuihop")
    graph.warm_up()
    gone = weakref.ref(graph)
    try:
        spare_collector()
        assert gc.get_freeze_count() > 10_000
        del graph
        assert gone() is None
    finally:
        gc.unfreeze()
