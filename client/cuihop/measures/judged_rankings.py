"""The rankings of many queries as judgements see them, in arrays: what the measures of judged relevance count in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Found", "Gain", "JudgedRankings", "Pools"]

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

Gain: TypeAlias = Literal["linear", "exp"]
"""``linear``: the grade itself (Järvelin and Kekäläinen 2002). ``exp``: 2^grade − 1 (Burges et al. 2005)."""

_AT_ONCE = 1 << 19  # ranks of ideal rankings: few megabytes, however many documents are relevant


@dataclass(frozen=True, eq=False)
class Pools:
    """How many documents have each grade, in each pool: all that was judged for a query, retrieved or not.

    Queries may share a pool: of labels there are as many as the labels have values.

    Attributes:
        grades: float64, shape (grades,): distinct, descending. Those below 0 count as not judged.
        counts: int64, shape (pools, grades).
    """

    grades: Float64
    counts: Int64
    _ideals: dict[tuple[int | None, Gain], Float64] = field(default_factory=dict, init=False, repr=False)

    def relevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """How many documents of each of these pools are relevant: R. Shape as ``pool``."""
        total: Int64 = self.counts[np.ix_(pool, self.grades >= threshold)].sum(axis=1)
        return total

    def nonrelevant(self, pool: Int64, threshold: float = 1) -> Int64:
        """How many documents of each of these pools are judged not relevant: N. Shape as ``pool``."""
        total: Int64 = self.counts[np.ix_(pool, (self.grades >= 0) & (self.grades < threshold))].sum(axis=1)
        return total

    def ideal(self, k: int | None, gain: Gain) -> Float64:
        """IDCG@K: the DCG of the k largest grades, descending; of all of them without k. Shape (pools,)."""
        if (k, gain) not in self._ideals:
            self._ideals[k, gain] = self._ideal(k, gain)
        return self._ideals[k, gain]

    def _ideal(self, k: int | None, gain: Gain) -> Float64:
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
        return ideal


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The relevant documents that were retrieved, query by query, best first in each. All shapes (found,).

    Attributes:
        owners: int64: the queries.
        ranks: int64: where they stand, from 1.
        number: int64: 1 for the first of a query, 2 for the second, ….
        judged: int64: how many of the documents at this rank or before have a judgement.
    """

    owners: Int64
    ranks: Int64
    number: Int64
    judged: Int64


@dataclass(frozen=True, eq=False)
class JudgedRankings:
    """Rankings of some queries. Only what gains is held: the retrieved documents whose grade is above 0.

    Attributes:
        owners, ranks, judged: as in `Found`.
        grades: float64, same shape.
        pools: what was judged.
        pool: int64, shape (queries,): which of the pools is the query's.
    """

    owners: Int64
    ranks: Int64
    judged: Int64
    grades: Float64
    pools: Pools
    pool: Int64
    _found: dict[float, Found] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, grades: npt.NDArray[Any], lengths: Int64, pools: Pools, pool: Int64) -> JudgedRankings:
        """From the grades of everything retrieved.

        Args:
            grades: one ranking after the other, best first; NaN or below 0 where there is no judgement.
            lengths: int64, shape (queries,): of the rankings.
            pools, pool: as in the attributes.
        """
        bounds = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=bounds[1:])
        places = np.flatnonzero(grades > 0)
        owners = np.repeat(np.arange(len(lengths)), np.diff(np.searchsorted(places, bounds)))
        ranks = places - bounds[owners] + 1
        known = grades >= 0
        judged = ranks
        if not known.all():
            standing = np.flatnonzero(known)
            judged = np.searchsorted(standing, places, side="right") - np.searchsorted(standing, bounds)[owners]
        return cls(owners, ranks, judged, grades[places].astype(np.float64), pools, pool)

    def found(self, threshold: float = 1) -> Found:
        """The relevant among the retrieved: those of at least this grade, which is above 0."""
        if threshold not in self._found:
            self._found[threshold] = self._those_found(threshold)
        return self._found[threshold]

    def _those_found(self, threshold: float) -> Found:
        owners, ranks, judged = self.owners, self.ranks, self.judged
        enough = self.grades >= threshold
        if not enough.all():
            owners, ranks, judged = owners[enough], ranks[enough], judged[enough]
        starts = np.searchsorted(owners, np.arange(len(self.pool)))
        return Found(owners, ranks, np.arange(1, len(owners) + 1) - starts[owners], judged)

    def relevant(self, threshold: float = 1) -> Int64:
        """How many documents are relevant to each query, retrieved or not: R. Shape (queries,)."""
        return self.pools.relevant(self.pool, threshold)

    def nonrelevant(self, threshold: float = 1) -> Int64:
        """How many documents are judged not relevant, retrieved or not: N. Shape (queries,)."""
        return self.pools.nonrelevant(self.pool, threshold)

    def count(self, owners: Int64) -> Int64:
        """How many times each query stands there. Shape (queries,)."""
        return np.bincount(owners, minlength=len(self.pool))

    def sum(self, owners: Int64, values: Float64) -> Float64:
        """The sum of each query's values, from the first rank on. Shape (queries,)."""
        return np.bincount(owners, values, minlength=len(self.pool)).astype(np.float64, copy=False)


def discounted(grades: Float64, ranks: Int64, gain: Gain) -> Float64:
    """What documents of these grades, above 0, add to the DCG at these ranks."""
    gains = np.exp2(grades) - 1.0 if gain == "exp" else grades
    discounts = np.log2(np.arange(1, int(ranks.max(initial=0)) + 2))
    terms: Float64 = gains / discounts[ranks]
    return terms


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Float64:
    """``part / whole``; 0 where the whole is 0."""
    quotient: Float64 = np.divide(part, whole, out=np.zeros(len(part), dtype=np.float64), where=whole > 0)
    return quotient


def blocks(lengths: Int64, most: int) -> Iterator[tuple[int, int]]:
    """The rows in parts ``first``, ``last`` whose lengths add up to this much at most, or that are one row."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first = last
