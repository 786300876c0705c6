"""Seconds per query (the paper's Fig. 4): compiled, and by the paper's algorithms in plain Python sets."""
# ruff: noqa: N803, N806 - A, B and K are the paper's symbols

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import BY_SIMILARITY, pair_similarities
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.cores import cores
from cuihop.resources.resources import Resources
from cuihop.study.cross_evaluation import ranked_by
from cuihop.study.inputs import DEPTH, ProgressOf, StudyInputs

Near = Callable[[str, str], bool]
Weighted = Callable[[str, str], float]
"""The weight of a pair of concepts: λ^d of d hops, or λ times their similarity; 0 if they are not near."""

Gain = Callable[[AbstractSet[str], AbstractSet[str]], float]


def rel(A: AbstractSet[str], B: AbstractSet[str], near: Near) -> set[str]:
    """Algorithm 1: the concepts of only one set that have one of the other within n hops."""
    shared = A & B
    near_concepts: set[str] = set()
    for a in A:
        for b in B:
            if near(a, b):
                if a not in shared:
                    near_concepts.add(a)
                if b not in shared:
                    near_concepts.add(b)
    return near_concepts


def gain(A: AbstractSet[str], B: AbstractSet[str], near: Near | None, lam: float) -> float:
    """Equation 2; IoU without ``near``."""
    union = A | B
    related = 0 if near is None else len(rel(A, B, near))
    return (len(A & B) + lam * related) / len(union) if union else 0.0


def gain_by_weight(A: AbstractSet[str], B: AbstractSet[str], weight: Weighted) -> float:
    """`gain` with a weight of each pair: a concept earns the largest weight that it has with one of the other set."""
    shared, union = A & B, A | B
    earned = 0.0
    for concepts, others, between in ((A - shared, B, weight), (B - shared, A, lambda b, a: weight(a, b))):
        for concept in sorted(concepts):
            earned += max((between(concept, other) for other in others), default=0.0)
    return (len(shared) + earned) / len(union) if union else 0.0


def ndcg(
    query: str, images: Mapping[str, AbstractSet[str]], ranking: Sequence[str], K: int, gain_of: Gain,
    query_image: QueryImage = "exclude",
) -> float:  # fmt: skip
    """Algorithm 2 for one query, left out of its corpus or kept there; 0 if no image has a gain."""
    A = images[query]
    gains = {image: gain_of(A, B) for image, B in images.items() if image != query or query_image == "include"}
    best = sorted(gains.values(), reverse=True)[:K]
    idcg = math.fsum(value / math.log2(j + 1) for j, value in enumerate(best, start=1))
    dcg = math.fsum(gains[image] / math.log2(j + 1) for j, image in enumerate(ranking[:K], start=1))
    return dcg / idcg if idcg > 0 else 0.0


