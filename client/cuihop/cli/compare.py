"""``cuihop compare``: systems side by side on the same queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.compared_systems import Conditions, evaluations_of, systems_named, write_cards
from cuihop.cli.evaluation_options import (
    FILES_PANEL,
    TESTS_PANEL,
    CardsOption,
    ConceptColumnOption,
    ConceptsOption,
    ConfidenceOption,
    CorpusOption,
    EmptyIdealOption,
    HopsOption,
    ImageColumnOption,
    LabelConceptsOption,
    LabelsOption,
    MissingOption,
    OptionalGraphOption,
    PlotOption,
    QrelsOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    SimilarityOption,
    ThreadsOption,
    TiesOption,
    measures_option,
)
from cuihop.cli.graph_option import DirectionOption, LambdaOption, UnknownOption, WeightOption
from cuihop.cli.output import JsonOption, console, note, print_json, print_table
from cuihop.cli.run_options import MemoryOption
from cuihop.comparison.comparison import Comparison, compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.result import Evaluation
from cuihop.files.input_file import InputFile
from cuihop.measures import measures_named
from cuihop.measures.nearness import Nearness
from cuihop.notebooks.table import write_tables
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.resources import Resources

__all__ = ["compare_systems"]

_OF_COMPARING = {"systems", "measure", "against", "resamples", "confidence", "seed", "output", "report", "plot", "json",
                 "threads"}  # fmt: skip


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
    labels: LabelsOption = None,
    label_concepts: LabelConceptsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", rich_help_panel=FILES_PANEL,
            help="File for the values of each query, side by side, as CSV.",
        ),
        FileUse.WRITES,
    ] = None,
    report: ReportOption = None,
    cards: CardsOption = None,
    plot: PlotOption = None,
    measure: Annotated[list[str] | None, measures_option("those of the cards, or else nn-CUI@5,10,30")] = None,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    weight: WeightOption = "constant",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    missing: MissingOption = "error",
    empty_ideal: EmptyIdealOption = "zero",
    ties: TiesOption = "name",
    similarity: SimilarityOption = None,
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
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Compare systems on the same queries, from rankings or score cards: differences, intervals, tests, wins.

    Rankings are evaluated first, all under the options given. Cards have to match one another, and the options.
    """
    given = systems_named(systems)
    rankings = {name: system for name, system in given.items() if isinstance(system, InputFile)}
    stored_cards = {name: system for name, system in given.items() if isinstance(system, ScoreCard)}
    if not rankings:
        _refuse_unused(context)
    evaluations: Mapping[str, Evaluation] = {}
    if rankings:
        measured = list(next(iter(stored_cards.values())).values) if stored_cards else []
        if concepts is None and not (measure or measured):
            raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
        conditions = Conditions(
            measures=measures_named(measure or measured or "nn-CUI@5,10,30"), concepts=concepts, graph=graph,
            corpus=corpus, corpus_embeddings=corpus_embeddings or [], qrels=qrels, labels=labels,
            label_concepts=label_concepts,
            columns={"image_column": image_column, "concept_column": concept_column}, ties=ties, similarity=similarity,
            nearness=Nearness(hops, lam, direction, unknown, weight),
            of_queries={"missing": missing, "empty_ideal": empty_ideal},
            resources=Resources(threads, memory),
        )  # fmt: skip
        evaluations = evaluations_of(rankings, conditions)
    new_cards = {name: ScoreCard.of(evaluation, name) for name, evaluation in evaluations.items()}
    found = compare(
        {name: new_cards[name] if name in new_cards else stored_cards[name] for name in given}, measure,
        against=against, resamples=resamples, confidence=confidence, seed=seed, threads=threads,
    )  # fmt: skip
    if len({str(sorted(card.versions.items())) for card in found.cards.values()}) > 1:
        note("the cards were written by different versions of the software; --json lists them")
    if cards is not None:
        write_cards(cards, new_cards)
    if output is not None:
        found.to_csv(output)
    if report is not None:
        write_tables(report, [found.means(), found.table()])
    if plot is not None:
        found.plot(plot)
    if json:
        print_json({**found.summary(), "per_query": None if output is None else str(output)})
        return
    _show(found)
    screen = console()
    for line in _input_lines(evaluations, stored_cards):
        screen.print(line)
    for title, path in (("Values of each query", output), ("Tables", report), ("Score cards", cards), ("Figure", plot)):
        if path is not None:
            screen.print(f"{title}: {path}")


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


def _show(found: Comparison) -> None:
    print_table(found.means(), names=2)
    print_table(found.table(), names=3)
    for line in found.account():
        console().print(line)


def _input_lines(evaluations: Mapping[str, Evaluation], cards: Mapping[str, ScoreCard]) -> Iterator[str]:
    """Lines about the inputs of evaluations and cards: first those common to all, then those of one of them."""
    accounts = {name: evaluation.account() for name, evaluation in evaluations.items()}
    accounts |= {name: list(card.inputs.values()) for name, card in cards.items()}
    shared = [line for line in next(iter(accounts.values()), []) if all(line in lines for lines in accounts.values())]
    yield from shared
    for name, lines in accounts.items():
        yield from (line if line.startswith(f"{name}: ") else f"{name}: {line}" for line in lines if line not in shared)
