"""The core as a graph, for one request that takes several operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, get_args

from cuihop.adapter_rules import checked_sabs
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.graph import (
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    checked_pairs,
)
from cuihop.similarity.hierarchy import Hierarchy
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.request_context import Answer, RequestContext, Tier

__all__ = ["RequestGraph"]

T = TypeVar("T")

_TIERS: tuple[Tier, ...] = get_args(Tier)  # the slowest is the last


class RequestGraph(ConceptGraph):
    """A `ConceptGraph` of one release, with the limits, the deadline and the hidden names of the service.

    The context gets the answer of the slowest tier, for the observer.

    Args:
        core: the operations.
        served: the release, lent for as long as the request takes.
        context: of the request.
    """

    def __init__(self, core: ConceptService, served: ServedGraph, context: RequestContext) -> None:
        holder = GraphHolder()
        holder.serve(served)
        self._core = ConceptService(holder, core.limits, names=core.sees_names(context.caller))
        self._served = served
        self._context = context

    @property
    def release(self) -> Release:
        """The release."""
        return self._served.release

    def within(self, sabs: Sequence[str]) -> RequestGraph:
        """See `ConceptGraph.within`."""
        return RequestGraph(self._core, self._served.within(checked_sabs(sabs, self.release)), self._context)

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return self._value(self._core.resolve(cuis, context=self._context))

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        batch = checked_pairs(pairs)
        return self._value(self._core.distances(batch, direction=direction, max_hops=max_hops, context=self._context))

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """See `ConceptGraph.path`."""
        answer = self._core.path(a, b, direction=direction, max_hops=max_hops, which=which, context=self._context)
        return self._value(answer)[0]

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`."""
        return self._value(
            self._core.neighbourhoods(cuis, hops=hops, direction=direction, limit=limit, context=self._context)
        )

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`."""
        return self._value(self._core.pack(cuis, hops=hops, direction=direction, context=self._context))

    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`."""
        return list(self._value(self._core.concepts(cuis, context=self._context)).concepts)

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`."""
        described = self._value(self._core.concepts(cuis, names_only=True, context=self._context))
        return [concept.name for concept in described.concepts]

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`."""
        return self._value(self._core.search(text, limit=limit, context=self._context))

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`."""
        raise NotImplementedError

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`."""
        return self._value(self._core.annotate(texts, options or AnnotationOptions(), context=self._context))

    def close(self) -> None:
        """Do nothing: the release goes back to its lender."""

    def _value(self, answer: Answer[T]) -> T:
        slowest = self._context.answer
        if slowest is None or _TIERS.index(answer.tier) > _TIERS.index(slowest.tier):
            self._context.answer = answer
        return answer.value
