"""Judged rankings, of many queries in arrays and of one: the input of every measure of judged relevance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.arrays import Float64, Int64, bounds_of

Gain: TypeAlias = Literal["linear", "exp"]
"""``linear``: the grade itself (Järvelin and Kekäläinen 2002). ``exp``: 2^grade − 1 (Burges et al. 2005)."""

_AT_ONCE = 1 << 19  # ranks of ideal rankings: a few megabytes, however many documents are relevant


@dataclass(frozen=True, eq=False)
class Pools:
    """Number of documents of each grade in each pool: all that were judged for a query, retrieved or not.

    Queries may share a pool: labels have one for each of their values.

    Attributes:
        grades: float64, shape (grades,): distinct, descending. Those below 0 count as not judged.
        counts: int64, shape (pools, grades).
    """

    grades: Float64
    counts: Int64
    _ideals: dict[tuple[int | None, Gain], Float64] = field(default_factory=dict, init=False, repr=False)

    def relevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """R, the number of relevant documents of each of these pools. Shape as ``pool``."""
        total: Int64 = self.counts[np.ix_(pool, self.grades >= threshold)].sum(axis=1)
        return total

    def nonrelevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """N, the number of documents judged not relevant in each of these pools. Shape as ``pool``."""
        total: Int64 = self.counts[np.ix_(pool, (self.grades >= 0) & (self.grades < threshold))].sum(axis=1)
        return total

    def ideal(self, k: int | None, gain: Gain) -> Float64:
        """IDCG@K: the DCG of the k largest grades, descending, or of all grades. Shape (pools,)."""
        if (k, gain) in self._ideals:
            return self._ideals[k, gain]
        positive = self.grades > 0
        grades, counts = self.grades[positive], self.counts[:, positive]
        if k is not None:
            counts = np.clip(k - (np.cumsum(counts, axis=1) - counts), 0, counts)
        lengths = counts.sum(axis=1)
        ideal = np.zeros(len(counts), dtype=np.float64)
        for first, last in blocks(lengths, _AT_ONCE):
            owners = np.repeat(np.arange(last - first), lengths[first:last])
            ranks = np.arange(1, len(owners) + 1) - (np.cumsum(lengths[first:last]) - lengths[first:last])[owners]
            held = np.repeat(np.tile(grades, last - first), counts[first:last].ravel())
            ideal[first:last] = np.bincount(owners, discounted(held, ranks, gain), minlength=last - first)
        self._ideals[k, gain] = ideal
        return ideal


class GainPools(Pools):
    """Pools of real-valued gains, nearly all of which differ: each is held, and none counted.

    Attributes:
        grades: float64, the gains of all pools, one pool after the other, each descending.
        counts: int64, shape (pools + 1,): bounds of the pools.
    """

    def relevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """See `Pools.relevant`."""
        return np.diff(bounds_of(self.grades >= threshold)[self.counts])[pool]

    def nonrelevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """See `Pools.nonrelevant`."""
        return np.diff(self.counts)[pool] - self.relevant(pool, threshold)

    def ideal(self, k: int | None, gain: Gain) -> Float64:
        """See `Pools.ideal`."""
        if (k, gain) in self._ideals:
            return self._ideals[k, gain]
        lengths = np.diff(self.counts)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        ranks = np.arange(1, len(owners) + 1) - self.counts[owners]
        inside = ranks <= (len(ranks) if k is None else k)
        terms = discounted(self.grades[inside], ranks[inside], gain)
        ideal = np.bincount(owners[inside], terms, minlength=len(lengths)).astype(np.float64, copy=False)
        self._ideals[k, gain] = ideal
        return ideal


@dataclass(frozen=True, slots=True, eq=False)
class RelevantRetrieved:
    """Relevant documents that were retrieved, query by query, best first. All shapes (documents,).

    Attributes:
        owners: int64: the queries.
        ranks: int64, from 1.
        number: int64: 1 for the first of a query, 2 for the second, ….
        judged: int64: number of documents with a judgement up to this rank.
    """

    owners: Int64
    ranks: Int64
    number: Int64
    judged: Int64


@dataclass(frozen=True, eq=False)
class JudgedRankings:
    """Rankings of some queries, reduced to the retrieved documents whose grade is above 0.

    Attributes:
        owners, ranks, judged: as in `RelevantRetrieved`. grades: float64, same shape.
        pools: the judged documents. pool: int64, shape (queries,): index of each query's pool.
    """

    owners: Int64
    ranks: Int64
    judged: Int64
    grades: Float64
    pools: Pools
    pool: Int64
    _found: dict[float, RelevantRetrieved] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, grades: npt.NDArray[Any], lengths: Int64, pools: Pools, pool: Int64) -> JudgedRankings:
        """The rankings of the grades of all retrieved documents, one after the other, best first.

        A grade is NaN or below 0 where there is no judgement. ``lengths``: int64, shape (queries,): of the rankings.
        """
        bounds = bounds_of(lengths)
        positions = np.flatnonzero(grades > 0)
        owners = np.repeat(np.arange(len(lengths)), np.diff(np.searchsorted(positions, bounds)))
        ranks = positions - bounds[owners] + 1
        has_judgement = grades >= 0
        judged = ranks
        if not has_judgement.all():
            standing = np.flatnonzero(has_judgement)
            judged = np.searchsorted(standing, positions, side="right") - np.searchsorted(standing, bounds)[owners]
        return cls(owners, ranks, judged, grades[positions].astype(np.float64), pools, pool)

    def found(self, threshold: float = 1) -> RelevantRetrieved:
        """Relevant documents retrieved: those of at least this grade, which is above 0."""
        if threshold in self._found:
            return self._found[threshold]
        owners, ranks, judged = self.owners, self.ranks, self.judged
        enough = self.grades >= threshold
        if not enough.all():
            owners, ranks, judged = owners[enough], ranks[enough], judged[enough]
        starts = np.searchsorted(owners, np.arange(len(self.pool)))
        hits = RelevantRetrieved(owners, ranks, np.arange(1, len(owners) + 1) - starts[owners], judged)
        self._found[threshold] = hits
        return hits

    def relevant(self, threshold: float = 1) -> Int64:
        """R, the number of documents relevant to each query, retrieved or not. Shape (queries,)."""
        return self.pools.relevant(self.pool, threshold)

    def nonrelevant(self, threshold: float = 1) -> Int64:
        """N, the number of documents judged not relevant, retrieved or not. Shape (queries,)."""
        return self.pools.nonrelevant(self.pool, threshold)

    def count(self, owners: Int64) -> Int64:
        """Number of occurrences of each query. Shape (queries,)."""
        return np.bincount(owners, minlength=len(self.pool))

    def sum(self, owners: Int64, values: Float64) -> Float64:
        """The sum of each query's values, from the first rank on. Shape (queries,)."""
        return np.bincount(owners, values, minlength=len(self.pool)).astype(np.float64, copy=False)


