"""Context of one request under way (caller, deadline, cancellation), and the answers of the core."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from cuihop.errors import CuihopError, InputError, QueryTimedOut
from cuihop.graph import SourceCode
from cuihop.remote.activation import ACTIVATION_HEADER, Activation
from cuihop.resources.compilation import seconds_of_compilation
from cuihop_service.callers import ANONYMOUS, Caller

Tier: TypeAlias = Literal["cache", "index", "cypher"]
"""The part of the service that gave an answer: a cache, the index in memory, or the database by Cypher."""

FAULT = "a fault in the service; please report it"
"""All that a caller gets to read of an error that was not foreseen: its own message may repeat the request."""

T = TypeVar("T")


@dataclass(slots=True)  # one for each request, and a frozen one takes twice as long
class Answer(Generic[T]):
    """An answer and its origin. Constant.

    Attributes:
        tier: the part of the service that gave it; for a batch, the slowest one used.
        merged: retired identifiers of the request and codes, and the concept that each was taken for.
        from_cache: number of distances of a batch that came from a cache.
        codes: of the concepts in the answer, in their order; None if none were requested.
    """

    value: T
    digest: str
    tier: Tier
    merged: Mapping[str, str]
    from_cache: int = 0
    codes: Sequence[SourceCode] | None = None


class Cancelled(CuihopError):
    """The caller has gone, and the answer with it."""


class Overdue(QueryTimedOut):
    """The time of this one request has passed; the graph itself may be well."""


@dataclass(slots=True, eq=False)
class ReleaseSession:
    """Activations of one request, which order it among the other requests of its caller.

    Attributes:
        seen: the newest that the caller has seen; None where it names none.
        served: that of the release that the request was answered from; None before, and where it needs no release.
    """

    seen: Activation | None = None
    served: Activation | None = None

    def read(self, text: str | None) -> None:
        """Take the caller's activation from a header, None for none; `InputError` if no answer had it so."""
        if text is not None:
            self.seen = Activation.parsed(text)
            if self.seen is None:
                raise InputError(
                    "no activation of a release", column=ACTIVATION_HEADER, found=repr(text[:60]),
                    expected="the value of an answer of this service, unchanged",
                )  # fmt: skip


@dataclass(slots=True, eq=False)
class RequestContext:
    """A request under way.

    Attributes:
        ends: deadline of the answer, on the clock of `time.monotonic`. What the process compiles meanwhile, once after
            an install, puts it off.
        compiled: `seconds_of_compilation` at the beginning.
        answer: the core's answer, where the work returns a transport's message instead; for the observer.
    """

    caller: Caller = ANONYMOUS
    ends: float = field(default_factory=lambda: time.monotonic() + 30.0)
    cancelled: bool = False
    answer: Answer[Any] | None = None
    session: ReleaseSession = field(default_factory=ReleaseSession)
    compiled: float = field(default_factory=seconds_of_compilation)

    @property
    def remaining(self) -> float:
        """Seconds until the answer is due; not below 0."""
        return max(0.0, self.ends + seconds_of_compilation() - self.compiled - time.monotonic())

    def check(self) -> None:
        """Stop work that is in vain: `Cancelled` if the caller has gone, `Overdue` after the deadline."""
        if self.cancelled:
            raise Cancelled("the caller has gone")
        if time.monotonic() >= self.ends and not self.remaining:
            raise Overdue("the answer took longer than allowed")

    def chunks(self, items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
        """The items in chunks of this size, with a `check` before each."""
        for first in range(0, len(items), size):
            self.check()
            yield items if len(items) <= size else items[first : first + size]
