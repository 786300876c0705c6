"""Every ranking under every measure: the paper's Table 1, and CUI@K beside nn-CUI@K, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.collection.dataset import Dataset
from cuihop.evaluation.evaluate import evaluate_each, evaluate_shard
from cuihop.evaluation.result import Evaluation
from cuihop.rankings.ranking import Ranking
from cuihop.resources.progress import Progress
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.inputs import ProgressOf, StudyInputs
from cuihop.study.long_table import LongRow
from cuihop.study.rankings import SHUFFLED, names_of, rankings

NN_IOU, IOU = "nn-IoU", "IoU"
CONFIDENCE = 0.95
RESAMPLES = 1_000

Float64 = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]

_CELLS_A_BLOCK = 1 << 22  # bounds the memory of resampling: 32 MB of weights
_DIGITS = 9  # beyond, sums depend on the processor


@dataclass(frozen=True)
class CrossEvaluation:
    """Scores of every ranking under every measure.

    Attributes:
        evaluations: name of a ranking → its evaluation.
        rankings: those by IoU and nn-IoU.
        means: (ranking, measure) → the confidence interval of the mean.
        differences: measure → that of the mean difference of nn-IoU from IoU.
    """

    evaluations: Mapping[str, Evaluation]
    rankings: Mapping[str, Ranking]
    means: Mapping[tuple[str, str], Interval | None] = field(default_factory=dict)
    differences: Mapping[str, Interval | None] = field(default_factory=dict)

    def long_rows(self, inputs: StudyInputs) -> Iterator[LongRow]:
        """Each mean of each ranking."""
        for name, evaluation in self.evaluations.items():
            for measure in evaluation.measures:
                depends = name in (NN_IOU, SHUFFLED) or measure.family == "nn-CUI"
                n, lam = (inputs.nearness.n, inputs.nearness.lam) if depends else (None, None)
                behind = evaluation.mean_queries[str(measure)]
                low, high = self.means[name, str(measure)] or (None, None)
                yield LongRow(
                    "tables", name, str(measure), n, lam, "all", evaluation.means[str(measure)], behind.scored,
                    behind.nothing_relevant, behind.unjudged, low, high,
                )  # fmt: skip


def cross_evaluation(inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint) -> CrossEvaluation:
    """Rank the images in every way, and evaluate each ranking."""
    by_overlap: dict[str, Ranking] = {}

    def each() -> Iterator[tuple[str, Ranking]]:
        for name, ranking in rankings(inputs, progress_of, checkpoint):
            if name in (IOU, NN_IOU):
                by_overlap[name] = ranking
            yield name, ranking

    def evaluated(done: int, total: int) -> None:
        if not begun:  # rankings come first: no bar should stand still
            begun.append(progress_of("evaluated queries"))
        begun[0](done, total)

    begun: list[Progress] = []
    resources = checkpoint.resources("evaluation", evaluated)
    found = evaluate_each(_dataset(inputs), each(), inputs.graph, resources=resources, **_criteria(inputs))
    evaluations = {name: found[name] for name in names_of(inputs)}
    measures = [str(measure) for measure in inputs.measures]
    differences = evaluations[NN_IOU].values - evaluations[IOU].values
    columns = np.concatenate([*(each.values for each in evaluations.values()), differences], axis=1)
    bounds = iter(intervals(columns, inputs.seed, progress_of("resampled")))
    means = {(name, measure): next(bounds) for name in evaluations for measure in measures}
    return CrossEvaluation(evaluations, by_overlap, means, {measure: next(bounds) for measure in measures})


def evaluate_rankings_of_shard(inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint) -> None:
    """Rank and score the queries of a shard, into files of finished blocks for `cross_evaluation`."""
    resources = checkpoint.resources("evaluation", progress_of("evaluated queries"))
    found = rankings(inputs, progress_of, checkpoint)
    evaluate_shard(_dataset(inputs), found, inputs.graph, resources=resources, **_criteria(inputs))


def _dataset(inputs: StudyInputs) -> Dataset:
    return Dataset(inputs.images, labels=inputs.labels)


def _criteria(inputs: StudyInputs) -> dict[str, Any]:
    return {
        "measures": inputs.measures, "nearness": inputs.nearness, "empty_ideal": inputs.empty_ideal,
        "query_image": inputs.query_image,
    }  # fmt: skip


def intervals(values: Float64, seed: int, progress: Progress) -> list[Interval | None]:
    """The 95 % percentile bootstrap interval of the mean of each column (Efron and Tibshirani 1993).

    Each resample draws as many queries as there are, with replacement: the same for all columns, so that a column of
    differences of two others has the interval of the paired bootstrap. The mean is over the drawn queries that have a
    value. Bounds are rounded to 9 decimals.

    Args:
        values: float64, shape (queries, columns); NaN where a query has no value.
        seed: the same gives the same.
        progress: called with the resamples done and all.

    Returns:
        For each column the lower and the upper bound; ``None`` where no query has a value.
    """
    queries, columns = values.shape
    generator = np.random.default_rng(seed)
    there, which = np.unique(~np.isnan(values), axis=1, return_inverse=True)
    filled, counted = (np.ascontiguousarray(table.T) for table in (np.nan_to_num(values), there.astype(np.float64)))
    means = np.empty((RESAMPLES, columns), dtype=np.float64)
    step = max(1, _CELLS_A_BLOCK // queries)
    for first in range(0, RESAMPLES, step):
        rows = min(step, RESAMPLES - first)
        times = np.empty((rows, queries), dtype=np.float64)
        for row in times:
            row[:] = np.bincount(generator.integers(0, queries, queries), minlength=queries)
        sizes = (times @ counted.T)[:, which.ravel()]
        with np.errstate(invalid="ignore"):
            means[first : first + rows] = (times @ filled.T) / sizes
        progress(first + rows, RESAMPLES)
    tail = (1.0 - CONFIDENCE) / 2
    found: list[Interval | None] = []
    for column in means.T:
        drawn_means = column[~np.isnan(column)]  # no query with a value was drawn
        if not len(drawn_means):
            found.append(None)
            continue
        low, high = np.quantile(drawn_means, [tail, 1.0 - tail]).round(_DIGITS).tolist()
        found.append((low, high))
    return found
