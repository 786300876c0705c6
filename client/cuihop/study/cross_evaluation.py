"""Every ranking under every measure: the paper's Table 1, and CUI@K beside nn-CUI@K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from cuihop.evaluation.result import Evaluation
from cuihop.evaluation.several_rankings import evaluate_rankings
from cuihop.rankings.ranking import Ranking
from cuihop.resources.progress import Progress
from cuihop.study.checkpoint import Unfinished
from cuihop.study.inputs import Setup, Telling
from cuihop.study.intervals import Interval, intervals
from cuihop.study.long_table import Number
from cuihop.study.rankings import SHUFFLED, names_of, rankings

__all__ = ["CrossEvaluation", "cross_evaluation"]

NN_IOU, IOU = "nn-IoU", "IoU"


@dataclass(frozen=True)
class CrossEvaluation:
    """What every ranking scores under every measure.

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

    def numbers(self, setup: Setup) -> Iterator[Number]:
        """Each mean of each ranking."""
        for name, evaluation in self.evaluations.items():
            for measure in evaluation.measures:
                depends = name in (NN_IOU, SHUFFLED) or measure.family == "nn-CUI"
                n, lam = (setup.n, setup.lam) if depends else (None, None)
                behind = evaluation.mean_queries[str(measure)]
                low, high = self.means[name, str(measure)] or (None, None)
                yield Number(
                    "tables", name, str(measure), n, lam, "all", evaluation.means[str(measure)], behind.scored,
                    behind.nothing_relevant, behind.unjudged, low, high,
                )  # fmt: skip


def cross_evaluation(setup: Setup, telling: Telling, unfinished: Unfinished) -> CrossEvaluation:
    """Rank the images in every way, and evaluate each ranking."""
    kept: dict[str, Ranking] = {}

    def each() -> Iterator[tuple[str, Ranking]]:
        for name, ranking in rankings(setup, telling, unfinished):
            if name in (IOU, NN_IOU):
                kept[name] = ranking
            yield name, ranking

    def evaluated(done: int, total: int) -> None:
        if not begun:  # rankings come first: nobody should wait for a bar that stands still
            begun.append(telling("evaluated queries"))
        begun[0](done, total)

    begun: list[Progress] = []
    found = evaluate_rankings(
        setup.images, each(), setup.graph, measures=setup.measures, n=setup.n, lam=setup.lam, labels=setup.labels,
        empty_ideal=setup.empty_ideal, progress=evaluated, **unfinished.options("evaluation"),
        **setup.of_concepts,
    )  # fmt: skip
    evaluations = {name: found[name] for name in names_of(setup)}
    measures = [str(measure) for measure in setup.measures]
    differences = evaluations[NN_IOU].values - evaluations[IOU].values
    columns = np.concatenate([*(each.values for each in evaluations.values()), differences], axis=1)
    bounds = iter(intervals(columns, setup.seed, telling("resampled")))
    means = {(name, measure): next(bounds) for name in evaluations for measure in measures}
    return CrossEvaluation(evaluations, kept, means, {measure: next(bounds) for measure in measures})
