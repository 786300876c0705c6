"""One explanation, whichever graph answers: a snapshot, a database, a service; and in few questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from cuihop import ConceptGraph, connect, explain_pair, explain_query
from cuihop.explanation import sensitivity_of_pair, sensitivity_of_query
from cuihop.explanation.sensitivity import Grid
from cuihop.graph import DIRECTIONS, Direction
from cuihop.measures.nearness import Nearness, Weight
from cuihop_server import running_service
from cuihop_tools.neo4j_server import LocalServer
from example_graph import UNKNOWN, example_graph
from neo4j_server import stored_graph

A = ["C9000901", "C0006121", "C0018670", "C9000011", "C9000902", UNKNOWN]
B = ["C0005847", "C0003483", "C0006104", "C9000014", "C9000001"]
IMAGES = {"a": A, "b": B, "c": ["C0003842", "C9000013"], "d": []}


@pytest.fixture(scope="module")
def graphs(neo4j_server: LocalServer) -> Iterator[list[ConceptGraph]]:
    with ExitStack() as stack:
        service = stack.enter_context(running_service(example_graph()))
        yield [
            stack.enter_context(graph)
            for graph in (connect(service.grpc), connect(service.http), stored_graph(neo4j_server, example_graph()))
        ]


@pytest.mark.xdist_group("neo4j")
@pytest.mark.parametrize(
    ("direction", "weight"), [*((direction, "constant") for direction in DIRECTIONS), ("any", "hops"), ("any", "Lin")]
)
def test_every_graph_explains_alike(direction: Direction, weight: Weight, graphs: list[ConceptGraph]) -> None:
    def explanations(graph: ConceptGraph) -> list[object]:
        options: dict[str, Any] = {"direction": direction, "unknown": "isolated", "weight": weight}
        images: dict[str, Any] = {"above": "b", "below": "c", "ranking": {"a": ["c", "b"]}}
        return [
            explain_pair(A, B, graph, Nearness(2, **options)).as_dict(),
            sensitivity_of_pair(A, B, graph, Grid(hubs=[0, 1, 2, 9]), nearness=Nearness(**options)).as_dict(),
            explain_query(IMAGES, "a", graph, **images, nearness=Nearness(**options)).as_dict(),
            sensitivity_of_query(
                IMAGES, "a", graph, **images, nearness=Nearness(**options), grid=Grid(hubs=[1])
            ).as_dict(),
        ]

    expected = explanations(example_graph())
    for graph in graphs:
        assert explanations(graph) == expected


class Counting:
    """A graph that notes the questions put to it."""

    def __init__(self, graph: ConceptGraph) -> None:
        self._graph = graph
        self.options: list[str] = []

    def __getattr__(self, name: str) -> object:
        self.options.append(name)
        return getattr(self._graph, name)

    def questions(self) -> list[str]:
        return sorted(name for name in self.options if name not in ("release", "many"))


def test_a_pair_is_explained_in_few_questions() -> None:
    counting = Counting(example_graph())
    explain_pair(["C0042449", "C0006121", "C0018670"], ["C0005847", "C0006104", "C0003483"], counting)  # type: ignore[arg-type]
    assert counting.questions() == ["distances", "names", "path", "path", "resolve"]


@pytest.mark.parametrize("n", range(6))
def test_without_hubs_neighbours_are_asked_in_layers(n: int) -> None:
    counting = Counting(example_graph())
    sensitivity_of_pair(A[1:4], B, counting, Grid(ns=[n], hubs=[1, 5]))  # type: ignore[arg-type]
    others = [question for question in counting.questions() if question != "neighbours"]
    assert others == ["distances", "names", "resolve"]
    assert counting.options.count("neighbours") <= 2 * n + 1
