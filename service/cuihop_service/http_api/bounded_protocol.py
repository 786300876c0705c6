"""HTTP as uvicorn reads it, with bounds that uvicorn lacks, and with the name in the caller's certificate.

Questions that `QuickDistance` answers at once are answered where their head has been read: neither a task nor a turn of
the event loop stands between, and head and body go out in one piece.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from cuihop_service.guard.certificates import subject_of
from cuihop_service.http_api.bodies_in import STREAMS
from cuihop_service.http_api.exchange import SUBJECT
from cuihop_service.http_api.quick_distance import PATH, QuickDistance

__all__ = ["BoundedHttp"]

_QUICK = f"{PATH}?".encode()


class BoundedHttp(HttpToolsProtocol):
    """One connection.

    A head that is too large or too long on its way, a body that trickles, and an answer that nobody takes end the
    connection: none of them may hold memory or a file descriptor for as long as a caller likes.
    """

    head_bytes = 65_536
    """Of the request line and all headers."""
    headers_allowed = 100
    """Headers in one request."""
    head_seconds = 10.0
    """From the connection, or from the head's first byte, to its last one."""
    body_seconds = 30.0
    """For a body, besides the time that it needs at the slowest rate."""
    slowest_rate = 1_000.0
    """Bytes of a body that must come a second, on average."""
    stream_seconds = 300.0
    """Between two pieces of a body without end."""
    answer_seconds = 60.0
    """For a caller to take any of an answer that fills the buffers."""
    connections_allowed = max(64, min(16_384, resource.getrlimit(resource.RLIMIT_NOFILE)[0] % 2**62) // 2)
    """At the same time, in one worker."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A caller has connected."""
        self._subject: str | None = None
        self._late_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._in_body = False
        self._moved = False
        self._too_large = self._at_once = False
        self._head = self._unfinished = self._headers = self._body = 0
        self._since = self._last = self.loop.time()
        super().connection_made(transport)
        if len(self.connections) > self.connections_allowed:
            transport.abort()
            return
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self._subject = subject_of(certificate)
        self._late_timer = self.loop.call_later(self.head_seconds, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        for timer in (self._late_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self._moved = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and not self._moved:
            self._unfinished += len(data)
            if self._unfinished > self.head_bytes:
                self._too_large = True
                self.send_400_response("")
                return
        if self._late_timer is None and (self._in_body or self._in_head or not self._moved):
            self._since = self._last = self.loop.time()
            self._late_timer = self.loop.call_later(
                self.body_seconds if self._in_body else self.head_seconds, self._late
            )

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = self._moved = True
        self._at_once = False
        self._head = self._unfinished = self._headers = 0
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[SUBJECT] = self._subject

    def on_url(self, url: bytes) -> None:
        """A piece of the request line has come."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come."""
        self._headers += 1
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head, self._in_body, self._moved, self._body = False, True, True, 0
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._late_timer = None
        if self.url.startswith(_QUICK) and self._answered_at_once():
            self._at_once = True
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._body += len(body)
        self._last = self.loop.time()
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._in_body, self._moved = False, True
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._late_timer = None
        if not self._at_once:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """The caller does not take the answer as fast as it is made."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The caller has taken some of it."""
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and end the connection."""
        if not self._too_large:
            super().send_400_response(msg)
        elif not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large")

    def _answered_at_once(self) -> bool:
        """Whether this was a question that is answered here and now. The answers before it must have been written."""
        app, parser, transport = self.app, self.parser, self.transport
        if not isinstance(app, QuickDistance) or self.flow.write_paused or transport.is_closing():
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        if parser.get_method() != b"GET" or parser.get_http_version() != "1.1" or not parser.should_keep_alive():
            return False
        told = app.at_once(self.url[len(_QUICK) :], cast("dict[str, Any]", self.scope))
        if told is None:
            return False
        written = [STATUS_LINE[told.status]]
        for name, value in (*self.server_state.default_headers, *told.headers):
            written += (name, b": ", value, b"\r\n")
        written += (b"\r\n", told.body)
        transport.write(b"".join(written))
        self.on_response_complete()
        return True

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > self.head_bytes or self._headers > self.headers_allowed:
            self._too_large = True
            raise ValueError("the head is too large")  # the parser stops, and `send_400_response` is called

    def _late(self) -> None:
        """What was due has not come in time, perhaps."""
        self._late_timer = None
        now = self.loop.time()
        if self.transport.is_closing():
            return
        if self._in_body:
            if self.flow.read_paused:  # it is this service that does not read
                self._since, self._last, self._body = now, now, 0
            due = self._since + self.body_seconds + self._body / self.slowest_rate
            if self.scope["path"] in STREAMS:
                due = self._last + self.stream_seconds
            if now < due:
                self._late_timer = self.loop.call_later(due - now, self._late)
                return
            self.transport.abort()
        elif self.cycle is not None and not self.cycle.response_complete:
            self._late_timer = self.loop.call_later(self.head_seconds, self._late)
        else:
            self._refuse(b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        self.transport.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
