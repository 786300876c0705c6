"""Request bodies on their way in: bounded, and unpacked within the bound."""

from __future__ import annotations

import zlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuihop.errors import InputError, LimitExceeded

__all__ = ["STREAMS", "BoundedBodies"]

STREAMS = ("/v1/distances/stream",)
"""Paths whose bodies have no end."""


class BoundedBodies:
    """Refuses bodies above a size, also those that only become so large when unpacked.

    ``Content-Encoding: gzip`` is understood. A stream has no size, and whoever reads it bounds its lines.

    Args:
        app: what gets the bodies.
        most: bytes.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        encoding = dict(scope["headers"]).get(b"content-encoding", b"identity").lower()
        stream = scope["path"] in STREAMS
        understood = (b"identity",) if stream else (b"gzip", b"identity")
        unpacker = None
        if encoding == b"gzip" and not stream:
            unpacker = zlib.decompressobj(wbits=31)
            kept = [h for h in scope["headers"] if h[0] not in (b"content-encoding", b"content-length")]
            scope = {**scope, "headers": kept}
        size = packed = 0

        async def bounded() -> Message:
            nonlocal size, packed
            message = await receive()
            if message["type"] != "http.request":
                return message
            if encoding not in understood:
                raise InputError(
                    "unknown content encoding", column="content-encoding", found=repr(encoding.decode("latin-1"))[:60],
                    expected=b" or ".join(understood).decode(),
                )  # fmt: skip
            body = message.get("body", b"")
            packed += len(body)
            if packed > self._most and not stream:  # a gzip of nothing has no end either
                raise LimitExceeded(f"the body is too large; this service allows {self._most:,} bytes")
            if unpacker is not None:
                try:
                    body = unpacker.decompress(body, self._most + 1)
                except zlib.error as error:
                    raise InputError("the body is not gzip", column="body", found=str(error)) from None
                if unpacker.unused_data:  # it would be kept, however much there is
                    raise InputError("the body is not gzip", column="body", found="more after its end")
                if unpacker.unconsumed_tail:
                    size = self._most + 1
                elif not message.get("more_body") and not unpacker.eof:
                    raise InputError("the body is not gzip", column="body", found="its end is missing")
            size += len(body)
            if size > self._most and not stream:
                raise LimitExceeded(f"the body is too large; this service allows {self._most:,} bytes")
            return {**message, "body": body}

        await self._app(scope, bounded, send)
