"""From what a study found to its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuihop.comparison.score_card import ScoreCard
from cuihop.files.csv_text import csv_text
from cuihop.notebooks.table import Table
from cuihop.study.cost import Cost
from cuihop.study.cross_evaluation import CrossEvaluation
from cuihop.study.difference import Difference, NearConcepts
from cuihop.study.inputs import Setup
from cuihop.study.long_table import Number, write_numbers
from cuihop.study.published import comparable
from cuihop.study.report import cost_report, cost_table, report
from cuihop.study.tables import (
    ablation_tables,
    difference_table,
    gain_table,
    near_table,
    precision_table,
    published_table,
)

__all__ = ["DIFFERENCE_COLUMNS", "Found", "tables_of", "write_study"]

DIFFERENCE_COLUMNS = (
    "measure", "iou", "nn_iou", "difference", "low", "high", "p", "p_holm", "better", "worse", "same", "queries",
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a study found; what was left out is empty.

    Attributes:
        tables: what every ranking scores. differences, near: of nn-IoU and IoU.
        ablation: its numbers. costs: the times.
    """

    tables: CrossEvaluation | None = None
    differences: Sequence[Difference] = ()
    near: NearConcepts | None = None
    ablation: Sequence[Number] = ()
    costs: Sequence[Cost] = ()

    def numbers(self, setup: Setup) -> list[Number]:
        """Every number but times and tests."""
        tables = () if self.tables is None else self.tables.numbers(setup)
        return [*tables, *(() if self.near is None else self.near.numbers(setup)), *self.ablation]


def tables_of(found: Found, setup: Setup) -> list[Table]:
    """The tables, but for the times."""
    tables = []
    if found.tables is not None:
        evaluations = found.tables.evaluations
        if setup.label_sets:
            tables.append(precision_table(evaluations, setup))
            if comparable(setup.images, setup.label_sets):
                tables.append(published_table(evaluations, setup))
        if found.differences:
            tables.append(difference_table(found.differences))
        if found.near is not None:
            tables.append(near_table(found.near, setup))
        tables.append(gain_table(evaluations, setup))
    if found.ablation:
        tables += ablation_tables(found.ablation, setup)
    return tables


def write_study(
    folder: Path, found: Found, setup: Setup, account: Sequence[str], machine: str, *, plots: bool, cards: bool
) -> None:
    """Write report, tables, numbers, figures and score cards into a folder.

    Args:
        folder: where; there, and empty.
        found, setup: the study.
        account: what went in, in plain words.
        machine: what the times were taken on.
        plots: draw figures. cards: write a score card for each ranking.
    """
    tables = tables_of(found, setup)
    figures = _drawn(folder, found, setup) if plots else []
    for table in tables:
        _write(folder / f"{table.name}.tex", table.latex())
    write_numbers(folder / "numbers.csv", found.numbers(setup))
    if found.differences:
        _write_differences(folder / "difference.csv", found.differences)
    published = any(table.name == "published" for table in tables)
    lines = report(setup, found.tables, found.near, account, tables, figures, comparable=published)
    _write_lines(folder / "report.md", lines)
    if found.costs:
        table = cost_table(found.costs)
        _write(folder / "cost.tex", table.latex())
        _write_costs(folder / "cost.csv", found.costs)
        _write_lines(folder / "cost.md", cost_report(found.costs, setup, machine, figure=plots))
    if cards and found.tables is not None:
        (folder / "cards").mkdir()
        for number, (name, evaluation) in enumerate(found.tables.evaluations.items(), start=1):
            plain = "".join(sign if sign.isalnum() else "-" for sign in name)
            ScoreCard.of(evaluation, name).write(folder / "cards" / f"{number}-{plain}.json")


def _drawn(folder: Path, found: Found, setup: Setup) -> list[str]:
    """Draw the figures; the names of those in the report."""
    from cuihop.study import plots

    names = []
    if found.tables is not None:
        if setup.label_sets:
            plots.plot_precision(folder / "precision", found.tables.evaluations, setup)
            names.append("precision")
        if found.differences:
            plots.plot_differences(folder / "difference", found.differences, setup)
            names.append("difference")
        plots.plot_gains(folder / "gain", found.tables.evaluations, setup)
        names.append("gain")
    if found.ablation:
        for subset, name in plots.subset_files().items():
            plots.plot_ablation(folder / name, found.ablation, subset, setup)
            names.append(name)
    if found.costs:
        plots.plot_costs(folder / "cost", found.costs)
    return names


def _write_costs(path: Path, costs: Sequence[Cost]) -> None:
    header = ("measure", "way", "seconds_per_query", "queries", "largest_difference")
    _write(path, csv_text(header, ((c.measure, c.way, c.seconds, c.queries, c.difference) for c in costs)))


def _write_differences(path: Path, differences: Sequence[Difference]) -> None:
    rows = (
        (
            d.measure, d.iou, d.nn_iou, d.difference, *d.interval, d.p, d.p_holm, d.better, d.worse, d.same,
            d.better + d.worse + d.same,
        )
        for d in differences
    )  # fmt: skip
    _write(path, csv_text(DIFFERENCE_COLUMNS, rows))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_lines(path: Path, blocks: Iterable[str]) -> None:
    _write(path, "\n\n".join(blocks) + "\n")
