"""Which questions leave a line in the log."""

from __future__ import annotations

import logging

from cuihop_service.admission import Asked, Finished
from cuihop_service.observe.logs import UNBOUNDED
from cuihop_service.observe.outcomes import FAULTS_OF_THE_SERVICE

__all__ = ["RequestLog"]

_log = logging.getLogger("cuihop.requests")

_TELLING = FAULTS_OF_THE_SERVICE - {"INTERNAL"}
"""Reasons whose message is the service's own and repeats nothing of the question."""


class RequestLog:
    """An `Observer` that writes faults of the service and slow answers, or everything.

    `cuihop_service.observe.logs` bounds how many lines a second there are, unless every question leaves one. A
    caller's own mistakes are no news for the log: metrics count them, and the audit log has refusals.

    Args:
        every: whether every question leaves a line. May be switched while the service runs.
        slow_seconds: an answer that takes longer leaves a line.
    """

    def __init__(self, *, every: bool = False, slow_seconds: float = 1.0) -> None:
        self.every = every
        self.slow_seconds = slow_seconds

    def started(self, asked: Asked) -> None:
        """See `Observer`."""

    def finished(self, finished: Finished, token: object) -> None:
        """See `Observer`."""
        fault = finished.reason in FAULTS_OF_THE_SERVICE
        slow = finished.seconds >= self.slow_seconds
        if self.every or fault or slow:
            self._write(finished, fault=fault, slow=slow)

    def waiting(self, running: int, waiting: int) -> None:
        """See `Observer`."""

    def _write(self, finished: Finished, *, fault: bool, slow: bool) -> None:
        asked = finished.asked
        told: dict[str, object] = {
            "request_id": asked.request_id,
            "operation": asked.operation,
            "transport": asked.transport,
            "outcome": finished.reason,
            "milliseconds": round(finished.seconds * 1000, 3),
            "tier": finished.tier,
            "size": asked.size,
            "caller": None if finished.caller is None else finished.caller.name,
        }
        if finished.reason in _TELLING:
            told["detail"] = finished.detail
        told[UNBOUNDED] = self.every
        level = logging.ERROR if fault else logging.WARNING if slow else logging.INFO
        _log.log(level, "question", extra=told)
