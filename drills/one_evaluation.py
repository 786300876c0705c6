"""Drill: evaluations, single nn-IoU and similarities of random collections, against the definitions written out."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from collections_made import networkx_distance
from cuihop import (
    ConceptGraph,
    Dataset,
    Evaluation,
    ManyUnknownConcepts,
    Nearness,
    Resources,
    SnapshotGraph,
    connect,
    evaluate,
    nn_iou,
)
from cuihop.graph import DIRECTIONS, Direction
from cuihop.measures.nearness import Weight
from cuihop.similarity.options import SIMILARITY_MEASURES, InformationContent, SimilarityOptions
from cuihop.snapshot.index_builder import build_index
from cuihop_server import running_service
from cuihop_service.graph_holder import ServedGraph
from drills.drawn_release import DrawnRelease, drawn_release
from drills.drill import Case, Found, Setting
from literal_algorithms import ndcg_of_each_query, nn_iou_by_similarity, weighted_nn_iou
from literal_algorithms import nn_iou as literal_nn_iou
from literal_similarity import LiteralHierarchy

_STRANGER = "C9999999"
_CUT_OFFS = (1, 3, 10)
_TOLERANCE = 1e-12
OF_HOPS: tuple[Weight, ...] = ("constant", "hops")
OF_SIMILARITY: tuple[Weight, ...] = ("Lin", "Wu-Palmer")
_CONTENTS: tuple[InformationContent, ...] = ("Sanchez", "Seco", "corpus")

Sets = dict[str, frozenset[str]]
Gain = Callable[[frozenset[str], frozenset[str]], float]


class Conditions(NamedTuple):
    """Conditions of an evaluation."""

    n: int
    lam: float
    direction: Direction
    weight: Weight


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """One service a process, which serves each graph in turn."""
    with running_service(SnapshotGraph.of([])) as service, warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyUnknownConcepts)

        def case(rng: random.Random) -> Found:
            drawn = drawn_release(rng, most=14)
            edges = sorted(drawn.edges)
            searched = SnapshotGraph.of(edges, concepts=drawn.nodes, identifiers="cui")
            indexed = SnapshotGraph(searched.sections)
            indexed.use_index(build_index(indexed, roots=rng.choice((0, 1, 16))))
            service.holder.serve(ServedGraph(indexed.release, index=indexed))
            with connect(service.http) as http, connect(service.grpc) as grpc:
                ways: dict[str, ConceptGraph] = {"search": searched, "index": indexed, "HTTP": http, "gRPC": grpc}
                wrong: list[str] = []
                count = sum(evaluated(drawn, ways, rng, wrong) for _ in range(5))
                return Found(count + _similar(drawn, searched, rng, wrong), wrong)

        yield case


def evaluated(
    drawn: DrawnRelease, ways: dict[str, ConceptGraph], rng: random.Random, wrong: list[str],
    weights: Sequence[Weight] = (*OF_HOPS, *OF_SIMILARITY),
) -> int:  # fmt: skip
    """An evaluation and a single nn-IoU of a collection, with one of these weights, by all ways."""
    conditions = Conditions(
        rng.randrange(5), rng.choice((0.0, 0.2, 0.5, 1 / 3, 1.0)), rng.choice(DIRECTIONS), rng.choice(weights)
    )
    images = _images(drawn, rng)
    queries = images if rng.random() < 0.5 else _images(drawn, rng)
    ranking = {query: rng.sample(sorted(images), rng.randint(0, len(images))) for query in queries}
    gain = _gain(drawn, conditions)
    expected = {k: ndcg_of_each_query(queries, images, ranking, k, gain) for k in _CUT_OFFS}
    nearness = Nearness(conditions.n, conditions.lam, conditions.direction, "isolated", conditions.weight)
    bits = set()
    for name, graph in ways.items():
        found = evaluate(
            Dataset(queries, images), ranking, graph, measures=f"nn-CUI@{','.join(map(str, _CUT_OFFS))}",
            nearness=nearness, missing="zero", resources=Resources(threads=rng.choice((1, 2))),
        )  # fmt: skip
        bits.add(found.values.tobytes())
        wrong += [f"{name}: {text}" for text in _differences(found, expected, conditions)]
    if len(bits) > 1:
        wrong.append(f"the bits of {', '.join(ways)} differ: {conditions}")
    a, b = rng.choice(sorted(images)), rng.choice(sorted(queries))
    A, B = queries[b], images[a]
    right = gain(A, B)
    for name, graph in ways.items():
        single = nn_iou(A, B, graph, **conditions._asdict(), unknown="isolated")
        if not math.isclose(single, right, abs_tol=_TOLERANCE):
            wrong.append(f"{name}: nn-IoU of {sorted(A)} and {sorted(B)}: {single} in place of {right}: {conditions}")
    return len(ways)


def _images(drawn: DrawnRelease, rng: random.Random) -> Sets:
    """Some images with up to six concepts, equal sets, empty sets and unknown concepts among them."""
    some = [frozenset(rng.sample([*drawn.nodes, _STRANGER], rng.randrange(min(7, len(drawn.nodes))))) for _ in range(6)]
    images = {f"image {number}": rng.choice(some) for number in range(rng.randint(1, 12))}
    images["image 0"] = frozenset(drawn.nodes[:1])  # a collection of which the graph knows nothing is refused
    return images


def _gain(drawn: DrawnRelease, conditions: Conditions) -> Gain:
    distance = networkx_distance(drawn.nodes, sorted(drawn.edges), conditions.direction)
    n, lam, _, weight = conditions
    if weight == "constant":
        return lambda A, B: literal_nn_iou(A, B, distance, n, lam)
    if weight == "hops":
        return lambda A, B: weighted_nn_iou(A, B, distance, n, lam)
    literal = LiteralHierarchy(drawn.nodes, sorted(drawn.edges), {})

    def similarity(a: str, b: str) -> float:
        return literal.value(a, b, weight, "Sanchez") or 0.0

    return lambda A, B: nn_iou_by_similarity(A, B, distance, similarity, n, lam)


def _differences(
    found: Evaluation, expected: dict[int, dict[str, float | None]], conditions: Conditions
) -> Iterator[str]:
    for column, measure in enumerate(found.measures):
        right = expected[measure.k or 0]
        for query, value in zip(found.queries, found.values[:, column].tolist(), strict=True):
            if not math.isclose(value, right[query] or 0.0, abs_tol=_TOLERANCE):
                yield f"{measure} of {query}: {value} in place of {right[query]}: {conditions}"


def _similar(drawn: DrawnRelease, graph: SnapshotGraph, rng: random.Random, wrong: list[str]) -> int:
    """Every measure of similarity of all pairs; all of them count as one evaluation each."""
    counts = {cui: float(rng.randint(1, 5)) for cui in rng.sample(drawn.nodes, 2)}
    literal = LiteralHierarchy(drawn.nodes, sorted(drawn.edges), counts)
    pairs = [(a, b) for a in drawn.nodes for b in drawn.nodes]
    for measure in SIMILARITY_MEASURES:
        ic = rng.choice(_CONTENTS)
        found = graph.hierarchy.similarities(pairs, SimilarityOptions(measure, ic, counts if ic == "corpus" else {}))
        for (a, b), value in zip(pairs, found, strict=True):
            right = literal.value(a, b, measure, ic)
            same = value is right is None or (
                value is not None and right is not None and math.isclose(value, right, rel_tol=1e-12, abs_tol=1e-12)
            )
            if not same:
                wrong.append(f"{measure} ({ic}) of {a} and {b}: {value} in place of {right}")
    return len(SIMILARITY_MEASURES)
