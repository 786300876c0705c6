"""Paired tests against SciPy's, score cards that are refused, and the command."""

from __future__ import annotations

import csv
import itertools
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.cli import main
from cuihop.comparison import comparison
from cuihop.comparison.comparison import compare
from cuihop.comparison.paired_tests import (
    PairedBootstrap,
    StudentTest,
    holm,
    paired_bootstraps,
    randomisation_tests,
    student_tests,
    two_sided_p,
)
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.means import MeanQueries
from example_graph import example_graph
from examples import examples
from flat_options import evaluate_flat

Float64 = npt.NDArray[np.float64]

# Paired tests


def randomisation_p(data: Float64, **options: Any) -> float:
    (found,) = randomisation_tests(data[:, np.newaxis], **options)
    return found


def bootstrap(data: Float64, **options: Any) -> PairedBootstrap:
    (found,) = paired_bootstraps(data[:, np.newaxis], **options)
    return found


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from([-0.5, -0.25, 0.125, 0.25, 0.5, 1.0]), min_size=2, max_size=9))
def test_the_exact_randomisation_test_is_scipys(differences: list[float]) -> None:
    from scipy import stats

    data = np.array(differences)
    theirs = stats.permutation_test(
        (data, np.zeros(len(data))), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(data) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_sampled_randomisation_test_is_near_scipys() -> None:
    from scipy import stats

    generator = np.random.default_rng(5)
    data = generator.normal(0.05, 0.2, 60)
    theirs = stats.permutation_test(
        (data, np.zeros(60)), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples",
        n_resamples=20_000, vectorized=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    ours = randomisation_p(data, resamples=20_000)
    assert ours == pytest.approx(theirs.pvalue, abs=4 * math.sqrt(theirs.pvalue / 20_000))
    assert ours == randomisation_p(data, resamples=20_000) != randomisation_p(data, resamples=20_000, seed=1)


def test_the_sampled_randomisation_test_is_near_the_exact_one_where_sums_are_equal() -> None:
    from scipy import stats

    data = np.array([0.2, -0.2, 0.4, 0.2, 0.2, -0.4, 0.2, 0.4, 0.2, 0.2, -0.2, 0.2])
    exact = randomisation_p(data)
    theirs = stats.permutation_test(
        (data, np.zeros(12)), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert exact == pytest.approx(theirs, abs=1e-12)
    resamples = 4_000  # fewer than the 4,096 assignments: drawn
    assert randomisation_p(data, resamples=resamples) == pytest.approx(exact, abs=4 * math.sqrt(exact / resamples))


def test_the_bootstrap_interval_is_near_scipys() -> None:
    from scipy import stats

    generator = np.random.default_rng(6)
    ours_better, theirs_better = generator.gamma(2.0, 0.1, 200), generator.gamma(1.0, 0.1, 200)
    theirs = stats.bootstrap(
        (ours_better, theirs_better), lambda x, y, axis: np.mean(x - y, axis=axis), paired=True, vectorized=True,
        method="percentile", n_resamples=20_000, rng=np.random.default_rng(2),
    )  # fmt: skip
    data = ours_better - theirs_better
    ours = bootstrap(data, resamples=20_000)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=width * 0.03)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=width * 0.03)
    wider = bootstrap(data, resamples=20_000, confidence=0.99)
    assert wider.low < ours.low < ours.high < wider.high


@settings(max_examples=examples(60))
@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=40))
def test_students_test_and_its_effect_size_are_scipys(differences: list[float]) -> None:
    from scipy import stats

    data = np.array(differences)
    (ours,) = student_tests(data[:, np.newaxis])
    if np.ptp(data) == 0.0:
        assert (ours.p, ours.effect) == (None, None)
        return
    theirs = stats.ttest_rel(data, np.zeros(len(data)))
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-300)
    assert ours.effect == pytest.approx(theirs.statistic / math.sqrt(len(data)), rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 49, 1_000, 9_926, 116_634])
def test_students_distribution_is_scipys(freedom: int) -> None:
    from scipy import stats

    for t in (0.0, 1e-4, 0.1, 0.7, 1.0, 2.0, 5.0, 12.0, 35.0):
        assert two_sided_p(t, freedom) == two_sided_p(-t, freedom)
        assert two_sided_p(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-8, abs=1e-300)


def test_one_query_has_no_spread() -> None:
    assert student_tests(np.array([[0.5]])) == [StudentTest(None, None)]


