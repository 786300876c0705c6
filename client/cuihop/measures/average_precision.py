"""Average precision (trec_eval: ``map``, and ``map_cut_K`` with a cut-off)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_ranking import JudgedRanking

__all__ = ["FAMILY", "average_precision", "precision_sum"]


def precision_sum(relevant: npt.NDArray[np.bool_]) -> float:
    """Σ P@m over the ranks m of relevant documents."""
    ranks = np.flatnonzero(relevant) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum())


def average_precision(ranking: JudgedRanking, k: int | None = None, *, rel: int = 1) -> float:
    """AP = (1 / R) Σ P@m over the ranks m of relevant documents, with R all relevant documents; 0 where R is 0.

    With a cut-off only the first K ranks are summed; the divisor stays R. Its mean over queries is MAP. Source:
    trec_eval ``m_map.c`` and ``m_map_cut.c``. The mAP@p of hashing papers has another divisor:
    `cuihop.measures.hashing_average_precision`.

    Args:
        ranking: one query's.
        k: the cut-off, if there is one.
        rel: the grade from which on a document is relevant.

    Raises:
        InputError: k is not a whole number of at least 1.

    >>> ranking = JudgedRanking.of([1, 0, 1, None], pool=[1, 0, 1, 1, 1])
    >>> round(average_precision(ranking), 6)  # (1/1 + 2/3) / 4
    0.416667
    >>> average_precision(ranking, 2)
    0.25
    """
    relevant = ranking.relevant(rel)
    if k is not None:
        relevant = relevant[: checked_k(k)]
    total = ranking.relevant_total(rel)
    return precision_sum(relevant) / total if total else 0.0


FAMILY = Family(
    "AP", "average precision over all relevant; its mean is MAP", "judged", "optional", (RELEVANT_FROM,),
    spellings=("MAP",),
    value=lambda ranking, k, options: average_precision(ranking, k, rel=relevant_from(options)),
)  # fmt: skip
