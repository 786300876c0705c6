"""One HTTP request and its response: headers in, admission, bytes and headers out."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope as ASGIScope

import cuihop
from cuihop.answer_fields import fields_of
from cuihop.errors import GraphUnavailable, InputError, ReleaseMismatch
from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop_service.admission import Admission, RequestInfo
from cuihop_service.callers import Caller, Scope
from cuihop_service.core import ConceptService
from cuihop_service.http_api.operation_route import parsed
from cuihop_service.request_context import Answer, Cancelled, ReleaseSession, RequestContext

T = TypeVar("T")

CALLER = "cuihop_caller"
"""Key of the ASGI scope: the caller, authenticated before the body was read."""

BEGUN = "cuihop_begun"
"""Key of the ASGI scope: when a request had come that waited for its turn, on the clock of `time.monotonic`."""

SESSION = "cuihop_session"
"""Key of the ASGI scope: the `ReleaseSession` of the request, whose activation is a header of the answer."""

SUBJECT = "cuihop_subject"
"""Key of the ASGI scope: the name in the caller's certificate."""

PRIVATE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Accept-Encoding"}
"""Headers of an answer to ``GET``: a cache revalidates it before each use."""

_HEADERS = "cuihop_headers"
_ACTIVATION = ACTIVATION_HEADER.encode()
_JSON = "application/json"
_TIMEOUT_HEADER = "x-timeout-seconds"
_TIMEOUT = _TIMEOUT_HEADER.encode()
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{0,20})?", re.ASCII)


def written(answer: Answer[Any], fields: Mapping[str, Any]) -> bytes:
    """An answer as JSON, with its origin."""
    codes = {} if answer.codes is None else {"codes": [fields_of(code) for code in answer.codes]}
    return orjson.dumps(
        {**fields, **codes, "merged": dict(answer.merged), "release": answer.digest, "tier": answer.tier},
        option=orjson.OPT_SERIALIZE_NUMPY,
    )


class Responder:
    """From HTTP requests to calls of the core, and from its answers to responses."""

    def __init__(self, core: ConceptService, admission: Admission) -> None:
        self.core = core
        self.admission = admission

    def within(self, sabs: Sequence[str]) -> Responder:
        """Responses that count only edges which some of these vocabularies assert; all edges for none."""
        return Responder(self.core.within(sabs), self.admission) if sabs else self

    async def answer(
        self,
        request: Request,
        operation: str,
        job: Callable[[RequestContext], Answer[T]],
        fields: Callable[[T], Mapping[str, Any]],
        *,
        size: int = 1,
        scope: Scope = "read",
        quick: bool = False,
        release: str | None = None,
        content: Callable[[], Mapping[str, Any]] | None = None,
    ) -> Response:
        """The response to a request.

        Args:
            release: digest of the release that the caller demands; None for any.
            content: of the request, for the audit; by default its body, or its query string.
        """
        tags = request.headers.get("if-none-match") if request.method == "GET" else None

        def body_and_tag(context: RequestContext) -> tuple[bytes | None, str]:
            if tags is not None or release is not None:
                with self.core.lent(context) as served:
                    _check_release(release, served.digest)
                    if tags is not None and (tag := self._tag(request, served.digest, context)) in tags:
                        return None, tag
            answer = context.answer = job(context)
            _check_release(release, answer.digest)  # it may have been exchanged meanwhile
            tag = self._tag(request, answer.digest, context) if request.method == "GET" else ""
            return None if tags == "*" else written(answer, fields(answer.value)), tag

        if content is None and request.method != "GET":
            body = await request.body()  # read before
            content = lambda: parsed(body)  # noqa: E731 - half of it would be a signature
        info = self.request_info(request, operation, size=size, scope=scope, quick=quick, content=content)
        answer, tag = await until_gone(request, self.admission.answer(info, body_and_tag), quick=quick)
        headers = {"X-Request-Id": info.request_id}
        if request.method == "GET":
            headers |= PRIVATE_HEADERS
            headers["ETag"] = tag
            if release is not None:
                headers["Cache-Control"] = "private, max-age=31536000, immutable"
        else:
            headers["Cache-Control"] = "no-store"
        if answer is None:
            return Response(status_code=304, headers=headers)
        return Response(answer, headers=headers, media_type=_JSON)

    def request_info(
        self,
        request: Request,
        operation: str,
        *,
        content: Callable[[], Mapping[str, Any]] | None = None,
        **others: Any,
    ) -> RequestInfo:
        """The request's description. Without ``content`` its content is the query string.

        Raises:
            InputError: a time limit that is not a number, or a malformed activation.
        """
        return request_info(
            request,
            operation,
            seconds=time_limit(request),
            content=content or (lambda: _query_parameters(request)),
            **others,
        )

    def tag(self, path: str, query: str, digest: str, caller: Caller) -> str:
        """The ETag, which changes whenever the same request may have another answer."""
        content = f"{digest} {path} {query} {self.core.sees_names(caller)} {cuihop.__version__}"
        return f'W/"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'

    def _tag(self, request: Request, digest: str, context: RequestContext) -> str:
        scope = request.scope
        return self.tag(scope["path"], scope["query_string"].decode("latin-1"), digest, context.caller)


