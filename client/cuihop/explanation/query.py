"""Explanation of the ranks of two images for a query, in the ideal ranking and in another one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from cuihop.collection.dataset import DataLike
from cuihop.evaluation.collect import RankingLike
from cuihop.explanation.pair import Explanation, explain_pair
from cuihop.explanation.picture import figure_of_pairs
from cuihop.explanation.query_gains import QueryGains, QueryImages, hops_to_corpus, similarities_of
from cuihop.explanation.values import plain
from cuihop.graph import ConceptGraph
from cuihop.measures.dcg import checked_k, cumulated_gains, normalised
from cuihop.measures.nearness import Nearness, NearnessValues
from cuihop.notebooks.figures import save_picture
from cuihop.resources.arrays import Float64, Int64

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ConceptDifference",
    "QueryExplanation",
    "Rank",
    "RankedPair",
    "Standing",
    "dcg_of_query",
    "explain_query",
    "rank_of",
]


@dataclass(frozen=True, slots=True)
class Standing:
    """Gain and rank of an image in the ideal ranking of the corpus for a query.

    Attributes:
        gain: its nn-IoU or IoU with the query.
        rank: from 1; images with equal gains are ranked by name.
        tied: number of other images with the same gain.
    """

    gain: float
    rank: int
    tied: int


@dataclass(frozen=True, slots=True)
class ConceptDifference:
    """Contribution of one concept to the gains of two images under one query.

    An image's gain is the sum over the concepts of the union of query and image of ``earned / |union|``.

    Attributes:
        cui, name: of the concept.
        in_query, in_above, in_below: true if query or image holds it.
        earned_above, earned_below: 1, λ or 0; ``None`` if neither the query nor that image holds it.
        share_above, share_below: its share of either gain: earned / (size of the union).
        difference: share_above - share_below. The sum over all concepts is the difference of the gains.
    """

    cui: str
    name: str | None
    in_query: bool
    in_above: bool
    in_below: bool
    earned_above: float | None
    earned_below: float | None
    share_above: float
    share_below: float
    difference: float


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank of a ranking and the same rank of the ideal one; ``None`` and 0 beyond the end of either.

    Attributes:
        rank: from 1. weight: 1 / log2(rank + 1).
        image, gain: the retrieved image, and its nn-IoU with the query.
        ideal_image, ideal_gain: the same of the ideal ranking.
    """

    rank: int
    weight: float
    image: str | None
    gain: float
    ideal_image: str | None
    ideal_gain: float


@dataclass(frozen=True, slots=True)
class RankedPair:
    """Ranks of the two images in a ranking, and the cost of a wrong order.

    Attributes:
        source: of the ranking.
        length: images listed for the query, the query itself left out.
        rank_above, rank_below: the ranks; ``None`` for an image that is not listed.
        k, dcg, idcg, ndcg: of the query, with the gain nn-IoU; ``ndcg`` is its nn-CUI@K.
        cost: the increase of DCG@K if the two changed places, where the ranking prefers the one with the smaller gain
            (an unlisted image ranks behind all listed ones); otherwise 0.
        cost_ndcg: cost / IDCG@K.
        ranks: the first K ranks.
    """

    source: str
    length: int
    rank_above: int | None
    rank_below: int | None
    k: int
    dcg: float
    idcg: float
    ndcg: float
    cost: float
    cost_ndcg: float
    ranks: tuple[Rank, ...]


