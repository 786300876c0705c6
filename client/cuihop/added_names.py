"""A graph with names from elsewhere: a `ConceptGraph` around any other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from cuihop.graph import ConceptGraph, resolved
from cuihop.graph_wrapper import GraphWrapper

__all__ = ["GraphWithNames", "names_of", "without_added_names"]


class GraphWithNames(GraphWrapper):
    """A `ConceptGraph` that names concepts of another one where that has no name, and hands everything else on to it.

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

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """The name of each concept in the graph, or else among those added."""
        used = resolved(self.graph.resolve(cuis), self.release)
        found = zip(used, self.graph.names(cuis), strict=True)
        return [self.added.get(cui) if name is None else name for cui, name in found]

    def within(self, sabs: Sequence[str]) -> GraphWithNames:
        """See `ConceptGraph.within`; with the same added names."""
        return GraphWithNames(self.graph.within(sabs), self.added)


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
