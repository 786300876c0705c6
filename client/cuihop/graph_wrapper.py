"""A `ConceptGraph` around another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.graph import (
    CommonAncestor,
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
from cuihop.similarity.hierarchy import Hierarchy


class GraphWrapper(ConceptGraph):
    """A `ConceptGraph` that delegates to another one; a subclass overrides what it changes, and `within`.

    Args:
        graph: the inner graph, closed with this one.
    """

    def __init__(self, graph: ConceptGraph) -> None:
        self.graph = graph

    @property
    def release(self) -> Release:
        """The release of the inner graph."""
        return self.graph.release

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return self.graph.resolve(cuis)

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        return self.graph.distances(pairs, direction=direction, max_hops=max_hops)

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """See `ConceptGraph.path`."""
        return self.graph.path(a, b, direction=direction, max_hops=max_hops, which=which)

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`."""
        return self.graph.neighbours(cuis, hops=hops, direction=direction, limit=limit)

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`."""
        return self.graph.pack(cuis, hops=hops, direction=direction)

    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`."""
        return self.graph.concepts(cuis)

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`."""
        return self.graph.names(cuis)

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`."""
        return self.graph.search(text, limit=limit)

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`."""
        return self.graph.annotate_many(texts, options)

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`."""
        return self.graph.hierarchy

    def ancestors(self, cui: str, *, hops: int | None = None, limit: int | None = None) -> Neighbourhood:
        """See `ConceptGraph.ancestors`."""
        return self.graph.ancestors(cui, hops=hops, limit=limit)

    def descendants(self, cui: str, *, hops: int | None = None, limit: int | None = None) -> Neighbourhood:
        """See `ConceptGraph.descendants`."""
        return self.graph.descendants(cui, hops=hops, limit=limit)

    def common_ancestors(self, a: str, b: str) -> list[CommonAncestor]:
        """See `ConceptGraph.common_ancestors`."""
        return self.graph.common_ancestors(a, b)

    def close(self) -> None:
        """Close the inner graph. Harmless twice."""
        self.graph.close()
