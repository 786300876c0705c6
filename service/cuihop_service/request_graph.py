"""The core as a graph, for one request that takes several operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    checked_identifiers,
    checked_pairs,
)
from cuihop.remote.hierarchy import without_counts
from cuihop.similarity.hierarchy import Hierarchy, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import InformationContent, SimilarityOptions
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.request_context import Answer, RequestContext, Tier

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
        self.core = ConceptService(holder, core.limits, names=core.sees_names(context.caller), corpus=core.corpus)
        self._served = served
        self.context = context

    @property
    def release(self) -> Release:
        """The release."""
        return self._served.release

    def within(self, sabs: Sequence[str]) -> RequestGraph:
        """See `ConceptGraph.within`."""
        return RequestGraph(self.core, self._served.within(checked_sabs(sabs, self.release)), self.context)

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return self.value_of(self.core.resolve(cuis, context=self.context))

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        batch = checked_pairs(pairs)
        return self.value_of(self.core.distances(batch, direction=direction, max_hops=max_hops, context=self.context))

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """See `ConceptGraph.path`."""
        answer = self.core.path(a, b, direction=direction, max_hops=max_hops, which=which, context=self.context)
        return self.value_of(answer)[0]

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`."""
        return self.value_of(
            self.core.neighbourhoods(cuis, hops=hops, direction=direction, limit=limit, context=self.context)
        )

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`."""
        return self.value_of(self.core.pack(cuis, hops=hops, direction=direction, context=self.context))

    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`."""
        return list(self.value_of(self.core.concepts(cuis, context=self.context)).concepts)

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`."""
        described = self.value_of(self.core.concepts(cuis, names_only=True, context=self.context))
        return [concept.name for concept in described.concepts]

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`."""
        return self.value_of(self.core.search(text, limit=limit, context=self.context))

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`."""
        return _RequestHierarchy(self)

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`."""
        return self.value_of(self.core.annotate(texts, options or AnnotationOptions(), context=self.context))

    def close(self) -> None:
        """Do nothing: the release goes back to its lender."""

    def value_of(self, answer: Answer[T]) -> T:
        """The value of an answer, whose tier counts for the request."""
        slowest = self.context.answer
        if slowest is None or _TIERS.index(answer.tier) > _TIERS.index(slowest.tier):
            self.context.answer = answer
        return answer.value


class _RequestHierarchy(Hierarchy):
    """The hierarchy of one request; information content of a corpus is of the counts of the service."""

    def __init__(self, graph: RequestGraph) -> None:
        self._similarity = graph.core.similarity
        self._context = graph.context
        self._graph = graph

    def facts(self) -> HierarchyFacts:
        """See `Hierarchy.facts`."""
        return self._graph.value_of(self._similarity.facts(context=self._context))

    def placements(
        self, cuis: Sequence[str], *, ic: InformationContent = "Sanchez", counts: Mapping[str, float] | None = None
    ) -> list[Placement]:
        """See `Hierarchy.placements`."""
        checked = without_counts(SimilarityOptions(ic=ic, counts=counts or {}))
        return self._graph.value_of(
            self._similarity.placements(checked_identifiers(cuis), checked.ic, context=self._context)
        )

    def pairs(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        ic: InformationContent = "Sanchez",
        counts: Mapping[str, float] | None = None,
    ) -> list[PairSimilarity]:
        """See `Hierarchy.pairs`."""
        checked = without_counts(SimilarityOptions(ic=ic, counts=counts or {}))
        return self._graph.value_of(self._similarity.pairs(checked_pairs(pairs), checked.ic, context=self._context))

    def similarities(self, pairs: Iterable[tuple[str, str]], options: SimilarityOptions | None = None) -> Similarities:
        """See `Hierarchy.similarities`."""
        used = without_counts(options or SimilarityOptions())
        batch = checked_pairs(pairs)
        return self._graph.value_of(self._similarity.similarities(batch, used.measure, used.ic, context=self._context))

    def set_similarities(
        self, pairs: Iterable[tuple[Collection[str], Collection[str]]], options: SimilarityOptions | None = None
    ) -> Similarities:
        """See `Hierarchy.set_similarities`."""
        used = without_counts(options or SimilarityOptions())
        sets = [(list(a), list(b)) for a, b in pairs]
        return self._graph.value_of(
            self._similarity.set_similarities(sets, used.measure, used.ic, context=self._context)
        )
