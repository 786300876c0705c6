"""nn-CUI@K: mean NDCG@K with the gain nn-IoU (Wei, Kurtz, Cloppet 2025, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.family import Family
from cuihop.measures.nn_iou import HOPS, LAMBDA
from cuihop.measures.resolution import Unknown

__all__ = ["FAMILY", "nn_cui_at_k"]


def nn_cui_at_k(
    queries: Mapping[str, str | Iterable[str]],
    ranking: Mapping[str, Sequence[str]],
    graph: ConceptGraph,
    k: int,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    corpus: Mapping[str, str | Iterable[str]] | None = None,
    unknown: Unknown = "error",
) -> float:
    """nn-CUI@K of a ranking: the mean over all queries of DCG@K / IDCG@K with the gain nn-IoU.

    DCG@K = Σ_{j=1..K} nn-IoU(query, j-th image) / log2(j + 1). The ideal is taken over the
    whole corpus, the query itself left out. A query whose ideal is 0 counts as 0.

    Args:
        queries: image → its concepts, as ``"C1;C2"`` or as a collection of identifiers.
        ranking: query → images of the corpus, best first.
        graph: who knows the distances.
        k: the cut-off.
        n, lam, direction, unknown: as in `cuihop.measures.nn_iou`.
        corpus: image → its concepts; the queries themselves without it.

    Raises:
        InputError, ConceptError: see `cuihop.evaluate`, which also gives the values per query.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> ranking = {"vein": ["head", "vessel"], "vessel": ["vein", "head"], "head": ["vein", "vessel"]}
    >>> round(nn_cui_at_k(images, ranking, graph, k=2), 6)  # ((0.5 / log2 3) / 0.5 + 0.5 / 0.5 + 0) / 3
    0.543643
    """
    from cuihop.evaluation.whole_collection import evaluate
    from cuihop.measures.measure import Measure

    measure = Measure("nn-CUI", k)
    return evaluate(
        queries, ranking, graph, corpus=corpus, measures=measure, n=n, lam=lam, direction=direction, unknown=unknown
    ).mean(measure)


FAMILY = Family(
    "nn-CUI", "mean NDCG@K with the gain nn-IoU", "concepts", "needed", (HOPS, LAMBDA), spellings=("nnCUI",)
)