@settings(max_examples=examples(20))
@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 3))
def test_a_test_does_not_depend_on_the_others_nor_on_threads(queries: int, tests: int, seed: int) -> None:
    data = np.round(np.random.default_rng(seed).normal(0.0, 0.3, (queries, tests)), 2)
    options: dict[str, Any] = {"resamples": 300, "seed": seed}
    together = randomisation_tests(data, **options, threads=2), paired_bootstraps(data, **options, threads=2)
    for place, column in enumerate(data.T):
        assert together[0][place] == randomisation_p(column, **options, threads=1)
        alone = bootstrap(column, **options, threads=1)
        assert together[1][place].p == alone.p
        assert [together[1][place].low, together[1][place].high] == pytest.approx([alone.low, alone.high], abs=1e-12)


def test_no_difference_is_no_evidence() -> None:
    nothing = np.zeros(20)
    assert randomisation_p(nothing) == 1.0
    assert bootstrap(nothing, resamples=100).p == 1.0


def test_the_bootstrap_finds_a_difference_that_is_there() -> None:
    data = np.random.default_rng(8).normal(0.3, 0.1, 50)
    found = bootstrap(data, resamples=999)
    assert found.low > 0.2
    assert found.p == 1 / 1000


def test_the_bootstraps_p_is_near_that_of_all_resamples() -> None:
    data = np.array([-0.2, 0.0, 0.1, 0.9])
    means = np.array([np.mean(drawn) for drawn in itertools.product(data, repeat=4)])
    exact = np.mean(np.abs(means - data.mean()) >= data.mean() - 1e-12)  # both tails; each alone is half of it
    found = bootstrap(data, resamples=20_000).p
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert bootstrap(-data, resamples=20_000).p == found


def test_large_collections_are_resampled_in_blocks() -> None:
    data = np.random.default_rng(9).normal(0.0, 1.0, 3000)
    small = randomisation_p(data, resamples=1500)
    assert 0 < small <= 1
    assert abs(bootstrap(data, resamples=1500).low - (data.mean() - 1.96 * data.std() / math.sqrt(3000))) < 0.01


def test_holm_is_that_of_statsmodels() -> None:
    # What statsmodels.stats.multitest.multipletests(p, method="holm") of version 0.15.0 gives.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_p_value_and_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    # Its step-down rule, literally: the hypothesis of rank i is rejected if all before are and p <= level / (m - i).
    for level in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for rank, place in enumerate(order):
            if p_values[place] * (len(p_values) - rank) > level:
                break
            rejected.add(place)
        assert rejected == {place for place, p in enumerate(adjusted) if p <= level}
    assert all(p <= a <= min(1.0, p * len(p_values)) for p, a in zip(p_values, adjusted, strict=True))


# Score cards

BEHIND = {"AP": MeanQueries(1, 0, 0)}
QRELS = {f"q{i}": {"a": 1, "b": 2, "c": 0} for i in range(8)}
BAD = {query: ["c", "a", "b"] for query in QRELS}
GOOD = {**{query: ["b", "a", "c"] for query in QRELS}, "q7": ["c", "a", "b"]}


def card(ranking: dict[str, list[str]], system: str, **options: Any) -> ScoreCard:
    measures = options.pop("measures", ["AP", "RR"])
    return ScoreCard.of(evaluate_flat(None, ranking, measures=measures, **{"qrels": QRELS, **options}), system)


def test_a_comparison_by_hand() -> None:
    (ap, rr) = compare([card(BAD, "bad"), card(GOOD, "good")]).differences
    bad = (1 / 2 + 2 / 3) / 2
    assert (ap.measure, ap.baseline, ap.system, ap.queries) == ("AP", "bad", "good", 8)
    assert [ap.mean_baseline, ap.mean_system] == pytest.approx([bad, (7 + bad) / 8])
    assert ap.difference == pytest.approx(7 / 8 * (1 - bad))
    assert (ap.wins, ap.ties, ap.losses) == (7, 1, 0)
    assert ap.p_randomisation == 2 / 2**7  # seven equal differences: all of them, or all turned round
    assert ap.p_holm == rr.p_holm == 2 * 2 / 2**7
    assert 0 < ap.low < ap.difference < ap.high < 1


def test_cards_are_read_as_they_were_written(tmp_path: Path) -> None:
    graph = example_graph()
    images = {"a": "C0042449;C0018670", "b": "C0005847;C0018670", "c": "C0003842"}
    evaluation = evaluate(images, {"a": ["c"], "b": ["a"], "c": ["b"]}, graph, measures="nn-CUI@2", empty_ideal="skip")
    written = ScoreCard.of(evaluation, "x")
    written.write(tmp_path / "card.json")
    found = ScoreCard.read(tmp_path / "card.json")
    assert found.digest == written.digest
    assert found.conditions == written.conditions
    assert found.values["nn-CUI@2"].tolist() == evaluation.values[:, 0].tolist()
    release = graph.release
    assert found.conditions["release digest"] == release.digest
    assert found.conditions["release sabs"] == list(release.sabs)
    assert found.conditions["release relations"] == list(release.relations)
    assert (found.conditions["n"], found.conditions["lambda"], found.conditions["direction"]) == (1, 0.5, "any")
    assert found.counts["unknown"]["identifiers"] == 0
    assert found.versions["release"] == release.name


