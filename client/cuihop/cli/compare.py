"""``cuihop compare``: systems side by side on the same queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer

from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.compared_systems import (
    NamedRankings,
    check_card_names,
    embeddings_of_corpus,
    evaluations_of,
    rankings_of_files,
    recorded_rankings,
    systems_named,
    write_cards,
    write_page,
)
from cuihop.cli.evaluation_options import (
    MEASURE_HELP,
    EvaluationOptions,
    GroupOptions,
    IntervalOptions,
    PageOptions,
    ReportOptions,
    SystemOptions,
)
from cuihop.cli.option_groups import VerboseOptions, argument, file_option, measure_option, option_group, test_option
from cuihop.cli.output import Output, note, print_json, print_lines, print_table, write_and_show
from cuihop.cli.run_options import BY_RANK, EVALUATION, Job, MemoryRunOptions
from cuihop.cli.system_report import RankedSystems, SystemLabels, group_fields, groups_of_cards, joint_notes
from cuihop.collection.dataset import Dataset
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.comparison.system_groups import query_group_table
from cuihop.evaluation.result import Evaluation
from cuihop.files.arrays import is_array
from cuihop.files.input_file import InputFile
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.notebooks.table import write_tables
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.resources.progress import Progress

_VALUES = "Values of each query"


@option_group
class _SystemOptions(SystemOptions):
    systems: list[str] = argument(
        "Two or more systems, each FILE or NAME=FILE: rankings, as for cuihop evaluate, or score cards.",
        metavar="SYSTEM", mark=FileUse.READS,
    )  # fmt: skip
    best_systems: int | None = measure_option(
        "With --by-system: list only this number of systems of each group, the best by the first measure.",
        min=0, shown="all",
    )  # fmt: skip
    worst_systems: int | None = measure_option("With --by-system: number of the worst systems.", min=0, shown="all")


@option_group
class _RankingOptions(EvaluationOptions):
    """Conditions under which the rankings are evaluated."""

    corpus_embeddings: list[str] | None = file_option(
        "With --corpus: embeddings of the corpus, by the system's name. May be repeated.",
        metavar="NAME=FILE", mark=FileUse.READS,
    )  # fmt: skip
    measure: list[str] | None = measure_option(MEASURE_HELP, "-m", shown="those of the cards, or else nn-CUI@5,10,30")
    by_rank: list[str] | None = measure_option(
        "Also print the mean of this measure, such as AP, with the rankings ordered by rank.", "--measure-by-rank"
    )


@option_group
class _TestOptions(IntervalOptions):
    tests: bool = test_option("Test the differences between systems.", "--tests/--no-tests", default=True)
    against: str | None = test_option("Compare all other systems with this one, instead of every pair.", metavar="NAME")


@option_group
class _OutputOptions(VerboseOptions, PageOptions, ReportOptions):
    output: Path | None = file_option("File for the values of each query, side by side, as CSV.", "-o", mark=CSV)


_OF_COMPARING = {
    "measure", "threads",
    *(field.name for group in (_SystemOptions, GroupOptions, _TestOptions, _OutputOptions)
      for field in dataclasses.fields(group) if field.name != "cards"),
}  # fmt: skip
"""Parameters that have a use if every system is a score card."""


def compare_systems(
    context: typer.Context,
    labels_of_systems: _SystemOptions,
    options: _RankingOptions,
    groups: GroupOptions,
    tests: _TestOptions,
    outputs: _OutputOptions,
    run: MemoryRunOptions,
) -> None:
    """Compare systems on the same queries, from rankings or score cards: differences, intervals, tests, wins.

    Rankings are first evaluated with the given options. Score cards must come from the same conditions.
    """
    named = systems_named(labels_of_systems.systems)
    check_card_names(outputs.cards, named)
    labelled = SystemLabels.read(labels_of_systems.system_labels, labels_of_systems.by_system)
    rankings = {name: system for name, system in named.items() if isinstance(system, InputFile)}
    stored_cards = {name: system for name, system in named.items() if isinstance(system, ScoreCard)}
    if not rankings:
        _refuse_unused(context)
    if outputs.plot is not None and not tests.tests:
        raise typer.BadParameter("--plot draws the differences, which --no-tests does not compute")
    job = run.job(context)
    evaluations: Mapping[str, Evaluation] = {}
    data, evaluated = Dataset(), None if outputs.html is None else dict[str, Ranking | RankingInBlocks]()
    means_by_rank: Mapping[str, Mapping[str, float | None]] = {}
    if rankings:
        measures, data = _measures(options, rankings, stored_cards), options.dataset()
        if job.shard is not None:
            with job.open_shard(data, by_position=any(map(is_array, rankings.values()))) as shard_job:
                _evaluated(rankings, options, measures, data, shard_job, None)
            return
        evaluations, means_by_rank = _evaluated(rankings, options, measures, data, job, evaluated)
    new_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in evaluations.items()}
    of_tests = tests.of_tests(run.threads)
    comparison = compare(
        {name: new_cards[name] if name in new_cards else stored_cards[name] for name in named}, options.measure,
        against=tests.against, tests=tests.tests, **of_tests,
    )  # fmt: skip
    ranked = RankedSystems.of(
        comparison.cards, comparison.measures, means_by_rank, labelled,
        labels_of_systems.best_systems, labels_of_systems.worst_systems,
    )  # fmt: skip
    labels = groups.read_groups(options.read_labels(options.images(), options, options.unknown) if groups.by else None)
    by_label = groups_of_cards(comparison.cards, comparison.measures, labels, groups.by, of_tests)
    in_order = labelled.labels is not None or bool(means_by_rank)
    by_tables = [query_group_table(means, tests.confidence) for means in by_label.values()]
    tables = [
        *(ranked.tables() if in_order else [comparison.means()]),
        *by_tables,
        *([comparison.table()] if tests.tests else []),
    ]
    if len({str(sorted(card.versions.items())) for card in comparison.cards.values()}) > 1:
        note("the cards were written by different versions of the software; --json lists them")

    def show(written: Mapping[str, str]) -> None:
        if outputs.json:
            per_query = written.get(_VALUES)
            print_json(
                {**comparison.summary(), **ranked.fields(), "by": group_fields(by_label), "per_query": per_query}
            )
            return
        for index, table in enumerate(tables):
            last = index == len(tables) - 1 and tests.tests
            print_table(table, table.caption if table.name.startswith("by_") else None, names=3 if last else 2)
        brief = not outputs.verbose
        accounts = {name: evaluation.account(brief=brief) for name, evaluation in evaluations.items()}
        accounts |= {name: card.measured().account(brief=brief) for name, card in stored_cards.items()}
        of_comparison = comparison.notes_on_tests(brief) if in_order else comparison.account(brief=brief)
        print_lines([*of_comparison, *labelled.account, *joint_notes(accounts)], written)

    files: list[Output] = [
        (_VALUES, outputs.output, comparison.to_csv),
        ("Tables", outputs.report, lambda path: write_tables(path, tables)),
        ("Score cards", outputs.cards, lambda path: write_cards(path, new_cards)),
        ("Figure", outputs.plot, comparison.plot),
        (
            "Report",
            outputs.html,
            lambda path: write_page(path, comparison, options, data, evaluated or {}, by_tables, run),
        ),
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
    files: Mapping[str, InputFile], options: _RankingOptions, measures: Sequence[Measure], data: Dataset, job: Job,
    evaluated: dict[str, Ranking | RankingInBlocks] | None,
) -> tuple[Mapping[str, Evaluation], Mapping[str, Mapping[str, float | None]]]:  # fmt: skip
    """The evaluations of the rankings; and system → measure → mean of its ranking ordered by ranks.

    The rankings stay in ``evaluated``, if it is given.
    """
    embeddings = embeddings_of_corpus(options.corpus_embeddings or [], files)
    in_blocks = any(map(is_array, files.values()))

    def run(options: EvaluationOptions, measures: Sequence[Measure], checkpoint: str) -> Mapping[str, Evaluation]:
        def rankings(graph: ConceptGraph | None, job: Job, bar_of: Callable[[str], Progress]) -> NamedRankings:
            named = rankings_of_files(files, options, measures, data, job, embeddings)
            return named if evaluated is None or checkpoint == BY_RANK else recorded_rankings(named, evaluated)

        return evaluations_of(rankings, options, measures, data, job, in_blocks=in_blocks, checkpoint=checkpoint)

    evaluations = run(options, measures, EVALUATION)
    if not options.by_rank:
        return evaluations, {}
    by_rank = run(dataclasses.replace(options, order="rank"), measures_named(options.by_rank), BY_RANK)
    return evaluations, {name: evaluation.means for name, evaluation in by_rank.items()}


def _refuse_unused(context: typer.Context) -> None:
    """Refuse options of an evaluation if there is nothing to evaluate."""
    unused = sorted(
        max(option.opts, key=len)
        for option in context.command.params
        if option.name not in _OF_COMPARING
        and str(context.get_parameter_source(option.name or "")).endswith("COMMANDLINE")
    )
    if unused:
        raise typer.BadParameter(f"{', '.join(unused)}: every system is a score card, and nothing is left to evaluate")
