"""``GET /v1/distance`` without the framework: the question that is asked most takes the shortest way.

Only a question in plain form goes this way. Whatever else stands in the query string, from an unknown parameter to an
escaped character, or in the head, from a time limit to a tag, is left to the documented route, which also has the
words for what is wrong.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cuihop.answer_fields import distance_fields
from cuihop.errors import CuihopError
from cuihop.graph import DIRECTIONS
from cuihop_service.admission import Asked
from cuihop_service.answers import Answer
from cuihop_service.http_api import response_models
from cuihop_service.http_api.problems import fault_response, problem_response
from cuihop_service.http_api.responder import PRIVATE_HEADERS, SUBJECT, Exchange, usable_request_id
from cuihop_service.http_api.security_headers import SAFE_HEADERS, safe
from cuihop_service.request_context import Call

__all__ = ["PATH", "QuickDistance", "Told", "plain_head", "plain_question"]

PATH = "/v1/distance"
"""Of the question that takes the short way."""

_log = logging.getLogger("cuihop.service")

_PLAIN = re.compile(r"[A-Za-z0-9:._-]{1,64}")
_FOR_THE_ROUTE = frozenset(
    {
        *(b"if-none-match", b"x-timeout-seconds", b"traceparent", b"origin"),
        *(b"content-length", b"transfer-encoding", b"expect", b"upgrade"),
    }
)
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
    host = known.get(b"host")
    if host is None:
        return None
    if b"*" not in hosts and host not in hosts and host.rpartition(b":")[0] not in hosts:
        return None
    credentials = known.get(b"authorization")
    request_id = usable_request_id(known.get(b"x-request-id", b"").decode("latin-1"))
    return None if credentials is None else credentials.decode("latin-1"), request_id


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, ready to be written.

    Attributes:
        status: of HTTP.
        headers: names in lower case, ``content-length`` among them.
        body: the whole of it.
    """

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, response: Response) -> Told:
        """A response that is held in memory."""
        return cls(response.status_code, safe(response.raw_headers), bytes(response.body))


@dataclass(slots=True)
class _Question:
    """One plain question: what is asked, and in whose name."""

    asked: Asked
    fields: dict[str, Any]
    query: str
    exchange: Exchange
    tag: str = ""

    def made(self, call: Call) -> Answer[int | None]:
        """The answer, and its tag."""
        exchange = self.exchange
        answer = exchange.core.distance(**self.fields, call=call)
        self.tag = exchange.tag(PATH, self.query, answer.digest, call.caller)
        return answer

    def told(self, answer: Answer[int | None]) -> Told:
        """What is written of it."""
        body = response_models.written(answer, distance_fields(answer.value, **self.fields))
        headers = (
            (b"x-request-id", self.asked.request_id.encode("latin-1")),
            (b"etag", self.tag.encode("latin-1")),
            (b"content-length", b"%d" % len(body)),
            *_HEADERS,
        )
        return Told(200, headers, body)

    def refused(self, error: CuihopError) -> Told:
        """What is written of an error."""
        return Told.of(problem_response(error, self.asked.request_id))

    def failed(self) -> Told:
        """What is written where the service itself failed."""
        return Told.of(fault_response(self.asked.request_id))


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
        question = None
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET":
            question = self._plain(scope["query_string"], scope)
        if question is None:
            await self._app(scope, receive, send)
            return
        fault = None
        try:
            told = question.told(await self._exchange.front.answer(question.asked, question.made))
        except CuihopError as error:
            told = question.refused(error)
        except Exception as error:
            told, fault = question.failed(), error
        await send({"type": "http.response.start", "status": told.status, "headers": list(told.headers)})
        await send({"type": "http.response.body", "body": told.body})
        if fault is not None:
            raise fault

    def at_once(self, query: bytes, scope: Mapping[str, Any]) -> Told | None:
        """The answer, without a turn of the event loop; None where the question is not plain, or the guard has to wait.

        Args:
            query: the query string of a ``GET`` of `PATH`.
            scope: with ``headers`` and ``client``, as ASGI has them.
        """
        question = self._plain(query, scope)
        front = self._exchange.front
        if question is None or front.guard.waits(question.asked):
            return None
        try:
            return question.told(front.at_once(question.asked, question.made))
        except CuihopError as error:
            return question.refused(error)
        except Exception:
            _log.exception("an answer failed")
            return question.failed()

    def _plain(self, query: bytes, scope: Mapping[str, Any]) -> _Question | None:
        """The question, where it is plain and the index answers it at once."""
        exchange = self._exchange
        if not exchange.core.is_quick():
            return None
        text = query.decode("latin-1")
        fields = plain_question(text)
        head = None if fields is None else plain_head(scope["headers"], self._hosts)
        if fields is None or head is None:
            return None
        client = scope.get("client")
        asked = Asked(
            operation="distance",
            transport="http",
            credentials=head[0],
            request_id=head[1],
            quick=True,
            subject=scope.get(SUBJECT),
            peer=None if client is None else client[0],
            question=lambda: dict(parse_qsl(text)),
        )
        return _Question(asked, fields, text, exchange)
