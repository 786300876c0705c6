"""The log of requests: faults of the service and slow answers, or every request."""

from __future__ import annotations

import logging

from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.observe.logs import UNBOUNDED

__all__ = ["FAULTS_OF_THE_SERVICE", "RequestLog"]

_log = logging.getLogger("cuihop.requests")

FAULTS_OF_THE_SERVICE = frozenset({"INTERNAL", "GRAPH_UNAVAILABLE", "GRAPH_UNUSABLE", "TIMED_OUT"})
"""Outcomes that concern the operator; every other one is an answer, or the caller's own doing."""

_WITH_DETAIL = FAULTS_OF_THE_SERVICE - {"INTERNAL"}
"""Outcomes whose message is the service's own and repeats nothing of the request."""


class RequestLog:
    """An `Observer` that writes faults of the service and slow answers, or everything.

    `cuihop_service.observe.logs` bounds the lines a second, unless every request leaves one. A caller's own mistakes
    are no news for the log: metrics count them, and the audit log has refusals.

    Args:
        every: True for a line for every request. May be switched while the service runs.
        slow_seconds: an answer that takes longer leaves a line.
    """

    def __init__(self, *, every: bool = False, slow_seconds: float = 1.0) -> None:
        self.every = every
        self.slow_seconds = slow_seconds

    def started(self, info: RequestInfo) -> None:
        """See `Observer`."""

    def finished(self, outcome: RequestOutcome, token: object) -> None:
        """See `Observer`."""
        fault = outcome.reason in FAULTS_OF_THE_SERVICE
        slow = outcome.seconds >= self.slow_seconds
        if self.every or fault or slow:
            self._write(outcome, fault=fault, slow=slow)

    def waiting(self, running: int, waiting: int) -> None:
        """See `Observer`."""

    def _write(self, outcome: RequestOutcome, *, fault: bool, slow: bool) -> None:
        info = outcome.info
        fields: dict[str, object] = {
            "request_id": info.request_id,
            "operation": info.operation,
            "transport": info.transport,
            "outcome": outcome.reason,
            "milliseconds": round(outcome.seconds * 1000, 3),
            "tier": outcome.tier,
            "size": info.size,
            "caller": None if outcome.caller is None else outcome.caller.name,
        }
        if outcome.reason in _WITH_DETAIL:
            fields["detail"] = outcome.detail
        fields[UNBOUNDED] = self.every
        level = logging.ERROR if fault else logging.WARNING if slow else logging.INFO
        _log.log(level, "question", extra=fields)
