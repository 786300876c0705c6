"""``cuihop concept-detection``: predicted concepts of images, scored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.added_names import GraphWithNames
from cuihop.cli.command_files import CSV, FileUse
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
from cuihop.cli.graph_option import (
    DirectionOption,
    GraphSource,
    LambdaOption,
    NamesOption,
    WithinSabOption,
    opened_graph,
)
from cuihop.cli.output import JsonOption, console, path_text, print_json, print_table, write_and_show
from cuihop.cli.print_detection import DetectionDetails, detection_tables
from cuihop.cli.scored_systems import ScoredSystems, predictions_named
from cuihop.collection.concept_names import ConceptNames
from cuihop.collection.labels import Labels
from cuihop.evaluation.groups import group_means
from cuihop.imageclef.concept_detection import evaluate_submissions
from cuihop.imageclef.detection_scores import TrainingConcepts, average_scores, frequency_scores
from cuihop.measures.nearness import Nearness

VALUES_OF_IMAGES = "Values of each image"

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the values of each image, as CSV."), CSV
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
    within_sab: WithinSabOption = None,
    training: Annotated[
        Path | None,
        typer.Option(
            "--training", rich_help_panel=FILES_PANEL,
            help="Concepts of the training images: also scores by their number of training images.",
        ),
    ] = None,
    groups: GroupsOption = None,
    names: NamesOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", rich_help_panel=FILES_PANEL, help="File for the values of each image, as CSV."),
        CSV,
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
    chosen = GraphSource.optional(graph, within_sab)
    columns = {"image_column": image_column, "concept_column": concept_column}
    labels = None if groups is None else Labels.read(groups)
    seen = None if training is None else TrainingConcepts.read(training, **columns)
    tests: dict[str, Any] = {
        "resamples": resamples, "confidence": confidence, "seed": seed, "threads": threads
    }  # fmt: skip
    details = {}
    added = None if names is None else ConceptNames.read(names)
    inputs = {"training": seen, "names": added}
    accounts = {name: given.account for name, given in inputs.items() if given is not None}
    with nullcontext() if chosen is None else opened_graph(chosen) as opened:
        named = opened if opened is None or added is None else GraphWithNames(opened, added)
        found = evaluate_submissions(
            truth, predictions_named(predictions, "PREDICTIONS"), manual_truth, named,
            nearness=Nearness(hops, lam, direction, "isolated"), official=official, **columns,
        )  # fmt: skip
        for name, each in found.items():
            means = [group_means(each, labels, label, **tests) for label in by or ()]
            frequencies = [] if seen is None else frequency_scores(each, seen.times)
            averages = average_scores(each, **tests)
            details[name] = DetectionDetails.of(
                each, averages, means, frequencies, added if named is None else named, graph=named
            )
    systems = ScoredSystems.of(found, **tests)
    tables = list(detection_tables(details, confidence, rows))
    compared = [] if systems.comparison is None else [systems.comparison.table()]

    def show(written: Mapping[str, Path]) -> None:
        if json:
            print_json({
                "systems": [
                    {"system": name, **each.fields(rows), **found[name].summary()} for name, each in details.items()
                ],
                **systems.fields(),
                "inputs": accounts,
                "per_query": path_text(written.get(VALUES_OF_IMAGES)),
            })  # fmt: skip
            return
        for place, table in enumerate(tables):
            print_table(table, table.caption if place else None)
        for table in compared:
            print_table(table)
        for line in accounts.values():
            console().print(line)
        systems.print_account(written)

    values = (VALUES_OF_IMAGES, output)
    write_and_show(systems.outputs(values, [*tables, *compared], report=report, cards=cards, plot=plot), show)
