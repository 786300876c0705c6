"""``cuihop concept-detection`` and ``cuihop irma-error``: predicted concepts and codes of images, scored."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import (
    FILES_PANEL,
    MEASURES_PANEL,
    ByOption,
    CardsOption,
    ConceptColumnOption,
    ConfidenceOption,
    GroupsOption,
    HopsOption,
    ImageColumnOption,
    OptionalGraphOption,
    PlotOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    ThreadsOption,
)
from cuihop.cli.graph_option import DirectionOption, LambdaOption, opened_graph
from cuihop.cli.output import JsonOption, console, print_json, print_table
from cuihop.cli.print_detection import DetectionDetails, detection_tables
from cuihop.cli.scored_systems import ScoredSystems, predictions_named
from cuihop.collection.labels import Labels
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.groups import group_means
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import counted
from cuihop.imageclef.concept_detection import evaluate_submissions
from cuihop.imageclef.detection_scores import TrainingConcepts, average_scores, frequency_scores
from cuihop.imageclef.irma_codes import evaluate_irma
from cuihop.measures.nearness import Nearness
from cuihop.notebooks.table import Table, write_tables

__all__ = ["concept_detection", "irma_error"]

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the values of each image, as CSV."), FileUse.WRITES
]

CardOption = Annotated[
    Path | None, typer.Option("--card", help="File for a score card, for cuihop compare."), FileUse.WRITES
]


def concept_detection(
    truth: Annotated[Path, typer.Argument(help="Ground truth: images and C1;C2.", show_default=False)],
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="PREDICTIONS", show_default=False,
            help="Predicted concepts of the same images: one or several submissions, each FILE or NAME=FILE.",
        ),
        FileUse.READS,
    ],
    manual_truth: Annotated[
        Path | None,
        typer.Option(
            "--manual-truth", rich_help_panel=FILES_PANEL, help="Manual ground truth, for the secondary score."
        ),
    ] = None,
    graph: OptionalGraphOption = None,
    training: Annotated[
        Path | None,
        typer.Option(
            "--training", rich_help_panel=FILES_PANEL,
            help="Concepts of the training images: also scores by their number of training images.",
        ),
    ] = None,
    groups: GroupsOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", rich_help_panel=FILES_PANEL, help="File for the values of each image, as CSV."),
        FileUse.WRITES,
    ] = None,
    report: ReportOption = None,
    cards: CardsOption = None,
    plot: PlotOption = None,
    official: Annotated[
        bool,
        typer.Option(
            "--official", rich_help_panel=MEASURES_PANEL,
            help="Read an empty field, as ImageCLEF's evaluator, as one concept without a name.",
        ),
    ] = False,
    by: ByOption = None,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    rows: Annotated[
        int, typer.Option("--rows", min=0, help="Rows of concepts, near misses, and semantic types.")
    ] = 10,
    resamples: ResamplesOption = 10_000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Score detected concepts as ImageCLEFmedical does: F1 of each image, and the mean; also precision and recall.

    Several submissions are ranked, and compared as by cuihop compare.
    """
    if bool(by) != (groups is not None):
        raise typer.BadParameter("--by LABEL and --groups FILE go together: the labels of the images")
    columns = {"image_column": image_column, "concept_column": concept_column}
    labels = None if groups is None else Labels.read(groups)
    seen = None if training is None else TrainingConcepts.read(training, **columns)
    tests: dict[str, Any] = {
        "resamples": resamples, "confidence": confidence, "seed": seed, "threads": threads
    }  # fmt: skip
    details = {}
    with nullcontext() if graph is None else opened_graph(graph) as opened:
        found = evaluate_submissions(
            truth, predictions_named(predictions, "PREDICTIONS"), manual_truth, opened,
            nearness=Nearness(hops, lam, direction, "isolated"), official=official, **columns,
        )  # fmt: skip
        for name, each in found.items():
            means = [group_means(each, labels, label, **tests) for label in by or ()]
            frequencies = [] if seen is None else frequency_scores(each, seen.times)
            averages = average_scores(each, **tests)
            details[name] = DetectionDetails.of(each, averages, means, frequencies, opened)
    systems = ScoredSystems.of(found, **tests)
    systems.write(output=output, cards=cards, plot=plot)
    tables = list(detection_tables(details, confidence, rows))
    compared = [] if systems.comparison is None else [systems.comparison.table()]
    if report is not None:
        write_tables(report, [*tables, *compared])
    if json:
        print_json({
            "systems": [
                {"system": name, **each.fields(rows), **found[name].summary()} for name, each in details.items()
            ],
            **systems.fields(),
            "training": None if seen is None else seen.account,
            "per_query": None if output is None else str(output),
        })  # fmt: skip
        return
    for place, table in enumerate(tables):
        print_table(table, table.caption if place else None)
    for table in compared:
        print_table(table)
    if seen is not None:
        console().print(seen.account)
    systems.print_account({"Values of each image": output, "Tables": report, "Score cards": cards, "Figure": plot})


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