def test_a_card_does_not_depend_on_the_names_and_order_of_files(tmp_path: Path) -> None:
    turned = dict(reversed(QRELS.items()))
    cards = [card(BAD, "bad"), card(GOOD, "good", qrels=turned)]
    assert compare(cards).differences[0].wins == 7


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"qrels": {**QRELS, "q0": {"a": 1, "b": 1}}}, "content of qrels"),
        ({"missing": "zero"}, "missing"),
        ({"empty_ideal": "skip"}, "empty_ideal"),
    ],
)
def test_cards_that_do_not_match_are_refused_by_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match="do not match") as caught:
        compare([card(BAD, "bad"), card(GOOD, "good", **options)])
    assert caught.value.column == field
    assert caught.value.found is not None
    assert f"{field}: " in caught.value.found


def test_every_parameter_and_the_release_have_to_match() -> None:
    graph, images = example_graph(), {"a": "C0042449", "b": "C0005847", "c": "C0003842"}
    ranking = {"a": ["b"], "b": ["c"], "c": ["a"]}

    def card_of(**options: Any) -> ScoreCard:
        chosen = {"queries": images, "graph": graph, "measures": "nn-CUI@1", **options}
        return ScoreCard.of(evaluate_flat(chosen.pop("queries"), ranking, chosen.pop("graph"), **chosen), str(options))

    for options, fields in (
        ({"n": 2}, "n"),
        ({"lam": 0.2, "direction": "up"}, "lambda, direction"),
        ({"unknown": "isolated"}, "unknown"),
        ({"queries": {**images, "c": "C0003483"}}, "content of queries, content of corpus"),
        ({"graph": None, "measures": "CUI@1"}, "release digest, release sabs, release relations"),
    ):
        with pytest.raises(InputError, match="do not match") as caught:
            compare([card_of(), card_of(**options)])
        assert caught.value.column == fields


