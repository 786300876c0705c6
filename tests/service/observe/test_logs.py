"""Content of the log, and content that never enters it."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import grpc
import numpy as np
import pytest
import urllib3
from grpc._cython.cygrpc import ExecuteBatchError  # type: ignore[import-not-found,unused-ignore]
from hypothesis import given
from hypothesis import strategies as st

from cuihop.errors import ConceptNotFound, GraphUnavailable
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import running_service
from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.callers import Caller
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.guard.address_limits import AddressLimits, LineBudget
from cuihop_service.observe import logs
from cuihop_service.observe.logs import FROM_ADDRESS, LogStyle, RequestLog, configure_logs
from example_graph import example_graph
from waiting import wait_for

CONCEPTS = ("C0006121", "C0018670")
CREDENTIALS = "Bearer ch_5ecret5ecret5ecret"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\nINFO all is well\u2028\u202e\x00\x7f"


class Log(io.StringIO):
    """The text of the log, line by line."""

    @property
    def lines(self) -> list[str]:
        return self.getvalue().split("\n")[:-1]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def root() -> Iterator[None]:
    """The logging of the test run itself comes back afterwards."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):  # else it would report the lines left out in the log of the next test
            thread.cancel()
            thread.join()
    logger.handlers[:], logger.level = handlers, level
    logging.captureWarnings(False)


def log_to(style: LogStyle = "json") -> Log:
    stream = Log()
    configure_logs(style, stream)
    return stream


@pytest.fixture
def log(root: None) -> Log:
    return log_to()


@pytest.fixture
def one_second(root: None, monkeypatch: pytest.MonkeyPatch) -> Log:
    """A log whose second does not end, however slow the machine is."""
    monkeypatch.setattr(logs, "LineBudget", partial(LineBudget, clock=lambda: 0.0))
    return log_to()


def finished(reason: str = "OK", seconds: float = 0.002, **others: Any) -> RequestOutcome:
    info = RequestInfo("distances", "grpc", CREDENTIALS, others.pop("request_id", "r-1"), size=12)
    caller = Caller(others.pop("caller", "ward 3"), frozenset({"read"}))
    return RequestOutcome(info, caller, seconds, reason, "index", "d" * 64, **others)


def test_by_default_only_faults_and_slow_answers_leave_a_line(log: Log) -> None:
    requests = RequestLog(slow_seconds=0.5)
    for reason in ("OK", "CONCEPT_NOT_FOUND", "NOT_AUTHENTICATED", "RATE_LIMITED", "CANCELLED", "INVALID_INPUT"):
        requests.finished(finished(reason), None)
    assert log.lines == []
    requests.finished(finished(seconds=0.5), None)
    requests.finished(finished("TIMED_OUT", 30.0, detail="the answer took longer than allowed"), None)
    slow, fault = log.events
    assert {key: slow[key] for key in ("level", "logger", "event", "outcome", "milliseconds")} == {
        "level": "warning",
        "logger": "cuihop.requests",
        "event": "request",
        "outcome": "OK",
        "milliseconds": 500.0,
    }
    assert (fault["level"], fault["outcome"], fault["detail"]) == (
        "error",
        "TIMED_OUT",
        "the answer took longer than allowed",
    )


def test_every_question_leaves_a_line_where_that_is_switched_on(log: Log) -> None:
    requests = RequestLog()
    requests.finished(finished(), None)
    requests.every = True
    requests.finished(finished(), None)
    (line,) = log.events
    line.pop("time")
    assert line == {
        "level": "info",
        "logger": "cuihop.requests",
        "event": "request",
        "request_id": "r-1",
        "operation": "distances",
        "transport": "grpc",
        "outcome": "OK",
        "milliseconds": 2.0,
        "tier": "index",
        "size": 12,
        "caller": "ward 3",
    }


def test_a_flood_of_faults_is_counted_not_written(one_second: Log) -> None:
    log = one_second
    requests = RequestLog()
    for _ in range(1_000):
        requests.finished(finished("GRAPH_UNAVAILABLE", detail="away"), None)
    assert sum(line["event"] == "request" for line in log.events) == AddressLimits().log_lines
    logging.getLogger("cuihop.service").info("and now something of its own")
    assert "and now something of its own" in [line["event"] for line in log.events]
    assert left_out_of(log, 1_000) == 1_000 - AddressLimits().log_lines


