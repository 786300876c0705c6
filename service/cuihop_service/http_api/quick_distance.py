"""``GET /v1/distance`` without the framework: the question that is asked most takes the shortest way.

Only a question in plain form goes this way. Whatever else stands in the query string, from an unknown parameter to an
escaped character, is left to the documented route, which also has the words for what is wrong.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from cuihop.errors import CuihopError
from cuihop.graph import DIRECTIONS
from cuihop_service.http_api import bodies
from cuihop_service.http_api.exchange import Exchange, request_id_of
from cuihop_service.http_api.problems import problem_response

__all__ = ["QuickDistance", "plain_question"]

_PATH = "/v1/distance"
_PLAIN = re.compile(r"[A-Za-z0-9:._-]{1,64}")
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


class QuickDistance:
    """Answers plain questions for one distance itself, where the index answers at once; hands on everything else.

    Args:
        app: answers everything else.
        exchange: shared with it, so that headers, tags and errors are the same.
    """

    def __init__(self, app: ASGIApp, exchange: Exchange) -> None:
        self._app = app
        self._exchange = exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        core = self._exchange.core
        if scope["type"] == "http" and scope["path"] == _PATH and scope["method"] == "GET" and core.is_quick():
            asked = plain_question(scope["query_string"].decode("latin-1"))
            if asked is not None:
                request = Request(scope)
                try:
                    response = await self._exchange.answer(
                        request,
                        "distance",
                        lambda call: core.distance(**asked, call=call),
                        lambda answer: bodies.distance_fields(answer.value, **asked),
                        quick=True,
                    )
                except CuihopError as error:
                    response = problem_response(error, request_id_of(request))
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)
