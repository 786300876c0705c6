"""Relevance, factuality and overall score: which means they are, and what happens where a component is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cuihop import ScoreCard, compare
from cuihop.captions import CaptionRules, ExternalScores, Official, mean_scores, score_captions
from cuihop.errors import InputError
from cuihop.measures import Measure, measures_named

TEXTS = {"a": "ct of the head", "b": "mri"}
VALUES = {
    "BERTScore": [0.6, 0.8], "BERTScore(value=F1)": [0.5, 0.7], "similarity": [0.9, 1.1], "BLEURT": [0.3, -0.1],
    "AlignScore": [0.2, 0.4], "concept-F1": [0.25, 0.5], "ROUGE-1": [0.1, 0.2],
}  # fmt: skip


def columns(*left_out: str, values: dict[str, list[float]] | None = None) -> ExternalScores:
    return ExternalScores(
        tuple(TEXTS),
        {measures_named(name)[0]: np.array(v) for name, v in (values or VALUES).items() if name not in left_out},
    )


@pytest.mark.parametrize(
    ("official", "relevance"),
    [
        (None, [(0.6 + 0.1 + 0.9 + 0.3) / 4, (0.8 + 0.2 + 1.1 - 0.1) / 4]),
        ("2025", [(0.5 + 0.1 + 0.9) / 3, (0.7 + 0.2 + 1.1) / 3]),
        ("2026", [(0.5 + 0.1 + 0.9 + 0.3) / 4, (0.7 + 0.2 + 1.1 - 0.1) / 4]),
    ],
)
def test_composites_of_the_paper_and_of_both_programs(official: Official | None, relevance: list[float]) -> None:
    found = score_captions(TEXTS, TEXTS, scores=[columns()], rules=CaptionRules(official=official))
    assert [str(measure) for measure in found.measures[-3:]] == ["relevance", "factuality", "overall"]
    factuality = [(0.25 + 0.2) / 2, (0.5 + 0.4) / 2]
    overall = np.mean([relevance, factuality], axis=0).tolist()
    for place, expected in zip((-3, -2, -1), (relevance, factuality, overall), strict=True):
        assert found.values[:, place].tolist() == pytest.approx(expected, abs=1e-15)


def test_the_published_overall_is_no_mean_of_six_measures() -> None:
    """Damm et al. 2025, section 5.2: similarity, BERTScore, ROUGE-1, BLEURT and overall of two systems.

    Six measures would have a negative sum of the other two. As the mean of relevance and factuality the overall score
    leaves a factuality within its limits.
    """
    for four, overall, factuality in (
        ((0.9271, 0.5977, 0.2594, 0.3230), 0.3432, 0.1596),
        ((0.8251, 0.5953, 0.2389, 0.3094), 0.3043, 0.1164),
    ):
        assert 6 * (overall + 0.00005) - sum(four) < 0
        relevance = sum(four) / 4
        assert 2 * overall - relevance == pytest.approx(factuality, abs=1e-4)
        names = ("similarity", "BERTScore", "ROUGE-1", "BLEURT", "concept-F1", "AlignScore")
        values = {name: [value, value] for name, value in zip(names, (*four, factuality, factuality), strict=True)}
        found = score_captions(TEXTS, TEXTS, scores=[columns(values=values)])
        assert round(found.mean("relevance"), 4) == pytest.approx(relevance, abs=1e-4)
        assert round(found.mean("overall"), 4) == overall


@pytest.mark.parametrize(
    ("left_out", "lines"),
    [
        (["BLEURT"], ["relevance: not computed, without BLEURT", "overall: not computed, without relevance"]),
        (["AlignScore"], ["factuality: not computed, without AlignScore", "overall: not computed, without factuality"]),
        (
            ["BERTScore", "similarity", "concept-F1"],
            [
                "relevance: not computed, without BERTScore and similarity",
                "factuality: not computed, without concept-F1",
                "overall: not computed, without relevance and factuality",
            ],
        ),
    ],
)
def test_a_missing_component_leaves_no_mean_of_fewer(left_out: list[str], lines: list[str]) -> None:
    found = score_captions(TEXTS, TEXTS, scores=[columns(*left_out)])
    assert [line for line in found.account() if "not computed" in line] == lines
    absent = {line.partition(":")[0] for line in lines}
    assert absent.isdisjoint(map(str, found.measures))
    if "BERTScore" not in left_out:
        with pytest.raises(InputError, match="cannot be computed"):
            score_captions(TEXTS, TEXTS, measures=sorted(absent), scores=[])


def test_rouge_is_computed_for_relevance_where_no_column_has_it() -> None:
    found = score_captions(TEXTS, TEXTS, measures="relevance", scores=[columns("ROUGE-1")])
    assert found.mean("relevance") == pytest.approx((0.7 + 1 + 1.0 + 0.1) / 4)
    assert Measure("ROUGE-1") not in found.measures


def test_refusals() -> None:
    with pytest.raises(InputError, match="stands in two inputs"):
        score_captions(TEXTS, TEXTS, scores=[columns(), columns()])
    with pytest.raises(InputError, match="not computed from captions alone"):
        score_captions(TEXTS, TEXTS, measures="BERTScore")
    with pytest.raises(InputError, match="not a measure of captions"):
        score_captions(TEXTS, TEXTS, measures="nn-CUI@5")
    with pytest.raises(InputError, match="needs a graph, or concepts"):
        score_captions(TEXTS, TEXTS, measures="concept-F1")
    with pytest.raises(InputError, match="no rules of the organisers"):
        CaptionRules("as-given", "2025")
    with pytest.raises(InputError, match="cut-off that BLEU does not have"):
        score_captions(TEXTS, TEXTS, measures="BLEU@5")
    with pytest.raises(InputError, match="missing"):
        score_captions(TEXTS, {"a": "x"})


def test_cards_keep_values_beyond_one_and_their_conditions(tmp_path: Path) -> None:
    found = score_captions(TEXTS, TEXTS, scores=[columns()])
    ScoreCard.of(found, "one").write(tmp_path / "one.json")
    card = ScoreCard.read(tmp_path / "one.json")
    assert card.values["similarity"].tolist() == [0.9, 1.1]
    assert card.values["BLEURT"].tolist() == [0.3, -0.1]
    assert card.conditions["read from scores"] == ["ROUGE-1", "concept-F1"]
    given = ScoreCard.of(score_captions(TEXTS, TEXTS, rules=CaptionRules("as-given")), "two")
    with pytest.raises(InputError, match="text: 'imageclef' and 'as-given'"):
        compare([card, given])
    too_large = ScoreCard.of(score_captions(TEXTS, TEXTS, scores=[columns(values={"similarity": [2.6, 0.0]})]), "x")
    too_large.write(tmp_path / "x.json")
    with pytest.raises(InputError, match=r"expected a number from 0 to 2.5"):
        ScoreCard.read(tmp_path / "x.json")


def test_intervals_hold_the_mean_and_do_not_depend_on_threads() -> None:
    found = score_captions(TEXTS, TEXTS, scores=[columns()])
    one, two = (mean_scores(found, resamples=500, threads=threads) for threads in (1, 2))
    assert one == two
    assert all(each.low <= each.mean <= each.high for each in one)


@pytest.mark.parametrize("value", ["recall", "precision", "F1"])
def test_bertscore_has_three_values(value: str) -> None:
    (measure,) = measures_named(f"BERTScore(value={value})")
    assert str(measure) == ("BERTScore" if value == "recall" else f"BERTScore(value={value})")
