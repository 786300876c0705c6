"""Significance of the difference of two systems on the same queries: randomisation, bootstrap, Student's t, Holm.

The tests of many differences share their random draws: the same exchanges and the same resampled queries serve every
column of a matrix, as one matrix product. The result of a column does not depend on the other columns, on threads or
on memory: each block of resamples has a generator of its own, made from the seed and the number of the block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.evaluation.resampling import EXCHANGES, in_blocks, resampled_sums
from cuihop.resources.arrays import Float64

__all__ = [
    "PairedBootstrap",
    "StudentTest",
    "holm",
    "paired_bootstraps",
    "randomisation_tests",
    "student_tests",
    "two_sided_p",
]


_CELLS_A_PASS = 1 << 24  # columns that share their draws: 128 MB of differences or resampled means
_TINY, _ENOUGH, _MOST_TERMS = 1e-300, 1e-15, 100_000  # of a continued fraction
_ROUNDING = 1e-12  # sums of the same numbers in another order are equal


def randomisation_tests(
    differences: Float64, *, resamples: int = 10_000, seed: int = 0, threads: int | None = None
) -> list[float]:
    """The two-sided p-value of each mean difference, under random exchange of the two systems in each query.

    Each difference changes its sign at random; p is the share of assignments whose mean is at least as far from 0.
    If the 2^m assignments of the m differences that are not 0 are at most ``resamples``, each is tried once and p is
    exact. Otherwise p = (1 + as far) / (1 + resamples) over random ones. Source: Fisher 1935; for retrieval,
    Smucker, Allan and Carterette 2007. Over thousands of queries it keeps its level, as bootstrap and t-test do, and
    Wilcoxon's and the sign test do not (Ihemelandu and Ekstrand 2023).

    Args:
        differences: float64, shape (queries, tests), finite.
        resamples: number of random assignments.
        seed: the same gives the same.
        threads: number of threads; ``None`` is one for each core. The numbers do not depend on it.

    >>> randomisation_tests(np.array([[0.1], [0.2], [0.3]]))  # two of eight assignments are as far
    [0.25]
    """
    queries, tests = differences.shape
    p_values = [1.0] * tests
    sampled = []
    for test in range(tests):
        nonzero = differences[differences[:, test] != 0.0, test]
        if len(nonzero) < 63 and 2 ** len(nonzero) <= resamples:
            p_values[test] = _exact(nonzero)
        else:
            sampled.append(test)
    for tested in _passes(sampled, max(queries, 1)):
        columns = differences[:, tested]
        totals, least = columns.sum(axis=0), _far(columns)

        def reached(generator: np.random.Generator, rows: int) -> npt.NDArray[np.int64]:
            random_bytes = np.frombuffer(generator.bytes(rows * -(-queries // 8)), dtype=np.uint8).reshape(rows, -1)
            changed = np.unpackbits(random_bytes, axis=1, count=queries).astype(np.float64)
            return np.asarray((np.abs(totals - 2.0 * (changed @ columns)) >= least).sum(axis=0))  # noqa: B023 - called at once

        counts = sum(in_blocks(reached, queries, resamples, (seed, EXCHANGES), threads))
        for test, count in zip(tested, np.asarray(counts).tolist(), strict=True):
            p_values[test] = (1 + count) / (1 + resamples)
    return p_values


def _exact(nonzero: Float64) -> float:
    """Over all assignments of signs to differences, none of which is 0."""
    assignments = np.arange(2 ** len(nonzero))[:, np.newaxis] >> np.arange(len(nonzero)) & 1
    sums = np.abs((1.0 - 2.0 * assignments) @ nonzero)
    return int((sums >= _far(nonzero[:, np.newaxis])).sum()) / len(sums)


def _far(differences: Float64) -> Float64:
    """The smallest sum that is as far from 0 as that of each column: a little less, since sums are rounded."""
    sums = np.array([abs(math.fsum(column)) for column in differences.T])
    slack = (_ROUNDING + len(differences) * np.finfo(np.float64).eps) * np.abs(differences).sum(axis=0)
    return np.asarray(sums - slack)


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """Result of resampling the queries for a mean difference.

    Attributes:
        low, high: the percentile confidence interval.
        p: two-sided, of the mean difference shifted to 0.
    """

    low: float
    high: float
    p: float


def paired_bootstraps(
    differences: Float64, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0,
    threads: int | None = None,
) -> list[PairedBootstrap]:  # fmt: skip
    """Confidence interval and p-value of each mean difference by resampling the queries with replacement.

    The interval is that of the percentiles of the resampled means (Efron and Tibshirani 1993, chapter 13). p = (1 +
    resampled means at least as far from the mean as the mean is from 0) / (1 + resamples): the distribution shifted
    to no difference, as Smucker, Allan and Carterette 2007 do it for retrieval.

    Args:
        differences: float64, shape (queries, tests), finite, at least one query.
        confidence: of the interval.
        resamples: number of resamples.
        seed: the same gives the same.
        threads: number of threads; ``None`` is one for each core. The numbers do not depend on it.
    """
    queries, tests = differences.shape
    tail = (1.0 - confidence) / 2
    results: list[PairedBootstrap] = []
    for tested in _passes(range(tests), max(queries, resamples)):
        columns = differences[:, tested]

        resampled = resampled_sums(columns, resamples, seed, threads) / queries
        observed = columns.sum(axis=0) / queries
        reached = (np.abs(resampled - observed) >= _far(columns) / queries).sum(axis=0)
        low, high = np.quantile(resampled, [tail, 1.0 - tail], axis=0)
        p_values = (1 + reached) / (1 + resamples)
        results += map(PairedBootstrap, low.tolist(), high.tolist(), p_values.tolist())
    return results


def _passes(tests: Sequence[int], cells: int) -> Iterator[list[int]]:
    """Columns that are tested at once: as many as fit the memory."""
    step = max(1, _CELLS_A_PASS // cells)
    for first in range(0, len(tests), step):
        yield list(tests[first : first + step])


@dataclass(frozen=True, slots=True)
class StudentTest:
    """Student's test of a mean difference, and its effect size.

    Attributes:
        p: two-sided, of Student's paired t-test; ``None`` if the differences have no spread.
        effect: the mean difference in units of the standard deviation of the differences; ``None`` as for p.
    """

    p: float | None
    effect: float | None


def student_tests(differences: Float64) -> list[StudentTest]:
    """Student's paired t-test of each mean difference, and its effect size.

    With mean m and standard deviation s (divisor queries − 1) of the differences, t = m / (s / √queries), and the
    effect size is m / s. Source: Student 1908; for retrieval, Sakai 2018. Over thousands of queries almost any
    difference is significant; how large it is, the effect size says (Ihemelandu and Ekstrand 2023).

    Args:
        differences: float64, shape (queries, tests), finite.

    >>> student_tests(np.array([[0.1], [0.2], [0.3]]))[0].effect  # 0.2 / 0.1
    2.0
    """
    queries = len(differences)
    results = []
    for column in differences.T:
        mean = math.fsum(column) / queries
        spread = math.sqrt(math.fsum((column - mean) ** 2) / (queries - 1)) if queries > 1 else 0.0
        if spread <= _ROUNDING:
            results.append(StudentTest(None, None))
        else:
            results.append(StudentTest(two_sided_p(mean / (spread / math.sqrt(queries)), queries - 1), mean / spread))
    return results


def two_sided_p(t: float, freedom: int) -> float:
    """Probability of a value at least as far from 0 as t under Student's t distribution.

    It is I_x(ν/2, 1/2), the regularised incomplete beta function at x = ν / (ν + t²); its continued fraction is that
    of the Digital Library of Mathematical Functions (dlmf.nist.gov), 8.17.22, evaluated by Lentz's method.

    Args:
        t: finite. freedom: ν, the degrees of freedom, 1 or more.

    >>> round(two_sided_p(12.706204736, 1), 9), two_sided_p(0.0, 5)
    (0.05, 1.0)
    """
    a, b = freedom / 2, 0.5
    x, rest = freedom / (freedom + t * t), t * t / (freedom + t * t)
    if rest == 0.0:
        return 1.0
    if x == 0.0:
        return 0.0
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * _log(x, rest) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(a, b, x) / a
    return 1.0 - scale * _fraction(b, a, rest) / b


def _log(x: float, rest: float) -> float:
    """The logarithm of x = 1 − rest."""
    return math.log1p(-rest) if rest < 0.5 else math.log(x)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), which converges if x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) <= _ENOUGH:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number, in the same order (Holm 1979).

    Of m p-values in ascending order, the i-th is multiplied by m − i + 1; none is then less than one before it, nor
    more than 1. Whoever calls those at most α significant errs with probability α or less in any of the m tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
