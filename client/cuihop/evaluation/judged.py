"""Evaluation of a ranking against labels or relevance judgements. It needs no graph and no concepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.judged_blocks import Judging, judged_in_blocks, judging_depends
from cuihop.evaluation.judged_result import JudgedCounts, JudgedEvaluation, RelevanceCount
from cuihop.evaluation.judged_values import JudgedValues, depth_of, judged_values
from cuihop.evaluation.result import EmptyIdeal, Missing, checked_way, missing_rankings
from cuihop.files.arrow_tables import ArrowStream, ArrowTable, is_table_object
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.registry import FAMILIES
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.parsing import ranking_of_table
from cuihop.rankings.ranking import Ranking
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.progress import Progress
from cuihop.resources.versions import versions

__all__ = ["evaluate_judged"]


def evaluate_judged(
    ranking: Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | ArrowStream,
    measures: str | Measure | Iterable[str | Measure],
    *,
    qrels: Judgements | Mapping[str, Mapping[str, int]] | ArrowStream | None = None,
    labels: Labels | object | None = None,
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
        labels: what `Labels.of` takes, for measures with labels. Its images are the corpus, and without
            ``qrels`` also the queries; each query is left out of its own ranking.
        missing: what becomes of a query without a ranking; ``skip`` is what trec_eval does.
        empty_ideal: what becomes of a query for which nothing is relevant; ``zero`` is what trec_eval does. A query
            without the label that a measure needs is not judged by it: it leaves the mean either way, counted.
        threads, progress, checkpoint, keep_checkpoint: of a ranking that is made in blocks, as in
            `cuihop.evaluate`.

    Raises:
        InputError: a parameter, the ranking or the checkpoint is not as expected, or neither judgements nor labels are
            there.
        LimitExceeded, OutputError: as `cuihop.evaluate`, of a ranking that is made in blocks.

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
    judgements = None if qrels is None else Judgements.of(qrels)
    images = None if labels is None else Labels.of(labels)
    given = _ranking(ranking, judgements, images)
    judging: Judging = {"qrels": judgements, "labels": images, "empty_ideal": empty_ideal}
    if isinstance(given, RankingInBlocks):
        job: dict[str, Any] = {"work": "judged evaluation", **judging_depends(wanted, **judging)}
        job |= {} if checkpoint is None else given.depends
        with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:
            found, ranked = judged_in_blocks(given, wanted, **judging, threads=threads, progress=progress, saved=saved)
    else:
        if checkpoint is not None:
            raise InputError("a checkpoint goes with a ranking that is made in blocks", column="checkpoint")
        if given.missing and missing == "error":
            raise missing_rankings(given.missing)
        by_labels = images if any(measure.labels for measure in wanted) else None
        of_images = None if by_labels is None else _of_images(given, by_labels)
        found, ranked = judged_values(given, wanted, **judging, of_images=of_images), given
    if missing == "skip":
        found.values[~ranked.listed] = np.nan
    depth = depth_of(wanted)
    return JudgedEvaluation(
        measures=wanted,
        queries=ranked.queries,
        values=found.values,
        retrieved=given.lengths if depth is None else np.minimum(given.lengths, depth),
        # Telling different documents apart and hashing judgements takes longer than measuring.
        counts=partial(_counts, ranked, found, missing, empty_ideal),
        release=None,
        parameters=partial(_parameters, wanted, missing, empty_ideal, judgements, images, ranked),
        versions=versions("cuihop", "numpy"),
        inputs=partial(_inputs, judgements, images, given),
    )


def _inputs(qrels: Judgements | None, labels: Labels | None, ranking: Ranking | RankingInBlocks) -> dict[str, str]:
    named = {"qrels": qrels, "labels": labels, "ranking": ranking}
    return {name: given.account for name, given in named.items() if given is not None}


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
        unasked=ranked.other_queries,
        nothing_relevant=found.nothing_relevant,
        unjudged=found.unjudged,
        unlabelled=found.unlabelled,
        relevance=relevance,
    )


def _parameters(
    measures: Sequence[Measure],
    missing: Missing,
    empty_ideal: EmptyIdeal,
    qrels: Judgements | None,
    labels: Labels | None,
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


def _ranking(ranking: object, qrels: Judgements | None, labels: Labels | None) -> Ranking | RankingInBlocks:
    """The ranking of these queries."""
    if not isinstance(ranking, Mapping | RankingInBlocks) and not is_table_object(ranking):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → documents, best first")
    if qrels is None and labels is None:
        raise InputError("nothing says which documents are relevant", expected="qrels or labels")
    queries = tuple(qrels) if qrels is not None else () if labels is None else labels.images
    if not isinstance(ranking, Mapping | RankingInBlocks):
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


def _of_images(ranked: Ranking, labels: Labels) -> Ranking | None:
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
    return DocumentRanking.best_first(
        owners, np.arange(len(names)), queries, names, listed=listed, other_queries=unasked
    )
