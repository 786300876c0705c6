"""``cuihop concept-detection``: predicted concepts of images, scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import ConceptColumnOption, ImageColumnOption
from cuihop.cli.output import JsonOption, console, print_json, print_table
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import counted
from cuihop.imageclef.concept_detection import evaluate_detection
from cuihop.notebooks.table import Table

__all__ = ["CardOption", "OutputOption", "concept_detection", "show_means", "write_results"]

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the values of each image, as CSV."), FileUse.WRITES
]

CardOption = Annotated[
    Path | None, typer.Option("--card", help="File for a score card, for cuihop compare."), FileUse.WRITES
]


def concept_detection(
    truth: Annotated[Path, typer.Argument(help="Ground truth: images and C1;C2.", show_default=False)],
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
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    output: OutputOption = None,
    card: CardOption = None,
    json: JsonOption = False,
) -> None:
    """Score detected concepts as ImageCLEFmedical does: F1 of each image, and the mean."""
    evaluation = evaluate_detection(
        truth, predictions, manual_truth, official=official, image_column=image_column, concept_column=concept_column
    )
    if write_results(evaluation, output, card, json):
        return
    show_means(evaluation, output)
    counts, screen = evaluation.counts, console()
    screen.print(f"{counted(counts.images, 'image')}, {counts.true:,} true and {counts.predicted:,} predicted concepts")
    for name, empty in (("primary", counts.empty_primary), ("secondary", counts.empty_secondary)):
        if empty:
            screen.print(f"{name}: {counted(empty, 'image')} without a true concept, left out of the mean")
    if counts.unfilled:
        read = "read as a concept without a name" if official else "read as no concept"
        screen.print(f"{counted(counts.unfilled, 'empty field')} in the ground truth: {read}")


def write_results(
    evaluation: MeasuredQueries,
    output: Path | None,
    card: Path | None,
    json: bool,
    more: Mapping[str, Any] | None = None,
) -> bool:
    """Write the files, and print JSON where requested, with ``more`` fields; true if it was."""
    if output is not None:
        evaluation.to_csv(output)
    if card is not None:
        ScoreCard.of(evaluation).write(card)
    if json:
        print_json({**evaluation.summary(), **(more or {}), "per_query": None if output is None else str(output)})
    return json


def show_means(evaluation: MeasuredQueries, output: Path | None) -> None:
    """Print means and accounts."""
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
