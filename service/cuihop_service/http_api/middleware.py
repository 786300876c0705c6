"""ASGI middleware, from the outermost: security headers, host names, authentication, bounds on bodies."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuihop.errors import CuihopError, InputError, LimitExceeded
from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop_service.admission import SMALL, Admission, no_turn
from cuihop_service.core import ConceptService
from cuihop_service.http_api.operation_route import PlainBatches
from cuihop_service.http_api.problems import problem_response
from cuihop_service.http_api.responder import (
    BEGUN,
    CALLER,
    SESSION,
    headers_of,
    request_id_of,
    request_info,
    time_limit,
)
from cuihop_service.request_context import ReleaseSession

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of every answer that does not set them itself."""

AGENTS_PATH = "/mcp"
"""Path of the tools for language-model agents."""

FHIR_PATH = "/fhir"
"""Path of the operations of FHIR."""

STREAMS = ("/v1/distances/stream",)
"""Paths whose bodies have no end."""

_SMALLEST_COMPRESSED = 2048  # bytes of an answer
_HOSTS = 100  # with their ports
_GUARDED = ("/v1/", AGENTS_PATH, FHIR_PATH)
_IN_TURN = ("/v1/", FHIR_PATH)


def compressing(app: ASGIApp) -> GZipMiddleware:
    """The application, its answers compressed for callers who accept gzip."""
    return GZipMiddleware(app, minimum_size=_SMALLEST_COMPRESSED, compresslevel=4)


def with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers, and those of `SECURITY_HEADERS` that are not among them."""
    own = list(headers)
    names = {name.lower() for name, _ in own}
    return own + [header for header in SECURITY_HEADERS if header[0] not in names]


class AnswerHeaders:
    """Adds `SECURITY_HEADERS` to every answer, and the activation of the release that it comes from.

    ``HEAD`` is answered as ``GET`` is, without the body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        session = scope[SESSION] = ReleaseSession()
        head = scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].startswith(AGENTS_PATH)

        async def sending(message: Message) -> None:
            if head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            if message["type"] == "http.response.start":
                message["headers"] = with_security_headers(message["headers"])
                if session.served is not None:
                    message["headers"].append((ACTIVATION_HEADER.encode(), str(session.served).encode()))
            await send(message)

        await self._app({**scope, "method": "GET"} if head else scope, receive, sending)


class AllowedHosts:
    """Refuses other values of ``Host`` with a problem document.

    Pages elsewhere must not make a browser use this service. The check is the framework's, whose own answer is plain
    text; the first values that pass it are remembered.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._passed: set[bytes | None] = set()
        self._check = TrustedHostMiddleware(_no_application, list(hosts), www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        host = headers_of(scope).get(b"host")
        if host in self._passed:
            await self._app(scope, receive, send)
            return
        refused: list[Message] = []

        async def refuse(message: Message) -> None:
            refused.append(message)

        await self._check(scope, receive, refuse)
        if not refused:
            if len(self._passed) < _HOSTS:
                self._passed.add(host)
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        error = InputError(
            "this service has another name",
            column="host",
            found=repr(request.headers.get("host", ""))[:80],
            expected="a name of the setting hosts",
        )
        await problem_response(error, request_id_of(request))(scope, receive, send)


async def _no_application(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand-in for the application where only the check is wanted."""


