"""The inputs of an explanation of a query, checked, and the gains of every image of the corpus for any n and λ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.collection.dataset import DataLike
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.errors import InputError
from cuihop.evaluation.collect import RankingLike, ranking_of_images
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.nearness import (
    BY_SIMILARITY,
    Nearness,
    Weight,
    credit_of_near,
    pair_similarities,
    strengths_of_near,
)
from cuihop.measures.resolution import Unknown
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import Float64, Int64


@dataclass(frozen=True, eq=False)
class QueryImages:
    """A query, and the collection around it.

    Attributes:
        rows: name of each image of the corpus → its row.
        ranked: int64: rows of the corpus that a ranking lists for the query, best first; ``None`` without one.
        source: of the ranking. accounts: role of each input → summary of its parsing.
    """

    images: ImageCollection
    query: str
    concepts: frozenset[str]
    rows: Mapping[str, int]
    ranked: Int64 | None
    source: str
    accounts: Mapping[str, str]

    @classmethod
    def of(
        cls,
        images: DataLike,
        query: str,
        graph: ConceptGraph,
        ranking: RankingLike | None,
        unknown: Unknown,
    ) -> QueryImages:
        """Check the arguments of `cuihop.explanation.explain_query`, which has the errors too."""
        collection = ImageCollection.of(images, graph, unknown)
        if query not in collection.queries:
            raise _no_image(query, "query", collection.queries)
        rows = {name: row for row, name in enumerate(collection.corpus_names)}
        ranked, source = None, ""
        accounts = {
            "concepts": collection.queries.account,
            **({} if collection.one else {"corpus": collection.corpus.account}),
        }
        if ranking is not None:
            if isinstance(ranking, Mapping) and not isinstance(ranking, Ranking):
                lists = ranking_of_images({query: ranking[query]} if query in ranking else {}, collection)
            else:
                lists = ranking_of_images(ranking, collection)
            if isinstance(lists, Ranking) and query in lists.missing:
                raise InputError("no ranking for the query", file=lists.source, found=quoted(query))
            listed = lists[query] if isinstance(lists, Ranking) else lists.list_of(query)
            ranked = np.array([rows[image] for image in listed], dtype=np.int64)
            source = lists.source
            accounts["ranking"] = lists.account
        concepts = collection.resolved.concepts(collection.queries[query])
        return cls(collection, query, concepts, rows, ranked, source, accounts)

    def check_images(self, above: str | None, below: str | None) -> None:
        """Check the images to compare, if they are named."""
        for image, role in ((above, "above"), (below, "below")):
            if image is not None and image not in self.rows:
                raise _no_image(image, role, self.images.corpus)
            if image == self.query:
                raise InputError("the query takes no part in its own ranking", column=role, found=quoted(image))
        if above is not None and above == below:
            raise InputError("one image twice", column="below", found=quoted(above), expected="two images to compare")

    def selected_images(self, above: str | None, below: str | None, gains: Float64, ideal: Int64) -> tuple[str, str]:
        """The images to compare, selected as `cuihop.explanation.explain_query` says if one is not named.

        ``gains`` are those of each image of the corpus; ``ideal`` are rows of the corpus, best first.
        """
        names = self.images.corpus_names
        above = above or self._first([names[row] for row in ideal], below)
        fewer = ideal[gains[ideal] < gains[self.rows[above]]]
        listed = ideal[:0] if self.ranked is None else self.ranked
        return above, below or self._first([names[row] for row in (*listed, *fewer, *ideal)], above)

    def _first(self, images: Iterable[str], other: str | None) -> str:
        """The first of these images that is not the other one."""
        for image in images:
            if image != other:
                return image
        raise InputError(
            "nothing to compare", column="query", found=quoted(self.query), expected="two other images in the corpus"
        )


def _no_image(image: str, role: str, images: ImageConcepts) -> InputError:
    return InputError(
        "no such image", column=role, found=quoted(str(image)),
        expected=f"one of the {len(images):,} images of {images.source}",
        advice=cause_of_strange_name(str(image), images),
    )  # fmt: skip


Hops = Mapping[tuple[str, str], int]
"""(concept of the query, concept of the corpus) → hops between them; pairs farther apart are absent."""

Similarities = Mapping[tuple[str, str], float]
"""The same pairs → their similarity."""


@dataclass(frozen=True, eq=False)
class QueryGains:
    """Counts of concepts between a query and each image of a corpus, from which nn-IoU follows.

    Attributes:
        others: int64: rows of the images without the query, by name, the order of equal gains.
        shared, union: int64, shape (images,): sizes of intersection and union.
        near: int64, shape (images, largest n + 1): concepts that are near within 0, 1, … hops.
        similar: float64, same shape: for a weight by similarity, the sum of their largest similarities.
    """

    names: tuple[str, ...]
    others: Int64
    shared: Int64
    union: Int64
    near: Int64
    similar: Float64 | None = None

    @classmethod
    def of(
        cls, query: str, concepts: frozenset[str], images: ImageCollection, hops: Hops, largest: int,
        similarities: Similarities | None = None,
    ) -> QueryGains:  # fmt: skip
        """Count the concepts of every image; ``hops`` from the query's concepts are complete up to the largest n.

        For a weight by similarity, ``similarities`` are those of the same pairs.
        """
        nearest: dict[str, int] = {}
        around: dict[str, list[tuple[int, str]]] = {}
        for (own, other), distance in hops.items():
            nearest[other] = min(distance, nearest.get(other, distance))
            around.setdefault(own, []).append((distance, other))
        for nearby in around.values():
            nearby.sort()
        counted: dict[frozenset[str], tuple[int, int, list[int]]] = {}
        for held in images.corpus_sets:
            if held not in counted:
                distances = [
                    *(nearest[b] for b in held - concepts if b in nearest),
                    *(d for a in concepts - held if (d := _first(around.get(a, ()), held)) is not None),
                ]
                within = [sum(d <= n for d in distances) for n in range(largest + 1)]
                counted[held] = len(held & concepts), len(held | concepts), within
        rows = [counted[held] for held in images.corpus_sets]
        names = images.corpus_names
        return cls(
            names,
            np.array(sorted((i for i, n in enumerate(names) if n != query), key=names.__getitem__), dtype=np.int64),
            np.array([shared for shared, _, _ in rows], dtype=np.int64),
            np.array([union for _, union, _ in rows], dtype=np.int64),
            np.array([near for _, _, near in rows], dtype=np.int64),
            None if similarities is None else _similar(concepts, images, hops, similarities, largest),
        )

    def gains(self, n: int, lam: float, weight: Weight = "constant") -> Float64:
        """The nn-IoU of every image with the query: float64, shape (images,)."""
        if weight in BY_SIMILARITY and self.similar is not None:
            columns = self.shared.tolist(), self.similar[:, n].tolist(), self.union.tolist()
            return np.array([nn_iou_of_counts(*row, lam) for row in zip(*columns, strict=True)], dtype=np.float64)
        near = np.diff(self.near[:, : n + 1], axis=1)
        counts = np.column_stack([self.shared, self.union, near])
        distinct, which = np.unique(counts, axis=0, return_inverse=True)
        values = [
            nn_iou_of_counts(shared, credit_of_near(_repeated(by_hops), [], lam, weight), union, 1.0)
            for shared, union, *by_hops in distinct.tolist()
        ]
        return np.array(values, dtype=np.float64)[which.ravel()]

    def ideal(self, gains: Float64) -> Int64:
        """The rows of `others`, best first; equal gains by name."""
        return self.others[np.argsort(-gains[self.others], kind="stable")]


def _repeated(counts: Sequence[int]) -> list[int]:
    """Each of 1, 2, … as often as its count says."""
    return [hops for hops, count in enumerate(counts, start=1) for _ in range(count)]


def _similar(
    concepts: frozenset[str], images: ImageCollection, hops: Hops, similarities: Similarities, largest: int
) -> Float64:
    """Sums of the largest similarities of near concepts within 0, 1, … hops: float64, shape (images, largest n + 1)."""
    sums: dict[frozenset[str], list[float]] = {held: [] for held in images.corpus_sets}
    for n in range(largest + 1):
        within = {pair: value for pair, value in similarities.items() if hops.get(pair, n + 1) <= n}
        for held, earned in sums.items():
            earned.append(credit_of_near(*strengths_of_near(concepts, held, within, "Lin"), 1.0, "Lin"))
    return np.array([sums[held] for held in images.corpus_sets], dtype=np.float64)


def _first(by_distance: Sequence[tuple[int, str]], held: Collection[str]) -> int | None:
    """The distance of the nearest concept in ``held``."""
    return next((distance for distance, cui in by_distance if cui in held), None)


def hops_to_corpus(
    concepts: frozenset[str], images: ImageCollection, graph: ConceptGraph, largest: int, direction: Direction
) -> Hops:
    """The distances from a query's concepts to those of a corpus, up to ``largest`` hops, in one batch."""
    isolated = images.resolved.isolated
    held = frozenset().union(*images.corpus_sets) - isolated
    pairs = [(a, b) for a in sorted(concepts - isolated) for b in sorted(held) if a != b]
    distances = graph.distances(pairs, direction=direction, max_hops=largest)
    return {pair: hops for pair, hops in zip(pairs, distances, strict=True) if hops is not None}


def similarities_of(hops: Hops, graph: ConceptGraph, nearness: Nearness) -> Similarities | None:
    """The similarity of each pair within n hops, for a weight by similarity; ``None`` for another."""
    if nearness.weight not in BY_SIMILARITY:
        return None
    pairs = list(hops)
    return dict(zip(pairs, pair_similarities(graph, pairs, nearness.weight, nearness.ic).tolist(), strict=True))
