"""Distances without compiled code: the same answers, and numba stays out of a process that asks one question."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
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
    names = [f"C{i:07d}" for i in range(concepts)]
    ends = (draw.random((edges, 2)) ** 2 * concepts).astype(int).tolist()
    graph = SnapshotGraph.of([(names[a], names[b]) for a, b in ends], concepts=names)
    section = graph.sections
    everything = np.array([(a, b) for a in range(concepts) for b in range(concepts)], dtype=np.int32).ravel()
    for direction in ("any", "up", "down"):
        oracle: nx.DiGraph[int] = nx.DiGraph()
        oracle.add_nodes_from(range(concepts))
        if direction in {"any", "up"}:
            oracle.add_edges_from(ends)
        if direction in {"any", "down"}:
            oracle.add_edges_from((b, a) for a, b in ends)
        lengths = dict(nx.all_pairs_shortest_path_length(oracle, cutoff=min(bound, concepts)))
        expected = [lengths[a].get(b) for a in range(concepts) for b in range(concepts)]
        backwards = {"any": "any", "up": "down", "down": "up"}[direction]
        rows = (
            section[f"{direction}_indptr"], section[f"{direction}_indices"],
            section[f"{backwards}_indptr"], section[f"{backwards}_indices"],
        )  # fmt: skip
        assert plain_distances(rows, everything, bound) == expected


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
