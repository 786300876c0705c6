"""A graph with names from elsewhere answers as the graph within, but for names that this has not."""

from __future__ import annotations

import pytest

from cuihop import ConceptGraph, GraphWithNames
from cuihop.errors import ConceptNotFound
from example_graph import ISOLATED, UNKNOWN, example_graph

VEINS, VESSELS, MERGED, NAMELESS = "C0042449", "C0005847", "C9000901", "C9000014"
ADDED = {ISOLATED: "alone", VEINS: "another name", UNKNOWN: "not held", NAMELESS: "nameless"}


@pytest.fixture
def named() -> GraphWithNames:
    return GraphWithNames(example_graph(), ADDED)


def answers(graph: ConceptGraph) -> list[object]:
    """One of each kind but names."""
    return [
        graph.release,
        graph.resolve([VEINS, MERGED, UNKNOWN, "x"]),
        list(graph.distances([(MERGED, VESSELS)], direction="vertical", max_hops=2)),
        graph.path(VEINS, VESSELS, direction="up", which=1),
        graph.neighbours([VESSELS], hops=2, direction="down", limit=1),
        graph.pack([VEINS, VESSELS], hops=1).hops.tolist(),
        graph.concepts([VEINS]),
        graph.search("vein", limit=2),
        list(graph.annotate_many(["veins"])),
    ]


def test_answers_are_those_of_the_graph(named: GraphWithNames) -> None:
    assert answers(named) == answers(named.graph)


def test_names_are_added_where_the_graph_has_none(named: GraphWithNames) -> None:
    assert named.names([VEINS, MERGED, ISOLATED, NAMELESS, "C9000012"]) == ["Veins", "Veins", "alone", "nameless", None]
    with pytest.raises(ConceptNotFound, match=UNKNOWN):
        named.names([UNKNOWN])
