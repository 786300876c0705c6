"""What a notebook shows of evaluations and comparisons: short, escaped, with the numbers of the means."""

from __future__ import annotations

import re

from cuihop.evaluation.comparison import compare
from cuihop.evaluation.judged import evaluate_judged
from cuihop.evaluation.result import MeasuredQueries
from cuihop.evaluation.score_card import ScoreCard


def evaluation(*rankings: list[str]) -> MeasuredQueries:
    ranking = {f"q{place}": found for place, found in enumerate(rankings)}
    return evaluate_judged(ranking, ["P@1", "AP"], qrels={query: {"a": 1} for query in ranking})


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_an_evaluation_shows_its_means() -> None:
    found = evaluation(["a"], ["b", "a"])
    assert repr(found) == "<JudgedEvaluation of 2 queries: P@1 0.5000, AP 0.7500>"
    assert cells(found._repr_html_()) == [
        ["measure", "mean", "queries"], ["P@1", "0.5000", "2"], ["AP", "0.7500", "2"],
    ]  # fmt: skip


def test_queries_that_were_skipped_are_not_among_those_scored() -> None:
    found = evaluate_judged({"q": ["a"], "r": ["a"]}, "AP", qrels={"q": {"a": 1}, "r": {}}, empty_ideal="skip")
    assert cells(found._repr_html_())[1] == ["AP", "1.0000", "1"]


def test_a_comparison_shows_its_differences_and_gives_them_as_a_frame() -> None:
    cards = [ScoreCard.of(evaluation(["b", "a"], ["a"]), "<old>"), ScoreCard.of(evaluation(["a"], ["a"]), "new")]
    found = compare(cards, "AP", resamples=100)
    systems, old, new, header, row = cells(found._repr_html_())
    assert [systems, old, new] == [["system", "AP"], ["&lt;old&gt;", "0.7500"], ["new", "1.0000"]]
    assert header[:3] == ["measure", "difference", "mean"]
    assert row[:3] == ["AP", "new − &lt;old&gt;", "+0.2500"]
    assert row[-1] == "1/1/0"
    assert repr(found) == "<Comparison of <old>, new: AP; 1 tests>"
    (only,) = found.to_pandas().to_dict("records")
    assert (only["a"], only["difference"], only["wins"], only["p_holm"]) == (
        "<old>",
        0.25,
        1,
        found.differences[0].p_holm,
    )
