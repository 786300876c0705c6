"""Context of one request under way: its caller, its deadline and its cancellation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from cuihop.errors import CuihopError, QueryTimedOut
from cuihop_service.answers import Answer
from cuihop_service.callers import ANONYMOUS, Caller

__all__ = ["Cancelled", "Overdue", "RequestContext"]


class Cancelled(CuihopError):
    """The caller has gone, and the answer with it."""


class Overdue(QueryTimedOut):
    """The time of this one request has passed; the graph itself may be well."""


@dataclass(slots=True, eq=False)
class RequestContext:
    """A request under way.

    Attributes:
        caller: the authenticated caller.
        request_id: for logs; comes back in the answer.
        ends: deadline of the answer, on the clock of `time.monotonic`.
        cancelled: True once the caller has gone.
        answer: the core's answer, where the work returns a transport's message instead; for the observer.
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
        """Stop work that is in vain.

        Raises:
            Overdue: the deadline has passed.
            Cancelled: the caller has gone.
        """
        if self.cancelled:
            raise Cancelled("the caller has gone")
        if time.monotonic() >= self.ends:
            raise Overdue("the answer took longer than allowed")
