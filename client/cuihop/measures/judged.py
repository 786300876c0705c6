"""Measures of rankings by labels or relevance judgements: precision, recall, AP, bpref, reciprocal rank and nDCG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, get_args

import numpy as np

from cuihop.errors import checked_choice
from cuihop.measures.dcg import checked_k
from cuihop.measures.family import RELEVANT_FROM, Cutoff, Family, Option, OptionValue
from cuihop.measures.judged_rankings import Gain, JudgedRanking, JudgedRankings, discounted, share
from cuihop.resources.arrays import Float64, Int64

_Values: TypeAlias = Callable[[JudgedRankings, int | None, int], Float64]
"""Function of the rankings, K and the least relevant grade that gives the value of each query."""


def _value(values: _Values, ranking: JudgedRanking, k: int | None, rel: int) -> float:
    """The value of one query."""
    return float(values(ranking.alone(), k, rel)[0])


def precision_at_k(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """P@K = relevant among the first K / K. If fewer than K were retrieved, the divisor stays K.

    With labels (``P@K(modality)``), an image is relevant that has the query's label, in every column named.
    Source: trec_eval ``m_P.c``; Wei, Kurtz, Cloppet 2025, section 4.3, for labels.

    Args:
        ranking: one query's.
        k: the cut-off.
        rel: the least grade of a relevant document.

    Raises:
        InputError: k is not a whole number of at least 1.

    >>> ranking = JudgedRanking.of([1, 0, None, 2], pool=[1, 0, 2, 1])
    >>> precision_at_k(ranking, 2), precision_at_k(ranking, 4), precision_at_k(ranking, 4, rel=2)
    (0.5, 0.5, 0.25)
    >>> precision_at_k(ranking, 10)
    0.2
    """
    return _value(_precision, ranking, checked_k(k), rel)


def _relevant_at_k(rankings: JudgedRankings, k: int | None, rel: int) -> Int64:
    """Number of relevant documents among the first K. Shape (queries,)."""
    hits = rankings.found(rel)
    return rankings.count(hits.owners if k is None else hits.owners[hits.ranks <= k])


def _precision(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    return _relevant_at_k(rankings, k, rel) / (k or 1)


def recall_at_k(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """R@K = relevant among the first K / R, with R all relevant documents; 0 where R is 0.

    Source: trec_eval ``m_recall.c``. Arguments and errors as `precision_at_k`.

    >>> recall_at_k(JudgedRanking.of([1, 0, 2], pool=[1, 0, 2, 1, 1]), 2)
    0.25
    """
    return _value(_recall, ranking, checked_k(k), rel)


def _recall(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    return share(_relevant_at_k(rankings, k, rel), rankings.relevant(rel))


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
    return _value(_average_precision, ranking, None if k is None else checked_k(k), rel)


def _precision_sums(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    """Σ P@m over the first K ranks m of relevant documents. Shape (queries,)."""
    hits = rankings.found(rel)
    owners, precisions = hits.owners, hits.number / hits.ranks
    if k is not None:
        inside = hits.ranks <= k
        owners, precisions = owners[inside], precisions[inside]
    return rankings.sum(owners, precisions)


def _average_precision(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    return share(_precision_sums(rankings, k, rel), rankings.relevant(rel))


def hashing_average_precision(ranking: JudgedRanking, k: int, *, rel: int = 1) -> float:
    """AP@p = Σ_{m ≤ p} Prec(m) Rel(m) / Σ_{m ≤ p} Rel(m); 0 where none of the first p is relevant.

    One relevant image at rank 1 scores 1, however many others are missed: read it together with recall. The ranking
    is usually one of binary codes by Hamming distance, or of real codes by d = K/2 · (1 − cos): see
    `cuihop.rankings.nearest_vectors`. Relevant are pairs of type 1 or 2 (grade 2 or 1) of the source.

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
    return _value(_hashing_average_precision, ranking, checked_k(k), rel)


def _hashing_average_precision(rankings: JudgedRankings, k: int | None, rel: int) -> Float64:
    return share(_precision_sums(rankings, k, rel), _relevant_at_k(rankings, k, rel))


