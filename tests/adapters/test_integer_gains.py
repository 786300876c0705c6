"""nn-IoU as whole grades: exact where it can be, and honest where not; against trec_eval on the grades."""

from __future__ import annotations

import math

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop import SnapshotGraph, evaluate, nn_iou
from cuihop.adapters.integer_gains import to_integer_gains
from cuihop.adapters.pytrec_eval import to_run
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from examples import examples


def test_a_gain_that_only_its_own_sum_rounds_is_exact() -> None:
    a, b = ["C0000001", "C9999991"], ["C0000001", "C0000002"]
    graph = SnapshotGraph.of([("C0000001", "C0000002")], identifiers="cui")
    found = to_integer_gains(
        Dataset({"a": a, "b": b}, None), graph, 100, nearness=Nearness(n=1, lam=0.2, unknown="isolated")
    )
    assert nn_iou(a, b, graph, 1, 0.2, unknown="isolated") == (1 + 0.2) / 3 != 0.4
    assert (found.pairs, found.rounded, found.largest_error) == (2, 0, 0.0)


@settings(max_examples=examples(60))
@given(cases(), st.sampled_from([1, 7, 100, 1000]))
def test_grades_are_gains_times_the_scale_to_the_nearest(case: Case, scale: int) -> None:
    found = to_integer_gains(
        Dataset(case.queries, case.corpus),
        case.graph,
        scale,
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    )
    pairs = rounded = lost = 0
    largest = 0.0
    for query, concepts in case.queries.items():
        expected = {}
        for image, others in case.held.items():
            gain = nn_iou(concepts, others, case.graph, case.n, case.lam, case.direction, unknown="isolated")
            if image == query or gain == 0.0:
                continue
            grade = found.qrels[query].get(image, 0)
            assert abs(grade - gain * scale) <= 0.5 + 1e-9
            pairs, lost = pairs + 1, lost + (grade == 0)
            rounded += not math.isclose(grade / scale, gain, rel_tol=1e-12)
            largest = max(largest, abs(grade / scale - gain))
            if grade:
                expected[image] = grade
        assert dict(found.qrels[query]) == expected
    assert (found.pairs, found.rounded, found.lost) == (pairs, rounded, lost)
    assert found.largest_error == pytest.approx(largest, abs=1e-12)
    assert found.largest_error <= 0.5 / scale + 1e-12


@settings(max_examples=examples(60))
@given(cases())
def test_trec_evals_ndcg_of_the_grades_is_near_nn_cui(case: Case) -> None:
    data = Dataset(case.queries, case.corpus)
    nearness = Nearness(case.n, case.lam, case.direction, "isolated")
    gains = to_integer_gains(data, case.graph, 840, nearness)
    ranking = Ranking.of(case.ranking, tuple(case.queries), tuple(case.held))
    ours = evaluate(data, ranking, case.graph, measures="nn-CUI@5", missing="zero", nearness=nearness)
    theirs = pytrec_eval.RelevanceEvaluator(dict(gains.qrels), {"ndcg_cut_5"}).evaluate(to_run(ranking))
    tolerance = 1e-12 if gains.rounded == 0 else 0.05
    for query, value in zip(ours.queries, ours.values[:, 0].tolist(), strict=True):
        if gains.qrels[query] and ranking[query]:
            assert theirs[query]["ndcg_cut_5"] == pytest.approx(value, abs=tolerance)


def test_thirds_need_a_scale_that_three_divides() -> None:
    images = {"a": "C0000001;C0000002", "b": "C0000001;C0000003", "c": "C0000001;C0000002"}
    assert to_integer_gains(images, None, 3, nearness=Nearness(n=0)).rounded == 0
    gains = to_integer_gains(images, None, 100, nearness=Nearness(n=0))
    assert dict(gains.qrels["a"]) == {"c": 100, "b": 33}
    assert (gains.pairs, gains.rounded, gains.lost) == (6, 4, 0)
    assert gains.largest_error == pytest.approx(1 / 300)
    assert to_integer_gains(images, None, 1, nearness=Nearness(n=0)).lost == 4


@pytest.mark.parametrize("scale", [0, 1001, True, 2.0])
def test_scales_that_are_none(scale: int) -> None:
    with pytest.raises(InputError, match="from 1 to 1,000"):
        to_integer_gains({"a": "C0000001"}, None, scale, nearness=Nearness(n=0))


def test_near_concepts_need_a_graph() -> None:
    with pytest.raises(InputError, match="or n=0"):
        to_integer_gains({"a": "C0000001"}, None, 10)


def test_why_it_is_needed() -> None:
    with pytest.raises(TypeError, match="integer"):
        pytrec_eval.RelevanceEvaluator({"q": {"a": 0.9}}, {"ndcg"})  # type: ignore[dict-item]
