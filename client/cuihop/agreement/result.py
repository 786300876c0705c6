"""The result of an agreement: correlations of each measure with the scores, and their differences."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.agreement.term_concepts import MappedTerms
from cuihop.evaluation.means import number_text, p_text, signed_text, span_of
from cuihop.files.text_lines import counted
from cuihop.files.written_files import write_whole
from cuihop.graph import Release
from cuihop.notebooks.table import Table
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import data_frame
from cuihop.similarity.hierarchy import HierarchyFacts
from cuihop.similarity.options import (
    BY_INFORMATION_CONTENT,
    DISTANCES,
    INFORMATION_CONTENTS,
    SimilarityMeasure,
    SimilarityOptions,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEWEST_PAIRS", "Agreement", "AgreementDifference", "AgreementMeasure", "Correlation", "MeasureAgreement"]


AgreementMeasure: TypeAlias = Literal["hops"] | SimilarityMeasure
"""``hops``, the undirected distance, or a measure of similarity."""


FEWEST_PAIRS = 3
"""Smallest number of pairs with a correlation: two points always lie on a line."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation and its confidence interval; ``None`` if a side is constant or the pairs are too few."""

    value: float | None
    low: float | None
    high: float | None


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
        difference: ``None`` if either has no correlation.
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
        facts: of its hierarchy; ``None`` if only hops are measured.
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
    facts: HierarchyFacts | None
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
            values = [getattr(each, kind).value for each in self.measures]
            best = max((value for value in values if value is not None), default=None)
            bold |= {(row, column) for row, value in enumerate(values) if value is not None and value == best}
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
        if self.mapped.names or self.mapped.outside:
            lines.append(f"{counted(self.mapped.names, 'further name')}; {self.mapped.outside:,} of concepts that the "
                         "graph does not hold, left out")  # fmt: skip
        distances = [name for name in names if name == "hops" or name in DISTANCES]
        if distances:
            lines.append(f"{' and '.join(distances)}: a distance, so its negative is correlated")
        if self.unreached and "hops" in names:
            lines.append(f"hops: {counted(self.unreached, 'pair')} without a path, as one hop more than the longest")
        lines += [f"{each.measure}: {counted(each.undefined, 'pair')} without a value, left out"
                  for each in self.measures if each.undefined]  # fmt: skip
        if any(each.pairs < FEWEST_PAIRS for each in self.measures):
            lines.append(f"fewer than {FEWEST_PAIRS} pairs have no correlation")
        if BY_INFORMATION_CONTENT & set(names):
            lines.append(f"information content {self.options.ic}: {INFORMATION_CONTENTS[self.options.ic]}")
        if self.facts is not None:
            lines.append(f"hierarchy: {self.facts.account}")
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
        """Write the pairs, atomically: see `per_pair`. No value is an empty field.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        write_whole(path, self.per_pair().csv())

    def to_pandas(self) -> pd.DataFrame:
        """One row for each measure."""
        return data_frame(list(map(_flat, self.measures)))

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
            "hierarchy": None if self.facts is None else asdict(self.facts),
            "release": asdict(self.release),
            "account": self.account(),
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{each.measure} {number_text(each.spearman.value)}" for each in self.measures)
        return f"<Agreement on {self.covered:,} of {counted(len(self.pairs), 'pair')}: {values}>"

    def __str__(self) -> str:
        tables = [self.table(), *([self.differences_table()] if self.differences else [])]
        return "\n\n".join([*(table.text() for table in tables), "\n".join(self.account())])

    def _repr_html_(self) -> str:
        return self.table().html() + self.differences_table().html()


def _flat(each: MeasureAgreement) -> dict[str, Any]:
    """The attributes, with those of each correlation next to its name."""
    row: dict[str, Any] = {"measure": each.measure, "pairs": each.pairs, "undefined": each.undefined}
    kinds: Mapping[str, Correlation] = {"spearman": each.spearman, "pearson": each.pearson}
    for kind, correlation in kinds.items():
        row |= {kind: correlation.value, f"{kind}_low": correlation.low, f"{kind}_high": correlation.high}
    return row


def _difference_texts(each: AgreementDifference) -> tuple[str, str]:
    if each.difference is None or each.low is None or each.high is None:
        return "none", "none"
    return signed_text(each.difference), f"{signed_text(each.low)} to {signed_text(each.high)}"
