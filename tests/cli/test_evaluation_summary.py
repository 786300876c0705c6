"""Results of an evaluation: tables, counts of images and rankings, refusals."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cuihop import SnapshotGraph
from cuihop.adapters import pytrec_eval
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui, OutputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import Evaluation
from cuihop.measures import Measure
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.baselines import random_ranking, top_k
from example_graph import UNKNOWN, example_graph
from flat_options import evaluate_flat

VEINS, VESSELS, ARTERIES, HEAD, BRAIN = "C0042449", "C0005847", "C0003842", "C0018670", "C0006104"
IMAGES = {"a": f"{VEINS};{HEAD}", "b": f"{VESSELS};{HEAD}", "c": ARTERIES, "d": ""}
RANKING = {"a": ["b", "c", "d"], "b": ["c", "a"], "c": ["b"], "d": ["a", "b", "c"]}


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def result(graph: SnapshotGraph) -> Evaluation:
    return evaluate(IMAGES, RANKING, graph, measures=["nn-CUI@1,3", "CUI@3"])


# The table


def test_one_row_for_each_query(result: Evaluation) -> None:
    frame = result.to_pandas()
    assert list(frame.columns) == [
        "query", "concepts", "unknown_concepts", "retrieved", "best nn-IoU", "best IoU",
        "nn-CUI@1", "nn-CUI@3", "CUI@3",
    ]  # fmt: skip
    assert frame["query"].tolist() == ["a", "b", "c", "d"]
    assert frame["concepts"].tolist() == [2, 2, 1, 0]
    assert frame["retrieved"].tolist() == [3, 2, 1, 3]
    assert frame["best nn-IoU"].tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0.0])
    assert frame["best IoU"].tolist() == pytest.approx([1 / 3, 1 / 3, 0.0, 0.0])
    assert frame["nn-CUI@1"].tolist() == pytest.approx([1.0, 0.5, 1.0, 0.0])


def test_a_file_gives_the_same_numbers_to_the_last_bit(result: Evaluation, tmp_path: Path) -> None:
    result.to_csv(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().count(b"\r") == 0
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    for place, measure in enumerate(result.measures):
        assert [float(row[str(measure)]) for row in rows] == result.values[:, place].tolist()
    frame = result.to_pandas()
    assert list(rows[0]) == list(frame.columns)
    assert [row["query"] for row in rows] == frame["query"].tolist()
    assert [int(row["retrieved"]) for row in rows] == frame["retrieved"].tolist()


def test_a_file_that_cannot_be_written_leaves_nothing(result: Evaluation, tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OutputError):
        result.to_csv(target)
    assert list(tmp_path.iterdir()) == [target]


def test_skipped_queries_are_empty_fields_and_leave_the_mean(graph: SnapshotGraph, tmp_path: Path) -> None:
    skipped = evaluate(IMAGES, RANKING, graph, measures=["nn-CUI@1", "CUI@1"], empty_ideal="skip")
    skipped.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["nn-CUI@1"] == "" for row in rows] == [False, False, False, True]
    assert [row["CUI@1"] == "" for row in rows] == [False, False, True, True]
    assert skipped.means == pytest.approx({"nn-CUI@1": (1.0 + 0.5 + 1.0) / 3, "CUI@1": 0.5})
    assert json.loads(skipped.to_json())["counts"]["empty_ideal"] == {"nn-IoU": ["d"], "IoU": ["c", "d"]}


def test_a_mean_over_nothing_is_none(graph: SnapshotGraph) -> None:
    alone = evaluate({"a": VEINS}, {}, graph, measures="nn-CUI@5", missing="zero", empty_ideal="skip")
    assert alone.means == {"nn-CUI@5": None}
    assert math.isnan(alone.mean(Measure("nn-CUI", 5)))
    assert json.loads(alone.to_json())["means"] == {"nn-CUI@5": None}


def test_a_measure_that_was_not_asked_for(result: Evaluation) -> None:
    with pytest.raises(KeyError, match="nn-CUI@7"):
        result.mean("nn-CUI@7")


# What went in


def test_images_without_concepts_are_counted(graph: SnapshotGraph) -> None:
    two = evaluate(Dataset({"q": "", "r": VEINS}, {"a": VEINS, "b": "", "c": ""}), {"q": ["a"], "r": ["a"]}, graph)
    assert (two.counts.empty_queries, two.counts.empty_corpus) == (1, 2)
    assert (two.counts.queries, two.counts.corpus, two.counts.queries_in_corpus) == (2, 3, 0)


def test_identifiers_are_counted_by_kind(graph: SnapshotGraph) -> None:
    images = {
        "a": [VEINS, UNKNOWN, "C9000902"],
        "b": [UNKNOWN, "C9000901"],
        "c": ["C9000901", VEINS, "C9000906"],
    }
    ranking = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}
    counts = evaluate(images, ranking, graph, nearness=Nearness(unknown="isolated")).counts
    assert (counts.identifiers, counts.occurrences) == (5, 8)
    assert (counts.unknown.identifiers, counts.unknown.occurrences) == (("C9000906", UNKNOWN), 3)
    assert (counts.retired.identifiers, counts.retired.occurrences) == (("C9000902",), 1)
    assert (counts.merged.identifiers, counts.merged.occurrences) == (("C9000901",), 2)
    assert counts.successors == {"C9000901": VEINS}
    assert counts.fused == 1  # image c names veins twice


def test_merged_concepts_match_their_successors(graph: SnapshotGraph) -> None:
    merged = evaluate({"a": "C9000901", "b": VEINS}, {"a": ["b"], "b": ["a"]}, graph, measures=["nn-CUI@1", "CUI@1"])
    assert merged.best_gains["IoU"].tolist() == [1.0, 1.0]
    assert merged.means == {"nn-CUI@1": 1.0, "CUI@1": 1.0}


def test_isolated_concepts_match_only_themselves(graph: SnapshotGraph) -> None:
    images = {"a": UNKNOWN, "b": UNKNOWN, "c": VEINS}
    ranking = {"a": ["c", "b"], "b": ["a", "c"], "c": ["a", "b"]}
    found = evaluate(images, ranking, graph, measures="nn-CUI@1", nearness=Nearness(n=9, lam=1.0, unknown="isolated"))
    assert found.best_gains["nn-IoU"].tolist() == [1.0, 1.0, 0.0]
    assert found.unknown_concepts.tolist() == [1, 1, 0]
    assert found.values[:, 0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("concept", "error"), [(UNKNOWN, ConceptNotFound), ("C9000902", ConceptRetired), ("not-a-cui", InvalidCui)]
)
def test_concepts_that_cannot_be_used_are_errors_by_default(
    graph: SnapshotGraph, concept: str, error: type[Exception]
) -> None:
    images = {"a": VEINS, "b": concept}
    with pytest.raises(error, match=concept):
        evaluate(images, {"a": ["b"], "b": ["a"]}, graph)
    with pytest.raises(error, match=concept):
        top_k(images, graph, 1)


def test_a_query_in_its_own_ranking_is_left_out_and_counted(graph: SnapshotGraph) -> None:
    itself = {query: [query, *images] for query, images in RANKING.items()}
    last = {query: [*images, query] for query, images in RANKING.items()}
    plain = evaluate(IMAGES, RANKING, graph, measures=["nn-CUI@1,3"])
    for ranking in (itself, last):
        found = evaluate(IMAGES, ranking, graph, measures=["nn-CUI@1,3"])
        assert found.values.tolist() == plain.values.tolist()
        assert found.counts.self_retrieved == 4
    assert plain.counts.self_retrieved == 0


def test_a_query_is_left_out_by_its_name_not_by_its_concepts(graph: SnapshotGraph) -> None:
    # Image a of the corpus has other concepts than query a; twins have the same, and stay.
    corpus = {"a": VESSELS, "twin": VEINS}
    found = evaluate(Dataset({"a": VEINS}, corpus), {"a": ["a", "twin"]}, graph, measures="nn-CUI@1")
    assert found.best_gains["nn-IoU"].tolist() == [1.0]
    assert found.means == {"nn-CUI@1": 1.0}
    other = evaluate(Dataset({"a": VEINS}, {"a": VEINS, "twin": VESSELS}), {"a": ["twin"]}, graph, measures="nn-CUI@1")
    assert other.best_gains["nn-IoU"].tolist() == [0.5]


def test_queries_without_a_ranking(graph: SnapshotGraph) -> None:
    partial = {"a": ["b"]}
    with pytest.raises(InputError, match=r"without a ranking.*3: b, c, d") as caught:
        evaluate(IMAGES, partial, graph)
    assert "--missing zero" in str(caught.value)
    found = evaluate(IMAGES, partial, graph, measures="nn-CUI@1", missing="zero")
    assert found.counts.missing == ("b", "c", "d")
    assert found.values[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_an_empty_list_is_a_ranking_that_found_nothing(graph: SnapshotGraph) -> None:
    # Left out of the mean as if it were not there, it would flatter the system.
    partial = {"a": ["b"], "c": []}
    found = evaluate(IMAGES, partial, graph, measures="nn-CUI@1", missing="skip")
    assert found.counts.missing == ("b", "d")
    assert found.means == {"nn-CUI@1": 0.5}
    assert dict(pytrec_eval.to_run(Ranking.of(partial, list(IMAGES)))) == {"a": {"b": 1.0}, "c": {}}
    scores = {"a": {"b": 1.0}, "c": dict[str, float]()}
    assert evaluate(IMAGES, scored_ranking(scores, IMAGES), graph, measures="nn-CUI@1", missing="skip").mean(
        "nn-CUI@1"
    ) == 0.5  # fmt: skip


def test_short_rankings_are_counted_against_what_the_corpus_has(graph: SnapshotGraph) -> None:
    assert evaluate(IMAGES, RANKING, graph, measures="nn-CUI@1").counts.short == 0
    assert evaluate(IMAGES, RANKING, graph, measures="nn-CUI@2").counts.short == 1
    # Three other images are all there are, however large K is.
    assert evaluate(IMAGES, RANKING, graph, measures="nn-CUI@1000").counts.short == 2


def test_a_cut_off_beyond_the_corpus_is_the_whole_corpus(graph: SnapshotGraph) -> None:
    found = evaluate(IMAGES, RANKING, graph, measures="nn-CUI@3,4,1000000")
    assert found.values[:, 0].tolist() == found.values[:, 1].tolist() == found.values[:, 2].tolist()


# Forms of input


def test_mappings_frames_and_files_are_the_same(graph: SnapshotGraph, result: Evaluation, tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_text("ID,CUIs\n" + "".join(f"{i},{c}\n" for i, c in IMAGES.items()))
    forms: list[Any] = [
        {image: concepts.split(";") if concepts else [] for image, concepts in IMAGES.items()},
        pd.DataFrame({"image": IMAGES.keys(), "concepts": IMAGES.values()}),
        pd.read_csv(tmp_path / "images.csv"),
        ImageConcepts.read(tmp_path / "images.csv"),
    ]
    for images in forms:
        found = evaluate(images, RANKING, graph, measures=["nn-CUI@1,3", "CUI@3"])
        assert found.values.tolist() == result.values.tolist()
        apart = evaluate(Dataset(images, IMAGES), RANKING, graph, measures=["nn-CUI@1,3", "CUI@3"])
        assert apart.values.tolist() == result.values.tolist()


def test_cui_at_k_needs_no_graph() -> None:
    found = evaluate({"a": "x;y", "b": "x"}, {"a": ["b"], "b": ["a"]}, None, measures="CUI@1")
    assert (found.means, found.release) == ({"CUI@1": 1.0}, None)
    with pytest.raises(InputError, match="needs a graph"):
        evaluate({"a": "x;y", "b": "x"}, {"a": ["b"], "b": ["a"]}, None, measures="nn-CUI@1")


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "number of hops"),
        ({"n": 1.5}, "number of hops"),
        ({"n": 256}, "0 to 255"),
        ({"lam": 1.01}, "from 0 to 1"),
        ({"lam": float("nan")}, "from 0 to 1"),
        ({"direction": "sideways"}, "any or up or down"),
        ({"unknown": "skip"}, "error or isolated or drop"),
        ({"missing": "one"}, "error or zero or skip"),
        ({"empty_ideal": "one"}, "zero or skip"),
        ({"measures": "ERR@10"}, "not a measure"),
        ({"measures": "BM"}, "not a measure of a ranking"),
        ({"measures": "nDCG@10"}, "which documents are relevant"),
        ({"measures": "P@5(modality)"}, "no labels"),
        ({"measures": []}, "at least one"),
        ({"threads": 0}, "number of threads"),
        ({"threads": 1.0}, "number of threads"),
        ({"corpus": {}}, "corpus hold no image"),
        ({"corpus": {"a": VEINS, "b": 7}}, "not the concepts of an image"),
    ],
)
def test_arguments_that_are_none(graph: SnapshotGraph, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_flat(IMAGES, RANKING, graph, **options)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ({}, "queries hold no image"),
        ([("a", VEINS)], "not a collection of images"),
        (pd.DataFrame({"a": [1]}), "wrong number of columns"),
        (pd.DataFrame({"image": ["a", "a"], "concepts": [VEINS, VEINS]}), "stands twice"),
        (pd.DataFrame({"image": [1, 2], "concepts": [VEINS, VEINS]}), "not the name of an image"),
        ({"a": [1, 2]}, "not the concepts of an image"),
        ({"a": None}, "not the concepts of an image"),
        ({"": VEINS}, "not the name of an image"),
        ({"a": "C0042449;;C0018670"}, "identifier is missing"),
    ],
)
def test_images_that_are_none(graph: SnapshotGraph, images: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(images, {}, graph)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ({"z": ["a"]}, "a ranking for no query"),
        ({"a": ["b", "z"]}, r"rank 2 of query 'a'.*not an image of the corpus"),
        ({"a": ["b", "c", "b"]}, r"rank 3 of query 'a'.*stands twice"),
        ({"a": "bcd"}, "not a list of images"),
        ([["b"]], "not a ranking"),
    ],
)
def test_rankings_that_are_none(graph: SnapshotGraph, ranking: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(IMAGES, ranking, graph)  # type: ignore[arg-type]


def test_a_ranking_of_other_images_is_refused(graph: SnapshotGraph) -> None:
    ranking = random_ranking(IMAGES, 2)
    turned = dict(reversed(IMAGES.items()))
    with pytest.raises(InputError, match="other images"):
        evaluate(turned, ranking, graph)
    assert evaluate(turned, dict(ranking), graph).means == evaluate(IMAGES, ranking, graph).means


# Baselines


def test_chance_depends_on_names_and_seed_alone() -> None:
    images = {f"i{i:02}": "x" for i in range(40)}
    turned = dict(reversed(images.items()))
    first = random_ranking(images, 5, seed=3)
    assert dict(first) == dict(random_ranking(turned, 5, seed=3))
    assert dict(first) != dict(random_ranking(images, 5, seed=4))
    for query, found in first.items():
        assert len(set(found)) == 5
        assert query not in found


def test_chance_treats_all_other_images_alike() -> None:
    images = {f"i{i:02}": "x" for i in range(5)}
    seen = [random_ranking(images, 2, seed=seed)["i03"] for seed in range(4000)]
    for rank in range(2):
        counts = np.unique([found[rank] for found in seen], return_counts=True)[1]
        assert len(counts) == 4
        assert abs(counts - 1000).max() < 150  # more than five standard deviations


def test_chance_may_ask_for_more_than_there_is() -> None:
    ranking = random_ranking(Dataset({"a": "x", "b": "x"}, {"b": "x", "c": "x", "d": "x"}), 10)
    assert {query: sorted(found) for query, found in ranking.items()} == {"a": ["b", "c", "d"], "b": ["c", "d"]}


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True])
def test_seeds_that_are_none(seed: int) -> None:
    with pytest.raises(InputError, match="not a seed"):
        random_ranking({"a": "x"}, 1, seed=seed)


def test_relevances_are_two(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match="iou or nn-iou"):
        top_k(IMAGES, graph, 1, by="dice")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a graph"):
        top_k(IMAGES, None, 1)
    assert isinstance(top_k(IMAGES, None, 1, by="iou"), Ranking)


def test_images_without_gain_follow_in_the_order_of_their_names() -> None:
    images = {"q": "x", "z": "x", "c": "", "a": "y", "b": "y"}
    assert top_k(images, None, 9, by="iou")["q"] == ("z", "a", "b", "c")
