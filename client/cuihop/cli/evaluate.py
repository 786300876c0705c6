"""``cuihop evaluate``: the quality of a ranking, by concepts, by labels, and by relevance judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cuihop.cli.command_files import CSV, JSON
from cuihop.cli.evaluation_options import (
    FILES_PANEL,
    MEASURES_PANEL,
    ByOption,
    ClassDescendantsOption,
    ConceptColumnOption,
    ConceptsOption,
    CorpusEmbeddingsOption,
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
    MeasuresOption,
    MissingOption,
    OptionalGraphOption,
    OrderOption,
    PlotOption,
    QrelsOption,
    QueryImageOption,
    SimilarityOption,
    ThreadsOption,
    TiesOption,
)
from cuihop.cli.graph_option import (
    ContentOption,
    DirectionOption,
    GraphSource,
    UnknownOption,
    WeightedLambdaOption,
    WeightOption,
    WithinSabOption,
    advised_on_unknown,
    opened_graph,
)
from cuihop.cli.output import JsonOption, Output, note, path_text, print_json, write_and_show
from cuihop.cli.print_evaluation import print_evaluation
from cuihop.cli.relevance_options import (
    LabelSource,
    check_without_concepts,
    judged_ranking,
    labels_of_groups,
)
from cuihop.cli.run_options import (
    EVALUATION,
    RANKING,
    CheckpointOption,
    ClusterFolderOption,
    ClusterOption,
    MemoryOption,
    ShardOption,
    Work,
)
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements, grades_in_words
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.evaluate import evaluate, evaluate_shard
from cuihop.evaluation.groups import group_means, group_table
from cuihop.evaluation.judge import depth_of
from cuihop.evaluation.result import Evaluation
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile, opened_input
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.measures.nearness import Nearness
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Order, Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources

_VALUES = "Values of each query"


def evaluate_ranking(
    context: typer.Context,
    concepts: ConceptsOption = None,
    graph: OptionalGraphOption = None,
    within_sab: WithinSabOption = None,
    ranking: Annotated[
        Path | None,
        typer.Option(
            "--ranking", rich_help_panel=FILES_PANEL,
            help="TREC run; CSV or Parquet (query, document, score or rank); .npy of row numbers or embeddings.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="Instead of --ranking: iou, nn-iou, bm, tf-idf, random or random:SEED.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    corpus: CorpusOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    corpus_embeddings: CorpusEmbeddingsOption = None,
    qrels: QrelsOption = None,
    grades: GradesOption = "DR=2,PR=1,NR=0",
    labels: LabelsOption = None,
    label_concepts: LabelConceptsOption = None,
    label_classes: LabelClassesOption = None,
    class_descendants: ClassDescendantsOption = True,
    groups: GroupsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the values of each query, as CSV.", rich_help_panel=FILES_PANEL),
        CSV,
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option("--card", help="File for a score card, for cuihop compare.", rich_help_panel=FILES_PANEL),
        JSON,
    ] = None,
    system: Annotated[
        str | None,
        typer.Option("--system", help="With --card: the name of the system.", rich_help_panel=FILES_PANEL),
    ] = None,
    plot: PlotOption = None,
    worst: Annotated[
        int,
        typer.Option(
            "--worst", min=0, help="Also list this many queries with the smallest values of the first measure.",
            rich_help_panel=MEASURES_PANEL,
        ),
    ] = 0,
    measure: MeasuresOption = None,
    by: ByOption = None,
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
    threads: ThreadsOption = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    checkpoint: CheckpointOption = None,
    shard: ShardOption = None,
    cluster: ClusterOption = None,
    cluster_folder: ClusterFolderOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Evaluate a ranking by the concepts of the images, by labels, or by relevance judgements."""
    if (ranking is None) == (baseline is None):
        raise typer.BadParameter("give either --ranking FILE or --baseline")
    chosen = GraphSource.optional(graph, within_sab)
    columns = {"image_column": image_column, "concept_column": concept_column}
    label_source = LabelSource(labels, label_concepts, label_classes or (), class_descendants, label_agreement, columns)
    if concepts is None and any(given is not None for given in (corpus, corpus_embeddings, baseline)):
        raise typer.BadParameter("--corpus, --corpus-embeddings and --baseline go with --concepts")
    if concepts is None and not measure:
        raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
    criteria = _Criteria(
        measures_named(measure or "nn-CUI@5,10,30"),
        {"missing": missing, "empty_ideal": empty_ideal, "query_image": query_image},
    )
    files = [ImageConcepts.read(path, **columns) for path in (concepts, corpus) if path is not None]
    data = Dataset(
        *files, qrels=None if qrels is None else Judgements.read(qrels, grades_in_words(grades)),
        labels=label_source.read(files, chosen, unknown),
    )  # fmt: skip
    grouped = labels_of_groups(by, groups, data.labels)
    file = None if ranking is None else opened_input(ranking)
    source = _Source(file, corpus_embeddings, baseline or "", ties, similarity, order)
    work = Work.of(context, threads, memory, checkpoint, shard, cluster, cluster_folder)
    nearness = Nearness(hops, lam, direction, unknown, weight, ic)

    def computed(work: Work) -> Evaluation | None:
        if concepts is None and source.file is not None:
            return _judged(criteria, data, source.file, source, work)
        return _by_concepts(criteria, data, source, chosen, nearness, work)

    if work.shard is not None:
        vectors = source.file is not None and is_array(source.file)
        with work.open_shard_of(data, by_position=vectors) as of_shard:
            computed(of_shard)
        return
    evaluation = computed(work)
    if evaluation is None:
        return
    means = [group_means(evaluation, grouped, label, threads=threads) for label in by or ()]
    listed = evaluation.worst(worst) if worst else None

    def show(written: Mapping[str, Path]) -> None:
        if not json:
            tables = [group_table(some) for some in means]
            print_evaluation(evaluation, [*tables, *filter(None, [listed])], written)
            return
        rows = [] if listed is None else listed.rows
        print_json({
            **evaluation.summary(), "worst": [row[0] for row in rows],
            "by": [asdict(each) for some in means for each in some], "per_query": path_text(written.get(_VALUES)),
        })  # fmt: skip

    outputs: list[Output] = [
        (_VALUES, output, evaluation.to_csv),
        ("Score card", card, lambda path: ScoreCard.of(evaluation, system).write(path)),
        ("Figure", plot, evaluation.plot),
    ]
    write_and_show(outputs, show)
    work.finish()


