"""The one table of errors and statuses, written by the service and read backwards by the remote client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cuihop import errors

ERROR_DOMAIN = "cuihop"
"""The ``domain`` of google.rpc.ErrorInfo."""


@dataclass(frozen=True, slots=True)
class Status:
    """Statuses of an error over HTTP and gRPC.

    Attributes:
        error: the type of the error, and of all below it that have no row of their own.
        reason: its stable name: ``reason`` of google.rpc.ErrorInfo and of a problem document.
        retry: true if the same request may succeed later.
    """

    error: type[errors.CuihopError]
    reason: str
    http: int
    grpc: str
    retry: bool = False


STATUSES: tuple[Status, ...] = (
    Status(errors.InvalidCui, "INVALID_CUI", 400, "INVALID_ARGUMENT"),
    Status(errors.ConceptNotFound, "CONCEPT_NOT_FOUND", 404, "NOT_FOUND"),
    Status(errors.ConceptRetired, "CONCEPT_RETIRED", 410, "FAILED_PRECONDITION"),
    Status(errors.AmbiguousCode, "AMBIGUOUS_CODE", 400, "INVALID_ARGUMENT"),
    Status(errors.InputError, "INVALID_INPUT", 400, "INVALID_ARGUMENT"),
    Status(errors.RateLimited, "RATE_LIMITED", 429, "RESOURCE_EXHAUSTED", retry=True),
    Status(errors.LimitExceeded, "LIMIT_EXCEEDED", 413, "RESOURCE_EXHAUSTED"),
    Status(errors.NotAuthenticated, "NOT_AUTHENTICATED", 401, "UNAUTHENTICATED"),
    Status(errors.NotAllowed, "NOT_ALLOWED", 403, "PERMISSION_DENIED"),
    Status(errors.ReleaseBehind, "RELEASE_BEHIND", 503, "UNAVAILABLE", retry=True),
    Status(errors.GraphUnavailable, "GRAPH_UNAVAILABLE", 503, "UNAVAILABLE", retry=True),
    Status(errors.QueryTimedOut, "TIMED_OUT", 504, "DEADLINE_EXCEEDED"),
    Status(errors.ReleaseMismatch, "RELEASE_MISMATCH", 409, "ABORTED", retry=True),
    Status(errors.GraphError, "GRAPH_UNUSABLE", 500, "DATA_LOSS"),
    Status(errors.CuihopError, "INTERNAL", 500, "INTERNAL"),
)
"""From the narrowest type to the widest: the first row that fits counts."""

_FAULTS = {errors.InvalidCui: "invalid", errors.ConceptRetired: "retired", errors.AmbiguousCode: "several"}
_CANDIDATE = ("relation", "cui", "name")
_BY_REASON = {status.reason: status for status in STATUSES}


def status_of(error: errors.CuihopError) -> Status:
    """The row of an error."""
    return next(status for status in STATUSES if isinstance(error, status.error))


def error_fields(error: errors.CuihopError) -> dict[str, Any]:
    """Fields of an error in JSON, over HTTP and with ``--json``: reason, detail, and those of its kind."""
    fields: dict[str, Any] = {"reason": status_of(error).reason, "detail": str(error)}
    if isinstance(error, errors.ConceptError):
        fields["faults"] = [
            {**fault, "candidates": candidate_fields(fault["candidates"])} for fault in faults_of(error)
        ]
    if isinstance(error, errors.InputError):
        fields |= {
            "problem": error.problem,
            "field": None if error.column is None else str(error.column),
            "found": error.found,
            "expected": error.expected,
            "advice": error.advice,
        }
    if isinstance(error, errors.RateLimited | errors.ReleaseBehind):
        fields["retry_after"] = error.retry_after
    return fields


def candidate_fields(candidates: Iterable[Sequence[str]]) -> list[dict[str, str]]:
    """Fields in JSON of candidates: relation and concept, and of those for a name also the name of the concept."""
    return [dict(zip(_CANDIDATE, each, strict=False)) for each in candidates]


def faults_of(error: errors.ConceptError) -> Iterator[dict[str, Any]]:
    """Each identifier at fault with its status, and its candidates: relation and concept; of a name, also its name."""
    status = next((status for kind, status in _FAULTS.items() if isinstance(error, kind)), "unknown")
    own = error.candidates if isinstance(error, errors.ConceptRetired | errors.AmbiguousCode) else {}
    for cui in error.cuis:
        yield {"cui": cui, "status": status, "candidates": own.get(cui, ()) or error.named.get(cui, ())}


def error_type(reason: str) -> type[errors.CuihopError]:
    """The error type of a reason; `CuihopError` for a reason unknown to this version."""
    status = _BY_REASON.get(reason)
    return errors.CuihopError if status is None else status.error
