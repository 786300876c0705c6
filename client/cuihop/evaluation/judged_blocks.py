"""Judged values of a ranking that is made in blocks: each is ranked, judged and forgotten."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.evaluation.checkpoint import Checkpoint, FinishedBlock
from cuihop.evaluation.image_labels import ImageLabels
from cuihop.evaluation.judged import JudgedValues, judged_values
from cuihop.evaluation.qrels import Qrels
from cuihop.evaluation.ranked_blocks import RankingInBlocks, bytes_of_rank
from cuihop.evaluation.rankings import Ranking
from cuihop.evaluation.relevance_index import Progress
from cuihop.evaluation.result import EmptyIdeal
from cuihop.measures.measure import Measure

__all__ = ["PART", "judged_in_blocks", "judging_depends"]

PART = -1  # of a checkpoint; other parts of an evaluation are named by their n

Int32 = npt.NDArray[np.int32]


def judging_depends(measures: Sequence[Measure], qrels: Qrels | None, labels: ImageLabels | None) -> dict[str, Any]:
    """What judged values depend on beside the ranking, for a checkpoint."""
    return {
        "judged measures": [str(measure) for measure in measures],
        "content of qrels": None if qrels is None else qrels.digest,
        "content of labels": None if labels is None else labels.digest,
    }


def judged_in_blocks(
    ranking: RankingInBlocks,
    measures: Sequence[Measure],
    *,
    qrels: Qrels | None,
    labels: ImageLabels | None,
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
        threads, progress: as in `cuihop.evaluation.evaluate`.
        saved: where finished blocks are kept.

    Returns:
        The values, and the first images of each query.

    Raises:
        InputError: as `judged_values`. LimitExceeded: values and first images do not fit the memory.
    """
    queries = len(ranking.queries)
    head = min(head, len(ranking.corpus))
    each = head * bytes_of_rank(kept=saved is not None) + 16 * len(measures)
    ranking.take_results(ranking.memory.copy(), queries * each)
    # What can be found does not depend on what was: an empty ranking has the same counts.
    nobody = np.zeros(queries, dtype=np.int64)
    empty = Ranking.made(np.empty(0, dtype=np.int32), nobody, ranking.queries, ranking.corpus, ranking.source)
    judging: Mapping[str, Any] = {"qrels": qrels, "labels": labels, "empty_ideal": empty_ideal}
    counted = judged_values(empty, measures, **judging)
    values = np.empty((queries, len(measures)), dtype=np.float64)
    first = np.empty((queries, head), dtype=np.int32)
    done = set()
    for finished in [] if saved is None else saved.of_part(PART):
        values[finished.queries] = finished.values[:, : len(measures)]
        first[finished.queries] = finished.values[:, len(measures) :].astype(np.int32)
        done.add(finished.number)

    def judge(number: int, block: slice) -> None:
        made = ranking.ranking_of(block)
        places = np.arange(block.stop - block.start)
        values[block] = judged_values(made, measures, **judging).values if measures else 0.0
        first[block] = made.top(head, places)
        if saved is not None:
            told = np.concatenate([values[block], first[block]], axis=1)
            saved.add(FinishedBlock(PART, number, places + block.start, told))

    for _ in ranking.in_order(judge, done=done, threads=threads, progress=progress):
        pass
    lengths = np.minimum(ranking.lengths, head)
    kept = Ranking.made(first[first >= 0], lengths, ranking.queries, ranking.corpus, ranking.source)
    return dataclasses.replace(counted, values=values), kept
