"""A guard of the service under test that notes who asked for what, and refuses everybody when it is told to."""

from __future__ import annotations

from collections.abc import Callable

from cuihop.errors import CuihopError
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import ANONYMOUS, Caller

__all__ = ["NotingGuard"]


class NotingGuard:
    """Lets everybody in.

    Attributes:
        error: raised instead, if there is one.
        credentials: what came with each question.
        asked: the questions.
        then: called with each question.
    """

    def __init__(self, then: Callable[[RequestInfo], None] = lambda asked: None) -> None:
        self.error: CuihopError | None = None
        self.credentials: list[str | None] = []
        self.asked: list[RequestInfo] = []
        self.then = then

    def caller(self, asked: RequestInfo) -> Caller:
        self.credentials.append(asked.credentials)
        if self.error is not None:
            raise self.error
        return ANONYMOUS

    def admit(self, caller: Caller, asked: RequestInfo) -> None:
        self.asked.append(asked)
        self.then(asked)

    def waits(self, asked: RequestInfo) -> bool:
        return False
