"""Identifiers that the graph does not hold, left out of the sets."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from collections_made import STRANGERS, Case, Images, cases
from cuihop import Nearness, SnapshotGraph, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError, InvalidCui, ManyUnknownConcepts
from cuihop.measures.bipartite_matching import bipartite_matching
from cuihop.measures.f1 import nn_f1
from cuihop.measures.nn_iou import concept_overlap, nn_iou
from cuihop.relevance.baselines import top_k
from example_graph import UNKNOWN, example_graph
from examples import examples

MEASURES = ["nn-CUI@1,3,10", "CUI@3"]


def without_strangers(images: Images) -> Images:
    return {image: concepts - set(STRANGERS) for image, concepts in images.items()}


@pytest.mark.slow
@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(cases())
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_dropping_is_taking_them_out_of_the_file(case: Case) -> None:
    corpus = None if case.corpus is None else without_strangers(case.corpus)
    given, cleaned = Dataset(case.queries, case.corpus), Dataset(without_strangers(case.queries), corpus)
    dropping = Nearness(case.n, case.lam, case.direction, "drop")
    strict = Nearness(case.n, case.lam, case.direction)
    with case.graph as graph:
        found = evaluate(given, case.ranking, graph, measures=MEASURES, nearness=dropping, missing="zero")
        expected = evaluate(cleaned, case.ranking, graph, measures=MEASURES, nearness=strict, missing="zero")
        for by in ("nn-iou", "bm"):
            ranked = [dict(top_k(images, graph, 5, by=by, nearness=how))
                      for images, how in ((given, dropping), (cleaned, strict))]  # fmt: skip
            assert ranked[0] == ranked[1]
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.concepts.tolist() == expected.concepts.tolist()
    assert found.unknown_concepts.tolist() == [len(case.queries[q] & set(STRANGERS)) for q in found.queries]
    images = [case.queries] if case.corpus is None else [case.queries, case.corpus]
    everything = [concepts for side in images for concepts in side.values()]
    counts = found.counts
    assert counts.occurrences == sum(map(len, everything))
    assert counts.unknown.occurrences == sum(len(concepts & set(STRANGERS)) for concepts in everything)
    assert counts.emptied == sum(bool(concepts) and concepts <= set(STRANGERS) for concepts in everything)
    assert counts.fused == 0
    assert counts.empty_queries == expected.counts.empty_queries


def test_one_pair_without_them() -> None:
    graph = example_graph()
    overlap = concept_overlap(["C0042449", UNKNOWN, "C9000902"], ["C0005847", UNKNOWN], graph, unknown="drop")
    assert (sorted(overlap.A), sorted(overlap.B)) == (["C0042449"], ["C0005847"])
    assert (overlap.iou, overlap.nn_iou) == (0.0, 0.5)
    assert overlap.resolved.dropped == {UNKNOWN, "C9000902"}
    assert overlap.resolved.isolated == frozenset()
    assert nn_iou([UNKNOWN], [UNKNOWN], graph, unknown="drop") == 0.0
    assert nn_f1([UNKNOWN, "C0042449"], ["C0042449"], graph, unknown="drop") == 1.0
    assert bipartite_matching([UNKNOWN, "C0042449"], [UNKNOWN, "C0005847"], graph, unknown="drop") == 0.5
    with pytest.raises(InvalidCui):
        nn_iou(["veins"], ["C0042449"], graph, unknown="drop")


def test_the_account_states_the_coverage() -> None:
    images = {"a": ["C0042449", UNKNOWN], "b": [UNKNOWN], "c": ["C0005847", "C0042449", "C0006121"]}
    with pytest.warns(ManyUnknownConcepts, match=r"33\.3% of the concepts .* and are left out"):
        result = evaluate(images, {image: [] for image in images}, example_graph(), nearness=Nearness(unknown="drop"))
    assert (
        "the graph holds 3 of 4 identifiers (75.0%), 4 of 6 occurrences (66.7%); 1 image lost all concepts"
    ) in result.account()
    assert "1 of 4 identifiers (25.0%), 2 of 6 occurrences (33.3%): not in the graph; left out" in result.account()
    assert result.summary()["parameters"]["unknown"] == "drop"
    assert result.summary()["counts"]["emptied"] == 1


def test_a_collection_of_which_nothing_is_left_is_refused() -> None:
    graph = SnapshotGraph.of([("C0042449", "C0005847")])
    with pytest.raises(InputError, match="no concept of the images is in the graph"):
        evaluate({"a": [UNKNOWN]}, {"a": []}, graph, nearness=Nearness(unknown="drop"))
