"""Random resamples of the queries of an evaluation, the same for the same seed, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.arrays import Float64
from cuihop.resources.cores import in_order

MOST_RESAMPLES = 1_000_000

_CELLS_A_BLOCK = 1 << 21  # bounds the memory of resampling: 16 MB of numbers for each thread

EXCHANGES, _QUERIES = 0, 1
"""Streams of random numbers."""


def resampled_sums(columns: Float64, resamples: int, seed: int, threads: int | None) -> Float64:
    """The sums of each column over queries drawn with replacement, as many as there are; shape (resamples, columns).

    ``columns`` are float64, shape (queries, columns), of at least one query, and every column has the same draws. The
    numbers depend on the seed, and not on the threads.
    """
    return resampled(lambda times: np.asarray(times @ columns), len(columns), resamples, seed, threads)


def resampled(
    statistic: Callable[[Float64], Float64], items: int, resamples: int, seed: int, threads: int | None
) -> Float64:
    """A statistic of resamples, each of as many items drawn with replacement; its first axis is that of the resamples.

    The statistic of some resamples gets how often each item was drawn: float64, shape (rows, items).
    """

    def of_block(generator: np.random.Generator, rows: int) -> Float64:
        drawn = generator.integers(0, items, (rows, items))
        drawn += np.arange(rows)[:, np.newaxis] * items
        times = np.bincount(drawn.ravel(), minlength=rows * items).reshape(rows, items)
        return statistic(times.astype(np.float64))

    return np.concatenate(list(in_blocks(of_block, items, resamples, (seed, _QUERIES), threads)))


def mean_interval(
    values: Float64, *, confidence: float, resamples: int, seed: int, threads: int | None
) -> tuple[float, float] | tuple[None, None]:
    """The confidence interval of a mean: percentiles of resampled means (Efron and Tibshirani 1993, chapter 13).

    ``values`` are float64, shape (queries,); NaN is no value, and without any there is no interval. The rest is as in
    `resampled_sums`.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return None, None
    means = resampled_sums(np.ascontiguousarray(values[:, np.newaxis]), resamples, seed, threads)[:, 0] / len(values)
    return interval_of(means, confidence)


def interval_of(resampled: Float64, confidence: float) -> tuple[float, float]:
    """The percentiles of resampled values, shape (resamples,), that bound a confidence interval."""
    low, high = np.quantile(resampled, [(1.0 - confidence) / 2, (1.0 + confidence) / 2]).tolist()
    return low, high


def in_blocks(
    call: Callable[[np.random.Generator, int], npt.NDArray[np.generic]],
    queries: int, resamples: int, stream: tuple[int, int], threads: int | None,
) -> Iterator[npt.NDArray[np.generic]]:  # fmt: skip
    """The results of the call for each block of resamples, in their order."""
    step = max(1, _CELLS_A_BLOCK // queries)

    def block(number: int) -> npt.NDArray[np.generic]:
        generator = np.random.default_rng([*stream, number])
        return call(generator, min(step, resamples - number * step))

    return in_order(block, range(-(-resamples // step)), threads)


def checked_resampling(resamples: int, confidence: float, seed: int) -> None:
    """Refuse parameters out of their range."""
    if isinstance(resamples, bool) or not isinstance(resamples, int) or not 1 <= resamples <= MOST_RESAMPLES:
        raise InputError(
            "not a number of resamples", column="resamples", found=repr(resamples),
            expected=f"1 or more, {MOST_RESAMPLES:,} at most",
        )  # fmt: skip
    if not 0.0 < confidence < 1.0:
        raise InputError(
            "not a confidence", column="confidence", found=repr(confidence), expected="a number between 0 and 1"
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", column="seed", found=repr(seed), expected="a whole number, 0 or more")
