"""DCG, NDCG@K and the names of measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cuihop.errors import InputError
from cuihop.measures import Measure, dcg, measures_named, ndcg_at_k

gains = st.lists(st.floats(0, 1), min_size=2, max_size=20)


def test_dcg_by_hand() -> None:
    assert dcg([1.0, 0.5, 0.0, 0.25]) == pytest.approx(1 + 0.5 / math.log2(3) + 0.25 / math.log2(5), abs=1e-15)
    assert dcg([1.0, 0.5, 0.25], k=1) == 1.0


def test_ranks_that_a_list_does_not_fill_gain_nothing() -> None:
    assert dcg([0.5], k=10) == dcg([0.5, 0.0, 0.0]) == 0.5
    assert dcg([]) == dcg([], k=3) == 0.0
    assert ndcg_at_k([], [1.0], k=3) == 0.0


@given(gains, st.integers(1, 25))
def test_dcg_and_ndcg_are_those_of_scikit_learn(corpus: list[float], k: int) -> None:
    # The order of retrieval as scores, without ties: scikit-learn averages over ties.
    from sklearn.metrics import dcg_score, ndcg_score

    scores = [list(range(len(corpus), 0, -1))]
    assert dcg(corpus, k) == pytest.approx(dcg_score([corpus], scores, k=k), abs=1e-12)
    assume(max(corpus) > 1e-100)
    assert ndcg_at_k(corpus, corpus, k) == pytest.approx(ndcg_score([corpus], scores, k=k), abs=1e-12)


@given(gains, st.integers(1, 25))
def test_the_best_order_scores_one_and_no_order_more(corpus: list[float], k: int) -> None:
    best = sorted(corpus, reverse=True)
    assert ndcg_at_k(best, corpus, k) == (1.0 if max(corpus) > 0 else 0.0)
    assert 0.0 <= ndcg_at_k(corpus, corpus, k) <= 1.0 + 1e-12


def test_an_ideal_of_nothing_scores_nothing() -> None:
    assert ndcg_at_k([0.0, 0.0], [0.0, 0.0, 0.0], k=2) == 0.0
    assert ndcg_at_k([], [], k=2) == 0.0


@pytest.mark.parametrize("bad", [[0.5, -0.1], [math.nan], [math.inf], [[1.0]]])
def test_gains_that_are_none(bad: list[float]) -> None:
    with pytest.raises(InputError, match="gain"):
        dcg(bad)
    with pytest.raises(InputError, match="gain"):
        ndcg_at_k([1.0], bad, 1)


def test_the_faulty_gain_is_named() -> None:
    with pytest.raises(InputError, match=r"rank 3.*found -1\.0"):
        dcg(np.array([1.0, 2.0, -1.0]))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5", None])
def test_cut_offs_that_are_none(k: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        ndcg_at_k([1.0], [1.0], k)
    with pytest.raises(InputError, match="1 or more"):
        Measure("CUI", k)


# Names


def test_names_of_measures_are_read_and_written_alike() -> None:
    found = measures_named(["nn-CUI@5,10, 30", "CUI@10", " CUI@10 ", Measure("nn-CUI", 5)])
    assert found == (Measure("nn-CUI", 5), Measure("nn-CUI", 10), Measure("nn-CUI", 30), Measure("CUI", 10))
    assert measures_named([str(measure) for measure in found]) == found
    assert measures_named("nn-CUI@5") == measures_named(Measure("nn-CUI", 5)) == (Measure("nn-CUI", 5),)


@pytest.mark.parametrize(
    "name",
    ["", "nn-CUI", "nn-CUI@", "nn-CUI@0", "nn-CUI@5,", "nn-CUI@5;10", "nn-CUI@-5", "nn-CUI@1.5", "ERR@10", "cui@5",
     "nn-CUI@5 10", "nn-CUI@٥"],
)  # fmt: skip
def test_names_that_are_no_measure(name: str) -> None:
    with pytest.raises(InputError, match="nn-CUI@5,10,30"):
        measures_named(name)


def test_no_measure_at_all() -> None:
    with pytest.raises(InputError, match="at least one"):
        measures_named([])


def test_a_family_that_is_none() -> None:
    with pytest.raises(InputError, match="All of them: cuihop measures list"):
        Measure("ERR", 5)
