"""``cuihop compare``: systems side by side on the same queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.compared_systems import (
    Conditions,
    arrays_among,
    check_card_names,
    evaluations_of,
    systems_named,
    write_cards,
)
from cuihop.cli.evaluation_options import (
    FILES_PANEL,
    MEASURES_PANEL,
    TESTS_PANEL,
    ByOption,
    BySystemOption,
    CardsOption,
    ClassDescendantsOption,
    ConceptColumnOption,
    ConceptsOption,
    ConfidenceOption,
    CorpusOption,
    EmptyIdealOption,
    GradesOption,
    GroupsOption,
    HopsOption,
    ImageColumnOption,
    LabelAgreementOption,
    LabelClassesOption,
    LabelConceptsOption,
    LabelsOption,
    MissingOption,
    OptionalGraphOption,
    OrderOption,
    PlotOption,
    QrelsOption,
    QueryImageOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    SimilarityOption,
    SystemsOption,
    ThreadsOption,
    TiesOption,
    measures_option,
)
from cuihop.cli.graph_option import (
    ContentOption,
    DirectionOption,
    GraphSource,
    UnknownOption,
    WeightedLambdaOption,
    WeightOption,
    WithinSabOption,
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
from cuihop.cli.relevance_options import LabelSource, labels_of_groups
from cuihop.cli.run_options import (
    BY_RANK,
    CheckpointOption,
    ClusterFolderOption,
    ClusterOption,
    MemoryOption,
    ShardOption,
    Work,
)
from cuihop.cli.scored_systems import account_lines
from cuihop.cli.system_tables import QueryGroups, RankedSystems, SystemLabels
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import grades_in_words
from cuihop.collection.labels import Labels
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.result import Evaluation
from cuihop.files.input_file import InputFile
from cuihop.measures import measures_named
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import Unknown
from cuihop.notebooks.table import write_tables
from cuihop.resources.memory_budget import DEFAULT_MEMORY

_VALUES = "Values of each query"

_OF_COMPARING = {"systems", "measure", "against", "resamples", "confidence", "seed", "output", "report", "plot", "json",
                 "threads", "groups", "by", "system_labels", "by_system", "best", "worst", "tests"}  # fmt: skip


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
    concepts: ConceptsOption = None,
    graph: OptionalGraphOption = None,
    within_sab: WithinSabOption = None,
    corpus: CorpusOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    corpus_embeddings: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus-embeddings", metavar="NAME=FILE", rich_help_panel=FILES_PANEL,
            help="With --corpus: embeddings of the corpus for a system of embeddings. May be repeated.",
        ),
        FileUse.READS,
    ] = None,
    qrels: QrelsOption = None,
    grades: GradesOption = "DR=2,PR=1,NR=0",
    labels: LabelsOption = None,
    label_concepts: LabelConceptsOption = None,
    label_classes: LabelClassesOption = None,
    class_descendants: ClassDescendantsOption = True,
    groups: GroupsOption = None,
    system_labels: SystemsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", rich_help_panel=FILES_PANEL,
            help="File for the values of each query, side by side, as CSV.",
        ),
        CSV,
    ] = None,
    report: ReportOption = None,
    cards: CardsOption = None,
    plot: PlotOption = None,
    measure: Annotated[list[str] | None, measures_option("those of the cards, or else nn-CUI@5,10,30")] = None,
    by_rank: Annotated[
        list[str] | None,
        typer.Option(
            "--measure-by-rank", rich_help_panel=MEASURES_PANEL,
            help="Also the mean of this measure with the rankings ordered by their ranks, such as AP.",
        ),
    ] = None,
    by: ByOption = None,
    by_system: BySystemOption = None,
    best: Annotated[
        int | None,
        typer.Option(
            "--best", min=0, rich_help_panel=MEASURES_PANEL, show_default="all",
            help="With --by-system: list only this number of systems of each group, the best by the first measure.",
        ),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            "--worst", min=0, rich_help_panel=MEASURES_PANEL, show_default="all",
            help="Beside --best: this number of the worst of each group.",
        ),
    ] = None,
    hops: HopsOption = 1,
    lam: WeightedLambdaOption = None,
    weight: WeightOption = "constant",
    ic: ContentOption = "Sanchez",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    missing: MissingOption = "error",
    empty_ideal: EmptyIdealOption = "zero",
    query_image: QueryImageOption = "exclude",
    label_agreement: LabelAgreementOption = "equal",
    ties: TiesOption = "name",
    order: OrderOption = "score",
    similarity: SimilarityOption = None,
    tests: Annotated[
        bool, typer.Option("--tests/--no-tests", help="Test differences of systems.", rich_help_panel=TESTS_PANEL)
    ] = True,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="NAME", rich_help_panel=TESTS_PANEL,
            help="Baseline: compare all others with this system, instead of every pair.",
        ),
    ] = None,
    resamples: ResamplesOption = 10_000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    checkpoint: CheckpointOption = None,
    shard: ShardOption = None,
    cluster: ClusterOption = None,
    cluster_folder: ClusterFolderOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Compare systems on the same queries, from rankings or score cards: differences, intervals, tests, wins.

    Rankings are evaluated first, all under the options given. Cards have to match one another, and the options.
    """
    given = systems_named(systems)
    check_card_names(cards, given)
    labelled = SystemLabels.read(system_labels, by_system)
    rankings = {name: system for name, system in given.items() if isinstance(system, InputFile)}
    stored_cards = {name: system for name, system in given.items() if isinstance(system, ScoreCard)}
    if not rankings:
        _refuse_unused(context)
    if plot is not None and not tests:
        raise typer.BadParameter("--plot draws the differences, which --no-tests leaves out")
    work = Work.of(context, threads, memory, checkpoint, shard, cluster, cluster_folder)
    chosen = GraphSource.optional(graph, within_sab)
    columns = {"image_column": image_column, "concept_column": concept_column}
    label_source = LabelSource(labels, label_concepts, label_classes or (), class_descendants, label_agreement, columns)
    evaluations: Mapping[str, Evaluation] = {}
    means_by_rank: Mapping[str, Mapping[str, float | None]] = {}
    if rankings:
        measured = list(next(iter(stored_cards.values())).values) if stored_cards else []
        if concepts is None and not (measure or measured):
            raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
        conditions = Conditions(
            measures=measures_named(measure or measured or "nn-CUI@5,10,30"), concepts=concepts, graph=chosen,
            corpus=corpus, corpus_embeddings=corpus_embeddings or [], qrels=qrels, grades=grades_in_words(grades),
            labels=label_source, columns=columns, ties=ties, order=order, similarity=similarity,
            nearness=Nearness(hops, lam, direction, unknown, weight, ic),
            of_queries={"missing": missing, "empty_ideal": empty_ideal, "query_image": query_image},
        )  # fmt: skip
        if work.shard is not None:
            with work.open_shard_of(conditions.data, by_position=bool(arrays_among(rankings))) as of_shard:
                evaluations_of(rankings, conditions, of_shard)
                _by_rank(by_rank, rankings, stored_cards, conditions, of_shard)
            return
        evaluations = evaluations_of(rankings, conditions, work)
        means_by_rank = _by_rank(by_rank, rankings, stored_cards, conditions, work)
    new_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in evaluations.items()}
    of_tests: dict[str, Any] = {"resamples": resamples, "confidence": confidence, "seed": seed, "threads": threads}
    found = compare(
        {name: new_cards[name] if name in new_cards else stored_cards[name] for name in given}, measure,
        against=against, tests=tests, **of_tests,
    )  # fmt: skip
    ranked = RankedSystems.of(found.cards, found.measures, means_by_rank, labelled, best, worst)
    grouped = labels_of_groups(by, groups, _labels(label_source, (concepts, corpus), chosen, unknown) if by else None)
    query_groups = QueryGroups.of(found.cards, found.measures, grouped, by, **of_tests)
    in_order = labelled.labels is not None or bool(means_by_rank)
    tables = [
        *(ranked.tables() if in_order else [found.means()]),
        *query_groups.tables(),
        *([found.table()] if tests else []),
    ]
    if len({str(sorted(card.versions.items())) for card in found.cards.values()}) > 1:
        note("the cards were written by different versions of the software; --json lists them")

    def show(written: Mapping[str, Path]) -> None:
        if json:
            per_query = path_text(written.get(_VALUES))
            print_json({**found.summary(), **ranked.fields(), **query_groups.fields(), "per_query": per_query})
            return
        for place, table in enumerate(tables):
            last = place == len(tables) - 1 and tests
            print_table(table, table.caption if table.name.startswith("by_") else None, names=3 if last else 2)
        accounts = {name: evaluation.account() for name, evaluation in evaluations.items()}
        accounts |= {name: list(card.inputs.values()) for name, card in stored_cards.items()}
        for line in (
            *(found.account_of_tests() if in_order else found.account()),
            *labelled.account,
            *account_lines(accounts),
        ):
            console().print(line)
        print_written(written)

    outputs: list[Output] = [
        (_VALUES, output, found.to_csv),
        ("Tables", report, lambda path: write_tables(path, tables)),
        ("Score cards", cards, lambda path: write_cards(path, new_cards)),
        ("Figure", plot, found.plot),
    ]
    write_and_show(outputs, show)
    work.finish()


