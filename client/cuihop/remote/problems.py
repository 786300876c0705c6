"""From what a service or something before it told of a failure, to the error that a graph of this machine raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from cuihop import errors
from cuihop.remote.statuses import STATUSES, Status, error_type

__all__ = ["TLS_ADVICE", "Failed", "Fault", "Problem", "failure_of", "refusal", "unavailable"]

TLS_ADVICE = (
    "CUIHOP_CA_FILE names the authority that signed a department's own certificate. "
    "A port without TLS has an address with grpc:// or http://."
)

_MENDABLE = (errors.ConceptError, errors.InputError, errors.LimitExceeded, errors.AccessError)
_AT_ONCE = 1.0  # seconds, where a service limits rates and does not say for how long


class Failed(Exception):
    """One attempt at a question failed.

    Attributes:
        error: what the user is told if no later attempt succeeds.
        retry: whether one may.
        retry_after: seconds to wait before it at least.
        connection: whether the trouble was to reach the service.
    """

    def __init__(
        self,
        error: errors.CuihopError,
        *,
        retry: bool = False,
        retry_after: float | None = None,
        connection: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        self.retry_after = retry_after
        self.connection = connection


@dataclass(frozen=True, slots=True)
class Fault:
    """An identifier at fault, and what the release suggests instead: pairs of UMLS relation and concept."""

    cui: str
    candidates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """What a cuihop service told of a failure, the same over either transport.

    Attributes:
        reason: the stable name of the error.
        message: for people.
        faults: the identifiers at fault.
        parts: of an `InputError`: problem, field, found, expected, advice, file, line.
        retry_after: seconds.
    """

    reason: str
    message: str
    faults: Sequence[Fault] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


def failure_of(problem: Problem, code: int | str, request_id: str) -> Failed:
    """The failure that a service told.

    The error has the type, the message and the attributes that it had in the service. A reason that this version does
    not know becomes a `GraphError` where its status is one of those, and else a `CuihopError`.

    Args:
        problem: what was told.
        code: the status: a number of HTTP, or a name of gRPC.
        request_id: shown where the fault is the service's own.
    """
    kind = error_type(problem.reason)
    told = problem.message
    row = next((status for status in STATUSES if status.reason == problem.reason), None)
    retry = row.retry if row is not None else problem.retry_after is not None
    if row is None:
        alike = _of_code(code)
        kind = errors.GraphError if any(issubclass(s.error, errors.GraphError) for s in alike) else errors.CuihopError
        retry = retry or (bool(alike) and all(status.retry for status in alike))
        told = f"{problem.reason}: {told}"
    # What the caller can mend reads as it does offline. What the service's owner must mend names the request.
    if not issubclass(kind, _MENDABLE):
        told = f"{told} (request {request_id})"
    error = _error(kind, told, problem)
    error.add_note(f"request {request_id}")
    return Failed(error, retry=retry, retry_after=problem.retry_after)


def refusal(address: str, code: int | str, found: str) -> Failed:
    """The failure where the status alone tells, because what came with it is not a cuihop service's.

    Args:
        address: of the service.
        code: the status, as in `failure_of`.
        found: what came instead of an answer.
    """
    alike = _of_code(code)
    narrow = next((s.error for s in alike if issubclass(s.error, errors.AccessError | errors.QueryTimedOut)), None)
    if narrow is not None and code != HTTPStatus.GATEWAY_TIMEOUT:
        return Failed(_plain(narrow, f"{address}: {found}"))
    if code in {HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RESOURCE_EXHAUSTED"}:
        return Failed(_plain(errors.LimitExceeded, f"{address}: {found}"))
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return Failed(errors.RateLimited(f"{address}: {found}", retry_after=_AT_ONCE), retry=True)
    passing = {
        HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT, "UNAVAILABLE", "ABORTED",
    }  # fmt: skip
    return unavailable(address, found, retry=code in passing)


def unavailable(address: str, found: str, *, retry: bool = False, connection: bool = False) -> Failed:
    """The failure where no service, or none of cuihop, answered."""
    return Failed(errors.GraphUnavailable(f"{address}: {found}"), retry=retry, connection=connection)


def _of_code(code: int | str) -> list[Status]:
    return [status for status in STATUSES if code in {status.http, status.grpc}]


def _plain(kind: type[errors.CuihopError], message: str) -> errors.CuihopError:
    """An error with the message as it was told: constructors would word it anew."""
    error = kind.__new__(kind)
    error.args = (message,)
    return error


def _error(kind: type[errors.CuihopError], message: str, problem: Problem) -> errors.CuihopError:
    """The error with its attributes."""
    error = _plain(kind, message)
    if isinstance(error, errors.ConceptError):
        error.cuis = tuple(fault.cui for fault in problem.faults)
    if isinstance(error, errors.ConceptRetired):
        error.candidates = {fault.cui: fault.candidates for fault in problem.faults}
    if isinstance(error, errors.InputError):
        line, column = problem.parts.get("line"), problem.parts.get("field")
        error.problem = problem.parts.get("problem", problem.message)
        error.file = problem.parts.get("file")
        error.line = int(line) if line is not None and line.isdecimal() else None
        error.column = column
        error.found = problem.parts.get("found")
        error.expected = problem.parts.get("expected")
        error.advice = problem.parts.get("advice")
    if isinstance(error, errors.RateLimited):
        error.retry_after = _AT_ONCE if problem.retry_after is None else problem.retry_after
    return error
