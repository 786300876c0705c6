"""Reciprocal rank: one over the rank of the first relevant document (trec_eval: ``recip_rank``)."""

from __future__ import annotations

import numpy as np

from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_ranking import JudgedRanking

__all__ = ["FAMILY", "reciprocal_rank"]


def reciprocal_rank(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """RR = 1 / rank of the first relevant document; 0 where none was retrieved. Its mean over queries is MRR.

    Source: trec_eval ``m_recip_rank.c``.

    >>> reciprocal_rank(JudgedRanking.of([0, None, 1], pool=[0, 1]))
    0.3333333333333333
    """
    ranks = np.flatnonzero(ranking.relevant(rel))
    return 1.0 / (int(ranks[0]) + 1) if len(ranks) else 0.0


FAMILY = Family(
    "RR", "one over the rank of the first relevant; its mean is MRR", "judged", "none", (RELEVANT_FROM,),
    value=lambda ranking, _, options: reciprocal_rank(ranking, rel=relevant_from(options)),
)  # fmt: skip
