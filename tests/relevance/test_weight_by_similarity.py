"""nn-IoU whose near concepts weigh λ times a similarity: one pair, whole collections, rankings."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, get_args
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop import Nearness, SnapshotGraph, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import CuihopError, InputError, LimitExceeded
from cuihop.explanation.pair import explain_pair
from cuihop.explanation.query import explain_query
from cuihop.explanation.sensitivity import Grid, sensitivity_of_pair, sensitivity_of_query
from cuihop.measures.nearness import IntrinsicContent, Weight, credit_of_near
from cuihop.measures.nn_iou import concept_overlap, nn_iou
from cuihop.relevance import concept_sets
from cuihop.relevance.baselines import top_k
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources
from cuihop.similarity.options import SimilarityOptions
from examples import examples
from flat_options import evaluate_flat
from literal_algorithms import ndcg_of_each_query, nn_iou_by_similarity
from real_graphs import isa_edges
from shared_data import shared

small = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
SIMILARITIES: list[tuple[Weight, IntrinsicContent]] = [("Lin", "Sanchez"), ("Lin", "Seco"), ("Wu-Palmer", "Sanchez")]
weights = st.sampled_from(SIMILARITIES)
CHAIN = [("C0000001", "C0000002"), ("C0000002", "C0000003"), ("C0000003", "C0000004"), ("C0000005", "C0000003")]


def literal(case: Case, graph: SnapshotGraph, weight: Weight, ic: IntrinsicContent, **options: Any) -> Any:
    """The literal nn-IoU of two sets of a case, with the similarity of the hierarchy."""
    dist = case.distance()
    chosen = SimilarityOptions("Lin" if weight == "Lin" else "Wu-Palmer", ic)
    known: dict[tuple[str, str], float] = {}

    def similarity(a: str, b: str) -> float:
        if (a, b) not in known:
            known[a, b] = graph.hierarchy.similarity(a, b, chosen) or 0.0
        return known[a, b]

    n, lam = options.get("n", case.n), options.get("lam", case.lam)
    return lambda A, B: nn_iou_by_similarity(A, B, dist, similarity, n, lam)


def of_pairs(case: Case, graph: SnapshotGraph, nearness: Nearness) -> dict[tuple[str, str], float]:
    """nn-IoU of each query with each image, by the function of one pair."""
    return {
        (query, image): nn_iou(
            A, B, graph, nearness.n, nearness.lam, nearness.direction, unknown="isolated", weight=nearness.weight,
            ic=nearness.ic,
        )
        for query, A in case.queries.items()
        for image, B in case.held.items()
    }  # fmt: skip


def nearness_of(case: Case, weight: Weight, ic: IntrinsicContent = "Sanchez") -> Nearness:
    return Nearness(case.n, case.lam, case.direction, "isolated", weight, ic)


def gains_of_collection(images: ImageCollection, graph: SnapshotGraph, nearness: Nearness, memory: str) -> Any:
    """(query, image) → gain, of every pair; and the best gains of each query, in descending order."""
    everything = len(images.corpus_names)
    all_images = np.tile(np.arange(everything, dtype=np.int32), (len(images.query_names), 1))
    found: dict[tuple[str, str], float] = {}
    best: dict[str, list[tuple[float, str]]] = {}
    index = images.index(graph, nearness, MemoryBudget.of(memory))
    for scores in index.scores([nearness.lam], everything, all_images):
        for place, row in enumerate(scores.queries.tolist()):
            query = images.query_names[row]
            found.update(
                ((query, image), gain)
                for image, gain in zip(images.corpus_names, scores.retrieved_gains[0][place].tolist(), strict=True)
            )
            rows = scores.best_rows[0][place].tolist()
            best[query] = [
                (gain, images.corpus_names[at])
                for gain, at in zip(scores.best_gains[0][place].tolist(), rows, strict=True)
            ]
    return found, best


@small
@given(cases(), weights)
def test_one_pair_is_the_literal_value(case: Case, chosen: tuple[Weight, IntrinsicContent]) -> None:
    with case.graph as graph:
        expected = literal(case, graph, *chosen)
        for (query, image), value in of_pairs(case, graph, nearness_of(case, *chosen)).items():
            assert value == pytest.approx(expected(case.queries[query], case.held[image]), abs=1e-12)


@small
@given(cases(), weights)
def test_every_gain_of_a_collection_is_that_of_the_pair_to_the_last_bit(
    case: Case, chosen: tuple[Weight, IntrinsicContent]
) -> None:
    nearness = nearness_of(case, *chosen)
    with case.graph as graph:
        expected = of_pairs(case, graph, nearness)
        images = ImageCollection.of(Dataset(case.queries, case.corpus), graph, "isolated")
        for memory, sets_of_a_row in (("4 GiB", 16), ("1 MiB", 16), ("4 GiB", 2)):  # the last: more rows beside lines
            with mock.patch.object(concept_sets, "_SETS_OF_A_ROW", sets_of_a_row):
                found, best = gains_of_collection(images, graph, nearness, memory)
            assert found == expected
            for query, listed in best.items():
                gains = [(expected[query, image], image) for image in case.held]
                assert listed == sorted(gains, key=lambda each: (-each[0], each[1]))


def test_the_best_image_may_hold_a_rare_concept_where_another_near_one_is_common() -> None:
    root, common, query, rare = (f"C000000{number}" for number in range(1, 5))
    graph = SnapshotGraph.of([(common, root), (query, common), (rare, query)])
    images = {f"common {number:02d}": {common, f"C00001{number:02d}"} for number in range(1, 19)}
    images |= {"common": {common}, "rare": {rare}}
    result = evaluate_flat(
        {"query": {query}}, {"query": ["common"]}, graph, corpus=images, measures=["nn-CUI@1(weight=Wu-Palmer)"],
        lam=1.0, unknown="isolated",
    )  # fmt: skip
    assert list(result.means.values()) == pytest.approx([(4 / 5) / (6 / 7)])


@small
@given(cases(), weights)
def test_an_evaluation_is_that_of_the_literal_algorithms(case: Case, chosen: tuple[Weight, IntrinsicContent]) -> None:
    weight, ic = chosen
    given_ic = f", ic={ic}" if weight == "Lin" else ""
    measures = [f"nn-CUI@1,3,10(weight={weight}{given_ic})", "CUI@3",
                f"nn-CUI@3(n=2, λ=0.2, weight={weight}{given_ic})", "nn-CUI@3", "nn-CUI@3(weight=hops)"]  # fmt: skip
    options = {"corpus": case.corpus, "n": case.n, "lam": case.lam, "direction": case.direction, "unknown": "isolated"}
    with case.graph as graph:
        result = evaluate_flat(case.queries, case.ranking, graph, measures=measures, missing="zero", **options)
        plain = evaluate_flat(case.queries, case.ranking, graph, measures=["nn-CUI@3", "CUI@3", measures[4]],
                              missing="zero", **options)  # fmt: skip
        gains = {
            1: literal(case, graph, weight, ic), 10: literal(case, graph, weight, ic),
            3: literal(case, graph, weight, ic, n=2, lam=0.2),
        }  # fmt: skip
        names = [str(measure) for measure in result.measures]
        for k, gain in gains.items():
            expected = ndcg_of_each_query(case.queries, case.held, case.ranking, k, gain)
            place = names.index(f"nn-CUI@{k}(n=2, λ=0.2, weight={weight}{given_ic})" if k == 3 else
                                f"nn-CUI@{k}(weight={weight}{given_ic})")  # fmt: skip
            found = dict(zip(result.queries, result.values[:, place].tolist(), strict=True))
            assert found == pytest.approx({query: value or 0.0 for query, value in expected.items()}, abs=1e-12)
    for name in ("nn-CUI@3", "CUI@3", "nn-CUI@3(weight=hops)"):
        assert result.means[name] == plain.means[name]


@small
@given(cases(), weights)
def test_without_lambda_or_hops_it_is_iou_to_the_last_bit(case: Case, chosen: tuple[Weight, IntrinsicContent]) -> None:
    with case.graph as graph:
        data = Dataset(case.queries, case.corpus)
        iou = evaluate(data, case.ranking, graph, measures="CUI@3", nearness=Nearness(unknown="isolated"),
                       missing="zero").values.tobytes()  # fmt: skip
        for n, lam in ((case.n, 0.0), (0, 1.0)):
            nearness = dataclasses.replace(nearness_of(case, *chosen), n=n, lam=lam)
            result = evaluate(data, case.ranking, graph, measures="nn-CUI@3", nearness=nearness, missing="zero")
            assert result.values.tobytes() == iou


@pytest.mark.slow
@small
@given(cases(), st.sampled_from(["Lin", "Wu-Palmer"]))
def test_a_similarity_of_1_everywhere_gives_the_constant_weight_to_the_last_bit(case: Case, weight: Weight) -> None:
    ring = list(zip(case.nodes, [*case.nodes[1:], case.nodes[0]], strict=True))  # one cycle: all are similar
    case = dataclasses.replace(case, edges=[pair for pair in ring if pair[0] != pair[1]])
    with case.graph as graph:
        by_weight = []
        for each in (weight, "constant"):
            nearness = nearness_of(case, each)
            result = evaluate(
                Dataset(case.queries, case.corpus), case.ranking, graph, nearness=nearness, missing="zero"
            )
            pairs = list(of_pairs(case, graph, nearness).values())
            by_weight.append((result.values.tobytes(), np.array(pairs).tobytes()))
    assert by_weight[0] == by_weight[1]


@small
@given(cases(), weights)
def test_values_are_bounded_and_grow_with_n_and_lambda(case: Case, chosen: tuple[Weight, IntrinsicContent]) -> None:
    nearness = nearness_of(case, *chosen)
    with case.graph as graph:
        here = of_pairs(case, graph, nearness)
        farther = of_pairs(case, graph, dataclasses.replace(nearness, n=case.n + 1))
        heavier = of_pairs(case, graph, dataclasses.replace(nearness, lam=1.0))
        constant = of_pairs(case, graph, nearness_of(case, "constant"))
        either_way = of_pairs(case, graph, dataclasses.replace(nearness, direction="any"))
        turned = {
            (query, image): nn_iou(B, A, graph, case.n, case.lam, unknown="isolated", weight=chosen[0], ic=chosen[1])
            for query, A in case.queries.items()
            for image, B in case.held.items()
        }
    for pair, value in here.items():
        assert 0.0 <= value <= constant[pair] + 1e-15 <= 1.0 + 1e-15
        assert value <= min(farther[pair], heavier[pair]) + 1e-15
    assert either_way == turned


@settings(small, max_examples=examples(20))
@given(cases(), weights)
def test_explanations_and_their_grids_are_the_values_of_the_pair(
    case: Case, chosen: tuple[Weight, IntrinsicContent]
) -> None:
    nearness = nearness_of(case, *chosen)
    query, A = next(iter(case.queries.items()))
    others = [image for image in case.held if image != query]
    with case.graph as graph:
        pairs = of_pairs(case, graph, nearness)
        for image, B in case.held.items():
            explanation = explain_pair(A, B, graph, nearness, look=1)
            assert explanation.nn_iou == pairs[query, image]
            near = [concept for concept in explanation.concepts if concept.match == "near"]
            assert all(concept.earned == case.lam * (concept.similarity or 0.0) for concept in near)
            settings_of = sensitivity_of_pair(A, B, graph, Grid([0, case.n], [case.lam]), nearness=nearness).settings
            assert settings_of[-1].nn_iou == pairs[query, image]
        if len(others) >= 2:
            data = Dataset(case.queries, case.corpus)
            found = explain_query(data, query, graph, above=others[0], below=others[1], nearness=nearness)
            assert (found.nn_iou_above.gain, found.nn_iou_below.gain) == (
                pairs[query, others[0]], pairs[query, others[1]],
            )  # fmt: skip
            grid = sensitivity_of_query(data, query, graph, above=others[0], below=others[1],
                                        grid=Grid([case.n], [case.lam]), nearness=nearness)  # fmt: skip
            assert grid.settings[0].gain_above == pairs[query, others[0]]
            ranking = top_k(data, graph, 20, nearness=nearness)
            assert list(ranking[query]) == sorted(others, key=lambda image: (-pairs[query, image], image))


def test_the_most_similar_witness_earns_and_not_the_nearest() -> None:
    # x is one hop below its parent r, the root; s and t are its siblings' children, three hops from x
    edges = [("C0000010", "C0000001"), ("C0000011", "C0000010"), ("C0000012", "C0000010")]
    graph = SnapshotGraph.of(edges)
    overlap = concept_overlap(["C0000011"], ["C0000001", "C0000012"], graph, 2, weight="Lin")
    child = next(r for r in overlap.related if r.side == "A")
    similarities = graph.hierarchy.similarities(
        [("C0000011", "C0000001"), ("C0000011", "C0000012")], SimilarityOptions("Lin", "Sanchez")
    ).to_list()
    assert [w.cui for w in child.witnesses] == ["C0000012", "C0000001"]
    assert child.similarity == similarities[1]
    assert similarities[0] == 0.0  # the root has no information
    grandparent = concept_overlap(["C0000011"], ["C0000010", "C0000012"], graph, 2, weight="Wu-Palmer")
    first = next(r for r in grandparent.related if r.side == "A").witnesses[0]
    assert (first.cui, first.hops) == ("C0000010", 1)
    explanation = explain_pair(["C0000011"], ["C0000001", "C0000012"], graph, Nearness(2, weight="Lin"))
    shown = next(concept for concept in explanation.concepts if concept.side == "A")
    assert [step.cui for step in shown.path] == ["C0000011", "C0000010", "C0000012"]
    assert shown.nearest == shown.partners[:1]


def test_lambda_is_1_for_a_similarity_and_half_for_other_weights() -> None:
    assert {weight: Nearness(weight=weight).lam for weight in get_args(Weight)} == {
        "constant": 0.5, "hops": 0.5, "Lin": 1.0, "Wu-Palmer": 1.0,
    }  # fmt: skip
    graph = SnapshotGraph.of(CHAIN)
    images, ranking = {"a": "C0000001", "b": "C0000002"}, {"a": ["b"], "b": ["a"]}

    def best(measure: str, **options: Any) -> float:
        found = evaluate(images, ranking, graph, measures=measure, nearness=Nearness(**options))
        return float(next(iter(found.best_gains.values()))[0])

    whole = nn_iou("C0000001", "C0000002", graph, weight="Lin")
    assert best("nn-CUI@1(weight=Lin)") == best("nn-CUI@1", weight="Lin") == whole
    assert best("nn-CUI@1(weight=Lin)", lam=0.5) == best("nn-CUI@1(weight=Lin, λ=0.5)") == 0.5 * whole
    assert best("nn-CUI@1(weight=constant)", weight="Lin") == 0.5
    account = "\n".join(evaluate(images, ranking, graph, nearness=Nearness(weight="Lin")).account())
    assert "λ = 1.0, weight λ · Lin (IC Sanchez)" in account


@pytest.mark.slow
def test_gains_on_a_real_collection_are_the_literal_ones() -> None:
    n = 2
    with SnapshotGraph.of(isa_edges("rrf_open"), identifiers="cui") as graph:
        corpus = dict(list(ImageConcepts.read(shared("rocov2/test_concepts.csv.gz")).items())[::10])
        queries = dict(list(corpus.items())[::50])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a third of the occurrences is unknown
            images = ImageCollection.of(Dataset(queries, corpus), graph, "isolated")
        nearness = Nearness(n, unknown="isolated", weight="Lin")
        found, best = gains_of_collection(images, graph, nearness, "2 GB")
        held = sorted({cui for concepts in corpus.values() for cui in concepts} - images.resolved.isolated)
        near = {(cui, other.cui): other.hops for cui in held for other in graph.neighbours([cui], hops=n)[0]}
        pairs = list(near)
        similarity = dict(zip(pairs, graph.hierarchy.similarities(pairs, SimilarityOptions("Lin")), strict=True))

    def dist(a: str, b: str) -> int | None:
        return 0 if a == b else near.get((a, b))

    for query, A in queries.items():
        expected = {
            image: nn_iou_by_similarity(frozenset(A), frozenset(B), dist, lambda a, b: similarity[a, b] or 0.0, n, 1.0)
            for image, B in corpus.items()
        }
        assert {image: found[query, image] for image in corpus} == pytest.approx(expected, abs=1e-12)
        ranked = [expected[image] for _, image in best[query]]
        assert ranked == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-12)


def test_results_do_not_depend_on_threads() -> None:
    images = {f"i{number}": f"C000000{1 + number % 5};C000000{1 + number % 3}" for number in range(400)}
    graph = SnapshotGraph.of(CHAIN)
    ranking = {query: list(images)[:50] for query in images}
    one, several = (
        evaluate(
            images, ranking, graph, nearness=Nearness(3, 0.3, weight="Lin"), resources=Resources(threads=threads)
        ).values.tobytes()
        for threads in (1, 4)
    )
    assert one == several


def test_several_weights_share_a_checkpoint_and_another_similarity_is_refused(tmp_path: Any) -> None:
    images, ranking = {"a": "C0000001", "b": "C0000003"}, {"a": ["b"], "b": ["a"]}
    graph = SnapshotGraph.of(CHAIN)
    resources = Resources(checkpoint=tmp_path / "kept", keep_checkpoint=True)
    measures = ["nn-CUI@1", "nn-CUI@1(weight=Wu-Palmer)", "nn-CUI@1(weight=constant)", "nn-CUI@1(weight=Lin, ic=Seco)"]
    nearness = Nearness(2, weight="Lin")
    first, again = (
        evaluate(images, ranking, graph, measures=measures, nearness=nearness, resources=resources) for _ in range(2)
    )
    assert {name: gains.tolist() for name, gains in first.best_gains.items()} == {
        name: gains.tolist() for name, gains in again.best_gains.items()
    }
    assert len({gains[0] for gains in first.best_gains.values()}) == 4
    with pytest.raises(InputError, match="ic"):
        evaluate(images, ranking, graph, measures=measures, nearness=dataclasses.replace(nearness, ic="Seco"),
                 resources=resources)  # fmt: skip


def test_score_cards_of_two_weights_are_not_compared() -> None:
    images, ranking = {"a": "C0000001", "b": "C0000003", "c": "C0000005"}, {"a": ["b"], "b": ["a"], "c": ["a"]}
    graph = SnapshotGraph.of(CHAIN)
    cards = [
        ScoreCard.of(evaluate(images, ranking, graph, nearness=nearness), system=name)
        for name, nearness in (
            ("one", Nearness(weight="Lin")), ("two", Nearness(weight="Lin", ic="Seco")),
        )
    ]  # fmt: skip
    with pytest.raises(CuihopError, match="ic"):
        compare(cards)


def test_wrong_values_are_refused() -> None:
    graph = SnapshotGraph.of(CHAIN)
    with pytest.raises(InputError, match="Sanchez or Seco"):
        Nearness(weight="Lin", ic="corpus")  # type: ignore[arg-type]
    for wrong in ({"weight": "Wu-Palmer"}, {}):
        with pytest.raises(InputError, match="the weight Lin"):
            nn_iou("C0000001", "C0000002", graph, ic="Seco", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the weight Lin"):
        evaluate({"a": "C0000001"}, {"a": []}, graph, measures="nn-CUI@1(ic=Seco)")
    assert credit_of_near([], [], 0.5, "Lin") == 0.0


def test_too_little_memory_for_the_similarities_is_an_error() -> None:
    cuis = [f"C{number:07}" for number in range(1, 401)]
    graph = SnapshotGraph.of([(cui, cuis[0]) for cui in cuis[1:]])
    images = ImageCollection.of({cui: cui for cui in cuis}, graph, "error")
    with pytest.raises(LimitExceeded, match="similarities of near concepts"):
        images.index(graph, Nearness(2, weight="Lin"), MemoryBudget.of("4 MB"))
