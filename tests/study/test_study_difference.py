"""Confidence intervals, the test of nn-IoU against IoU, and what there is for nn-IoU to gain, by plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.labels import Labels
from cuihop.comparison.paired_tests import holm, randomisation_tests
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.relevance.baselines import Relevance, top_k
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cost import rel
from cuihop.study.cross_evaluation import CrossEvaluation, cross_evaluation, intervals
from cuihop.study.difference import differences, near_concepts
from cuihop.study.inputs import CUT_OFFS, StudyInputs
from example_graph import EDGES, UNKNOWN, example_graph

CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {UNKNOWN})
IMAGES = 70
_BY: dict[str, Relevance] = {"IoU": "iou", "nn-IoU": "nn-iou"}


def quiet(what: str) -> Progress:
    return lambda done, total: None


def silent(done: int, total: int) -> None:
    """Progress without a display."""


@pytest.fixture(scope="module", params=[(1, 0.5), (2, 0.3), (0, 0.5)], ids=str)
def inputs(request: pytest.FixtureRequest) -> StudyInputs:
    draw = np.random.default_rng(11)
    names = [f"i{place:02}" for place in range(IMAGES)]
    sets = {name: frozenset(draw.choice(CONCEPTS, draw.integers(0, 6), replace=False).tolist()) for name in names}
    labels = Labels({
        "modality": {name: str(draw.choice(["CT", "MRI"])) for name in names},
        "organ": {name: str(draw.choice(["head", "chest", ""])) for name in names},
    })  # fmt: skip
    n, lam = request.param
    return StudyInputs(
        ImageConcepts(sets),
        example_graph(),
        labels,
        seed=5,
        nearness=Nearness(n=n, lam=lam, unknown="isolated"),
        resources=Resources(threads=1),
    )


@pytest.fixture(scope="module")
def cross(inputs: StudyInputs) -> CrossEvaluation:
    return cross_evaluation(inputs, quiet, StudyCheckpoint(None, inputs))


def test_an_interval_is_that_of_the_percentile_bootstrap() -> None:
    from scipy import stats

    draw = np.random.default_rng(2)
    values = np.stack([draw.random(80), draw.integers(0, 2, 80).astype(float)], axis=1)
    found = intervals(values, 4, silent)
    for column, interval in zip(values.T, found, strict=True):
        other = stats.bootstrap((column,), np.mean, method="percentile", n_resamples=10_000, rng=1).confidence_interval
        assert interval == pytest.approx((other.low, other.high), abs=0.02)


def test_intervals_are_drawn_over_the_queries_that_have_a_value() -> None:
    draw = np.random.default_rng(3)
    some = np.where(np.arange(60) < 20, np.nan, draw.normal(5, 1, 60))
    values = np.stack([some, np.full(60, np.nan), np.full(60, 0.25)], axis=1)
    interval, *others = intervals(values, 0, silent)
    assert others == [None, (0.25, 0.25)]
    scored = some[20:]
    error = scored.std(ddof=1) / np.sqrt(len(scored))
    assert interval == pytest.approx((scored.mean() - 1.96 * error, scored.mean() + 1.96 * error), abs=0.05)


def test_one_seed_gives_one_interval_whatever_else_is_resampled() -> None:
    values = np.random.default_rng(0).random((50, 3))
    alone = intervals(values[:, 1:2], 9, silent)
    assert intervals(values, 9, silent)[1:2] == alone
    assert intervals(values[:, 1:2], 8, silent) != alone


def test_the_interval_of_a_difference_is_paired() -> None:
    """Two systems that differ by the same in every query differ by just that in every resample."""
    values = np.random.default_rng(1).random((40, 1))
    interval, _ = intervals(np.concatenate([values + 0.125 - values, values], axis=1), 0, silent)
    assert interval == pytest.approx((0.125, 0.125))


def test_every_mean_lies_in_its_interval(cross: CrossEvaluation, inputs: StudyInputs) -> None:
    for number in cross.long_rows(inputs):
        assert (number.value is None) == (number.low is None) == (number.high is None)
        if number.value is not None and number.low is not None and number.high is not None:
            assert number.low - 1e-9 <= number.value <= number.high + 1e-9


def test_differences_are_those_of_evaluate_query_by_query(cross: CrossEvaluation, inputs: StudyInputs) -> None:
    found = differences(cross, inputs, quiet)
    assert [each.measure for each in found] == [
        f"P@{k}({labels})" for labels in ("modality", "organ", "modality, organ") for k in CUT_OFFS
    ]
    values: dict[Relevance, npt.NDArray[np.float64]] = {}
    for by in _BY.values():
        ranking = top_k(
            inputs.images,
            inputs.graph,
            30,
            by=by,
            nearness=Nearness(n=inputs.nearness.n, lam=inputs.nearness.lam, unknown="isolated"),
        )
        measured = evaluate(
            Dataset(inputs.images, labels=inputs.labels),
            ranking,
            inputs.graph,
            measures=[each.measure for each in found],
            nearness=Nearness(unknown="isolated"),
        )
        values[by] = measured.values
    p_values = []
    for place, each in enumerate(found):
        iou, nn_iou = (column[~np.isnan(column)] for column in (values["iou"][:, place], values["nn-iou"][:, place]))
        assert (each.iou, each.nn_iou) == pytest.approx((iou.mean(), nn_iou.mean()))
        assert each.difference == pytest.approx(nn_iou.mean() - iou.mean(), abs=1e-12)
        assert each.interval[0] <= each.difference <= each.interval[1]
        assert (each.better, each.worse, each.same) == tuple(
            int(np.sum(sign(nn_iou, iou))) for sign in (np.greater, np.less, np.equal)
        )
        p_values += randomisation_tests((nn_iou - iou)[:, np.newaxis], seed=5)
    assert [each.p for each in found] == p_values
    assert [each.p_holm for each in found] == holm(p_values)
    if inputs.nearness.n == 0:
        assert {(each.difference, each.p) for each in found} == {(0.0, 1.0)}
    else:
        assert min(p_values) < 1.0


def test_what_there_is_to_gain_is_counted_as_algorithm_1_says(cross: CrossEvaluation, inputs: StudyInputs) -> None:
    found = near_concepts(cross, inputs, quiet)
    graph = inputs.graph

    def near(a: str, b: str) -> bool:
        if a == b or UNKNOWN in (a, b):
            return a == b
        return graph.distance(a, b, max_hops=inputs.nearness.n) is not None

    images = inputs.images
    held = {concept for concepts in images.values() for concept in concepts}
    linked = {a for a in held if any(a != b and near(a, b) for b in held)}
    assert (found.concepts, found.linked) == (len(held), len(linked))
    assert found.occurrences == sum(map(len, images.values()))
    assert found.linked_occurrences == sum(len(linked & concepts) for concepts in images.values())
    lists = {
        name: dict(
            top_k(
                images,
                graph,
                30,
                by=by,
                nearness=Nearness(n=inputs.nearness.n, lam=inputs.nearness.lam, unknown="isolated"),
            )
        )
        for name, by in _BY.items()
    }
    for k in CUT_OFFS:
        differing = sum(set(lists["IoU"][q][:k]) != set(lists["nn-IoU"][q][:k]) for q in images)
        assert found.others[k] == pytest.approx(differing / IMAGES)
        for name, ranked in lists.items():
            sizes = [len(rel(images[q], images[image], near)) for q in images for image in ranked[q][:k]]
            assert found.near[name, k] == pytest.approx(sum(sizes) / len(sizes))
            assert found.having[name, k] == pytest.approx(sum(size > 0 for size in sizes) / len(sizes))
    assert (found.linked > 0) == (found.near["nn-IoU", 30] > 0) == (inputs.nearness.n > 0)


def test_hops_of_one_direction_link_both_their_ends(inputs: StudyInputs) -> None:
    child, parent = EDGES[0]
    images = ImageConcepts({"a": frozenset({child}), "b": frozenset({parent}), "c": frozenset()})
    few = replace(inputs, images=images, labels=None, nearness=Nearness(1, direction="up"))
    found = near_concepts(cross_evaluation(few, quiet, StudyCheckpoint(None, few)), few, quiet)
    assert (found.concepts, found.linked, found.linked_occurrences) == (2, 2, 2)
