"""One request and its answer: headers in, the question through the admission, bytes and headers out."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

import cuihop
from cuihop.errors import GraphUnavailable, InputError, ReleaseMismatch
from cuihop_service.admission import Admission, RequestInfo
from cuihop_service.answers import Answer
from cuihop_service.callers import Caller, Scope
from cuihop_service.core import ConceptService
from cuihop_service.http_api.response_models import written
from cuihop_service.request_context import Cancelled, RequestContext

__all__ = [
    "CALLER",
    "PRIVATE_HEADERS",
    "SUBJECT",
    "Responder",
    "request_id_of",
    "request_info",
    "until_gone",
    "usable_request_id",
]

T = TypeVar("T")

CALLER = "cuihop_caller"
"""Key of the ASGI scope: who asks, where that was learnt before the body was read."""

SUBJECT = "cuihop_subject"
"""Key of the ASGI scope: the name in the certificate that the caller has shown."""

PRIVATE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Accept-Encoding"}
"""Headers of an answer to ``GET``: whoever keeps it asks before using it again."""

_JSON = "application/json"
_TIMEOUT_HEADER = "x-timeout-seconds"


class Responder:
    """Turns requests into questions and answers into responses.

    Args:
        core: who answers.
        admission: what every question passes.
    """

    def __init__(self, core: ConceptService, admission: Admission) -> None:
        self.core = core
        self.admission = admission

    async def answer(
        self,
        request: Request,
        operation: str,
        work: Callable[[RequestContext], Answer[T]],
        fields: Callable[[Answer[T]], Mapping[str, Any]],
        *,
        size: int = 1,
        scope: Scope = "read",
        quick: bool = False,
        release: str | None = None,
        question: Callable[[], Mapping[str, Any]] | None = None,
    ) -> Response:
        """The response to a question.

        Args:
            request: as it came.
            operation: its name.
            work: gives the answer.
            fields: turns the answer into what is written.
            size: pairs, concepts or sets in the question.
            scope: what the caller must have.
            quick: whether it is answered without a thread.
            release: the digest that the caller wants the answer from; None for whichever is served.
            question: gives the body's fields; None where the framework has read them, or where there is none.
        """
        known = request.headers.get("if-none-match") if request.method == "GET" else None

        def made(context: RequestContext) -> tuple[bytes | None, str]:
            served = self.core.holder.current
            if served is not None:
                _check_release(release, served.digest)
                if known is not None and (tag := self._tag(request, served.digest, context)) in known:
                    return None, tag
            answer = context.answer = work(context)
            _check_release(release, answer.digest)  # another one may have taken its place meanwhile
            return written(answer, fields(answer)), self._tag(request, answer.digest, context)

        if question is None and request.method != "GET":
            read = await request.json()  # the framework has read it before
            question = lambda: read  # noqa: E731 - half of it would be a signature
        info = self.request_info(request, operation, size=size, scope=scope, quick=quick, question=question)
        body, tag = await until_gone(request, self.admission.answer(info, made), quick=quick)
        headers = {"X-Request-Id": info.request_id}
        if request.method == "GET":
            headers |= PRIVATE_HEADERS
            headers["ETag"] = tag
            if release is not None:
                headers["Cache-Control"] = "private, max-age=31536000, immutable"
        else:
            headers["Cache-Control"] = "no-store"
        if body is None:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=_JSON)

    def request_info(
        self,
        request: Request,
        operation: str,
        *,
        size: int = 1,
        scope: Scope = "read",
        quick: bool = False,
        question: Callable[[], Mapping[str, Any]] | None = None,
    ) -> RequestInfo:
        """What the request tells of a question. Without the question's fields, they are the query string's.

        Raises:
            InputError: a time limit that is no number.
        """
        seconds = request.headers.get(_TIMEOUT_HEADER)
        return request_info(
            request,
            operation,
            seconds=None if seconds is None else _seconds(seconds),
            size=size,
            scope=scope,
            quick=quick,
            question=question or (lambda: dict(request.query_params)),
        )

    def tag(self, path: str, asked: str, digest: str, caller: Caller) -> str:
        """The ETag, which changes whenever another answer may come of the same request.

        Args:
            path: of the request.
            asked: its query string.
            digest: of the release that answers.
            caller: who asks.
        """
        told = f"{digest} {path} {asked} {self.core.sees_names(caller)} {cuihop.__version__}"
        return f'W/"{hashlib.sha256(told.encode()).hexdigest()[:32]}"'

    def _tag(self, request: Request, digest: str, context: RequestContext) -> str:
        scope = request.scope
        return self.tag(scope["path"], scope["query_string"].decode("latin-1"), digest, context.caller)


def request_info(request: Request, operation: str, **others: Any) -> RequestInfo:
    """The question as far as the head of its request goes: credentials, certificate, address, identifier.

    Args:
        request: as it came.
        operation: its name.
        others: further attributes of `RequestInfo`.
    """
    return RequestInfo(
        operation=operation,
        transport="http",
        credentials=request.headers.get("authorization"),
        request_id=request_id_of(request),
        trace=request.headers.get("traceparent"),
        subject=request.scope.get(SUBJECT),
        peer=None if request.client is None else request.client.host,
        caller=request.scope.get(CALLER),
        **others,
    )


def _check_release(asked: str | None, served: str) -> None:
    if asked is not None and asked != served:
        raise ReleaseMismatch(f"asked for release {asked}, and release {served} is served")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise InputError("no time limit", column=_TIMEOUT_HEADER, found=repr(text[:40]), expected="seconds above 0")
    return seconds


def request_id_of(request: Request) -> str:
    """The caller's own identifier of the request, or a new one. Always the same for one request."""
    known: str | None = request.scope.get("cuihop_request_id")
    if known is None:
        known = request.scope["cuihop_request_id"] = usable_request_id(request.headers.get("x-request-id", ""))
    return known


def usable_request_id(given: str) -> str:
    """The caller's identifier of a request where it is short and printable, or a new one."""
    usable = 0 < len(given) <= 128 and given.isascii() and given.isprintable()
    return given if usable else os.urandom(16).hex()


async def until_gone(request: Request, answer: Awaitable[T], *, quick: bool = False) -> T:
    """The answer; where the caller hangs up before it is made, the work is cancelled.

    Raises:
        Cancelled: nobody reads it.
        GraphUnavailable: the service stops.
        CuihopError: as the answer does.
    """
    if quick:
        return await answer
    task = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the time to drain is over
            raise GraphUnavailable("the service stops: ask again") from None
        if task.done():
            return await task
        task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            raise Cancelled("the caller hung up") from None  # no fault: nothing for the server to log
    finally:
        gone.cancel()
        task.cancel()


async def _hung_up(request: Request) -> None:
    """Returns when the connection ends. The body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
