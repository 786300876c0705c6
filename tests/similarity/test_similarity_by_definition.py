"""Similarity on random graphs with cycles, against the definitions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions, named_measure
from cuihop.snapshot import set_similarity
from cuihop.snapshot.all_similarities import AllSimilarities
from cuihop_loader import load
from examples import examples
from literal_similarity import ROOT, LiteralHierarchy

CONCEPTS = [f"C{i}" for i in range(8)]
PAIRS = st.lists(st.tuples(st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS)), max_size=14)


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(edges=PAIRS, counts=st.dictionaries(st.sampled_from(CONCEPTS), st.integers(0, 5), max_size=5))
def test_every_measure_is_its_definition(edges: list[tuple[str, str]], counts: dict[str, float]) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    counted = {**counts, "C0": 1.0}
    literal = LiteralHierarchy(CONCEPTS, edges, counted)
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    pairs = [(a, b) for a in CONCEPTS for b in CONCEPTS]
    for ic in ("Sanchez", "Seco", "corpus"):
        for measure in SIMILARITY_MEASURES:
            options = SimilarityOptions(measure, ic, counted if ic == "corpus" else {})
            found = hierarchy.similarities(pairs, options)
            expected = [literal.value(a, b, measure, ic) for a, b in pairs]
            assert [value is None for value in found] == [value is None for value in expected]
            assert [v for v in found if v is not None] == pytest.approx(
                [v for v in expected if v is not None], rel=1e-12, abs=1e-12
            )
            values = dict(zip(pairs, found, strict=True))
            assert all(values[a, b] == values[b, a] for a, b in pairs)
        pair = hierarchy.pair("C1", "C2", ic=ic, counts=counted if ic == "corpus" else None)
        one = [SimilarityOptions(m, ic, counted if ic == "corpus" else {}) for m in SIMILARITY_MEASURES]
        assert list(pair.values) == list(SIMILARITY_MEASURES)
        assert list(pair.values.values()) == [hierarchy.similarity("C1", "C2", each) for each in one]


def test_unrelated_roots_without_information_content_have_nothing_in_common() -> None:
    hierarchy = SnapshotGraph.of([("leaf", "one"), ("leaf", "other")]).hierarchy
    assert [place.ic for place in hierarchy.placements(["one", "other"])] == [0.0, 0.0]
    pairs = [("one", "other"), ("other", "one"), ("one", "one")]
    for measure in ("Lin", "simGIC"):
        options = SimilarityOptions(measure)
        assert list(hierarchy.similarities(pairs, options)) == [0.0, 0.0, 1.0]
        assert [hierarchy.similarity(a, b, options) for a, b in pairs] == [0.0, 0.0, 1.0]
        assert list(hierarchy.set_similarities([({a}, {b}) for a, b in pairs], options)) == [0.0, 0.0, 1.0]
        assert hierarchy.pair("one", "other").values[measure] == 0.0
        (block,) = AllSimilarities(hierarchy, ["one", "other"], options=options).blocks()
        assert block.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_resnik_needs_the_information_content_of_the_common_ancestor_alone() -> None:
    hierarchy = SnapshotGraph.of([("seen", "top"), ("unseen", "top"), ("below", "unseen"), ("other", "root")]).hierarchy
    counts = {"seen": 3.0, "root": 1.0}
    pairs = [("seen", "unseen"), ("unseen", "top"), ("seen", "other"), ("below", "unseen"), ("other", "other")]
    found = {
        measure: [hierarchy.similarity(*pair, SimilarityOptions(measure, "corpus", counts)) for pair in pairs]
        for measure in ("Resnik", "Lin")
    }  # fmt: skip
    assert found["Resnik"] == [pytest.approx(-math.log(3 / 4))] * 2 + [0.0, None, None]
    assert found["Lin"] == [None] * 5


SETS = st.sets(st.sampled_from(CONCEPTS), max_size=4)


COUNTS = st.sampled_from([{"C0": 1.0}, {"C0": 2.0, "C3": 1.0}])


@settings(max_examples=examples(30))
@given(edges=PAIRS, pairs=st.lists(st.tuples(SETS, SETS), max_size=6), counts=COUNTS)
def test_every_measure_of_sets_is_its_definition(
    edges: list[tuple[str, str]], pairs: list[tuple[set[str], set[str]]], counts: dict[str, float]
) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    literal = LiteralHierarchy(CONCEPTS, edges, counts)
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    for ic in ("Sanchez", "corpus"):
        for measure in SIMILARITY_MEASURES:
            options = SimilarityOptions(measure, ic, counts if ic == "corpus" else {})
            found = hierarchy.set_similarities([(sorted(a) * 2, b) for a, b in pairs], options)
            expected = [literal.value_of_sets(a, b, measure, ic) for a, b in pairs]
            assert list(found) == [
                value if value is None else pytest.approx(value, rel=1e-12, abs=1e-12) for value in expected
            ]
            swapped = hierarchy.set_similarities([(b, a) for a, b in pairs], options)
            assert list(swapped) == list(found)
            alone = [(a, b) for a in CONCEPTS[:3] for b in CONCEPTS]
            singles = hierarchy.set_similarities([({a}, {b}) for a, b in alone], options)
            assert list(singles) == list(hierarchy.similarities(alone, options))


def test_sets_larger_than_a_block_have_the_same_average(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [("C1", "C0"), ("C2", "C0"), ("C3", "C1"), ("C4", "C1"), ("C5", "C2")]
    hierarchy = SnapshotGraph.of(edges).hierarchy
    pairs = [({"C1", "C2", "C3"}, {"C4", "C5"}), ({"C3"}, set()), ({"C0", "C5"}, {"C3", "C4", "C1"})]
    whole = list(hierarchy.set_similarities(pairs))
    monkeypatch.setattr(set_similarity, "_CELLS_A_BLOCK", 2)
    assert list(hierarchy.set_similarities(pairs)) == whole


@pytest.mark.parametrize("wrong", [["C1"], [("C1", "C2")], [({"C1"},)], [({"C1"}, "C2")], [7]])
def test_pairs_of_sets_are_checked(wrong: list[object]) -> None:
    hierarchy = SnapshotGraph.of([("C1", "C0"), ("C2", "C0")]).hierarchy
    with pytest.raises(InputError, match="not a pair of sets"):
        hierarchy.set_similarities(wrong)  # type: ignore[arg-type]


@given(edges=PAIRS)
def test_places_and_lowest_common_subsumers(edges: list[tuple[str, str]]) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    literal = LiteralHierarchy(CONCEPTS, edges, {"C0": 1})
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    facts = hierarchy.facts()
    assert (facts.nodes, facts.leaves, facts.depth) == (literal.N, len(literal.leaves), literal.most)
    assert facts.virtual_root == literal.virtual
    for cui, place in zip(CONCEPTS, hierarchy.placements(CONCEPTS), strict=True):
        node = literal.node_of[cui]
        assert place.depth == literal.depth[node]
        assert (place.ancestors, place.descendants) == (len(literal.above[node]) - 1, len(literal.below[node]) - 1)
        assert place.leaves == len(literal.below[node] & literal.leaves)
        assert set(place.cycle) == (
            literal.dag.nodes[node]["members"] if len(literal.dag.nodes[node]["members"]) > 1 else set()
        )
    for a, b in [("C1", "C2"), ("C5", "C0"), ("C3", "C3")]:
        shared = literal.above[literal.node_of[a]] & literal.above[literal.node_of[b]]
        lowest = {c for c in shared if not (literal.below[c] - {c}) & shared}
        first = {min(literal.dag.nodes[c]["members"]): c for c in lowest}
        found = hierarchy.pair(a, b)
        assert {each.cui for each in found.lowest} == (first.keys() if first else {None})
        for each in found.lowest:
            node = ROOT if each.cui is None else first[each.cui]
            assert each.depth == literal.depth[node]
            assert (each.hops_a, each.hops_b) == tuple(literal.hops(literal.node_of[c], node) for c in (a, b))


def test_options_are_checked() -> None:
    assert [named_measure(text) for text in ("LIN", "wup", "leacockchodorow", "SimUI")] == [
        "Lin", "Wu-Palmer", "Leacock-Chodorow", "simUI",
    ]  # fmt: skip
    with pytest.raises(InputError, match="no occurrences are counted"):
        SnapshotGraph.of([("C0", "C1")]).hierarchy.similarity("C0", "C1", SimilarityOptions("Lin", "corpus"))
    for wrong in ({"measure": "cosine"}, {"ic": "Zhou"}, {"counts": {"C0": 1}},
                  {"ic": "corpus", "counts": {"C0": -1}}, {"ic": "corpus", "counts": {"C0": math.nan}}):  # fmt: skip
        with pytest.raises(InputError):
            SimilarityOptions(**wrong)


def test_within_vocabularies_the_hierarchy_is_that_of_their_edges(tmp_path: Path) -> None:
    rows = tmp_path / "edges.obo"
    rows.write_text("ontology: a\n\n[Term]\nid: A:3\nis_a: A:1\n\n[Term]\nid: A:2\nis_a: A:1\n")
    more = tmp_path / "more.obo"
    more.write_text("ontology: b\n\n[Term]\nid: A:3\nis_a: A:2\n")
    graph = SnapshotGraph(load([rows, more]).sections)
    assert graph.hierarchy.placements(["A:3"])[0].depth == 3
    within = graph.within(["A"]).hierarchy
    assert within.placements(["A:3"])[0].depth == 2
    assert graph.hierarchy.placements(["A:3"])[0].depth == 3
