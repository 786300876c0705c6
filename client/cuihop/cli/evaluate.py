"""``cuihop evaluate``: the quality of a ranking, by concepts, by labels, and by relevance judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import (
    FILES_PANEL,
    ConceptColumnOption,
    ConceptsOption,
    CorpusEmbeddingsOption,
    CorpusOption,
    EmptyIdealOption,
    HopsOption,
    ImageColumnOption,
    LabelConceptsOption,
    LabelsOption,
    MeasuresOption,
    MissingOption,
    OptionalGraphOption,
    QrelsOption,
    SimilarityOption,
    ThreadsOption,
    TiesOption,
    UnknownOption,
)
from cuihop.cli.graph_option import DirectionOption, LambdaOption, advised_on_unknown, opened_graph
from cuihop.cli.output import JsonOption, note, print_json
from cuihop.cli.print_evaluation import show_evaluation
from cuihop.cli.relevance_options import check_one_kind_of_labels, check_without_concepts, judged_ranking, labels_given
from cuihop.cli.run_options import EVALUATION, RANKING, CheckpointOption, MemoryOption, Work
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.judge import depth_of
from cuihop.evaluation.result import Evaluation
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.measures.nearness import Nearness
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources

__all__ = ["evaluate_ranking"]


def evaluate_ranking(
    concepts: ConceptsOption = None,
    graph: OptionalGraphOption = None,
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
    labels: LabelsOption = None,
    label_concepts: LabelConceptsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the values of each query go, as CSV.", rich_help_panel=FILES_PANEL),
        FileUse.WRITES,
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option("--card", help="Where a score card goes, for cuihop compare.", rich_help_panel=FILES_PANEL),
        FileUse.WRITES,
    ] = None,
    system: Annotated[
        str | None,
        typer.Option("--system", help="With --card: the name of the system.", rich_help_panel=FILES_PANEL),
    ] = None,
    measure: MeasuresOption = None,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    missing: MissingOption = "error",
    empty_ideal: EmptyIdealOption = "zero",
    ties: TiesOption = "name",
    similarity: SimilarityOption = None,
    threads: ThreadsOption = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    checkpoint: CheckpointOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Measure how well a ranking puts relevant images first: by concepts, by labels, or by relevance judgements."""
    if (ranking is None) == (baseline is None):
        raise typer.BadParameter("give either --ranking FILE or --baseline")
    check_one_kind_of_labels(labels, label_concepts)
    if concepts is None and any(given is not None for given in (corpus, corpus_embeddings, baseline)):
        raise typer.BadParameter("--corpus, --corpus-embeddings and --baseline go with --concepts")
    if concepts is None and not measure:
        raise typer.BadParameter("without --concepts, say what to measure: --measure AP --measure nDCG@10")
    columns = {"image_column": image_column, "concept_column": concept_column}
    asked = _Asked(
        measures=measures_named(measure or "nn-CUI@5,10,30"),
        qrels=None if qrels is None else Judgements.read(qrels),
        labels=labels_given(labels, label_concepts, columns),
        options={"missing": missing, "empty_ideal": empty_ideal},
    )
    work = Work(threads, memory, checkpoint)
    if concepts is None:
        evaluation = _judged(asked, _given(ranking, "--ranking"), ties, similarity, work)
    else:
        images = _Images(
            ImageConcepts.read(concepts, **columns),
            None if corpus is None else ImageConcepts.read(corpus, **columns),
            corpus_embeddings,
        )
        source = (
            _Source(None, str(baseline), ties, similarity)
            if ranking is None
            else _Source(ranking, "", ties, similarity)
        )
        evaluation = _by_concepts(asked, images, source, graph, Nearness(hops, lam, direction, unknown), work)
    if output is not None:
        evaluation.to_csv(output)
    if card is not None:
        ScoreCard.of(evaluation, system).write(card)
    work.finish()
    if json:
        print_json({**evaluation.summary(), "per_query": None if output is None else str(output)})
    else:
        show_evaluation(evaluation, output)


