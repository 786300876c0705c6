"""Gains of images by concepts, and the values of all measures whose gains have one n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from cuihop.errors import InputError
from cuihop.evaluation.means import relevance_name
from cuihop.graph import ConceptGraph
from cuihop.measures.dcg import cumulated_gains, normalised
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import BY_SIMILARITY, IntrinsicContent, Nearness, Weight, checked_ic, checked_weight
from cuihop.rankings.ranking import Ranking, first_rows
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.relevance_blocks import RelevanceWork
from cuihop.resources.arrays import Float64, Int32, Int64
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import Checkpoint
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of a relevant image: nn-IoU with this n, λ and weight of near concepts, or IoU (λ = 0)."""

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


_PASSES: tuple[tuple[Weight, IntrinsicContent], ...] = (("Lin", "Sanchez"), ("Lin", "Seco"), ("Wu-Palmer", "Sanchez"))


def gains_of(measures: Sequence[Measure], nearness: Nearness) -> dict[Measure, Gain]:
    """The gain of each measure. IoU, which is nn-IoU with λ = 0, shares the pass of another gain."""
    gains = {measure: _gain(measure, nearness) for measure in measures}
    others = [gain for measure, gain in gains.items() if measure.family == "nn-CUI"]
    shared = min(others, key=lambda gain: (gain.hops, gain.weight, gain.ic), default=Gain("", 0, 0.0))
    return {m: replace(shared, name=gain.name, lam=0.0) if m.family == "CUI" else gain for m, gain in gains.items()}


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
    """Measures by concepts, and everything else that their values depend on, rankings apart.

    Attributes:
        depth: number of images of a ranking that gain. empty: the value of a query whose IDCG is 0.
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

        ``values`` of each measure, float64, shape (rankings, queries), are filled in. The result is the best gain of
        each query, float64, shape (queries,), by the name of the gain.
        """
        best: dict[str, Float64] = {}
        distinct = set(self.gains.values())
        for number in sorted({gain.part for gain in distinct}):
            levels = sorted({gain for gain in distinct if gain.part == number}, key=lambda gain: gain.name)
            measures = {measure: gain for measure, gain in self.gains.items() if gain in levels}
            scores, largest = self._pass(levels, measures, rankings, memory.copy(), resources, saved)
            for measure, column in zip(measures, np.moveaxis(scores, -1, 0), strict=True):
                values[measure][:] = column
            best |= {gain.name: np.ascontiguousarray(of) for gain, of in zip(levels, largest.T, strict=True)}
        return {gain.name: best[gain.name] for gain in self.gains.values()}

    def _pass(
        self, levels: Sequence[Gain], measures: Mapping[Measure, Gain], rankings: Sequence[Ranking],
        memory: MemoryBudget, resources: Resources, saved: Checkpoint | None,
    ) -> tuple[Float64, Float64]:  # fmt: skip
        """The values of each ranking for gains of one pass, and the best gains, which do not depend on rankings.

        Both are float64; shapes (rankings, queries, measures) and (queries, levels).
        """
        images, depth, number = self.images, self.depth, levels[0].part
        of_rankings = len(rankings) * len(measures)
        results = np.full((len(images.queries), of_rankings + len(levels)), np.nan, dtype=np.float64)
        blocks = BlockStore(results.__setitem__, len(results), positions=resources.places, saved=saved, part=number)
        if not blocks.complete:
            level = levels[0]
            nearness = Nearness(level.hops, level.lam, self.nearness.direction, weight=level.weight, ic=level.ic)
            index = images.index(self.graph, nearness, memory, blocks.left)
            lams = [gain.lam for gain in levels]
            scored = index.blocks(lams, depth + 1, depth=depth * len(rankings), threads=resources.block_threads)
            of_measures = [(levels.index(gain), min(measure.k or depth, depth)) for measure, gain in measures.items()]
            heads = [(ranking.indptr, ranking.rows) for ranking in rankings]
            job = _GainBlocks(scored, images.own_rows, heads, depth, of_measures, self.empty)
            blocks.fill(job, progress=resources.progress, cluster=resources.cluster)
        values = results[:, :of_rankings].reshape(len(results), len(rankings), len(measures))
        return values.transpose(1, 0, 2), results[:, of_rankings:]


@dataclass(frozen=True, eq=False)
class _GainBlocks(RelevanceWork):
    """Measures by concepts, in blocks of queries.

    Attributes:
        heads: the rankings in compressed rows. measures: level and K of each. depth, empty: as in `Gains`.
    """

    heads: Sequence[tuple[Int64, Int32]]
    depth: int
    measures: Sequence[tuple[int, int]]
    empty: float

    def values(self, number: int) -> Float64:
        """Values of each query: the measures of each ranking, one after the other; then the best gain of each level."""
        indices = self.places(number)
        retrieved = np.concatenate([first_rows(*head, self.depth, indices) for head in self.heads], axis=1)
        scores = self.scored.scores(number, retrieved)
        queries, depth, rankings = len(indices), self.depth, len(self.heads)
        values = np.empty((queries, rankings, len(self.measures)), dtype=np.float64)
        largest = np.empty((queries, len(self.scored.levels)), dtype=np.float64)
        for level in range(len(self.scored.levels)):
            best, _ = scores.best_others(level, self.own_rows[indices])
            largest[:, level] = best[:, 0]
            ideal = cumulated_gains(best)[:, np.newaxis]
            gained = cumulated_gains(scores.retrieved_gains[level].reshape(queries, rankings, depth))
            for column, (of, k) in enumerate(self.measures):
                if of == level:
                    ideals = np.broadcast_to(ideal[..., k - 1], gained.shape[:2])
                    values[..., column] = normalised(gained[..., k - 1], ideals, empty=self.empty)
        return np.concatenate([values.reshape(queries, -1), largest], axis=1)
