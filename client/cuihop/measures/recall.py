"""Recall@K: the share of the relevant documents among the first K (trec_eval: ``recall_K``)."""

from __future__ import annotations

from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings, share
from cuihop.measures.precision import relevant_at_k


def recall_at_k(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """R@K = relevant among the first K / R, with R all relevant documents; 0 where R is 0.

    Source: trec_eval ``m_recall.c``. Arguments and errors as `cuihop.measures.precision.precision_at_k`.

    >>> recall_at_k(JudgedRanking.of([1, 0, 2], pool=[1, 0, 2, 1, 1]), 2)
    0.25
    """
    return float(_values(ranking.alone(), checked_k(k), rel)[0])


def _values(rankings: JudgedRankings, k: int, rel: int) -> Float64:
    return share(relevant_at_k(rankings, k, rel), rankings.relevant(rel))


FAMILY = Family(
    "R", "recall: relevant among the first K / all relevant", "judged", "needed", (RELEVANT_FROM,),
    values=lambda rankings, k, options: _values(rankings, k or 0, relevant_from(options)),
)  # fmt: skip
