"""Headers that every answer has."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SAFE_HEADERS", "SafeHeaders", "with_safe_headers"]

SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


def with_safe_headers(send: Send) -> Send:
    """Sends answers with these headers, but for those that an answer has itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            known = {name.lower() for name, _ in headers}
            message["headers"] = headers + [header for header in SAFE_HEADERS if header[0] not in known]
        await send(message)

    return sending


class SafeHeaders:
    """Gives every answer these headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        await self._app(scope, receive, with_safe_headers(send))
