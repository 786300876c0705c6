"""Notebook tables of evaluations and comparisons: short, escaped, with the numbers of the means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuihop.collection.dataset import Dataset
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import MeasuredQueries
from cuihop.notebooks.table import write_tables


def evaluation(*rankings: list[str]) -> MeasuredQueries:
    ranking = {f"q{place}": found for place, found in enumerate(rankings)}
    return evaluate(Dataset(qrels={query: {"a": 1} for query in ranking}), ranking, measures=["P@1", "AP"])


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_an_evaluation_shows_its_means() -> None:
    found = evaluation(["a"], ["b", "a"])
    assert repr(found) == "<Evaluation of 2 queries: P@1 0.5000, AP 0.7500>"
    assert cells(found._repr_html_()) == [
        ["measure", "mean", "queries", "nothing relevant"], ["P@1", "0.5000", "2", "0"], ["AP", "0.7500", "2", "0"],
    ]  # fmt: skip


def test_queries_that_were_skipped_are_not_among_those_scored() -> None:
    found = evaluate(
        Dataset(qrels={"q": {"a": 1}, "r": {}}), {"q": ["a"], "r": ["a"]}, measures="AP", empty_ideal="skip"
    )
    assert cells(found._repr_html_())[1] == ["AP", "1.0000", "1", "1 left out"]


def test_a_comparison_shows_its_differences_and_gives_them_as_a_frame() -> None:
    cards = [ScoreCard.of(evaluation(["b", "a"], ["a"]), "<old>"), ScoreCard.of(evaluation(["a"], ["a"]), "new")]
    found = compare(cards, "AP", resamples=100)
    systems, old, new, queries, nothing, header, row = cells(found._repr_html_())
    assert [systems, old, new] == [["system", "AP"], ["&lt;old&gt;", "0.7500"], ["new", "<b>1.0000</b>"]]
    assert [queries, nothing] == [["queries", "2"], ["nothing relevant", "0"]]
    assert header[:4] == ["measure", "system", "baseline", "difference"]
    assert row[:4] == ["AP", "new", "&lt;old&gt;", "+0.2500"]
    assert row[-1] == "1/1/0"
    assert repr(found) == "<Comparison of <old>, new: AP; 1 tests>"
    (only,) = found.to_pandas().to_dict("records")
    assert (only["baseline"], only["system"]) == ("<old>", "new")
    assert only["difference"] == only["mean_system"] - only["mean_baseline"] == 0.25
    assert (only["wins"], only["losses"], only["p_holm"]) == (1, 0, found.differences[0].p_holm)


@pytest.mark.parametrize("against", [None, "weak", "strong"])
def test_every_form_of_a_comparison_subtracts_the_baseline_from_the_system(against: str | None, tmp_path: Path) -> None:
    lists = {"weak": [["b", "a"]] * 3, "strong": [["a"], ["a"], ["b", "a"]]}
    found = compare(
        {name: ScoreCard.of(evaluation(*of)) for name, of in lists.items()}, "AP", against=against, resamples=100
    )
    (only,) = found.differences
    better = only.system == "strong"
    assert only.baseline == (against or "weak")
    assert only.difference == pytest.approx((only.mean_system - only.mean_baseline), abs=1e-15)
    sign = 1 if better else -1
    assert all(sign * value > 0 for value in (only.difference, only.low, only.high, only.effect or 0))
    assert (only.wins, only.losses) == ((2, 0) if better else (0, 2))
    (row,) = found.to_pandas().to_dict("records")
    (said,) = found.summary()["differences"]
    assert row == said
    assert {"a", "b", "mean_a", "mean_b"}.isdisjoint(row)
    (texts,) = found.table().rows
    row = dict(zip(found.table().columns, texts, strict=True))
    assert (row["system"], row["baseline"]) == (only.system, only.baseline)
    assert row["difference"].startswith("+" if better else "−")
    assert row["win/tie/loss"] == f"{only.wins}/1/{only.losses}"
    write_tables(tmp_path / "t.tex", [found.means(), found.table()])
    difference = row["difference"].replace("−", "$-$")
    assert f"AP & {only.system} & {only.baseline} & {difference} & " in (tmp_path / "t.tex").read_text()
    figure = found.plot(tmp_path / "f.svg")
    assert f"{only.system} − {only.baseline}" in figure.axes[0].get_yticklabels()[0].get_text()
