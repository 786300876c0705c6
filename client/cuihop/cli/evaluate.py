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
    ConceptsOption,
    CorpusEmbeddingsOption,
    CorpusOption,
    EmptyIdealOption,
    HopsOption,
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
from cuihop.cli.print_evaluation import print_evaluation
from cuihop.cli.relevance_options import check_one_kind_of_labels, check_without_concepts, judged_ranking, labels_given
from cuihop.cli.run_options import EVALUATION, RANKING, CheckpointOption, MemoryOption, Work
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_labels import ImageLabels
from cuihop.collection.judgements import Qrels
from cuihop.comparison.score_card import ScoreCard
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.judged import evaluate_judged
from cuihop.evaluation.judged_result import JudgedEvaluation
from cuihop.evaluation.judged_values import depth_of
from cuihop.evaluation.result import Evaluation
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure, measures_named
from cuihop.measures.resolution import Unknown
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.progress import Progress

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
    corpus_embeddings: CorpusEmbeddingsOption = None,
    qrels: QrelsOption = None,
    labels: LabelsOption = None,
    label_concepts: LabelConceptsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the values of each query, as CSV.", rich_help_panel=FILES_PANEL),
        FileUse.WRITES,
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option("--card", help="File for a score card, for cuihop compare.", rich_help_panel=FILES_PANEL),
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
    """Evaluate a ranking by the concepts of the images, by labels, or by relevance judgements."""
    if (ranking is None) == (baseline is None):
        raise typer.BadParameter("give either --ranking FILE or --baseline")
    check_one_kind_of_labels(labels, label_concepts)
    if concepts is None and any(given is not None for given in (corpus, corpus_embeddings, baseline)):
        raise typer.BadParameter("--corpus, --corpus-embeddings and --baseline go with --concepts")
    if concepts is None and not measure:
        raise typer.BadParameter("without --concepts, measures are needed: --measure AP --measure nDCG@10")
    criteria = _Criteria(
        measures=measures_named(measure or "nn-CUI@5,10,30"),
        qrels=None if qrels is None else Qrels.read(qrels),
        labels=labels_given(labels, label_concepts),
        options={"missing": missing, "empty_ideal": empty_ideal},
    )
    work = Work(threads, memory, checkpoint)
    evaluation: Evaluation | JudgedEvaluation
    if concepts is None:
        evaluation = _judged(criteria, _given(ranking, "--ranking"), ties, similarity, work)
    else:
        images = _Images(
            ImageConcepts.read(concepts), None if corpus is None else ImageConcepts.read(corpus), corpus_embeddings
        )
        concept_options = {"n": hops, "lam": lam, "direction": direction}
        source = (
            _Source(None, str(baseline), ties, similarity)
            if ranking is None
            else _Source(ranking, "", ties, similarity)
        )
        evaluation = _by_concepts(criteria, images, source, graph, concept_options, unknown, work)
    if output is not None:
        evaluation.to_csv(output)
    if card is not None:
        ScoreCard.of(evaluation, system).write(card)
    work.finish()
    if json:
        print_json({**evaluation.summary(), "per_query": None if output is None else str(output)})
    else:
        print_evaluation(evaluation, output)


@dataclass(frozen=True)
class _Criteria:
    """Measures, and the sources of relevance."""

    measures: tuple[Measure, ...]
    qrels: Qrels | None
    labels: ImageLabels | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class _Images:
    """Queries and corpus."""

    queries: ImageConcepts
    corpus: ImageConcepts | None
    corpus_embeddings: Path | None


@dataclass(frozen=True)
class _Source:
    """Source of the ranking: a file, or a baseline."""

    file: Path | None
    baseline: str
    ties: Ties
    similarity: Similarity | None


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise typer.BadParameter(f"{option} is needed")
    return path


def _judged(
    criteria: _Criteria, ranking: Path, ties: Ties, similarity: Similarity | None, work: Work
) -> JudgedEvaluation:
    """Without concepts, and so without a graph."""
    check_without_concepts(criteria.measures)
    ranked = judged_ranking(
        ranking, criteria.qrels, criteria.labels, depth=depth_of(criteria.measures), ties=ties, similarity=similarity,
        memory=work.memory, threads=work.threads,
    )  # fmt: skip
    options: dict[str, Any] = {"qrels": criteria.qrels, "labels": criteria.labels, **criteria.options}
    if isinstance(ranked, Ranking):
        if work.checkpoint is not None:
            note("a ranking read from a file is judged at once: --checkpoint has no effect")
        return evaluate_judged(ranked, criteria.measures, **options)
    options |= {name: value for name, value in work.options(EVALUATION).items() if name != "memory"}
    with work.progress_bars() as bar_of:
        return evaluate_judged(ranked, criteria.measures, progress=bar_of("ranked and judged queries"), **options)


def _by_concepts(
    criteria: _Criteria,
    images: _Images,
    source: _Source,
    graph: str | None,
    options: Mapping[str, Any],
    unknown: Unknown,
    work: Work,
) -> Evaluation:
    if graph is None and (source.baseline in ("nn-iou", "bm") or any(m.family == "nn-CUI" for m in criteria.measures)):
        raise typer.BadParameter(f"{'BM' if source.baseline == 'bm' else 'nn-IoU'} needs --graph (or CUIHOP_GRAPH)")
    with (
        nullcontext() if graph is None else opened_graph(graph) as opened,
        advised_on_unknown(),
        work.progress_bars() as bar_of,
    ):
        ranked = _ranked(criteria.measures, images, source, opened, {**options, "unknown": unknown}, work, bar_of)
        return evaluate(
            images.queries, ranked, opened, corpus=images.corpus, measures=criteria.measures, qrels=criteria.qrels,
            labels=criteria.labels, unknown=unknown, progress=bar_of("evaluated queries"),
            **work.options(EVALUATION), **options, **criteria.options,
        )  # fmt: skip


def _ranked(
    measures: tuple[Measure, ...],
    images: _Images,
    source: _Source,
    graph: ConceptGraph | None,
    options: Mapping[str, Any],
    work: Work,
    bar_of: Callable[[str], Progress],
) -> Ranking | RankingInBlocks:
    """The ranking from its file, or a baseline."""
    queries, corpus = images.queries, images.corpus
    depth, everything = depth_of(measures), len(queries if corpus is None else corpus)
    if source.file is not None:
        return read_ranking_in_blocks(
            source.file, tuple(queries), None if corpus is None else tuple(corpus), ties=source.ties, depth=depth,
            corpus_embeddings=images.corpus_embeddings, similarity=source.similarity, memory=work.memory,
            threads=work.threads,
        )  # fmt: skip
    depth = everything if depth is None else depth
    kind, _, seed = source.baseline.partition(":")
    if kind == "random" and ((seed.isascii() and seed.isdecimal()) or source.baseline == "random"):
        return random_ranking(queries, depth, corpus=corpus, seed=int(seed or 0), memory=work.memory)
    by = next((relevance for relevance in get_args(Relevance) if relevance == source.baseline), None)
    if by is None:
        named = ", ".join(get_args(Relevance))
        raise typer.BadParameter(
            f"no baseline is called {source.baseline!r}; there are {named}, random and random:SEED"
        )
    return top_k(
        queries,
        graph,
        depth,
        corpus=corpus,
        by=by,
        progress=bar_of("ranked queries"),
        **work.options(RANKING),
        **options,
    )
