"""Judged values of a ranking that is made in blocks: each is ranked, judged and forgotten."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.evaluation.judged_values import JudgedValues, judged_values
from cuihop.evaluation.result import EmptyIdeal
from cuihop.measures.measure import Measure
from cuihop.rankings.blocks import RankingInBlocks, bytes_of_rank
from cuihop.rankings.ranking import Ranking
from cuihop.resources.checkpoint import Checkpoint, FinishedBlock
from cuihop.resources.progress import Progress

__all__ = ["Judging", "judged_in_blocks", "judging_depends"]

Places: TypeAlias = slice | npt.NDArray[np.int64]


class Judging(TypedDict):
    """What judges, as `judged_values` takes it."""

    qrels: Judgements | None
    labels: Labels | None
    empty_ideal: EmptyIdeal


def judging_depends(
    measures: Sequence[Measure], *, qrels: Judgements | None, labels: Labels | None, empty_ideal: EmptyIdeal
) -> dict[str, Any]:
    """What judged values depend on beside the ranking, for a checkpoint."""
    return {
        "empty_ideal": empty_ideal,
        "judged measures": [str(measure) for measure in measures],
        "content of qrels": None if qrels is None else qrels.digest,
        "content of labels": None if labels is None else labels.digest,
    }


def judged_in_blocks(
    ranking: RankingInBlocks,
    measures: Sequence[Measure],
    *,
    qrels: Judgements | None,
    labels: Labels | None,
    empty_ideal: EmptyIdeal,
    head: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    saved: Checkpoint | None = None,
) -> tuple[JudgedValues, Ranking]:
    """The values of every measure for every query, as `judged_values` gives them of the whole ranking.

    Args:
        ranking: never held as a whole; the account of memory is its own.
        measures, qrels, labels, empty_ideal: as in `judged_values`.
        head: how many images of each query to keep.
        threads, progress: as in `cuihop.evaluate`.
        saved: where finished blocks are kept.

    Returns:
        The values, and the first images of each query.

    Raises:
        InputError: as `judged_values`. LimitExceeded: values and first images do not fit the memory.
    """
    queries = len(ranking.queries)
    head = min(head, len(ranking.corpus))
    each = head * bytes_of_rank(in_checkpoint=saved is not None) + 40 * len(measures)
    ranking.take_results(ranking.memory.copy(), queries * each)
    # What can be found does not depend on what was: an empty ranking has the same counts.
    nobody = np.zeros(queries, dtype=np.int64)
    empty = Ranking.from_lists(np.empty(0, dtype=np.int32), nobody, ranking.queries, ranking.corpus, ranking.source)
    judging: Judging = {"qrels": qrels, "labels": labels, "empty_ideal": empty_ideal}
    counted = judged_values(empty, measures, **judging)
    values = np.empty((queries, len(measures)), dtype=np.float64)
    first = np.empty((queries, head), dtype=np.int32)
    relevance = {name: np.empty((queries, 3), dtype=np.int64) for name in counted.relevance}

    def take(places: Places, told: Sequence[npt.NDArray[Any]]) -> None:
        values[places], first[places] = told[0], told[1]
        for of, found in zip(relevance.values(), told[2:], strict=True):
            of[places] = found

    widths = np.cumsum([len(measures), head, *(3 for _ in relevance)])
    done = set()
    for finished in [] if saved is None else saved.finished:
        take(finished.queries, np.split(finished.values, widths[:-1], axis=1))
        done.add(finished.number)

    def judge(number: int, block: slice) -> None:
        made = ranking.ranking_of(block)
        found = judged_values(made, measures, **judging)
        places = np.arange(block.stop - block.start)
        told: list[npt.NDArray[Any]] = [found.values, made.top(head, places), *found.relevance.values()]
        take(block, told)
        if saved is not None:
            columns = np.concatenate([part.astype(np.float64) for part in told], axis=1)
            saved.add(FinishedBlock(0, number, places + block.start, columns))

    for _ in ranking.in_order(judge, done=done, threads=threads, progress=progress):
        pass
    lengths = np.minimum(ranking.lengths, head)
    kept = Ranking.from_lists(
        first[first >= 0], lengths, ranking.queries, ranking.corpus, ranking.source, ranking.form
    )  # fmt: skip
    return dataclasses.replace(counted, values=values, relevance=relevance), kept
