"""``cuihop score concepts`` and ``cuihop score irma``: predicted concepts and IRMA codes of images, scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
import typer

from cuihop.cli.command_files import CSV, JSON, FileUse
from cuihop.cli.compared_systems import write_cards
from cuihop.cli.evaluation_options import (
    CardsOptions,
    GroupOptions,
    IntervalOptions,
    PlotOptions,
    ReportOptions,
    SystemOptions,
)
from cuihop.cli.graph_option import NamesOptions, OptionalEdgeOptions
from cuihop.cli.nearness_options import ConstantNearnessOptions
from cuihop.cli.option_groups import (
    ColumnOptions,
    JsonOptions,
    argument,
    file_option,
    measure_option,
    option,
    option_group,
)
from cuihop.cli.output import Output, print_json, print_lines, print_table, write_and_show
from cuihop.cli.run_options import ThreadsOptions
from cuihop.cli.system_report import (
    RankedSystems,
    SystemLabels,
    SystemReport,
    group_fields,
    groups_of_cards,
    joint_notes,
    predictions_named,
)
from cuihop.collection.concept_tables import ConceptNames
from cuihop.comparison.score_card import ScoreCard
from cuihop.comparison.system_groups import query_group_table
from cuihop.evaluation.groups import group_table
from cuihop.evaluation.means import number_text
from cuihop.graph_wrapper import GraphWithNames
from cuihop.imageclef.concept_detection import NEAR, TrueConcepts
from cuihop.imageclef.detection_scores import average_scores, average_table, concept_scores, concept_table
from cuihop.imageclef.irma_codes import IrmaEvaluation, TrueCodes
from cuihop.imageclef.training_frequency import (
    TrainingFrequencies,
    code_errors,
    code_frequency_figure,
    code_frequency_table,
    frequency_scores,
    frequency_table,
)
from cuihop.notebooks.table import Table

VALUES_OF_IMAGES = "Values of each image"


@option_group
class _DetectionOptions(NamesOptions, ColumnOptions):
    """Files of images and concepts, and the reading of an empty field."""

    truth: Path = argument("Ground truth: images and C1;C2.")
    predictions: list[str] = argument(
        "Predicted concepts of the same images: one or several submissions, each FILE or NAME=FILE.",
        metavar="PREDICTIONS", mark=FileUse.READS,
    )  # fmt: skip
    manual_truth: Path | None = file_option("Manual ground truth, for the secondary score.")
    training: Path | None = file_option("Concepts of the training images, for scores by their frequency in training.")
    official: Literal["2025"] | None = measure_option(
        "Follow ImageCLEFmedical's evaluator of this year: an empty field is one concept without a name."
    )


@option_group
class _DetectionOutputs(JsonOptions, ReportOptions):
    output: Path | None = file_option("File for the values of each image, as CSV.", "-o", mark=CSV)
    rows: int = option("Rows of each table of details, such as near misses.", default=10, min=0)


def concept_detection(
    options: _DetectionOptions,
    graph: OptionalEdgeOptions,
    near: ConstantNearnessOptions,
    groups: GroupOptions,
    intervals: IntervalOptions,
    outputs: _DetectionOutputs,
    run: ThreadsOptions,
) -> None:
    """Score detected concepts as ImageCLEFmedical does: F1 of each image, and the mean; also precision and recall.

    Several submissions are ranked, and compared as in cuihop compare.
    """
    if bool(groups.by) != (groups.groups is not None):
        raise typer.BadParameter("--by LABEL and --groups FILE go together: the labels of the images")
    labels = groups.read_groups()
    training = (
        None if options.training is None else TrainingFrequencies.of_concepts(options.training, **options.columns)
    )
    tests = intervals.of_tests(run.threads)
    added = None if options.names is None else ConceptNames.read(options.names)
    inputs = {"training": training, "names": added}
    with graph.opened() as opened:
        named = opened if opened is None or added is None else GraphWithNames(opened, added)
        files = predictions_named(options.predictions, "PREDICTIONS")
        truth = TrueConcepts.read(
            options.truth, options.manual_truth, official=options.official is not None, **options.columns
        )
        results = {name: truth.evaluation(path, named, near.nearness) for name, path in files.items()}
        report = SystemReport(results, outputs.rows, tests)
        averages = {name: average_scores(each, **tests) for name, each in results.items()}
        report.add("averages", averages, lambda rows: average_table(rows, intervals.confidence))
        report.add_groups(labels, groups.by)
        times = None if training is None else training.times
        frequencies = {name: [] if times is None else frequency_scores(each, times) for name, each in results.items()}
        report.add("frequencies", frequencies, frequency_table)
        concepts = {name: concept_scores(each, added if named is None else named) for name, each in results.items()}
        report.add_details("concepts", concepts, concept_table)
        matches = {name: each.matches.get(NEAR) for name, each in results.items()}
        report.add_matches(matches, named, "images", types=True)
    accounts = {name: each.account for name, each in inputs.items() if each is not None}
    report.write((VALUES_OF_IMAGES, "per_query", outputs.output), outputs, json=outputs.json, inputs=accounts)


@option_group
class _IrmaOptions:
    """Codes of images, and of the hierarchy."""

    truth: Path = argument("Correct codes: image and code.")
    predictions: list[str] = argument(
        "Predicted codes, each FILE or NAME=FILE; may hold '*'.", metavar="PREDICTIONS…", mark=FileUse.READS
    )
    codes: Path | None = option("All codes of the hierarchy: the labels at each position.")
    branching: int | None = option("Instead of --codes: number of labels at every position.", min=1)
    missing_wrong: bool = option("Score an image without a prediction as all wrong.", "--missing-wrong", default=False)
    training: Path | None = option("Codes of the training images, for errors by frequency in training.")

    def __post_init__(self) -> None:
        if (self.codes is None) == (self.branching is None):
            raise typer.BadParameter("give either --codes FILE or --branching")


@option_group
class _IrmaOutputs(JsonOptions, PlotOptions, CardsOptions):
    output: Path | None = option("File for the values of each image, as CSV.", "-o", mark=CSV)
    card: Path | None = option("File for a score card, for cuihop compare.", mark=JSON)


def irma_error(
    options: _IrmaOptions, groups: GroupOptions, labels_of_systems: SystemOptions, outputs: _IrmaOutputs
) -> None:
    """Score IRMA codes by ImageCLEFmed's hierarchical error (0: all correct, 1: all wrong) and the error rate."""
    if outputs.plot is not None and options.training is None:
        raise typer.BadParameter("--plot draws errors by frequency in training: --training FILE")
    files = predictions_named(options.predictions, "PREDICTIONS")
    if len(files) > 1 and (outputs.output is not None or outputs.card is not None):
        raise typer.BadParameter("--output and --card go with one system; --cards FOLDER writes a card of each")
    labelled = SystemLabels.read(labels_of_systems.system_labels, labels_of_systems.by_system)
    labels = groups.read_groups()
    trained = None if options.training is None else TrainingFrequencies.of_codes(options.training)
    truth = TrueCodes.read(options.truth, options.codes, options.branching)
    evaluations = {name: truth.evaluation(path, missing_wrong=options.missing_wrong) for name, path in files.items()}
    errors = [] if trained is None else code_errors(list(evaluations.values()), trained)
    of_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in evaluations.items()}
    first, confidence = next(iter(evaluations.values())), IntervalOptions.confidence
    by_label = groups_of_cards(of_cards, list(first.means), labels, groups.by, IntervalOptions().of_tests(None))
    further = {"by": group_fields(by_label), "by_code": [asdict(each) for each in errors]}
    means = {name: {"error count": each.counts.error_sum, **each.means} for name, each in evaluations.items()}
    ranked = None if len(evaluations) == 1 else RankedSystems(means, labelled, error=True)

    def show(written: Mapping[str, str]) -> None:
        if outputs.json and ranked is None:
            print_json({**first.summary(), **further, "per_query": written.get(VALUES_OF_IMAGES)})
            return
        if outputs.json and ranked is not None:
            systems = [{"system": name, **each.summary()} for name, each in evaluations.items()]
            print_json({"systems": systems, **ranked.fields(), **further})
            return
        lines = [] if trained is None else [trained.account]
        if ranked is None:
            print_table(_means(first))
            print_lines(first.account())
            tables = [group_table(systems[name], confidence) for systems in by_label.values() for name in systems]
        else:
            tables = [*ranked.tables(), *(query_group_table(systems, confidence) for systems in by_label.values())]
            accounts = {name: each.account() for name, each in evaluations.items()}
            lines = [*labelled.account, *joint_notes(accounts), *lines]
        for table in (*tables, *([code_frequency_table(errors)] if errors else [])):
            print_table(table, None if table.name == "systems" else table.caption)
        print_lines(lines, written)

    files_to_write: list[Output] = [
        (VALUES_OF_IMAGES, outputs.output, first.to_csv),
        ("Score card", outputs.card, lambda path: ScoreCard.of(first).write(path)),
        ("Score cards", outputs.cards, lambda path: write_cards(path, of_cards)),
        ("Figure", outputs.plot, lambda path: code_frequency_figure(errors, path)),
    ]
    write_and_show(files_to_write, show)


def _means(evaluation: IrmaEvaluation) -> Table:
    scored = (~np.isnan(evaluation.values)).sum(axis=0).tolist()
    rows = zip(evaluation.means.items(), scored, strict=True)
    return Table(
        ("measure", "mean", "images"), [(name, number_text(mean), f"{images:,}") for (name, mean), images in rows]
    )
