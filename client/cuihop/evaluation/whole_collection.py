"""Evaluation of a ranking over a whole collection: nn-CUI@K and CUI@K of every query, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.arrow_inputs import ranking_of_table
from cuihop.evaluation.arrow_tables import ArrowTable, Table, is_table_object
from cuihop.evaluation.checkpoint import open_checkpoint
from cuihop.evaluation.gain_levels import GainPart, gains_of
from cuihop.evaluation.image_collection import ImageCollection
from cuihop.evaluation.image_labels import ImageLabels
from cuihop.evaluation.judged import JudgedValues, depth_of, judged_values
from cuihop.evaluation.judged_blocks import judged_in_blocks, judging_depends
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.evaluation.qrels import Qrels
from cuihop.evaluation.ranked_blocks import RankingInBlocks
from cuihop.evaluation.rankings import Ranking
from cuihop.evaluation.relevance_index import Progress
from cuihop.evaluation.result import (
    EmptyIdeal,
    Evaluation,
    EvaluationCounts,
    IdentifierCount,
    Missing,
    checked_way,
    missing_rankings,
    versions,
)
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nn_iou import checked_lam, checked_n
from cuihop.measures.resolution import Unknown

__all__ = ["EmptyIdeal", "Evaluation", "Missing", "evaluate"]


def evaluate(
    queries: object,
    ranking: Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | Table,
    graph: ConceptGraph | None,
    *,
    corpus: object = None,
    measures: str | Measure | Iterable[str | Measure] = "nn-CUI@5,10,30",
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    unknown: Unknown = "error",
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    qrels: Qrels | Mapping[str, Mapping[str, int]] | Table | None = None,
    labels: ImageLabels | object | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> Evaluation:
    """Measure how well a ranking orders a corpus for each query.

    For each query, DCG@K of its ranking is divided by IDCG@K, the DCG of the K best images of the *whole* corpus; the
    query itself takes no part in either. The gain of an image is its nn-IoU (nn-CUI@K) or IoU (CUI@K) with the query.

    Args:
        queries: image → its concepts: what `ImageConcepts.read` gives, a mapping (``"C1;C2"`` or a collection of
            identifiers), or a DataFrame of two columns.
        ranking: what `read_ranking`, `top_k` or `random_ranking` gives; what `read_ranking_in_blocks` gives, of which
            no more is held at a time than its blocks; query → images, best first; or a table with the columns query,
            document, and score or rank.
        graph: who knows the distances, and which identifiers are retired. ``None`` will do for CUI@K: identifiers
            are then compared as they are.
        corpus: the images that can be retrieved, given as the queries are; the queries themselves without it.
        measures: names such as ``nn-CUI@5,10,30``, ``nn-CUI@10(n=2, λ=0.2)``, ``CUI@10`` and, with labels or
            judgements, ``P@5(modality)`` and ``AP``.
        n, lam, direction: as in `cuihop.measures.nn_iou`, for measures that do not say; the first concept is the
            query's.
        unknown: ``isolated`` keeps identifiers that the graph cannot use as concepts near nothing but themselves,
            counted and listed.
        missing: what becomes of a query without a ranking.
        empty_ideal: what becomes of a query for which IDCG is 0 or nothing is relevant; counted either way.
        qrels, labels: as in `cuihop.evaluation.evaluate_judged`; queries and corpus are still those given here.
        progress: called with the queries done and all queries.
        threads: how many; without it, as many as the process has cores. The numbers do not depend on it.
        memory: what the work may take beside what was given: bytes, or a text such as ``500MB``. The numbers do not
            depend on it.
        checkpoint: a file for finished blocks. If it is there already, from a run with the same inputs that was
            interrupted, its blocks are not computed again; the numbers are the same to the last bit. It is removed at
            the end, unless ``keep_checkpoint`` is true.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: identifiers cannot be used, and ``unknown`` is ``error``.
        InputError: a parameter, an image, the ranking or the checkpoint is not as expected.
        LimitExceeded: the memory allowed is not enough; says how much would be.
        OutputError: the checkpoint cannot be written.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> ranking = {"vein": ["vessel", "head"], "vessel": ["head", "vein"], "head": ["vein", "vessel"]}
    >>> evaluate(images, ranking, graph, measures="nn-CUI@1").means
    {'nn-CUI@1': 0.3333333333333333}
    """
    wanted = measures_named(measures)
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    missing, empty_ideal = checked_way("missing", missing, Missing), checked_way("empty_ideal", empty_ideal, EmptyIdeal)
    gains = gains_of([measure for measure in wanted if measure.kind != "judged"], n, lam)
    if any(measure.family == "nn-CUI" for measure in gains) and graph is None:
        raise InputError("nn-CUI@K needs a graph", column="graph", found="None", expected="a ConceptGraph")
    images = ImageCollection.of(queries, corpus, graph, unknown)
    given = _fitted(ranking, images)
    if isinstance(given, Ranking) and given.missing and missing == "error":
        raise missing_rankings(given.missing)
    values = np.empty((len(images.queries), len(wanted)), dtype=np.float64)
    others = [measure for measure in wanted if measure not in gains]
    judgements = None if qrels is None else Qrels.of(qrels)
    labelled = None if labels is None else ImageLabels.of(labels)
    judging: dict[str, Any] = {"qrels": judgements, "labels": labelled, "empty_ideal": empty_ideal}
    best = {gain.name: np.empty(len(images.queries), dtype=np.float64) for gain in gains.values()}
    empty = 0.0 if empty_ideal == "zero" else np.nan
    depth = min(depth_of(gains) or 0, len(images.corpus))
    budget = MemoryBudget.of(memory)
    budget.take("values of the queries", values.nbytes + sum(column.nbytes for column in best.values()))
    job: dict[str, object] = {"work": "evaluation"}
    if checkpoint is not None:
        job |= {**images.depends(graph), "measures": list(map(str, gains))}
        job |= {"n": n, "lambda": lam, "direction": direction, "unknown": unknown, "empty_ideal": empty_ideal}
        if isinstance(given, Ranking):
            job |= {"content of ranking": given.digest}
        else:
            job |= {**given.depends, **judging_depends(others, judgements, labelled)}
    with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:
        if isinstance(given, Ranking):
            ranked, judged = given, judged_values(given, others, **judging)
        else:
            judged, ranked = judged_in_blocks(
                given, others, **judging, head=depth, threads=threads, progress=progress, saved=saved
            )
        values[:, [wanted.index(measure) for measure in others]] = judged.values
        for hops in sorted({gain.hops for gain in gains.values()}):
            levels = sorted({gain for gain in gains.values() if gain.hops == hops}, key=lambda gain: gain.name)
            part = GainPart(hops, levels, {m: gain for m, gain in gains.items() if gain in levels}, depth, empty, saved)
            columns = [wanted.index(measure) for measure in part.measures]
            index = images.index(graph, hops=hops, direction=direction, memory=budget.copy())
            found = part.scored(index, images, ranked, threads, progress)
            values[:, columns] = found[:, : len(columns)]
            for level, gain in enumerate(levels, start=len(columns)):
                best[gain.name][:] = found[:, level]
    if missing == "skip":
        values[~ranked.listed] = np.nan
    looked_at = depth_of(wanted)
    isolated = images.resolved.isolated
    return Evaluation(
        measures=wanted,
        queries=images.query_names,
        values=values,
        best_gains=best,
        concepts=np.array([len(concepts) for concepts in images.query_sets], dtype=np.int64),
        unknown_concepts=np.array([len(concepts & isolated) for concepts in images.query_sets], dtype=np.int64),
        retrieved=given.lengths if looked_at is None else np.minimum(given.lengths, looked_at),
        counts=_counts(
            images,
            ranked,
            given.lengths,
            len(images.corpus) if looked_at is None else looked_at,
            {
                gain: tuple(images.query_names[q] for q in np.flatnonzero(largest == 0.0).tolist())
                for gain, largest in best.items()
            },
            judged,
        ),
        release=None if graph is None else graph.release,
        parameters={
            "measures": [str(measure) for measure in wanted],
            "n": n,
            "lambda": lam,
            "direction": direction,
            "unknown": unknown,
            "missing": missing,
            "empty_ideal": empty_ideal,
            "ideal": "the best K of the whole corpus, the query left out",
            "qrels": None if judgements is None else judgements.source,
            "labels": None if labelled is None else labelled.source,
            "queries": images.queries.source,
            "corpus": images.corpus.source,
            "ranking": ranked.source,
            "ties": ranked.ties,
            "digests": {
                "queries": images.queries.digest,
                "corpus": images.corpus.digest,
                "qrels": None if judgements is None else judgements.digest,
                "labels": None if labelled is None else labelled.digest,
            },
        },
        versions=versions("cuihop", "numpy", "numba"),
    )


def _fitted(ranking: object, images: ImageCollection) -> Ranking | RankingInBlocks:
    """The ranking of these very images, in their order."""
    queries, corpus = images.query_names, images.corpus_names
    if is_table_object(ranking):
        return ranking_of_table(ArrowTable.of(ranking), queries, corpus, None, "name")
    if not isinstance(ranking, Mapping | RankingInBlocks):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → images of the corpus")
    if not isinstance(ranking, Ranking | RankingInBlocks):
        return Ranking.of(ranking, queries, corpus)
    if (ranking.queries, ranking.corpus) == (queries, corpus):
        return ranking
    raise InputError(
        "the ranking is of other images, or of the same in another order",
        found=f"{len(ranking.queries):,} queries, {len(ranking.corpus):,} images in the corpus",
        expected=f"the {len(queries):,} queries and {len(corpus):,} images given, in their order",
        advice="dict(ranking) is matched by the names of the images.",
    )


def _counts(
    images: ImageCollection,
    ranking: Ranking,
    lengths: npt.NDArray[np.int64],
    depth: int,
    empty_ideal: Mapping[str, tuple[str, ...]],
    judged: JudgedValues,
) -> EvaluationCounts:
    resolved = images.resolved
    occurrences = images.occurrences()

    def counted(identifiers: Iterable[str]) -> IdentifierCount:
        found = tuple(identifiers)
        return IdentifierCount(found, sum(occurrences[identifier] for identifier in found))

    collections = [(images.queries, images.query_sets)]
    if not images.one:
        collections.append((images.corpus, images.corpus_sets))
    total = occurrences.total()
    in_corpus = images.own_rows >= 0
    available = np.minimum(depth, len(images.corpus) - in_corpus)
    return EvaluationCounts(
        queries=len(images.queries),
        corpus=len(images.corpus),
        queries_in_corpus=int(in_corpus.sum()),
        empty_queries=sum(not concepts for concepts in images.query_sets),
        empty_corpus=sum(not concepts for concepts in images.corpus_sets),
        identifiers=len(occurrences),
        occurrences=total,
        unknown=counted(resolved.unknown),
        retired=counted(resolved.retired),
        invalid=counted(resolved.invalid),
        merged=counted(resolved.merged),
        successors=dict(resolved.merged),
        repeated=sum(concepts.repeated for concepts, _ in collections),
        fused=total - sum(len(concepts) for _, sets in collections for concepts in sets),
        self_retrieved=int(ranking.self_retrieved.sum()),
        missing=ranking.missing,
        short=int(((lengths < available) & ranking.listed).sum()),
        empty_ideal=dict(empty_ideal),
        nothing_relevant=judged.nothing_relevant,
        unlabelled=judged.unlabelled,
    )
