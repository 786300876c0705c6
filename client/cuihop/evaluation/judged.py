"""Evaluation of a ranking against labels or relevance judgements. It needs no graph and no concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.cores import in_threads
from cuihop.errors import InputError
from cuihop.evaluation.arrow_inputs import ranking_of_table
from cuihop.evaluation.arrow_tables import ArrowTable, Table, is_table_object
from cuihop.evaluation.image_labels import ImageLabels
from cuihop.evaluation.label_grades import LabelGrades
from cuihop.evaluation.open_ranking import OpenRanking
from cuihop.evaluation.qrels import Qrels
from cuihop.evaluation.rankings import Ranking
from cuihop.evaluation.result import (
    EmptyIdeal,
    JudgedCounts,
    JudgedEvaluation,
    Missing,
    RelevanceCount,
    checked_way,
    missing_rankings,
    versions,
)
from cuihop.measures.family import RELEVANT_FROM
from cuihop.measures.judged_rankings import JudgedRankings, Pools, blocks
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.registry import FAMILIES

__all__ = ["JudgedValues", "depth_of", "evaluate_judged", "judged_values"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32 | np.int64]

_AT_ONCE = 1 << 19  # documents of a part: its arrays stay in the cache, and many parts feed all threads


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """What judgements say of a ranking.

    Attributes:
        values: float64, shape (queries, measures); NaN where a query was skipped.
        nothing_relevant: by whom relevance is judged → the queries for which nothing is relevant.
        unlabelled: labels → how many images of queries and corpus lack one of them.
        relevance: by whom relevance is judged → int64, shape (queries, 3): the documents of each query that were looked
            at, those that are relevant, and those that are both.
    """

    values: npt.NDArray[np.float64]
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]
    relevance: Mapping[str, Int64] = field(default_factory=dict)


def judged_values(
    ranking: Ranking,
    measures: Sequence[Measure],
    *,
    qrels: Qrels | None,
    labels: ImageLabels | None,
    empty_ideal: EmptyIdeal,
    of_images: Ranking | None = None,
) -> JudgedValues:
    """The value of every measure for every query of the ranking; a query without a list is scored as an empty one.

    Args:
        ranking, measures, qrels, labels, empty_ideal: as in `evaluate_judged`.
        of_images: for measures with labels, the ranking of images, where the other is one of documents.

    Raises:
        InputError: a measure names labels that were not given, or needs judgements and there are none.
    """
    values = np.empty((len(ranking.queries), len(measures)), dtype=np.float64)
    nothing: dict[str, tuple[str, ...]] = {}
    unlabelled: dict[str, int] = {}
    relevance: dict[str, Int64] = {}
    for source in dict.fromkeys(measure.labels for measure in measures):
        columns = [column for column, measure in enumerate(measures) if measure.labels == source]
        asked = [measures[column] for column in columns]
        judged = of_images if source and of_images is not None else ranking
        judge = _judge(judged, source, qrels, labels)
        if source:
            unlabelled[", ".join(source)] = judge.unlabelled
        told = _measured(judged, asked, judge, values, columns)
        for threshold, counted in told.items():
            name = ", ".join(source) if source else "judgements"
            name = name if threshold == 1 else f"{name}, rel={threshold}"
            empty = np.flatnonzero(counted[:, 1] == 0)
            nothing[name], relevance[name] = tuple(map(ranking.queries.__getitem__, empty.tolist())), counted
            for column, measure in zip(columns, asked, strict=True):
                if _threshold(measure) == threshold:
                    values[empty, column] = 0.0 if empty_ideal == "zero" else np.nan
    return JudgedValues(values, nothing, unlabelled, relevance)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Who says what is relevant.

    Attributes:
        pools, pool: of the queries; see `JudgedRankings`.
        places: what was retrieved, as `grades` knows it.
        grades: from the first and last of some queries, their part of ``places``, one ranking after the other, and the
            lengths of the rankings, to the grade of each.
        threads: how many gain; ``None`` for all.
        unlabelled: how many images lack a label.
    """

    pools: Pools
    pool: Int64
    places: Places
    grades: Callable[[int, int, Places, Int64], npt.NDArray[Any]]
    threads: int | None = None
    unlabelled: int = 0


def _judge(ranking: Ranking, source: tuple[str, ...], qrels: Qrels | None, labels: ImageLabels | None) -> _Judge:
    if source:
        if labels is None:
            raise InputError(
                "no labels", column="labels", found="none", expected=f"the labels {', '.join(source)} of every image"
            )
        by_labels = LabelGrades.of(labels, source, ranking.queries, ranking.corpus)
        return _Judge(by_labels.pools, by_labels.pool, ranking.rows, by_labels.grades, unlabelled=by_labels.unlabelled)
    if qrels is None:
        raise InputError(
            "nothing says which documents are relevant",
            column="measures",
            found="a measure without labels",
            expected="relevance judgements (qrels), or labels in the name of the measure, such as P@5(modality)",
        )
    judgements, (all_names, retrieved) = qrels, ranking.retrieved

    def grades(first: int, last: int, places: Places, lengths: Int64) -> Int64:
        names = map(all_names.__getitem__, places.tolist())
        lists = (islice(names, length) for length in lengths.tolist())
        return judgements.found(ranking.queries[first:last], lists)

    return _Judge(*qrels.pools(ranking.queries), retrieved, grades, threads=1)  # Python's dictionaries


