"""A graph with names from elsewhere: a `ConceptGraph` around any other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

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
    resolved,
)
from cuihop.similarity.hierarchy import Hierarchy

__all__ = ["GraphWithNames", "names_of", "without_added_names"]


class GraphWithNames(ConceptGraph):
    """A `ConceptGraph` that names concepts of another one where that has no name, and hands everything else on to it.

    Args:
        graph: closed with this graph.
        added: concept → its name. It may name concepts that the graph does not hold.
    """

    def __init__(self, graph: ConceptGraph, added: Mapping[str, str]) -> None:
        self.graph = graph
        self.added = added

    def __repr__(self) -> str:
        return f"<GraphWithNames of {self.graph!r}: {len(self.added):,} names>"

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """The name of each concept in the graph, or else among those added."""
        used = resolved(self.graph.resolve(cuis), self.release)
        found = zip(used, self.graph.names(cuis), strict=True)
        return [self.added.get(cui) if name is None else name for cui, name in found]

    @property
    def release(self) -> Release:
        """The release of the graph."""
        return self.graph.release

    def within(self, sabs: Sequence[str]) -> GraphWithNames:
        """See `ConceptGraph.within`; with the same added names."""
        return GraphWithNames(self.graph.within(sabs), self.added)

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
        """See `ConceptGraph.concepts`; records are those of the graph."""
        return self.graph.concepts(cuis)

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`; among the names of the graph."""
        return self.graph.search(text, limit=limit)

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`; by the names of the graph."""
        return self.graph.annotate_many(texts, options)

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`."""
        return self.graph.hierarchy

    def close(self) -> None:
        """Close the graph."""
        self.graph.close()


def without_added_names(graph: ConceptGraph) -> ConceptGraph:
    """The graph within `GraphWithNames`; any other as it is."""
    return graph.graph if isinstance(graph, GraphWithNames) else graph


def names_of(graph: ConceptGraph, held: Sequence[str], isolated: Collection[str] = ()) -> dict[str, str | None]:
    """Concept → its name, ``None`` without one.

    Args:
        graph: gives the names. held: concepts of it.
        isolated: concepts that it does not hold; each has an entry where `GraphWithNames` names it.
    """
    found = dict(zip(held, graph.names(held), strict=True)) if held else {}
    if isinstance(graph, GraphWithNames):
        found.update({cui: graph.added[cui] for cui in sorted(isolated) if cui in graph.added})
    return found
