"""Cycles, parts and depth, against NetworkX on random graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cuihop_loader.report import structure

NODES = 12


@given(st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30))
def test_the_structure_is_what_networkx_finds(pairs: set[tuple[int, int]]) -> None:
    edges = sorted((child, parent) for child, parent in pairs if child != parent)
    sizes, found, hubs = structure(
        NODES, np.array([c for c, _ in edges], dtype=np.int32), np.array([p for _, p in edges], dtype=np.int32)
    )
    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(edges)
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert [members.tolist() for members in found] == sorted(cycles, key=lambda part: (-len(part), part[0]))
    parts = [len(part) for part in nx.weakly_connected_components(graph)]
    assert sizes == {
        "weak_components": sum(size > 1 for size in parts),
        "giant_component": max(parts),
        "isolated": parts.count(1),
        "depth": nx.dag_longest_path_length(nx.condensation(graph)),
    }
    children = sorted((-graph.in_degree(node), node) for node in graph if graph.in_degree(node))[:10]
    assert hubs == [(node, -count) for count, node in children]
