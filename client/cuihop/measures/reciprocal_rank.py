"""Reciprocal rank: one over the rank of the first relevant document (trec_eval: ``recip_rank``)."""

from __future__ import annotations

import numpy as np

from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings


def reciprocal_rank(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """RR = 1 / rank of the first relevant document; 0 where none was retrieved. Its mean over queries is MRR.

    Source: trec_eval ``m_recip_rank.c``.

    >>> reciprocal_rank(JudgedRanking.of([0, None, 1], pool=[0, 1]))
    0.3333333333333333
    """
    return float(_values(ranking.alone(), rel)[0])


def _values(rankings: JudgedRankings, rel: int) -> Float64:
    found = rankings.found(rel)
    first = found.number == 1
    values = np.zeros(len(rankings.pool), dtype=np.float64)
    values[found.owners[first]] = 1.0 / found.ranks[first]
    return values


FAMILY = Family(
    "RR", "one over the rank of the first relevant; its mean is MRR", "judged", "none", (RELEVANT_FROM,),
    values=lambda rankings, _, options: _values(rankings, relevant_from(options)),
)  # fmt: skip
