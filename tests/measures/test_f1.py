"""nn-precision, nn-recall and nn-F1: values by hand, the literal definition, scikit-learn, and their properties."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_algorithms
from collections_made import Case, cases
from cuihop import Nearness, SnapshotGraph
from cuihop.errors import ConceptNotFound, InputError
from cuihop.measures import concept_f1, match_counts, nn_f1, nn_precision, nn_recall, related, span_counts
from cuihop.measures.f1 import precision_recall_f1
from example_graph import UNKNOWN, example_graph
from examples import examples

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"

small = settings(max_examples=examples(60))


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


def test_values_by_hand(graph: SnapshotGraph) -> None:
    # Of three predictions one is right and one near; of two true concepts one is found and one near.
    true, predicted = {HEAD, VEINS}, {HEAD, VESSELS, "C9000004"}
    assert nn_precision(true, predicted, graph) == (1 + 0.5) / 3
    assert nn_recall(true, predicted, graph) == (1 + 0.5) / 2
    assert nn_f1(true, predicted, graph) == pytest.approx(0.6)


def test_a_shared_concept_may_be_the_near_one(graph: SnapshotGraph) -> None:
    assert nn_precision({VESSELS}, {VESSELS, VEINS, ARTERIES}, graph) == (1 + 2 * 0.5) / 3
    assert nn_recall({VESSELS}, {VESSELS, VEINS, ARTERIES}, graph) == 1.0


def test_empty_sets(graph: SnapshotGraph) -> None:
    for measure in (nn_precision, nn_recall, nn_f1):
        assert [measure(*sides, graph) for sides in (("", ""), (HEAD, ""), ("", HEAD))] == [1.0, 0.0, 0.0]


def test_upwards_credits_only_what_is_more_general(graph: SnapshotGraph) -> None:
    assert [nn_f1(VEINS, VESSELS, graph, direction=way) for way in ("any", "up", "down")] == [0.5, 0.5, 0.0]
    assert [nn_f1(VESSELS, VEINS, graph, direction=way) for way in ("any", "up", "down")] == [0.5, 0.0, 0.5]


def test_unknown_concepts_match_only_themselves_or_are_refused(graph: SnapshotGraph) -> None:
    assert nn_f1({UNKNOWN, VEINS}, {UNKNOWN}, graph, unknown="isolated") == pytest.approx(2 / 3)
    with pytest.raises(ConceptNotFound):
        nn_f1({UNKNOWN}, {VEINS}, graph)


@pytest.mark.parametrize(("wrong", "name"), [({"n": -1}, "n"), ({"lam": 1.5}, "lam"), ({"direction": "left"}, "dir")])
def test_parameters_out_of_range_are_refused(graph: SnapshotGraph, wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=name):
        nn_f1(VEINS, VESSELS, graph, **wrong)


def test_nn_f1_has_no_weights_that_depend_on_distance() -> None:
    with pytest.raises(InputError, match="no such weight"):
        Nearness(weight="hops").for_nn_f1()


@small
@given(cases())
def test_the_values_are_those_of_the_literal_definition(case: Case) -> None:
    true, predicted = next(iter(case.queries.values())), next(iter(case.held.values()))
    graph, options = case.graph, (case.n, case.lam, case.direction)
    found = [
        measure(true, predicted, graph, *options, unknown="isolated") for measure in (nn_precision, nn_recall, nn_f1)
    ]
    assert found == list(literal_algorithms.nn_f1(true, predicted, case.distance(), case.n, case.lam))


@small
@given(cases())
def test_near_concepts_of_both_sides_are_the_related_ones_of_nn_iou(case: Case) -> None:
    true, predicted = list(case.held.values())[-1], next(iter(case.queries.values()))
    counts = match_counts(true, predicted, case.graph, case.n, case.direction, unknown="isolated")
    near = related(true, predicted, case.graph, case.n, case.direction, unknown="isolated")
    assert counts.near_true + counts.near_predicted == len(near)


@small
@given(cases())
def test_more_hops_and_a_larger_weight_never_lower_the_value(case: Case) -> None:
    true, predicted = next(iter(case.queries.values())), list(case.held.values())[-1]
    graph = case.graph

    def value(n: int, lam: float) -> float:
        return nn_f1(true, predicted, graph, n, lam, case.direction, unknown="isolated")

    by_n = [value(n, case.lam) for n in range(4)]
    by_lam = [value(case.n, lam) for lam in (0.0, 0.25, 0.5, 1.0)]
    for values in (by_n, by_lam):
        assert all(0.0 <= value <= 1.0 for value in values)
        assert all(a <= b + 1e-12 for a, b in pairwise(values))
    if true:
        assert by_n[0] == pytest.approx(concept_f1(true, predicted))


@small
@given(st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
def test_without_hops_they_are_those_of_scikit_learn(true: frozenset[str], predicted: frozenset[str]) -> None:
    from sklearn.metrics import f1_score, precision_score, recall_score

    graph = SnapshotGraph.of([("a", "b"), ("b", "c")], concepts=list("def"), identifiers="any")
    labels = sorted(true | predicted)
    truth, guess = [c in true for c in labels], [c in predicted for c in labels]
    pairs = [(precision_score, nn_precision), (recall_score, nn_recall), (f1_score, nn_f1)]
    for theirs, ours in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about nothing to divide by
            expected = theirs(truth, guess, zero_division=0.0) if labels else 1.0
        for n, lam in ((0, 0.5), (2, 0.0)):
            assert ours(true, predicted, graph, n, lam) == pytest.approx(expected, abs=1e-15)


spans = st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("xy")).map(lambda s: (s[0], s[0] + s[1], s[2]))


@small
@given(st.sets(spans, max_size=7), st.sets(spans, max_size=7), st.booleans())
def test_mentions_are_matched_as_networkx_matches_them(
    true: set[tuple[int, int, str]], predicted: set[tuple[int, int, str]], either: bool
) -> None:
    truth = [(start, end, frozenset("xy" if either else concept)) for start, end, concept in sorted(true)]
    strict, overlap = (span_counts(truth, sorted(predicted), match) for match in ("strict", "overlap"))
    pairs = nx.Graph()
    for row, (start, end, concept) in enumerate(sorted(predicted)):
        for column, (first, last, concepts) in enumerate(truth):
            if concept in concepts and set(range(start, end)) & set(range(first, last)):
                pairs.add_edge(("p", row), ("t", column))
    assert overlap.right == overlap.found == len(nx.max_weight_matching(pairs, maxcardinality=True))
    assert strict.right <= overlap.right
    if not either:
        assert strict.right == len(true & predicted)
    assert (overlap.true, overlap.predicted) == (len(true), len(predicted))


def test_near_concepts_count_nothing_unless_a_weight_is_stated() -> None:
    counts = np.array([[1, 2, 1, 1, 0, 1]])
    assert precision_recall_f1(counts).tolist() == precision_recall_f1(counts, 0.0).tolist() == [[0.5, 1.0, 2 / 3]]
