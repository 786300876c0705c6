"""Operations of the searches, counted and not timed: a change that makes them visit more is detected here.

The kernels run as plain Python on arrays that count what is read of them. Numbers that fall are good news: write them
down. Numbers that rise need a reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuihop import SnapshotGraph
from cuihop._kernels import bfs, labels, lookup
from cuihop.snapshot.distance_engines import plain_distances
from cuihop.snapshot.index_builder import build_index

PAIRS = 200
SEARCHED, SEARCHED_WITHIN_2 = 15_595, 1_034  # edges, of all pairs together
COMPARED_WITHIN_2 = 1_364  # elements of the rows of both ends, of all pairs together
HUBS, HUBS_COMPARED = 30_812, 9_763  # in all labels, and pairs of hubs of all pairs


class Counted(np.ndarray[Any, Any]):
    """An array that counts the single elements read of it."""

    reads = 0

    def __getitem__(self, place: Any) -> Any:
        type(self).reads += 1
        return np.asarray(self)[place]


def counted(array: npt.NDArray[Any]) -> Counted:
    class Own(Counted):
        reads = 0

    return np.ascontiguousarray(array).view(Own)


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    """A hierarchy of 4,000 concepts, a third of which may have children, with a second parent for every other."""
    draw = np.random.default_rng(5)
    may = [0, *np.flatnonzero(draw.random(4_000) < 0.3).tolist()]
    edges = []
    for child in range(1, 4_000):
        earlier = may[: int(np.searchsorted(may, child))]
        for _ in range(1 + child % 2):
            edges.append((child, earlier[int(draw.random() ** 2 * len(earlier))]))
    return SnapshotGraph.of([(f"C{a:07d}", f"C{b:07d}") for a, b in edges])


@pytest.fixture(scope="module")
def pairs(graph: SnapshotGraph) -> list[tuple[int, int]]:
    ends = np.random.default_rng(6).integers(0, graph.release.concepts, (PAIRS, 2))
    return [(a, b) for a, b in ends.tolist()]


def test_a_search_looks_at_few_edges(graph: SnapshotGraph, pairs: list[tuple[int, int]]) -> None:
    meeting = bfs.meeting.py_func  # type: ignore[attr-defined]
    indptr, indices = graph.sections["any_indptr"], counted(graph.sections["any_indices"])
    mark, queue = np.zeros(graph.release.concepts, np.int32), np.empty(graph.release.concepts, np.int32)
    for bound, expected in ((99, SEARCHED), (2, SEARCHED_WITHIN_2)):
        type(indices).reads = 0
        mark.fill(0)
        for number, (a, b) in enumerate(pairs):
            meeting(indptr, indices, indptr, indices, a, b, bound, mark, queue, 1 + number * bfs.DISTANCE_EPOCHS)
        assert type(indices).reads == expected
    every_edge = len(indices) * PAIRS
    assert every_edge > 100 * SEARCHED


def test_two_hops_are_found_without_marks(
    graph: SnapshotGraph, pairs: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    near = bfs._near.py_func  # type: ignore[attr-defined]
    monkeypatch.setattr(bfs, "_compared", bfs._compared.py_func)  # type: ignore[attr-defined]
    indptr, indices = graph.sections["any_indptr"], counted(graph.sections["any_indices"])
    plain = np.asarray(indptr), np.asarray(indices)
    expected = plain_distances((*plain, *plain), np.array(pairs, np.int32), 2)
    found = [near(indptr, indices, indptr, indices, a, b, 2, bfs.LARGE) for a, b in pairs]
    assert found == [bfs.NO_PATH if hops is None else hops for hops in expected]
    assert type(indices).reads == COMPARED_WITHIN_2


def test_an_index_compares_few_hubs(
    graph: SnapshotGraph, pairs: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = labels.meeting.py_func  # type: ignore[attr-defined]
    index = build_index(graph, roots=4)
    expected = [labels.meeting(*index.tables, a, b) for a, b in pairs]
    compared = 0

    def counting(words: Any, i: int, i_end: int, j: int, j_end: int) -> bool:
        nonlocal compared
        compared += (i_end - i) * (j_end - j)
        return any_common(words, i, i_end, j, j_end)

    any_common = labels.any_common
    for name in ("_through_roots", "_through_levels", "_through_pairs", "_through_deep", "_meet", "_begin", "_hub"):
        monkeypatch.setattr(labels, name, getattr(labels, name).py_func)
    monkeypatch.setattr(labels, "signed", int)
    monkeypatch.setattr(labels, "any_common", counting)
    assert [meeting(*index.tables, a, b) for a, b in pairs] == expected
    assert (index.facts["entries"], compared) == (HUBS, HUBS_COMPARED)


def test_a_look_up_takes_as_many_steps_as_the_table_has_doublings(graph: SnapshotGraph) -> None:
    keys = graph.sections["cuis"]
    read = counted(keys)
    found = np.empty(800, dtype=np.int32)
    lookup.positions.py_func(read, keys[:800].copy(), found)  # type: ignore[attr-defined]
    assert found.tolist() == list(range(800))
    assert type(read).reads <= 800 * (np.ceil(np.log2(len(keys))) + 1)
