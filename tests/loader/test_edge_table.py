"""Edge rows to distinct edges and their sets of vocabularies, against dictionaries and sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from cuihop_loader._kernels import edges
from cuihop_loader.is_a_rows import EdgeRows, edge_table


@pytest.mark.parametrize("batch", [1, 700, 1 << 19])
def test_edges_and_their_vocabularies_are_those_that_dictionaries_find(batch: int) -> None:
    random = np.random.default_rng(1)
    sabs = [f"V{number:04d}" for number in random.permutation(300)]
    count = 30_000  # with these, most sets of vocabularies differ, and the tables of sets must grow
    child, parent = random.integers(1, 1 << 26, 60), random.integers(1, 1 << 26, 60)
    of = random.integers(0, 60, (count, 2))
    sab, way = random.integers(0, len(sabs), count), random.integers(0, 2, count)
    packed = (
        (child[of[:, 0]] << edges.CHILD_SHIFT) | (parent[of[:, 1]] << edges.PARENT_SHIFT) | (sab << edges.SAB_SHIFT)
    )
    rows = EdgeRows(batch)
    for part in np.array_split(packed.astype(np.uint64) | way.astype(np.uint64), 7):
        rows.room(len(part))[: len(part)] = part
        rows.added(len(part))

    sabs_of: dict[tuple[int, int], set[str]] = defaultdict(set)
    ways_of: dict[tuple[int, int], set[int]] = defaultdict(set)
    for (c, p), s, w in zip(of.tolist(), sab.tolist(), way.tolist(), strict=True):
        sabs_of[int(child[c]), int(parent[p])].add(sabs[s])
        ways_of[int(child[c]), int(parent[p])].add(w)
    found = edge_table(rows, sabs)
    pairs = list(zip(found.children.tolist(), found.parents.tolist(), strict=True))
    assert pairs == sorted(sabs_of)
    assert [found.members[number] for number in found.sab_sets.tolist()] == [tuple(sorted(sabs_of[p])) for p in pairs]
    assert len(set(found.members)) == len(found.members) > 2048
    assert found.mirrored == sum(len(ways) == 2 for ways in ways_of.values())
    counted: dict[str, int] = defaultdict(int)
    for names in sabs_of.values():
        for name in names:
            counted[name] += 1
    assert found.sab_edges == counted


def test_no_row_is_no_edge() -> None:
    found = edge_table(EdgeRows(), ["V"])
    assert (len(found.children), len(found.sab_sets), found.members, found.sab_edges, found.mirrored) == (
        0, 0, [], {}, 0,
    )  # fmt: skip
