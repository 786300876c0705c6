"""A check of the ``Host`` header, for pages elsewhere must not make a browser ask this service."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuihop.errors import InputError
from cuihop_service.http_api.problems import problem_response
from cuihop_service.http_api.responder import request_id_of

__all__ = ["KnownHosts"]


class KnownHosts:
    """Refuses other hosts, with a problem document. The check is the framework's, which answers in plain text.

    Args:
        app: answers the others.
        hosts: names without a port.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._check = TrustedHostMiddleware(_nothing, list(hosts), www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        refused: list[Message] = []

        async def refuse(message: Message) -> None:
            refused.append(message)

        await self._check(scope, receive, refuse)
        if not refused:
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


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands for the application where only the check is wanted."""
