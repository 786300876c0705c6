"""``cuihop concept-detection`` and ``cuihop irma-error``: predicted concepts and codes of images, scored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import JsonOption, console, print_json, print_table
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import counted
from cuihop.imageclef.concept_detection import evaluate_detection
from cuihop.imageclef.irma_codes import evaluate_irma
from cuihop.notebooks.table import Table

__all__ = ["concept_detection", "irma_error"]

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the values of each image, as CSV."), FileUse.WRITES
]

CardOption = Annotated[
    Path | None, typer.Option("--card", help="File for a score card, for cuihop compare."), FileUse.WRITES
]


def concept_detection(
    truth: Annotated[Path, typer.Argument(help="Ground truth: CSV, image and C1;C2.", show_default=False)],
    predictions: Annotated[Path, typer.Argument(help="Predicted concepts of the same images.", show_default=False)],
    manual_truth: Annotated[
        Path | None, typer.Option("--manual-truth", help="Manual ground truth, for the secondary score.")
    ] = None,
    official: Annotated[
        bool,
        typer.Option(
            "--official", help="Read an empty field, as ImageCLEF's evaluator, as one concept without a name."
        ),
    ] = False,
    output: OutputOption = None,
    card: CardOption = None,
    json: JsonOption = False,
) -> None:
    """Score detected concepts as ImageCLEFmedical does: F1 of each image, and the mean."""
    evaluation = evaluate_detection(truth, predictions, manual_truth, official=official)
    if _written(evaluation, output, card, json):
        return
    _show(evaluation, output)
    counts, screen = evaluation.counts, console()
    screen.print(f"{counted(counts.images, 'image')}, {counts.true:,} true and {counts.predicted:,} predicted concepts")
    for name, empty in (("primary", counts.empty_primary), ("secondary", counts.empty_secondary)):
        if empty:
            screen.print(f"{name}: {counted(empty, 'image')} without a true concept, left out of the mean")
    if counts.unfilled:
        read = "read as a concept without a name" if official else "read as no concept"
        screen.print(f"{counted(counts.unfilled, 'empty field')} in the ground truth: {read}")


def irma_error(
    truth: Annotated[Path, typer.Argument(help="Correct codes: image and code.", show_default=False)],
    predictions: Annotated[Path, typer.Argument(help="Predicted codes; may hold '*'.", show_default=False)],
    codes: Annotated[
        Path | None, typer.Option("--codes", help="All codes of the hierarchy: the labels at each position.")
    ] = None,
    branching: Annotated[
        int | None, typer.Option("--branching", min=1, help="Instead of --codes: number of labels at every position.")
    ] = None,
    missing_wrong: Annotated[
        bool, typer.Option("--missing-wrong", help="Score an image without a prediction as all wrong.")
    ] = False,
    output: OutputOption = None,
    card: CardOption = None,
    json: JsonOption = False,
) -> None:
    """Score IRMA codes by the hierarchical error of ImageCLEFmed: 0 is all right, 1 all wrong."""
    if (codes is None) == (branching is None):
        raise typer.BadParameter("give either --codes FILE or --branching")
    evaluation = evaluate_irma(truth, predictions, codes=codes, branching=branching, missing_wrong=missing_wrong)
    if _written(evaluation, output, card, json):
        return
    _show(evaluation, output)
    counts, screen = evaluation.counts, console()
    screen.print(f"{counted(counts.images, 'image')}, {counts.right:,} wholly right; errors add up to "
                 f"{counts.error_sum:.2f}")  # fmt: skip
    screen.print(f"mean error of each axis: {', '.join(f'{mean:.4f}' for mean in evaluation.axis_errors.mean(axis=0))}")
    if counts.wildcards:
        screen.print(f"{counted(counts.wildcards, 'prediction')} with a '*'")
    if counts.missing:
        screen.print(f"{counted(len(counts.missing), 'image')} without a prediction: all wrong")


def _written(evaluation: MeasuredQueries, output: Path | None, card: Path | None, json: bool) -> bool:
    """Write the files, and print JSON where requested; true if it was."""
    if output is not None:
        evaluation.to_csv(output)
    if card is not None:
        ScoreCard.of(evaluation).write(card)
    if json:
        print_json({**evaluation.summary(), "per_query": None if output is None else str(output)})
    return json


def _show(evaluation: MeasuredQueries, output: Path | None) -> None:
    rows = []
    for place, measure in enumerate(evaluation.measures):
        mean = evaluation.means[str(measure)]
        scored = int((~np.isnan(evaluation.values[:, place])).sum())
        rows.append((str(measure), "none" if mean is None else f"{mean:.4f}", f"{scored:,}"))
    print_table(Table(("measure", "mean", "images"), rows))
    screen = console()
    for line in evaluation.inputs.values():
        screen.print(line)
    if output is not None:
        screen.print(f"Values of each image: {output}")
