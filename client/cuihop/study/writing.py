"""Files of a study, written from its results; its folder is written whole or not at all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError, OutputError
from cuihop.files.written_files import inputs_within, real_target, replaced_folder
from cuihop.notebooks.table import Table
from cuihop.study.cost import Cost
from cuihop.study.cross_evaluation import CrossEvaluation
from cuihop.study.difference import NearConcepts, PrecisionDifference
from cuihop.study.inputs import StudyInputs
from cuihop.study.long_table import LongRow, long_table
from cuihop.study.plots import plot_ablation, plot_costs, plot_differences, plot_gains, plot_precision, subset_files
from cuihop.study.report import cost_report, cost_table, report
from cuihop.study.tables import (
    ablation_tables,
    comparable,
    difference_table,
    gain_table,
    near_table,
    precision_table,
    published_table,
)

_DIFFERENCE_COLUMNS = (
    "measure", "iou", "nn_iou", "difference", "low", "high", "p", "p_holm", "better", "worse", "same", "queries",
)  # fmt: skip


@dataclass(frozen=True)
class StudyResults:
    """Results of a study; parts that were left out are empty.

    Attributes:
        tables: scores of every ranking. differences, near: of nn-IoU and IoU.
        ablation: its numbers. costs: the times.
    """

    tables: CrossEvaluation | None = None
    differences: Sequence[PrecisionDifference] = ()
    near: NearConcepts | None = None
    ablation: Sequence[LongRow] = ()
    costs: Sequence[Cost] = ()

    def long_rows(self, inputs: StudyInputs) -> list[LongRow]:
        """Every number but times and tests."""
        tables = () if self.tables is None else self.tables.long_rows(inputs)
        return [*tables, *(() if self.near is None else self.near.long_rows(inputs)), *self.ablation]


def tables_of(found: StudyResults, inputs: StudyInputs) -> list[Table]:
    """The tables, but for the times."""
    tables = []
    if found.tables is not None:
        evaluations = found.tables.evaluations
        if inputs.label_sets:
            tables.append(precision_table(evaluations, inputs))
            if comparable(inputs.images, inputs.label_sets):
                tables.append(published_table(evaluations, inputs))
        if found.differences:
            tables.append(difference_table(found.differences))
        if found.near is not None:
            tables.append(near_table(found.near, inputs))
        tables.append(gain_table(evaluations, inputs))
    if found.ablation:
        tables += ablation_tables(found.ablation, inputs)
    return tables


def write_study(
    folder: Path,
    found: StudyResults,
    inputs: StudyInputs,
    account: Sequence[str],
    machine: str,
    *,
    plots: bool,
    cards: bool,
) -> None:
    """Write report, tables, numbers, figures and score cards into a folder.

    Args:
        folder: exists, and is empty.
        found, inputs: the study.
        account: lines about the inputs.
        machine: the machine of the timings.
        plots: draw figures. cards: write a score card for each ranking.
    """
    tables = tables_of(found, inputs)
    figures = _drawn(folder, found, inputs) if plots else []
    for table in tables:
        _write(folder / f"{table.name}.tex", table.latex())
    _write(folder / "numbers.csv", long_table(found.long_rows(inputs)).csv())
    if found.differences:
        _write(folder / "difference.csv", _difference_numbers(found.differences).csv())
    published = any(table.name == "published" for table in tables)
    lines = report(inputs, found.tables, found.near, account, tables, figures, comparable=published)
    _write_lines(folder / "report.md", lines)
    if found.costs:
        table = cost_table(found.costs)
        _write(folder / "cost.tex", table.latex())
        _write(folder / "cost.csv", _cost_numbers(found.costs).csv())
        _write_lines(folder / "cost.md", cost_report(found.costs, inputs, machine, figure=plots))
    if cards and found.tables is not None:
        (folder / "cards").mkdir()
        for number, (name, evaluation) in enumerate(found.tables.evaluations.items(), start=1):
            plain = "".join(sign if sign.isalnum() else "-" for sign in name)
            ScoreCard.of(evaluation, name).write(folder / "cards" / f"{number}-{plain}.json")


def _drawn(folder: Path, found: StudyResults, inputs: StudyInputs) -> list[str]:
    """Draw the figures; the names of those in the report."""
    names = []
    if found.tables is not None:
        if inputs.label_sets:
            plot_precision(folder / "precision", found.tables.evaluations, inputs)
            names.append("precision")
        if found.differences:
            plot_differences(folder / "difference", found.differences, inputs)
            names.append("difference")
        plot_gains(folder / "gain", found.tables.evaluations, inputs)
        names.append("gain")
    if found.ablation:
        for subset, name in subset_files().items():
            plot_ablation(folder / name, found.ablation, subset, inputs)
            names.append(name)
    if found.costs:
        plot_costs(folder / "cost", found.costs)
    return names


def _cost_numbers(costs: Sequence[Cost]) -> Table:
    header = ("measure", "way", "seconds_per_query", "queries", "largest_difference")
    return Table(header, [dataclasses.astuple(cost) for cost in costs])


def _difference_numbers(differences: Sequence[PrecisionDifference]) -> Table:
    rows = [
        (
            d.measure, d.iou, d.nn_iou, d.difference, *d.interval, d.p, d.p_holm, d.better, d.worse, d.same,
            d.better + d.worse + d.same,
        )
        for d in differences
    ]  # fmt: skip
    return Table(_DIFFERENCE_COLUMNS, rows)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_lines(path: Path, blocks: Iterable[str]) -> None:
    _write(path, "\n\n".join(blocks) + "\n")


MARK = "cuihop-study.json"
"""A file that every study's folder has. It lists the others: only a folder that holds nothing else is written over."""


@contextmanager
def whole_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder beside ``out``; it takes the place of ``out`` when the block ends, and goes where it fails.

    Raises:
        InputError: ``out`` is a file, or holds something and may not, or should not, be written over.
        OutputError: it cannot be written.
    """
    out = real_target(out.absolute())
    _check_free(out, overwrite)
    try:
        with replaced_folder(out) as folder:
            yield folder
            _check_free(out, overwrite)  # a study takes a while
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error


def _check_free(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("not a folder", file=out, found="a file", expected="a new or empty folder")
    if out in (Path.cwd(), *Path.cwd().parents):
        raise InputError("the current folder cannot be replaced", file=out, expected="a folder in it, or elsewhere")
    read = inputs_within(out)
    if read:
        raise InputError("the folder to write holds a file to read", file=out, found=read[0])
    held = {path.name for path in out.iterdir()} if out.exists() else set()
    if held and not overwrite:
        raise InputError(
            "the folder is not empty", file=out, expected="a new or empty folder",
            advice="--overwrite replaces an earlier study.",
        )  # fmt: skip
    others = sorted(held - _written(out))
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(
            "the folder holds something else than a study", file=out, found=f"{others[0]}{more}",
            expected="what an earlier study wrote, which --overwrite may delete",
        )  # fmt: skip


def _written(out: Path) -> set[str]:
    """The files of an earlier study there; none where there is none."""
    try:
        files = json.loads((out / MARK).read_text(encoding="utf-8"))["files"]
        return {MARK, *map(str, files)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()
