"""Logs: one JSON object a line, or readable text on a terminal. Everything that logs goes through here.

A line never holds a concept list, a credential or a parameter of Cypher. Text chosen by a caller (request ids, names of
tokens) cannot start a new line, nor control a terminal: every character that is not printable is escaped. A traceback
has its frames and the type of the error, not its message, which may repeat the request.

Lines that callers can cause, as malformed requests, failed handshakes and faults do, are bounded each second, for one
address and in all (`cuihop_service.guard.address_limits`); a line afterwards has the number of those left out.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import traceback
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Literal, TextIO

import orjson
import structlog
from structlog.typing import Processor

from cuihop_service.admission import Observer, RequestOutcome
from cuihop_service.guard.address_limits import AddressLimits, LineBudget

FROM_ADDRESS = "from_address"
"""Attribute of a record: the address that caused the line."""

UNBOUNDED = "unbounded"
"""Attribute of a record: True exempts the line from the bounds."""

FAULTS_OF_THE_SERVICE = frozenset({"INTERNAL", "GRAPH_UNAVAILABLE", "GRAPH_UNUSABLE", "TIMED_OUT"})
"""Outcomes that concern the operator; every other one is an answer, or the caller's own doing."""

_WITH_DETAIL = FAULTS_OF_THE_SERVICE - {"INTERNAL"}
"""Outcomes whose message is the service's own and repeats nothing of the request."""

LogStyle = Literal["auto", "json", "text"]

Event = MutableMapping[str, Any]

_LONGEST = 2_000

_OWN = ("cuihop.service", "cuihop.guard")
"""Loggers of the service's own life. Callers cause none of their lines but tracebacks."""

_REPORT_SECONDS = 1.5
_requests_log = logging.getLogger("cuihop.requests")


def configure_logs(style: LogStyle = "auto", stream: TextIO | None = None, limits: AddressLimits | None = None) -> None:
    """Send all logs of the process to one stream; ``auto`` is text on a terminal, JSON elsewhere."""
    limits = limits or AddressLimits()
    stream = sys.stderr if stream is None else stream
    text = style == "text" or (style == "auto" and stream.isatty())
    if text:
        render: Processor = structlog.dev.ConsoleRenderer(colors=stream.isatty(), sort_keys=False)
    else:
        render = structlog.processors.JSONRenderer(
            serializer=lambda event, **_: orjson.dumps(event, default=str).decode()
        )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _trace_id,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                _frames_only,
                _printable,
                render,
            ],
        )
    )
    handler.addFilter(_is_news)
    handler.addFilter(_BoundedLines(limits))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name, level in (
        ("uvicorn", logging.WARNING),  # the service logs its starts and stops itself
        ("grpc", logging.WARNING),
        ("neo4j", logging.ERROR),  # the driver's retries: the service reports a database that is away
        ("opentelemetry", logging.WARNING),
        ("mcp", logging.ERROR),  # it warns of headers that callers send
    ):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
        logger.setLevel(level)


class RequestLog(Observer):
    """An `Observer` that writes faults of the service and slow answers, or everything.

    The lines a second are bounded, unless every request leaves one. A caller's own mistakes are no news for the log:
    metrics count them, and the audit log has refusals.
    """

    def __init__(self, *, every: bool = False, slow_seconds: float = 1.0) -> None:
        self.every = every
        self.slow_seconds = slow_seconds

    def finished(self, outcome: RequestOutcome, token: object) -> None:
        """See `Observer`."""
        is_fault = outcome.reason in FAULTS_OF_THE_SERVICE
        slow = outcome.seconds >= self.slow_seconds
        if not (self.every or is_fault or slow):
            return
        info = outcome.info
        fields: dict[str, object] = {
            "request_id": info.request_id,
            "operation": info.operation,
            "transport": info.transport,
            "outcome": outcome.reason,
            "milliseconds": round(outcome.seconds * 1000, 3),
            "tier": outcome.tier,
            "size": info.size,
            "caller": None if outcome.caller is None else outcome.caller.name,
        }
        if outcome.reason in _WITH_DETAIL:
            fields["detail"] = outcome.detail
        fields[UNBOUNDED] = self.every
        level = logging.ERROR if is_fault else logging.WARNING if slow else logging.INFO
        _requests_log.log(level, "request", extra=fields)


def _is_news(record: logging.LogRecord) -> bool:
    """False for a failure of gRPC to send an answer to a caller whose deadline had just passed, or who had gone.

    gRPC leaves these out itself, but for those that fail before it has noticed that the call is over. An operation that
    could not begin is a fault of the service, and stays.
    """
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__name__ != "ExecuteBatchError" or str(error).startswith("Failed grpc_call_start_batch")


class _BoundedLines(logging.Filter):
    """Leaves out lines above the budget, and reports their number. Requests have a budget of their own."""

    def __init__(self, limits: AddressLimits) -> None:
        super().__init__()
        self._budget, self._requests = (LineBudget(limits.address_log_lines, limits.log_lines) for _ in range(2))
        self._report: threading.Timer | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide on a line: true to write it."""
        address = getattr(record, FROM_ADDRESS, None)
        if record.__dict__.pop(UNBOUNDED, False) or (record.name in _OWN and not record.exc_info):
            return True
        budget = self._requests if record.name == _requests_log.name else self._budget
        if not budget.has_room(address):
            if self._report is None or not self._report.is_alive():
                self._report = threading.Timer(_REPORT_SECONDS, self._write_number)
                self._report.daemon = True
                with contextlib.suppress(RuntimeError):  # no thread left: the next line tries again
                    self._report.start()
            return False
        return True

    def _write_number(self) -> None:
        number = self._budget.take_left_out() + self._requests.take_left_out()
        if number:
            fields = {UNBOUNDED: True, "lines_left_out": number}
            logging.getLogger("cuihop.service").warning("too many lines: some were left out", extra=fields)


def _trace_id(logger: Any, method: str, event: Event) -> Event:
    """Add the trace of the line, where traces are on."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            event["trace_id"] = f"{span.trace_id:032x}"
    return event


def _frames_only(logger: Any, method: str, event: Event) -> Event:
    """Reduce a traceback to frames and types, without the messages of its errors."""
    raised = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if raised is True:
        raised = sys.exc_info()
    error = raised[1] if isinstance(raised, tuple) else raised
    if isinstance(error, BaseException):
        event["exception"] = _frames(error)
    return event


def _frames(error: BaseException) -> str:
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None and len(parts) < 5:
        frames: TracebackType | None = link.__traceback__
        lines = "".join(traceback.format_tb(frames, limit=-20))
        parts.append(f"{lines}{type(link).__module__}.{type(link).__qualname__}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\nduring\n".join(parts)


def _printable(logger: Any, method: str, event: Event) -> Event:
    """Escape control characters and cut long text. Only tracebacks have several lines."""
    first = {key: event.pop(key) for key in ("time", "level", "logger", "event") if key in event}
    event = {**first, **event}
    for key, value in event.items():
        if key == "exception":
            event[key] = "\n".join("    " + _escaped(line) for line in str(value).splitlines())
        elif isinstance(value, str):
            event[key] = _escaped(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")
        elif not isinstance(value, (int, float, bool, type(None))):
            event[key] = _escaped(str(value)[:_LONGEST])
    return event


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)
