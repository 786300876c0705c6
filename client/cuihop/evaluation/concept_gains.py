"""What images gain under the measures of an evaluation, and the values of all measures whose gains have one n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.relevance_names import relevance_name
from cuihop.measures.dcg import cumulated_gains
from cuihop.measures.measure import Measure
from cuihop.measures.ndcg import normalised
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.relevance_index import RelevanceIndex, Scores
from cuihop.resources.checkpoint import Checkpoint, FinishedBlock
from cuihop.resources.progress import Progress

__all__ = ["Gain", "GainPart", "gains_of"]

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gain:
    """What a relevant image gains: nn-IoU with this n and λ, or IoU (λ = 0)."""

    name: str
    hops: int
    lam: float


def gains_of(measures: Sequence[Measure], n: int, lam: float) -> dict[Measure, Gain]:
    """What images gain under each measure. IoU, which is nn-IoU with λ = 0, goes along with one of the others."""
    found = {measure: _gain(measure, n, lam) for measure in measures}
    hops = min((gain.hops for measure, gain in found.items() if measure.family == "nn-CUI"), default=0)
    return {m: Gain(gain.name, hops, 0.0) if m.family == "CUI" else gain for m, gain in found.items()}


def _gain(measure: Measure, n: int, lam: float) -> Gain:
    """What images gain under a measure."""
    if measure.kind != "concepts":
        raise InputError(
            "not a measure of a ranking", column="measures", found=str(measure),
            expected="nn-CUI@K, CUI@K, or a measure of labels or judgements",
        )  # fmt: skip
    if measure.family == "CUI":
        return Gain(relevance_name(measure), 0, 0.0)
    return Gain(relevance_name(measure), int(measure.values.get("n", n)), float(measure.values.get("λ", lam)))


@dataclass(frozen=True, slots=True)
class GainPart:
    """All that one n gives: the values of some measures, and the best gain of each of their levels.

    Attributes:
        hops: n. levels: the gains. measures: those that have one of these gains.
        depth: the largest K. empty: the value where IDCG is 0.
        saved: where finished blocks are kept.
    """

    hops: int
    levels: Sequence[Gain]
    measures: Mapping[Measure, Gain]
    depth: int
    empty: float
    saved: Checkpoint | None

    def scored(
        self,
        index: RelevanceIndex,
        images: ImageCollection,
        rankings: Sequence[Ranking],
        threads: int | None,
        progress: Progress | None,
    ) -> tuple[Float64, Float64]:
        """What each ranking scores, and the best gains, which do not depend on rankings.

        Returns:
            Float64, shape (rankings, queries, measures), and float64, shape (queries, levels).
        """
        of_rankings = len(rankings) * len(self.measures)
        found = np.empty((len(images.queries), of_rankings + len(self.levels)), dtype=np.float64)
        done = [] if self.saved is None else self.saved.of_part(self.hops)
        for block in done:
            found[block.queries] = block.values

        def asked(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
            return np.concatenate([ranking.top(self.depth, places) for ranking in rankings], axis=1)

        def receive(scores: Scores) -> None:
            values = self._values(scores, images, len(rankings))
            found[scores.queries] = values
            if self.saved is not None:
                self.saved.add(FinishedBlock(self.hops, scores.block, scores.queries, values))

        index.score(
            [gain.lam for gain in self.levels],
            self.depth + 1,
            asked,
            receive,
            depth=self.depth * len(rankings),
            threads=threads,
            progress=progress,
            done={block.number for block in done},
        )
        values = found[:, :of_rankings].reshape(len(found), len(rankings), len(self.measures))
        return values.transpose(1, 0, 2), found[:, of_rankings:]

    def _values(self, scores: Scores, images: ImageCollection, rankings: int) -> Float64:
        """Of each query: the measures of each ranking, one ranking after the other, then the levels."""
        queries = len(scores.queries)
        values = np.empty((queries, rankings, len(self.measures)), dtype=np.float64)
        largest = np.empty((queries, len(self.levels)), dtype=np.float64)
        for level, gain in enumerate(self.levels):
            best, _ = scores.best_others(level, images.own_rows[scores.queries])
            largest[:, level] = best[:, 0]
            ideal = cumulated_gains(best)[:, np.newaxis]
            gained = cumulated_gains(scores.asked_gains[level].reshape(queries, rankings, self.depth))
            for column, (measure, of) in enumerate(self.measures.items()):
                if of == gain:
                    last = min(measure.k or self.depth, self.depth) - 1
                    ideals = np.broadcast_to(ideal[..., last], gained.shape[:2])
                    values[..., column] = normalised(gained[..., last], ideals, empty=self.empty)
        return np.concatenate([values.reshape(queries, -1), largest], axis=1)
