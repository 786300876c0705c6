"""CUI@K and nn-CUI@K of one ranking, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cuihop.collection.dataset import Dataset
from cuihop.evaluation.evaluate import evaluate
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import Unknown

__all__ = ["cui_at_k", "nn_cui_at_k"]


def cui_at_k(
    queries: Mapping[str, str | Iterable[str]],
    ranking: Mapping[str, Sequence[str]],
    k: int,
    *,
    corpus: Mapping[str, str | Iterable[str]] | None = None,
) -> float:
    """CUI@K of a ranking: `nn_cui_at_k` with IoU in place of nn-IoU. It needs no graph.

    Source: Serieys et al., as given by Wei, Kurtz and Cloppet (2025, section 4).

    Args:
        queries: image → its concepts, as ``"C1;C2"`` or as a collection of identifiers.
        ranking: query → images of the corpus, best first.
        k: the cut-off.
        corpus: image → its concepts; the queries themselves without it.

    Raises:
        InputError: see `cuihop.evaluate`, which also gives the values per query.

    >>> images = {"a": "C0000001;C0000002", "b": "C0000001", "c": "C0000001;C0000002"}
    >>> round(cui_at_k(images, {"a": ["c"], "b": ["a"], "c": ["b"]}, k=1), 6)  # (1/1 + 0.5/0.5 + 0.5/1) / 3
    0.833333
    """
    measure = Measure("CUI", k)
    return evaluate(Dataset(queries, corpus), ranking, measures=measure).mean(measure)


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
        graph: the source of distances.
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
    measure = Measure("nn-CUI", k)
    nearness = Nearness(n, lam, direction, unknown)
    return evaluate(Dataset(queries, corpus), ranking, graph, measures=measure, nearness=nearness).mean(measure)