def _by_rank(
    measures: list[str] | None,
    rankings: Mapping[str, InputFile],
    cards: Mapping[str, ScoreCard],
    conditions: Conditions,
    work: Work,
) -> Mapping[str, Mapping[str, float | None]]:
    """System → measure → mean of its ranking ordered by the rank column."""
    if not measures:
        return {}
    if cards:
        raise typer.BadParameter(f"--measure-by-rank: the score card of {next(iter(cards))} has no ranks")
    by_rank = dataclasses.replace(conditions, measures=measures_named(measures), order="rank")
    return {name: evaluation.means for name, evaluation in evaluations_of(rankings, by_rank, work, BY_RANK).items()}


def _labels(
    source: LabelSource, files: Sequence[Path | None], graph: GraphSource | None, unknown: Unknown
) -> Labels | None:
    """The labels for means by group, of the images in these files of concepts."""
    images = [ImageConcepts.read(file, **source.columns) for file in files if file is not None]
    return source.read(images, graph, unknown)


def _refuse_unused(context: typer.Context) -> None:
    """Refuse options of an evaluation where there is nothing to evaluate."""
    unused = [
        max(option.opts, key=len)
        for option in context.command.params
        if option.name not in _OF_COMPARING
        and str(context.get_parameter_source(option.name or "")).endswith("COMMANDLINE")
    ]
    if unused:
        raise typer.BadParameter(f"{', '.join(unused)}: every system is a score card, and nothing is left to evaluate")
