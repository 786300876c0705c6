"""Systems side by side on the same queries: differences, their significance, wins and losses."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cuihop.comparison.paired_tests import (
    holm,
    paired_bootstraps,
    randomisation_tests,
    student_tests,
)
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.means import mean_columns, number_text, p_text, signed_text, span_text
from cuihop.evaluation.resampling import checked_resampling
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import write_whole
from cuihop.measures.measure import FAMILIES, Measure, measures_named
from cuihop.notebooks.figures import comparison_figure, saved_figure
from cuihop.notebooks.table import Table
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Comparison", "Difference", "compare", "is_error"]


_CELLS_AT_ONCE = 1 << 24  # of queries and tests: 128 MB of differences
_MOST_COLUMNS = 8  # of measures that fit a page
_LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ"
_ROUNDING = 1e-12  # values that differ by no more are equal: measures are sums in different orders


@dataclass(frozen=True, slots=True)
class Difference:
    """A system against a baseline, under one measure.

    Attributes:
        measure: its name. baseline, system: the names of the two.
        queries: those that both were scored on.
        mean_baseline, mean_system: over these queries. difference: mean_system − mean_baseline.
        low, high: the confidence interval of the difference, by the paired bootstrap.
        p_bootstrap, p_randomisation, p_student: two-sided; of Student's paired t-test ``None`` if all differences
            are equal.
        p_holm: ``p_randomisation``, adjusted for all tests of the comparison.
        effect: the difference in units of the standard deviation of the queries' differences; ``None`` as p_student.
        wins, ties, losses: queries on which the system is better than the baseline, equal, worse. Better is larger, but
            for errors.
    """

    measure: str
    baseline: str
    system: str
    queries: int
    mean_baseline: float
    mean_system: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    p_student: float | None
    p_holm: float
    effect: float | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`.

    Attributes:
        differences: for each measure, each pair of systems. Holm's p adjusts for their number.
        cards: name of a system → its card. measures: their names.
        against: the baseline of all others; ``None`` if every pair was compared, the earlier one as the baseline.
            Without tests there are no differences.
        resamples, confidence, seed: of the tests.
    """

    differences: tuple[Difference, ...]
    cards: Mapping[str, ScoreCard]
    measures: tuple[str, ...]
    against: str | None
    resamples: int
    confidence: float
    seed: int

    def __repr__(self) -> str:
        systems = ", ".join(self.cards)
        return f"<Comparison of {systems}: {', '.join(self.measures)}; {len(self.differences)} tests>"

    def means(self) -> Table:
        """Means over the queries that each system was scored on: a row for each system, a column for each measure.

        More measures than a page is wide (eight) are the rows, and the systems the columns. The best mean of each
        measure is in bold type. A superscript letter names a system that is worse, with Holm's p below 1 - confidence.
        Of each measure also the queries behind the means, as `cuihop.evaluation.means.mean_columns` gives them.
        """
        cards = self.cards.values()
        letters = self._letters()
        columns: list[tuple[str, Sequence[str]]]
        columns = [
            (
                f"{letters[name]} {name}".strip(),
                [number_text(card.means[m]) + self._worse(m, name, letters) for m in self.measures],
            )
            for name, card in self.cards.items()
        ]
        behind = [[card.mean_queries[m] for card in cards] for m in self.measures]
        columns += mean_columns(behind, next(iter(cards)).conditions.get("empty_ideal"))
        header, *rows = [("system", *self.measures), *((title, *cells) for title, cells in columns)]
        bold = {(row, column) for column, m in enumerate(self.measures, start=1) for row in self.best(m)}
        if len(self.measures) > _MOST_COLUMNS:
            header, *rows = zip(("measure", *header[1:]), *rows, strict=True)
            bold = {(column - 1, row + 1) for row, column in bold}
        caption = " ".join(
            ["Means of each system over the queries that it was scored on.", *map(_sentence, self._marks())]
        )
        return Table(header, rows, "means", caption, bold=bold)

    def best(self, measure: str) -> list[int]:
        """Indices of the systems with the best mean."""
        means = [card.means[measure] for card in self.cards.values()]
        numbers = [mean for mean in means if mean is not None]
        best = (min if is_error(measure) else max)(numbers, default=None)
        return [row for row, mean in enumerate(means) if mean is not None and mean == best]

    def _better(self) -> Iterator[tuple[str, str, str]]:
        """Measure, system, and another system that is worse, with Holm's p below 1 - confidence."""
        for d in self.differences:
            if d.p_holm < 1.0 - self.confidence and d.difference:
                order = (d.system, d.baseline)
                yield (d.measure, *(order if (d.difference > 0) != is_error(d.measure) else order[::-1]))

    def _letters(self) -> Mapping[str, str]:
        """Name of each system → its superscript letter; empty texts if none is needed or there are too few."""
        lettered = len(self.cards) <= len(_LETTERS) and any(self._better())
        return dict(zip(self.cards, _LETTERS, strict=False)) if lettered else dict.fromkeys(self.cards, "")

    def _worse(self, measure: str, system: str, letters: Mapping[str, str]) -> str:
        """Letters of the systems that are worse under a measure, in their order."""
        worse_systems = {worse for name, better, worse in self._better() if (name, better) == (measure, system)}
        return "".join(letter for name, letter in letters.items() if name in worse_systems)

    def _marks(self) -> list[str]:
        """The meaning of the marks in `means`."""
        lettered = any(self._letters().values())
        meaning = f"a letter: better than that system, p (Holm) < {1.0 - self.confidence:.4g}"
        return ["bold: the best mean of a measure", *([meaning] if lettered else [])]

    def table(self) -> Table:
        """The differences, a row for each."""
        header = ("measure", "system", "baseline", "difference", f"{100 * self.confidence:.4g}% interval", "p",
                  "p (Holm)", "effect", "win/tie/loss")  # fmt: skip
        rows = [
            (
                d.measure, d.system, d.baseline, signed_text(d.difference),
                f"{signed_text(d.low)} to {signed_text(d.high)}", p_text(d.p_randomisation), p_text(d.p_holm),
                "none" if d.effect is None else signed_text(d.effect, 2),
                f"{d.wins:,}/{d.ties:,}/{d.losses:,}",
            )
            for d in self.differences
        ]  # fmt: skip
        tests = self.notes_on_tests() or ["no pair was tested"]
        return Table(header, rows, "differences", " ".join(["Differences of means.", *map(_sentence, tests)]))

    def account(self, *, brief: bool = False) -> list[str]:
        """Explanations of the tables, in plain words; with ``brief``, those of the tests in one line."""
        marks = self._marks()
        return [*([" · ".join(marks)] if brief else marks), *self.notes_on_tests(brief)]

    def __str__(self) -> str:
        differences = ["", self.table().text()] if self.differences else []
        return "\n".join([self.means().text(), *differences, *self.account()])

    def notes_on_tests(self, brief: bool = False) -> list[str]:
        """Explanations of the differences, in plain words; empty if no pair was tested, one line with ``brief``."""
        if not self.differences:
            return []
        queries = {row.queries for row in self.differences}
        tests = len(self.differences)
        errors = [measure for measure in self.measures if is_error(measure)]
        adjusted = f"adjusted for {'the only test' if tests == 1 else f'all {tests:,} tests'}"
        if brief:
            better = [f"a win is a smaller {', '.join(errors)}"] if errors else []
            return [" · ".join([
                f"{span_text(queries)} queries scored on both", "difference = system − baseline",
                f"paired bootstrap and randomisation test, {self.resamples:,} resamples, seed {self.seed}",
                f"p (Holm) {adjusted}", *better,
            ])]  # fmt: skip
        lines = [
            f"{span_text(queries)} queries that both systems were scored on",
            "difference: of the system over the baseline (system − baseline); wins and losses: of the system",
            f"interval: paired bootstrap; p: randomisation test, two-sided; {self.resamples:,} resamples, "
            f"seed {self.seed}",
            f"p (Holm): {adjusted}, {self._family()}",
            "effect: the mean difference / the standard deviation of the differences",
        ]
        if errors:
            lines.append(f"{', '.join(errors)}: the smaller the better, so a win is a smaller value")
        return lines

    def _family(self) -> str:
        pairs = len(self.differences) // len(self.measures)
        compared = "pairs of systems" if self.against is None else f"systems against {self.against}"
        if pairs == 1:
            compared = "pair of systems"
        return f"{len(self.measures):,} {'measure' if len(self.measures) == 1 else 'measures'} × {pairs:,} {compared}"

    def _repr_html_(self) -> str:
        return self.means().html() + self.table().html()

    def to_pandas(self) -> pd.DataFrame:
        """One row for each difference, its columns those of `Difference`."""
        return data_frame([asdict(difference) for difference in self.differences])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The differences with their intervals, as a figure; written to ``path`` (.svg, .png, .pdf) if given.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; the message gives the command.
            InputError: another suffix. OutputError: the file cannot be written.
        """
        rows = {
            f"{d.measure}\n{d.system} − {d.baseline}": (d.low, d.difference, d.high, d.p_holm) for d in self.differences
        }
        return saved_figure(comparison_figure(rows, self.confidence), path)

    def summary(self) -> dict[str, Any]:
        """Everything but the values of each query, as plain values, ready for JSON."""
        return {
            "systems": [
                {
                    "system": name,
                    "sha256": card.digest,
                    "source": card.source,
                    "means": card.means,
                    "mean_queries": {measure: asdict(behind) for measure, behind in card.mean_queries.items()},
                    "counts": dict(card.counts),
                    "versions": dict(card.versions),
                    "inputs": dict(card.inputs),
                }
                for name, card in self.cards.items()
            ],
            "conditions": dict(next(iter(self.cards.values())).conditions),
            "differences": [asdict(difference) for difference in self.differences],
            "holm": {"tests": len(self.differences), "family": self._family()},
            "against": self.against,
            "resamples": self.resamples,
            "confidence": self.confidence,
            "seed": self.seed,
        }

    def to_latex(self) -> str:
        r"""The tables `means` and `table` in LaTeX; they need ``\usepackage{booktabs}``."""
        return "\n".join(table.latex() for table in (self.means(), *([self.table()] if self.differences else [])))

    def to_csv(self, path: str | Path) -> None:
        """Write one row for each query, one column for each measure and system; an atomic write.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        queries = next(iter(self.cards.values())).queries
        systems = [(measure, name) for measure in self.measures for name in self.cards]
        columns = (self.cards[name].column(measure, queries).tolist() for measure, name in systems)
        titles = ["query", *(f"{measure} {name}" for measure, name in systems)]
        write_whole(path, Table(titles, list(zip(queries, *columns, strict=True))).csv())


