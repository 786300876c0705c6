"""Searches, compiled and plain: the same answers, and numba stays out of a process that asks one question."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop._kernels import bfs
from cuihop.resources.arrays import Int32
from cuihop.snapshot.distance_engines import PlainTurns, plain_distances
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.index_builder import build_index

_FAR = 2**31 - 2


@pytest.mark.slow
@given(
    concepts=st.integers(2, 30), edges=st.integers(0, 80), seed=st.integers(0, 2**32),
    bound=st.just(_FAR) | st.integers(0, 5),
)  # fmt: skip
def test_plain_distances_are_those_of_networkx(concepts: int, edges: int, seed: int, bound: int) -> None:
    draw = np.random.default_rng(seed)
    ends = (draw.random((edges, 2)) ** 2 * concepts).astype(int).tolist()
    for rows, pairs, expected in _searches(concepts, ends, bound):
        assert plain_distances(rows, pairs, bound) == expected


@pytest.mark.parametrize("bound", [0, 1, 2, 3, _FAR])
def test_compiled_distances_are_those_of_networkx(bound: int) -> None:
    draw = np.random.default_rng(4)
    hubs = [(child, 0) for child in range(1, 75)] + [(child, 1) for child in range(60, 135)] + [(140, 0), (140, 2)]
    ends = hubs + [(a, b) for a, b in draw.integers(0, 150, (30, 2)).tolist() if a != b]
    assert min(np.bincount(np.ravel(hubs))[:2]) > bfs._FEW  # rows that are not compared
    for rows, pairs, expected in _searches(150, ends, bound):
        hops = np.empty(len(pairs) // 2, dtype=np.int32)
        for nodes in (150, bfs.LARGE):
            mark, queue = np.zeros(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
            bfs.distances(*rows, pairs[::2].copy(), pairs[1::2].copy(), bound, mark, queue, 1, hops)
            assert [None if found == bfs.NO_PATH else found for found in hops.tolist()] == expected


def _searches(
    concepts: int, ends: list[tuple[int, int]], bound: int
) -> Iterator[tuple[tuple[Int32, Int32, Int32, Int32], Int32, list[int | None]]]:
    """For each direction: the rows of a graph, all pairs of its concepts, and their distances by NetworkX."""
    names = [f"C{i:07d}" for i in range(concepts)]
    section = SnapshotGraph.of([(names[a], names[b]) for a, b in ends], concepts=names).sections
    everything = np.array([(a, b) for a in range(concepts) for b in range(concepts)], dtype=np.int32).ravel()
    for direction in ("any", "up", "down"):
        oracle: nx.DiGraph[int] = nx.DiGraph()
        oracle.add_nodes_from(range(concepts))
        if direction in {"any", "up"}:
            oracle.add_edges_from(ends)
        if direction in {"any", "down"}:
            oracle.add_edges_from((b, a) for a, b in ends)
        lengths = dict(nx.all_pairs_shortest_path_length(oracle, cutoff=min(bound, concepts)))
        backwards = {"any": "any", "up": "down", "down": "up"}[direction]
        rows = (
            section[f"{direction}_indptr"], section[f"{direction}_indices"],
            section[f"{backwards}_indptr"], section[f"{backwards}_indices"],
        )  # fmt: skip
        yield rows, everything, [lengths[a].get(b) for a in range(concepts) for b in range(concepts)]


def test_turns_end_and_numba_ends_them() -> None:
    assert "numba" in sys.modules
    assert not PlainTurns(5).take(1)


@pytest.mark.slow
@pytest.mark.parametrize("with_index", [False, True])
def test_a_process_that_asks_few_questions_never_imports_numba(with_index: bool, tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    chain = [f"C{i:07d}" for i in range(40)]
    graph = SnapshotGraph.of(pairwise(chain))
    graph.save(path)
    if with_index:
        build_index(graph).save(index_path(path))
    program = f"""
import sys
from cuihop import SnapshotGraph
graph = SnapshotGraph.open({str(path)!r})
assert graph.distance("C0000000", "C0000039") == 39
assert graph.distance("C0000039", "C0000000", direction="up") is None
assert list(graph.distances([("C0000000", "C0000004"), ("C0000001", "C0000001")], max_hops=3)) == [None, 0]
assert "numba" not in sys.modules
for _ in range(20):
    assert graph.distance("C0000000", "C0000039") == 39
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
