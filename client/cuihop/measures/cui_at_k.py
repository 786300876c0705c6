"""CUI@K: mean NDCG@K with the gain IoU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cuihop.measures.family import Family

__all__ = ["FAMILY", "cui_at_k"]


def cui_at_k(
    queries: Mapping[str, str | Iterable[str]],
    ranking: Mapping[str, Sequence[str]],
    k: int,
    *,
    corpus: Mapping[str, str | Iterable[str]] | None = None,
) -> float:
    """CUI@K of a ranking: `nn_cui_at_k` with IoU in place of nn-IoU. It needs no graph.

    Source: Serieys et al., as Wei, Kurtz and Cloppet (2025, section 4) tell it.

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
    from cuihop.evaluation.whole_collection import evaluate
    from cuihop.measures.measure import Measure

    measure = Measure("CUI", k)
    return evaluate(queries, ranking, None, corpus=corpus, measures=measure).mean(measure)


FAMILY = Family("CUI", "mean NDCG@K with the gain IoU", "concepts", "needed")
