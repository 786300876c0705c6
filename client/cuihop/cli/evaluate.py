"""``cuihop evaluate``: the quality of a ranking, by concepts, by labels, and by relevance judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import typer

from cuihop.adapters.integer_gains import write_gains
from cuihop.cli.command_files import CSV, JSON, FileForm
from cuihop.cli.compared_systems import NamedRankings, evaluations_of, rankings_of_files, recorded_rankings, write_page
from cuihop.cli.evaluation_options import EvaluationOptions, GroupOptions, PageOptions, PlotOptions
from cuihop.cli.option_groups import VerboseOptions, argument, file_option, measure_option, option_group
from cuihop.cli.output import Output, print_json, print_lines, print_table, write_and_show
from cuihop.cli.run_options import RANKING, Job, MemoryRunOptions
from cuihop.collection.dataset import Dataset
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.groups import group_means, group_table
from cuihop.evaluation.judge import depth_of
from cuihop.files.arrays import is_array
from cuihop.files.input_file import opened_input
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.optional_packages import PYARROW
from cuihop.resources.progress import Progress

_VALUES = "Values of each query"
_GAINS = FileForm("gains", (".jsonl", ".parquet"), by_ending=True, packages={".parquet": PYARROW})


@option_group
class _RankingOptions:
    """Source of the ranking: a file, or a baseline."""

    ranking: Path | None = argument(
        "Ranking: TREC run; CSV or Parquet (query, document, score or rank); .npy of row numbers or embeddings.",
        default=None,
    )
    baseline: str | None = file_option("Instead of RANKING: iou, nn-iou, bm, tf-idf, random or random:SEED.")
    corpus_embeddings: Path | None = file_option("With --corpus: embeddings of the corpus.")

    def __post_init__(self) -> None:
        if (self.ranking is None) == (self.baseline is None):
            raise typer.BadParameter("give either RANKING or --baseline")


@option_group
class _OutputOptions(VerboseOptions, PageOptions, PlotOptions):
    output: Path | None = file_option("File for the values of each query, as CSV.", "-o", mark=CSV)
    card: Path | None = file_option("File for a score card, for cuihop compare.", mark=JSON)
    system: str | None = file_option("With --card: the name of the system.")
    gains: Path | None = file_option("File for nn-IoU of all pairs of images, as MTEB reads gains.", mark=_GAINS)
    worst: int = measure_option("List the N queries with the lowest values of the first measure.", default=0, min=0)


def evaluate_ranking(
    context: typer.Context,
    source: _RankingOptions,
    options: EvaluationOptions,
    groups: GroupOptions,
    outputs: _OutputOptions,
    run: MemoryRunOptions,
) -> None:
    """Evaluate a ranking by the concepts of the images, by labels, or by relevance judgements."""
    if options.concepts is None and any((options.corpus, source.corpus_embeddings, source.baseline)):
        raise typer.BadParameter("--corpus, --corpus-embeddings and --baseline go with --concepts")
    if outputs.gains is not None and (options.concepts is None or options.graph is None):
        raise typer.BadParameter("--gains goes with --concepts, and with --graph (or CUIHOP_GRAPH)")
    if options.concepts is None and not options.measure:
        raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
    measures = measures_named(options.measure or "nn-CUI@5,10,30")
    if options.graph is None and source.baseline in ("nn-iou", "bm"):
        raise typer.BadParameter(f"{'BM' if source.baseline == 'bm' else 'nn-IoU'} needs --graph (or CUIHOP_GRAPH)")
    data = options.dataset()
    labels = groups.read_groups(data.labels)
    file = None if source.ranking is None else opened_input(source.ranking)
    job = run.job(context)

    evaluated: dict[str, Ranking | RankingInBlocks] = {}

    def rankings(graph: ConceptGraph | None, job: Job, bar_of: Callable[[str], Progress]) -> NamedRankings:
        if file is None:
            named: NamedRankings = [("", _baseline(source.baseline or "", options, measures, data, graph, job, bar_of))]
        else:
            embeddings = {} if source.corpus_embeddings is None else {"": source.corpus_embeddings}
            named = rankings_of_files({"": file}, options, measures, data, job, embeddings)
        yield from recorded_rankings(named, evaluated) if outputs.html is not None else named

    in_blocks = file is None or is_array(file)
    if job.shard is not None:
        with job.open_shard(data, by_position=file is not None and in_blocks) as of_shard:
            evaluations_of(rankings, options, measures, data, of_shard, in_blocks=in_blocks)
        return
    (evaluation,) = evaluations_of(rankings, options, measures, data, job, in_blocks=in_blocks).values()
    means = [group_means(evaluation, labels, label, threads=run.threads) for label in groups.by or ()]
    tables = [group_table(each) for each in means]
    worst = evaluation.worst(outputs.worst) if outputs.worst else None

    def show(written: Mapping[str, str]) -> None:
        if not outputs.json:
            print_table(evaluation.table())
            for table in (*tables, *filter(None, [worst])):
                print_table(table, table.caption)
            print_lines(evaluation.account(brief=not outputs.verbose), written)
            return
        rows = [] if worst is None else worst.rows
        print_json({
            **evaluation.summary(), "worst": [row[0] for row in rows],
            "by": [asdict(mean) for each in means for mean in each], "per_query": written.get(_VALUES),
        })  # fmt: skip

    def write_nn_iou(path: Path) -> None:
        with options.opened() as graph:
            write_gains(path, data, graph, options.nearness, options.query_image)

    files: list[Output] = [
        (_VALUES, outputs.output, evaluation.to_csv),
        ("Score card", outputs.card, lambda path: ScoreCard.of(evaluation, outputs.system).write(path)),
        ("Gains", outputs.gains, write_nn_iou),
        ("Figure", outputs.plot, evaluation.plot),
        ("Report", outputs.html, lambda path: write_page(path, evaluation, options, data, evaluated[""], tables, run)),
    ]
    write_and_show(files, show)
    job.finish()


def _baseline(
    name: str,
    options: EvaluationOptions,
    measures: tuple[Measure, ...],
    data: Dataset,
    graph: ConceptGraph | None,
    job: Job,
    bar_of: Callable[[str], Progress],
) -> Ranking | RankingInBlocks:
    """The ranking of a baseline."""
    depth = depth_of(measures)
    depth = len(data.images[1]) if depth is None else depth
    kind, _, seed = name.partition(":")
    if kind == "random" and ((seed.isascii() and seed.isdecimal()) or name == "random"):
        return random_ranking(data, depth, seed=int(seed or 0), query_image=options.query_image, memory=job.memory)
    by = next((relevance for relevance in get_args(Relevance) if relevance == name), None)
    if by is None:
        named = ", ".join(get_args(Relevance))
        raise typer.BadParameter(f"no baseline is called {name!r}; there are {named}, random and random:SEED")
    resources, nearness = job.resources(RANKING, bar_of("ranked queries")), options.nearness
    return top_k(
        data, graph, depth, by=by, nearness=nearness, query_image=options.query_image, resources=resources
    )  # fmt: skip
