"""Conditions of a score card: complete for everything that changes a value.

Whatever single option or input is changed, the cards are refused, and the field is named.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import MeasuredQueries
from cuihop.imageclef.concept_detection import evaluate_detection
from cuihop.imageclef.irma_codes import evaluate_irma
from cuihop.measures.nearness import Nearness
from cuihop.rankings.reading import read_ranking
from example_graph import EDGES, example_graph
from examples import examples
from flat_options import FLAT, evaluate_flat

QUERIES = {"a": "C0042449;C0018670", "b": "C0005847;C0018670", "c": "C0003842"}
CORPUS = {**QUERIES, "d": "C0003483"}
LABELS = {"kind": {"a": "x", "b": "x", "c": "y", "d": "x"}, "part": {"a": "1", "b": "2", "c": "1", "d": ""}}
QRELS = {"a": {"b": 1, "d": 0}, "b": {"a": 2}, "c": {"d": 1}}
MEASURES = ["nn-CUI@2", "CUI@1", "P@1(kind)", "AP"]


@cache
def by_concepts() -> dict[str, Any]:
    return {
        "queries": QUERIES, "ranking": {"a": ["b", "d"], "b": ["a", "d"], "c": ["d", "a"]}, "graph": example_graph(),
        "corpus": CORPUS, "labels": LABELS, "qrels": QRELS, "measures": MEASURES,
    }  # fmt: skip


CHANGES: dict[str, tuple[object, str]] = {
    "queries": ({**QUERIES, "c": "C0003483"}, "content of queries"),
    "corpus": ({**CORPUS, "d": "C0003842"}, "content of corpus"),
    "graph": (partial(SnapshotGraph.of, EDGES[1:], concepts=["C0006121"]), "release digest"),
    "n": (2, "n"),
    "lam": (0.25, "lambda"),
    "direction": ("up", "direction"),
    "unknown": ("isolated", "unknown"),
    "weight": ("hops", "weight"),
    "ic": ("Seco", "ic"),
    "missing": ("zero", "missing"),
    "empty_ideal": ("skip", "empty_ideal"),
    "query_image": ("include", "query_image"),
    "qrels": ({**QRELS, "b": {"a": 1}}, "content of qrels"),
    "labels": ({**LABELS, "part": {**LABELS["part"], "d": "2"}}, "content of labels"),
}
NO_CONDITIONS = {
    "ranking": "is what is compared", "measures": "are matched by their names", "progress": "changes no value",
    "threads": "change no value", "memory": "changes no value", "checkpoint": "changes no value",
    "keep_checkpoint": "changes no value", "cluster": "changes no value",
    "places": "are refused: the queries of a shard are no evaluation",
}  # fmt: skip


def fields_that_differ(ours: MeasuredQueries, theirs: MeasuredQueries) -> list[str]:
    with pytest.raises(InputError, match="do not match") as caught:
        compare({"ours": ScoreCard.of(ours), "theirs": ScoreCard.of(theirs)}, resamples=10)
    assert caught.value.found is not None
    assert all(f"{field}: " in caught.value.found for field in str(caught.value.column).split(", "))
    return str(caught.value.column).split(", ")


def test_every_parameter_of_an_evaluation_is_thought_of() -> None:
    grouped = {"data", "near", "nearness", "resources"}
    own = set(inspect.signature(evaluate).parameters) - grouped
    assert own | FLAT | {"queries"} == {*CHANGES, *NO_CONDITIONS}
    assert set(inspect.signature(evaluate_detection).parameters) == {
        "truth", "predictions", "manual_truth", "graph", "nearness", "official", "image_column", "concept_column"
    }  # fmt: skip
    assert set(inspect.signature(evaluate_irma).parameters) == {
        "truth", "predictions", "codes", "branching", "missing_wrong"
    }  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_option_is_refused_by_name(name: str) -> None:
    value, field = CHANGES[name]
    value = value() if isinstance(value, partial) else value
    given = by_concepts() | ({"weight": "Lin"} if name == "ic" else {})
    found = fields_that_differ(evaluate_flat(**given), evaluate_flat(**{**given, name: value}))
    assert field in found
    assert set(found) <= {field, "release sabs", "release relations"}


def test_the_same_is_compared_whatever_threads_and_memory_and_files_are_called() -> None:
    other = evaluate_flat(**by_concepts(), threads=1, memory="50MB")
    found = compare({"ours": ScoreCard.of(evaluate_flat(**by_concepts())), "theirs": ScoreCard.of(other)}, resamples=10)
    assert all((d.wins, d.losses, d.p_randomisation) == (0, 0, 1.0) for d in found.differences)


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("missing", "zero", "missing"),
        ("empty_ideal", "skip", "empty_ideal"),
        ("qrels", {**QRELS, "b": {"a": 1}}, "content of qrels"),
        ("labels", {**LABELS, "part": {**LABELS["part"], "d": "2"}}, "content of labels"),
        ("labels", None, "content of labels"),
    ],
)
def test_a_changed_option_without_concepts_is_refused_by_name(name: str, value: object, field: str) -> None:
    given: dict[str, Any] = {"queries": None, "ranking": {"a": ["b"], "b": ["a"], "c": []}, "measures": "AP",
                             "qrels": QRELS, "labels": LABELS}  # fmt: skip
    assert fields_that_differ(evaluate_flat(**given), evaluate_flat(**{**given, name: value})) == [field]


def test_another_rule_for_ties_is_refused_also_between_the_second_and_the_third(tmp_path: Path) -> None:
    run = tmp_path / "x.run"
    run.write_text("a Q0 b 1 1 x\na Q0 d 2 1 x\nb Q0 a 1 1 x\nc Q0 d 1 1 x\n")
    by_name, as_trec = (
        ScoreCard.of(
            evaluate_flat(**{**by_concepts(), "ranking": read_ranking(run, tuple(QUERIES), tuple(CORPUS), ties=t)})
        )
        for t in ("name", "trec")
    )
    given = ScoreCard.of(evaluate_flat(**by_concepts()))  # lists: nobody ordered their ties
    for cards in ({"1": by_name, "2": as_trec}, {"0": given, "1": by_name, "2": as_trec}):
        with pytest.raises(InputError, match="of 1 and 2 do not match") as caught:
            compare(cards, resamples=10)
        assert caught.value.column == "ties"
    assert compare({"0": given, "2": as_trec}, resamples=10)


@settings(max_examples=examples(40))
@given(st.data())
def test_any_other_content_is_refused_by_name(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["queries", "corpus", "qrels", "labels"]))
    changed: dict[str, Any] = {}
    if name in ("queries", "corpus"):
        images: Mapping[str, str] = by_concepts()[name]
        image = data.draw(st.sampled_from(sorted(images)))
        concepts = data.draw(st.sampled_from(sorted({"C0006104", "C0007226;C0006121", ""} - {images[image]})))
        changed[name] = {**images, image: concepts}
    elif name == "qrels":
        query = data.draw(st.sampled_from(sorted(QRELS)))
        document, grade = data.draw(st.sampled_from(sorted(QRELS[query].items())))
        other = data.draw(st.integers(-1, 3).filter(lambda found: found != grade))
        changed[name] = {**QRELS, query: {**QRELS[query], document: other}}
    else:
        label, image = data.draw(st.sampled_from(sorted(LABELS))), data.draw(st.sampled_from(sorted(CORPUS)))
        changed[name] = {**LABELS, label: {**LABELS[label], image: "z"}}
    assert fields_that_differ(evaluate_flat(**by_concepts()), evaluate_flat(**{**by_concepts(), **changed})) == [
        f"content of {name}"
    ]


def test_other_queries_are_refused() -> None:
    some = {name: {query: judged for query, judged in QRELS.items() if query != name} for name in QRELS}
    fewer = evaluate(Dataset(qrels=some["a"]), {"b": ["a"], "c": []}, measures="AP")
    all_of_them = evaluate(Dataset(qrels=QRELS), {"a": ["b"], "b": ["a"], "c": []}, measures="AP")
    assert fields_that_differ(all_of_them, fewer) == ["content of qrels", "queries"]


def test_the_content_counts_and_not_its_order(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,part,kind\n" + "".join(
        f"{image},{LABELS['part'][image]},{LABELS['kind'][image]}\n" for image in reversed(CORPUS)
    ))  # fmt: skip
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, of in reversed(QRELS.items())
                                           for d, g in of.items()))  # fmt: skip
    turned = {"labels": Labels.read(tmp_path / "labels.csv"), "qrels": Judgements.read(tmp_path / "qrels"),
              "queries": dict(reversed(QUERIES.items())), "corpus": dict(reversed(CORPUS.items()))}  # fmt: skip
    found = compare(
        {
            "ours": ScoreCard.of(evaluate_flat(**by_concepts())),
            "theirs": ScoreCard.of(evaluate_flat(**{**by_concepts(), **turned})),
        },
        resamples=10,
    )
    assert {d.losses + d.wins for d in found.differences} == {0}


# Detected concepts and codes

TRUTH = {"i1": "C0002978;C0006141", "i2": "", "i3": "C0040405"}


def written(path: Path, rows: Mapping[str, str]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("ID", "CUIs"), *rows.items()])
    return path


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"official": True}, ["official"]),
        ({"truth": {**TRUTH, "i3": "C0041618"}}, ["content of truth"]),
        ({"manual_truth": {**TRUTH, "i3": "C0041618"}}, ["content of manual_truth"]),
        ({"manual_truth": None}, ["content of manual_truth"]),
        ({"graph": partial(SnapshotGraph.of, [], concepts=["C0002978"])}, ["release digest"]),
        ({"nearness": Nearness(2, unknown="isolated")}, ["n"]),
        ({"nearness": Nearness(lam=0.25, unknown="isolated")}, ["lambda"]),
        ({"nearness": Nearness(direction="up", unknown="isolated")}, ["direction"]),
    ],
)
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_detected_concepts_are_compared_under_one_ground_truth(
    tmp_path: Path, changed: dict[str, Any], fields: list[str]
) -> None:
    given: dict[str, Any] = {
        "truth": TRUTH, "predictions": {**TRUTH, "i1": "C0002978"}, "manual_truth": TRUTH,
        "graph": partial(SnapshotGraph.of, [("C0002978", "C0006141")]),
    }  # fmt: skip

    def scored(number: int, options: dict[str, Any]) -> MeasuredQueries:
        files: dict[str, Any] = {
            name: written(tmp_path / f"{number}{name}.csv", rows) if isinstance(rows, dict) else rows
            for name, rows in options.items()
        }
        files["graph"] = files["graph"]()
        return evaluate_detection(**files)

    better = scored(1, {**given, "predictions": TRUTH})
    (first, second) = compare(
        {"worse": ScoreCard.of(scored(0, given)), "better": ScoreCard.of(better)}, ["F1", "F1(of=manual)"], resamples=10
    ).differences
    assert (first.measure, first.wins, first.ties, first.losses) == ("F1", 1, 1, 0)
    assert (second.measure, second.wins) == ("F1(of=manual)", 1)
    assert fields_that_differ(scored(2, given), scored(3, {**given, **changed})) == fields


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"truth": "i1 318a\ni2 1000\n"}, ["content of truth"]),
        ({"codes": "318a\n3187\n1000\n1111\n"}, ["content of codes"]),
        ({"codes": None, "branching": 2}, ["branching", "content of codes"]),
        ({"missing_wrong": True}, ["missing"]),
    ],
)
def test_codes_are_compared_under_one_hierarchy_and_the_smaller_error_wins(
    tmp_path: Path, changed: dict[str, Any], fields: list[str]
) -> None:
    given: dict[str, Any] = {"truth": "i1 318a\ni2 3187\n", "predictions": "i1 318*\ni2 3***\n",
                             "codes": "318a\n3187\n1000\n"}  # fmt: skip

    def scored(number: int, options: dict[str, Any]) -> MeasuredQueries:
        files: dict[str, Any] = dict(options)
        for name, text in options.items():
            if isinstance(text, str):
                files[name] = tmp_path / f"{number}{name}.txt"
                files[name].write_text(text)
        return evaluate_irma(**files)

    right = scored(1, {**given, "predictions": "i1 318a\ni2 3***\n"})
    found = compare({"worse": ScoreCard.of(scored(0, given)), "better": ScoreCard.of(right)}, resamples=10)
    error, rate = found.differences
    assert (error.measure, error.wins, error.ties, error.losses) == ("IRMA", 1, 1, 0)
    assert (rate.measure, rate.wins, rate.ties, rate.losses) == ("ER", 1, 1, 0)
    assert error.difference < 0
    assert "IRMA, ER: the smaller the better, so a win is a smaller value" in found.account()
    assert fields_that_differ(scored(2, given), scored(3, {**given, **changed})) == fields
