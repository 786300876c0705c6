"""What the remote graph asks of a transport: one attempt at one question, answered or failed."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from cuihop.graph import Concept, Direction, DistancePack, Neighbour, Path, Release, Resolution, SearchHit

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Answered", "Around", "Call", "HopsOfPairs", "Limits", "PairBlock", "Served", "Transport"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service accepts in one request. 0 where it does not tell."""

    pairs: int = 0
    concepts: int = 0
    neighbours: int = 0
    pack_concepts: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """What a service serves.

    Attributes:
        release: the release.
        indexed: whether distances come from an index in memory.
        limits: what it accepts.
        names: whether this caller sees names.
        service_version: of the service.
    """

    release: Release
    indexed: bool
    limits: Limits
    names: bool
    service_version: str


@dataclass(frozen=True, slots=True)
class Call:
    """One question, however often it is asked.

    Attributes:
        request_id: goes with it into the service's log, 32 hexadecimal digits.
        timeout: seconds for one answer.
    """

    timeout: float
    request_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def headers(self, key: str | None) -> dict[str, str]:
        """What goes with the question: its number, the key, and the trace that the program is in, if it traces."""
        headers = {"x-request-id": self.request_id}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        if "opentelemetry.trace" in sys.modules:
            from opentelemetry import propagate

            propagate.inject(headers)
        return headers


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """An answer, the digest of the release it comes from, and the retired identifiers that were replaced in it."""

    value: T
    digest: str
    merged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Some pairs of a batch.

    Attributes:
        cuis: the identifiers, two for each pair, one after the other.
        numbers: uint32, the same as numbers, where all are CUIs of a release that holds CUIs.
    """

    cuis: Sequence[str]
    numbers: npt.NDArray[np.uint32] | None

    def __len__(self) -> int:
        return len(self.cuis) // 2


@dataclass(frozen=True, slots=True)
class HopsOfPairs:
    """int32, shape (pairs,), meaningless where `reached`, bool of the same shape, is false."""

    hops: npt.NDArray[np.int32]
    reached: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Around:
    """The concepts around one centre, and how many there are."""

    cui: str
    neighbours: tuple[Neighbour, ...]
    total: int


class Transport(Protocol):
    """One way to a service. Safe to share between threads.

    Every question is asked once, and raises `cuihop.remote.problems.Failed` where it is not answered. Arguments are
    as in `cuihop.graph.ConceptGraph`, and have been checked.
    """

    def served(self, call: Call) -> Answered[Served]:
        """What is served."""

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, call: Call
    ) -> Answered[HopsOfPairs]:
        """The distance of each pair."""

    def path(self, a: str, b: str, direction: Direction, max_hops: int | None, call: Call) -> Answered[Path | None]:
        """One shortest path."""

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, call: Call
    ) -> Answered[list[Around]]:
        """The concepts around each concept."""

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, call: Call) -> Answered[DistancePack]:
        """All distances up to a bound."""

    def concepts(self, cuis: Sequence[str], call: Call, *, names_only: bool) -> Answered[list[Concept]]:
        """What is known of each concept."""

    def resolve(self, cuis: Sequence[str], call: Call) -> Answered[list[Resolution]]:
        """What became of each identifier."""

    def search(self, text: str, limit: int, call: Call) -> Answered[list[SearchHit]]:
        """Concepts by name."""

    def close(self) -> None:
        """Give the connections back. Harmless twice."""
