"""Recall@K: how much of what is relevant stands among the first K (trec_eval: ``recall_K``)."""

from __future__ import annotations

from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_ranking import JudgedRanking

__all__ = ["FAMILY", "recall_at_k"]


def recall_at_k(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """R@K = relevant among the first K / R, with R all relevant documents; 0 where R is 0.

    Source: trec_eval ``m_recall.c``. Arguments and errors as `cuihop.measures.precision.precision_at_k`.

    >>> recall_at_k(JudgedRanking.of([1, 0, 2], pool=[1, 0, 2, 1, 1]), 2)
    0.25
    """
    k = checked_k(k)
    total = ranking.relevant_total(rel)
    return int(ranking.relevant(rel)[:k].sum()) / total if total else 0.0


FAMILY = Family(
    "R", "recall: relevant among the first K / all relevant", "judged", "needed", (RELEVANT_FROM,),
    value=lambda ranking, k, options: recall_at_k(ranking, k or 0, rel=relevant_from(options)),
)  # fmt: skip
