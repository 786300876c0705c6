"""Landmarks: the distances of searches and of NetworkX, through hubs, round them, and at them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.snapshot import distance_engines
from cuihop.snapshot.distance_engines import Landmarks, landmarks_of
from cuihop.snapshot.index_builder import build_index
from cuihop.snapshot.scratch import Scratch, ScratchPool


def cui(number: int) -> str:
    return f"C{number:07d}"


def graph_of(concepts: int, edges: list[tuple[int, int]], landmarks: int) -> SnapshotGraph:
    graph = SnapshotGraph.of([(cui(a), cui(b)) for a, b in edges], concepts=map(cui, range(concepts)))
    graph.use_landmarks(landmarks)
    return graph


def landmarks_of_graph(graph: SnapshotGraph, count: int = 16) -> Landmarks | None:
    rows = graph.sections["any_indptr"], graph.sections["any_indices"]
    return landmarks_of(rows, count, ScratchPool(partial(Scratch, graph.release.concepts)))


@st.composite
def edges_of_graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    concepts = draw(st.integers(1, 40))
    node = st.integers(0, concepts - 1)
    near_hubs = st.builds(lambda a, b: (a, b * b // concepts), node, node)
    return concepts, draw(st.lists(near_hubs, max_size=100))


@given(drawn=edges_of_graphs(), landmarks=st.integers(0, 6), bound=st.none() | st.integers(0, 7))
@example(drawn=(3, [(0, 1), (1, 2)]), landmarks=1, bound=None)  # the only path leads over the hub
@example(drawn=(5, [(0, 1), (1, 2), (0, 3), (3, 4), (4, 2)]), landmarks=1, bound=3)
def test_every_distance_is_that_of_networkx(
    drawn: tuple[int, list[tuple[int, int]]], landmarks: int, bound: int | None
) -> None:
    concepts, edges = drawn
    graph = graph_of(concepts, edges, landmarks)
    oracle = nx.Graph(edges)
    oracle.add_nodes_from(range(concepts))
    expected: dict[tuple[str, str], int] = {}
    for a, hops in nx.all_pairs_shortest_path_length(oracle, cutoff=bound):
        expected |= {(cui(a), cui(b)): distance for b, distance in hops.items()}
    pairs = [(cui(a), cui(b)) for a in range(concepts) for b in range(concepts)]
    assert list(graph.distances(pairs, max_hops=bound)) == [expected.get(pair) for pair in pairs]
    some = pairs[:: max(1, len(pairs) // 30)]
    assert [graph.distance(*pair, max_hops=bound) for pair in some] == [expected.get(pair) for pair in some]


@pytest.mark.parametrize("engine", ["search", "landmarks", "index"])
def test_a_single_distance_is_a_whole_number(engine: str) -> None:
    graph = SnapshotGraph.of([("a", "hub"), ("b", "hub"), ("c", "b"), ("d", "hub"), ("e", "d"), ("e", "a")])
    graph.use_landmarks(2 if engine == "landmarks" else 0)
    if engine == "index":
        graph.use_index(build_index(graph, roots=1))
    graph.distances([("a", "b")] * 64)  # the first questions are answered by other code
    found = [graph.distance("c", end) for end in ("a", "b", "c", "d", "e")]
    assert found == [3, 1, 0, 3, 4]
    assert {type(hops) for hops in found} == {int}


def test_searches_in_other_directions_are_not_kept_from_the_hubs() -> None:
    graph = graph_of(400, [(child, child // 20) for child in range(1, 400)], 4)
    leaves = [(cui(a), cui(a - 1)) for a in range(40, 400)]
    for _ in range(2):  # with marks of the searches before
        assert set(graph.distances(leaves)) == {2, 4}
        assert list(graph.distances([(cui(399), cui(0))] * 70, direction="up")) == [2] * 70
        assert graph.distance(cui(0), cui(399), direction="down") == 2
        assert graph.distance(cui(399), cui(398)) == 2
        path = graph.path(cui(399), cui(20))
        assert path is not None
        assert [step.cui for step in path.steps] == [cui(19), cui(0), cui(1), cui(20)]


def test_hops_that_a_byte_cannot_hold_are_left_to_the_search() -> None:
    chain = list(pairwise(range(600)))
    assert landmarks_of_graph(graph_of(600, chain, 0)) is None
    graph = graph_of(600, chain, 16)
    assert graph.distance(cui(0), cui(599)) == 599
    star = [(2 * i, 2 * i + 2) for i in range(127)] + [(2 * i + 1, 2 * i + 3) for i in range(127)] + [(0, 1), (0, 999)]
    fits = graph_of(1000, star, 1)  # as far as a byte can tell: 127 hops either way, and beyond the hub
    assert landmarks_of_graph(fits, 1) is not None
    assert list(fits.distances([(cui(254), cui(255))] * 70)) == [255] * 70


def test_a_graph_without_edges_or_concepts_has_no_landmarks() -> None:
    assert landmarks_of_graph(graph_of(5, [], 0)) is None
    empty = graph_of(0, [], 16)
    empty.warm_up()
    assert list(empty.distances([])) == []


def test_landmarks_are_the_greatest_hubs_with_the_hops_to_them() -> None:
    found = landmarks_of_graph(graph_of(8, [(1, 0), (2, 0), (3, 0), (4, 3), (5, 3), (6, 7)], 0), 2)
    assert found is not None
    assert found.numbers.tolist() == [0, 3]
    assert found.hops_to.tolist() == [[0, 1], [1, 2], [1, 2], [1, 0], [2, 1], [2, 1], [255, 255], [255, 255]]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    threads: list[int] = []

    def counting(rows: tuple[np.ndarray, np.ndarray], count: int, scratch: ScratchPool[Scratch]) -> Landmarks | None:
        threads.append(threading.get_ident())
        return landmarks_of(rows, count, scratch)

    monkeypatch.setattr(distance_engines, "landmarks_of", counting)
    return threads


def test_landmarks_are_built_once_when_many_distances_were_searched(builds: list[int]) -> None:
    graph = SnapshotGraph.of([(cui(child), cui(child // 3)) for child in range(1, 4_000)])
    pairs = [(cui(a), cui(3_999 - a)) for a in range(0, 4_000, 10)]
    first = list(graph.distances(pairs))
    graph.distances(pairs, max_hops=2)
    graph.distances(pairs, direction="up")
    assert not builds
    assert list(graph.distances(pairs)) == first
    assert len(builds) == 1
    assert [graph.distance(*pair) for pair in pairs] == first
    assert len(builds) == 1


def test_threads_build_landmarks_once_and_agree(builds: list[int]) -> None:
    graph = SnapshotGraph.of([(cui(child), cui(child // 3)) for child in range(1, 4_000)])
    pairs = [(cui(a), cui(3_999 - a)) for a in range(0, 4_000, 10)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: list(graph.distances(pairs)), range(12)))
    assert all(answer == answers[0] for answer in answers)
    assert len(builds) == 1
