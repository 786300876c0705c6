"""Gains of images by concepts, and the values of all measures whose gains have one n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.means import relevance_name
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.dcg import cumulated_gains
from cuihop.measures.measure import Measure
from cuihop.measures.ndcg import normalised
from cuihop.measures.near_weight import BY_SIMILARITY, IntrinsicContent, Weight, checked_ic, checked_weight
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking, first_rows
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.relevance_blocks import RelevanceWork
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import Checkpoint
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of a relevant image: nn-IoU with this n, λ and weight of near concepts, or IoU (λ = 0).

    ``ic``: information content of the weight ``Lin``.
    """

    name: str
    hops: int
    lam: float
    weight: Weight = "constant"
    ic: IntrinsicContent = "Sanchez"

    @property
    def part(self) -> int:
        """The number of the pass, in checkpoints too: n, -n for ``hops``, n + a multiple of 2³² for a similarity."""
        if self.weight == "hops":
            return -self.hops
        if self.weight in BY_SIMILARITY:
            return self.hops + (_PASSES.index((self.weight, self.ic)) + 1 << 32)
        return self.hops

    def nearness(self, direction: Direction) -> Nearness:
        """The parameters of the pass, and λ."""
        return Nearness(self.hops, self.lam, direction, weight=self.weight, ic=self.ic)


_PASSES: tuple[tuple[Weight, IntrinsicContent], ...] = (("Lin", "Sanchez"), ("Lin", "Seco"), ("Wu-Palmer", "Sanchez"))


def gains_of(measures: Sequence[Measure], nearness: Nearness) -> dict[Measure, Gain]:
    """The gain of each measure. IoU, which is nn-IoU with λ = 0, shares the pass of another gain."""
    found = {measure: _gain(measure, nearness) for measure in measures}
    others = [gain for measure, gain in found.items() if measure.family == "nn-CUI"]
    shared = min(others, key=lambda gain: (gain.hops, gain.weight, gain.ic), default=Gain("", 0, 0.0))
    return {m: replace(shared, name=gain.name, lam=0.0) if m.family == "CUI" else gain for m, gain in found.items()}


def _gain(measure: Measure, nearness: Nearness) -> Gain:
    if measure.kind != "concepts":
        raise InputError(
            "not a measure of a ranking", column="measures", found=str(measure),
            expected="nn-CUI@K, CUI@K, or a measure of labels or judgements",
        )  # fmt: skip
    if measure.family == "CUI":
        return Gain(relevance_name(measure), 0, 0.0)
    values = measure.values
    n = int(values.get("n", nearness.n))
    weight = checked_weight(cast(Weight, values.get("weight", nearness.weight)), n)
    lam = nearness.lam_of(weight) if "weight" in values else nearness.lam
    ic = cast(IntrinsicContent, values.get("ic", nearness.ic if weight == "Lin" else "Sanchez"))
    return Gain(relevance_name(measure), n, float(values.get("λ", lam)), weight, checked_ic(ic, weight))


