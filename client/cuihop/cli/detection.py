"""``cuihop concept-detection``: predicted concepts of images, scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.added_names import GraphWithNames
from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.evaluation_options import (
    ColumnOptions,
    GroupOptions,
    IntervalOptions,
    ReportOptions,
    file_option,
    measure_option,
)
from cuihop.cli.graph_option import ConstantNearnessOptions, NamesOption, OptionalGraphOptions
from cuihop.cli.output import JsonOption, console, path_text, print_json, print_table, write_and_show
from cuihop.cli.print_detection import DetectionDetails, detection_tables
from cuihop.cli.run_options import ThreadsOption
from cuihop.cli.scored_systems import ScoredSystems, predictions_named
from cuihop.collection.concept_names import ConceptNames
from cuihop.evaluation.groups import group_means
from cuihop.imageclef.concept_detection import evaluate_submissions
from cuihop.imageclef.detection_scores import TrainingConcepts, average_scores, frequency_scores

VALUES_OF_IMAGES = "Values of each image"

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for the values of each image, as CSV."), CSV
]


@dataclass(frozen=True, kw_only=True)
class _Options(ColumnOptions):
    manual_truth: Annotated[
        Path | None, file_option("--manual-truth", help="Manual ground truth, for the secondary score.")
    ] = None
    training: Annotated[
        Path | None,
        file_option(
            "--training",
            help="Concepts of the training images: also scores by their number of training images.",
        ),
    ] = None
    names: NamesOption = None
    official: Annotated[
        bool,
        measure_option(
            "--official", help="Read an empty field, as ImageCLEF's evaluator, as one concept without a name."
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class _OutputOptions(ReportOptions):
    output: Annotated[
        Path | None, file_option("--output", "-o", help="File for the values of each image, as CSV."), CSV
    ] = None
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows of concepts, near misses, and semantic types.")] = 10
    json: JsonOption = False


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
    options: _Options,
    graph: OptionalGraphOptions,
    near: ConstantNearnessOptions,
    groups: GroupOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
    threads: ThreadsOption = None,
) -> None:  # fmt: skip
    """Score detected concepts as ImageCLEFmedical does: F1 of each image, and the mean; also precision and recall.

    Several submissions are ranked, and compared as by cuihop compare.
    """
    if bool(groups.by) != (groups.groups is not None):
        raise typer.BadParameter("--by LABEL and --groups FILE go together: the labels of the images")
    labels = groups.read_groups()
    seen = None if options.training is None else TrainingConcepts.read(options.training, **options.columns)
    tests = intervals.of_tests(threads)
    details = {}
    added = None if options.names is None else ConceptNames.read(options.names)
    inputs = {"training": seen, "names": added}
    accounts = {name: given.account for name, given in inputs.items() if given is not None}
    with graph.opened() as opened:
        named = opened if opened is None or added is None else GraphWithNames(opened, added)
        found = evaluate_submissions(
            truth, predictions_named(predictions, "PREDICTIONS"), options.manual_truth, named,
            nearness=near.nearness, official=options.official, **options.columns,
        )  # fmt: skip
        for name, each in found.items():
            means = [group_means(each, labels, label, **tests) for label in groups.by or ()]
            frequencies = [] if seen is None else frequency_scores(each, seen.times)
            averages = average_scores(each, **tests)
            details[name] = DetectionDetails.of(
                each, averages, means, frequencies, added if named is None else named, graph=named
            )
    systems = ScoredSystems.of(found, **tests)
    tables = list(detection_tables(details, intervals.confidence, outputs.rows))
    compared = [] if systems.comparison is None else [systems.comparison.table()]

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json:
            print_json({
                "systems": [
                    {"system": name, **each.fields(outputs.rows), **found[name].summary()}
                    for name, each in details.items()
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

    files = systems.outputs(
        (VALUES_OF_IMAGES, outputs.output), [*tables, *compared], report=outputs.report, cards=outputs.cards,
        plot=outputs.plot,
    )  # fmt: skip
    write_and_show(files, show)
