"""The transport protocol: one attempt at one request, over gRPC or HTTP, and the values it exchanges."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.graph import Concept, Direction, DistancePack, Neighbour, Path, Release, Resolution, SearchHit
from cuihop.remote.activation import NewestSeen
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity, Placement
from cuihop.similarity.options import InformationContent, SimilarityOptions

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")

SetPair: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Two sets of identifiers."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Largest sizes that the service accepts in one request; 0 where it states none."""

    pairs: int = 0
    concepts: int = 0
    neighbours: int = 0
    pack_concepts: int = 0
    texts: int = 0
    text_characters: int = 0
    characters: int = 0
    sets: int = 0
    comparisons: int = 0


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """Description of a service, from its release endpoint.

    Attributes:
        release: the release that it serves.
        indexed: true if distances come from an index in memory.
        limits: the largest request sizes.
        names: true if this caller may see names.
        service_version: version of the service.
    """

    release: Release
    indexed: bool
    limits: ServiceLimits
    names: bool
    service_version: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request, shared by all its attempts.

    Attributes:
        timeout: seconds for one attempt.
        within_sabs: vocabularies that the graph is restricted to; none for all edges.
        request_id: 32 hexadecimal digits, for the service's log.
    """

    timeout: float
    within_sabs: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True)
class PairBlock:
    """A block of pairs of a batch.

    Attributes:
        cuis: two identifiers for each pair, one pair after the other.
        numbers: uint32, the same identifiers as numbers; ``None`` unless all are CUIs of a release that holds CUIs.
    """

    cuis: Sequence[str]
    numbers: npt.NDArray[np.uint32] | None

    def __len__(self) -> int:
        return len(self.cuis) // 2


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Distances of a block: int32, shape (pairs,), undefined where `reached`, bool of the same shape, is false."""

    hops: npt.NDArray[np.int32]
    reached: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PairValues:
    """Similarities of a block: float64, shape (pairs,), undefined where `defined`, bool of the same shape, is false."""

    values: npt.NDArray[np.float64]
    defined: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CentreNeighbours:
    """The neighbours of one centre, perhaps cut by a limit, and their total number."""

    cui: str
    neighbours: tuple[Neighbour, ...]
    total: int


class Transport(Protocol):
    """One way to a service. Safe to share between threads.

    Attributes:
        seen: the newest activation of a release among its answers; sent with each request.

    Each method makes one attempt, and raises `cuihop.remote.failures.AttemptFailed` where it gets no valid response.
    Arguments are as in `cuihop.graph.ConceptGraph`, and have been checked. `resolve`, `search` and `annotate` do not
    depend on edges: they are of the whole release, and their requests have no vocabularies.
    """

    seen: NewestSeen

    def service_info(self, request: Request) -> Response[ServiceInfo]:
        """Release, limits and version of the service."""

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, request: Request
    ) -> Response[PairDistances]:
        """The distance of each pair."""

    def path(
        self, a: str, b: str, direction: Direction, max_hops: int | None, which: int, request: Request
    ) -> Response[Path | None]:
        """One shortest path."""

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, request: Request
    ) -> Response[list[CentreNeighbours]]:
        """The neighbours of each concept."""

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, request: Request) -> Response[DistancePack]:
        """All distances up to a bound."""

    def concepts(self, cuis: Sequence[str], request: Request, *, names_only: bool) -> Response[list[Concept]]:
        """The record of each concept."""

    def resolve(self, cuis: Sequence[str], request: Request) -> Response[list[Resolution]]:
        """The resolution of each identifier."""

    def search(self, text: str, limit: int, request: Request) -> Response[list[SearchHit]]:
        """Concepts by name."""

    def annotate(self, texts: Sequence[str], options: AnnotationOptions, request: Request) -> Response[Annotations]:
        """The mentions of each text."""

    def similarities(self, ends: Sequence[str], options: SimilarityOptions, request: Request) -> Response[PairValues]:
        """The similarity of each pair; two identifiers for each, one pair after the other."""

    def set_similarities(
        self, sets: Sequence[SetPair], options: SimilarityOptions, request: Request
    ) -> Response[PairValues]:
        """The similarity of each pair of sets."""

    def pair_similarities(
        self, ends: Sequence[str], ic: InformationContent, request: Request
    ) -> Response[list[PairSimilarity]]:
        """Each pair by every measure."""

    def placements(self, cuis: Sequence[str], ic: InformationContent, request: Request) -> Response[list[Placement]]:
        """The place of each concept."""

    def hierarchy_facts(self, request: Request) -> Response[HierarchyFacts]:
        """The hierarchy as a whole."""

    def close(self) -> None:
        """Close the connections. Harmless twice."""
