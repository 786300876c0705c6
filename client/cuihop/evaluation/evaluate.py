"""Evaluation of a ranking over a whole collection: nn-CUI@K and CUI@K of every query, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.evaluation.result import EmptyIdeal, Evaluation, Missing
from cuihop.evaluation.several_rankings import evaluate_rankings
from cuihop.files.arrow_tables import ArrowStream
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.measure import Measure
from cuihop.measures.resolution import Unknown
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.progress import Progress

__all__ = ["EmptyIdeal", "Evaluation", "Missing", "evaluate"]


def evaluate(
    queries: object,
    ranking: Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | ArrowStream,
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
    qrels: Judgements | Mapping[str, Mapping[str, int]] | ArrowStream | None = None,
    labels: Labels | object | None = None,
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
        qrels, labels: as in `cuihop.evaluation.judged.evaluate_judged`; queries and corpus are still those given here.
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
    return evaluate_rankings(
        queries, [("", ranking)], graph, corpus=corpus, measures=measures, n=n, lam=lam, direction=direction,
        unknown=unknown, missing=missing, empty_ideal=empty_ideal, qrels=qrels, labels=labels, progress=progress,
        threads=threads, memory=memory, checkpoint=checkpoint, keep_checkpoint=keep_checkpoint,
    )[""]  # fmt: skip
