"""A relay in front of a real Neo4j server, which counts the passwords that the server refuses.

The Community edition writes refusals to no log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from relay import Relay

_REFUSALS = (b"Neo.ClientError.Security.Unauthorized", b"Neo.ClientError.Security.AuthenticationRateLimit")


class BoltProxy(Relay):
    """A proxy for clients, with its refusals and its bytes from clients so far."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self.refusals = self.bytes_of_clients = 0
        super().__init__(parts.hostname or "", parts.port or 0)
        self.address = f"bolt://127.0.0.1:{self.port}"

    def passed(self, data: bytes, from_client: bool) -> None:
        self.bytes_of_clients += len(data) if from_client else 0
        self.refusals += not from_client and any(refusal in data for refusal in _REFUSALS)


@contextmanager
def bolt_proxy(server: str) -> Iterator[BoltProxy]:
    proxy = BoltProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
