"""mAP@p of papers on hashing: the divisor is the number of relevant images retrieved."""

from __future__ import annotations

from cuihop.measures.average_precision import precision_sums
from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Family, relevant_from
from cuihop.measures.judged_rankings import Float64, JudgedRanking, JudgedRankings, share
from cuihop.measures.precision import relevant_at_k


def hashing_average_precision(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """AP@p = Σ_{m ≤ p} Prec(m) Rel(m) / Σ_{m ≤ p} Rel(m); 0 where none of the first p is relevant.

    One relevant image at rank 1 scores 1, however many others are missed: read it beside recall. The ranking
    is usually one of binary codes by Hamming distance, or of real codes by d = K/2 · (1 − cos): see
    `cuihop.rankings.binary_codes`. Relevant are pairs of type 1 or 2 (grade 2 or 1) of the source.

    Args:
        ranking: one query's.
        k: p.
        rel: the least grade of a relevant image.

    Raises:
        InputError: k is not a whole number of at least 1.

    >>> ranking = JudgedRanking.of([1, 0, 1, 0], pool=[1, 1, 1, 1, 0, 0])
    >>> round(hashing_average_precision(ranking, 4), 6)  # (1/1 + 2/3) / 2
    0.833333
    >>> hashing_average_precision(ranking, 1)
    1.0
    """
    return float(_values(ranking.alone(), checked_k(k), rel)[0])


def _values(rankings: JudgedRankings, k: int, rel: int) -> Float64:
    return share(precision_sums(rankings, rankings.found(rel), k), relevant_at_k(rankings, k, rel))


FAMILY = Family(
    "mAP", "average precision over the relevant among the first p (hashing)", "judged", "needed", (RELEVANT_FROM,),
    values=lambda rankings, k, options: _values(rankings, k or 0, relevant_from(options)),
)  # fmt: skip
