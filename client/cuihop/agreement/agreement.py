"""Agreement of measures with people: correlations over pairs of terms, and differences between measures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.agreement.correlation import Correlation, Correlations, correlations
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.agreement.term_concepts import MappedTerms, mapped_terms
from cuihop.collection.concept_names import ConceptSynonyms
from cuihop.comparison.paired_tests import holm
from cuihop.evaluation.means import number_text, p_text, signed_text, span_of
from cuihop.evaluation.resampling import checked_resampling, interval_of
from cuihop.files.text_lines import counted
from cuihop.files.written_files import write_whole
from cuihop.graph import ConceptGraph, Release
from cuihop.notebooks.table import Table
from cuihop.resources.optional_packages import installed_by
from cuihop.similarity.options import (
    BY_INFORMATION_CONTENT,
    DISTANCES,
    SIMILARITY_MEASURES,
    InformationContent,
    SimilarityMeasure,
    SimilarityOptions,
    named_measure,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEASURES", "Agreement", "AgreementDifference", "AgreementMeasure", "MeasureAgreement", "agreement"]

Float64 = npt.NDArray[np.float64]

AgreementMeasure: TypeAlias = Literal["hops"] | SimilarityMeasure
"""``hops``, the distance either way, or a measure of similarity."""

MEASURES: tuple[AgreementMeasure, ...] = ("hops", *SIMILARITY_MEASURES)


@dataclass(frozen=True, slots=True)
class MeasureAgreement:
    """Agreement of one measure with the scores.

    Attributes:
        measure: its name.
        pairs: those with a value. undefined: pairs with both terms mapped, but without a value; left out.
        spearman, pearson: correlation with the scores, each with its confidence interval.
    """

    measure: AgreementMeasure
    pairs: int
    undefined: int
    spearman: Correlation
    pearson: Correlation


@dataclass(frozen=True, slots=True)
class AgreementDifference:
    """Spearman's correlation of a measure, minus that of a baseline on the same pairs.

    Attributes:
        measure, baseline: their names. pairs: those with a value of both.
        difference: ``None`` where either has no correlation.
        low, high: its confidence interval, by the paired bootstrap.
        p: two-sided, of the difference shifted to 0. p_holm: adjusted for the number of differences.
    """

    measure: AgreementMeasure
    baseline: AgreementMeasure
    pairs: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """The result of `agreement`.

    Attributes:
        measures: agreement of each. differences: of each but the first from the first.
        pairs: the scored pairs. mapped: concepts of their terms.
        values: float64, shape (pairs, measures): hops and distances as they are; NaN for no value, and for no path.
        unreached: covered pairs without a path.
        options: information content and counts. release: of the graph.
        resamples, confidence, seed: of the intervals.
    """

    measures: tuple[MeasureAgreement, ...]
    differences: tuple[AgreementDifference, ...]
    pairs: ScoredPairs
    mapped: MappedTerms
    values: Float64
    unreached: int
    options: SimilarityOptions
    release: Release
    resamples: int
    confidence: float
    seed: int

    @property
    def covered(self) -> int:
        """Number of pairs with both terms mapped."""
        return sum(a is not None and b is not None for a, b in self.mapped.concepts)

    def table(self) -> Table:
        """Correlations of each measure with the scores; the highest of each kind is in bold type."""
        interval = f"{100 * self.confidence:.4g}% interval"
        rows = [
            (
                each.measure, f"{each.pairs:,}",
                number_text(each.spearman.value), span_of(each.spearman.low, each.spearman.high),
                number_text(each.pearson.value), span_of(each.pearson.low, each.pearson.high),
            )
            for each in self.measures
        ]  # fmt: skip
        bold = set()
        for column, kind in ((2, "spearman"), (4, "pearson")):
            found = [getattr(each, kind).value for each in self.measures]
            best = max((value for value in found if value is not None), default=None)
            bold |= {(row, column) for row, value in enumerate(found) if value is not None and value == best}
        caption = f"Agreement with the scores of {self.pairs.source}."
        return Table(("measure", "pairs", "Spearman", interval, "Pearson", interval), rows, "agreement", caption,
                     bold=bold)  # fmt: skip

    def differences_table(self) -> Table:
        """Differences of Spearman's correlation from that of the first measure."""
        rows = [
            (
                d.measure, d.baseline, f"{d.pairs:,}", *_difference_texts(d),
                *("none" if p is None else p_text(p) for p in (d.p, d.p_holm)),
            )
            for d in self.differences
        ]  # fmt: skip
        header = ("measure", "baseline", "pairs", "difference", f"{100 * self.confidence:.4g}% interval", "p",
                  "p (Holm)")  # fmt: skip
        return Table(header, rows, "agreement_differences", "Differences of Spearman's correlation on the same pairs.")

    def account(self) -> list[str]:
        """The inputs, their coverage, and the treatment of everything out of the ordinary."""
        names = [each.measure for each in self.measures]
        lines = [self.pairs.account, self.mapped.account,
                 f"{self.covered:,} of {counted(len(self.pairs), 'pair')} with both terms mapped"]  # fmt: skip
        if self.mapped.outside:
            lines.append(f"{counted(self.mapped.outside, 'further name')} of concepts that the graph does not hold")
        distances = [name for name in names if name == "hops" or name in DISTANCES]
        if distances:
            lines.append(f"{' and '.join(distances)}: a distance, so its negative is correlated")
        if self.unreached and "hops" in names:
            lines.append(f"hops: {counted(self.unreached, 'pair')} without a path, as one hop more than the longest")
        lines += [f"{each.measure}: {counted(each.undefined, 'pair')} without a value, left out"
                  for each in self.measures if each.undefined]  # fmt: skip
        if BY_INFORMATION_CONTENT & set(names):
            lines.append(f"information content: {self.options.ic}")
        lines.append(f"intervals: bootstrap of the pairs, {self.resamples:,} resamples, seed {self.seed}")
        lines.append(f"release {self.release.name}, digest {self.release.digest[:12]}")
        return lines

    def per_pair(self) -> Table:
        """The pairs: terms, their concepts separated by ``;``, score, and the value of each measure."""
        header = ("term1", "term2", "concepts1", "concepts2", "score", *(each.measure for each in self.measures))
        rows = [
            (pair.a, pair.b, *("" if side is None else ";".join(side.cuis) for side in concepts), pair.score, *values)
            for pair, concepts, values in zip(self.pairs, self.mapped.concepts, self.values.tolist(), strict=True)
        ]
        return Table(header, rows, "pairs")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs, whole or not at all: see `per_pair`. No value is an empty field.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        write_whole(path, self.per_pair().csv())

    def to_pandas(self) -> pd.DataFrame:
        """One row for each measure."""
        with installed_by("cuihop[frames]"):
            import pandas as pd

        return pd.DataFrame(list(map(_flat, self.measures)))

    def summary(self) -> dict[str, Any]:
        """Everything but the values of each pair, as plain values, ready for JSON."""
        return {
            "source": self.pairs.source,
            "pairs": len(self.pairs),
            "covered": self.covered,
            "terms": len(self.mapped.terms),
            "mapped_terms": len(self.mapped.terms) - len(self.mapped.unmapped),
            "rules": dict(self.mapped.rules),
            "ambiguous_terms": self.mapped.ambiguous,
            "pairs_without_path": self.unreached,
            "measures": list(map(_flat, self.measures)),
            "differences": [asdict(each) for each in self.differences],
            "ic": self.options.ic,
            "resamples": self.resamples,
            "confidence": self.confidence,
            "seed": self.seed,
            "release": asdict(self.release),
            "account": self.account(),
        }

    def __repr__(self) -> str:
        found = ", ".join(f"{each.measure} {number_text(each.spearman.value)}" for each in self.measures)
        return f"<Agreement on {self.covered:,} of {counted(len(self.pairs), 'pair')}: {found}>"

    def __str__(self) -> str:
        tables = [self.table(), *([self.differences_table()] if self.differences else [])]
        return "\n\n".join([*(table.text() for table in tables), "\n".join(self.account())])

    def _repr_html_(self) -> str:
        return self.table().html() + self.differences_table().html()


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
    pair counts, for each measure by its own values (McInnes, Pedersen and Pakhomov 2009). Pairs with an unmapped term are
    left out. Of hops and other distances the negative is correlated. A pair without a path has one hop more than the
    longest distance.

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
    chosen = tuple(dict.fromkeys("hops" if name == "hops" else named_measure(name) for name in measures))
    mapped = mapped_terms(pairs, graph, names)
    candidates = _Candidates.of(mapped)
    values = np.column_stack([candidates.best(graph, measure, options) for measure in chosen])
    oriented, unreached = _oriented(values, chosen, candidates.covered)
    scores = np.array([pair.score for pair in pairs], dtype=np.float64)
    resampling = _Resampling(scores, oriented, resamples, confidence, seed)
    found = tuple(resampling.measure(place, name, candidates.covered) for place, name in enumerate(chosen))
    differences = tuple(resampling.differences(chosen))
    return Agreement(
        found, differences, pairs, mapped, values, unreached, options, graph.release, resamples, confidence, seed
    )


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

    def measure(
        self, place: int, name: AgreementMeasure, covered: npt.NDArray[np.bool_]
    ) -> MeasureAgreement:
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
        rows = ~np.isnan(self.values[:, 0]) & ~np.isnan(self.values[:, place])
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
        whole = ~np.isnan(self.values[rows]).any(axis=0)
        key = rows.tobytes()
        if key not in self._done:
            values = self.values[rows][:, whole]
            self._done[key] = correlations(self.scores[rows], values, resamples=self.resamples, seed=self.seed)
        return self._done[key], int(whole[:place].sum())


def _flat(each: MeasureAgreement) -> dict[str, Any]:
    """The attributes, with those of each correlation beside its name."""
    row: dict[str, Any] = {"measure": each.measure, "pairs": each.pairs, "undefined": each.undefined}
    kinds: Mapping[str, Correlation] = {"spearman": each.spearman, "pearson": each.pearson}
    for kind, found in kinds.items():
        row |= {kind: found.value, f"{kind}_low": found.low, f"{kind}_high": found.high}
    return row


def _difference_texts(each: AgreementDifference) -> tuple[str, str]:
    if each.difference is None or each.low is None or each.high is None:
        return "none", "none"
    return signed_text(each.difference), f"{signed_text(each.low)} to {signed_text(each.high)}"
