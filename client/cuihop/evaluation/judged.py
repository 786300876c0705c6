"""Evaluation of a ranking against labels or relevance judgements. It needs no graph and no concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.arrow_inputs import ranking_of_table
from cuihop.evaluation.arrow_tables import ArrowTable, Table, is_table_object
from cuihop.evaluation.checkpoint import open_checkpoint
from cuihop.evaluation.image_labels import UNLABELLED, ImageLabels
from cuihop.evaluation.qrels import Qrels
from cuihop.evaluation.ranked_blocks import RankingInBlocks
from cuihop.evaluation.rankings import Ranking, own_rows
from cuihop.evaluation.relevance_index import Progress
from cuihop.evaluation.result import (
    EmptyIdeal,
    JudgedCounts,
    JudgedEvaluation,
    Missing,
    checked_way,
    missing_rankings,
    versions,
)
from cuihop.measures.family import RELEVANT_FROM
from cuihop.measures.judged_ranking import JudgedRanking
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.registry import FAMILIES

__all__ = ["JudgedValues", "depth_of", "evaluate_judged", "judged_values"]

Judge = Callable[[int], JudgedRanking]
"""From the place of a query to its judged ranking."""


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """What judgements say of a ranking.

    Attributes:
        values: float64, shape (queries, measures); NaN where a query was skipped.
        nothing_relevant: by whom relevance is judged → the queries for which nothing is relevant.
        unlabelled: labels → how many images of queries and corpus lack one of them.
    """

    values: npt.NDArray[np.float64]
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]


def judged_values(
    ranking: Ranking,
    measures: Sequence[Measure],
    *,
    qrels: Qrels | None,
    labels: ImageLabels | None,
    empty_ideal: EmptyIdeal,
) -> JudgedValues:
    """The value of every measure for every query of the ranking; a query without a list is scored as an empty one.

    Raises:
        InputError: a measure names labels that were not given, or needs judgements and there are none.
    """
    values = np.empty((len(ranking.queries), len(measures)), dtype=np.float64)
    nothing: dict[str, tuple[str, ...]] = {}
    unlabelled: dict[str, int] = {}
    for source in dict.fromkeys(measure.labels for measure in measures):
        depth = depth_of(measure for measure in measures if measure.labels == source)
        judge = _judge(ranking, source, qrels, labels, unlabelled, depth)
        _fill(values, measures, source, ranking, judge, nothing, 0.0 if empty_ideal == "zero" else np.nan)
    return JudgedValues(values, nothing, unlabelled)


def _judge(
    ranking: Ranking,
    source: tuple[str, ...],
    qrels: Qrels | None,
    labels: ImageLabels | None,
    unlabelled: dict[str, int],
    depth: int | None,
) -> Judge:
    if source:
        if labels is None:
            raise InputError(
                "no labels", column="labels", found="none", expected=f"the labels {', '.join(source)} of every image"
            )
        return _judge_by_labels(ranking, source, labels, unlabelled)
    if qrels is None:
        raise InputError(
            "nothing says which documents are relevant",
            column="measures",
            found="a measure without labels",
            expected="relevance judgements (qrels), or labels in the name of the measure, such as P@5(modality)",
        )
    names = ranking.corpus

    def judge(place: int) -> JudgedRanking:
        rows = ranking.rows[ranking.indptr[place] : ranking.indptr[place + 1]][:depth]
        return qrels.judged(ranking.queries[place], [names[row] for row in rows.tolist()])

    return judge


def _judge_by_labels(
    ranking: Ranking, source: tuple[str, ...], labels: ImageLabels, unlabelled: dict[str, int]
) -> Judge:
    asked, held = labels.codes(source, ranking.queries, ranking.corpus)
    own = own_rows(ranking.queries, ranking.corpus)
    totals = np.bincount(held[held != UNLABELLED], minlength=int(asked.max(initial=0)) + 1)
    images = dict(zip((*ranking.queries, *ranking.corpus), (*asked.tolist(), *held.tolist()), strict=True))
    unlabelled[", ".join(source)] = sum(code == UNLABELLED for code in images.values())
    grades_of_pool = np.array([1.0, 0.0])

    def judge(place: int) -> JudgedRanking:
        rows = ranking.rows[ranking.indptr[place] : ranking.indptr[place + 1]]
        code, in_corpus = asked[place], own[place] >= 0
        relevant = 0 if code == UNLABELLED else int(totals[code] - in_corpus)
        grades = (held[rows] == code) & (code != UNLABELLED)
        others = len(held) - int(in_corpus) - relevant
        return JudgedRanking(grades.astype(np.float64), grades_of_pool, np.array([relevant, others]))

    return judge


def _fill(
    values: npt.NDArray[np.float64],
    measures: Sequence[Measure],
    source: tuple[str, ...],
    ranking: Ranking,
    judge: Judge,
    nothing: dict[str, tuple[str, ...]],
    empty: float,
) -> None:
    """The columns of the measures that one source of relevance judges."""
    columns = []
    for column, measure in enumerate(measures):
        if measure.labels == source:
            value = FAMILIES[measure.family].value
            if value is None:
                raise InputError("not a measure of a ranking", column="measures", found=str(measure))
            threshold = int(measure.values.get(RELEVANT_FROM.name, 1))
            columns.append((column, measure, value, measure.values, threshold))
    thresholds = sorted({threshold for *_, threshold in columns})
    without: dict[int, list[str]] = {threshold: [] for threshold in thresholds}
    for place, query in enumerate(ranking.queries):
        judged = judge(place)
        for threshold in thresholds:
            if not judged.relevant_total(threshold):
                without[threshold].append(query)
        for column, measure, value, options, threshold in columns:
            found = judged.relevant_total(threshold)
            values[place, column] = value(judged, measure.k, options) if found else empty
    for threshold in thresholds:
        name = ", ".join(source) if source else "judgements"
        nothing[name if threshold == 1 else f"{name}, rel={threshold}"] = tuple(without[threshold])


def depth_of(measures: Iterable[Measure]) -> int | None:
    """How many images of a ranking the measures look at; ``None`` for all."""
    deepest = 0
    for measure in measures:
        if measure.k is None:
            return None
        deepest = max(deepest, measure.k)
    return deepest


def evaluate_judged(
    ranking: Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | Table,
    measures: str | Measure | Iterable[str | Measure],
    *,
    qrels: Qrels | Mapping[str, Mapping[str, int]] | Table | None = None,
    labels: ImageLabels | object | None = None,
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> JudgedEvaluation:
    """Measure a ranking against relevance judgements, labels, or both.

    Args:
        ranking: what `read_run`, `read_ranking` or `read_ranking_in_blocks` gives; query → documents, best first; or a
            table with the columns query, document, and score or rank.
        measures: names such as ``AP``, ``nDCG@10`` and ``P@5,10,30(modality, organ)``.
        qrels: query → document → grade, for measures without labels. Their queries are the queries.
        labels: what `ImageLabels.of` takes, for measures with labels. Without ``qrels`` its images are queries and
            corpus, each left out of its own ranking.
        missing: what becomes of a query without a ranking; ``skip`` is what trec_eval does.
        empty_ideal: what becomes of a query for which nothing is relevant; ``zero`` is what trec_eval does.
        threads, progress, checkpoint, keep_checkpoint: of a ranking that is made in blocks, as in
            `cuihop.evaluation.evaluate`.

    Raises:
        InputError: a parameter, the ranking or the checkpoint is not as expected, or neither judgements nor labels are
            there.
        LimitExceeded, OutputError: as `cuihop.evaluation.evaluate`, of a ranking that is made in blocks.

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
    from cuihop.evaluation.judged_blocks import judged_in_blocks, judging_depends

    missing, empty_ideal = checked_way("missing", missing, Missing), checked_way("empty_ideal", empty_ideal, EmptyIdeal)
    judgements = None if qrels is None else Qrels.of(qrels)
    images = None if labels is None else ImageLabels.of(labels)
    ranked = _ranking(ranking, judgements, images)
    if isinstance(ranked, Ranking) and ranked.missing and missing == "error":
        raise missing_rankings(ranked.missing)
    depth = depth_of(wanted)
    lengths = ranked.lengths
    if isinstance(ranked, Ranking):
        if checkpoint is not None:
            raise InputError("a checkpoint goes with a ranking that is made in blocks", column="checkpoint")
        found = judged_values(ranked, wanted, qrels=judgements, labels=images, empty_ideal=empty_ideal)
    else:
        job = {"work": "judged evaluation", "empty_ideal": empty_ideal, **judging_depends(wanted, judgements, images)}
        job |= {} if checkpoint is None else ranked.depends
        with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:
            found, ranked = judged_in_blocks(
                ranked, wanted, qrels=judgements, labels=images, empty_ideal=empty_ideal, threads=threads,
                progress=progress, saved=saved,
            )  # fmt: skip
    if missing == "skip":
        found.values[~ranked.listed] = np.nan
    return JudgedEvaluation(
        measures=wanted,
        queries=ranked.queries,
        values=found.values,
        retrieved=lengths if depth is None else np.minimum(lengths, depth),
        counts=JudgedCounts(
            queries=len(ranked.queries),
            corpus=len(ranked.corpus),
            self_retrieved=int(ranked.self_retrieved.sum()),
            missing=ranked.missing,
            unasked=ranked.unasked,
            nothing_relevant=found.nothing_relevant,
            unlabelled=found.unlabelled,
        ),
        release=None,
        parameters={
            "measures": [str(measure) for measure in wanted],
            "missing": missing,
            "empty_ideal": empty_ideal,
            "qrels": None if judgements is None else judgements.source,
            "labels": None if images is None else images.source,
            "ranking": ranked.source,
            "ties": ranked.ties,
            "digests": {
                "qrels": None if judgements is None else judgements.digest,
                "labels": None if images is None else images.digest,
            },
        },
        versions=versions("cuihop", "numpy"),
    )