def discounted(grades: Float64, ranks: Int64, gain: Gain) -> Float64:
    """Terms of the DCG for documents of these grades, above 0, at these ranks."""
    gains = np.exp2(grades) - 1.0 if gain == "exp" else grades
    discounts = np.log2(np.arange(1, int(ranks.max(initial=0)) + 2))
    terms: Float64 = gains / discounts[ranks]
    return terms


def share(number: npt.NDArray[Any], total: npt.NDArray[Any]) -> Float64:
    """``part / whole``; 0 where the whole is 0."""
    quotient: Float64 = np.divide(number, total, out=np.zeros(len(number), dtype=np.float64), where=total > 0)
    return quotient


def blocks(lengths: Int64, most: int) -> Iterator[tuple[int, int]]:
    """Blocks of rows, ``first`` up to ``last``, of ``most`` elements at most; a longer row is its own block."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first = last


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanking:
    """Grades of the retrieved documents, and of all judged documents.

    A grade of at least the threshold (1 by default) is relevant; one of 0 or more below it is judged not
    relevant; a negative one counts as not judged, as in trec_eval.

    Attributes:
        grades: float64, in ranking order; NaN for a document without a judgement.
        pool_grades: float64, the distinct grades of all judged documents, descending.
        pool_counts: int64, same shape: number of documents with each grade.
    """

    grades: Float64
    pool_grades: Float64
    pool_counts: Int64

    @classmethod
    def of(
        cls, grades: Sequence[float | None] | npt.NDArray[Any], pool: Sequence[float] | npt.NDArray[Any]
    ) -> JudgedRanking:
        """The ranking of a list of grades.

        Args:
            grades: of the retrieved documents in ranking order; ``None`` or NaN for one without a judgement.
            pool: of every judged document, retrieved or not, in any order.

        Raises:
            InputError: a grade of the pool is not finite.
        """
        retrieved = np.array([np.nan if grade is None else grade for grade in grades], dtype=np.float64)
        judged = np.asarray(pool, dtype=np.float64)
        if not np.isfinite(judged).all() or np.isinf(retrieved).any():
            raise InputError("not a grade", found="NaN or infinity", expected="finite numbers")
        distinct, counts = np.unique(judged, return_counts=True)
        return cls(retrieved, distinct[::-1], counts[::-1].astype(np.int64))

    def alone(self) -> JudgedRankings:
        """`JudgedRankings` with this ranking alone."""
        pools = Pools(self.pool_grades, self.pool_counts[np.newaxis])
        return JudgedRankings.of(self.grades, np.array([len(self.grades)]), pools, np.zeros(1, dtype=np.int64))
