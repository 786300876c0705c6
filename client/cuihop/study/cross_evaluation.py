"""The rankings of a study, each under every measure (the paper's Table 1, CUI@K and nn-CUI@K), with intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.evaluation.evaluate import evaluate_each, evaluate_shard
from cuihop.evaluation.result import Evaluation
from cuihop.files.arrays import is_array
from cuihop.files.input_file import Readable, opened_input
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.arrays import Float64
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.inputs import DEPTH, LongRow, ProgressOf, StudyInputs

NN_IOU, IOU = "nn-IoU", "IoU"
CONFIDENCE = 0.95
RESAMPLES = 1_000

Interval: TypeAlias = tuple[float, float]

_CELLS_A_BLOCK = 1 << 22  # bounds the memory of resampling: 32 MB of weights
_DIGITS = 9  # beyond, sums depend on the processor


SHUFFLED = "nn-IoU, shuffled"
RANDOM = "random"
_BY: dict[str, Relevance] = {IOU: "iou", NN_IOU: "nn-iou", "BM": "bm"}
BASELINES = ("TF-IDF", SHUFFLED, RANDOM)
"""Rankings that need neither images nor a model."""

OWN = (*_BY, *BASELINES)
"""The names of rankings that every study has."""


def ranked_by(
    by: Relevance, inputs: StudyInputs, images: ImageConcepts | None = None, *, resources: Resources
) -> Ranking:
    """The most relevant images for each query; of the study's images, or of others."""
    images, near = inputs.images if images is None else images, inputs.nearness
    return top_k(images, inputs.graph, DEPTH, by=by, nearness=near, query_image=inputs.query_image, resources=resources)


def rankings(
    inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint
) -> Iterator[tuple[str, Ranking]]:
    """Each ranking with its name. Files come first: an error in one is reported at once."""

    def by(name: str, relevance: Relevance, images: ImageConcepts | None = None) -> tuple[str, Ranking]:
        def make() -> Ranking:
            progress = progress_of(f"ranked by {relevance}")
            resources = checkpoint.resources(f"ranking {name}", progress, keep=False)
            return ranked_by(relevance, inputs, images, resources=resources)

        return name, checkpoint.ranking(name, make)

    for name, file in inputs.embeddings.items():
        yield name, checkpoint.ranking(name, partial(_read, name, file, inputs, progress_of, checkpoint))
    for name, relevance in _BY.items():
        yield by(name, relevance)
    yield by("TF-IDF", "tf-idf")
    yield by(SHUFFLED, "nn-iou", shuffled(inputs.images, inputs.seed))
    memory = inputs.resources.memory
    chance = partial(
        random_ranking, inputs.images, DEPTH, seed=inputs.seed, query_image=inputs.query_image, memory=memory
    )
    yield RANDOM, checkpoint.ranking(RANDOM, chance)


def _read(
    name: str, file: Readable, inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint
) -> Ranking:
    resources = checkpoint.resources(f"ranking {name}", keep=False)
    opened = opened_input(file)
    order = "score" if is_array(opened) else inputs.order
    ranking = read_ranking_in_blocks(
        opened, tuple(inputs.images), depth=DEPTH, order=order, query_image=inputs.query_image, resources=resources
    )
    if isinstance(ranking, Ranking):
        return ranking
    return ranking.whole(dataclasses.replace(resources, progress=progress_of(f"read {name}")))


def shuffled(images: ImageConcepts, seed: int) -> ImageConcepts:
    """Every concept set with another image, by chance. It depends on the names of the images, not on their order."""
    names = sorted(images)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    other = {name: names[row] for name, row in zip(names, order, strict=True)}
    return ImageConcepts(
        {name: images[other[name]] for name in images}, source=f"{images.source}, shuffled", derived=True
    )


@dataclass(frozen=True)
class CrossEvaluation:
    """Scores of every ranking under every measure.

    Attributes:
        evaluations: name of a ranking → its evaluation. rankings: those by IoU and nn-IoU.
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
    """Rank the images by every relevance, and evaluate each ranking."""
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
    by_name = evaluate_each(inputs.data, each(), inputs.graph, resources=resources, **inputs.criteria)
    evaluations = {name: by_name[name] for name in (*_BY, *inputs.embeddings, *BASELINES)}
    measures = [str(measure) for measure in inputs.measures]
    differences = evaluations[NN_IOU].values - evaluations[IOU].values
    columns = np.concatenate([*(each.values for each in evaluations.values()), differences], axis=1)
    bounds = iter(intervals(columns, inputs.seed, progress_of("resampled")))
    means = {(name, measure): next(bounds) for name in evaluations for measure in measures}
    return CrossEvaluation(evaluations, by_overlap, means, {measure: next(bounds) for measure in measures})


def evaluate_rankings_of_shard(inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint) -> None:
    """Rank and score the queries of a shard, into files of finished blocks for `cross_evaluation`."""
    resources = checkpoint.resources("evaluation", progress_of("evaluated queries"))
    named = rankings(inputs, progress_of, checkpoint)
    evaluate_shard(inputs.data, named, inputs.graph, resources=resources, **inputs.criteria)


def intervals(values: Float64, seed: int, progress: Progress) -> list[Interval | None]:
    """The 95 % percentile bootstrap interval of the mean of each column (Efron and Tibshirani 1993).

    Each resample takes as many queries as there are, with replacement: the same for all columns. A column of
    differences of two others thus has the interval of the paired bootstrap. The mean is over the resampled queries
    that have a value. Bounds are rounded to 9 decimals.

    ``values`` are float64, shape (queries, columns), NaN where a query has none; a column without values has ``None``.
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
    bounds: list[Interval | None] = []
    for column in means.T:
        resampled = column[~np.isnan(column)]  # NaN: the resample has no query with a value
        if not len(resampled):
            bounds.append(None)
            continue
        low, high = np.quantile(resampled, [tail, 1.0 - tail]).round(_DIGITS).tolist()
        bounds.append((low, high))
    return bounds