@dataclass(frozen=True)
class _Criteria:
    """Measures, and the treatment of what is missing."""

    measures: tuple[Measure, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class _Source:
    """Source of the ranking: a file, with embeddings of the corpus beside it; or a baseline."""

    file: InputFile | None
    corpus_embeddings: Path | None
    baseline: str
    ties: Ties
    similarity: Similarity | None
    order: Order


def _judged(criteria: _Criteria, data: Dataset, ranking: InputFile, source: _Source, work: Work) -> Evaluation | None:
    """Without concepts, and so without a graph."""
    check_without_concepts(criteria.measures)
    ranked = judged_ranking(
        ranking, data.qrels, data.labels, depth=depth_of(criteria.measures), ties=source.ties,
        order=source.order, similarity=source.similarity, query_image=criteria.options["query_image"],
        resources=work.limits(),
    )  # fmt: skip
    if isinstance(ranked, Ranking):
        if work.checkpoint is not None:
            option = "--checkpoint" if work.opened is None else "--shard"
            note(f"a ranking read from a file is judged at once: {option} has no effect")
        return None if work.opened else evaluate(data, ranked, measures=criteria.measures, **criteria.options)
    with work.progress_bars() as bar_of:
        resources = work.resources(EVALUATION, bar_of("ranked and judged queries"))
        return _evaluated(data, ranked, None, resources, measures=criteria.measures, **criteria.options)


def _evaluated(
    data: Dataset, ranked: Ranking | RankingInBlocks, graph: ConceptGraph | None, resources: Resources, **options: Any
) -> Evaluation | None:
    """The evaluation; ``None`` of a shard, which has only computed its queries."""
    if resources.places is None:
        return evaluate(data, ranked, graph, resources=resources, **options)
    evaluate_shard(data, {"": ranked}, graph, resources=resources, **options)
    return None


def _by_concepts(
    criteria: _Criteria, data: Dataset, source: _Source, graph: GraphSource | None, nearness: Nearness, work: Work
) -> Evaluation | None:
    if graph is None and (source.baseline in ("nn-iou", "bm") or any(m.family == "nn-CUI" for m in criteria.measures)):
        raise typer.BadParameter(f"{'BM' if source.baseline == 'bm' else 'nn-IoU'} needs --graph (or CUIHOP_GRAPH)")
    with (
        nullcontext() if graph is None else opened_graph(graph) as opened,
        advised_on_unknown(),
        work.progress_bars() as bar_of,
    ):
        ranked = _ranked(criteria, data, source, opened, nearness, work, bar_of)
        resources = work.resources(EVALUATION, bar_of("evaluated queries"))
        return _evaluated(
            data, ranked, opened, resources, measures=criteria.measures, nearness=nearness, **criteria.options
        )  # fmt: skip


def _ranked(
    criteria: _Criteria,
    data: Dataset,
    source: _Source,
    graph: ConceptGraph | None,
    nearness: Nearness,
    work: Work,
    bar_of: Callable[[str], Progress],
) -> Ranking | RankingInBlocks:
    """The ranking from its file, or a baseline."""
    queries, corpus = data.images
    depth, query_image = depth_of(criteria.measures), criteria.options["query_image"]
    if source.file is not None:
        return read_ranking_in_blocks(
            source.file, tuple(queries), None if data.corpus is None else tuple(corpus), ties=source.ties, depth=depth,
            order=source.order, corpus_embeddings=source.corpus_embeddings, similarity=source.similarity,
            query_image=query_image, resources=work.limits(),
        )  # fmt: skip
    depth = len(corpus) if depth is None else depth
    kind, _, seed = source.baseline.partition(":")
    if kind == "random" and ((seed.isascii() and seed.isdecimal()) or source.baseline == "random"):
        return random_ranking(data, depth, seed=int(seed or 0), query_image=query_image, memory=work.memory)
    by = next((relevance for relevance in get_args(Relevance) if relevance == source.baseline), None)
    if by is None:
        named = ", ".join(get_args(Relevance))
        raise typer.BadParameter(
            f"no baseline is called {source.baseline!r}; there are {named}, random and random:SEED"
        )
    resources = work.resources(RANKING, bar_of("ranked queries"))
    return top_k(data, graph, depth, by=by, nearness=nearness, query_image=query_image, resources=resources)