def compare(
    cards: Mapping[str, ScoreCard | MeasuredQueries] | Sequence[ScoreCard | MeasuredQueries],
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    against: str | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    tests: bool = True,
) -> Comparison:
    """Compare systems on the same queries under every measure.

    Two values of a query that differ by rounding only, 1e-12 or less, are equal. The numbers do not depend on the
    order of the cards' queries, nor on which other systems and measures are compared, but for Holm's p.

    Args:
        cards: two or more score cards or evaluations of the same conditions; with names, or named by their systems.
        measures: by default, all that every card has.
        against: the name of the system that is the baseline of all others. Without it, every pair is compared, the
            earlier one as the baseline.
        resamples, confidence, seed, threads: see `cuihop.comparison.paired_tests`.
        tests: without, only means are compared, as of the many systems of a campaign.

    Raises:
        InputError: there are fewer than two cards, two of one name, they were not measured alike, a measure is not in
            all of them, or no query was scored on both.
    """
    checked_resampling(resamples, confidence, seed)
    each = [(None, card) for card in cards] if not isinstance(cards, Mapping) else list(cards.items())
    of_each = [card if isinstance(card, ScoreCard) else ScoreCard.of(card, name) for name, card in each]
    systems = [name or card.system for (name, _), card in zip(each, of_each, strict=True)]
    named = dict(zip(systems, of_each, strict=True))
    if len(named) < max(len(cards), 2):
        raise InputError(
            "not systems to compare", found=", ".join(systems) or "none", expected="two or more, of different names"
        )
    if against is not None and against not in named:
        raise InputError(
            "no such system", column="against", found=quoted(against), expected=" or ".join(map(quoted, named))
        )
    for a, b in itertools.combinations(named, 2):
        named[a].check_same_conditions(named[b], (a, b))
    names = _measures(list(named.values()), measures)
    pairs = list(itertools.combinations(named, 2)) if against is None else [(against, b) for b in named if b != against]
    pairs = pairs if tests else []
    queries = sorted(next(iter(named.values())).queries)
    columns = {(name, system): card.column(name, queries) for name in names for system, card in named.items()}
    tested = [(name, a, b) for name in names for a, b in pairs]
    rows: list[dict[str, Any]] = []
    step = max(1, _CELLS_AT_ONCE // len(queries))
    for first in range(0, len(tested), step):
        rows += _tested(tested[first : first + step], columns, confidence, resamples, seed, threads)
    adjusted = holm([row["p_randomisation"] for row in rows])
    differences = tuple(Difference(**row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))
    return Comparison(differences, named, names, against, resamples, confidence, seed)


def _tested(
    tests: Sequence[tuple[str, str, str]],
    columns: Mapping[tuple[str, str], Float64],
    confidence: float,
    resamples: int,
    seed: int,
    threads: int | None,
) -> list[dict[str, Any]]:
    """The fields of `Difference` for each measure and pair of systems; all but Holm's p."""
    differences = np.array([columns[name, system] - columns[name, baseline] for name, baseline, system in tests]).T
    differences[np.abs(differences) <= _ROUNDING] = 0.0
    fields: dict[int, dict[str, Any]] = {}
    for indices, both in _same_queries(differences):
        paired = np.ascontiguousarray(differences[both][:, indices])
        if not len(paired):
            name, *both_systems = tests[indices[0]]
            raise InputError("no query was scored for both systems", column=name, found=", ".join(both_systems))
        exchanged = randomisation_tests(paired, resamples=resamples, seed=seed, threads=threads)
        resampled = paired_bootstraps(paired, confidence=confidence, resamples=resamples, seed=seed, threads=threads)
        student = student_tests(paired)
        for column, index in enumerate(indices):
            name, baseline, system = tests[index]
            fields[index] = {
                "measure": name, "baseline": baseline, "system": system, "queries": len(paired),
                "mean_baseline": math.fsum(columns[name, baseline][both]) / len(paired),
                "mean_system": math.fsum(columns[name, system][both]) / len(paired),
                "difference": math.fsum(paired[:, column]) / len(paired),
                "low": resampled[column].low, "high": resampled[column].high,
                "p_bootstrap": resampled[column].p, "p_randomisation": exchanged[column],
                "p_student": student[column].p, "effect": student[column].effect,
                **_outcomes(name, paired[:, column]),
            }  # fmt: skip
    return [fields[index] for index in range(len(tests))]


def _measures(cards: Sequence[ScoreCard], measures: str | Measure | Sequence[str | Measure] | None) -> tuple[str, ...]:
    shared = [name for name in cards[0].values if all(name in card.values for card in cards)]
    requested = shared if measures is None else [str(measure) for measure in measures_named(measures)]
    absent = [name for name in requested if name not in shared]
    if absent or not requested:
        raise InputError(
            "not a measure of every score card", column="measures", found=", ".join(absent) or "none in common",
            expected=", ".join(shared) or "cards of the same measures",
        )  # fmt: skip
    return tuple(requested)


def _same_queries(differences: Float64) -> Iterator[tuple[list[int], npt.NDArray[np.bool_]]]:
    """Columns that have the same queries, with these queries."""
    scored = ~np.isnan(differences)
    indices: dict[bytes, list[int]] = {}
    for index, column in enumerate(scored.T):
        indices.setdefault(column.tobytes(), []).append(index)
    for columns in indices.values():
        yield columns, scored[:, columns[0]]


def _outcomes(measure: str, differences: Float64) -> dict[str, int]:
    more, less = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (less, more) if is_error(measure) else (more, less)
    return {"wins": wins, "ties": len(differences) - more - less, "losses": losses}


def _sentence(line: str) -> str:
    return f"{line if line.startswith('p ') else line[0].upper() + line[1:]}."


def is_error(measure: str) -> bool:
    """True if smaller values are the better ones."""
    return FAMILIES[measures_named(measure)[0].family].error
