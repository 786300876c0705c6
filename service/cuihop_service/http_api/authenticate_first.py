"""Nobody's body is read before it is known whose it is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from cuihop.errors import CuihopError
from cuihop_service.admission import Front
from cuihop_service.http_api.problems import problem_response
from cuihop_service.http_api.responder import CALLER, asked_of

__all__ = ["KnownCallers"]


class KnownCallers:
    """Asks the guard before a body is read: a large one costs memory and time, which strangers do not get.

    Args:
        app: what answers callers that are known.
        front: has the guard.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD") and scope["path"].startswith("/v1/"):
            request = Request(scope)
            asked = asked_of(request, "unread")
            try:
                scope[CALLER] = await self._front.identified(asked)
            except CuihopError as error:
                await problem_response(error, asked.request_id)(scope, receive, send)
                return
        await self._app(scope, receive, send)
