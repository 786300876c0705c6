"""uvicorn's HTTP protocol with bounds that it lacks, and with the name in the caller's certificate.

Requests that `QuickDistance` answers are answered as soon as their head has been read: a task and a turn of the event
loop would take half as long again.

The class relies on private attributes of uvicorn's protocol: pyproject.toml bounds uvicorn's version.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import httptools
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from cuihop.errors import GraphUnavailable, InputError
from cuihop_service.guard.address_limits import HEAD_SECONDS, AddressCount, network_of
from cuihop_service.http_api.middleware import STREAMS, with_security_headers
from cuihop_service.http_api.problems import other_response, problem_response
from cuihop_service.http_api.quick_distance import ASKED, PATH, QuickDistance, QuickResponse
from cuihop_service.http_api.responder import SUBJECT, usable_request_id
from cuihop_service.observe.logs import FROM_ADDRESS

_QUICK = f"{PATH}?".encode()
_VERSIONS = ("1.0", "1.1")

_CROWDED = GraphUnavailable("too many connections: close some, or try again in a moment")

_log = logging.getLogger("cuihop.connections")


class BoundedHttp(HttpToolsProtocol):
    """One connection.

    A head that is too large or too slow, a body that trickles, and an answer that is not read end the connection: none
    of them may hold memory or a file descriptor for as long as a caller likes. Every refusal is a problem document, as
    everywhere else.

    Args:
        connections, heads: counts of all connections on the port, and of those that have not sent a whole head.
        quick: answers plain requests for one distance; None leaves all to the application.
        begun: called when the connection is there, before it is counted.
    """

    head_bytes = 65_536
    """Of the request line and all headers."""
    headers_allowed = 100
    """Headers in one request."""
    head_seconds = HEAD_SECONDS
    """From the connection, or from the head's first byte, to its last one."""
    body_seconds = 30.0
    """For a body, besides the time that it needs at the slowest rate."""
    slowest_rate = 1_000.0
    """Bytes of a body that must come a second, on average."""
    stream_seconds = 300.0
    """Between two pieces of a body without end."""
    answer_seconds = 60.0
    """For a caller to read any of an answer that fills the buffers."""

    def __init__(
        self,
        *,
        connections: AddressCount,
        heads: AddressCount,
        quick: QuickDistance | None = None,
        begun: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._quick = quick
        self._begun = begun
        self._connections_held = connections
        self._heads_held = heads
        self._holds_connection = self._holds_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the bounds of a new connection."""
        self._subject: str | None = None
        self._late_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._in_body = False
        self._moved = False
        self._at_once = False
        self._refusal: Response | None = None
        self._head = self._unfinished = self._headers = self._body = 0
        self._since = self._last = self.loop.time()
        super().connection_made(transport)
        if self._begun is not None:
            self._begun()
        self._network = network_of(self.client[0] if self.client else "")
        self._holds_connection = self._connections_held.enter(self._network)
        self._holds_head = self._holds_connection and self._heads_held.enter(self._network)
        if not self._holds_head:
            self._refuse(problem_response(_CROWDED, self._request_id()))
            return
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self._subject = subject_of(certificate)
        self._late_timer = self.loop.call_later(self.head_seconds, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back the places of the connection."""
        for timer in (self._late_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
        if self._holds_head:
            self._heads_held.leave(self._network)
        if self._holds_connection:
            self._connections_held.leave(self._network)
        self._holds_connection = self._holds_head = False
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn lets it run after a reset, and it holds all of the connection

    def data_received(self, data: bytes) -> None:
        """Parse bytes from the caller."""
        if self.transport.is_closing():
            return
        self._moved = False
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to an unknown protocol: the request is answered as it stands
            pass
        except httptools.HttpParserError as error:
            self._refuse(self._refusal or self._malformed(str(error)))
        if self.transport.is_closing():
            return
        if self._in_head and not self._moved:
            self._unfinished += len(data)
            if self._unfinished > self.head_bytes:
                self._refuse(self._head_too_large())
                return
        if self._late_timer is None and (self._in_body or self._in_head or not self._moved):
            self._since = self._last = self.loop.time()
            self._late_timer = self.loop.call_later(
                self.body_seconds if self._in_body else self.head_seconds, self._late
            )

    def on_message_begin(self) -> None:
        """Start a request."""
        self._in_head = self._moved = True
        self._at_once = False
        self._head = self._unfinished = self._headers = 0
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[SUBJECT] = self._subject

    def on_url(self, url: bytes) -> None:
        """Count a piece of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._headers += 1
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer a plain request, or hand the request to the application."""
        self._in_head, self._in_body, self._moved, self._body = False, True, True, 0
        if self._holds_head:
            self._holds_head = False
            self._heads_held.leave(self._network)
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._late_timer = None
        if self.url.startswith(_QUICK) and (response := self._quick_response()) is not None:
            status, headers, body = response
            self._at_once = True
            self.transport.write(bytes_of(status, (*self.server_state.default_headers, *headers), body))
            self.on_response_complete()
            return
        self._check_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a piece of the body."""
        self._body += len(body)
        self._last = self.loop.time()
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        self._in_body, self._moved = False, True
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._late_timer = None
        if not self._at_once:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Start the time that a slow reader is given."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that time: the caller has read some of the answer."""
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
        super().resume_writing()

    def _quick_response(self) -> QuickResponse | None:
        """The response to a plain request; None where earlier answers come first, or the application answers it."""
        parser = self.parser
        if self._quick is None or self.flow.write_paused or self.transport.is_closing():
            return None
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        if parser.get_method() != b"GET" or parser.get_http_version() != "1.1" or not parser.should_keep_alive():
            return None
        scope = cast("dict[str, Any]", self.scope)
        scope |= {"query_string": self.url[len(_QUICK) :], ASKED: True}  # uvicorn sets the query again
        return self._quick.response(scope)

    def _check_head(self) -> None:
        """Refuse another version of HTTP, and a head without exactly one ``Host``."""
        version = self.parser.get_http_version()
        hosts = [value for name, value in self.headers if name == b"host"]
        if version not in _VERSIONS:
            detail = f"HTTP/{version} is not spoken here: HTTP/1.1 is"
            self._refusal = other_response(505, "INVALID_INPUT", detail, self._request_id())
        elif len(hosts) != 1 and (hosts or version != "1.0"):
            error = InputError("not one Host", column="host", found=f"{len(hosts)} of them", expected="one")
            self._refusal = problem_response(error, self._request_id())
        if self._refusal is not None:
            self._in_body = False
            raise ValueError("the head is refused")  # the parser stops, and `data_received` goes on

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > self.head_bytes or self._headers > self.headers_allowed:
            self._refusal = self._head_too_large()
            raise ValueError("the head is too large")  # the parser stops, and `data_received` goes on

    def _late(self) -> None:
        """End the connection if the head or the body is overdue."""
        self._late_timer = None
        now = self.loop.time()
        if self.transport.is_closing():
            return
        if self._in_body:
            if self.flow.read_paused:  # the service itself does not read
                self._since, self._last, self._body = now, now, 0
            due = self._since + self.body_seconds + self._body / self.slowest_rate
            if self.scope["path"] in STREAMS:
                due = self._last + self.stream_seconds
            if now < due:
                self._late_timer = self.loop.call_later(due - now, self._late)
                return
            self._refuse(self._too_late("body"))
        elif self.cycle is not None and not self.cycle.response_complete:
            self._late_timer = self.loop.call_later(self.head_seconds, self._late)
        else:
            self._refuse(self._too_late("head"))

    def _refuse(self, response: Response) -> None:
        """Send a refusal, unless an answer is on its way already, and end the connection."""
        under_way = None if self.cycle is None or self.cycle.response_complete else self.cycle
        if under_way is not None and not self._in_body:
            under_way.keep_alive = False  # the answer to the earlier request comes first, and is the last
            self.flow.pause_reading()
        elif under_way is not None and under_way.response_started:
            self.transport.abort()
        else:
            self.transport.write(message_of(response, self.server_state.default_headers))
            self.transport.close()

    def _malformed(self, problem: str) -> Response:
        _log.warning("malformed request", extra={FROM_ADDRESS: self.client[0] if self.client else None})
        error = InputError("not an HTTP request", column="request", found=problem[:100], expected="HTTP/1.1 (RFC 9112)")
        return problem_response(error, self._request_id())

    def _head_too_large(self) -> Response:
        detail = (
            f"the head is too large; this service allows {self.head_bytes:,} bytes and {self.headers_allowed} headers"
        )
        return other_response(431, "LIMIT_EXCEEDED", detail, self._request_id())

    def _too_late(self, part: str) -> Response:
        return other_response(408, "TIMED_OUT", f"the {part} of the request did not come in time", self._request_id())

    def _request_id(self) -> str:
        return usable_request_id(dict(self.headers or ()).get(b"x-request-id", b"").decode("latin-1"))


def message_of(response: Response, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The bytes of a response that ends its connection, with more headers."""
    all_headers = (*headers, *with_security_headers(response.raw_headers), (b"connection", b"close"))
    return bytes_of(response.status_code, all_headers, bytes(response.body))


def bytes_of(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes:
    """The bytes of a response."""
    pieces = [STATUS_LINE[status]]
    for name, value in headers:
        pieces += (name, b": ", value, b"\r\n")
    pieces += (b"\r\n", body)
    return b"".join(pieces)


def subject_of(certificate: Mapping[str, Any]) -> str | None:
    """The name in a certificate as `ssl.SSLSocket.getpeercert` gives it: the common name, else the first other name."""
    for part in certificate.get("subject", ()):
        for kind, value in part:
            if kind == "commonName" and isinstance(value, str):
                return value
    for _, value in certificate.get("subjectAltName", ()):
        if isinstance(value, str):
            return value
    return None