def left_out_of(log: Log, caused: int) -> int:
    """Number of lines reported as left out, once all are accounted for."""

    def left_out() -> int:
        return sum(line.get("lines_left_out", 0) for line in log.events)

    wait_for(lambda: sum(line["logger"] != "cuihop.service" for line in log.events) + left_out() >= caused)
    return left_out()


def test_a_flood_of_lines_in_a_process_without_threads_left_fails_nobody(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", refused)
    for _ in range(100):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    assert 0 < len(log.lines) < 100


def test_every_question_is_written_where_that_is_wanted_however_many(log: Log) -> None:
    requests = RequestLog(every=True)
    for _ in range(200):
        requests.finished(finished("GRAPH_UNAVAILABLE", detail="away"), None)
    assert [line["event"] for line in log.events].count("request") == 200


@pytest.mark.parametrize("name", ["uvicorn.error", "grpc._cython.cygrpc", "asyncio", "cuihop.connections"])
def test_a_flood_of_lines_that_strangers_cause_is_counted(name: str, one_second: Log) -> None:
    log = one_second
    for _ in range(500):
        try:
            raise ValueError("no message")
        except ValueError:
            logging.getLogger(name).exception("bad")
    assert [line["event"] for line in log.events].count("bad") == AddressLimits().log_lines
    RequestLog().finished(finished("GRAPH_UNAVAILABLE", detail="away"), None)  # has a budget of its own
    assert [line.get("outcome") for line in log.events].count("GRAPH_UNAVAILABLE") == 1
    assert left_out_of(log, 501) == 500 - AddressLimits().log_lines


def test_one_address_does_not_take_all_lines(one_second: Log) -> None:
    log = one_second
    logger = logging.getLogger("cuihop.connections")
    for number in range(100):
        logger.warning("malformed", extra={FROM_ADDRESS: f"2001:db8::{number}"})  # one network
    for _ in range(3):
        logger.warning("malformed", extra={FROM_ADDRESS: "192.0.2.7"})
    addresses = [line["from_address"] for line in log.events]
    assert addresses.count("192.0.2.7") == 3
    assert len(addresses) - 3 == AddressLimits().address_log_lines


@pytest.mark.parametrize("style", ["json", "text"])
def test_nobody_writes_lines_or_talks_to_the_terminal(style: LogStyle, root: None) -> None:
    log = log_to(style)
    RequestLog(every=True).finished(finished(request_id=ESCAPES, caller=ESCAPES), None)
    logging.getLogger("uvicorn.error").error("bad header %s", ESCAPES)
    logging.getLogger("x").error("line", extra={"odd": [ESCAPES], "odder": ESCAPES.encode()})
    assert len(log.lines) == 3
    assert all(line.isprintable() for line in log.lines)


@given(st.text(max_size=200), st.sampled_from(["json", "text"]))
def test_whatever_is_logged_is_one_printable_line(text: str, style: LogStyle) -> None:
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    try:
        log = log_to(style)
        logging.getLogger("x").warning("%s", text, extra={"field": text})
    finally:
        logger.handlers[:], logger.level = handlers, level
        logging.captureWarnings(False)
    (line,) = log.lines
    assert line.isprintable()
    if style == "json" and text.isprintable():
        assert json.loads(line)["event"] == text
        assert json.loads(line)["field"] == text


def test_a_traceback_has_frames_and_types_and_no_messages(log: Log) -> None:
    try:
        try:
            raise KeyError(CONCEPTS[0])
        except KeyError as error:
            raise ValueError(f"the query image has {CONCEPTS}") from error
    except ValueError:
        logging.getLogger("cuihop.service").exception("a fault")
    (line,) = log.lines
    assert not any(cui in line for cui in CONCEPTS)
    trace_text = json.loads(line)["exception"]
    assert "ValueError" in trace_text
    assert "KeyError" in trace_text
    assert __file__ in trace_text


def test_warnings_and_the_loggers_of_the_servers_come_through(log: Log) -> None:
    for name in ("uvicorn.error", "grpc._cython.cygrpc", "opentelemetry.sdk"):
        logging.getLogger(name).warning("from %s", name)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", stacklevel=1)
    assert [line["logger"] for line in log.events] == [
        "uvicorn.error",
        "grpc._cython.cygrpc",
        "opentelemetry.sdk",
        "py.warnings",
    ]


def test_an_answer_that_came_too_late_for_its_caller_is_no_fault(log: Log) -> None:
    for message in ('Failed "execute_batch": (...)', "Failed grpc_call_start_batch: 8 with grpc_call_error value"):
        try:
            raise ExecuteBatchError(message)
        except ExecuteBatchError:
            logging.getLogger("grpc._cython.cygrpc").exception("raised in core")
    (line,) = log.events  # the call could not begin to be answered
    assert line["logger"] == "grpc._cython.cygrpc"


def test_deadlines_that_pass_while_an_answer_is_sent_leave_no_line(log: Log) -> None:
    graph = example_graph()
    outcomes = Counter[grpc.StatusCode]()
    with (
        running_service(ServedGraph(graph.release, index=graph)) as service,
        grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel,
        ThreadPoolExecutor(8) as callers,
    ):
        ask = pb_grpc.ConceptGraphServiceStub(channel).Distance  # type: ignore[no-untyped-call,unused-ignore]
        question = pb.DistanceRequest(a=CONCEPTS[0], b=CONCEPTS[1])

        def ask_within(seconds: float) -> grpc.StatusCode:
            try:
                ask(question, timeout=seconds)
            except grpc.RpcError as error:
                return error.code()  # type: ignore[no-any-return,attr-defined,unused-ignore]
            return grpc.StatusCode.OK

        outcomes.update(callers.map(ask_within, np.linspace(0.0002, 0.006, 800).tolist()))
    assert set(outcomes) <= {grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED}
    assert log.lines == []


class Faulty:
    """A graph whose database is away, or that is broken."""

    def __init__(self, error: Exception) -> None:
        graph = example_graph()
        self.release = graph.release
        self._error = error

    def _fail(self, *args: object, **options: object) -> Any:
        raise self._error

    distances = path = names = resolve = neighbours = search = concepts = pack = _fail

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (GraphUnavailable("bolt://db:7687: cannot be reached"), "GRAPH_UNAVAILABLE"),
        (KeyError(CONCEPTS[0]), "INTERNAL"),
        (ConceptNotFound(CONCEPTS, release="example"), "CONCEPT_NOT_FOUND"),
    ],
)
def test_no_log_holds_a_concept_or_a_credential(
    error: Exception, outcome: str, log: Log, capfd: pytest.CaptureFixture[str]
) -> None:
    graph: Any = Faulty(error)
    served = ServedGraph(graph.release, database=graph)
    with running_service(served, observer=RequestLog(every=True)) as service:
        headers = {"Authorization": CREDENTIALS, "X-Request-Id": "mine", "Connection": "close"}
        pool = urllib3.PoolManager(retries=False, timeout=300)
        url = f"{service.http}/v1/distance?a={CONCEPTS[0]}&b={CONCEPTS[1]}"
        assert pool.request("GET", url, headers=headers).status in (404, 500, 503)
        pool.request("POST", f"{service.http}/v1/relevance", json={"a": CONCEPTS, "b": CONCEPTS}, headers=headers)
        pool.request("POST", f"{service.http}/v1/relevance", body=f"{{ {CONCEPTS}", headers=headers)
        with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
            stub = pb_grpc.ConceptGraphServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
            with pytest.raises(grpc.RpcError):
                stub.Distance(
                    pb.DistanceRequest(a=CONCEPTS[0], b=CONCEPTS[1]),
                    metadata=(("authorization", CREDENTIALS), ("x-request-id", "mine")),
                )
    printed = capfd.readouterr()
    text = log.getvalue() + printed.out + printed.err
    for held in (*CONCEPTS, CREDENTIALS, CREDENTIALS.split()[1]):
        assert held not in text
    questions = [line for line in log.events if line["event"] == "request"]
    assert {(line["outcome"], line["transport"]) for line in questions} == {(outcome, "http"), (outcome, "grpc")}
    assert {line["request_id"] for line in questions} == {"mine"}


def test_the_configuration_suits_the_stream() -> None:
    program = "import logging; from cuihop_service.observe.logs import configure_logs; configure_logs(); "
    program += "logging.getLogger('x').info('hello')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert json.loads(done.stderr)["event"] == "hello"