@dataclass(frozen=True, eq=False)
class QueryExplanation:
    """Two images under one query.

    Attributes:
        query, above, below: the images. ``above`` is the one expected to rank higher; it need not.
        corpus: number of images ranked, the query left out.
        pair_above, pair_below: the query (as A) explained with either image (as B).
        nn_iou_above, nn_iou_below, iou_above, iou_below: gains and ranks of the two in the ideal rankings.
        ranked: the two in a ranking; ``None`` without one.
        inputs: role of each input → summary of its parsing, in one line.
    """

    query: str
    above: str
    below: str
    corpus: int
    pair_above: Explanation
    pair_below: Explanation
    nn_iou_above: Standing
    nn_iou_below: Standing
    iou_above: Standing
    iou_below: Standing
    ranked: RankedPair | None
    inputs: Mapping[str, str]

    def __repr__(self) -> str:
        return (
            f"<QueryExplanation of {self.query}: {self.above} gains {self.nn_iou_above.gain:.4f}, {self.below} "
            f"{self.nn_iou_below.gain:.4f}>"
        )

    @property
    def difference(self) -> float:
        """The gain of the image above minus that of the one below."""
        return self.nn_iou_above.gain - self.nn_iou_below.gain

    @cached_property
    def concepts(self) -> tuple[ConceptDifference, ...]:
        """The concepts of the three images, by difference, the largest first, then by identifier."""
        in_above = {concept.cui: concept for concept in self.pair_above.concepts}
        in_below = {concept.cui: concept for concept in self.pair_below.concepts}

        def compared(cui: str) -> ConceptDifference:
            above, below = in_above.get(cui), in_below.get(cui)
            either = above or below
            share_above = 0.0 if above is None else above.earned / self.pair_above.union
            share_below = 0.0 if below is None else below.earned / self.pair_below.union
            return ConceptDifference(
                cui=cui,
                name=None if either is None else either.name,
                in_query=either is not None and either.side != "B",
                in_above=above is not None and above.side != "A",
                in_below=below is not None and below.side != "A",
                earned_above=None if above is None else above.earned,
                earned_below=None if below is None else below.earned,
                share_above=share_above,
                share_below=share_below,
                difference=share_above - share_below,
            )

        return tuple(sorted(map(compared, in_above.keys() | in_below.keys()), key=lambda c: (-c.difference, c.cui)))

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values; the keys are documented in docs/explain.md and stable."""
        pair = self.pair_above
        return {
            "release": {"name": pair.release.name, "digest": pair.release.digest},
            "query": self.query,
            "n": pair.n,
            "lambda": pair.lam,
            "weight": pair.weight,
            "ic": pair.ic,
            "direction": pair.direction,
            "corpus": self.corpus,
            "difference": self.difference,
            "above": self._side(self.above, self.nn_iou_above, self.iou_above, self.pair_above),
            "below": self._side(self.below, self.nn_iou_below, self.iou_below, self.pair_below),
            "concepts": [asdict(concept) for concept in self.concepts],
            "ranking": None if self.ranked is None else plain(asdict(self.ranked)),
            "inputs": dict(self.inputs),
        }

    @staticmethod
    def _side(image: str, nn_iou: Standing, iou: Standing, pair: Explanation) -> dict[str, Any]:
        return {"image": image, "nn_iou": asdict(nn_iou), "iou": asdict(iou), "explanation": pair.as_dict()}

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def figure(self) -> Figure:
        """The pictures of the query with either image, the one with the larger gain first: see `Explanation.figure`."""
        pairs = [self.pair_above, self.pair_below]
        if self.nn_iou_below.rank < self.nn_iou_above.rank:
            pairs.reverse()
        return figure_of_pairs(pairs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture: see `Explanation.save`."""
        save_picture(self.figure, path)


def explain_query(
    images: DataLike,
    query: str,
    graph: ConceptGraph,
    *,
    above: str | None = None,
    below: str | None = None,
    ranking: RankingLike | None = None,
    k: int = 10,
    nearness: Nearness = Nearness(),
    look: int = 3,
    **near: Unpack[NearnessValues],
) -> QueryExplanation:
    """Explain the ranks of two images for a query, by nn-IoU and by IoU, in the ideal ranking and in another one.

    The gains, the ideal ranking and the nn-CUI@K are those of `cuihop.evaluate`, to the last bit.

    Args:
        images: a `Dataset`, or image → its concepts, if the queries are the corpus.
        query: one of the queries.
        above, below: two images of the corpus, the first expected to rank above the second; if it does not, the
            difference is negative. By default, the best image of the ideal ranking, and the first of the ranking;
            without a ranking, the best image with a smaller gain.
        ranking: of these images, in any form that `cuihop.evaluate` takes.
        k: the cut-off of DCG@K.
        graph, nearness, near: as in `cuihop.evaluate`; hops go from a concept of the query.
        look: as in `explain_pair`.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier of any image cannot be used.
        InputError: a parameter or an image is not as expected, or the ranking has no list for the query.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> found = explain_query(images, "vein", graph, above="vessel", below="head", ranking={"vein": ["head", "vessel"]})
    >>> found.nn_iou_above, found.difference, round(found.ranked.cost, 4)
    (Standing(gain=0.5, rank=1, tied=0), 0.5, 0.1845)
    """
    k, nearness = checked_k(k), nearness.having(near)
    inputs = QueryImages.of(images, query, graph, ranking, nearness.unknown)
    inputs.check_images(above, below)
    hops = hops_to_corpus(inputs.concepts, inputs.images, graph, nearness.n, nearness.direction)
    similarities = similarities_of(hops, graph, nearness)
    gains = QueryGains.of(query, inputs.concepts, inputs.images, hops, nearness.n, similarities)

    def pair(image: str) -> Explanation:
        return explain_pair(
            inputs.images.queries[query], inputs.images.corpus[image], graph, nearness, look=look,
            titles=(query, image),
        )  # fmt: skip

    nn_iou, iou = gains.gains(nearness.n, nearness.lam, nearness.weight), gains.gains(0, 0.0)
    ideal, ideal_iou = gains.ideal(nn_iou), gains.ideal(iou)
    above, below = inputs.selected_images(above, below, nn_iou, ideal)
    row_above, row_below = inputs.rows[above], inputs.rows[below]
    return QueryExplanation(
        query=query,
        above=above,
        below=below,
        corpus=len(gains.others),
        pair_above=pair(above),
        pair_below=pair(below),
        nn_iou_above=_standing(row_above, nn_iou, ideal),
        nn_iou_below=_standing(row_below, nn_iou, ideal),
        iou_above=_standing(row_above, iou, ideal_iou),
        iou_below=_standing(row_below, iou, ideal_iou),
        ranked=None if inputs.ranked is None else _ranked_pair(inputs, (row_above, row_below), gains, nn_iou, ideal, k),
        inputs=inputs.accounts,
    )


