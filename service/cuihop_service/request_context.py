"""One question on its way: who asks, until when, and whether anybody still waits for the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from cuihop.errors import CuihopError, QueryTimedOut
from cuihop_service.answers import Answer
from cuihop_service.callers import ANONYMOUS, Caller

__all__ = ["Call", "Cancelled", "Overdue"]


class Cancelled(CuihopError):
    """Nobody waits for the answer any more."""


class Overdue(QueryTimedOut):
    """The time of this one request has passed: no word on the graph."""


@dataclass(slots=True, eq=False)
class Call:
    """A question on its way.

    Attributes:
        caller: who asks.
        request_id: for logs; comes back in the answer.
        ends: when the answer is due, on the clock of `time.monotonic`.
        cancelled: set where the caller has gone.
        answer: the core's, where the work has put it into a transport's words already; for the account.
    """

    caller: Caller = ANONYMOUS
    request_id: str = ""
    ends: float = field(default_factory=lambda: time.monotonic() + 30.0)
    cancelled: bool = False
    answer: Answer[Any] | None = None

    @property
    def remaining(self) -> float:
        """Seconds until the answer is due; not below 0."""
        return max(0.0, self.ends - time.monotonic())

    def check(self) -> None:
        """Stop the work where it is in vain.

        Raises:
            Overdue: the answer is.
            Cancelled: the caller has gone.
        """
        if self.cancelled:
            raise Cancelled("the caller has gone")
        if time.monotonic() >= self.ends:
            raise Overdue("the answer took longer than allowed")
