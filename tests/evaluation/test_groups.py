"""Means over the queries of each value of a label."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import Dataset, evaluate
from cuihop.errors import InputError
from cuihop.evaluation.groups import group_means, group_table
from cuihop.evaluation.result import Evaluation
from program_run import Run

QRELS = {f"q{i}": {"a": i % 2, "b": 1} for i in range(7)}
RANKING = {f"q{i}": ["a", "b"] if i % 3 else ["c", "a", "b"] for i in range(7)}
TYPES = {f"q{i}": ("visual", "textual", "")[i % 3] for i in range(7)}


@pytest.fixture(scope="module")
def found() -> Evaluation:
    return evaluate(Dataset(qrels=QRELS), RANKING, measures=["AP", "P@1"])


def test_the_mean_of_each_value_is_that_of_its_queries(found: Evaluation) -> None:
    for each in group_means(found, {"type": TYPES}, "type", resamples=100):
        column = [str(m) for m in found.measures].index(each.measure)
        ours = [found.values[place, column] for place, query in enumerate(found.queries) if TYPES[query] == each.value]
        assert (each.queries, each.mean) == (len(ours), math.fsum(ours) / len(ours))
        numbers = [number for number in (min(ours), each.low, each.mean, each.high, max(ours)) if number is not None]
        assert len(numbers) == 5
        assert numbers == sorted(numbers)


@given(st.lists(st.sampled_from(["x", "y", "z", ""]), min_size=7, max_size=7))
def test_weighted_by_their_queries_the_means_add_up_to_the_whole(values: list[str]) -> None:
    whole = evaluate(Dataset(qrels=QRELS), RANKING, measures="AP")
    means = group_means(whole, {"kind": dict(zip(QRELS, values, strict=True))}, "kind", resamples=1)
    assert sum(each.queries for each in means) == len(QRELS)
    total = math.fsum(each.queries * (each.mean or 0.0) for each in means) / len(QRELS)
    assert total == pytest.approx(whole.mean("AP"), rel=1e-14)


def test_the_largest_group_stands_first_and_queries_without_a_value_last(found: Evaluation) -> None:
    means = group_means(found, {"type": {**TYPES, "q0": "", "q3": ""}}, "type", resamples=1)
    assert [(each.measure, each.value) for each in means] == [
        (measure, value) for measure in ("AP", "P@1") for value in ("textual", "visual", "")
    ]
    assert group_table(means).rows[2][1] == "none"


def test_a_skipped_query_is_in_no_mean() -> None:
    skipped = evaluate(Dataset(qrels=QRELS), {"q1": ["a"]}, measures="P@1", missing="skip")
    means = group_means(skipped, {"type": TYPES}, "type", resamples=1)
    assert [(each.value, each.queries, each.mean) for each in means] == [
        ("visual", 0, None), ("textual", 1, 1.0), ("", 0, None),
    ]  # fmt: skip
    assert group_table(means).rows[0][3:] == ("none", "none")


def test_the_same_seed_gives_the_same_interval_on_any_number_of_threads(found: Evaluation) -> None:
    labels = {"type": TYPES}
    assert group_means(found, labels, "type", threads=1) == group_means(found, labels, "type", threads=3)
    assert group_means(found, labels, "type", resamples=9, seed=1) != group_means(found, labels, "type", resamples=9)


def test_a_label_that_is_not_there_and_a_query_without_a_row_are_refused(found: Evaluation) -> None:
    with pytest.raises(InputError, match="no such label"):
        group_means(found, {"type": TYPES}, "colour")
    with pytest.raises(InputError, match=r"without a row of labels.*q6"):
        group_means(found, {"type": dict.fromkeys(list(QRELS)[:-1], "x")}, "type")


def test_the_command_prints_the_means_of_each_value(
    tmp_path: Path, program: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    qrels = "".join(f"{q} 0 {d} {g}\n" for q, judged in QRELS.items() for d, g in judged.items())
    Path("all.qrels").write_text(qrels)
    run = "".join(f"{q} Q0 {d} 1 {-rank} x\n" for q, some in RANKING.items() for rank, d in enumerate(some))
    Path("x.run").write_text(run)
    Path("topics.csv").write_text("topic,type\n" + "".join(f"{q},{value}\n" for q, value in TYPES.items()))
    command = ["evaluate", "--qrels", "all.qrels", "x.run", "--measure", "AP", "--by", "type"]
    assert "visual" in program(*command, "--groups", "topics.csv").out
    fields = json.loads(program(*command, "--groups", "topics.csv", "--json").out)["by"]
    assert [each["value"] for each in fields] == ["visual", "textual", ""]
    assert "--groups" in program(*command).err
