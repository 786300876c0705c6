"""Distances among many concepts: searches together, searches one by one, and NetworkX agree."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from concept_graph_contract import distances_by_networkx
from cuihop import SnapshotGraph
from cuihop._kernels import bfs, labels
from cuihop.graph import Direction, DistancePack
from cuihop.resources.arrays import Int32, UInt8
from cuihop.snapshot.distance_index import Tables, index_path
from cuihop.snapshot.distance_packs import TOGETHER
from cuihop.snapshot.index_builder import build_index


def as_matrix(pack: DistancePack) -> list[list[int | None]]:
    count = len(pack.cuis)
    matrix: list[list[int | None]] = [[None] * count for _ in range(count)]
    for row in range(count):
        part = slice(int(pack.indptr[row]), int(pack.indptr[row + 1]))
        assert sorted(set(pack.indices[part].tolist())) == pack.indices[part].tolist()
        for column, hops in zip(pack.indices[part].tolist(), pack.hops[part].tolist(), strict=True):
            matrix[row][column] = hops
    return matrix


@pytest.mark.parametrize("direction", ["any", "up", "down", "vertical"])
@pytest.mark.parametrize("centres", [63, 64, 65, 256, 257, 600])
def test_distances_among_many_concepts(direction: Direction, centres: int) -> None:
    draw = np.random.default_rng(centres)
    concepts = 700
    names = [f"C{i:07d}" for i in range(concepts)]
    edges = [(names[a], names[b]) for a, b in (draw.random((1100, 2)) ** 1.5 * concepts).astype(int).tolist()]
    graph = SnapshotGraph.of(edges, concepts=names)
    some = [names[i] for i in draw.permutation(concepts)[:centres].tolist()]
    lengths = distances_by_networkx(edges, names, direction)
    for bound in (2, 4, 30, 254, 255):
        expected = [[h if (h := lengths[a].get(b)) is not None and h <= bound else None for b in some] for a in some]
        assert as_matrix(graph.pack(some, hops=bound, direction=direction)) == expected


@pytest.mark.parametrize("first", [0, 1])
def test_a_row_that_might_not_fit_is_left_to_the_next_call(first: int) -> None:
    """The room itself: compiled code writes without a look. A concept whose place is 0 needs room as the others do."""
    chain = [f"C{i:07d}" for i in range(4)]
    section = SnapshotGraph.of(pairwise(chain)).sections
    wanted = 4 - first
    local = np.array([place - first for place in range(4)], dtype=np.int32)  # -1: not wanted
    for room, rows in ((wanted - 1, 0), (wanted, 1), (2 * wanted - 1, 1), (2 * wanted, 2)):
        columns, hops = np.full(room + 8, 77, dtype=np.int32), np.full(room + 8, 77, dtype=np.uint8)
        ends = np.zeros(2, dtype=np.int64)
        mark, queue, levels = (np.zeros(4, dtype=np.int32) for _ in range(3))
        done = bfs.pack(
            section["any_indptr"], section["any_indices"], np.array([1, 2], dtype=np.int32), local, 3,
            mark, queue, levels, 1, columns[:room], hops[:room], ends,
        )  # fmt: skip
        assert done == rows
        assert (columns[room:] == 77).all()
        assert (hops[room:] == 77).all()
        assert ends[:rows].tolist() == [wanted * row for row in range(1, rows + 1)]


def test_short_rows_ascend_and_an_index_changes_no_pack() -> None:
    """Rows of few among many concepts are sorted. A thousand concepts are searched within 3 hops, index or not."""
    draw = np.random.default_rng(1)
    names = [f"C{i:07d}" for i in draw.permutation(1500).tolist()]
    graph = SnapshotGraph.of(pair for i in range(0, 1500, 150) for pair in pairwise(names[i : i + 150]))  # ten chains
    positions = draw.permutation(1500)
    requested = [names[i] for i in positions.tolist()]
    apart = np.abs(positions[:, None] - positions)
    rows, columns = np.nonzero((apart <= 3) & (positions[:, None] // 150 == positions // 150))
    expected = [rows.tolist(), columns.tolist(), apart[rows, columns].tolist()]
    for index in (None, build_index(graph)):
        if index is not None:
            graph.use_index(index)
        pack = graph.pack(requested, hops=3)
        of_rows = np.repeat(np.arange(1500), np.diff(pack.indptr))
        assert [of_rows.tolist(), pack.indices.tolist(), pack.hops.tolist()] == expected


@pytest.mark.parametrize(("concepts", "hops", "read"), [(2000, 3, 0), (2000, 4, 2000), (500, 3, 500)])
def test_a_pack_of_few_hops_among_many_concepts_reads_nothing_of_an_index(
    concepts: int, hops: int, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index takes a look at each pair: of a thousand concepts a million, where three hops lead to a few."""
    names = [f"C{i:07d}" for i in range(concepts)]
    graph = SnapshotGraph.of((names[i], names[i // 2]) for i in range(1, concepts))
    graph.use_index(build_index(graph))
    rows, hops_to_all = [0], labels.hops_to_all

    def counting(tables: Tables, sources: Int32, positions: Int32, bound: int, within: UInt8) -> None:
        rows.append(len(sources))
        hops_to_all(tables, sources, positions, bound, within)

    monkeypatch.setattr(labels, "hops_to_all", counting)
    graph.pack(names, hops=hops)
    assert sum(rows) == read


def test_searches_together_go_on_until_all_distances_are_found() -> None:
    names = [f"C{i:07d}" for i in range(TOGETHER)]
    pack = SnapshotGraph.of([*pairwise(names)]).pack(names, hops=250)
    places = np.arange(TOGETHER)
    assert pack.hops.reshape(TOGETHER, TOGETHER).tolist() == abs(places[:, None] - places).tolist()


def test_distances_beyond_what_a_byte_holds_are_beyond_the_bound() -> None:
    chain = [f"C{i:07d}" for i in range(400)]
    graph = SnapshotGraph.of([(chain[i], chain[i + 1]) for i in range(399)])
    for bound in (253, 254, 255):
        pack = graph.pack(chain, hops=bound)
        assert as_matrix(pack) == [
            [abs(a - b) if abs(a - b) <= bound else None for b in range(400)] for a in range(400)
        ]


@pytest.mark.slow
@pytest.mark.parametrize(("letter", "look_up"), [("C", "cui_positions"), ("D", "positions")])
def test_a_graph_that_is_warm_compiles_nothing_for_a_question(tmp_path: Path, letter: str, look_up: str) -> None:
    """In a process of its own, since this one has compiled everything; with and without an index."""
    chain = [f"{letter}{i:07d}" for i in range(100)]
    graph = SnapshotGraph.of([(chain[i], chain[i + 1]) for i in range(99)])
    graph.save(tmp_path / "graph.cuihop")
    program = f"""
from cuihop import SnapshotGraph
from cuihop._kernels import bfs, labels
graph = SnapshotGraph.open({str(tmp_path / "graph.cuihop")!r})
graph.warm_up()
from cuihop._kernels import bfs, labels, lookup, many_sources
modules = bfs, labels, lookup, many_sources
kernels = [kernel for module in modules for kernel in vars(module).values() if hasattr(kernel, "signatures")]
before = [len(kernel.signatures) for kernel in kernels]
cuis = [f"{letter}{{i:07d}}" for i in range(100)]
for direction in ("any", "up", "down", "vertical"):
    graph.distance(cuis[0], cuis[9], direction=direction)
    graph.distances(list(zip(cuis, reversed(cuis))), direction=direction)
    graph.path(cuis[0], cuis[9], direction=direction)
    graph.pack(cuis, hops=2, direction=direction)
    graph.pack(cuis, hops=50, direction=direction)
assert [len(kernel.signatures) for kernel in kernels] == before, before
assert lookup.{look_up}.signatures and many_sources.one_hop.signatures
"""
    for with_index in (False, True):
        if with_index:
            build_index(graph).save(index_path(tmp_path / "graph.cuihop"))
        subprocess.run([sys.executable, "-c", program], check=True)