def _standing(row: int, gains: Float64, ideal: Int64) -> Standing:
    return Standing(gain=float(gains[row]), rank=rank_of(row, ideal), tied=int((gains[ideal] == gains[row]).sum()) - 1)


def rank_of(row: int, ranked: Int64) -> int:
    """The rank, from 1, of a row of the corpus that the ranking lists."""
    return int(np.flatnonzero(ranked == row)[0]) + 1


def _ranked_pair(
    inputs: QueryImages, rows: tuple[int, int], gains: QueryGains, values: Float64, ideal: Int64, k: int
) -> RankedPair:
    ranked = ideal[:0] if inputs.ranked is None else inputs.ranked
    weights = 1.0 / np.log2(np.arange(1, min(k, len(values)) + 1) + 1)

    def weight(rank: int | None) -> float:
        return float(weights[rank - 1]) if rank is not None and rank <= k else 0.0

    dcg, idcg, ndcg = dcg_of_query(values, ranked, ideal, k)
    of_above, of_below = (rank_of(row, ranked) if row in ranked else None for row in rows)
    better, worse = sorted(((values[rows[0]], weight(of_above)), (values[rows[1]], weight(of_below))), reverse=True)
    cost = float((better[0] - worse[0]) * max(0.0, worse[1] - better[1]))

    def at(ranking: Int64, index: int) -> tuple[str | None, float]:
        if index >= len(ranking):
            return None, 0.0
        return gains.names[ranking[index]], float(values[ranking[index]])

    last = min(k, max(len(ranked), len(ideal)))
    return RankedPair(
        source=inputs.source,
        length=len(ranked),
        rank_above=of_above,
        rank_below=of_below,
        k=k,
        dcg=dcg,
        idcg=idcg,
        ndcg=ndcg,
        cost=cost,
        cost_ndcg=cost / idcg if idcg > 0.0 else 0.0,
        ranks=tuple(
            Rank(index + 1, float(weights[index]), *at(ranked, index), *at(ideal, index)) for index in range(last)
        ),
    )


def dcg_of_query(values: Float64, ranked: Int64, ideal: Int64, k: int) -> tuple[float, float, float]:
    """DCG@K, IDCG@K and nDCG@K of one query; ranks beyond the end of a ranking have gain 0.

    Args:
        values: float64: the gain of each image of the corpus.
        ranked, ideal: rows of the corpus, best first.
        k: the cut-off.
    """
    depth = min(k, len(values))

    def cumulated(ranking: Int64) -> Float64:
        filled = np.zeros(depth, dtype=np.float64)
        first = values[ranking[:depth]]
        filled[: len(first)] = first
        return cumulated_gains(filled)[-1:]

    dcg, idcg = cumulated(ranked), cumulated(ideal)
    return float(dcg[0]), float(idcg[0]), float(normalised(dcg, idcg)[0])
