"""Headers that every answer has."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SAFE_HEADERS", "SafeHeaders", "with_safe_headers"]

SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


Headers = Iterable[tuple[bytes, bytes]]


def safe(headers: Headers) -> list[tuple[bytes, bytes]]:
    """These headers, and those of `SAFE_HEADERS` that are not among them."""
    own = list(headers)
    known = {name.lower() for name, _ in own}
    return own + [header for header in SAFE_HEADERS if header[0] not in known]


def with_safe_headers(send: Send) -> Send:
    """Sends answers with these headers, but for those that an answer has itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = safe(message["headers"])
        await send(message)

    return sending


class SafeHeaders:
    """Gives every answer these headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        await self._app(scope, receive, with_safe_headers(send))
