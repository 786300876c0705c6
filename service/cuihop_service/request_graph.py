"""The core as a graph, for one request that takes several operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar, get_args

from cuihop.adapter_rules import checked_sabs
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.graph import (
    CodeLookup,
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
)
from cuihop.remote.hierarchy import without_counts
from cuihop.similarity.hierarchy import Hierarchy, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import SimilarityOptions
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.request_context import Answer, RequestContext, Tier

T = TypeVar("T")

_TIERS: tuple[Tier, ...] = get_args(Tier)  # the slowest is the last


class RequestGraph(ConceptGraph):
    """A `ConceptGraph` of one release, with the limits, the deadline and the hidden names of the service.

    The context gets the answer of the slowest tier, for the observer.
    """

    def __init__(self, core: ConceptService, served: ServedGraph, context: RequestContext) -> None:
        self.core = core.on(served, context.caller)
        self._served = served
        self.context = context

    @property
    def release(self) -> Release:
        """The release."""
        return self._served.release

    def within(self, sabs: Sequence[str]) -> RequestGraph:
        """See `ConceptGraph.within`."""
        return RequestGraph(self.core, self._served.within(checked_sabs(sabs, self.release)), self.context)

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        return self.value_of(self.core.resolutions, cuis)

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        return self.value_of(self.core.distances, pairs, direction=direction, max_hops=bound)

    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None:
        return self.value_of(self.core.path, a, b, direction=direction, max_hops=bound, which=which)[0]

    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]:
        return self.value_of(self.core.neighbourhoods, cuis, hops=bound, direction=direction, limit=limit)

    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        return self.value_of(self.core.pack, cuis, hops=bound, direction=direction)

    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]:
        return list(self.value_of(self.core.concepts, cuis, codes=codes).concepts)

    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        return self.value_of(self.core.codes, identifiers, sabs=sabs)

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        return [concept.name for concept in self.value_of(self.core.concepts, cuis, names_only=True).concepts]

    def _search(self, text: str, limit: int | None) -> list[SearchHit]:
        return self.value_of(self.core.search, text, limit=limit)

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`."""
        return _RequestHierarchy(self)

    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        return self.value_of(self.core.annotate, texts, options)

    def close(self) -> None:
        """Do nothing: the release goes back to its lender."""

    def value_of(self, operation: Callable[..., Answer[T]], *arguments: Any, **options: Any) -> T:
        """The value of the answer of an operation, whose tier counts for the request."""
        answer = operation(*arguments, **options, context=self.context)
        slowest = self.context.answer
        if slowest is None or _TIERS.index(answer.tier) > _TIERS.index(slowest.tier):
            self.context.answer = answer
        return answer.value


class _RequestHierarchy(Hierarchy):
    """The hierarchy of one request; information content of a corpus is of the counts of the service."""

    def __init__(self, graph: RequestGraph) -> None:
        self._similarity = graph.core.similarity
        self._value_of = graph.value_of

    def facts(self) -> HierarchyFacts:
        """See `Hierarchy.facts`."""
        return self._value_of(self._similarity.hierarchy)

    def _placements(self, cuis: Sequence[str], options: SimilarityOptions) -> list[Placement]:
        return self._value_of(self._similarity.placements, cuis, without_counts(options).ic)

    def _pairs(self, ends: Sequence[str], options: SimilarityOptions) -> list[PairSimilarity]:
        ic, pairs = without_counts(options).ic, list(zip(ends[::2], ends[1::2], strict=True))
        return self._value_of(self._similarity.pair_similarities, pairs, ic)

    def _similarities(self, ends: Sequence[str], options: SimilarityOptions) -> Similarities:
        used, pairs = without_counts(options), list(zip(ends[::2], ends[1::2], strict=True))
        return self._value_of(self._similarity.similarities, pairs, measure=used.measure, ic=used.ic)

    def _set_similarities(self, sets: Sequence[Collection[str]], options: SimilarityOptions) -> Similarities:
        used, pairs = without_counts(options), list(zip(map(list, sets[::2]), map(list, sets[1::2]), strict=True))
        return self._value_of(self._similarity.similarities, sets=pairs, measure=used.measure, ic=used.ic)
