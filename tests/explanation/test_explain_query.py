"""Explanations of a query: against hand-worked values, `evaluate`, and Algorithm 2 line by line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collections_made import Case, cases, networkx_distance
from cuihop import ConceptGraph, ImageConcepts, Ranking, evaluate, explain_query, read_ranking
from cuihop.collection.dataset import Dataset
from cuihop.errors import ConceptNotFound, InputError
from cuihop.explanation.query import Rank, Standing
from cuihop.measures.nearness import Nearness
from example_graph import UNKNOWN, example_graph
from literal_algorithms import ndcg_of_each_query, nn_iou

VEINS, VESSELS, ARTERIES, STEM, HEAD = "C0042449", "C0005847", "C0003842", "C0006121", "C0018670"
IMAGES = {
    "query": f"{VEINS};{HEAD}",
    "exact": f"{VEINS};{STEM}",  # IoU 1/3, nothing near
    "near": f"{VESSELS};{HEAD}",  # IoU 1/3, and veins and vessels are near: (1 + 0.5 · 2) / 3
    "far": f"{STEM}",
    "other": f"{ARTERIES};{HEAD}",  # IoU 1/3, arteries are two hops from veins
}
RUN = {"query": ["far", "exact", "query", "near"]}


def test_gains_ranks_and_differences_by_hand(graph: ConceptGraph) -> None:
    explained = explain_query(IMAGES, "query", graph, above="near", below="exact")
    assert explained.nn_iou_above == Standing(2 / 3, 1, 0)
    assert explained.nn_iou_below == Standing(1 / 3, 2, 1)  # exact before other, by name
    assert explained.iou_above == Standing(1 / 3, 2, 2)
    assert explained.iou_below == Standing(1 / 3, 1, 2)
    assert (explained.corpus, explained.ranked) == (4, None)
    assert explained.difference == 2 / 3 - 1 / 3
    found = {c.cui: c for c in explained.concepts}
    assert [c.cui for c in explained.concepts] == [HEAD, VESSELS, STEM, VEINS]
    assert (found[HEAD].earned_above, found[HEAD].earned_below) == (1.0, 0.0)
    assert (found[VEINS].earned_above, found[VEINS].earned_below) == (0.5, 1.0)
    assert (found[VESSELS].earned_above, found[VESSELS].earned_below) == (0.5, None)
    assert (found[VESSELS].in_query, found[VESSELS].in_above, found[VESSELS].in_below) == (False, True, False)
    assert (found[STEM].name, found[STEM].difference) == ("Brain stem", 0.0)


def test_images_that_are_not_named_are_the_best_of_the_ideal_and_the_first_of_the_ranking(graph: ConceptGraph) -> None:
    explained = explain_query(IMAGES, "query", graph, ranking=RUN)
    assert (explained.above, explained.below) == ("near", "far")
    explained = explain_query(IMAGES, "query", graph)  # without a ranking, the next that gains less
    assert (explained.above, explained.below) == ("near", "exact")
    explained = explain_query(IMAGES, "query", graph, below="near", ranking=RUN)
    assert (explained.above, explained.below) == ("exact", "near")
    explained = explain_query(IMAGES, "query", graph, above="far", ranking=RUN)
    assert (explained.above, explained.below) == ("far", "exact")
    with pytest.raises(InputError, match=r"nothing to compare.*expected two other images in the corpus"):
        explain_query({"query": VEINS, "other": VEINS}, "query", graph)


def test_ranks_and_cost_in_a_given_ranking(graph: ConceptGraph) -> None:
    explained = explain_query(IMAGES, "query", graph, above="near", below="exact", ranking=RUN, k=3)
    ranked = explained.ranked
    assert ranked is not None
    assert (ranked.rank_above, ranked.rank_below, ranked.length) == (3, 2, 3)  # the query itself is left out
    assert ranked.dcg == pytest.approx(0 + (1 / 3) / math.log2(3) + (2 / 3) / 2)
    assert ranked.idcg == pytest.approx(2 / 3 + (1 / 3) / math.log2(3) + (1 / 3) / 2)
    assert ranked.cost == pytest.approx((2 / 3 - 1 / 3) * (1 / math.log2(3) - 1 / 2))
    assert ranked.cost_ndcg == pytest.approx(ranked.cost / ranked.idcg)
    assert ranked.ranks[0] == Rank(1, 1.0, "far", 0.0, "near", 2 / 3)
    first_two = explain_query(IMAGES, "query", graph, above="near", below="exact", ranking=RUN, k=2).ranked
    assert first_two is not None
    assert first_two.cost == pytest.approx((1 / 3) / math.log2(3))  # beyond K nothing counts
    good = explain_query(IMAGES, "query", graph, above="near", below="far", ranking={"query": ["near"]}, k=50).ranked
    assert good is not None
    assert (good.cost, good.rank_below, good.k, len(good.ranks)) == (0.0, None, 50, 4)
    assert good.ranks[-1].image is None


def test_images_in_the_opposite_order_have_a_negative_difference() -> None:
    explained = explain_query(IMAGES, "query", example_graph(), above="far", below="near", ranking=RUN)
    assert explained.difference == -2 / 3
    assert explained.nn_iou_above.rank == 4
    assert explained.ranked is not None
    assert explained.ranked.cost == pytest.approx(2 / 3 * (1 - 1 / 2))


def test_the_json_is_stable() -> None:
    explained = explain_query(IMAGES, "query", example_graph(), above="near", below="exact", ranking=RUN, k=1)
    read = json.loads(explained.to_json())
    assert set(read) == {
        "release", "query", "n", "lambda", "weight", "ic", "direction", "corpus", "difference", "above", "below",
        "concepts", "ranking", "inputs",
    }  # fmt: skip
    assert set(read["above"]) == {"image", "nn_iou", "iou", "explanation"}
    assert read["above"]["nn_iou"] == {"gain": 2 / 3, "rank": 1, "tied": 0}
    assert read["above"]["explanation"]["titles"] == {"A": "query", "B": "near"}
    assert read["concepts"][1] == {
        "cui": VESSELS, "name": "Blood vessels", "in_query": False, "in_above": True, "in_below": False,
        "earned_above": 0.5, "earned_below": None, "share_above": 0.5 / 3, "share_below": 0.0, "difference": 0.5 / 3,
    }  # fmt: skip
    assert set(read["ranking"]) == {
        "source", "length", "rank_above", "rank_below", "k", "dcg", "idcg", "ndcg", "cost", "cost_ndcg", "ranks",
    }  # fmt: skip
    assert read["ranking"]["ranks"] == [
        {"rank": 1, "weight": 1.0, "image": "far", "gain": 0.0, "ideal_image": "near", "ideal_gain": 2 / 3}
    ]
    assert explain_query(IMAGES, "query", example_graph(), above="near", below="far").as_dict()["ranking"] is None


@pytest.mark.parametrize(
    ("changed", "column", "problem"),
    [
        ({"query": "nobody"}, "query", "no such image"),
        ({"above": "nobody"}, "above", "no such image"),
        ({"below": "nobody"}, "below", "no such image"),
        ({"above": "query"}, "above", "its own ranking"),
        ({"below": "near"}, "below", "one image twice"),
        ({"k": 0}, "k", "not a cut-off"),
        ({"ranking": {"far": ["near"]}}, None, "no ranking for the query"),
        ({"ranking": {"query": ["nobody"]}}, "rank 1 of query 'query'", "not an image of the corpus"),
        ({"ranking": [["near"]]}, None, "not a ranking"),
        ({"ranking": Ranking.of({}, ["query"], ["near"])}, None, "of other images"),
    ],
)
def test_a_wrong_argument_is_refused(changed: dict[str, object], column: str | None, problem: str) -> None:
    arguments = {"query": "query", "above": "near", "below": "far", **changed}
    with pytest.raises(InputError, match=problem) as refused:
        explain_query(IMAGES, graph=example_graph(), **arguments)  # type: ignore[arg-type]
    assert refused.value.column == column


def test_unknown_concepts_of_any_image_are_refused_as_by_evaluate() -> None:
    images = {**IMAGES, "strange": UNKNOWN}
    with pytest.raises(ConceptNotFound, match=UNKNOWN):
        explain_query(images, "query", example_graph(), above="near", below="far")
    explained = explain_query(
        images, "query", example_graph(), above="near", below="strange", nearness=Nearness(unknown="isolated")
    )
    assert explained.nn_iou_below.gain == 0.0


def test_a_ranking_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("query Q0 far 1 9 x\nquery Q0 near 2 8 x\n")
    images = ImageConcepts.of(IMAGES)
    ranking = read_ranking(path, tuple(images))
    explained = explain_query(images, "query", example_graph(), above="near", below="far", ranking=ranking)
    assert explained.ranked is not None
    assert (explained.ranked.rank_above, explained.ranked.source) == (2, str(path))


@pytest.mark.slow
@given(cases(), st.data())
def test_gains_ranks_and_ndcg_equal_those_of_evaluate(case: Case, data: st.DataObject) -> None:
    query = data.draw(st.sampled_from(sorted(case.queries)))
    others = sorted(set(case.held) - {query})
    assume(len(others) > 1 and case.ranking[query])
    assume(case.corpus is None or not case.queries[query] or case.queries[query] & set(case.nodes))  # else refused
    above, below = data.draw(st.lists(st.sampled_from(others), min_size=2, max_size=2, unique=True))
    k = data.draw(st.integers(1, 12))
    explained = explain_query(
        Dataset(case.queries, case.corpus),
        query,
        case.graph,
        above=above,
        below=below,
        ranking=case.ranking,
        k=k,
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    )
    assert explained.ranked is not None
    evaluated = evaluate(
        Dataset(case.queries, case.corpus),
        case.ranking,
        case.graph,
        measures=f"nn-CUI@{k}",
        missing="zero",
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    )
    assert explained.ranked.ndcg == evaluated.values[evaluated.queries.index(query), 0]
    distance = case.distance()
    literal = {name: nn_iou(case.queries[query], case.held[name], distance, case.n, case.lam) for name in others}
    order = sorted(others, key=lambda name: (-literal[name], name))
    for image, standing, pair in (
        (above, explained.nn_iou_above, explained.pair_above), (below, explained.nn_iou_below, explained.pair_below),
    ):  # fmt: skip
        assert standing.gain == literal[image] == pair.nn_iou
        assert standing.rank == order.index(image) + 1
        assert standing.tied == sum(gain == literal[image] for gain in literal.values()) - 1
    assert [r.ideal_image for r in explained.ranked.ranks if r.ideal_image] == order[:k]
    assert math.fsum(c.difference for c in explained.concepts) == pytest.approx(explained.difference, abs=1e-12)


@pytest.mark.slow
@given(cases(), st.data())
def test_the_cost_is_the_gain_from_exchanging_the_two(case: Case, data: st.DataObject) -> None:
    query = data.draw(st.sampled_from(sorted(case.queries)))
    ranking = [image for image in case.ranking[query] if image != query]
    assume(len(ranking) > 1)
    above, below = data.draw(st.lists(st.sampled_from(ranking), min_size=2, max_size=2, unique=True))
    k = data.draw(st.integers(1, 10))
    explained = explain_query(
        Dataset(case.queries, case.corpus),
        query,
        case.graph,
        above=above,
        below=below,
        ranking=case.ranking,
        k=k,
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    ).ranked
    assert explained is not None
    exchanged = [{above: below, below: above}.get(image, image) for image in ranking]
    distance = networkx_distance(case.nodes, case.edges, case.direction)

    def ndcg(images: list[str]) -> float:
        found = ndcg_of_each_query(
            {query: case.queries[query]}, case.held, {query: images}, k,
            lambda A, B: nn_iou(A, B, distance, case.n, case.lam),
        )  # fmt: skip
        return found[query] or 0.0

    assert explained.cost_ndcg == pytest.approx(max(0.0, ndcg(exchanged) - ndcg(ranking)), abs=1e-12)
