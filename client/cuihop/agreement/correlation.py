"""Correlation of human scores with the values of measures, and its resamples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.evaluation.resampling import interval_of, resampled

__all__ = ["FEWEST_PAIRS", "Correlation", "Correlations", "correlations"]

Float64 = npt.NDArray[np.float64]

FEWEST_PAIRS = 3
"""Of fewer pairs there is no correlation: two points always lie on a line."""

_DIGITS = 12  # behind the point; values equal in these are tied: measures are sums in different orders
_FLAT = 1e-12  # of a variance in units of the variance of all pairs


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation and its confidence interval. ``None``: there is none, since a side is constant or pairs are few."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Correlations:
    """Spearman's and Pearson's correlation of scores with some measures on the same pairs.

    Attributes:
        spearman, pearson: float64, shape (1 + resamples, measures): of the pairs, then of each resample. NaN: none.
    """

    spearman: Float64
    pearson: Float64

    def interval(self, resamples: Float64, confidence: float) -> Correlation:
        """A column of either with its confidence interval: the percentiles of the resamples."""
        value, drawn = resamples[0], resamples[1:]
        drawn = drawn[~np.isnan(drawn)]
        if np.isnan(value):
            return Correlation(None, None, None)
        return Correlation(float(value), *(interval_of(drawn, confidence) if len(drawn) else (None, None)))


def correlations(scores: Float64, values: Float64, *, resamples: int, seed: int) -> Correlations:
    """Correlations of scores with each measure, of all pairs and of resamples of the pairs.

    Spearman's is Pearson's correlation of the ranks, and equal values have the mean of their ranks; in a resample,
    ranks are those among its pairs. The pairs are resampled with replacement (Efron and Tibshirani 1993, chapters 6
    and 13).

    Args:
        scores: float64, shape (pairs,), finite.
        values: float64, shape (pairs, measures), finite.
        resamples: number of resamples. seed: the same gives the same.
    """
    pairs, measures = values.shape
    if pairs < FEWEST_PAIRS:
        nothing: Float64 = np.full((1, measures), np.nan)
        return Correlations(nothing, nothing)
    columns = np.column_stack((scores, values)).round(_DIGITS)

    def both(times: Float64) -> Float64:
        return np.stack((_spearman(columns, times), _pearson(columns, times)), axis=2)

    found = np.concatenate((both(np.ones((1, pairs))), resampled(both, pairs, resamples, seed, None)))
    return Correlations(found[:, :, 0], found[:, :, 1])


def _spearman(columns: Float64, times: Float64) -> Float64:
    """Of the first column with each other, of each resample: shape (rows, columns - 1)."""
    first, *others = (_ranks(column, times) for column in columns.T)
    weighted = times * first
    spread = np.einsum("rp,rp->r", weighted, first)
    found = []
    for other in others:
        shared = np.einsum("rp,rp->r", weighted, other)
        product = spread * np.einsum("rp,rp,rp->r", times, other, other)
        found.append(_ratio(shared, product, product > 0))
    return np.stack(found, axis=1)


def _ranks(column: Float64, times: Float64) -> Float64:
    """Ranks of the items in each resample, from their mean: shape (rows, items)."""
    distinct, place = np.unique(column, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(distinct)))
    tied = np.add.reduceat(times[:, order], starts, axis=1)
    ranks = np.cumsum(tied, axis=1) - (tied - 1.0) / 2.0 - (len(column) + 1.0) / 2.0
    return np.asarray(ranks[:, place])


def _pearson(columns: Float64, times: Float64) -> Float64:
    """Of the first column with each other, of each resample: shape (rows, columns - 1)."""
    spread = columns.std(axis=0)
    standard = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    items = len(columns)
    means = times @ standard / items
    variances = times @ standard**2 / items - means**2
    shared = times @ (standard[:, :1] * standard[:, 1:]) / items - means[:, :1] * means[:, 1:]
    varied = (variances[:, :1] > _FLAT) & (variances[:, 1:] > _FLAT)
    return _ratio(shared, variances[:, :1] * variances[:, 1:], varied)


def _ratio(shared: Float64, product: Float64, defined: npt.NDArray[np.bool_]) -> Float64:
    ratio = shared / np.sqrt(np.where(defined, product, 1.0))
    return np.where(defined, np.clip(ratio, -1.0, 1.0), np.nan)
