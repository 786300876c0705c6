"""Correlations and their resamples, against SciPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.agreement.agreement import correlations
from cuihop.agreement.result import Correlation
from cuihop.evaluation.resampling import resampled
from examples import examples

NUMBERS = st.sampled_from([0.0, 0.25, 1.0, 2.5, 2.5 + 1e-15, 7.0, -3.0, 1600.0])


def expected(scores: np.ndarray, values: np.ndarray) -> list[tuple[float, float]]:
    """Spearman's and Pearson's correlation by SciPy; NaN where a side is constant."""
    from scipy.stats import pearsonr, spearmanr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(spearmanr(scores, column)[0], pearsonr(scores, column)[0]) for column in values.T]


@settings(max_examples=examples(60))
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=9), seed=st.integers(0, 5))
def test_every_resample_has_the_correlations_of_its_pairs(rows: list[tuple[float, ...]], seed: int) -> None:
    table = np.array(rows)
    found = correlations(table[:, 0], table[:, 1:], resamples=5, seed=seed)
    table = np.round(table, 12)  # values that differ by rounding are tied
    drawn = resampled(lambda times: times, len(rows), 5, seed, 1).astype(int)
    for place, times in enumerate([np.ones(len(rows), dtype=int), *drawn]):
        repeated = np.repeat(table, times, axis=0)
        by_scipy = expected(repeated[:, 0], repeated[:, 1:])
        np.testing.assert_allclose(found.spearman[place], [each[0] for each in by_scipy], atol=1e-9)
        np.testing.assert_allclose(found.pearson[place], [each[1] for each in by_scipy], atol=1e-6)


def test_the_interval_is_of_the_percentiles_of_the_resamples() -> None:
    from scipy.stats import pearsonr, spearmanr

    generator = np.random.default_rng(3)
    scores = generator.normal(size=80)
    values = (scores + generator.normal(size=80))[:, np.newaxis]
    found = correlations(scores, values, resamples=2_000, seed=1)
    spearman = found.interval(found.spearman[:, 0], 0.95)
    assert spearman.value == pytest.approx(spearmanr(scores, values[:, 0])[0])
    assert (spearman.low, spearman.high) == pytest.approx(tuple(np.quantile(found.spearman[1:, 0], [0.025, 0.975])))
    of_fisher = pearsonr(scores, values[:, 0]).confidence_interval(0.95)
    pearson = found.interval(found.pearson[:, 0], 0.95)
    assert (pearson.low, pearson.high) == pytest.approx((of_fisher.low, of_fisher.high), abs=0.05)


@pytest.mark.parametrize("scores", [[1.0, 2.0], [4.0, 4.0, 4.0], []])
def test_a_constant_or_few_pairs_have_no_correlation(scores: list[float]) -> None:
    found = correlations(np.array(scores), np.arange(len(scores), dtype=float)[:, np.newaxis], resamples=9, seed=0)
    for kind in (found.spearman, found.pearson):
        assert found.interval(kind[:, 0], 0.95) == Correlation(None, None, None)
