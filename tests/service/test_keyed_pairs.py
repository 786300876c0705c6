"""Pairs as numbers: the same sequence as pairs of text, and the same distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.snapshot.string_table import IdentifierTable
from cuihop_service.keyed_pairs import KeyedPairs
from example_graph import ISOLATED, UNKNOWN, example_graph

NUMBERS = st.integers(0, 9_999_999)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20))
def test_numbers_of_cuis_are_those_cuis(numbers: list[tuple[int, int]]) -> None:
    pairs = KeyedPairs.of_cuis(np.array(numbers, dtype=np.uint32).reshape(-1, 2))
    assert list(pairs) == [(f"C{a:07d}", f"C{b:07d}") for a, b in numbers]
    assert len(pairs) == len(numbers)
    assert pairs.keys.tolist() == [IdentifierTable.key(cui) for pair in pairs for cui in pair]
    assert [list(pairs[i : i + 3]) for i in range(0, len(pairs), 3)] == [
        list(pairs)[i : i + 3] for i in range(0, len(pairs), 3)
    ]


def keyed(*pairs: tuple[str, str]) -> KeyedPairs:
    return KeyedPairs.of_cuis(np.array([[int(cui[1:]) for cui in pair] for pair in pairs], np.uint32))


@pytest.mark.parametrize("direction", ["any", "up", "down", "vertical"])
@pytest.mark.parametrize("max_hops", [None, 0, 1, 2, 3])
def test_distances_of_keys_are_those_of_their_text(direction: str, max_hops: int | None) -> None:
    graph = example_graph()
    cuis = ["C0006121", "C0006104", "C0926510", "C0018670", "C0042449", ISOLATED]
    pairs = [(a, b) for a in cuis for b in cuis]
    found = graph.distances_of_keys(keyed(*pairs).keys, direction=direction, max_hops=max_hops)  # type: ignore[arg-type]
    assert found == graph.distances(pairs, direction=direction, max_hops=max_hops)  # type: ignore[arg-type]


def test_what_the_graph_does_not_hold_itself_has_no_distances_of_keys() -> None:
    graph = example_graph()
    for other in (UNKNOWN, "C9000901", "C9000902"):  # unknown, with a successor, without one
        assert graph.distances_of_keys(keyed(("C0006121", "C0018670"), ("C0006121", other)).keys) is None
    long = SnapshotGraph.of([("C0006121", "longer-than-eight-bytes")])
    assert long.distances_of_keys(keyed(("C0006121", "C0006121")).keys) is None
    assert SnapshotGraph.of([]).distances_of_keys(keyed(("C0006121", "C0006121")).keys) is None
