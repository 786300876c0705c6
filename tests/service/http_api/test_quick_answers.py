"""Answers past the framework, and batches as keys: as the documented way gives them, and in the order of requests."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import re
import socket
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import ANONYMOUS, Caller, Rate
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Rates, SharedRates
from cuihop_service.http_api.quick_distance import QuickDistance
from cuihop_service.keyed_pairs import KeyedPairs, parsed_batch
from cuihop_service.worker import spare_collector
from example_graph import ISOLATED, UNKNOWN, example_graph
from waiting import wait_until_still

PATH = "/v1/distance?a=C0006121&b=C0018670"


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


def answer_to(
    service: RunningService, body: bytes, headers: dict[str, str]
) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Status, body and headers of the answer to a batch."""
    headers = {"content-type": "application/json", "x-request-id": "7"} | headers
    url = f"{service.http}/v1/distances"
    answer = urllib3.request("POST", url, body=body, headers=headers, retries=False, decode_content=False, timeout=300)
    return answer.status, answer.data, sorted((n.lower(), v) for n, v in answer.headers.items() if n.lower() != "date")


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
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        connection.sendall(b"".join(packet))
        while piece := connection.recv(65536):
            got += piece
    answers = re.findall(rb'"hops":(\d+|\[.*?\])|"reason":"(\w+)"', got)
    found = [(hops or reason).decode() for hops, reason in answers]
    assert found == ["1", "3", "2", "[3,1]", "CONCEPT_NOT_FOUND", "0"]


def test_a_caller_who_sends_much_before_reading_gets_every_answer(service: RunningService) -> None:
    requests = 5_000
    request = f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", service.http_port), timeout=300) as connection:
        sent: list[int] = []

        def send() -> None:
            content = memoryview(request * requests)
            while sum(sent) < len(content):
                sent.append(connection.send(content[sum(sent) :]))

        sender = threading.Thread(target=send)
        sender.start()
        wait_until_still(lambda: len(sent))  # neither side's buffers take any more
        got = b""
        while got.count(b'"hops":3') < requests:
            piece = connection.recv(1 << 20)
            assert piece
            got += piece
        sender.join()
    assert got.count(b"HTTP/1.1 200 OK") == requests


CUIS = st.integers(0, 9_999_999).map("C{:07d}".format)
IDENTIFIERS = CUIS | st.text('C01.é"\\,[]', max_size=10) | st.text('C01"\\,[]\x00', min_size=8, max_size=8)


@given(pairs=st.lists(st.tuples(CUIS, CUIS) | st.tuples(IDENTIFIERS, IDENTIFIERS), max_size=6))
def test_pairs_as_keys_are_the_same_pairs(pairs: list[tuple[str, str]]) -> None:
    keyed = KeyedPairs.of(pairs)
    plain = all(len(cui) == 8 and cui.isascii() and json.dumps(cui) == f'"{cui}"' for pair in pairs for cui in pair)
    assert (keyed is not None) == (bool(pairs) and plain)
    if keyed is not None:
        assert list(keyed) == pairs
        assert [keyed[i] for i in range(len(pairs))] == pairs
        assert list(keyed[1:]) == pairs[1:]


SPACES = st.sampled_from(["", " ", "  ", "\n"])


