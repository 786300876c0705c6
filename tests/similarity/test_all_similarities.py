"""All against all: the bits of one pair at a time, for lists of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.similarity.options import INFORMATION_CONTENTS, SIMILARITY_MEASURES, SimilarityOptions
from cuihop.snapshot import all_similarities
from cuihop.snapshot.all_similarities import AllSimilarities

CONCEPTS = [f"C{i}" for i in range(9)]
EDGES = st.lists(st.tuples(st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS)), max_size=16)
LISTS = st.lists(st.sampled_from(CONCEPTS), unique=True)


@pytest.mark.slow
@given(edges=EDGES, rows=LISTS, columns=st.none() | LISTS, cells=st.integers(1, 100), few=st.booleans())
def test_every_cell_has_the_bits_of_its_pair(
    edges: list[tuple[str, str]], rows: list[str], columns: list[str] | None, cells: int, few: bool
) -> None:
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    counts = {"C0": 3.0, "C4": 1.0, "C5": 2.0}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(all_similarities, "_CELLS_A_BLOCK", cells)
        patched.setattr(all_similarities, "_MOST_BELOW", 0 if few else 1000)
        for ic in INFORMATION_CONTENTS:
            for measure in SIMILARITY_MEASURES:
                options = SimilarityOptions(measure, ic, counts if ic == "corpus" else {})
                found = AllSimilarities(hierarchy, rows, columns, options)
                assert (found.rows, found.columns) == (rows, rows if columns is None else columns)
                blocks = list(found.blocks(threads=1 if few else 2))
                pairs = [(a, b) for a in found.rows for b in found.columns]
                each = [hierarchy.similarity(a, b, options) for a, b in pairs]
                assert hierarchy.similarities(pairs, options).to_list() == each
                cells_of = np.concatenate([block.ravel() for block in blocks] or [np.empty(0)])
                expected = np.array([np.nan if value is None else value for value in each], dtype=np.float64)
                assert np.array_equal(cells_of, expected, equal_nan=True)


def test_a_concept_twice_is_refused_by_its_name() -> None:
    graph = SnapshotGraph.of([("C1", "C0")], retired=[("C9", "SY", "C1")])
    assert AllSimilarities(graph.hierarchy, ["C9", "C0"]).merged == {"C9": "C1"}
    for cuis in (["C1", "C1"], ["C9", "C1"]):
        with pytest.raises(InputError, match="twice"):
            AllSimilarities(graph.hierarchy, cuis)
