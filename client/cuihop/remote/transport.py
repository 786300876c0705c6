"""The transport protocol: one attempt at one request, over gRPC or HTTP, and the values it exchanges."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from cuihop.adapter_rules import checked_pack
from cuihop.graph import DistancePack, Path, Release, Step
from cuihop.operations.answers import PackAnswer, PathAnswer, ReleaseAnswer, ServiceLimits
from cuihop.operations.requests import PathRequest
from cuihop.operations.table import NEIGHBOURHOODS, PACK, Operation
from cuihop.remote.activation import NewestSeen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")
Q = TypeVar("Q")
A = TypeVar("A")

_REPEATED = frozenset({"a", "b", "direction", "max_hops", "measure", "ic"})


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """Description of a service, from its release endpoint: see `ReleaseAnswer`."""

    release: Release
    indexed: bool
    limits: ServiceLimits
    names: bool
    service_version: str

    @classmethod
    def of(cls, answer: ReleaseAnswer) -> ServiceInfo:
        """The description in an answer."""
        release = Release(**{f.name: getattr(answer, f.name) for f in fields(Release)})
        return cls(release, answer.indexed, answer.limits, answer.names, answer.service_version)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: seconds for each of its attempts, and 32 hexadecimal digits that the service logs."""

    timeout: float
    request_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def headers(self, key: str | None, seen: NewestSeen | None = None) -> dict[str, str]:
        """Headers of the request: identifier, key, activation seen, and the trace context if the program is traced."""
        headers = {"x-request-id": self.request_id, **({} if seen is None else seen.headers())}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        if "opentelemetry.trace" in sys.modules:
            from opentelemetry import propagate

            propagate.inject(headers)
        return headers


@dataclass(frozen=True, slots=True)
class Response(Generic[T]):
    """A parsed response: its value, the digest of its release, and the retired identifiers that were replaced."""

    value: T
    digest: str
    merged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class PairBlock(Sequence[tuple[str, str]]):
    """A block of pairs of a batch.

    Attributes:
        numbers: uint32, the same identifiers as numbers; ``None`` unless all are CUIs of a release that holds CUIs.
    """

    cuis: Sequence[str]
    numbers: npt.NDArray[np.uint32] | None = None

    def __len__(self) -> int:
        return len(self.cuis) // 2

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[str, str]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, str] | Sequence[tuple[str, str]]:
        return list(self)[index]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.cuis[::2], self.cuis[1::2], strict=True)


def slices(items: Sequence[Any], size: int) -> Iterator[slice]:
    """The blocks of a batch."""
    return (slice(first, first + size) for first in range(0, len(items), size))


def within_limit(size: int, limit: int) -> int:
    """The size of a block within the limit of the service; a limit of 0 is none."""
    return min(size, limit) if limit > 0 else size


def path_of(answer: PathAnswer, request: PathRequest, merged: Mapping[str, str]) -> Path | None:
    """The path in an answer, or a `ValueError` for a hop without a relation."""
    if answer.path is None:
        return None
    start, *others = answer.path
    steps = []
    for concept in others:
        if concept.relation is None:
            raise ValueError("a hop without a relation")
        steps.append(Step(concept.cui, concept.relation, concept.sabs))
    return Path(start.cui, tuple(steps), request.direction, merged, answer.total, answer.which or 1)


class Transport(Protocol):
    """A transport to a service. Safe to share between threads.

    Attributes:
        seen: the newest activation of a release among its answers; sent with each request.
    """

    seen: NewestSeen

    def send(self, operation: Operation[Q, A], question: Q, request: Request) -> Response[A]:
        """The answer to a question, whose values have been checked, by one attempt.

        Raises:
            AttemptFailed: see `cuihop.remote.failures`; no valid response came.
        """

    def close(self) -> None:
        """Close the connections. Harmless twice."""


def repeated(operation: Operation[Any, Any], question: Any) -> dict[str, Any]:
    """Attributes of an answer that repeat the question, which a message leaves out, and JSON of an earlier service."""
    names = operation.answer.__dataclass_fields__.keys() & operation.request.__dataclass_fields__.keys() & _REPEATED
    values = {name: getattr(question, name) for name in names}
    if operation is NEIGHBOURHOODS:
        values["hops"] = question.hops
    elif operation is PACK:
        values["bound"] = question.hops
    return values


def response_of(
    operation: Operation[Any, Any], question: Any, answer: Any, digest: str, merged: Mapping[str, str]
) -> Response[Any]:
    """The response with an answer, in the form of the port if that has one; a `ValueError` for another request's."""
    if operation.rows:
        rows, expected = len(getattr(answer, operation.rows)), operation.size_of(question)
        if rows != expected:
            raise ValueError(f"{rows:,} {operation.rows} for {expected:,}")
    if isinstance(answer, PackAnswer):
        columns = answer.cuis, answer.indptr, answer.indices, answer.hops
        answer = checked_pack(DistancePack(*columns, question.hops, question.direction, digest), len(question.cuis))
    elif isinstance(answer, PathAnswer):
        answer = path_of(answer, question, merged)
    return Response(answer, digest, dict(merged))