def test_a_card_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    card(BAD, "bad").write(path)
    content = json.loads(path.read_text())
    content["values"]["RR"][0] = 1.0
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="changed after it was written") as caught:
        ScoreCard.read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not JSON"), ("[]", "not a score card"), ("{}", "not a score card"), ('{"score_card": 1}', "another format")],
)
def test_files_that_are_no_card(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        ScoreCard.read(path)


@pytest.mark.parametrize(
    ("cards", "options", "message"),
    [
        ([card(BAD, "bad")], {}, "two or more"),
        ([card(BAD, "bad"), card(GOOD, "bad")], {}, "of different names"),
        ([card(BAD, "bad"), card(GOOD, "good")], {"measures": "P@5"}, "found P@5; expected AP, RR"),
        ([card(BAD, "bad"), card(GOOD, "good", measures="bpref")], {}, "none in common"),
        ([card(BAD, "bad"), card(GOOD, "good")], {"resamples": 0}, "1 or more"),
        ([card(BAD, "bad"), card(GOOD, "good")], {"confidence": 1.0}, "between 0 and 1"),
        ([card(BAD, "bad"), card(GOOD, "good")], {"seed": -1}, "0 or more"),
        (
            [card({}, "bad", missing="skip"), card(GOOD, "good", missing="skip")],
            {},
            "no query was scored for both systems",
        ),
    ],
)
def test_what_cannot_be_compared(cards: list[ScoreCard], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(cards, **options)


def test_queries_that_one_of_them_skipped_are_left_out() -> None:
    some = {query: order for query, order in BAD.items() if query != "q0"}
    found = compare([card(some, "some", missing="skip"), card(GOOD, "good", missing="skip")])
    assert found.differences[0].queries == 7


def test_three_systems_are_three_pairs_and_are_adjusted_together() -> None:
    other = {query: ["a", "b", "c"] for query in QRELS}
    found = compare([card(BAD, "1"), card(GOOD, "2"), card(other, "3")], ["AP"])
    assert [(d.baseline, d.system) for d in found.differences] == [("1", "2"), ("1", "3"), ("2", "3")]
    assert [d.p_holm for d in found.differences] == holm([d.p_randomisation for d in found.differences])


@settings(max_examples=examples(20))
@given(st.data())
def test_the_order_of_queries_and_of_systems_and_how_many_are_tested_at_once_make_no_difference(
    data: st.DataObject,
) -> None:
    queries = [f"q{place}" for place in range(data.draw(st.integers(1, 30)))]
    values = st.lists(
        st.sampled_from([0.0, 0.1, 0.2, 0.7, 1.0, math.nan]), min_size=len(queries), max_size=len(queries)
    )
    columns = {name: dict(zip(queries, [0.5, *data.draw(values)[1:]], strict=True)) for name in "abc"}

    def card_of(order: list[str]) -> dict[str, ScoreCard]:
        return {
            name: ScoreCard(name, {}, tuple(order), {"AP": np.array([of[q] for q in order])}, BEHIND, {}, {})
            for name, of in columns.items()
        }

    first = compare(card_of(queries), resamples=200, seed=7)
    again = compare(card_of(data.draw(st.permutations(queries))), resamples=200, seed=7, threads=1)
    assert again.differences == first.differences
    with mock.patch.object(comparison, "_CELLS_AT_ONCE", 1):
        alone = compare(card_of(queries), resamples=200, seed=7)
    turned = compare(dict(reversed(card_of(queries).items())), resamples=200, seed=7)
    for ours, theirs in zip(first.differences, alone.differences, strict=True):
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
        assert replace(ours, low=0, high=0) == replace(theirs, low=0, high=0)
    for ours in first.differences:
        (theirs,) = [d for d in turned.differences if {d.baseline, d.system} == {ours.baseline, ours.system}]
        assert (ours.wins, ours.ties, ours.losses) == (theirs.losses, theirs.ties, theirs.wins)
        assert (ours.p_randomisation, ours.p_bootstrap) == (theirs.p_randomisation, theirs.p_bootstrap)
        assert (ours.low, ours.high) == pytest.approx((-theirs.high, -theirs.low), abs=1e-12)


def test_values_that_differ_by_rounding_are_a_tie() -> None:
    def card_of(name: str, value: float) -> ScoreCard:
        return ScoreCard(name, {}, ("q1", "q2"), {"AP": np.array([value, 0.5])}, BEHIND, {}, {})

    (only,) = compare([card_of("a", 0.1 + 0.2), card_of("b", 0.3)], resamples=10).differences
    assert (only.wins, only.ties, only.losses, only.p_randomisation, only.effect) == (0, 2, 0, 1.0, None)


# The command


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, judged in QRELS.items() for d, g in judged.items()))
    for name, ranking in (("bad", BAD), ("good", GOOD)):
        rows = [f"{q} Q0 {d} {rank} {-rank} {name}\n" for q, order in ranking.items() for rank, d in enumerate(order)]
        Path(f"{name}.run").write_text("".join(rows))

    def program(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cuihop", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code if isinstance(stop.value.code, int) else 0, captured.out, captured.err

    for name in ("bad", "good"):
        program("evaluate", "--qrels", "qrels", f"{name}.run", "-m", "AP", "--card", f"{name}.json")
    return program


def test_cards_are_compared(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = run("compare", "bad.json", "good.json", "--output", "side.csv", "--verbose")
    words = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "ᵃ bad 0.5833 ᵇ good 0.9479ᵃ" in words
    assert "AP good bad +0.3646" in words
    assert "0.016 0.016 +2.47 7/1/0" in words
    assert "8 queries that both systems were scored on" in words
    assert "adjusted for the only test, 1 measure × 1 pair of systems" in words
    with Path("side.csv").open() as file:
        assert next(iter(csv.DictReader(file))) == {
            "query": "q0", "AP bad": repr((1 / 2 + 2 / 3) / 2), "AP good": "1.0",
        }  # fmt: skip


def test_the_comparison_as_json(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("compare", "bad.json", "good.json", "-m", "AP", "--json", "--resamples", "50", "--seed", "3")
    answer = json.loads(out)
    assert code == 0
    assert [system["system"] for system in answer["systems"]] == ["bad", "good"]
    assert answer["differences"][0]["wins"] == 7
    assert (answer["resamples"], answer["seed"]) == (50, 3)


def test_cards_of_other_conditions_are_refused(run: Callable[..., tuple[int, str, str]]) -> None:
    run("evaluate", "--qrels", "qrels", "good.run", "-m", "AP", "--card", "trec.json", "--ties", "trec",
        "--system", "trec")  # fmt: skip
    code, out, err = run("compare", "bad.json", "trec.json")
    assert (code, out) == (3, "")
    assert "field ties: the score cards of bad and trec do not match; found ties: 'name' and 'trec'" in " ".join(
        err.split()
    )
    assert run("compare", "bad.json", "none.json")[0] == 3


def test_cards_of_another_version_are_reported(run: Callable[..., tuple[int, str, str]]) -> None:
    old = ScoreCard.read("good.json")
    replace(old, versions={"cuihop": "0.0"}).write("old.json")
    code, _, err = run("compare", "bad.json", "old.json")
    assert code == 0
    assert "different versions" in err
