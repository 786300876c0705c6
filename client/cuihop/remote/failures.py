"""Failures of a request: the error that each becomes, and the retries of those that may pass."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from typing import TypeVar

from cuihop import errors
from cuihop.remote.statuses import STATUSES, Status, error_type

T = TypeVar("T")

NOT_RUNNING = "Is the service running there, and is this its port?"
NEEDS_TLS = "A port with TLS has an address with grpcs:// or https://."
_UNKNOWN_AUTHORITY = "CUIHOP_CA_FILE names the authority that signed a department's own certificate."
_NO_TLS = "The port does not speak TLS: its address begins with grpc:// or http://."


_CALLER_ERRORS = (errors.ConceptError, errors.InputError, errors.LimitExceeded, errors.AccessError)
_DEFAULT_RETRY_AFTER = 1.0  # seconds, where a service limits rates without a Retry-After
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


@dataclass(eq=False, repr=False)
class AttemptFailed(Exception):
    """Failure of one attempt at a request.

    Attributes:
        error: raised to the caller if no later attempt succeeds.
        retry: true if a later attempt may succeed.
        retry_after: seconds to wait at least before the next attempt.
        connection: true if no connection to the service was established.
    """

    error: errors.CuihopError
    _: KW_ONLY
    retry: bool = False
    retry_after: float | None = None
    connection: bool = False


@dataclass(frozen=True, slots=True)
class SuggestedConcept:
    """A concept in place of an identifier at fault, with its name if a name stood there."""

    relation: str
    cui: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class FaultyIdentifier:
    """An identifier at fault, and the suggestions in its place."""

    cui: str
    candidates: tuple[SuggestedConcept, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as a cuihop service reports it, the same over both transports.

    Attributes:
        reason: the stable name of the error.
        parts: of an `InputError`: problem, field, found, expected, advice, file, line.
    """

    reason: str
    message: str
    faults: Sequence[FaultyIdentifier] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


def failure_of(problem: Problem, code: int | str, request_id: str) -> AttemptFailed:
    """The failure for a problem that a service reports.

    The error has the type, the message and the attributes that it had in the service. A reason unknown to this version
    becomes a `GraphError` if its status is one of those, else a `CuihopError`.

    Args:
        code: the status: a number of HTTP, or a name of gRPC.
        request_id: part of the message if the service itself is at fault.
    """
    kind = error_type(problem.reason)
    message = problem.message
    row = next((status for status in STATUSES if status.reason == problem.reason), None)
    retry = row.retry if row is not None else problem.retry_after is not None
    if row is None:
        alike = _of_code(code)
        kind = errors.GraphError if any(issubclass(s.error, errors.GraphError) for s in alike) else errors.CuihopError
        retry = retry or (bool(alike) and all(status.retry for status in alike))
        message = f"{problem.reason}: {message}"
    # An error that the caller can correct reads as it does offline. One for the service's owner names the request.
    if not issubclass(kind, _CALLER_ERRORS):
        message = f"{message} (request {request_id})"
    error = _error(kind, message, problem)
    error.add_note(f"request {request_id}")
    return AttemptFailed(error, retry=retry, retry_after=problem.retry_after)


def refusal(address: str, code: int | str, problem: str) -> AttemptFailed:
    """The failure for a status without a cuihop problem, as from a proxy in front of the service."""
    alike = _of_code(code)
    narrow = next((s.error for s in alike if issubclass(s.error, errors.AccessError | errors.QueryTimedOut)), None)
    if narrow is not None and code != HTTPStatus.GATEWAY_TIMEOUT:
        return AttemptFailed(_plain(narrow, f"{address}: {problem}"))
    if code in {HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RESOURCE_EXHAUSTED"}:
        return AttemptFailed(_plain(errors.LimitExceeded, f"{address}: {problem}"))
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return AttemptFailed(errors.RateLimited(f"{address}: {problem}", retry_after=_DEFAULT_RETRY_AFTER), retry=True)
    transient = {
        HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT, "UNAVAILABLE", "ABORTED",
    }  # fmt: skip
    return unavailable(address, problem, retry=code in transient)


def unavailable(address: str, problem: str, *, retry: bool = False, connection: bool = False) -> AttemptFailed:
    """The failure where no cuihop service responded."""
    return AttemptFailed(errors.GraphUnavailable(f"{address}: {problem}"), retry=retry, connection=connection)


def no_encryption(address: str, reason: str) -> AttemptFailed:
    """The failure of a TLS handshake, with its likely cause."""
    words = reason.upper().replace(" ", "_")
    advice = _NO_TLS if "WRONG_VERSION_NUMBER" in words or "PACKET_LENGTH" in words else _UNKNOWN_AUTHORITY
    return unavailable(address, f"no encrypted connection: {reason}. {advice}", connection=True)


def _of_code(code: int | str) -> list[Status]:
    return [status for status in STATUSES if code in {status.http, status.grpc}]


def _plain(kind: type[errors.CuihopError], message: str) -> errors.CuihopError:
    """An error with the service's message as it stands, past the constructor, which would word it again."""
    error = kind.__new__(kind)
    error.args = (message,)
    return error


def _error(kind: type[errors.CuihopError], message: str, problem: Problem) -> errors.CuihopError:
    """The error of the given type, with the attributes from the problem."""
    error = _plain(kind, message)
    if isinstance(error, errors.ConceptError):
        error.cuis = tuple(fault.cui for fault in problem.faults)
        named = {fault.cui: tuple((c.relation, c.cui, c.name) for c in fault.candidates) for fault in problem.faults}
        if isinstance(error, errors.ConceptRetired | errors.AmbiguousCode):
            error.candidates = {cui: tuple(c[:2] for c in concepts) for cui, concepts in named.items()}
        elif any(named.values()):
            error.named = {cui: concepts for cui, concepts in named.items() if concepts}
    if isinstance(error, errors.InputError):
        parts = {"problem": problem.message, **problem.parts}
        for name in ("problem", "file", "found", "expected", "advice"):
            setattr(error, name, parts.get(name))
        line, error.column = parts.get("line", ""), parts.get("field")
        error.line = int(line) if line.isdecimal() else None
    if isinstance(error, errors.RateLimited | errors.ReleaseBehind):
        error.retry_after = _DEFAULT_RETRY_AFTER if problem.retry_after is None else problem.retry_after
    return error


def with_retries(
    attempt: Callable[[], T],
    seconds: float,
    *,
    opening: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """The result of the attempt, repeated after transient failures.

    Pauses grow and vary, so that clients do not return in step. All requests only read, so a repetition is safe.

    Args:
        seconds: no attempt begins later than this after the first.
        opening: true for the first request to an address; a failure to connect is then final.

    Raises:
        CuihopError: the error of the last attempt.
    """
    ends = clock() + seconds
    pause = _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except AttemptFailed as failed:
            wait = random.uniform(pause / 2, pause)  # noqa: S311 - no secret
            if failed.retry_after is not None and failed.retry_after >= 0:  # not for a negative number or NaN
                wait += failed.retry_after
            if not failed.retry or (opening and failed.connection) or clock() + wait > ends:
                raise failed.error from failed.__cause__
        sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)
