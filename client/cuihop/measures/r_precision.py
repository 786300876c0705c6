"""R-precision: precision at as many ranks as there are relevant documents (trec_eval: ``Rprec``)."""

from __future__ import annotations

from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings, share


def r_precision(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """Rprec = relevant among the first R / R, with R all relevant documents; 0 where R is 0.

    Source: trec_eval ``m_Rprec.c``.

    >>> r_precision(JudgedRanking.of([1, 0, 1], pool=[1, 0, 1, 0]))
    0.5
    """
    return float(_values(ranking.alone(), rel)[0])


def _values(rankings: JudgedRankings, rel: int) -> Float64:
    found, total = rankings.found(rel), rankings.relevant(rel)
    return share(rankings.count(found.owners[found.ranks <= total[found.owners]]), total)


FAMILY = Family(
    "Rprec", "precision at R, the number of relevant", "judged", "none", (RELEVANT_FROM,),
    values=lambda rankings, _, options: _values(rankings, relevant_from(options)),
)  # fmt: skip
