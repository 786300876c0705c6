"""Distances in the graph without its hubs.

A *hub* is a concept with more than H children in the release, whatever their direction in a search: broad classes such
as "disease", through which everything is near everything. Without hubs, a path of is_a hops may not start at a hub, run
through one, or end at one. Two images that share a hub still share it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from cuihop.adapter_rules import BACKWARDS, SEARCHES
from cuihop.explanation.query_gains import Hops
from cuihop.graph import ConceptGraph, Direction


def _children_of(cuis: Collection[str], graph: ConceptGraph) -> dict[str, int]:
    """The number of children of each concept, in one batch."""
    parents = sorted(cuis)
    hoods = graph.neighbours(parents, hops=1, direction="down", limit=0) if parents else []
    return {cui: hood.total for cui, hood in zip(parents, hoods, strict=True)}


class HubFree:
    """The subgraph that holds every path of at most ``bound`` hops without a hub between two sets of concepts.

    Neighbours are fetched layer by layer, from both sides towards the middle, in at most ``2 * bound + 1`` batches
    for each search that the direction needs; hubs, of more children than the largest H, ``most``, are never expanded.
    The number of ``children`` is that of each start, each end and each concept on the way.
    """

    def __init__(
        self,
        graph: ConceptGraph,
        starts: Collection[str],
        ends: Collection[str],
        *,
        bound: int,
        direction: Direction,
        most: int,
    ) -> None:
        self._graph, self._most = graph, most
        self._starts, self._ends, self._bound = frozenset(starts), frozenset(ends), bound
        self._arcs: dict[Direction, dict[str, set[str]]] = {}
        self.children = _children_of(self._starts | self._ends, graph)
        for search in SEARCHES[direction]:
            arcs = self._arcs[search] = {}
            seen = self._expand(arcs, self._starts, -(-bound // 2), search, forwards=True)
            met = self._expand(arcs, self._ends, bound // 2, BACKWARDS[search], forwards=False)
            self._count(seen & met)  # the last layers are not expanded: a path runs only through their intersection

    def _count(self, cuis: Collection[str]) -> None:
        self.children |= _children_of(set(cuis) - self.children.keys(), self._graph)

    def _expand(
        self, arcs: dict[str, set[str]], centres: Collection[str], layers: int, direction: Direction, *, forwards: bool
    ) -> set[str]:
        """Add the hops of this number of layers to the arcs; returns every concept reached."""
        met, frontier = set(centres), set(centres)
        for layer in range(layers):
            if layer:
                self._count(frontier)
            centres = sorted(cui for cui in frontier if self.children[cui] <= self._most)
            frontier = set()
            hoods = self._graph.neighbours(centres, hops=1, direction=direction) if centres else []
            for cui, hood in zip(centres, hoods, strict=True):
                for neighbour in hood:
                    here, there = (cui, neighbour.cui) if forwards else (neighbour.cui, cui)
                    arcs.setdefault(here, set()).add(there)
                    if neighbour.cui not in met:
                        met.add(neighbour.cui)
                        frontier.add(neighbour.cui)
        return met

    def hops(self, most_children: int) -> Hops:
        """The distance from each start to each end in the graph without concepts of more children than this."""
        distances: dict[tuple[str, str], int] = {}
        for arcs in self._arcs.values():
            for start in self._starts:
                for hops, reached in enumerate(self._layers(arcs, start, most_children)):
                    for pair in ((start, end) for end in reached & self._ends):
                        distances[pair] = min(hops, distances.get(pair, hops))
        return distances

    def _layers(self, arcs: Mapping[str, set[str]], start: str, most_children: int) -> Sequence[set[str]]:
        """The concepts at 0, 1, … hops."""

        def free(cuis: Iterable[str]) -> set[str]:
            return {cui for cui in cuis if self.children.get(cui, most_children + 1) <= most_children}

        layers = [free([start])]
        met = set(layers[0])
        for _ in range(self._bound):
            ahead = free({there for here in layers[-1] for there in arcs.get(here, ())} - met)
            met |= ahead
            layers.append(ahead)
        return layers
