"""A client of the service that retries as documented, and writes down what it asked and what it got."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

from cuihop.graph import Direction
from cuihop.operations.requests import DistanceRequest, DistancesRequest
from cuihop.operations.table import DISTANCE, DISTANCES
from cuihop.remote.activation import Activation, NewestSeen
from cuihop.remote.failures import with_retries
from cuihop.remote.grpc_transport import GrpcTransport
from cuihop.remote.http_transport import HttpTransport
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import Request, Transport
from drills.session_history import Operation

__all__ = ["Client"]


class _Noted(NewestSeen):
    """The activation of the latest answer as well."""

    last: Activation | None = None

    def note(self, text: str | bytes | None) -> None:
        super().note(text)
        self.last = Activation.parsed(text) if isinstance(text, str) else None


class Client:
    """The transport and the retries of `cuihop.connect`, without its rule that an open graph has one release.

    Args:
        settings: of the connection.
        name: in the history.

    Attributes:
        attempts: the number of them.
    """

    def __init__(self, settings: RemoteSettings, name: str) -> None:
        self.name = name
        self._settings = settings
        kind: Any = GrpcTransport if settings.scheme == "grpc" else HttpTransport
        self._transport: Transport = kind(settings)
        self._transport.seen = self._seen = _Noted()
        self._numbers = count(1)
        self.attempts = 0

    def ask(self, direction: Direction, pairs: Sequence[tuple[str, str]], *, single: bool = False) -> Operation:
        """The outcome of a question about a batch, or about a single pair."""
        operation: Any = DISTANCE if single else DISTANCES
        question: Any = DistanceRequest(*pairs[0], direction) if single else DistancesRequest(pairs, direction)

        def attempt() -> Any:
            self.attempts = next(self._numbers)
            return self._transport.send(operation, question, Request(self._settings.timeout))

        begun = Operation(self.name, time.monotonic(), None, direction, pairs)
        try:
            answer = with_retries(attempt, self._settings.retry_time)
            if single:
                hops = [answer.value.hops]
            else:
                numbers, defined = answer.value.hops.numbers.tolist(), answer.value.hops.defined.tolist()
                hops = [number if reached else None for number, reached in zip(numbers, defined, strict=True)]
        except Exception as error:  # kept, whatever it is
            return begun._replace(ended=time.monotonic(), failure=f"{type(error).__name__}: {error}")
        return begun._replace(ended=time.monotonic(), digest=answer.digest, activation=self._seen.last, hops=hops)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()
