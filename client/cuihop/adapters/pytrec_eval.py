"""Dictionaries in the format of pytrec_eval, which itself is not needed.

A run is query → document → score, judgements are query → document → grade, results query → measure → value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from cuihop.collection.judgements import Judgements, whole_grades
from cuihop.errors import InputError
from cuihop.evaluation.result import MeasuredQueries
from cuihop.measures.measure import Measure
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking, Ties

__all__ = ["from_qrel", "from_run", "to_qrel", "to_results", "to_run", "trec_name"]

_EXACT_IN_SINGLE_PRECISION = 2**24

_TREC_NAMES = {
    "P": ("", "P"),
    "R": ("", "recall"),
    "AP": ("map", "map_cut"),
    "nDCG": ("ndcg", "ndcg_cut"),
    "Rprec": ("Rprec", ""),
    "bpref": ("bpref", ""),
    "RR": ("recip_rank", ""),
}
"""Family → its name in trec_eval without and with a cut-off."""


def to_run(ranking: Ranking) -> dict[str, dict[str, float]]:
    """The ranking as scores that descend by 1 from rank to rank, down to 1.

    No two are equal, even in single precision, so every tool has the documents in this order, however it treats ties.
    A query without a ranking is left out; one with an empty ranking is not.

    Raises:
        InputError: a list is longer than 16,777,216, above which single precision does not distinguish whole numbers.

    >>> to_run(Ranking.of({"a": ["c", "b"]}, ["a", "b", "c"]))
    {'a': {'c': 2.0, 'b': 1.0}}
    """
    if int(ranking.lengths.max(initial=0)) > _EXACT_IN_SINGLE_PRECISION:
        raise InputError(
            "too long a list for scores", found=f"{int(ranking.lengths.max()):,} documents",
            expected=f"at most {_EXACT_IN_SINGLE_PRECISION:,}",
        )  # fmt: skip
    listed = zip(ranking.items(), ranking.listed.tolist(), strict=True)
    return {
        query: {name: float(len(names) - index) for index, name in enumerate(names)}
        for (query, names), there in listed
        if there
    }


def from_run(
    run: Mapping[str, Mapping[str, float]],
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "trec",
) -> Ranking:
    """The ranking of a run, by default with trec_eval's order of equal scores.

    Arguments and errors as `cuihop.rankings.in_memory.scored_ranking`.

    >>> from_run({"q": {"a": 1.0, "b": 1.0}})["q"]
    ('b', 'a')
    """
    return scored_ranking(run, queries, corpus, qrels=qrels, depth=depth, ties=ties)


def to_qrel(qrels: Judgements | Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The judgements as plain dictionaries of whole numbers.

    Raises:
        InputError: as `Judgements.of`.
    """
    return {query: dict(documents) for query, documents in whole_grades(qrels).items()}


def from_qrel(qrel: Mapping[str, Mapping[str, int]]) -> Judgements:
    """The judgements in these dictionaries.

    Raises:
        InputError: as `Judgements.of`.
    """
    return Judgements.of(qrel)


def to_results(evaluation: MeasuredQueries) -> dict[str, dict[str, float]]:
    """The values of each query in the format of ``RelevanceEvaluator.evaluate``.

    Measures of trec_eval have its names (`trec_name`), others their own. Skipped values are left out.
    """
    names = [trec_name(measure) or str(measure) for measure in evaluation.measures]
    rows = zip(evaluation.queries, evaluation.values.tolist(), strict=True)
    results = {q: {n: v for n, v in zip(names, row, strict=True) if not math.isnan(v)} for q, row in rows}
    return {query: values for query, values in results.items() if values}


def trec_name(measure: Measure) -> str | None:
    """trec_eval's name of the measure; ``None`` where it has no such measure.

    >>> trec_name(Measure("nDCG", 10)), trec_name(Measure("nn-CUI", 10))
    ('ndcg_cut_10', None)
    """
    if measure.labels or measure.options or measure.family not in _TREC_NAMES:
        return None
    uncut, cut = _TREC_NAMES[measure.family]
    return uncut if measure.k is None else f"{cut}_{measure.k}"
