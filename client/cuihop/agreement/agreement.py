"""Agreement of measures with people: scores of pairs of terms against distances and similarities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from cuihop.agreement.result import (
    FEWEST_PAIRS,
    Agreement,
    AgreementDifference,
    AgreementMeasure,
    Correlation,
    MeasureAgreement,
)
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.agreement.term_concepts import MappedTerms, mapped_terms
from cuihop.collection.concept_tables import ConceptSynonyms
from cuihop.comparison.paired_tests import holm
from cuihop.evaluation.resampling import checked_resampling, interval_of, resampled
from cuihop.graph import ConceptGraph
from cuihop.resources.arrays import Bool, Float64, Int64
from cuihop.similarity.options import DISTANCES, SIMILARITY_MEASURES, SimilarityOptions, named_measure

__all__ = ["MEASURES", "agreement"]


_DIGITS = 12  # behind the point; values equal in these are tied: measures are sums in different orders
_FLAT = 1e-12  # of a variance in units of the variance of all pairs

MEASURES: tuple[AgreementMeasure, ...] = ("hops", *SIMILARITY_MEASURES)


def agreement(
    pairs: ScoredPairs,
    graph: ConceptGraph,
    measures: Sequence[str] = MEASURES,
    *,
    options: SimilarityOptions | None = None,
    names: ConceptSynonyms | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Correlate the scores that people gave to pairs of terms with distances and similarities in a graph.

    Terms are mapped as `cuihop.agreement.term_concepts.mapped_terms` describes. Of terms with several concepts the best
    pair counts, for each measure by its own values (McInnes, Pedersen and Pakhomov 2009). Pairs with an unmapped term
    are left out. Of hops and other distances the negative is correlated. A pair without a path has one hop more than
    the longest distance.

    Args:
        pairs: the terms and scores. graph: the graph.
        measures: names as `cuihop.similarity.options.named_measure` takes them, and ``hops``.
        options: information content and counts; its measure is not used.
        names: further names of concepts, for the mapping.
        resamples, confidence, seed: of the bootstrap.

    Raises:
        InputError: an unknown measure, or a parameter out of its range. Others: as the graph.
    """
    checked_resampling(resamples, confidence, seed)
    options = options or SimilarityOptions()
    requested: tuple[AgreementMeasure, ...]
    requested = tuple(dict.fromkeys("hops" if name == "hops" else named_measure(name) for name in measures))
    mapped = mapped_terms(pairs, graph, names)
    candidates = _Candidates.of(mapped)
    values = np.column_stack([candidates.best(graph, measure, options) for measure in requested])
    oriented, unreached = _oriented(values, requested, candidates.covered)
    scores = np.array([pair.score for pair in pairs], dtype=np.float64)
    resampling = _Resampling(scores, oriented, resamples, confidence, seed)
    agreements = tuple(resampling.measure(index, name, candidates.covered) for index, name in enumerate(requested))
    differences = tuple(resampling.differences(requested))
    facts = None if set(requested) == {"hops"} else graph.hierarchy.facts()
    return Agreement(
        agreements,
        differences,
        pairs,
        mapped,
        values,
        unreached,
        options,
        graph.release,
        facts,
        resamples,
        confidence,
        seed,
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of concepts of each covered pair of terms.

    Attributes:
        starts: int64: the first pair of concepts of each covered pair of terms.
        covered: bool, shape (pairs of terms,): both terms are mapped.
    """

    pairs: list[tuple[str, str]]
    starts: Int64
    covered: Bool

    @classmethod
    def of(cls, mapped: MappedTerms) -> _Candidates:
        pairs: list[tuple[str, str]] = []
        starts: list[int] = []
        for a, b in mapped.concepts:
            if a is not None and b is not None:
                starts.append(len(pairs))
                pairs += [(x, y) for x in a.cuis for y in b.cuis]
        covered = [a is not None and b is not None for a, b in mapped.concepts]
        return cls(pairs, np.array(starts, dtype=np.int64), np.array(covered, dtype=np.bool_))

    def best(self, graph: ConceptGraph, measure: AgreementMeasure, options: SimilarityOptions) -> Float64:
        """The best value of each pair of terms; NaN without one."""
        values = np.full(len(self.covered), np.nan)
        if not self.pairs:
            return values
        if measure == "hops":
            hops = graph.distances(self.pairs)
            all_values = np.where(hops.reached, hops.hops.astype(np.float64), np.nan)
        else:
            similar = graph.hierarchy.similarities(self.pairs, SimilarityOptions(measure, options.ic, options.counts))
            all_values = np.where(similar.defined, similar.values, np.nan)
        best_of = np.fmin if measure == "hops" or measure in DISTANCES else np.fmax
        values[self.covered] = best_of.reduceat(all_values, self.starts)
        return values


def _oriented(values: Float64, measures: Sequence[AgreementMeasure], covered: Bool) -> tuple[Float64, int]:
    """Values of which the larger are the nearer pairs, and the number of covered pairs without a path."""
    oriented, unreached = values.copy(), 0
    for column, measure in enumerate(measures):
        if measure == "hops":
            without = covered & np.isnan(values[:, column])
            unreached = int(without.sum())
            oriented[without, column] = np.nanmax(values[:, column], initial=0.0) + 1.0
        if measure == "hops" or measure in DISTANCES:
            oriented[:, column] *= -1.0
    return oriented, unreached


@dataclass(frozen=True, eq=False)
class _Resampling:
    """Correlations of measures and their resamples, computed once for measures with values of the same pairs."""

    scores: Float64
    values: Float64
    resamples: int
    confidence: float
    seed: int
    _done: dict[bytes, Correlations] = field(default_factory=dict)

    def measure(self, column: int, name: AgreementMeasure, covered: Bool) -> MeasureAgreement:
        """The agreement of a measure."""
        rows = ~np.isnan(self.values[:, column])
        computed, own = self._of(rows, column)
        return MeasureAgreement(
            name, int(rows.sum()), int((covered & ~rows).sum()),
            computed.interval(computed.spearman[:, own], self.confidence),
            computed.interval(computed.pearson[:, own], self.confidence),
        )  # fmt: skip

    def differences(self, names: Sequence[AgreementMeasure]) -> Iterator[AgreementDifference]:
        """Differences of each measure but the first from the first."""
        tests = [self._difference(names, column) for column in range(1, len(names))]
        adjusted = iter(holm([test.p for test in tests if test.p is not None]))
        for test in tests:
            yield AgreementDifference(**{**asdict(test), "p_holm": None if test.p is None else next(adjusted)})

    def _difference(self, names: Sequence[AgreementMeasure], column: int) -> AgreementDifference:
        rows = np.logical_not(np.isnan(self.values[:, 0]) | np.isnan(self.values[:, column]))
        both = [computed.spearman[:, own] for computed, own in (self._of(rows, 0), self._of(rows, column))]
        differences = both[1] - both[0]
        difference, resamples = float(differences[0]), differences[1:][~np.isnan(differences[1:])]
        ends = (names[column], names[0], int(rows.sum()))
        if np.isnan(difference) or not len(resamples):
            return AgreementDifference(*ends, None, None, None, None, None)
        low, high = interval_of(resamples, self.confidence)
        reached = np.abs(resamples - difference) >= abs(difference) - 1e-12
        p = float((1 + reached.sum()) / (1 + len(resamples)))
        return AgreementDifference(*ends, difference, low, high, p, None)

    def _of(self, rows: Bool, column: int) -> tuple[Correlations, int]:
        """Correlations of all measures with a value in all these rows, and the column of one."""
        complete = np.logical_not(np.isnan(self.values[rows]).any(axis=0))
        key = rows.tobytes()
        if key not in self._done:
            values = self.values[rows][:, complete]
            self._done[key] = correlations(self.scores[rows], values, resamples=self.resamples, seed=self.seed)
        return self._done[key], int(complete[:column].sum())


@dataclass(frozen=True, eq=False)
class Correlations:
    """Spearman's and Pearson's correlation of scores with some measures on the same pairs.

    Both float64, shape (1 + resamples, measures): of the pairs, then of each resample; NaN for none.
    """

    spearman: Float64
    pearson: Float64

    def interval(self, resamples: Float64, confidence: float) -> Correlation:
        """A column of either with its confidence interval: the percentiles of the resamples."""
        value, others = resamples[0], resamples[1:]
        others = others[~np.isnan(others)]
        if np.isnan(value):
            return Correlation(None, None, None)
        return Correlation(float(value), *(interval_of(others, confidence) if len(others) else (None, None)))


def correlations(scores: Float64, values: Float64, *, resamples: int, seed: int) -> Correlations:
    """Correlations of scores with each measure, shape (pairs, measures), of all pairs and of resamples of the pairs.

    Spearman's is Pearson's correlation of the ranks, and equal values have the mean of their ranks; in a resample,
    ranks are those among its pairs. The pairs are resampled with replacement (Efron and Tibshirani 1993, chapters 6
    and 13).
    """
    pairs, measures = values.shape
    if pairs < FEWEST_PAIRS:
        nothing: Float64 = np.full((1, measures), np.nan)
        return Correlations(nothing, nothing)
    columns = np.column_stack((scores, values)).round(_DIGITS)

    def both(times: Float64) -> Float64:
        return np.stack((_spearman(columns, times), _pearson(columns, times)), axis=2)

    computed = np.concatenate((both(np.ones((1, pairs))), resampled(both, pairs, resamples, seed, None)))
    return Correlations(computed[:, :, 0], computed[:, :, 1])


def _spearman(columns: Float64, times: Float64) -> Float64:
    """Spearman's correlation of the first column with each other, in each resample: shape (rows, columns - 1)."""
    first, *others = (_ranks(column, times) for column in columns.T)
    weighted = times * first
    spread = np.einsum("rp,rp->r", weighted, first)
    ratios = []
    for other in others:
        shared = np.einsum("rp,rp->r", weighted, other)
        product = spread * np.einsum("rp,rp,rp->r", times, other, other)
        ratios.append(_ratio(shared, product, product > 0))
    return np.stack(ratios, axis=1)


def _ranks(column: Float64, times: Float64) -> Float64:
    """Ranks of the items in each resample, from their mean: shape (rows, items)."""
    distinct, of_value = np.unique(column, return_inverse=True)
    order = np.argsort(of_value, kind="stable")
    starts = np.searchsorted(of_value[order], np.arange(len(distinct)))
    tied = np.add.reduceat(times[:, order], starts, axis=1)
    ranks = np.cumsum(tied, axis=1) - (tied - 1.0) / 2.0 - (len(column) + 1.0) / 2.0
    return np.asarray(ranks[:, of_value])


def _pearson(columns: Float64, times: Float64) -> Float64:
    """Pearson's correlation of the first column with each other, in each resample: shape (rows, columns - 1)."""
    spread = columns.std(axis=0)
    standard = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    items = len(columns)
    means = times @ standard / items
    variances = times @ standard**2 / items - means**2
    shared = times @ (standard[:, :1] * standard[:, 1:]) / items - means[:, :1] * means[:, 1:]
    varied = (variances[:, :1] > _FLAT) & (variances[:, 1:] > _FLAT)
    return _ratio(shared, variances[:, :1] * variances[:, 1:], varied)


def _ratio(shared: Float64, product: Float64, defined: Bool) -> Float64:
    ratio = shared / np.sqrt(np.where(defined, product, 1.0))
    return np.where(defined, np.clip(ratio, -1.0, 1.0), np.nan)
