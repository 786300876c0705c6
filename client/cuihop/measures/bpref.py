"""bpref: preference of relevant documents over documents judged not relevant (Buckley and Voorhees 2004)."""

from __future__ import annotations

import numpy as np

from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings, share


def bpref(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """Bpref = (1 / R) Σ_r (1 − min(|n before r|, R) / min(R, N)) over the relevant documents r retrieved; 0 if R is 0.

    n are documents judged not relevant, N their number; documents without a judgement do not count. Source:
    trec_eval ``m_bpref.c``, which divides by min(R, N).

    >>> ranking = JudgedRanking.of([None, 1, 0, 1, 0], pool=[1, 1, 1, 0, 0])
    >>> bpref(ranking)  # (1 + (1 − 1/2)) / 3
    0.5
    """
    return float(_values(ranking.alone(), rel)[0])


def _values(rankings: JudgedRankings, rel: int) -> Float64:
    found, total = rankings.found(rel), rankings.relevant(rel)
    before = np.minimum(found.judged - found.number, total[found.owners])
    lost = share(before, np.minimum(total, rankings.nonrelevant(rel))[found.owners])
    return share(rankings.sum(found.owners, 1.0 - lost), total)


FAMILY = Family(
    "bpref", "preference of relevant over judged not relevant", "judged", "none", (RELEVANT_FROM,),
    values=lambda rankings, _, options: _values(rankings, relevant_from(options)),
)  # fmt: skip