def r_precision(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """Rprec = relevant among the first R / R, with R all relevant documents; 0 where R is 0.

    Source: trec_eval ``m_Rprec.c``.

    >>> r_precision(JudgedRanking.of([1, 0, 1], pool=[1, 0, 1, 0]))
    0.5
    """
    return _value(_r_precision, ranking, None, rel)


def _r_precision(rankings: JudgedRankings, _: int | None, rel: int) -> Float64:
    hits, total = rankings.found(rel), rankings.relevant(rel)
    return share(rankings.count(hits.owners[hits.ranks <= total[hits.owners]]), total)


def bpref(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """Bpref = (1 / R) Σ_r (1 − min(|n before r|, R) / min(R, N)) over the relevant documents r retrieved; 0 if R is 0.

    n are documents judged not relevant, N their number; documents without a judgement do not count. Source:
    trec_eval ``m_bpref.c``, which divides by min(R, N).

    >>> ranking = JudgedRanking.of([None, 1, 0, 1, 0], pool=[1, 1, 1, 0, 0])
    >>> bpref(ranking)  # (1 + (1 − 1/2)) / 3
    0.5
    """
    return _value(_bpref, ranking, None, rel)


def _bpref(rankings: JudgedRankings, _: int | None, rel: int) -> Float64:
    hits, total = rankings.found(rel), rankings.relevant(rel)
    before = np.minimum(hits.judged - hits.number, total[hits.owners])
    lost = share(before, np.minimum(total, rankings.nonrelevant(rel))[hits.owners])
    return share(rankings.sum(hits.owners, 1.0 - lost), total)


def reciprocal_rank(ranking: JudgedRanking, *, rel: int = 1) -> float:
    """RR = 1 / rank of the first relevant document; 0 where none was retrieved. Its mean over queries is MRR.

    Source: trec_eval ``m_recip_rank.c``.

    >>> reciprocal_rank(JudgedRanking.of([0, None, 1], pool=[0, 1]))
    0.3333333333333333
    """
    return _value(_reciprocal_rank, ranking, None, rel)


def _reciprocal_rank(rankings: JudgedRankings, _: int | None, rel: int) -> Float64:
    hits = rankings.found(rel)
    first = hits.number == 1
    values = np.zeros(len(rankings.pool), dtype=np.float64)
    values[hits.owners[first]] = 1.0 / hits.ranks[first]
    return values


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
    return float(_graded_ndcg(ranking.alone(), None if k is None else checked_k(k), gain)[0])


def _graded_ndcg(rankings: JudgedRankings, k: int | None, gain: Gain) -> Float64:
    owners, ranks, grades = rankings.owners, rankings.ranks, rankings.grades
    if k is not None:
        inside = ranks <= k
        owners, ranks, grades = owners[inside], ranks[inside], grades[inside]
    ideal = rankings.pools.ideal(k, gain)[rankings.pool]
    return share(rankings.sum(owners, discounted(grades, ranks, gain)), ideal)


def _of_relevant(
    name: str, meaning: str, cutoff: Cutoff, values: _Values, spellings: tuple[str, ...] = ()
) -> Family:  # fmt: skip
    """A family whose only option is the least grade of a relevant document."""

    def of_options(rankings: JudgedRankings, k: int | None, options: Mapping[str, OptionValue]) -> Float64:
        return values(rankings, k, int(options[RELEVANT_FROM.name]))

    return Family(name, meaning, "judged", cutoff, (RELEVANT_FROM,), spellings, of_options)


JUDGED_FAMILIES = (
    _of_relevant("P", "precision: relevant among the first K / K", "needed", _precision),
    _of_relevant("R", "recall: relevant among the first K / all relevant", "needed", _recall),
    _of_relevant("AP", "average precision over all relevant; its mean is MAP", "optional", _average_precision,
                 spellings=("MAP",)),
    _of_relevant("mAP", "average precision over the relevant among the first p (hashing)", "needed",
                 _hashing_average_precision),
    _of_relevant("Rprec", "precision at R, the number of relevant", "none", _r_precision),
    _of_relevant("bpref", "preference of relevant over judged not relevant", "none", _bpref),
    _of_relevant("RR", "one over the rank of the first relevant; its mean is MRR", "none", _reciprocal_rank),
    Family(
        "nDCG", "DCG / IDCG over judged grades", "judged", "optional", (Option.of_words("gain", *get_args(Gain)),),
        values=lambda rankings, k, options: _graded_ndcg(rankings, k, "exp" if options["gain"] == "exp" else "linear"),
    ),
)  # fmt: skip
