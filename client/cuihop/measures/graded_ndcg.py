"""nDCG over judged grades (trec_eval: ``ndcg`` and ``ndcg_cut_K``), with a linear or an exponential gain."""

from __future__ import annotations

from typing import get_args

from cuihop.errors import checked_choice
from cuihop.measures.dcg import checked_k
from cuihop.measures.family import Family, Option
from cuihop.measures.judged_rankings import Float64, Gain, JudgedRanking, JudgedRankings, discounted, share


def graded_ndcg(ranking: JudgedRanking, k: int | None = None, *, gain: Gain = "linear") -> float:
    """nDCG@K = DCG@K / IDCG@K with DCG@K = Σ_{j=1..K} gain_j / log2(j + 1); 0 where IDCG is 0.

    IDCG is the DCG of all judged documents by descending grade, retrieved or not. A document without a judgement, or
    of a negative grade, gains 0. Without K the whole ranking and the whole ideal count. Sources: trec_eval
    ``m_ndcg.c``, ``m_ndcg_cut.c`` (linear); the hashing papers' nDCG@p is ``gain="exp"``.

    Raises:
        InputError: k is not a whole number of at least 1, or the gain is neither of its two.

    >>> ranking = JudgedRanking.of([1, 2], pool=[2, 1, 0])
    >>> round(graded_ndcg(ranking, 2), 6)  # (1 + 2 / log2 3) / (2 + 1 / log2 3)
    0.859719
    >>> round(graded_ndcg(ranking, 2, gain="exp"), 6)  # (1 + 3 / log2 3) / (3 + 1 / log2 3)
    0.796708
    """
    checked_choice("gain", gain, Gain, "not a gain")
    return float(_values(ranking.alone(), None if k is None else checked_k(k), gain)[0])


def _values(rankings: JudgedRankings, k: int | None, gain: Gain) -> Float64:
    owners, ranks, grades = rankings.owners, rankings.ranks, rankings.grades
    if k is not None:
        inside = ranks <= k
        owners, ranks, grades = owners[inside], ranks[inside], grades[inside]
    ideal = rankings.pools.ideal(k, gain)[rankings.pool]
    return share(rankings.sum(owners, discounted(grades, ranks, gain)), ideal)


FAMILY = Family(
    "nDCG", "DCG / IDCG over judged grades", "judged", "optional", (Option.of_words("gain", *get_args(Gain)),),
    values=lambda rankings, k, options: _values(rankings, k, "exp" if options["gain"] == "exp" else "linear"),
)  # fmt: skip
