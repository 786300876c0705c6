"""Shortest paths, counted and ranked: NetworkX lists them, and a chain of diamonds has them in closed form."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.graph import MOST_PATHS
from cuihop.neo4j_graph.layered_path import ranked_path, shortest_path_layers
from examples import examples


def diamonds(count: int) -> tuple[SnapshotGraph, list[str]]:
    """A chain of diamonds, two ways through each, and the concepts between them from the narrowest on."""
    ends = [f"C{place:04d}000" for place in range(count + 1)]
    edges = [
        edge
        for place in range(count)
        for side in (f"C{place:04d}001", f"C{place:04d}002")
        for edge in ((ends[place], side), (side, ends[place + 1]))
    ]
    return SnapshotGraph.of(edges), ends


@given(concepts=st.integers(2, 14), edges=st.integers(1, 60), seed=st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_every_shortest_path_has_its_rank(concepts: int, edges: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = [f"C{place:07d}" for place in range(concepts)]
    ends = [(names[a], names[b]) for a, b in draw.integers(0, concepts, (edges, 2)).tolist()]
    graph = SnapshotGraph.of(ends, concepts=names)
    for direction in ("any", "up", "down"):
        oracle: nx.DiGraph[str] = nx.DiGraph()
        oracle.add_nodes_from(names)
        if direction in {"any", "up"}:
            oracle.add_edges_from(ends)
        if direction in {"any", "down"}:
            oracle.add_edges_from((b, a) for a, b in ends)
        for a, b in [(names[0], names[-1]), (names[1], names[0]), (names[0], names[0])]:
            if not nx.has_path(oracle, a, b):
                assert graph.path(a, b, direction=direction) is None
                continue
            expected = sorted(nx.all_shortest_paths(oracle, a, b))
            found = [graph.path(a, b, direction=direction, which=rank + 1) for rank in range(len(expected))]
            assert [list(path.cuis) for path in found if path is not None] == expected
            assert {path.total for path in found if path is not None} == {len(expected)}
            with pytest.raises(InputError, match="fewer shortest paths"):
                graph.path(a, b, direction=direction, which=len(expected) + 1)
            if a != b:
                assert layered(oracle, a, b, 1) == (expected[0], len(expected))
                assert layered(oracle, a, b, len(expected)) == (expected[-1], len(expected))


def layered(oracle: nx.DiGraph[str], a: str, b: str, which: int) -> tuple[list[str] | None, int]:
    """The path of a rank and the number of paths, as the database adapter finds them where they are many."""
    layers = shortest_path_layers(
        a,
        b,
        lambda cuis: {after for cui in cuis for after in oracle.successors(cui)},
        lambda cuis: {before for cui in cuis for before in oracle.predecessors(cui)},
    )
    assert layers is not None
    return ranked_path(layers, lambda cuis, after: nx.edge_boundary(oracle, cuis, after), which, MOST_PATHS)


def test_paths_are_ranked_where_the_search_from_the_end_goes_all_the_way() -> None:
    start, first, second, of_second, of_first, end = [f"C000000{place}" for place in range(6)]
    leaves = [(start, f"C00001{place:02d}") for place in range(20)]  # so that the start is passed on last
    ways = [(start, first), (first, of_first), (of_first, end), (start, second), (second, of_second), (of_second, end)]
    graph = SnapshotGraph.of(leaves + ways)
    paths = [graph.path(start, end, which=which) for which in (1, 2)]
    assert [list(path.cuis) for path in paths if path is not None] == [
        [start, first, of_first, end], [start, second, of_second, end],
    ]  # fmt: skip


def test_a_count_is_exact_up_to_its_bound() -> None:
    graph, ends = diamonds(60)
    for count in (1, 10, 49):  # 2 ** 49 is the last below the bound
        path = graph.path(ends[0], ends[count])
        assert path is not None
        assert path.total == 2**count
    for count in (50, 60):
        path = graph.path(ends[0], ends[count])
        assert path is not None
        assert path.total == MOST_PATHS


def test_ranks_follow_the_order_of_identifiers_up_to_the_bound() -> None:
    graph, ends = diamonds(60)
    for direction, a, b in (("up", ends[0], ends[60]), ("down", ends[60], ends[0])):
        for which in (1, 2, 3, 2**20, MOST_PATHS):
            path = graph.path(a, b, direction=direction, which=which)  # type: ignore[arg-type]
            assert path is not None
            sides = [int(cui[-1]) - 1 for cui in path.cuis[1::2]]  # the binary digits of a rank that counts from 0
            assert sum(digit << place for place, digit in enumerate(reversed(sides))) == which - 1