def _ranking(ranking: object, qrels: Qrels | None, labels: ImageLabels | None) -> Ranking | RankingInBlocks:
    """The ranking of these queries."""
    made = isinstance(ranking, Ranking | RankingInBlocks)
    if not made and not isinstance(ranking, Mapping) and not is_table_object(ranking):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → documents, best first")
    if qrels is None and labels is None:
        raise InputError("nothing says which documents are relevant", expected="qrels or labels")
    queries = tuple(qrels) if qrels is not None else () if labels is None else labels.images
    if not isinstance(ranking, Ranking | RankingInBlocks | Mapping):
        return ranking_of_table(ArrowTable.of(ranking), queries, None if qrels is not None else queries, None, "name")
    if not isinstance(ranking, Ranking | RankingInBlocks):
        return Ranking.of(ranking, queries) if qrels is None else _open_ranking(ranking, queries)
    if ranking.queries != queries:
        raise InputError(
            "the ranking is of other queries, or of the same in another order",
            found=f"{len(ranking.queries):,} queries",
            expected=f"the {len(queries):,} queries of {'the judgements' if qrels is not None else 'the labels'}",
            advice="dict(ranking) is matched by the names.",
        )
    return ranking


def _open_ranking(lists: Mapping[str, Sequence[str]], queries: tuple[str, ...]) -> Ranking:
    """Lists of documents that nothing else names; a query stays in its own list, as in `read_run`."""
    corpus = tuple(dict.fromkeys(document for query in queries for document in lists.get(query, ())))
    kept = {query: lists[query] for query in queries if query in lists}
    made = Ranking.of(kept, queries, corpus, keep_self=True)
    listed = np.array([query in kept for query in queries], dtype=np.bool_)
    unasked = tuple(query for query in lists if query not in set(queries))
    return Ranking(made.queries, made.corpus, made.indptr, made.rows, listed, made.self_retrieved, made.source, unasked)
