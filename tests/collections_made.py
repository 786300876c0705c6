"""Small collections of images over small graphs, drawn by Hypothesis, with their distances."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from concept_graph_contract import distances_by_networkx, small_graphs
from cuihop import Direction, SnapshotGraph
from cuihop.graph import DIRECTIONS
from literal_algorithms import Distance

LEAST = st.sampled_from([3, 2, 1, 0])
"""Lengths that a list has at least: by itself, Hypothesis draws lists that are too short for near concepts."""

STRANGERS = ["C9999991", "C9999992"]
"""Concepts that no graph here holds."""

Images = dict[str, frozenset[str]]


@dataclass(frozen=True)
class Case:
    """A graph, a collection and a ranking."""

    nodes: list[str]
    edges: list[tuple[str, str]]
    queries: Images
    corpus: Images | None
    ranking: dict[str, list[str]]
    n: int
    lam: float
    direction: Direction

    @property
    def graph(self) -> SnapshotGraph:
        return SnapshotGraph.of(self.edges, concepts=self.nodes, identifiers="cui")

    @property
    def held(self) -> Images:
        return self.queries if self.corpus is None else self.corpus

    def distance(self) -> Distance:
        return networkx_distance(self.nodes, self.edges, self.direction)


def networkx_distance(nodes: list[str], edges: list[tuple[str, str]], direction: Direction) -> Distance:
    """Hops by NetworkX; a concept outside the graph is near nothing but itself."""
    hops = distances_by_networkx(edges, nodes, direction)
    return lambda a, b: 0 if a == b else hops.get(a, {}).get(b)


@st.composite
def concept_sets(draw: st.DrawFn, nodes: list[str]) -> frozenset[str]:
    return frozenset(draw(st.lists(st.sampled_from(nodes + STRANGERS), min_size=draw(LEAST), max_size=6)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any graph; images with any concepts, some without; equal sets are likely; rankings of any length."""
    nodes, edges = draw(small_graphs().filter(lambda graph: not set(graph[0]) & set(STRANGERS)))
    sets = draw(st.lists(concept_sets(nodes), min_size=draw(LEAST) + 1, max_size=5))
    names = st.lists(
        st.sampled_from([f"image {i}" for i in range(12)]), min_size=draw(LEAST) + 1, max_size=9, unique=True
    )
    queries = {name: draw(st.sampled_from(sets)) for name in draw(names)}
    corpus = {name: draw(st.sampled_from(sets)) for name in draw(names)} if draw(st.booleans()) else None
    for images in (queries, corpus or {}):  # a collection of which the graph knows nothing is an error
        found = frozenset[str]().union(*images.values())
        assume(not found or not found <= set(STRANGERS))
    held = list(queries if corpus is None else corpus)
    ranking = {query: draw(st.lists(st.sampled_from(held), unique=True)) for query in queries}
    return Case(
        nodes,
        edges,
        queries,
        corpus,
        ranking,
        n=draw(st.sampled_from([1, 2, 3, 4, 0])),
        lam=draw(st.sampled_from([0.0, 0.2, 0.5, 1 / 3, 1.0])),
        direction=draw(st.sampled_from(DIRECTIONS)),
    )


def collection_of_rare_concepts() -> Case:
    """Twenty images, each with another concept: the one with the only near concept is better than the one that shares.

    The concept after the near one is not near.
    """
    nodes = [f"C{number:07d}" for number in range(1, 21)]
    edges = [(nodes[0], nodes[1]), *((node, nodes[-1]) for node in nodes[1:-1])]
    images = {f"image {number:02d}": frozenset([node]) for number, node in enumerate(nodes)}
    images["image 00"] |= {nodes[3]}
    ranking = {"query": list(images)}
    return Case(nodes, edges, {"query": frozenset(nodes[:1])}, images, ranking, n=1, lam=1.0, direction="any")
