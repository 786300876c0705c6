"""Significance of the difference between nn-IoU and IoU, and the near concepts that could cause one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from cuihop.comparison.paired_tests import holm, randomisation_tests
from cuihop.measures.nearness import Nearness
from cuihop.relevance.image_collection import ImageCollection
from cuihop.study.cross_evaluation import IOU, NN_IOU, CrossEvaluation, Interval
from cuihop.study.inputs import CUT_OFFS, DEPTH, LongRow, ProgressOf, StudyInputs

EXCHANGES = 10_000
"""Number of random exchanges of the two rankings."""


@dataclass(frozen=True, slots=True)
class PrecisionDifference:
    """P@K of rankings by nn-IoU and by IoU, query by query.

    Attributes:
        iou, nn_iou, difference: the means, and that of nn-IoU less IoU.
        interval: 95 % confidence, paired bootstrap.
        p: two-sided, of the randomisation test. p_holm: adjusted for all of these measures.
        better, worse, same: queries for which nn-IoU scores more, less, the same.
    """

    measure: str
    labels: tuple[str, ...]
    k: int
    iou: float
    nn_iou: float
    difference: float
    interval: Interval
    p: float
    p_holm: float
    better: int
    worse: int
    same: int


def differences(tables: CrossEvaluation, inputs: StudyInputs, progress_of: ProgressOf) -> list[PrecisionDifference]:
    """One for each P@K that any query has a value of."""
    iou, nn_iou = tables.evaluations[IOU], tables.evaluations[NN_IOU]
    tested = []
    for column, measure in enumerate(iou.measures):
        interval = tables.differences[str(measure)]
        means = iou.means[str(measure)], nn_iou.means[str(measure)]
        if measure.family == "P" and measure.k and interval is not None and None not in means:
            values = nn_iou.values[:, column] - iou.values[:, column]
            tested.append((measure, values[~np.isnan(values)], interval))
    progress = progress_of("tested nn-IoU against IoU")
    p_values: list[float] = []
    for _, group in groupby(tested, key=lambda test: test[0].labels):  # they have the same queries
        columns = np.stack([values for _, values, _ in group], axis=1)
        p_values += randomisation_tests(
            columns, resamples=EXCHANGES, seed=inputs.seed, threads=inputs.resources.threads
        )
        progress(len(p_values), len(tested))
    return [
        PrecisionDifference(
            str(measure), measure.labels, measure.k or 0, iou.means[str(measure)] or 0.0,
            nn_iou.means[str(measure)] or 0.0, math.fsum(values) / len(values), interval, p, adjusted,
            int((values > 0).sum()), int((values < 0).sum()), int((values == 0).sum()),
        )
        for (measure, values, interval), p, adjusted in zip(tested, p_values, holm(p_values), strict=True)
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class NearConcepts:
    """Near concepts, which nn-IoU counts and IoU does not.

    Attributes:
        concepts: distinct concepts of the images. linked: those of them that have another of them within n hops.
        occurrences: concepts of all images together. linked_occurrences: those of linked concepts.
        others: K → the share of queries whose first K images by IoU and by nn-IoU are not the same, in whatever order.
        near: (ranking, K) → the mean |rel| of a query and one of its first K images.
        having: (ranking, K) → the share of these pairs with |rel| > 0.
    """

    concepts: int
    linked: int
    occurrences: int
    linked_occurrences: int
    others: dict[int, float]
    near: dict[tuple[str, int], float]
    having: dict[tuple[str, int], float]
    queries: int

    def long_rows(self, inputs: StudyInputs) -> Iterator[LongRow]:
        """Each of them in long form."""

        def number(ranking: str, measure: str, value: float) -> LongRow:
            return LongRow("near", ranking, measure, inputs.nearness.n, inputs.nearness.lam, "all", value, self.queries)

        for k, share in self.others.items():
            yield number(NN_IOU, f"other images than by IoU@{k}", share)
        for (ranking, k), mean in self.near.items():
            yield number(ranking, f"near concepts@{k}", mean)
            yield number(ranking, f"images with near concepts@{k}", self.having[ranking, k])


def near_concepts(tables: CrossEvaluation, inputs: StudyInputs, progress_of: ProgressOf) -> NearConcepts:
    """Count the near concepts: among the concepts of the images, and in the images that both rankings retrieve."""
    images = inputs.collection
    held = [sorted(concepts - images.resolved.isolated) for concepts in images.query_sets]
    in_graph = sorted({concept for concepts in held for concept in concepts})
    linked = _linked(in_graph, inputs)
    everything = np.arange(len(images.queries))
    tops = {name: tables.rankings[name].top(DEPTH, everything) for name in (IOU, NN_IOU)}
    rel = _rel(images, np.concatenate(list(tops.values()), axis=1), inputs, progress_of)
    others: dict[int, float] = {}
    near: dict[tuple[str, int], float] = {}
    having: dict[tuple[str, int], float] = {}
    for k in CUT_OFFS:
        first, second = (np.sort(rows[:, :k], axis=1) for rows in tops.values())
        others[k] = float((first != second).any(axis=1).mean())
        for number, (name, rows) in enumerate(tops.items()):
            there = rows[:, :k] >= 0
            counts = rel[:, number * DEPTH : number * DEPTH + k][there]
            near[name, k] = float(counts.mean()) if len(counts) else 0.0
            having[name, k] = float((counts > 0).mean()) if len(counts) else 0.0
    return NearConcepts(
        len({concept for concepts in images.query_sets for concept in concepts}),
        len(linked),
        sum(map(len, images.query_sets)),
        sum(len(linked.intersection(concepts)) for concepts in held),
        others,
        near,
        having,
        len(images.queries),
    )


def _linked(concepts: Sequence[str], inputs: StudyInputs) -> set[str]:
    """The concepts that have another of them within n hops, from here to there or from there to here."""
    if not concepts or inputs.nearness.n == 0:
        return set()
    pack = inputs.graph.pack(concepts, hops=inputs.nearness.n, direction=inputs.nearness.direction)
    owners = np.repeat(np.arange(len(concepts)), np.diff(pack.indptr))
    apart = pack.indices != owners
    return {concepts[index] for index in np.union1d(owners[apart], pack.indices[apart]).tolist()}


def _rel(
    images: ImageCollection, rows: npt.NDArray[np.int32], inputs: StudyInputs, progress_of: ProgressOf
) -> npt.NDArray[np.int64]:
    """|rel| of each query and each of its images: same shape as ``rows``; 0 without an image."""
    near = np.zeros(rows.shape, dtype=np.int64)
    sizes = np.array([len(concepts) for concepts in images.query_sets], dtype=np.int64)
    memory = inputs.resources.budget()
    memory.take("rankings", rows.nbytes + near.nbytes)
    index = images.index(inputs.graph, Nearness(inputs.nearness.n, direction=inputs.nearness.direction), memory)
    progress, threads = progress_of("counted near concepts"), inputs.resources.threads
    for scores in index.scores([0.0, 1.0], 1, rows, threads=threads, progress=progress):
        iou, most = scores.retrieved_gains  # λ = 0 and λ = 1
        both = sizes[scores.queries, np.newaxis] + sizes[rows[scores.queries]]
        union = both - np.rint(iou * both / (1 + iou))  # |A ∪ B| = |A| + |B| - |A ∩ B|
        near[scores.queries] = np.rint((most - iou) * union)
    return near
