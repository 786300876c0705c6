"""Measures of all queries by labels and judgements: arrays of grades, counted in parts that fit a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.label_grades import LabelGrades
from cuihop.evaluation.relevance_names import relevance_name, relevant_from
from cuihop.evaluation.result import EmptyIdeal
from cuihop.measures.judged_rankings import JudgedRankings, Pools, blocks
from cuihop.measures.measure import Measure
from cuihop.measures.registry import FAMILIES
from cuihop.rankings.ranking import Ranking

__all__ = ["JudgedValues", "depth_of", "judged_values"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32 | np.int64]

_AT_ONCE = 1 << 19  # documents of a part: its arrays stay in the cache, and many parts feed all threads


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """What judgements say of a ranking.

    Attributes:
        values: float64, shape (queries, measures); NaN where a query was skipped or is not judged.
        nothing_relevant: by whom relevance is judged → the judged queries for which nothing is relevant.
        unjudged: by whom relevance is judged → the queries that are not: without a label, or without a judgement.
        unlabelled: labels → how many images of queries and corpus lack one of them.
        relevance: by whom relevance is judged → int64, shape (queries, 3): the documents of each query that were looked
            at, those that are relevant, and those that are both; 0 for a query that is not judged.
    """

    values: npt.NDArray[np.float64]
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unjudged: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]
    relevance: Mapping[str, Int64] = field(default_factory=dict)


def judged_values(
    ranking: Ranking,
    measures: Sequence[Measure],
    *,
    qrels: Judgements | None,
    labels: Labels | None,
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
    unjudged: dict[str, tuple[str, ...]] = {}
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
        absent = np.flatnonzero(judge.unjudged)
        for threshold, counted in told.items():
            name = next(relevance_name(measure) for measure in asked if relevant_from(measure) == threshold)
            counted[absent] = 0
            empty = np.flatnonzero((counted[:, 1] == 0) & ~judge.unjudged)
            nothing[name], unjudged[name] = (
                tuple(map(ranking.queries.__getitem__, some.tolist())) for some in (empty, absent)
            )
            relevance[name] = counted
            for column, measure in zip(columns, asked, strict=True):
                if relevant_from(measure) == threshold:
                    values[empty, column] = 0.0 if empty_ideal == "zero" else np.nan
                    values[absent, column] = np.nan
    return JudgedValues(values, nothing, unjudged, unlabelled, relevance)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Who says what is relevant.

    Attributes:
        pools, pool: of the queries; see `JudgedRankings`.
        places: what was retrieved, as `grades` knows it.
        grades: from the first and last of some queries, their part of ``places``, one ranking after the other, and the
            lengths of the rankings, to the grade of each.
        unjudged: bool, shape (queries,): queries of which nothing is said.
        threads: how many gain; ``None`` for all.
        unlabelled: how many images lack a label.
    """

    pools: Pools
    pool: Int64
    places: Places
    grades: Callable[[int, int, Places, Int64], npt.NDArray[Any]]
    unjudged: npt.NDArray[np.bool_]
    threads: int | None = None
    unlabelled: int = 0


def _judge(ranking: Ranking, source: tuple[str, ...], qrels: Judgements | None, labels: Labels | None) -> _Judge:
    if source:
        if labels is None:
            raise InputError(
                "no labels", column="labels", found="none", expected=f"the labels {', '.join(source)} of every image"
            )
        by_labels = LabelGrades.of(labels, source, ranking.queries, ranking.corpus)
        return _Judge(
            by_labels.pools, by_labels.pool, ranking.rows, by_labels.grades, by_labels.unjudged,
            unlabelled=by_labels.unlabelled,
        )  # fmt: skip
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

    unjudged = np.fromiter((query not in judgements for query in ranking.queries), np.bool_, len(ranking.queries))
    return _Judge(*qrels.pools(ranking.queries), retrieved, grades, unjudged, threads=1)  # Python's dictionaries


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
        for threshold in sorted({relevant_from(measure) for measure in measures})
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

    if len(parts) == 1:
        fill(0)
    else:  # a small evaluation does not wait for the import
        from cuihop.resources.cores import in_threads

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


def depth_of(measures: Iterable[Measure]) -> int | None:
    """How many images of a ranking the measures look at; ``None`` for all."""
    deepest = 0
    for measure in measures:
        if measure.k is None:
            return None
        deepest = max(deepest, measure.k)
    return deepest