def _measured(
    ranking: Ranking, measures: Sequence[Measure], judge: _Judge, values: Float64, columns: Sequence[int]
) -> dict[int, Int64]:
    """Fill in the columns of the measures that judge in one way; see `JudgedValues.relevance` for each threshold."""
    families = [FAMILIES[measure.family] for measure in measures]
    for family, measure in zip(families, measures, strict=True):
        if family.values is None:
            raise InputError("not a measure of a ranking", column="measures", found=str(measure))
    depth = depth_of(measures)
    lengths = ranking.lengths if depth is None else np.minimum(ranking.lengths, depth)
    counted = {
        threshold: np.stack([lengths, judge.pools.relevant(judge.pool, threshold), np.zeros_like(lengths)], axis=1)
        for threshold in sorted({_threshold(measure) for measure in measures})
    }
    parts = list(blocks(lengths, _AT_ONCE))

    def fill(part: int) -> None:
        first, last = parts[part]
        kept = lengths[first:last]
        grades = judge.grades(first, last, _first_places(ranking.indptr, judge.places, first, last, kept), kept)
        judged = JudgedRankings.of(grades, kept, judge.pools, judge.pool[first:last])
        for column, family, measure in zip(columns, families, measures, strict=True):
            if family.values is not None:
                values[first:last, column] = family.values(judged, measure.k, measure.values)
        for threshold, counts in counted.items():
            counts[first:last, 2] = judged.count(judged.found(threshold).owners)

    in_threads(fill, range(len(parts)), judge.threads)
    return counted


def _first_places(indptr: Int64, places: Places, first: int, last: int, lengths: Int64) -> Places:
    """The first so many places of each of some queries, one ranking after the other."""
    starts, ends = indptr[first:last], indptr[first + 1 : last + 1]
    if np.array_equal(ends - starts, lengths):
        return places[indptr[first] : indptr[last]]
    skipped = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    chosen: Places = places[np.arange(len(skipped)) + skipped]
    return chosen


def _threshold(measure: Measure) -> int:
    """The grade from which on there is something to find."""
    return int(measure.values.get(RELEVANT_FROM.name, 1))


def depth_of(measures: Iterable[Measure]) -> int | None:
    """How many images of a ranking the measures look at; ``None`` for all."""
    deepest = 0
    for measure in measures:
        if measure.k is None:
            return None
        deepest = max(deepest, measure.k)
    return deepest


def evaluate_judged(
    ranking: Ranking | Mapping[str, Sequence[str]] | Table,
    measures: str | Measure | Iterable[str | Measure],
    *,
    qrels: Qrels | Mapping[str, Mapping[str, int]] | Table | None = None,
    labels: ImageLabels | object | None = None,
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
) -> JudgedEvaluation:
    """Measure a ranking against relevance judgements, labels, or both.

    Args:
        ranking: what `read_run` or `read_ranking` gives; query → documents, best first; or a table with the columns
            query, document, and score or rank.
        measures: names such as ``AP``, ``nDCG@10`` and ``P@5,10,30(modality, organ)``.
        qrels: query → document → grade, for measures without labels. Their queries are the queries.
        labels: what `ImageLabels.of` takes, for measures with labels. Its images are the corpus, and without
            ``qrels`` also the queries; each query is left out of its own ranking.
        missing: what becomes of a query without a ranking; ``skip`` is what trec_eval does.
        empty_ideal: what becomes of a query for which nothing is relevant; ``zero`` is what trec_eval does.

    Raises:
        InputError: a parameter or the ranking is not as expected, or neither judgements nor labels are there.

    >>> evaluation = evaluate_judged({"q": ["b", "a", "c"]}, ["AP", "P@2"], qrels={"q": {"a": 1, "c": 0, "d": 2}})
    >>> evaluation.means  # AP: (1/2) / 2
    {'AP': 0.25, 'P@2': 0.5}
    """
    wanted = measures_named(measures)
    for measure in wanted:
        if measure.kind != "judged":
            raise InputError(
                "not a measure of judged relevance", column="measures", found=str(measure),
                expected=", ".join(family.name for family in FAMILIES.values() if family.kind == "judged"),
            )  # fmt: skip
    missing, empty_ideal = checked_way("missing", missing, Missing), checked_way("empty_ideal", empty_ideal, EmptyIdeal)
    judgements = None if qrels is None else Qrels.of(qrels)
    images = None if labels is None else ImageLabels.of(labels)
    ranked = _ranking(ranking, judgements, images)
    if ranked.missing and missing == "error":
        raise missing_rankings(ranked.missing)
    by_labels = any(measure.labels for measure in wanted)
    found = judged_values(
        ranked, wanted, qrels=judgements, labels=images, empty_ideal=empty_ideal,
        of_images=_of_images(ranked, images) if by_labels and images is not None else None,
    )  # fmt: skip
    if missing == "skip":
        found.values[~ranked.listed] = np.nan
    depth = depth_of(wanted)
    return JudgedEvaluation(
        measures=wanted,
        queries=ranked.queries,
        values=found.values,
        retrieved=ranked.lengths if depth is None else np.minimum(ranked.lengths, depth),
        # Telling different documents apart and hashing judgements takes longer than measuring.
        counts=partial(_counts, ranked, found, missing, empty_ideal),
        release=None,
        parameters=partial(_parameters, wanted, missing, empty_ideal, judgements, images, ranked),
        versions=versions("cuihop", "numpy"),
    )


