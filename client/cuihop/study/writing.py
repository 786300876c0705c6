"""Files of a study, written from its results; its folder appears complete or not at all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError, output_errors
from cuihop.files.written_files import inputs_within, real_target, replaced_folder
from cuihop.notebooks.table import Table
from cuihop.study.ablation import SUBSETS, subset_name
from cuihop.study.difference import PrecisionDifference
from cuihop.study.inputs import COLUMNS, StudyInputs
from cuihop.study.plots import plot_ablation, plot_costs, plot_differences, plot_gains, plot_precision
from cuihop.study.report import cost_report, cost_table, report
from cuihop.study.tables import StudyResults, tables_of

_DIFFERENCE_COLUMNS = (
    "measure", "iou", "nn_iou", "difference", "low", "high", "p", "p_holm", "better", "worse", "same", "queries",
)  # fmt: skip
_COST_COLUMNS = ("measure", "way", "seconds_per_query", "queries", "largest_difference")


def write_study(
    folder: Path,
    results: StudyResults,
    inputs: StudyInputs,
    notes: Sequence[str],
    machine: str,
    *,
    plots: bool,
    cards: bool,
) -> None:
    """Write all files into an empty folder; notes are lines about the inputs, ``machine`` is that of the timings."""
    tables = tables_of(results, inputs)
    figures = _drawn(folder, results, inputs) if plots else []
    for table in tables:
        _write(folder / f"{table.name}.tex", table.latex())
    _write(folder / "numbers.csv", Table(COLUMNS, list(map(dataclasses.astuple, results.long_rows(inputs)))).csv())
    if results.differences:
        _write(folder / "difference.csv", _difference_numbers(results.differences).csv())
    published = any(table.name == "published" for table in tables)
    lines = report(inputs, results.tables, results.near, notes, tables, figures, comparable=published)
    _write_lines(folder / "report.md", lines)
    if results.costs:
        table = cost_table(results.costs)
        _write(folder / "cost.tex", table.latex())
        _write(folder / "cost.csv", Table(_COST_COLUMNS, list(map(dataclasses.astuple, results.costs))).csv())
        _write_lines(folder / "cost.md", cost_report(results.costs, inputs, machine, figure=plots))
    if cards and results.tables is not None:
        (folder / "cards").mkdir()
        for number, (name, evaluation) in enumerate(results.tables.evaluations.items(), start=1):
            plain = "".join(sign if sign.isalnum() else "-" for sign in name)
            ScoreCard.of(evaluation, name).write(folder / "cards" / f"{number}-{plain}.json")


def _drawn(folder: Path, results: StudyResults, inputs: StudyInputs) -> list[str]:
    """Draw the figures; the names of those in the report."""
    names = []
    if results.tables is not None:
        if inputs.label_sets:
            plot_precision(folder / "precision", results.tables.evaluations, inputs)
            names.append("precision")
        if results.differences:
            plot_differences(folder / "difference", results.differences, inputs)
            names.append("difference")
        plot_gains(folder / "gain", results.tables.evaluations, inputs)
        names.append("gain")
    if results.ablation:
        for subset in SUBSETS:
            names.append(subset_name(subset))
            plot_ablation(folder / names[-1], results.ablation, subset, inputs)
    if results.costs:
        plot_costs(folder / "cost", results.costs)
    return names


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
def replaced_study(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder next to ``out``; it replaces ``out`` when the block ends, and is removed if the block fails.

    Raises:
        InputError: ``out`` is a file, or holds something and may not, or should not, be written over.
        OutputError: it cannot be written.
    """
    out = real_target(out.absolute())
    _check_free(out, overwrite)
    with output_errors(f"{out} cannot be written"), replaced_folder(out) as folder:
        yield folder
        _check_free(out, overwrite)  # a study takes a while


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
    """The files of an earlier study in the folder; empty without one."""
    try:
        files = json.loads((out / MARK).read_text(encoding="utf-8"))["files"]
        return {MARK, *map(str, files)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()
