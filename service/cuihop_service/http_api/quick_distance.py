"""``GET /v1/distance`` without the framework: the question that is asked most takes the shortest way.

Only a question in plain form goes this way. Whatever else stands in the query string, from an unknown parameter to an
escaped character, or in the head, from a time limit to a tag, is left to the documented route, which also has the
words for what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from cuihop.errors import CuihopError
from cuihop.graph import DIRECTIONS
from cuihop_service.answers import Answer
from cuihop_service.calls import Call
from cuihop_service.front import Asked
from cuihop_service.http_api import bodies
from cuihop_service.http_api.exchange import PRIVATE_HEADERS, SUBJECT, Exchange, usable_request_id
from cuihop_service.http_api.problems import fault_response, problem_response
from cuihop_service.http_api.safe_headers import SAFE_HEADERS, with_safe_headers

__all__ = ["QuickDistance", "plain_head", "plain_question"]

_PATH = "/v1/distance"
_PLAIN = re.compile(r"[A-Za-z0-9:._-]{1,64}")
_FOR_THE_ROUTE = frozenset({b"if-none-match", b"x-timeout-seconds", b"traceparent", b"origin"})
_LOOKED_AT = frozenset({b"host", b"authorization", b"x-request-id"})
_HEADERS = (
    (b"content-type", b"application/json"),
    *((name.lower().encode(), value.encode()) for name, value in PRIVATE_HEADERS.items()),
    *SAFE_HEADERS,
)
_MOST_DIGITS = 9  # what the documented route accepts has at most ten


def plain_question(query: str) -> dict[str, Any] | None:
    """The parameters of a plain question; None for any other.

    >>> plain_question("a=C0006121&b=C0018670&max_hops=3")
    {'a': 'C0006121', 'b': 'C0018670', 'direction': 'any', 'max_hops': 3}
    >>> plain_question("a=C0006121&b=C0018670&max_hops=-3") is None
    True
    """
    found: dict[str, Any] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name in found or _PLAIN.fullmatch(value) is None:
            return None
        if name == "max_hops":
            if not value.isdigit() or len(value) > _MOST_DIGITS:
                return None
            found[name] = int(value)
        elif name in {"a", "b"} or (name == "direction" and value in DIRECTIONS):
            found[name] = value
        else:
            return None
    if "a" not in found or "b" not in found:
        return None
    return {"a": found["a"], "b": found["b"], "direction": found.get("direction", "any"),
            "max_hops": found.get("max_hops")}  # fmt: skip


def plain_head(headers: Iterable[tuple[bytes, bytes]], hosts: Collection[bytes]) -> tuple[str | None, str] | None:
    """The credentials and the request's identifier; None for a head that the documented route has to look at.

    Args:
        headers: as ASGI gives them, names in lower case.
        hosts: the ``Host`` headers that are answered, without a port; ``*`` is any.

    >>> plain_head([(b"host", b"localhost:8080"), (b"x-request-id", b"7")], [b"localhost"])
    (None, '7')
    >>> plain_head([(b"host", b"elsewhere")], [b"localhost"]) is None
    True
    """
    known: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _FOR_THE_ROUTE or name in known:
            return None
        if name in _LOOKED_AT:
            known[name] = value
    host = known.get(b"host", b"")
    if b"*" not in hosts and host not in hosts and host.rpartition(b":")[0] not in hosts:
        return None
    credentials = known.get(b"authorization")
    request_id = usable_request_id(known.get(b"x-request-id", b"").decode("latin-1"))
    return None if credentials is None else credentials.decode("latin-1"), request_id


class QuickDistance:
    """Answers plain questions for one distance itself, where the index answers at once; hands on everything else.

    Args:
        app: answers everything else.
        exchange: shared with it, so that tags are the same.
        hosts: the ``Host`` headers that are answered.
    """

    def __init__(self, app: ASGIApp, exchange: Exchange, *, hosts: Sequence[str]) -> None:
        self._app = app
        self._exchange = exchange
        self._hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        plain = self._plain(scope)
        if plain is None:
            await self._app(scope, receive, send)
        else:
            await self._answer(*plain, scope, receive, send)

    def _plain(self, scope: Scope) -> tuple[dict[str, Any], str | None, str] | None:
        """The question, the credentials and the request's identifier; None for what is not answered here."""
        if scope["type"] != "http" or scope["path"] != _PATH or scope["method"] != "GET":
            return None
        if not self._exchange.core.is_quick():
            return None
        question = plain_question(scope["query_string"].decode("latin-1"))
        head = None if question is None else plain_head(scope["headers"], self._hosts)
        return None if question is None or head is None else (question, *head)

    async def _answer(
        self,
        question: dict[str, Any],
        credentials: str | None,
        request_id: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        client = scope.get("client")
        asked = Asked(
            operation="distance",
            transport="http",
            credentials=credentials,
            request_id=request_id,
            quick=True,
            subject=scope.get(SUBJECT),
            peer=None if client is None else client[0],
            question=lambda: dict(parse_qsl(scope["query_string"].decode("latin-1"))),
        )
        exchange, tag = self._exchange, ""

        def made(call: Call) -> Answer[int | None]:
            nonlocal tag
            answer = exchange.core.distance(**question, call=call)
            tag = exchange.tag(_PATH, scope["query_string"].decode("latin-1"), answer.digest, call.caller)
            return answer

        try:
            answer = await exchange.front.answer(asked, made)
        except CuihopError as error:
            await problem_response(error, request_id)(scope, receive, with_safe_headers(send))
            return
        except Exception:
            await fault_response(request_id)(scope, receive, with_safe_headers(send))
            raise
        body = bodies.written(answer, bodies.distance_fields(answer.value, **question))
        headers = [
            (b"x-request-id", request_id.encode("latin-1")),
            (b"etag", tag.encode("latin-1")),
            (b"content-length", b"%d" % len(body)),
            *_HEADERS,
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