def request_info(request: Request, operation: str, **others: Any) -> RequestInfo:
    """The description of a request by its head; `InputError` for a malformed activation."""
    scope = request.scope
    session: ReleaseSession = scope.get(SESSION) or scope.setdefault(SESSION, ReleaseSession())
    session.read(_header(scope, _ACTIVATION))
    client = scope.get("client")
    return RequestInfo(
        operation=operation,
        transport="http",
        credentials=_header(scope, b"authorization"),
        request_id=request_id_of(request),
        trace=_header(scope, b"traceparent"),
        subject=scope.get(SUBJECT),
        peer=None if client is None else client[0],
        caller=scope.get(CALLER),
        begun=scope.get(BEGUN),
        session=session,
        **others,
    )


def headers_of(scope: ASGIScope) -> Mapping[bytes, bytes]:
    """The headers of a request by their names: the first one where several have one name."""
    headers: Mapping[bytes, bytes] | None = scope.get(_HEADERS)
    if headers is None:
        headers = scope[_HEADERS] = dict(reversed([*scope.get("headers", ())]))
    return headers


def _header(scope: ASGIScope, name: bytes) -> str | None:
    value = headers_of(scope).get(name)
    return None if value is None else value.decode("latin-1")


def _query_parameters(request: Request) -> dict[str, Any]:
    """The query string: name → value, or all values of a repeated parameter."""
    parameters = request.query_params
    return {
        name: value if len(values := parameters.getlist(name)) == 1 else values for name, value in parameters.items()
    }


def _check_release(demanded: str | None, served: str) -> None:
    if demanded is not None and demanded != served:
        raise ReleaseMismatch(f"asked for release {demanded}, and release {served} is served")


def time_limit(request: Request) -> float | None:
    """The seconds that the caller allows; None without the header, `InputError` for what is no number above 0."""
    text = _header(request.scope, _TIMEOUT)
    if text is None:
        return None
    seconds = float(text) if _SECONDS.fullmatch(text) else 0.0
    if seconds <= 0:
        raise InputError("no time limit", column=_TIMEOUT_HEADER, found=repr(text[:40]), expected="seconds above 0")
    return seconds


def request_id_of(request: Request) -> str:
    """The caller's own identifier of the request, or a new one. Always the same for one request."""
    request_id: str | None = request.scope.get("cuihop_request_id")
    if request_id is None:
        request_id = request.scope["cuihop_request_id"] = usable_request_id(
            _header(request.scope, b"x-request-id") or ""
        )
    return request_id


def usable_request_id(requested: str) -> str:
    """The caller's identifier of a request if it is short and printable, else a new one."""
    usable = 0 < len(requested) <= 128 and requested.isascii() and requested.isprintable()
    return requested if usable else os.urandom(16).hex()


async def until_gone(request: Request, answer: Awaitable[T], *, quick: bool = False) -> T:
    """The answer; the work is cancelled if the caller hangs up before.

    Raises:
        Cancelled: the caller hung up.
        GraphUnavailable: the service stops.
        CuihopError: as the answer does.
    """
    if quick:
        return await answer
    task, gone = asyncio.current_task(), asyncio.ensure_future(_hung_up(request))
    answered = False

    def stop(_: object) -> None:
        if task is not None and not answered:
            task.cancel()

    gone.add_done_callback(stop)
    try:
        return await answer
    except asyncio.CancelledError:
        if task is None or not gone.done():  # the time to drain is over
            raise GraphUnavailable("the service stops: ask again") from None
        task.uncancel()
        raise Cancelled("the caller hung up") from None  # no fault: nothing for the server to log
    finally:
        answered = True
        gone.cancel()


async def _hung_up(request: Request) -> None:
    """Wait for the end of the connection. The body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