_WARMING = 40


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of one implementation of a measure.

    Attributes:
        way: name of the implementation: compiled, or one in plain Python.
        seconds: per query, with everything that the implementation needs: the graph's answers too.
        difference: the largest difference of a query's value from that of the compiled measure.
    """

    measure: str
    way: str
    seconds: float
    queries: int
    difference: float


def costs(inputs: StudyInputs, timed: int, progress_of: ProgressOf) -> list[Cost]:
    """Time CUI@30 and nn-CUI@30 of the ranking by nn-IoU, on all queries; in plain Python on some, at random."""
    few = ImageConcepts(dict(list(inputs.images.items())[:_WARMING]), derived=True)
    _timed(inputs, few, 1, progress_of)  # code is compiled or loaded
    return _timed(inputs, inputs.images, timed, progress_of)


def _timed(inputs: StudyInputs, images: ImageConcepts, timed: int, progress_of: ProgressOf) -> list[Cost]:
    resources = dataclasses.replace(inputs.resources, progress=progress_of("ranked by nn-iou"), cluster=None)
    ranking = ranked_by("nn-iou", inputs, images, resources=resources)
    threads = inputs.resources.threads or cores()
    measured = []
    values = {}
    for family in ("CUI", "nn-CUI"):
        seconds, values[family] = _compiled(family, images, ranking, inputs)
        way = f"compiled, {threads} thread{'' if threads == 1 else 's'}"
        measured.append(Cost(f"{family}@{DEPTH}", way, seconds / len(images), len(images), 0.0))
    names = list(images)
    rows = np.random.default_rng(inputs.seed).choice(len(names), min(timed, len(names)), replace=False)
    sample = [names[row] for row in sorted(rows.tolist())]
    progress = progress_of("timed in plain Python")
    collection = ImageCollection.of(images, inputs.graph, inputs.nearness.unknown)
    sets = dict(zip(collection.query_names, collection.query_sets, strict=True))
    for done, (family, way, prepare) in enumerate(_IMPLEMENTATIONS, start=1):
        before = time.perf_counter()
        gain_of = prepare(inputs, collection)
        preparing = time.perf_counter() - before
        lists = [ranking[query] for query in sample]
        before = time.perf_counter()
        scored = [
            ndcg(query, sets, listed, DEPTH, gain_of, inputs.query_image)
            for query, listed in zip(sample, lists, strict=True)
        ]
        seconds = (time.perf_counter() - before) / len(sample) + preparing / len(names)
        apart = (abs(values[family][query] - value) for query, value in zip(sample, scored, strict=True))
        measured.append(Cost(f"{family}@{DEPTH}", way, seconds, len(sample), max(apart, default=0.0)))
        progress(done, len(_IMPLEMENTATIONS))
    return measured


def _compiled(
    family: str, images: ImageConcepts, ranking: Ranking, inputs: StudyInputs
) -> tuple[float, Mapping[str, float]]:
    """Seconds, and the value of each query."""
    before = time.perf_counter()
    evaluation = evaluate(
        images, ranking, inputs.graph, measures=f"{family}@{DEPTH}", nearness=inputs.nearness,
        query_image=inputs.query_image, resources=Resources(inputs.resources.threads),
    )  # fmt: skip
    seconds = time.perf_counter() - before
    return seconds, dict(zip(evaluation.queries, evaluation.values[:, 0].tolist(), strict=True))


def _no_graph(inputs: StudyInputs, images: ImageCollection) -> Gain:
    return lambda A, B: gain(A, B, None, 0.0)


def _prepared(inputs: StudyInputs, images: ImageCollection) -> Gain:
    """With the near concepts of each concept among those of the images in a dictionary, as the paper proposes."""
    isolated = images.resolved.isolated
    in_graph = sorted({concept for concepts in images.query_sets for concept in concepts} - isolated)
    pack = inputs.graph.pack(in_graph, hops=inputs.nearness.n, direction=inputs.nearness.direction)
    near = {
        cui: {
            pack.cuis[index]: hops
            for index, hops in zip(pack.indices[begin:end].tolist(), pack.hops[begin:end].tolist(), strict=True)
        }
        for cui, (begin, end) in zip(pack.cuis, pairwise(pack.indptr.tolist()), strict=True)
    }
    lam = inputs.nearness.lam
    if inputs.nearness.weight == "hops":
        powers = {cui: {other: lam**hops for other, hops in around.items()} for cui, around in near.items()}
        return lambda A, B: gain_by_weight(A, B, lambda a, b: powers.get(a, {}).get(b, 0.0))
    if inputs.nearness.weight in BY_SIMILARITY:
        pairs = [(a, b) for a, around in near.items() for b in around]
        values = pair_similarities(inputs.graph, pairs, inputs.nearness.weight, inputs.nearness.ic)
        weights = dict(zip(pairs, (lam * values).tolist(), strict=True))
        return lambda A, B: gain_by_weight(A, B, lambda a, b: weights.get((a, b), 0.0))
    return lambda A, B: gain(A, B, lambda a, b: b in near.get(a, (a,)), lam)


def _on_the_fly(inputs: StudyInputs, images: ImageCollection) -> Gain:
    """With one call of the graph for each pair of concepts."""
    isolated, graph, n, direction = images.resolved.isolated, inputs.graph, inputs.nearness.n, inputs.nearness.direction

    def hops(a: str, b: str) -> int | None:
        if a == b or a in isolated or b in isolated:
            return 0 if a == b else None
        return graph.distance(a, b, direction=direction, max_hops=n)

    lam, weight, ic = inputs.nearness.lam, inputs.nearness.weight, inputs.nearness.ic
    if weight == "constant":
        return lambda A, B: gain(A, B, lambda a, b: hops(a, b) is not None, lam)

    def weight_of(a: str, b: str) -> float:
        between = hops(a, b)
        if between is None:
            return 0.0
        return lam**between if weight == "hops" else lam * float(pair_similarities(graph, [(a, b)], weight, ic)[0])

    return lambda A, B: gain_by_weight(A, B, weight_of)


# In the order and by the names of the paper's Fig. 4.
_IMPLEMENTATIONS: tuple[tuple[str, str, Callable[[StudyInputs, ImageCollection], Gain]], ...] = (
    ("CUI", "Python", _no_graph),
    ("nn-CUI", "Python, offline", _prepared),
    ("nn-CUI", "Python, on the fly", _on_the_fly),
)
