"""Agreement of measures with people: scores of pairs of terms against distances and similarities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from cuihop.agreement.correlation import Correlations, correlations
from cuihop.agreement.result import Agreement, AgreementDifference, AgreementMeasure, MeasureAgreement
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.agreement.term_concepts import MappedTerms, mapped_terms
from cuihop.collection.concept_names import ConceptSynonyms
from cuihop.comparison.paired_tests import holm
from cuihop.evaluation.resampling import checked_resampling, interval_of
from cuihop.graph import ConceptGraph
from cuihop.similarity.options import DISTANCES, SIMILARITY_MEASURES, SimilarityOptions, named_measure

__all__ = ["MEASURES", "agreement"]

Float64 = npt.NDArray[np.float64]

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
    chosen = tuple(dict.fromkeys(map(_named, measures)))
    mapped = mapped_terms(pairs, graph, names)
    candidates = _Candidates.of(mapped)
    values = np.column_stack([candidates.best(graph, measure, options) for measure in chosen])
    oriented, unreached = _oriented(values, chosen, candidates.covered)
    scores = np.array([pair.score for pair in pairs], dtype=np.float64)
    resampling = _Resampling(scores, oriented, resamples, confidence, seed)
    found = tuple(resampling.measure(place, name, candidates.covered) for place, name in enumerate(chosen))
    differences = tuple(resampling.differences(chosen))
    facts = None if set(chosen) == {"hops"} else graph.hierarchy.facts()
    return Agreement(
        found, differences, pairs, mapped, values, unreached, options, graph.release, facts, resamples, confidence, seed
    )


def _named(name: str) -> AgreementMeasure:
    return "hops" if name == "hops" else named_measure(name)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of concepts of each covered pair of terms.

    Attributes:
        pairs: of concepts. starts: int64: the first of each covered pair of terms.
        covered: bool, shape (pairs of terms,): both terms are mapped.
    """

    pairs: list[tuple[str, str]]
    starts: npt.NDArray[np.int64]
    covered: npt.NDArray[np.bool_]

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
        """The best value of each pair of terms; NaN where there is none."""
        values = np.full(len(self.covered), np.nan)
        if not self.pairs:
            return values
        if measure == "hops":
            hops = graph.distances(self.pairs)
            all_values = np.where(hops.reached, hops.hops.astype(np.float64), np.nan)
        else:
            found = graph.hierarchy.similarities(self.pairs, SimilarityOptions(measure, options.ic, options.counts))
            all_values = np.where(found.defined, found.values, np.nan)
        best_of = np.fmin if measure == "hops" or measure in DISTANCES else np.fmax
        values[self.covered] = best_of.reduceat(all_values, self.starts)
        return values


def _oriented(
    values: Float64, measures: Sequence[AgreementMeasure], covered: npt.NDArray[np.bool_]
) -> tuple[Float64, int]:
    """Values of which the larger are the nearer pairs, and the number of covered pairs without a path."""
    oriented, unreached = values.copy(), 0
    for place, measure in enumerate(measures):
        if measure == "hops":
            without = covered & np.isnan(values[:, place])
            unreached = int(without.sum())
            oriented[without, place] = np.nanmax(values[:, place], initial=0.0) + 1.0
        if measure == "hops" or measure in DISTANCES:
            oriented[:, place] *= -1.0
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

    def measure(self, place: int, name: AgreementMeasure, covered: npt.NDArray[np.bool_]) -> MeasureAgreement:
        """The agreement of a measure."""
        rows = ~np.isnan(self.values[:, place])
        found, column = self._of(rows, place)
        return MeasureAgreement(
            name, int(rows.sum()), int((covered & ~rows).sum()),
            found.interval(found.spearman[:, column], self.confidence),
            found.interval(found.pearson[:, column], self.confidence),
        )  # fmt: skip

    def differences(self, names: Sequence[AgreementMeasure]) -> Iterator[AgreementDifference]:
        """Of each measure but the first from the first."""
        tests = [self._difference(names, place) for place in range(1, len(names))]
        adjusted = iter(holm([test.p for test in tests if test.p is not None]))
        for test in tests:
            yield AgreementDifference(**{**asdict(test), "p_holm": None if test.p is None else next(adjusted)})

    def _difference(self, names: Sequence[AgreementMeasure], place: int) -> AgreementDifference:
        rows = np.logical_not(np.isnan(self.values[:, 0]) | np.isnan(self.values[:, place]))
        both = [found.spearman[:, column] for found, column in (self._of(rows, 0), self._of(rows, place))]
        drawn = both[1] - both[0]
        difference, resampled = float(drawn[0]), drawn[1:][~np.isnan(drawn[1:])]
        ends = (names[place], names[0], int(rows.sum()))
        if np.isnan(difference) or not len(resampled):
            return AgreementDifference(*ends, None, None, None, None, None)
        low, high = interval_of(resampled, self.confidence)
        reached = np.abs(resampled - difference) >= abs(difference) - 1e-12
        p = float((1 + reached.sum()) / (1 + len(resampled)))
        return AgreementDifference(*ends, difference, low, high, p, None)

    def _of(self, rows: npt.NDArray[np.bool_], place: int) -> tuple[Correlations, int]:
        """Correlations of all measures with a value in all these rows, and the column of one."""
        whole = np.logical_not(np.isnan(self.values[rows]).any(axis=0))
        key = rows.tobytes()
        if key not in self._done:
            values = self.values[rows][:, whole]
            self._done[key] = correlations(self.scores[rows], values, resamples=self.resamples, seed=self.seed)
        return self._done[key], int(whole[:place].sum())
