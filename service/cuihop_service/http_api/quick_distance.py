"""``GET /v1/distance`` without the framework: the most frequent request takes the shortest way, on any ASGI server.

Only a request in plain form is answered here. Anything else in the query string, from an unknown parameter or another
order to an escaped character or what may be a name in place of an identifier, or in the head, from a time limit to a
tag, is left to the documented route, which also words the errors.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from cuihop.answer_fields import fields_of
from cuihop.errors import CuihopError
from cuihop.graph import DIRECTIONS, checked_direction
from cuihop.operations.answers import DistanceAnswer
from cuihop.operations.requests import DistanceRequest
from cuihop.remote.activation import ACTIVATION_HEADER, Activation
from cuihop_service.admission import RequestInfo
from cuihop_service.http_api.middleware import SECURITY_HEADERS, with_security_headers
from cuihop_service.http_api.problems import fault_response, problem_response
from cuihop_service.http_api.responder import PRIVATE_HEADERS, SUBJECT, Responder, usable_request_id, written
from cuihop_service.request_context import Answer, ReleaseSession, RequestContext

PATH = "/v1/distance"
"""Path of the request that takes the short way."""

ASKED = "cuihop.quick_distance"
"""Key of an ASGI scope for which the protocol has asked for the response before the application is called."""

Headers: TypeAlias = list[tuple[bytes, bytes]]
QuickResponse: TypeAlias = tuple[int, Headers, bytes]
"""Status, headers and body."""

_log = logging.getLogger("cuihop.service")

_PLAIN = "([A-Za-z:._-]{0,32}[0-9]{3}[A-Za-z0-9:._-]{0,29})"  # no name: see `may_be_name`
_QUERY = re.compile(f"a={_PLAIN}&b={_PLAIN}(?:&direction=({'|'.join(DIRECTIONS)}))?(?:&max_hops=([0-9]{{1,9}}))?")
_FOR_THE_ROUTE = frozenset(
    {
        *(b"if-none-match", b"x-timeout-seconds", b"traceparent", b"origin"),
        *(b"content-length", b"transfer-encoding", b"expect", b"upgrade"),
    }
)
_ACTIVATION = ACTIVATION_HEADER.encode()
_READ_HERE = frozenset({b"host", b"authorization", b"x-request-id", _ACTIVATION})
_HEADERS = (
    (b"content-type", b"application/json"),
    *((name.lower().encode(), value.encode()) for name, value in PRIVATE_HEADERS.items()),
    *SECURITY_HEADERS,
)


def plain_query(query: str) -> DistanceRequest | None:
    """The request in a plain query string, its parameters in their own order; None for any other.

    >>> plain_query("a=C0006121&b=C0018670&max_hops=3")
    DistanceRequest(a='C0006121', b='C0018670', direction='any', max_hops=3, within_sabs=())
    >>> plain_query("a=C0006121&b=C0018670&max_hops=-3") is None
    True
    """
    match = _QUERY.fullmatch(query)
    if match is None:
        return None
    a, b, direction, bound = match.groups()
    return DistanceRequest(a, b, checked_direction(direction or "any"), None if bound is None else int(bound))


def plain_head(
    headers: Iterable[tuple[bytes, bytes]], hosts: Collection[bytes]
) -> tuple[str | None, str, str | None] | None:
    """Credentials, identifier and activation seen of a request; None for a head that is left to the documented route.

    Args:
        hosts: the values of ``Host`` that are answered, without a port; ``*`` is any.

    >>> plain_head([(b"host", b"localhost:8080"), (b"x-request-id", b"7")], [b"localhost"])
    (None, '7', None)
    >>> plain_head([(b"host", b"elsewhere")], [b"localhost"]) is None
    True
    """
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _FOR_THE_ROUTE or name in values:
            return None
        if name in _READ_HERE:
            values[name] = value
    host = values.get(b"host")
    if host is None:
        return None
    if b"*" not in hosts and host not in hosts and host.rpartition(b":")[0] not in hosts:
        return None
    credentials = values.get(b"authorization")
    request_id = usable_request_id(values.get(b"x-request-id", b"").decode("latin-1"))
    seen = values.get(_ACTIVATION)
    return (
        None if credentials is None else credentials.decode("latin-1"),
        request_id,
        None if seen is None else seen.decode("latin-1"),
    )


class QuickDistance:
    """Middleware that answers plain requests for one distance, where the index answers at once.

    Args:
        responder: of the same core and admission as the documented route's, so that tags are the same.
        hosts: the values of ``Host`` that are answered; ``*`` is any.
    """

    def __init__(self, app: ASGIApp, responder: Responder, hosts: Sequence[str]) -> None:
        self._app = app
        self._responder = responder
        self._hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET" and ASKED not in scope:
            response = self.response(scope)
            if response is not None:
                status, headers, body = response
                await send({"type": "http.response.start", "status": status, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await self._app(scope, receive, send)

    def response(self, scope: Scope) -> QuickResponse | None:
        """Status, headers and body; None where the request is not plain, or the guard waits."""
        responder = self._responder
        if not responder.core.is_quick():
            return None
        text = scope["query_string"].decode("latin-1")
        question = plain_query(text)
        head = None if question is None else plain_head(scope["headers"], self._hosts)
        if question is None or head is None:
            return None
        session = ReleaseSession()
        if head[2] is not None:
            session.seen = Activation.parsed(head[2])
            if session.seen is None or responder.core.holder.is_behind(session.seen):
                return None
        client = scope.get("client")
        info = RequestInfo(
            operation="distance",
            transport="http",
            credentials=head[0],
            request_id=head[1],
            quick=True,
            subject=scope.get(SUBJECT),
            peer=None if client is None else client[0],
            content=lambda: dict(parse_qsl(text)),
            session=session,
        )
        if responder.admission.guard.waits(info):
            return None
        tag = ""

        def job(context: RequestContext) -> Answer[int | None]:
            nonlocal tag
            answer = responder.core.distance(
                question.a, question.b, direction=question.direction, max_hops=question.max_hops, context=context
            )
            tag = responder.tag(PATH, text, answer.digest, context.caller)
            return answer

        try:
            answer = responder.admission.at_once(info, job)
        except Exception as error:
            if isinstance(error, CuihopError):
                refusal = problem_response(error, info.request_id)
            else:
                _log.exception("an answer failed")
                refusal = fault_response(info.request_id)
            headers = with_security_headers(refusal.raw_headers) + _activation_header(session)
            return refusal.status_code, headers, bytes(refusal.body)
        body = written(answer, fields_of(DistanceAnswer.of_hops(answer.value, question)))
        headers = [
            (b"x-request-id", info.request_id.encode("latin-1")),
            (b"etag", tag.encode("latin-1")),
            (b"content-length", b"%d" % len(body)),
            *_HEADERS,
            *_activation_header(session),
        ]
        return 200, headers, body


def _activation_header(session: ReleaseSession) -> Headers:
    return [] if session.served is None else [(_ACTIVATION, str(session.served).encode())]
