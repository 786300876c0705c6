"""A guard of the service under test that records requests and credentials, and refuses every caller on demand."""

from __future__ import annotations

from collections.abc import Callable

from cuihop.errors import CuihopError
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import ANONYMOUS, Caller

__all__ = ["RecordingGuard"]


class RecordingGuard:
    """Admits every caller.

    Attributes:
        error: raised instead, if not ``None``.
        credentials: of each request.
        requests: the admitted requests.
        then: called with each of them.
    """

    def __init__(self, then: Callable[[RequestInfo], None] = lambda request: None) -> None:
        self.error: CuihopError | None = None
        self.credentials: list[str | None] = []
        self.requests: list[RequestInfo] = []
        self.then = then

    def caller(self, request: RequestInfo) -> Caller:
        self.credentials.append(request.credentials)
        if self.error is not None:
            raise self.error
        return ANONYMOUS

    def admit(self, caller: Caller, request: RequestInfo) -> None:
        self.requests.append(request)
        self.then(request)

    def waits(self, request: RequestInfo) -> bool:
        return False
