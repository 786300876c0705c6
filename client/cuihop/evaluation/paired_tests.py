"""Is the difference of two systems on the same queries more than chance? Randomisation, bootstrap, Holm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError

__all__ = ["PairedBootstrap", "holm", "paired_bootstrap", "randomisation_test"]

Float64 = npt.NDArray[np.float64]

_CELLS_A_BLOCK = 1 << 21  # bounds the memory of resampling: 16 MB of numbers
_ROUNDING = 1e-12  # sums of the same numbers in another order are equal


def randomisation_test(differences: Float64, *, resamples: int = 10_000, seed: int = 0) -> float:
    """The two-sided p-value of a mean difference, under random exchange of the two systems in each query.

    Each difference changes its sign at random; p is the share of assignments whose mean is at least as far from 0.
    Where all 2^m assignments of the m differences that are not 0 are at most ``resamples``, each is tried once and p
    is exact. Otherwise p = (1 + as far) / (1 + resamples) over random ones. Source: Fisher 1935; for retrieval,
    Smucker, Allan and Carterette 2007.

    Args:
        differences: float64, shape (queries,), finite.
        resamples: how many random assignments.
        seed: the same gives the same.

    >>> randomisation_test(np.array([0.1, 0.2, 0.3]))  # two of eight assignments are as far
    0.25
    """
    kept = differences[differences != 0.0]
    if not len(kept):
        return 1.0
    far = abs(math.fsum(kept)) * (1.0 - _ROUNDING)
    exact = len(kept) < 63 and 2 ** len(kept) <= resamples
    total = 2 ** len(kept) if exact else resamples
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS_A_BLOCK // len(kept))
    reached = 0
    for first in range(0, total, step):
        rows = min(step, total - first)
        if exact:
            assignments = np.arange(first, first + rows)[:, np.newaxis]
            changed = (assignments >> np.arange(len(kept)) & 1).astype(np.bool_)
        else:
            drawn = generator.integers(0, 256, (rows, -(-len(kept) // 8)), dtype=np.uint8)
            changed = np.unpackbits(drawn, axis=1, count=len(kept)).astype(np.bool_)
        sums = np.where(changed, -1.0, 1.0) @ kept
        reached += int((np.abs(sums) >= far).sum())
    return reached / total if exact else (1 + reached) / (1 + total)


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """What resampling the queries says of a mean difference.

    Attributes:
        low, high: the percentile confidence interval.
        p: two-sided, of the mean difference shifted to 0.
    """

    low: float
    high: float
    p: float


def paired_bootstrap(
    differences: Float64, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> PairedBootstrap:
    """Confidence interval and p-value of a mean difference by resampling the queries with replacement.

    The interval is that of the percentiles of the resampled means; p = (1 + resampled means at least as far from the
    mean as the mean is from 0) / (1 + resamples). Source: Efron and Tibshirani 1993; for retrieval, Sakai 2006.

    Args:
        differences: float64, shape (queries,), finite, at least one.
        confidence: of the interval.
        resamples: how many.
        seed: the same gives the same.
    """
    count = len(differences)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples, dtype=np.float64)
    step = max(1, _CELLS_A_BLOCK // count)
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        means[first : first + rows] = differences[generator.integers(0, count, (rows, count))].mean(axis=1)
    mean = math.fsum(differences) / count
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(means, [tail, 1.0 - tail]).tolist()
    far = abs(mean) * (1.0 - _ROUNDING)
    reached = int((np.abs(means - mean) >= far).sum()) if mean else resamples
    return PairedBootstrap(low, high, (1 + reached) / (1 + resamples))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number, in the same order (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def checked_resampling(resamples: int, confidence: float, seed: int) -> None:
    """Refuse parameters out of their range."""
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 1:
        raise InputError("not a number of resamples", column="resamples", found=repr(resamples), expected="1 or more")
    if not 0.0 < confidence < 1.0:
        raise InputError(
            "not a confidence", column="confidence", found=repr(confidence), expected="a number between 0 and 1"
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", column="seed", found=repr(seed), expected="a whole number, 0 or more")