@given(
    pairs=st.lists(st.tuples(CUIS, CUIS) | st.tuples(IDENTIFIERS, IDENTIFIERS), max_size=6),
    others=st.dictionaries(
        st.sampled_from(["max_hops", "pairs", "within_sabs"]), st.none() | st.lists(CUIS), max_size=2
    ),
    comma=SPACES,
    colon=SPACES,
    cut=st.integers(-3, 3),
)
def test_a_batch_in_plain_form_is_read_as_json(
    pairs: list[tuple[str, str]], others: dict[str, Any], comma: str, colon: str, cut: int
) -> None:
    """Keys that stand twice, other fields, spaces, and bodies that are cut or go on."""
    fields = [("pairs", pairs), *others.items(), ("x", {"pairs": pairs} if cut == 2 else "a, b")]
    texts = [f"{json.dumps(n)}:{colon}{json.dumps(v, separators=(',' + comma, ':' + colon))}" for n, v in fields]
    body = ("{" + ",".join(texts) + "}" + "]" * (cut == 3)).encode()
    body = body[: cut or None] if cut < 0 else body
    batch = parsed_batch(body)
    if batch is None:
        return
    expected = json.loads(body)
    assert list(batch) == list(expected)
    assert [list(pair) for pair in batch.pop("pairs")] == expected.pop("pairs")
    assert batch == expected


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_batches_as_clients_write_them_are_in_plain_form(separators: tuple[str, str]) -> None:
    pairs = [["C0006121", "C0018670"], ["C0042449", "C0005847"]]
    body = json.dumps({"direction": "up", "pairs": pairs, "max_hops": 3}, separators=separators)
    batch = parsed_batch(body.encode())
    assert batch is not None
    assert [list(pair) for pair in batch["pairs"]] == pairs
    for other in ("C00061\t1", "C0006121\\n", "C000612é", "C00, 6121", 'C00","21'):
        assert parsed_batch(body.replace("C0006121", other).encode()) is None
    for other in ("C00, 121", "C00,6121", "C00 6121"):
        assert parsed_batch(body.replace("C0006121", other).encode())["pairs"][0] == (other, "C0018670")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | CUIS | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(CUIS, inner, max_size=2) | st.lists(CUIS, max_size=3)
        ),
    )
)
def test_other_values_are_no_keys(value: Any) -> None:
    pairs = isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) and len(end) == 8 for end in pair)
        for pair in value
    )
    assert pairs or KeyedPairs.of(value) is None


@pytest.mark.parametrize(
    "pairs",
    [
        [("C0006121", "C0018670"), (ISOLATED, "C0018670")],
        [("C9000901", "C0005847"), ("C0042449", "C0042449")],  # retired, with a successor
        [("C0006121", UNKNOWN), (UNKNOWN, "C9999998")],
        [("C9000902", "C0006121")],
    ],
)
def test_a_batch_is_answered_as_single_requests_are(service: RunningService, pairs: list[tuple[str, str]]) -> None:
    body = json.dumps({"pairs": pairs * 400, "max_hops": 5}).encode()
    status, answer, headers = answer_to(service, body, {})
    packed = answer_to(service, gzip.compress(body), {"content-encoding": "gzip"})
    assert packed == (status, answer, headers)
    singles = [
        urllib3.request("GET", f"{service.http}/v1/distance?a={a}&b={b}&max_hops=5", retries=False, timeout=300)
        for a, b in pairs
    ]
    assert status == max(single.status for single in singles)
    if status == 200:
        assert json.loads(answer)["hops"] == [single.json()["hops"] for single in singles] * 400
    else:
        faults = {fault["cui"] for single in singles if single.status != 200 for fault in single.json()["faults"]}
        assert {fault["cui"] for fault in json.loads(answer)["faults"]} == faults


def test_the_short_way_is_tried_once(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []
    response = QuickDistance.response

    def noted(self: QuickDistance, scope: Any) -> Any:
        tried.append(scope["query_string"])
        return response(self, scope)

    monkeypatch.setattr(QuickDistance, "response", noted)
    for query in ("a=C0006121&b=C0018670", "b=C0018670&a=C0006121", "a=brain&b=C0018670"):
        urllib3.request("GET", f"{service.http}/v1/distance?{query}", retries=False, timeout=300)
    assert len(tried) == 3


class Elsewhere:
    """A guard that has to wait for every request."""

    def __init__(self) -> None:
        self.admitted = 0

    async def caller(self, info: RequestInfo) -> Caller:
        await asyncio.sleep(0)
        return ANONYMOUS

    async def admit(self, caller: Caller, info: RequestInfo) -> None:
        await asyncio.sleep(0)
        self.admitted += 1

    def waits(self, info: RequestInfo) -> bool:
        return True


def test_a_guard_that_waits_counts_each_request_once() -> None:
    guard = Elsewhere()
    with running_service(example_graph(), guard=guard) as service:
        for _ in range(3):
            answer = urllib3.request("GET", service.http + PATH, retries=False, timeout=300)
            assert answer.json()["hops"] == 3
    assert guard.admitted == 3


def test_replicas_that_count_together_wait() -> None:
    alone, together = Rates(Rate()), Rates(Rate(), SharedRates("redis://127.0.0.1:1/0"))
    info = RequestInfo("distance", "http")
    assert not ConfiguredGuard(rates=alone).waits(info)
    assert ConfiguredGuard(rates=together).waits(info)


@pytest.mark.slow
def test_a_release_is_given_back_though_the_collector_is_spared(tmp_path: Path) -> None:
    """Objects that the collector never visits again are freed without it."""
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
