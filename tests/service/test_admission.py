"""Admission of requests: room, time, and callers who hang up."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt
import pytest

from cuihop import SnapshotGraph
from cuihop.errors import ConceptNotFound, NotAllowed, NotAuthenticated, QueryTimedOut, RateLimited
from cuihop.graph import ConceptGraph, Direction, Path
from cuihop.resources.compilation import compilation_begins, compilation_ends
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission, Observer, RequestInfo, RequestOutcome
from cuihop_service.callers import ANONYMOUS, Caller
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, Cancelled, RequestContext
from example_graph import example_graph
from service_askers import GrpcAsker, HttpAsker, Refused
from waiting import wait_for

QUESTION = RequestInfo("distance", "test")


class Kept(Observer):
    """An observer that keeps everything."""

    def __init__(self) -> None:
        self.all: list[RequestOutcome] = []

    def started(self, info: RequestInfo) -> RequestInfo:
        return info

    def finished(self, outcome: RequestOutcome, token: Any) -> None:
        assert token is outcome.info
        self.all.append(outcome)

    def waiting(self, running: int, waiting: int) -> None:
        assert running >= 0
        assert waiting >= 0


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


def test_a_quick_answer_and_a_slow_one_are_accounted_for() -> None:
    outcomes = Kept()

    async def ask() -> None:
        admission = Admission(Limits(), ConfiguredGuard(), outcomes)
        answer = Answer(3, "d" * 64, "index", {})
        assert await admission.answer(RequestInfo("distance", "test", quick=True), lambda context: answer) is answer
        assert await admission.answer(QUESTION, lambda context: answer) is answer
        admission.close()

    run(ask)
    assert [(f.reason, f.tier, f.caller) for f in outcomes.all] == [("OK", "index", ANONYMOUS)] * 2
    assert all(f.seconds > 0 for f in outcomes.all)


def test_an_error_is_accounted_for_by_its_reason() -> None:
    outcomes = Kept()

    def fail(context: RequestContext) -> None:
        raise ConceptNotFound(["C1234567"], release="r")

    def break_down(context: RequestContext) -> None:
        raise ZeroDivisionError

    async def ask() -> None:
        admission = Admission(Limits(), ConfiguredGuard(), outcomes)
        with pytest.raises(ConceptNotFound):
            await admission.answer(QUESTION, fail)
        with pytest.raises(ZeroDivisionError):
            await admission.answer(QUESTION, break_down)
        admission.close()

    run(ask)
    assert [f.reason for f in outcomes.all] == ["CONCEPT_NOT_FOUND", "INTERNAL"]


def test_who_may_not_is_refused_before_the_work() -> None:
    outcomes = Kept()

    class NobodyKnown:
        def caller(self, info: RequestInfo) -> Caller:
            if info.credentials is None:
                raise NotAuthenticated("no key")
            return Caller("ann", frozenset({"read"}))

        def admit(self, caller: Caller, info: RequestInfo) -> None:
            raise RateLimited("too many", retry_after=2.0)

        def waits(self, info: RequestInfo) -> bool:
            return False

    def never(context: RequestContext) -> None:
        raise AssertionError("worked for somebody who may not")

    async def ask() -> None:
        admission = Admission(Limits(), NobodyKnown(), outcomes)
        with pytest.raises(NotAuthenticated):
            await admission.answer(QUESTION, never)
        with pytest.raises(NotAllowed, match="'ann' lacks the scope 'names'"):
            await admission.answer(RequestInfo("search", "test", credentials="x", scope="names"), never)
        with pytest.raises(RateLimited):
            await admission.answer(RequestInfo("distance", "test", credentials="x"), never)
        admission.close()

    run(ask)
    assert [f.reason for f in outcomes.all] == ["NOT_AUTHENTICATED", "NOT_ALLOWED", "RATE_LIMITED"]


def test_a_guard_may_have_to_ask_elsewhere_first() -> None:
    outcomes = Kept()

    class Elsewhere:
        async def caller(self, info: RequestInfo) -> Caller:
            await asyncio.sleep(0)
            if info.credentials is None:
                raise NotAuthenticated("no key")
            return Caller("ann", frozenset({"read"}))

        async def admit(self, caller: Caller, info: RequestInfo) -> None:
            await asyncio.sleep(0)
            if info.size > 1:
                raise RateLimited("too many", retry_after=2.0)

        def waits(self, info: RequestInfo) -> bool:
            return True

    async def ask() -> None:
        admission = Admission(Limits(), Elsewhere(), outcomes)
        with pytest.raises(NotAuthenticated):
            await admission.identified(QUESTION)
        assert (
            await admission.answer(
                RequestInfo("distance", "test", credentials="x"), lambda context: context.caller.name
            )
            == "ann"
        )
        with pytest.raises(RateLimited):
            await admission.answer(RequestInfo("distance", "test", credentials="x", size=2), lambda context: None)
        authenticated = Caller("bob", frozenset({"read"}))
        assert (
            await admission.answer(
                RequestInfo("distance", "test", caller=authenticated), lambda context: context.caller.name
            )
            == "bob"
        )
        admission.close()

    run(ask)
    assert [f.reason for f in outcomes.all] == ["NOT_AUTHENTICATED", "OK", "RATE_LIMITED", "OK"]


def test_what_needs_no_turn_of_the_loop_is_refused_and_accounted_for_alike() -> None:
    outcomes = Kept()

    class Readers:
        def caller(self, info: RequestInfo) -> Caller:
            if info.credentials is None:
                raise NotAuthenticated("no key")
            return Caller("ann", frozenset({"read"}))

        def admit(self, caller: Caller, info: RequestInfo) -> None:
            if info.size > 1:
                raise RateLimited("too many", retry_after=2.0)

        def waits(self, info: RequestInfo) -> bool:
            return False

    def fail(context: RequestContext) -> None:
        raise ValueError("a fault")

    async def ask() -> None:
        admission = Admission(Limits(), Readers(), outcomes)
        assert (
            admission.at_once(RequestInfo("distance", "test", credentials="x"), lambda context: context.caller.name)
            == "ann"
        )
        refusals: list[tuple[type[Exception], RequestInfo]] = [
            (NotAuthenticated, QUESTION),
            (NotAllowed, RequestInfo("search", "test", credentials="x", scope="names")),
            (RateLimited, RequestInfo("distance", "test", credentials="x", size=2)),
            (ValueError, RequestInfo("distance", "test", credentials="x")),
        ]
        for error, info in refusals:
            with pytest.raises(error):
                admission.at_once(info, fail)
        admission.close()

    run(ask)
    assert [f.reason for f in outcomes.all] == ["OK", "NOT_AUTHENTICATED", "NOT_ALLOWED", "RATE_LIMITED", "INTERNAL"]
    assert outcomes.all[0].caller == Caller("ann", frozenset({"read"}))


def test_no_more_questions_at_a_time_than_allowed_and_no_more_waiting() -> None:
    limits = Limits(running=2, waiting=1)
    release = threading.Event()
    at_work: list[int] = []
    most = 0

    def work(context: RequestContext) -> str:
        nonlocal most
        at_work.append(1)
        most = max(most, len(at_work))
        release.wait(60)
        at_work.pop()
        return "done"

    async def ask() -> None:
        admission = Admission(limits, ConfiguredGuard())
        tasks = [asyncio.create_task(admission.answer(QUESTION, work)) for _ in range(3)]
        while admission.running < 2:
            await asyncio.sleep(0)
        with pytest.raises(RateLimited, match="2 requests are being answered and 1 wait"):
            await admission.answer(QUESTION, work)
        release.set()
        assert await asyncio.gather(*tasks) == ["done"] * 3
        admission.close()

    run(ask)
    assert most == 2


def test_turns_come_oldest_first_and_newest_first_once_the_oldest_has_spent_half_its_time() -> None:
    outcomes, order = Kept(), list[str]()

    async def ask() -> None:
        admission = Admission(Limits(), ConfiguredGuard(), outcomes)

        async def wait(name: str, spent: float) -> None:
            await admission.turn(RequestInfo("unread", "test", begun=time.monotonic() - spent))
            order.append(name)
            admission.end_turn()

        for spent in (1.0, 20.0):  # of 30
            assert admission.turn_at_once(1)
            assert not admission.turn_at_once(1)
            turns = [asyncio.create_task(wait(f"{name} {spent:g}", spent)) for name in ("first", "second", "third")]
            await asyncio.sleep(0)
            admission.end_turn()
            await asyncio.gather(*turns)
        assert admission.turn_at_once(1), "every turn was given back"
        admission.close()

    run(ask)
    assert order == ["first 1", "second 1", "third 1", "third 20", "second 20", "first 20"]
    assert outcomes.all == []  # the outcome is that of the answer


def test_a_turn_is_lost_to_nobody_whose_time_is_over_or_who_has_gone() -> None:
    outcomes = Kept()

    async def ask() -> None:
        admission = Admission(Limits(), ConfiguredGuard(), outcomes)
        assert admission.turn_at_once(1)
        late = RequestInfo("unread", "test", seconds=1, begun=time.monotonic() - 1)
        with pytest.raises(QueryTimedOut, match="too busy to begin in time"):
            await admission.turn(late)
        gone, last = (asyncio.create_task(admission.turn(RequestInfo("unread", "test"))) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        admission.end_turn()  # before the one that has gone notices
        await last
        admission.end_turn()
        given = asyncio.create_task(admission.turn(RequestInfo("unread", "test")))
        await asyncio.sleep(0)
        admission.end_turn()
        given.cancel()  # when its turn has come
        await asyncio.wait({gone, given})
        assert admission.turn_at_once(1)
        admission.close()

    run(ask)
    assert [outcome.reason for outcome in outcomes.all] == ["TIMED_OUT", "CANCELLED", "CANCELLED"]


def test_a_request_that_waits_for_room_too_long_times_out() -> None:
    release = threading.Event()

    async def ask() -> None:
        admission = Admission(Limits(running=1), ConfiguredGuard())
        first = asyncio.create_task(admission.answer(QUESTION, lambda context: release.wait(60)))
        while not admission.running:
            await asyncio.sleep(0)
        with pytest.raises(QueryTimedOut, match="too busy"):
            await admission.answer(RequestInfo("distance", "test", seconds=0.05), lambda context: None)
        release.set()
        await first
        assert await admission.answer(QUESTION, lambda context: "room again") == "room again"
        admission.close()

    run(ask)


def test_work_that_is_overdue_is_told_to_stop_and_keeps_its_room_until_it_does() -> None:
    stopped = threading.Event()

    def work(context: RequestContext) -> None:
        try:
            while True:
                context.check()
                stopped.wait(0.005)
        finally:
            stopped.set()

    async def ask() -> None:
        admission = Admission(Limits(running=1), ConfiguredGuard())
        with pytest.raises(QueryTimedOut):
            await admission.answer(RequestInfo("distances", "test", seconds=0.05), work)
        while admission.running:  # also where its time was over before it began
            await asyncio.sleep(0)
        assert await admission.answer(QUESTION, lambda context: "room again") == "room again"
        assert admission.running == 0
        admission.close()

    run(ask)


def test_the_compilation_of_code_does_not_count_but_what_follows_does() -> None:
    """A first request after an install waited longer for its code, on a busy machine, than an answer may take."""

    def work(context: RequestContext) -> str:
        compilation_begins()
        try:
            wait_for(lambda: time.monotonic() > context.ends + 0.1)
        finally:
            compilation_ends()
        context.check()
        return "compiled"

    def slow(context: RequestContext) -> None:
        work(context)
        while True:
            context.check()

    async def ask() -> None:
        admission = Admission(Limits(seconds=0.3), ConfiguredGuard())
        assert await admission.answer(QUESTION, work) == "compiled"
        with pytest.raises(QueryTimedOut):
            await admission.answer(QUESTION, slow)
        admission.close()

    run(ask)


def test_the_service_own_limit_holds_where_the_caller_would_wait_longer() -> None:
    over = threading.Event()

    async def ask() -> None:
        admission = Admission(Limits(seconds=0.05), ConfiguredGuard())
        with pytest.raises(QueryTimedOut):
            await admission.answer(RequestInfo("distance", "test", seconds=60.0), lambda context: over.wait(60))
        over.set()
        admission.close()

    run(ask)


# Over sockets


class SlowGraph(SnapshotGraph):
    """Gives paths once it may, and takes its time over each part of a batch: no real graph is slow on demand."""

    begun = threading.Event()
    may_answer = threading.Event()
    parts = 0

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        self.begun.set()
        self.may_answer.wait(60)
        return super().path(a, b, direction=direction, max_hops=max_hops, which=which)

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Any:
        pairs = list(pairs)
        self.dawdle(len(pairs))
        return super().distances(pairs, direction=direction, max_hops=max_hops)

    def distances_of_keys(
        self, keys: npt.NDArray[np.uint64], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Any:
        self.dawdle(len(keys) // 2)
        return super().distances_of_keys(keys, direction=direction, max_hops=max_hops)

    def dawdle(self, pairs: int) -> None:
        if pairs > 100:
            self.begun.set()
            type(self).parts += 1
            threading.Event().wait(0.1)


@pytest.fixture(scope="module")
def slow() -> Iterator[tuple[RunningService, Kept]]:
    graph: ConceptGraph = SlowGraph(example_graph().sections)
    outcomes = Kept()
    assert isinstance(graph, SlowGraph)
    with running_service(ServedGraph(graph.release, index=graph), observer=outcomes) as service:
        yield service, outcomes


def test_a_deadline_of_grpc_ends_the_work(slow: tuple[RunningService, Kept]) -> None:
    service, outcomes = slow
    outcomes.all.clear()
    SlowGraph.parts = 0
    stub = GrpcAsker(service).stub
    batch = pb.DistancesRequest(packed=pb.PackedPairs(a=[6121] * 90_000, b=[18670] * 90_000))
    with pytest.raises(grpc.RpcError) as refused:
        stub.Distances(batch, timeout=0.25)
    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    wait_for(lambda: bool(outcomes.all) and service.admission.running == 0)
    assert SlowGraph.parts < 22
    assert outcomes.all[0].reason in ("CANCELLED", "TIMED_OUT")


def test_a_call_that_is_cancelled_ends_the_work(slow: tuple[RunningService, Kept]) -> None:
    service, outcomes = slow
    outcomes.all.clear()
    SlowGraph.parts = 0
    SlowGraph.begun.clear()
    stub = GrpcAsker(service).stub
    batch = pb.DistancesRequest(packed=pb.PackedPairs(a=[6121] * 90_000, b=[18670] * 90_000))
    future = stub.Distances.future(batch)
    SlowGraph.begun.wait(60)
    future.cancel()
    wait_for(lambda: bool(outcomes.all) and service.admission.running == 0)
    assert SlowGraph.parts < 22
    assert outcomes.all[0].reason == "CANCELLED"


def test_a_caller_of_http_who_hangs_up_ends_the_work(slow: tuple[RunningService, Kept]) -> None:
    service, outcomes = slow
    outcomes.all.clear()
    SlowGraph.parts = 0
    SlowGraph.begun.clear()
    pair = b'["C0006121","C0018670"]'
    body = b'{"pairs":[' + b",".join([pair] * 90_000) + b"]}"
    with socket.create_connection(("127.0.0.1", service.http_port)) as connection:
        connection.sendall(
            b"POST /v1/distances HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        SlowGraph.begun.wait(60)
    wait_for(lambda: bool(outcomes.all) and service.admission.running == 0)
    assert SlowGraph.parts < 22
    assert outcomes.all[0].reason == "CANCELLED"


def test_a_time_limit_of_http(slow: tuple[RunningService, Kept]) -> None:
    service, _ = slow
    SlowGraph.may_answer.clear()
    asker = HttpAsker(service)
    pool: Any = asker._pool
    url = f"{service.http}/v1/path?a=C0006121&b=C0018670"
    response = pool.request("GET", url, headers={"X-Timeout-Seconds": "0.1"})
    assert (response.status, response.json()["reason"]) == (504, "TIMED_OUT")
    SlowGraph.may_answer.set()
    response = pool.request("GET", url, headers={"X-Timeout-Seconds": "soon"})
    assert (response.status, response.json()["field"]) == (400, "x-timeout-seconds")
    asker.close()


def test_slow_answers_do_not_hold_up_quick_ones(slow: tuple[RunningService, Kept]) -> None:
    service, _ = slow
    SlowGraph.may_answer.clear()
    asker = HttpAsker(service)
    with ThreadPoolExecutor(4) as pool:
        paths = [pool.submit(HttpAsker(service).path, "C0006121", "C0018670") for _ in range(4)]
        SlowGraph.begun.wait(60)
        for _ in range(5):
            assert asker.distance("C0006121", "C0018670")["hops"] == 3
        assert not any(path.done() for path in paths)
        SlowGraph.may_answer.set()
        assert all(path.result()["path"] for path in paths)
    asker.close()


def test_too_many_at_once_are_asked_to_come_back() -> None:
    graph = SlowGraph(example_graph().sections)
    limits = Limits(running=1, waiting=0)
    with (
        running_service(ServedGraph(graph.release, index=graph), limits=limits) as service,
        ThreadPoolExecutor(4) as pool,
    ):
        for make in (HttpAsker, GrpcAsker):
            SlowGraph.begun.clear()
            SlowGraph.may_answer.clear()
            first = pool.submit(HttpAsker(service).path, "C0006121", "C0018670")
            SlowGraph.begun.wait(60)
            with pytest.raises(Refused) as refused:
                make(service).path("C0006121", "C0018670")
            assert (refused.value.reason, refused.value.details["retry_after"]) == ("RATE_LIMITED", 1.0)
            SlowGraph.may_answer.set()
            assert first.result()["path"]


def test_cancelled_is_no_error_of_the_table() -> None:
    with pytest.raises(Cancelled, match="has gone"):
        RequestContext(cancelled=True).check()