@dataclass(frozen=True)
class Gains:
    """Measures by concepts, and everything that their values depend on beside the rankings.

    Attributes:
        images, graph: the collection.
        gains: the gain of each measure. nearness: the direction of the hops.
        depth: number of images of a ranking that gain.
        empty: the value of a query whose IDCG is 0.
    """

    images: ImageCollection
    graph: ConceptGraph | None
    gains: Mapping[Measure, Gain]
    nearness: Nearness
    depth: int
    empty: float

    def score(
        self,
        rankings: Sequence[Ranking],
        values: Mapping[Measure, Float64],
        memory: MemoryBudget,
        resources: Resources,
        saved: Checkpoint | None,
    ) -> dict[str, Float64]:
        """Score every ranking: one pass over the collection for each n and weight.

        Args:
            rankings: of this collection.
            values: filled in: measure → float64, shape (rankings, queries).
            memory: the allowance of a pass. resources: threads and progress. saved: the finished blocks.

        Returns:
            Name of each gain → the best gain of each query, float64, shape (queries,).
        """
        best: dict[str, Float64] = {}
        distinct = set(self.gains.values())
        for part in sorted({gain.part for gain in distinct}):
            levels = sorted({gain for gain in distinct if gain.part == part}, key=lambda gain: gain.name)
            measures = {measure: gain for measure, gain in self.gains.items() if gain in levels}
            found, largest = self._pass(levels, measures, rankings, memory.copy(), resources, saved)
            for measure, column in zip(measures, np.moveaxis(found, -1, 0), strict=True):
                values[measure][:] = column
            best |= {gain.name: np.ascontiguousarray(of) for gain, of in zip(levels, largest.T, strict=True)}
        return {gain.name: best[gain.name] for gain in self.gains.values()}

    def _pass(
        self, levels: Sequence[Gain], measures: Mapping[Measure, Gain], rankings: Sequence[Ranking],
        memory: MemoryBudget, resources: Resources, saved: Checkpoint | None,
    ) -> tuple[Float64, Float64]:  # fmt: skip
        """The values of each ranking for gains of one pass, and the best gains, which do not depend on rankings.

        Returns:
            Float64, shape (rankings, queries, measures), and float64, shape (queries, levels).
        """
        images, depth, part = self.images, self.depth, levels[0].part
        of_rankings = len(rankings) * len(measures)
        found = np.full((len(images.queries), of_rankings + len(levels)), np.nan, dtype=np.float64)

        def store(places: Int64, values: Float64) -> None:
            found[places] = values

        blocks = BlockStore(store, len(found), places=resources.places, saved=saved, part=part)
        if not blocks.complete:
            nearness = levels[0].nearness(self.nearness.direction)
            index = images.index(self.graph, nearness, memory, blocks.left)
            lams = [gain.lam for gain in levels]
            scored = index.blocks(lams, depth + 1, depth=depth * len(rankings), threads=resources.block_threads)
            of_measures = [(levels.index(gain), min(measure.k or depth, depth)) for measure, gain in measures.items()]
            heads = [(ranking.indptr, ranking.rows) for ranking in rankings]
            work = _GainBlocks(scored, images.own_rows, heads, depth, of_measures, self.empty)
            blocks.fill(work, progress=resources.progress, cluster=resources.cluster)
        values = found[:, :of_rankings].reshape(len(found), len(rankings), len(measures))
        return values.transpose(1, 0, 2), found[:, of_rankings:]


@dataclass(frozen=True, eq=False)
class _GainBlocks(RelevanceWork):
    """Measures by concepts, in blocks of queries.

    Attributes:
        heads: the rankings in compressed rows. depth: number of images of a ranking that gain.
        measures: level and K of each. empty: the value of a query whose IDCG is 0.
    """

    heads: Sequence[tuple[Int64, Int32]]
    depth: int
    measures: Sequence[tuple[int, int]]
    empty: float

    def values(self, number: int) -> Float64:
        """Of each query: the measures of each ranking, one after the other; then the best gain of each level."""
        places = self.places(number)
        retrieved = np.concatenate([first_rows(*head, self.depth, places) for head in self.heads], axis=1)
        scores = self.scored.scores(number, retrieved)
        queries, depth, rankings = len(places), self.depth, len(self.heads)
        values = np.empty((queries, rankings, len(self.measures)), dtype=np.float64)
        largest = np.empty((queries, len(self.scored.levels)), dtype=np.float64)
        for level in range(len(self.scored.levels)):
            best, _ = scores.best_others(level, self.own_rows[places])
            largest[:, level] = best[:, 0]
            ideal = cumulated_gains(best)[:, np.newaxis]
            gained = cumulated_gains(scores.retrieved_gains[level].reshape(queries, rankings, depth))
            for column, (of, k) in enumerate(self.measures):
                if of == level:
                    ideals = np.broadcast_to(ideal[..., k - 1], gained.shape[:2])
                    values[..., column] = normalised(gained[..., k - 1], ideals, empty=self.empty)
        return np.concatenate([values.reshape(queries, -1), largest], axis=1)