def _counts(ranked: Ranking, found: JudgedValues, missing: Missing, empty_ideal: EmptyIdeal) -> JudgedCounts:
    counting = ranked.listed if missing == "skip" else np.ones_like(ranked.listed)
    relevance = {}
    for name, counted in found.relevance.items():
        kept = counted[counting & (counted[:, 1] > 0) if empty_ideal == "skip" else counting]
        relevance[name] = RelevanceCount(*kept.sum(axis=0).tolist())
    return JudgedCounts(
        queries=len(ranked.queries),
        corpus=len(ranked.corpus),
        self_retrieved=int(ranked.self_retrieved.sum()),
        missing=ranked.missing,
        unasked=ranked.unasked,
        nothing_relevant=found.nothing_relevant,
        unlabelled=found.unlabelled,
        relevance=relevance,
    )


def _parameters(
    measures: Sequence[Measure],
    missing: Missing,
    empty_ideal: EmptyIdeal,
    qrels: Qrels | None,
    labels: ImageLabels | None,
    ranked: Ranking,
) -> dict[str, Any]:
    return {
        "measures": [str(measure) for measure in measures],
        "missing": missing,
        "empty_ideal": empty_ideal,
        "qrels": None if qrels is None else qrels.source,
        "labels": None if labels is None else labels.source,
        "ranking": ranked.source,
        "ties": ranked.ties,
        "digests": {
            "qrels": None if qrels is None else qrels.digest,
            "labels": None if labels is None else labels.digest,
        },
    }


def _ranking(ranking: object, qrels: Qrels | None, labels: ImageLabels | None) -> Ranking:
    """The ranking of these queries."""
    if not isinstance(ranking, Mapping) and not is_table_object(ranking):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → documents, best first")
    if qrels is None and labels is None:
        raise InputError("nothing says which documents are relevant", expected="qrels or labels")
    queries = tuple(qrels) if qrels is not None else () if labels is None else labels.images
    if not isinstance(ranking, Mapping):
        return ranking_of_table(ArrowTable.of(ranking), queries, None if qrels is not None else queries, None, "name")
    if not isinstance(ranking, Ranking):
        return Ranking.of(ranking, queries) if qrels is None else _open_ranking(ranking, queries)
    if ranking.queries != queries:
        raise InputError(
            "the ranking is of other queries, or of the same in another order",
            found=f"{len(ranking.queries):,} queries",
            expected=f"the {len(queries):,} queries of {'the judgements' if qrels is not None else 'the labels'}",
            advice="dict(ranking) is matched by the names.",
        )
    return ranking


def _of_images(ranked: Ranking, labels: ImageLabels) -> Ranking | None:
    """A ranking of documents as one of images: all that have labels can be retrieved, the query itself cannot."""
    if type(ranked) is Ranking:
        return None
    corpus = tuple(dict.fromkeys((*labels.images, *ranked.corpus)))  # those without labels are refused later, in words
    return Ranking.of({query: ranked[query] for query in ranked}, ranked.queries, corpus)


def _open_ranking(lists: Mapping[str, Sequence[str]], queries: tuple[str, ...]) -> Ranking:
    """Lists of documents that nothing else names; a query stays in its own list, as in `read_run`."""
    kept = {query: lists[query] for query in queries if query in lists}
    for query, documents in kept.items():
        if isinstance(documents, str | Mapping) or len(set(documents)) < len(documents):
            Ranking.of({query: documents}, [query], [*dict.fromkeys(documents)], keep_self=True)  # says what is wrong
    names = list(chain.from_iterable(kept.values()))
    owners = np.repeat(np.arange(len(queries)), [len(kept.get(query, ())) for query in queries])
    listed = np.array([query in kept for query in queries], dtype=np.bool_)
    known = set(queries)
    unasked = tuple(query for query in lists if query not in known)
    return OpenRanking.best_first(owners, np.arange(len(names)), queries, names, listed=listed, unasked=unasked)
