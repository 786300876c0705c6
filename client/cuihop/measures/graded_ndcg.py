"""nDCG over judged grades (trec_eval: ``ndcg`` and ``ndcg_cut_K``), with a linear or an exponential gain."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.measures.dcg import checked_k, cumulated_gains
from cuihop.measures.family import Family, Option
from cuihop.measures.judged_ranking import JudgedRanking

__all__ = ["FAMILY", "Gain", "graded_ndcg"]

Gain: TypeAlias = Literal["linear", "exp"]
"""``linear``: the grade itself (Järvelin and Kekäläinen 2002). ``exp``: 2^grade − 1 (Burges et al. 2005)."""


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
    if gain not in get_args(Gain):
        raise InputError("not a gain", column="gain", found=repr(gain), expected=" or ".join(get_args(Gain)))
    if k is not None:
        k = checked_k(k)
    ideal = _dcg(ranking.ideal(k), gain)
    return _dcg(ranking.grades[:k], gain) / ideal if ideal > 0 else 0.0


def _dcg(grades: npt.NDArray[np.float64], gain: Gain) -> float:
    gains = np.fmax(grades, 0.0)  # NaN, which is no judgement, gains 0
    if gain == "exp":
        gains = np.exp2(gains) - 1.0
    return float(cumulated_gains(gains)[-1]) if len(gains) else 0.0


FAMILY = Family(
    "nDCG", "DCG / IDCG over judged grades", "judged", "optional", (Option.of_words("gain", *get_args(Gain)),),
    value=lambda ranking, k, options: graded_ndcg(ranking, k, gain="exp" if options["gain"] == "exp" else "linear"),
)  # fmt: skip
