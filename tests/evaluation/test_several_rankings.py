"""Several rankings of one collection: each as it is evaluated alone, to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate, evaluate_each
from cuihop.evaluation.result import Evaluation
from cuihop.rankings.ranking import Ranking
from example_graph import example_graph
from examples import examples
from flat_options import evaluate_each_flat, evaluate_flat

IMAGES = {"a": "C0042449;C0018670", "b": "C0005847;C0018670", "c": "C0003842", "d": "C0042449"}
GOOD = {"a": ["d", "b", "c"], "b": ["a", "d"], "c": ["b"], "d": ["a", "b", "c"]}
BAD = {"a": ["c", "b"], "b": ["c"], "c": ["d", "a"], "d": ["c", "b", "a"]}
LABELS = {"kind": {"a": "x", "b": "x", "c": "y", "d": "x"}}


def alike(found: Evaluation, expected: Evaluation) -> None:
    for field in dataclasses.fields(expected):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "best_gains":
            assert {gain: column.tobytes() for gain, column in ours.items()} == {
                gain: column.tobytes() for gain, column in theirs.items()
            }
        elif isinstance(theirs, np.ndarray):
            assert ours.tobytes() == theirs.tobytes()
        else:
            assert ours == theirs


@settings(max_examples=examples(25))
@given(cases(), st.data())
def test_each_ranking_scores_what_it_scores_alone(case: Case, data: st.DataObject) -> None:
    held = list(case.held)
    lists = st.fixed_dictionaries({query: st.permutations(held) for query in case.queries})
    systems = {"first": case.ranking, "second": data.draw(lists), "third": {}}
    options: dict[str, Any] = {
        "corpus": case.corpus, "n": case.n, "lam": case.lam, "direction": case.direction, "unknown": "isolated",
        "missing": data.draw(st.sampled_from(["zero", "skip"])),
        "empty_ideal": data.draw(st.sampled_from(["zero", "skip"])),
        "measures": ["nn-CUI@1,3", "CUI@2", "nn-CUI@2(n=2, λ=0.2)", "AP(kind)", "P@2(kind)"],
        "labels": {"kind": {image: str(len(name) % 2) for image, name in zip({**case.queries, **case.held},
                                                                            [*case.queries, *case.held],
                                                                            strict=False)}},
    }  # fmt: skip
    found = evaluate_each_flat(case.queries, systems, case.graph, **options)
    assert list(found) == list(systems)
    for name, ranking in systems.items():
        alike(found[name], evaluate_flat(case.queries, ranking, case.graph, **options))


def test_rankings_are_taken_one_by_one() -> None:
    taken = []

    def rankings() -> Iterator[tuple[str, dict[str, list[str]]]]:
        for name, ranking in (("good", GOOD), ("bad", BAD)):
            taken.append(name)
            yield name, ranking

    found = evaluate_each(IMAGES, rankings(), example_graph(), measures="nn-CUI@2")
    assert taken == list(found) == ["good", "bad"]
    assert (found["good"].mean("nn-CUI@2") or 0) > (found["bad"].mean("nn-CUI@2") or 0)


def test_only_what_gains_need_of_a_ranking_is_kept_and_the_rest_is_still_counted() -> None:
    measures = ["nn-CUI@1", "AP(kind)"]
    (alone,) = evaluate_each(Dataset(IMAGES, labels=LABELS), {"x": GOOD}, example_graph(), measures=measures).values()
    assert alone.retrieved.tolist() == [3, 2, 1, 3]
    assert alone.counts.short == 2
    alike(alone, evaluate(Dataset(IMAGES, labels=LABELS), GOOD, example_graph(), measures=measures))


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ({}, "no ranking"),
        ([("x", GOOD), ("x", BAD)], "two rankings of one name; found 'x'"),
        ({"x": GOOD, "y": {**BAD, "a": ["z"]}}, "not an image of the corpus"),
    ],
)
def test_what_cannot_be_evaluated(rankings: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluate_each(IMAGES, rankings, example_graph(), measures="nn-CUI@1")
    assert message in str(caught.value)


def test_the_error_about_missing_rankings_names_the_file() -> None:
    ranking = dataclasses.replace(Ranking.of({"a": ["b"]}, tuple(IMAGES)), source="second.run")
    with pytest.raises(InputError, match="queries without a ranking") as caught:
        evaluate_each(IMAGES, {"first": GOOD, "second": ranking}, example_graph())
    assert caught.value.file == "second.run"


def test_an_interrupted_evaluation_of_several_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    options: dict[str, Any] = {"measures": ["nn-CUI@2", "CUI@1"], "checkpoint": path, "keep_checkpoint": True}
    systems = {"good": GOOD, "bad": BAD}
    first = evaluate_each_flat(IMAGES, systems, example_graph(), **options)
    before = path.read_bytes()
    again = evaluate_each_flat(IMAGES, systems, example_graph(), **options)
    assert path.read_bytes() == before  # nothing was computed again
    for name in systems:
        alike(again[name], first[name])
    with pytest.raises(InputError, match="other inputs") as caught:
        evaluate_each_flat(IMAGES, {"good": GOOD, "bad": GOOD}, example_graph(), **options)
    assert caught.value.column == "content of ranking"
