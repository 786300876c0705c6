"""``cuihop irma-error``: predicted IRMA codes of images, of one system or several, scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cuihop.cli.command_files import JSON, FileUse
from cuihop.cli.compared_systems import write_cards
from cuihop.cli.detection import VALUES_OF_IMAGES, OutputOption
from cuihop.cli.evaluation_options import CardsOption, GroupOptions, PlotOption, SystemOptions
from cuihop.cli.output import (
    JsonOption,
    Output,
    console,
    path_text,
    print_json,
    print_table,
    print_written,
    write_and_show,
)
from cuihop.cli.scored_systems import account_lines, predictions_named
from cuihop.cli.system_tables import QueryGroups, RankedSystems, SystemLabels
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.groups import group_table
from cuihop.evaluation.means import number_text
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import counted
from cuihop.imageclef.code_frequency import TrainingCodes, code_errors, frequency_figure, frequency_table
from cuihop.imageclef.irma_codes import IrmaEvaluation, evaluate_irma_each
from cuihop.notebooks.table import Table

_ERROR_COUNT = "error count"
_INTERVALS: dict[str, Any] = {"resamples": 10_000, "confidence": 0.95, "seed": 0, "threads": None}


@dataclass(frozen=True, kw_only=True)
class _Options:
    codes: Annotated[
        Path | None, typer.Option("--codes", help="All codes of the hierarchy: the labels at each position.")
    ] = None
    branching: Annotated[
        int | None, typer.Option("--branching", min=1, help="Instead of --codes: number of labels at every position.")
    ] = None
    missing_wrong: Annotated[
        bool, typer.Option("--missing-wrong", help="Score an image without a prediction as all wrong.")
    ] = False
    training: Annotated[
        Path | None,
        typer.Option("--training", help="Codes of the training images, for errors by frequency in training."),
    ] = None

    def __post_init__(self) -> None:
        if (self.codes is None) == (self.branching is None):
            raise typer.BadParameter("give either --codes FILE or --branching")


@dataclass(frozen=True, kw_only=True)
class _OutputOptions:
    output: OutputOption = None
    card: Annotated[Path | None, typer.Option("--card", help="File for a score card, for cuihop compare."), JSON] = None
    cards: CardsOption = None
    plot: PlotOption = None
    json: JsonOption = False


def irma_error(
    truth: Annotated[Path, typer.Argument(help="Correct codes: image and code.", show_default=False)],
    predictions: Annotated[
        list[str],
        typer.Argument(metavar="PREDICTIONS…", show_default=False,
                       help="Predicted codes, each FILE or NAME=FILE; may hold '*'."),
        FileUse.READS,
    ],
    options: _Options,
    groups: GroupOptions,
    labels_of_systems: SystemOptions,
    outputs: _OutputOptions,
) -> None:  # fmt: skip
    """Score IRMA codes by the hierarchical error of ImageCLEFmed (0 is all right, 1 all wrong) and the error rate."""
    if outputs.plot is not None and options.training is None:
        raise typer.BadParameter("--plot draws errors by frequency in training: --training FILE")
    files = predictions_named(predictions, "PREDICTIONS")
    if len(files) > 1 and (outputs.output is not None or outputs.card is not None):
        raise typer.BadParameter("--output and --card go with one system; --cards FOLDER writes a card of each")
    labelled = SystemLabels.read(labels_of_systems.system_labels, labels_of_systems.by_system)
    labels = groups.read_groups()
    trained = None if options.training is None else TrainingCodes.read(options.training)
    found = evaluate_irma_each(
        truth, files, codes=options.codes, branching=options.branching, missing_wrong=options.missing_wrong
    )
    errors = [] if trained is None else code_errors(list(found.values()), trained)
    of_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in found.items()}
    query_groups = QueryGroups.of(of_cards, list(next(iter(of_cards.values())).means), labels, groups.by, **_INTERVALS)
    added = {**query_groups.fields(), "by_code": [asdict(each) for each in errors]}
    first = next(iter(found.values()))
    ranked = None if len(found) == 1 else RankedSystems(_means(found), labelled, error=True)

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json and ranked is None:
            print_json({**first.summary(), **added, "per_query": path_text(written.get(VALUES_OF_IMAGES))})
            return
        if outputs.json and ranked is not None:
            systems = [{"system": name, **each.summary()} for name, each in found.items()]
            print_json({"systems": systems, **ranked.fields(), **added})
            return
        lines = [] if trained is None else [trained.account]
        if ranked is None:
            _show_one(first, query_groups)
        else:
            for table in (*ranked.tables(), *query_groups.tables()):
                print_table(table, table.caption if table.name.startswith("by_") else None)
            accounts = {name: [*each.account(), *_account(each)] for name, each in found.items()}
            lines = [*labelled.account, *account_lines(accounts), *lines]
        if errors:
            table = frequency_table(errors)
            print_table(table, table.caption)
        for line in lines:
            console().print(line)
        print_written(written)

    files_to_write: list[Output] = [
        (VALUES_OF_IMAGES, outputs.output, first.to_csv),
        ("Score card", outputs.card, lambda path: ScoreCard.of(first).write(path)),
        ("Score cards", outputs.cards, lambda path: write_cards(path, of_cards)),
        ("Figure", outputs.plot, lambda path: frequency_figure(errors, path)),
    ]
    write_and_show(files_to_write, show)


def _means(found: Mapping[str, IrmaEvaluation]) -> dict[str, dict[str, float | None]]:
    """System → the sum of the errors, the mean error, and the error rate."""
    return {name: {_ERROR_COUNT: each.counts.error_sum, **each.means} for name, each in found.items()}


def _account(evaluation: IrmaEvaluation) -> list[str]:
    """Lines on the images of one system."""
    counts = evaluation.counts
    axes = ", ".join(f"{mean:.4f}" for mean in evaluation.axis_errors.mean(axis=0))
    lines = [
        f"{counted(counts.images, 'image')}, {counts.right:,} wholly right; errors add up to {counts.error_sum:.2f}",
        f"mean error of each axis: {axes}",
    ]
    if counts.wildcards:
        lines.append(f"{counted(counts.wildcards, 'prediction')} with a '*'")
    if counts.missing:
        lines.append(f"{counted(len(counts.missing), 'image')} without a prediction: all wrong")
    return lines


def _show_one(evaluation: IrmaEvaluation, query_groups: QueryGroups) -> None:
    _show_means(evaluation)
    for line in _account(evaluation):
        console().print(line)
    for of in query_groups.means.values():
        for groups in of.values():
            table = group_table(groups, query_groups.confidence)
            print_table(table, table.caption)


def _show_means(evaluation: MeasuredQueries) -> None:
    """Print means and accounts."""
    rows = []
    for place, measure in enumerate(evaluation.measures):
        mean = evaluation.means[str(measure)]
        scored = int((~np.isnan(evaluation.values[:, place])).sum())
        rows.append((str(measure), number_text(mean), f"{scored:,}"))
    print_table(Table(("measure", "mean", "images"), rows))
    for line in evaluation.inputs.values():
        console().print(line)
