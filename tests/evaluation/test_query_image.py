"""A query that counts in its own ranking is what a query image of another name would be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop import ImageConcepts, Labels, Nearness, evaluate, read_ranking
from cuihop.collection.dataset import Dataset
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.collect import RankingLike
from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking, scored_ranking
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance import random_ranking, top_k
from cuihop.relevance.baselines import Relevance
from example_graph import example_graph
from examples import examples
from program_run import Run, program

__all__ = ["program"]

MEASURES = ["nn-CUI@1", "nn-CUI@3(n=2, λ=0.2)", "CUI@4", "P@3(organ)", "R@2(organ)", "bpref(organ)"]
MEASURES += ["nDCG@3(organ+view)", "AP(organ, view)"]


def renamed(images: Mapping[str, Any]) -> dict[str, Any]:
    """The same images under names that the corpus does not have."""
    return {f"query {name}": value for name, value in images.items()}


@settings(max_examples=examples(40))
@given(cases(), st.data(), st.sampled_from(["equal", "shared"]))
def test_values_are_those_of_the_same_images_under_other_names(case: Case, data: st.DataObject, agreement: Any) -> None:
    images = ImageConcepts.of(case.held)
    nearness = Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated")
    lists = {query: data.draw(st.permutations(list(images))) for query in images}
    values = st.sampled_from(["", "x", "y", "x;y"])
    labels = {name: {image: data.draw(values) for image in images} for name in ("organ", "view")}
    both = {name: {**column, **renamed(column)} for name, column in labels.items()}
    here = evaluate(
        Dataset(images, labels=Labels.of(labels).with_agreement(agreement)), lists, case.graph, measures=MEASURES,
        nearness=nearness, query_image="include",
    )  # fmt: skip
    there = evaluate(
        Dataset(renamed(images), images, labels=Labels.of(both).with_agreement(agreement)), renamed(lists), case.graph,
        measures=MEASURES, nearness=nearness,
    )  # fmt: skip
    assert np.array_equal(here.values, there.values, equal_nan=True)
    for gain, best in here.best_gains.items():
        assert best.tolist() == there.best_gains[gain].tolist()
    assert here.counts.short == there.counts.short == 0
    assert here.counts.self_retrieved == len(images)


@settings(max_examples=examples(20))
@given(cases(), st.integers(1, 5))
def test_baselines_rank_the_query_too(case: Case, k: int) -> None:
    images = ImageConcepts.of(case.held)
    nearness = Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated")
    for by in get_args(Relevance):
        here = top_k(images, case.graph, k, by=by, nearness=nearness, query_image="include")
        there = top_k(Dataset(renamed(images), images), case.graph, k, by=by, nearness=nearness)
        assert renamed(dict(here)) == dict(there)
    drawn = random_ranking(images, len(images), query_image="include")
    assert all(set(drawn[query]) == set(images) for query in images)


def test_every_form_of_a_ranking_keeps_the_query(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    images = dict.fromkeys(names, "C0042449")
    vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    expected = {"a": ("a", "b"), "b": ("b", "a"), "c": ("c", "b")}
    codes = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]], dtype=np.uint8)
    rows = np.array([[0, 1], [1, 0], [2, 1]])
    scores = {query: {image: 2.0 - place for place, image in enumerate(found)} for query, found in expected.items()}
    run = tmp_path / "x.run"
    run.write_text("".join(f"{q} Q0 {i} 1 {s} x\n" for q, of in scores.items() for i, s in of.items()))
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "vectors.npy", vectors)
    np.save(tmp_path / "codes.npy", codes)
    include: Any = {"query_image": "include"}
    in_blocks = read_ranking_in_blocks(tmp_path / "vectors.npy", names, depth=2, **include)
    assert not isinstance(in_blocks, Ranking)
    found: list[Ranking] = [
        Ranking.of(expected, names, **include),
        embedding_ranking(images, vectors, 2, **include),
        neighbour_ranking(images, rows, **include),
        scored_ranking(scores, names, **include),
        read_ranking(run, names, **include),
        read_ranking(tmp_path / "rows.npy", names, depth=2, **include),
        read_ranking(tmp_path / "codes.npy", names, depth=2, similarity="hamming", **include),
        in_blocks.whole(),
    ]
    for ranking in found:
        assert dict(ranking) == expected, ranking
        assert ranking.self_retrieved.all()
    each_form: list[RankingLike] = [*found, in_blocks]
    values = [evaluate(images, each, measures="CUI@2", **include).values.tolist() for each in each_form]
    assert values == [values[0]] * len(values)


def test_a_ranking_made_otherwise_is_refused_and_so_are_cards() -> None:
    images = {"a": "C0042449", "b": "C0042449", "c": "C0018670"}
    lists = {query: list(images) for query in images}
    without = Ranking.of(lists, tuple(images))
    with pytest.raises(InputError, match="made with 'exclude'; expected 'include'"):
        evaluate(images, without, measures="CUI@1", query_image="include")
    with pytest.raises(InputError, match="made with 'include'; expected 'exclude'"):
        evaluate(images, Ranking.of(lists, tuple(images), query_image="include"), measures="CUI@1")
    with pytest.raises(InputError, match="query_image"):
        evaluate(images, lists, measures="CUI@1", query_image="keep")  # type: ignore[arg-type]
    ways: tuple[QueryImage, ...] = ("exclude", "include")
    cards = [ScoreCard.of(evaluate(images, lists, measures="CUI@1", query_image=way), way) for way in ways]
    with pytest.raises(InputError, match="query_image: 'exclude' and 'include'"):
        compare(cards, resamples=9)


def test_by_hand() -> None:
    images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    ranking = {"vein": ["head", "vessel", "vein"], "vessel": ["vessel"], "head": ["vein"]}
    found = evaluate(images, ranking, example_graph(), measures="nn-CUI@2", query_image="include")
    ideal = 1 + 0.5 / np.log2(3)  # itself, then the near one
    assert found.values[:, 0].tolist() == pytest.approx([0.5 / np.log2(3) / ideal, 1 / ideal, 0.0])
    text = "\n".join(found.account())
    assert "3 queries, each kept in its own results" in text
    assert "2 queries among the images that they retrieved; those hits count" in text
    assert found.parameters["query_image"] == "include"


def test_judgements_of_documents_decide_either_way_and_judgements_of_a_query_for_itself_count_with_include() -> None:
    qrels = {"a": {"a": 1, "b": 0}, "b": {"a": 1}}
    lists = {"a": ["b", "a"], "b": ["a"]}
    alone = [
        evaluate(Dataset(qrels=qrels), lists, measures="AP", query_image=way).means for way in ("exclude", "include")
    ]
    assert alone == [{"AP": 0.75}] * 2
    images = {"a": "C0042449", "b": "C0042449"}
    beside = evaluate(Dataset(images, qrels=qrels), lists, measures="AP", query_image="include")
    assert beside.means == {"AP": 0.75}


def test_a_study_and_its_ablation_count_the_query(
    program: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example_graph().save("graph.cuihop")
    draw = np.random.default_rng(3)
    concepts = ["C0042449", "C0005847", "C0018670", "C0003842"]
    names = [f"i{place:02}" for place in range(40)]
    sets = [";".join(draw.choice(concepts, 2, replace=False)) for _ in names]
    Path("images.csv").write_text("ID,CUIs\n" + "".join(f"{n},{s}\n" for n, s in zip(names, sets, strict=True)))
    Path("labels.csv").write_text("ID,organ\n" + "".join(f"{n},{draw.choice(['x', 'y'])}\n" for n in names))
    options = ["--labels", "labels.csv", "--graph", "graph.cuihop", "--query-image", "include", "--json"]
    done = program("study", "images.csv", *options, "--output", "out", "--no-plots", "--only", "tables", "--only",
                   "ablation")  # fmt: skip
    assert done.code == 0, done.err
    numbers = {(r["part"], r["ranking"], r["measure"], r["n"], r["lambda"], r["subset"]): r["value"]
               for r in json.loads(done.out)["numbers"]}  # fmt: skip
    assert numbers["tables", "nn-IoU", "nn-CUI@5", 1, 0.5, "all"] == 1.0
    images = ImageConcepts.read("images.csv")
    relevances: tuple[Relevance, ...] = ("iou", "nn-iou")
    for by in relevances:
        ranking = top_k(images, example_graph(), 30, by=by, query_image="include")
        data = Dataset(images, labels=Labels.read("labels.csv"))
        found = evaluate(data, ranking, measures="P@30(organ)", query_image="include")
        name, n, lam = ("IoU", None, None) if by == "iou" else ("nn-IoU", 1, 0.5)
        assert numbers["tables", name, "P@30(organ)", n, lam, "all"] == found.mean("P@30(organ)")
    assert "all of them, the query too, are its corpus" in Path("out/report.md").read_text()
