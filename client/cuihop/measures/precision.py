"""Precision@K: the share of relevant documents among the first K (trec_eval: ``P_K``)."""

from __future__ import annotations

from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, Int64, JudgedRanking, JudgedRankings


def precision_at_k(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """P@K = relevant among the first K / K. Where fewer than K were retrieved, the divisor stays K.

    With labels (``P@K(modality)``), an image is relevant that has the query's label, in every column named.
    Source: trec_eval ``m_P.c``; Wei, Kurtz, Cloppet 2025, section 4.3, for labels.

    Args:
        ranking: one query's.
        k: the cut-off.
        rel: the least grade of a relevant document.

    Raises:
        InputError: k is not a whole number of at least 1.

    >>> ranking = JudgedRanking.of([1, 0, None, 2], pool=[1, 0, 2, 1])
    >>> precision_at_k(ranking, 2), precision_at_k(ranking, 4), precision_at_k(ranking, 4, rel=2)
    (0.5, 0.5, 0.25)
    >>> precision_at_k(ranking, 10)
    0.2
    """
    return float(_values(ranking.alone(), checked_k(k), rel)[0])


def relevant_at_k(rankings: JudgedRankings, k: int, rel: int) -> Int64:
    """Number of relevant documents among the first K. Shape (queries,)."""
    found = rankings.found(rel)
    return rankings.count(found.owners[found.ranks <= k])


def _values(rankings: JudgedRankings, k: int, rel: int) -> Float64:
    return relevant_at_k(rankings, k, rel) / k


FAMILY = Family(
    "P", "precision: relevant among the first K / K", "judged", "needed", (RELEVANT_FROM,),
    values=lambda rankings, k, options: _values(rankings, k or 0, relevant_from(options)),
)  # fmt: skip
