"""Systems side by side on the same queries: differences, how sure they are, and who wins where."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cuihop.csv_text import write_csv
from cuihop.errors import InputError
from cuihop.evaluation.paired_tests import checked_resampling, holm, paired_bootstrap, randomisation_test
from cuihop.evaluation.score_card import ScoreCard
from cuihop.html_table import html_table
from cuihop.measures.measure import Measure, measures_named

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two systems under one measure.

    Attributes:
        measure: its name. a, b: the systems.
        queries: those that both were scored on.
        mean_a, mean_b: over these queries. difference: of b over a, mean_b − mean_a.
        low, high: the confidence interval of the difference, by the paired bootstrap.
        p_bootstrap, p_randomisation: two-sided.
        p_holm: ``p_randomisation``, adjusted for all tests of the comparison.
        wins, ties, losses: queries on which b is better than a, equal, worse.
    """

    measure: str
    a: str
    b: str
    queries: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    p_holm: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`.

    Attributes:
        differences: for each measure, each pair of systems.
        cards: of the systems. measures: their names.
        resamples, confidence, seed: of the tests.
    """

    differences: tuple[Difference, ...]
    cards: tuple[ScoreCard, ...]
    measures: tuple[str, ...]
    resamples: int
    confidence: float
    seed: int

    def __repr__(self) -> str:
        systems = ", ".join(card.system for card in self.cards)
        return f"<Comparison of {systems}: {', '.join(self.measures)}; {len(self.differences)} tests>"

    def table(self) -> list[tuple[str, ...]]:
        """What people read, as texts: the header, then a row for each difference."""
        header = ("measure", "A", "B", "mean A", "mean B", "B − A", f"{self.confidence:.0%} interval", "p", "p (Holm)",
                  "win/tie/loss")  # fmt: skip
        rows = [
            (
                d.measure, d.a, d.b, f"{d.mean_a:.4f}", f"{d.mean_b:.4f}", f"{d.difference:+.4f}",
                f"{d.low:+.4f} to {d.high:+.4f}", f"{d.p_randomisation:.4f}", f"{d.p_holm:.4f}",
                f"{d.wins:,}/{d.ties:,}/{d.losses:,}",
            )
            for d in self.differences
        ]  # fmt: skip
        return [header, *rows]

    def _repr_html_(self) -> str:
        header, *rows = self.table()
        return html_table(header, rows)

    def to_pandas(self) -> pd.DataFrame:
        """One row for each difference, its columns those of `Difference`."""
        import pandas as pd

        return pd.DataFrame([asdict(difference) for difference in self.differences])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The differences with their intervals, as a figure; written to ``path`` (.svg, .png, .pdf) if given.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; says what to do.
            InputError: another suffix. OutputError: the file cannot be written.
        """
        from cuihop.evaluation.result_pictures import comparison_figure
        from cuihop.picture_file import written_if_asked

        return written_if_asked(comparison_figure(self), path)

    def summary(self) -> dict[str, Any]:
        """Everything but the values of each query, as plain values, ready for JSON."""
        return {
            "systems": [
                {"system": card.system, "sha256": card.digest, "versions": dict(card.versions)} for card in self.cards
            ],
            "conditions": dict(self.cards[0].conditions),
            "differences": [asdict(difference) for difference in self.differences],
            "resamples": self.resamples,
            "confidence": self.confidence,
            "seed": self.seed,
        }

    def to_csv(self, path: str | Path) -> None:
        """Write one row for each query, one column for each measure and system; whole or not at all.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        queries = self.cards[0].queries
        columns = [(m, card, card.column(m, queries).tolist()) for m in self.measures for card in self.cards]
        values = zip(*(column for _, _, column in columns), strict=True)
        rows = (
            [query, *("" if math.isnan(value) else repr(value) for value in of_query)]
            for query, of_query in zip(queries, values, strict=True)
        )
        write_csv(path, ["query", *(f"{measure} {card.system}" for measure, card, _ in columns)], rows)


def compare(
    cards: Sequence[ScoreCard],
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare systems on the same queries: every pair under every measure.

    Args:
        cards: two or more, of the same conditions.
        measures: which; all that every card has without it.
        resamples, confidence, seed: of `paired_bootstrap` and `randomisation_test`.

    Raises:
        InputError: there are fewer than two cards, two of one name, they were not measured alike, a measure is not in
            all of them, or no query was scored on both.
    """
    checked_resampling(resamples, confidence, seed)
    if len(cards) < 2 or len({card.system for card in cards}) < len(cards):
        raise InputError(
            "not systems to compare", found=", ".join(card.system for card in cards) or "none",
            expected="two or more, of different names",
        )  # fmt: skip
    for card in cards[1:]:
        cards[0].check_same_conditions(card)
    names = _measures(cards, measures)
    queries = cards[0].queries
    tests = [(name, a, b) for name in names for a, b in itertools.combinations(cards, 2)]
    found = [_difference(*test, queries, resamples, confidence, seed) for test in tests]
    adjusted = holm([row["p_randomisation"] for row in found])
    differences = tuple(Difference(**row, p_holm=p) for row, p in zip(found, adjusted, strict=True))
    return Comparison(differences, tuple(cards), names, resamples, confidence, seed)


def _measures(cards: Sequence[ScoreCard], measures: str | Measure | Sequence[str | Measure] | None) -> tuple[str, ...]:
    shared = [name for name in cards[0].values if all(name in card.values for card in cards)]
    wanted = shared if measures is None else [str(measure) for measure in measures_named(measures)]
    absent = [name for name in wanted if name not in shared]
    if absent or not wanted:
        raise InputError(
            "not a measure of every score card", column="measures", found=", ".join(absent) or "none in common",
            expected=", ".join(shared) or "cards of the same measures",
        )  # fmt: skip
    return tuple(wanted)


def _difference(
    measure: str, a: ScoreCard, b: ScoreCard, queries: Sequence[str], resamples: int, confidence: float, seed: int
) -> dict[str, Any]:
    ours, theirs = a.column(measure, queries), b.column(measure, queries)
    both = ~(np.isnan(ours) | np.isnan(theirs))
    ours, theirs = ours[both], theirs[both]
    if not len(ours):
        raise InputError("no query was scored for both systems", column=measure, found=f"{a.system}, {b.system}")
    differences = theirs - ours
    bootstrap = paired_bootstrap(differences, confidence=confidence, resamples=resamples, seed=seed)
    return {
        "measure": measure,
        "a": a.system,
        "b": b.system,
        "queries": len(ours),
        "mean_a": math.fsum(ours) / len(ours),
        "mean_b": math.fsum(theirs) / len(ours),
        "difference": math.fsum(differences) / len(ours),
        "low": bootstrap.low,
        "high": bootstrap.high,
        "p_bootstrap": bootstrap.p,
        "p_randomisation": randomisation_test(differences, resamples=resamples, seed=seed),
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
    }
