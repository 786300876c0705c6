"""bpref: how often relevant documents stand before documents judged not relevant (Buckley and Voorhees 2004)."""

from __future__ import annotations

import numpy as np

from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_ranking import JudgedRanking

__all__ = ["FAMILY", "bpref"]


def bpref(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """Bpref = (1 / R) Σ_r (1 − min(|n before r|, R) / min(R, N)) over the relevant documents r retrieved; 0 if R is 0.

    n are the documents judged not relevant, N all of them; documents without a judgement do not count. Source:
    trec_eval ``m_bpref.c``, which divides by min(R, N).

    >>> ranking = JudgedRanking.of([None, 1, 0, 1, 0], pool=[1, 1, 1, 0, 0])
    >>> bpref(ranking)  # (1 + (1 − 1/2)) / 3
    0.5
    """
    total = ranking.relevant_total(rel)
    if not total:
        return 0.0
    before = np.cumsum(ranking.nonrelevant(rel))[ranking.relevant(rel)]
    bound = min(total, ranking.nonrelevant_total(rel))
    lost = np.minimum(before, total) / bound if bound else np.zeros(len(before))
    return float((1.0 - lost).sum()) / total


FAMILY = Family(
    "bpref", "preference of relevant over judged not relevant", "judged", "none", (RELEVANT_FROM,),
    value=lambda ranking, _, options: bpref(ranking, rel=relevant_from(options)),
)  # fmt: skip
