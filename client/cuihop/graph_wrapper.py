"""A `ConceptGraph` around another one, and one with names from elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import checked_choice
from cuihop.graph import (
    CodeLookup,
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Many,
    MapLookup,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    ShortestPaths,
    resolved,
)
from cuihop.similarity.hierarchy import Hierarchy

__all__ = ["GraphOfCodes", "GraphWithNames", "GraphWrapper", "names_of", "without_added_names"]


class GraphWrapper(ConceptGraph):
    """A `ConceptGraph` that delegates to another one; a subclass overrides what it changes, and `within`.

    Args:
        graph: the inner graph, closed with this one.
    """

    def __init__(self, graph: ConceptGraph) -> None:
        self.graph = graph
        self.many = graph.many

    @property
    def release(self) -> Release:
        """The release of the inner graph."""
        return self.graph.release

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy of the inner graph."""
        return self.graph.hierarchy

    def close(self) -> None:
        """Close the inner graph. Harmless twice."""
        self.graph.close()

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        return self.graph.resolve(cuis)

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        return self.graph.distances(zip(ends[::2], ends[1::2], strict=True), direction=direction, max_hops=bound)

    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None:
        return self.graph.path(a, b, direction=direction, max_hops=bound, which=which)

    def _paths(
        self, a: str, b: str, direction: Direction, bound: int | None, limit: int | None
    ) -> ShortestPaths | None:
        return self.graph.paths(a, b, direction=direction, max_hops=bound, limit=limit)

    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]:
        return self.graph.neighbours(cuis, hops=bound, direction=direction, limit=limit)

    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        return self.graph.pack(cuis, hops=bound, direction=direction)

    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]:
        return self.graph.concepts(cuis, codes=codes)

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        return self.graph.names(cuis)

    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        return self.graph.codes(identifiers, sabs=sabs)

    def _code_maps(self, identifiers: Sequence[str]) -> list[MapLookup]:
        return self.graph.code_maps(identifiers)

    def _search(self, text: str, limit: int | None) -> list[SearchHit]:
        return self.graph.search(text, limit=limit)

    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        return self.graph.annotate_many(texts, options)


class GraphWithNames(GraphWrapper):
    """A `ConceptGraph` that names concepts of another one where that has no name, and delegates everything else to it.

    Records, search and annotation are by the names of the graph.

    Args:
        graph: closed with this graph.
        added: concept → its name. It may name concepts that the graph does not hold.
    """

    def __init__(self, graph: ConceptGraph, added: Mapping[str, str]) -> None:
        super().__init__(graph)
        self.added = added

    def __repr__(self) -> str:
        return f"<GraphWithNames of {self.graph!r}: {len(self.added):,} names>"

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        current = resolved(self.graph.resolve(cuis), self.release)
        names = zip(current, self.graph.names(current), strict=True)
        return [self.added.get(cui) if name is None else name for cui, name in names]

    def within(self, sabs: Sequence[str]) -> GraphWithNames:
        """See `ConceptGraph.within`; with the same added names."""
        return GraphWithNames(self.graph.within(sabs), self.added)


class GraphOfCodes(GraphWrapper):
    """A `ConceptGraph` that resolves a code of several concepts to the first, or to all for sets of concepts.

    Measures and evaluations of sets take what it resolves. Its other operations refuse such a code.

    Args:
        graph: closed with this graph.
        many: ``first`` or ``all``: see `cuihop.measures.resolution.resolved_concepts`.
    """

    def __init__(self, graph: ConceptGraph, many: Many) -> None:
        super().__init__(graph)
        self.many = checked_choice("many", many, Many)

    def __repr__(self) -> str:
        return f"<GraphOfCodes of {self.graph!r}: {self.many} of several concepts>"

    def within(self, sabs: Sequence[str]) -> GraphOfCodes:
        """See `ConceptGraph.within`; with the same treatment of codes."""
        return GraphOfCodes(self.graph.within(sabs), self.many)

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        answers = self.graph.resolve(cuis)
        if self.many != "first":
            return answers
        return [replace(r, status="code", cui=r.candidates[0][1]) if r.status == "several" else r for r in answers]


def without_added_names(graph: ConceptGraph) -> ConceptGraph:
    """The graph within `GraphWithNames`; any other as it is."""
    return graph.graph if isinstance(graph, GraphWithNames) else graph


def names_of(graph: ConceptGraph, held: Sequence[str], isolated: Collection[str] = ()) -> dict[str, str | None]:
    """Concept → its name, ``None`` without one.

    Args:
        graph: gives the names. held: concepts of it.
        isolated: concepts that it does not hold; each has an entry where `GraphWithNames` names it.
    """
    names = dict(zip(held, graph.names(held), strict=True)) if held else {}
    if isinstance(graph, GraphWithNames):
        names.update({cui: graph.added[cui] for cui in sorted(isolated) if cui in graph.added})
    return names
