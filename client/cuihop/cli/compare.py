"""``cuihop compare``: systems side by side on the same queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.compared_systems import (
    NamedRankings,
    check_card_names,
    embeddings_of_corpus,
    evaluations_of,
    rankings_of_files,
    systems_named,
    write_cards,
)
from cuihop.cli.evaluation_options import (
    EvaluationOptions,
    GroupOptions,
    IntervalOptions,
    ReportOptions,
    SystemOptions,
    file_option,
    measure_option,
    measures_option,
    test_option,
)
from cuihop.cli.output import (
    JsonOption,
    Output,
    console,
    note,
    path_text,
    print_json,
    print_table,
    print_written,
    write_and_show,
)
from cuihop.cli.run_options import BY_RANK, EVALUATION, Job, MemoryRunOptions
from cuihop.cli.scored_systems import account_lines
from cuihop.cli.system_tables import QueryGroups, RankedSystems, SystemLabels
from cuihop.collection.dataset import Dataset
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.result import Evaluation
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.notebooks.table import write_tables
from cuihop.resources.progress import Progress

_VALUES = "Values of each query"


@dataclass(frozen=True, kw_only=True)
class _SystemOptions(SystemOptions):
    best: Annotated[
        int | None,
        measure_option(
            "--best", min=0, show_default="all",
            help="With --by-system: list only this number of systems of each group, the best by the first measure.",
        ),
    ] = None  # fmt: skip
    worst: Annotated[
        int | None,
        measure_option(
            "--worst", min=0, show_default="all", help="Beside --best: this number of the worst of each group."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _RankingOptions(EvaluationOptions):
    """Conditions under which the rankings are evaluated."""

    corpus_embeddings: Annotated[
        list[str] | None,
        file_option(
            "--corpus-embeddings", metavar="NAME=FILE",
            help="With --corpus: embeddings of the corpus for a system of embeddings. May be repeated.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    measure: Annotated[list[str] | None, measures_option("those of the cards, or else nn-CUI@5,10,30")] = None
    by_rank: Annotated[
        list[str] | None,
        measure_option(
            "--measure-by-rank",
            help="Also the mean of this measure with the rankings ordered by their ranks, such as AP.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _TestOptions(IntervalOptions):
    tests: Annotated[bool, test_option("--tests/--no-tests", help="Test differences of systems.")] = True
    against: Annotated[
        str | None,
        test_option(
            "--against", metavar="NAME", help="Baseline: compare all others with this system, instead of every pair."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _OutputOptions(ReportOptions):
    output: Annotated[
        Path | None,
        file_option("--output", "-o", help="File for the values of each query, side by side, as CSV."),
        CSV,
    ] = None
    json: JsonOption = False


_OF_COMPARING = {
    "systems", "measure", "threads",
    *(field.name for group in (_SystemOptions, GroupOptions, _TestOptions, _OutputOptions)
      for field in dataclasses.fields(group) if field.name != "cards"),
}  # fmt: skip
"""Parameters that have a use where every system is a score card."""


def compare_systems(
    context: typer.Context,
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM", show_default=False,
            help="Two or more, each FILE or NAME=FILE: rankings, as for cuihop evaluate, or score cards.",
        ),
        FileUse.READS,
    ],
    options: _RankingOptions,
    groups: GroupOptions,
    labels_of_systems: _SystemOptions,
    tests: _TestOptions,
    outputs: _OutputOptions,
    run: MemoryRunOptions,
) -> None:  # fmt: skip
    """Compare systems on the same queries, from rankings or score cards: differences, intervals, tests, wins.

    Rankings are evaluated first, all under the options given. Cards have to match one another, and the options.
    """
    named = systems_named(systems)
    check_card_names(outputs.cards, named)
    labelled = SystemLabels.read(labels_of_systems.system_labels, labels_of_systems.by_system)
    rankings = {name: system for name, system in named.items() if isinstance(system, InputFile)}
    stored_cards = {name: system for name, system in named.items() if isinstance(system, ScoreCard)}
    if not rankings:
        _refuse_unused(context)
    if outputs.plot is not None and not tests.tests:
        raise typer.BadParameter("--plot draws the differences, which --no-tests leaves out")
    job = run.job(context)
    evaluations: Mapping[str, Evaluation] = {}
    means_by_rank: Mapping[str, Mapping[str, float | None]] = {}
    if rankings:
        measures, data = _measures(options, rankings, stored_cards), options.dataset()
        if job.shard is not None:
            with job.open_shard_of(data, by_position=any(map(is_array, rankings.values()))) as part:
                _evaluated(rankings, options, measures, data, part)
            return
        evaluations, means_by_rank = _evaluated(rankings, options, measures, data, job)
    new_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in evaluations.items()}
    of_tests = tests.of_tests(run.threads)
    comparison = compare(
        {name: new_cards[name] if name in new_cards else stored_cards[name] for name in named}, options.measure,
        against=tests.against, tests=tests.tests, **of_tests,
    )  # fmt: skip
    ranked = RankedSystems.of(
        comparison.cards, comparison.measures, means_by_rank, labelled, labels_of_systems.best, labels_of_systems.worst
    )
    labels = groups.read_groups(options.read_labels(options.images(), options, options.unknown) if groups.by else None)
    query_groups = QueryGroups.of(comparison.cards, comparison.measures, labels, groups.by, **of_tests)
    in_order = labelled.labels is not None or bool(means_by_rank)
    tables = [
        *(ranked.tables() if in_order else [comparison.means()]),
        *query_groups.tables(),
        *([comparison.table()] if tests.tests else []),
    ]
    if len({str(sorted(card.versions.items())) for card in comparison.cards.values()}) > 1:
        note("the cards were written by different versions of the software; --json lists them")

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json:
            per_query = path_text(written.get(_VALUES))
            print_json({**comparison.summary(), **ranked.fields(), **query_groups.fields(), "per_query": per_query})
            return
        for index, table in enumerate(tables):
            last = index == len(tables) - 1 and tests.tests
            print_table(table, table.caption if table.name.startswith("by_") else None, names=3 if last else 2)
        accounts = {name: evaluation.account() for name, evaluation in evaluations.items()}
        accounts |= {name: list(card.inputs.values()) for name, card in stored_cards.items()}
        for line in (
            *(comparison.account_of_tests() if in_order else comparison.account()),
            *labelled.account,
            *account_lines(accounts),
        ):
            console().print(line)
        print_written(written)

    files: list[Output] = [
        (_VALUES, outputs.output, comparison.to_csv),
        ("Tables", outputs.report, lambda path: write_tables(path, tables)),
        ("Score cards", outputs.cards, lambda path: write_cards(path, new_cards)),
        ("Figure", outputs.plot, comparison.plot),
    ]
    write_and_show(files, show)
    job.finish()


def _measures(
    options: _RankingOptions, files: Mapping[str, InputFile], cards: Mapping[str, ScoreCard]
) -> tuple[Measure, ...]:
    """The measures of the rankings; refuses options that do not go together."""
    of_cards = list(next(iter(cards.values())).values) if cards else []
    if options.concepts is None:
        if not (options.measure or of_cards):
            raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
        if options.corpus is not None or options.corpus_embeddings:
            raise typer.BadParameter("--corpus and --corpus-embeddings go with --concepts")
    if cards and options.by_rank:
        raise typer.BadParameter(f"--measure-by-rank: the score card of {next(iter(cards))} has no ranks")
    if options.similarity is not None and not any(map(is_array, files.values())):
        raise typer.BadParameter("--similarity goes with a NumPy array, and none is given")
    return measures_named(options.measure or of_cards or "nn-CUI@5,10,30")


def _evaluated(
    files: Mapping[str, InputFile], options: _RankingOptions, measures: Sequence[Measure], data: Dataset, job: Job
) -> tuple[Mapping[str, Evaluation], Mapping[str, Mapping[str, float | None]]]:
    """The evaluations of the rankings; and system → measure → mean of its ranking ordered by ranks."""
    embeddings = embeddings_of_corpus(options.corpus_embeddings or [], files)
    in_blocks = any(map(is_array, files.values()))

    def run(options: EvaluationOptions, measures: Sequence[Measure], checkpoint: str) -> Mapping[str, Evaluation]:
        def rankings(graph: ConceptGraph | None, job: Job, bar_of: Callable[[str], Progress]) -> NamedRankings:
            return rankings_of_files(files, options, measures, data, job, embeddings)

        return evaluations_of(rankings, options, measures, data, job, in_blocks=in_blocks, checkpoint=checkpoint)

    evaluations = run(options, measures, EVALUATION)
    if not options.by_rank:
        return evaluations, {}
    by_rank = run(dataclasses.replace(options, order="rank"), measures_named(options.by_rank), BY_RANK)
    return evaluations, {name: evaluation.means for name, evaluation in by_rank.items()}


def _refuse_unused(context: typer.Context) -> None:
    """Refuse options of an evaluation where there is nothing to evaluate."""
    unused = sorted(
        max(option.opts, key=len)
        for option in context.command.params
        if option.name not in _OF_COMPARING
        and str(context.get_parameter_source(option.name or "")).endswith("COMMANDLINE")
    )
    if unused:
        raise typer.BadParameter(f"{', '.join(unused)}: every system is a score card, and nothing is left to evaluate")
