"""Average precision (trec_eval: ``map``, and ``map_cut_K`` with a cut-off)."""

from __future__ import annotations

from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings, RelevantRetrieved, share


def precision_sums(rankings: JudgedRankings, found: RelevantRetrieved, k: int | None) -> Float64:
    """Σ P@m over the first K ranks m of relevant documents. Shape (queries,)."""
    precisions = found.number / found.ranks
    if k is None:
        return rankings.sum(found.owners, precisions)
    inside = found.ranks <= k
    return rankings.sum(found.owners[inside], precisions[inside])


def average_precision(ranking: JudgedRanking, k: int | None = None, *, rel: int = 1) -> float:
    """AP = (1 / R) Σ P@m over the ranks m of relevant documents, with R all relevant documents; 0 where R is 0.

    With a cut-off only the first K ranks are summed; the divisor stays R. Its mean over queries is MAP. Source:
    trec_eval ``m_map.c`` and ``m_map_cut.c``. The mAP@p of hashing papers has another divisor:
    `cuihop.measures.hashing_average_precision`.

    Args:
        ranking: one query's.
        k: the cut-off; ``None`` for the whole ranking.
        rel: the least grade of a relevant document.

    Raises:
        InputError: k is not a whole number of at least 1.

    >>> ranking = JudgedRanking.of([1, 0, 1, None], pool=[1, 0, 1, 1, 1])
    >>> round(average_precision(ranking), 6)  # (1/1 + 2/3) / 4
    0.416667
    >>> average_precision(ranking, 2)
    0.25
    """
    return float(_values(ranking.alone(), None if k is None else checked_k(k), rel)[0])


def _values(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    return share(precision_sums(rankings, rankings.found(rel), k), rankings.relevant(rel))


FAMILY = Family(
    "AP", "average precision over all relevant; its mean is MAP", "judged", "optional", (RELEVANT_FROM,),
    spellings=("MAP",),
    values=lambda rankings, k, options: _values(rankings, k, relevant_from(options)),
)  # fmt: skip
