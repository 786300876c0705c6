"""nn-IoU whose near concepts weigh λ to the power of their hops: one pair, whole collections, rankings."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

from collections_made import Case, cases, collection_of_rare_concepts
from cuihop import Nearness, SnapshotGraph, evaluate
from cuihop._kernels.relevance import NOT_KEPT, ROW
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.measures.nearness import LARGEST_WEIGHTED_N, Weight
from cuihop.measures.nn_iou import nn_iou
from cuihop.relevance import concept_sets
from cuihop.relevance.baselines import top_k
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import Int32, Int64
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources
from flat_options import evaluate_flat
from literal_algorithms import ndcg_of_each_query, weighted_nn_iou

small = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
CHAIN = [("C0000001", "C0000002"), ("C0000002", "C0000003"), ("C0000003", "C0000004")]


def of_pairs(case: Case, graph: SnapshotGraph, **options: Any) -> dict[tuple[str, str], float]:
    """nn-IoU of each query with each image, by the function of one pair."""
    given = {"n": case.n, "lam": case.lam, "direction": case.direction, "unknown": "isolated", "weight": "hops"}
    return {
        (query, image): nn_iou(A, B, graph, **(given | options))
        for query, A in case.queries.items()
        for image, B in case.held.items()
    }


@small
@given(cases())
def test_one_pair_is_the_literal_value_to_the_last_bit(case: Case) -> None:
    dist = case.distance()
    with case.graph as graph:
        found = of_pairs(case, graph)
    for (query, image), value in found.items():
        assert value == weighted_nn_iou(case.queries[query], case.held[image], dist, case.n, case.lam)


def no_rows(first: Int64, lengths: Int64, sets: int, room: int, bytes_of_set: int) -> tuple[Int32, int]:
    """The result of `concept_sets._kinds` where the sets that hold a near concept do not fit into memory."""
    return np.where(lengths == 0, ROW, NOT_KEPT).astype(np.int32), 0


@small
@given(cases())
@example(collection_of_rare_concepts())
def test_every_gain_of_a_collection_is_that_of_the_pair_to_the_last_bit(case: Case) -> None:
    with case.graph as graph:
        expected = of_pairs(case, graph)
        images = ImageCollection.of(Dataset(case.queries, case.corpus), graph, "isolated")
        everything = len(images.corpus_names)
        all_images = np.tile(np.arange(everything, dtype=np.int32), (len(images.query_names), 1))
        usual = concept_sets._kinds
        for memory, kinds in (("4 GiB", usual), ("1 MiB", usual), ("1 MiB", no_rows)):
            found: dict[tuple[str, str], float] = {}
            nearness = Nearness(case.n, direction=case.direction, weight="hops")
            with mock.patch.object(concept_sets, "_kinds", kinds):
                index = images.index(graph, nearness, MemoryBudget.of(memory))
                for scores in index.scores([case.lam], everything, all_images):
                    gains = scores.retrieved_gains[0]
                    for place, row in enumerate(scores.queries.tolist()):
                        for image, gain in zip(images.corpus_names, gains[place].tolist(), strict=True):
                            found[images.query_names[row], image] = gain
            assert found == expected


@pytest.mark.slow
@small
@given(cases())
def test_an_evaluation_is_that_of_the_literal_algorithms(case: Case) -> None:
    dist = case.distance()
    measures = ["nn-CUI@1,3,10", "CUI@3", "nn-CUI@3(n=2, λ=0.2, weight=hops)", "nn-CUI@3(weight=constant)"]
    with case.graph as graph:
        result = evaluate_flat(
            case.queries, case.ranking, graph, corpus=case.corpus, measures=measures, n=case.n, lam=case.lam,
            direction=case.direction, unknown="isolated", weight="hops", missing="zero",
        )  # fmt: skip
        constant = evaluate_flat(
            case.queries, case.ranking, graph, corpus=case.corpus, measures=["nn-CUI@3", "CUI@3"], n=case.n,
            lam=case.lam, direction=case.direction, unknown="isolated", missing="zero",
        )  # fmt: skip
    for name, k, n, lam in (("nn-CUI@1", 1, case.n, case.lam), ("nn-CUI@10", 10, case.n, case.lam),
                            (measures[2], 3, 2, 0.2)):  # fmt: skip

        def gain(A: frozenset[str], B: frozenset[str], n: int = n, lam: float = lam) -> float:
            return weighted_nn_iou(A, B, dist, n, lam)

        expected = ndcg_of_each_query(case.queries, case.held, case.ranking, k, gain)
        place = [str(measure) for measure in result.measures].index(name)
        found = dict(zip(result.queries, result.values[:, place].tolist(), strict=True))
        assert found == pytest.approx({query: value or 0.0 for query, value in expected.items()}, abs=1e-12)
    assert result.means[measures[3]] == constant.means["nn-CUI@3"]
    assert result.means["CUI@3"] == constant.means["CUI@3"]


@small
@given(cases())
def test_the_most_relevant_images_are_ranked_exactly(case: Case) -> None:
    dist = case.distance()
    nearness = Nearness(case.n, case.lam, case.direction, "isolated", "hops")
    with case.graph as graph:
        ranking = top_k(Dataset(case.queries, case.corpus), graph, 20, nearness=nearness)
    for query, A in case.queries.items():
        gains = {image: weighted_nn_iou(A, B, dist, case.n, case.lam) for image, B in case.held.items()}
        others = [image for image in gains if image != query]
        assert list(ranking[query]) == sorted(others, key=lambda image: (-gains[image], image))


@small
@given(cases())
def test_within_one_hop_both_weights_are_the_same_bits(case: Case) -> None:
    with case.graph as graph:
        values: list[list[bytes]] = []
        weights: tuple[Weight, ...] = ("constant", "hops")
        for weight in weights:
            nearness = Nearness(1, case.lam, case.direction, "isolated", weight)
            result = evaluate(
                Dataset(case.queries, case.corpus), case.ranking, graph, nearness=nearness, missing="zero"
            )
            pairs = of_pairs(case, graph, n=1, weight=weight)
            values.append([result.values.tobytes(), np.array(list(pairs.values())).tobytes()])
    assert values[0] == values[1]


@small
@given(cases())
def test_values_are_bounded_and_grow_with_n_and_lambda(case: Case) -> None:
    with case.graph as graph:
        here, farther = of_pairs(case, graph), of_pairs(case, graph, n=case.n + 1)
        heavier, constant = of_pairs(case, graph, lam=1.0), of_pairs(case, graph, weight="constant")
        turned = {
            (query, image): nn_iou(B, A, graph, case.n, case.lam, unknown="isolated", weight="hops")
            for query, A in case.queries.items()
            for image, B in case.held.items()
        }
        either_way = of_pairs(case, graph, direction="any")
    for pair, value in here.items():
        assert 0.0 <= value <= constant[pair] <= 1.0
        assert value <= farther[pair]
        assert value <= heavier[pair]
    assert either_way == turned


def test_results_do_not_depend_on_threads() -> None:
    images = {f"i{number}": f"C000000{1 + number % 4};C000000{1 + number % 3}" for number in range(400)}
    graph = SnapshotGraph.of(CHAIN)
    ranking = {query: list(images)[:50] for query in images}
    nearness = Nearness(3, 0.3, weight="hops")
    one, several = (
        evaluate(images, ranking, graph, nearness=nearness, resources=Resources(threads=threads)).values.tobytes()
        for threads in (1, 4)
    )
    assert one == several


def test_a_checkpoint_of_another_weight_is_refused(tmp_path: Any) -> None:
    images, ranking = {"a": "C0000001", "b": "C0000003"}, {"a": ["b"], "b": ["a"]}
    graph = SnapshotGraph.of(CHAIN)
    resources = Resources(checkpoint=tmp_path / "kept", keep_checkpoint=True)
    nearness = Nearness(2, 0.5, weight="hops")
    first = evaluate(images, ranking, graph, measures=["nn-CUI@1", "nn-CUI@1(weight=constant)"], nearness=nearness,
                     resources=resources)  # fmt: skip
    again = evaluate(images, ranking, graph, measures=["nn-CUI@1", "nn-CUI@1(weight=constant)"], nearness=nearness,
                     resources=resources)  # fmt: skip
    assert first.best_gains["nn-IoU"].tolist() == again.best_gains["nn-IoU"].tolist() == [0.25, 0.25]
    assert again.best_gains["nn-IoU(weight=constant)"].tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="weight"):
        evaluate(images, ranking, graph, measures=["nn-CUI@1", "nn-CUI@1(weight=constant)"],
                 nearness=dataclasses.replace(nearness, weight="constant"), resources=resources)  # fmt: skip


def test_a_weight_or_an_n_out_of_range_is_refused() -> None:
    graph = SnapshotGraph.of(CHAIN)
    with pytest.raises(InputError, match="constant or hops"):
        nn_iou("C0000001", "C0000002", graph, weight="lin")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"{LARGEST_WEIGHTED_N} at most"):
        Nearness(LARGEST_WEIGHTED_N + 1, weight="hops")
    with pytest.raises(InputError, match=f"{LARGEST_WEIGHTED_N} at most"):
        evaluate({"a": "C0000001"}, {"a": []}, graph, measures="nn-CUI@1(n=33, weight=hops)")
    assert Nearness(LARGEST_WEIGHTED_N + 1).n == LARGEST_WEIGHTED_N + 1