class AuthenticateFirst:
    """Authenticates a caller before the body is read: strangers get no memory and time for a large one."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        guarded = scope["type"] == "http" and scope["path"].startswith(_GUARDED)
        if guarded and scope["method"] not in ("GET", "HEAD"):
            try:
                info = request_info(Request(scope), "unread")
                scope[CALLER] = await self._admission.identified(info)
            except CuihopError as error:
                await problem_response(error, request_id_of(Request(scope)))(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Turns:
    """Lets large bodies wait for their turn: see `Admission.turn_of`. Plain batches go past the framework."""

    def __init__(self, app: ASGIApp, core: ConceptService, admission: Admission, batches: PlainBatches) -> None:
        self._app = app
        self._batches = batches
        self._holder = core.holder
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        path, began = scope.get("path", ""), time.monotonic()
        if path in STREAMS or not path.startswith(_IN_TURN) or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        failure: CuihopError | None = None
        leave: Callable[[], None] = no_turn

        async def read_again() -> Message:
            if messages:
                return messages.pop(0)
            if failure is not None:
                raise failure
            return await receive()

        async def sending(message: Message) -> None:
            leave()
            await send(message)

        try:
            while not messages or messages[-1].get("more_body"):
                messages.append(await receive())
        except CuihopError as error:  # for who asks for the body
            failure = error
        body = b"".join(message.get("body", b"") for message in messages)
        try:
            if len(body) > SMALL and failure is None:
                try:
                    leave = await self._turn(Request(scope), began)
                except CuihopError as error:
                    await problem_response(error, request_id_of(Request(scope)))(scope, receive, send)
                    return
                if await _has_gone(receive):
                    return
            response = None
            if failure is None and messages[-1]["type"] == "http.request":
                try:
                    response = await self._batches.response(scope, body, receive)
                except CuihopError as error:
                    response = problem_response(error, request_id_of(Request(scope)))
            if response is None:
                await self._app(scope, read_again, sending)
            elif b"gzip" in headers_of(scope).get(b"accept-encoding", b""):
                await compressing(response)(scope, receive, sending)
            else:
                if len(response.body) >= _SMALLEST_COMPRESSED:
                    response.headers.add_vary_header("Accept-Encoding")
                await response(scope, receive, sending)
        finally:
            leave()

    async def _turn(self, request: Request, began: float) -> Callable[[], None]:
        """Wait for the turn of a request that began then, by the limit of the caller; else it begins now."""
        seconds = None
        with suppress(InputError):  # the answer says so
            seconds = time_limit(request)
        request.scope[BEGUN] = time.monotonic() if seconds is None else began
        return await self._admission.turn_of(request_info(request, "unread", seconds=seconds), self._holder.indexed)


async def _has_gone(receive: Receive) -> bool:
    """True if the caller, whose request has been read, has hung up already."""
    message = asyncio.ensure_future(receive())
    await asyncio.sleep(0)
    return not message.cancel()


class BodyLimits:
    """Refuses bodies above ``most`` bytes, also those that grow above it when unpacked.

    ``Content-Encoding: gzip`` is understood. A stream has no size: its reader bounds the lines.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        encoding = dict(scope["headers"]).get(b"content-encoding", b"identity").lower()
        stream = scope["path"] in STREAMS
        understood = (b"identity",) if stream else (b"gzip", b"identity")
        unpacker = None
        if encoding == b"gzip" and not stream:
            unpacker = zlib.decompressobj(wbits=31)
            others = [h for h in scope["headers"] if h[0] not in (b"content-encoding", b"content-length")]
            scope = {**scope, "headers": others}
        size = packed = 0

        async def bounded() -> Message:
            nonlocal size, packed
            message = await receive()
            if message["type"] != "http.request":
                return message
            if encoding not in understood:
                raise InputError(
                    "unknown content encoding", column="content-encoding", found=repr(encoding.decode("latin-1"))[:60],
                    expected=b" or ".join(understood).decode(),
                )  # fmt: skip
            body = message.get("body", b"")
            packed += len(body)
            if packed > self._most and not stream:  # a gzip of nothing has no end either
                raise LimitExceeded(f"the body is too large; this service allows {self._most:,} bytes")
            if unpacker is not None:
                try:
                    body = unpacker.decompress(body, self._most + 1)
                except zlib.error as error:
                    raise InputError("the body is not gzip", column="body", found=str(error)) from None
                if unpacker.unused_data:  # it would be held in memory, however much there is
                    raise InputError("the body is not gzip", column="body", found="more after its end")
                if unpacker.unconsumed_tail:
                    size = self._most + 1
                elif not message.get("more_body") and not unpacker.eof:
                    raise InputError("the body is not gzip", column="body", found="its end is missing")
            size += len(body)
            if size > self._most and not stream:
                raise LimitExceeded(f"the body is too large; this service allows {self._most:,} bytes")
            return {**message, "body": body}

        await self._app(scope, bounded, send)
