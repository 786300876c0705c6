"""Confidence intervals of many means over the same queries at once, by resampling the queries."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.resources.progress import Progress

__all__ = ["CONFIDENCE", "RESAMPLES", "Interval", "intervals"]

CONFIDENCE = 0.95
RESAMPLES = 1_000

Float64 = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]

_CELLS_A_BLOCK = 1 << 22  # bounds the memory of resampling: 32 MB of weights
_DIGITS = 9  # beyond, sums depend on the processor


def intervals(values: Float64, seed: int, progress: Progress, *, resamples: int = RESAMPLES) -> list[Interval | None]:
    """The 95 % percentile bootstrap interval of the mean of each column (Efron and Tibshirani 1993).

    Each resample draws as many queries as there are, with replacement: the same for all columns, so that a column of
    differences of two others has the interval of the paired bootstrap. The mean is over the drawn queries that have a
    value. Bounds are rounded to 9 decimals.

    Args:
        values: float64, shape (queries, columns); NaN where a query has no value.
        seed: the same gives the same.
        progress: called with the resamples done and all.
        resamples: how many.

    Returns:
        For each column the lower and the upper bound; ``None`` where no query has a value.
    """
    queries, columns = values.shape
    generator = np.random.default_rng(seed)
    there, which = np.unique(~np.isnan(values), axis=1, return_inverse=True)
    filled, counted = (np.ascontiguousarray(table.T) for table in (np.nan_to_num(values), there.astype(np.float64)))
    means = np.empty((resamples, columns), dtype=np.float64)
    step = max(1, _CELLS_A_BLOCK // queries)
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        times = np.empty((rows, queries), dtype=np.float64)
        for row in times:
            row[:] = np.bincount(generator.integers(0, queries, queries), minlength=queries)
        sizes = (times @ counted.T)[:, which.ravel()]
        with np.errstate(invalid="ignore"):
            means[first : first + rows] = (times @ filled.T) / sizes
        progress(first + rows, resamples)
    tail = (1.0 - CONFIDENCE) / 2
    found: list[Interval | None] = []
    for column in means.T:
        drawn_means = column[~np.isnan(column)]  # no query with a value was drawn
        if not len(drawn_means):
            found.append(None)
            continue
        low, high = np.quantile(drawn_means, [tail, 1.0 - tail]).round(_DIGITS).tolist()
        found.append((low, high))
    return found