@dataclass(frozen=True)
class _Asked:
    """What to measure, against what."""

    measures: tuple[Measure, ...]
    qrels: Judgements | None
    labels: Labels | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class _Images:
    """Queries and corpus."""

    queries: ImageConcepts
    corpus: ImageConcepts | None
    corpus_embeddings: Path | None


@dataclass(frozen=True)
class _Source:
    """Where the ranking comes from: a file, or a baseline."""

    file: Path | None
    baseline: str
    ties: Ties
    similarity: Similarity | None


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise typer.BadParameter(f"{option} is needed")
    return path


def _judged(asked: _Asked, ranking: Path, ties: Ties, similarity: Similarity | None, work: Work) -> Evaluation:
    """Without concepts, and so without a graph."""
    check_without_concepts(asked.measures)
    ranked = judged_ranking(
        ranking, asked.qrels, asked.labels, depth=depth_of(asked.measures), ties=ties, similarity=similarity,
        resources=Resources(work.threads, work.memory),
    )  # fmt: skip
    data = Dataset(qrels=asked.qrels, labels=asked.labels)
    if isinstance(ranked, Ranking):
        if work.checkpoint is not None:
            note("a ranking that is read is judged at once: there is nothing for --checkpoint to keep")
        return evaluate(data, ranked, measures=asked.measures, **asked.options)
    with work.told() as telling:
        resources = work.resources(EVALUATION, telling("ranked and judged queries"))
        return evaluate(data, ranked, measures=asked.measures, resources=resources, **asked.options)


def _by_concepts(
    asked: _Asked,
    images: _Images,
    source: _Source,
    graph: str | None,
    nearness: Nearness,
    work: Work,
) -> Evaluation:
    if graph is None and (source.baseline in ("nn-iou", "bm") or any(m.family == "nn-CUI" for m in asked.measures)):
        raise typer.BadParameter(f"{'BM' if source.baseline == 'bm' else 'nn-IoU'} needs --graph (or CUIHOP_GRAPH)")
    with (
        nullcontext() if graph is None else opened_graph(graph) as opened,
        advised_on_unknown(),
        work.told() as telling,
    ):
        ranked = _ranked(asked.measures, images, source, opened, nearness, work, telling)
        data = Dataset(images.queries, images.corpus, qrels=asked.qrels, labels=asked.labels)
        return evaluate(
            data, ranked, opened, measures=asked.measures, nearness=nearness,
            resources=work.resources(EVALUATION, telling("evaluated queries")), **asked.options,
        )  # fmt: skip


def _ranked(
    measures: tuple[Measure, ...],
    images: _Images,
    source: _Source,
    graph: ConceptGraph | None,
    nearness: Nearness,
    work: Work,
    telling: Callable[[str], Progress],
) -> Ranking | RankingInBlocks:
    """The ranking from its file, or a baseline made here."""
    queries, corpus = images.queries, images.corpus
    depth, everything = depth_of(measures), len(queries if corpus is None else corpus)
    if source.file is not None:
        return read_ranking_in_blocks(
            source.file, tuple(queries), None if corpus is None else tuple(corpus), ties=source.ties, depth=depth,
            corpus_embeddings=images.corpus_embeddings, similarity=source.similarity,
            resources=Resources(work.threads, work.memory),
        )  # fmt: skip
    depth = everything if depth is None else depth
    kind, _, seed = source.baseline.partition(":")
    if kind == "random" and ((seed.isascii() and seed.isdecimal()) or source.baseline == "random"):
        return random_ranking(Dataset(queries, corpus), depth, seed=int(seed or 0), memory=work.memory)
    by = next((relevance for relevance in get_args(Relevance) if relevance == source.baseline), None)
    if by is None:
        named = ", ".join(get_args(Relevance))
        raise typer.BadParameter(
            f"no baseline is called {source.baseline!r}; there are {named}, random and random:SEED"
        )
    resources = work.resources(RANKING, telling("ranked queries"))
    return top_k(Dataset(queries, corpus), graph, depth, by=by, nearness=nearness, resources=resources)
