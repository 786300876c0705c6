"""The test vectors in docs/test-vectors, computed by the literal algorithms alone: run this file to write them again.

No compiled code and no graph of cuihop takes part: distances come from a plain breadth-first search below.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import literal_algorithms as literal
from literal_algorithms import Distance

FILE = Path(__file__).parents[1] / "docs" / "test-vectors" / "vectors.json"

A, B, C, D, E, F, G, ALONE, UNKNOWN, OTHER_UNKNOWN, OLD, OLDER, DELETED = (
    f"C{number:07d}" for number in (1, 2, 3, 4, 5, 6, 7, 50, 9999991, 9999992, 9000001, 9000002, 9000003)
)
VEINS, VESSELS, STEM, BRAIN, BETWEEN, HEAD = "C0042449", "C0005847", "C0006121", "C0006104", "C0926510", "C0018670"

GRAPHS: dict[str, dict[str, Any]] = {
    "chain": {"concepts": [ALONE], "edges": [[A, B], [B, C], [C, D], [D, E]]},
    "two-parents": {"concepts": [], "edges": [[A, B], [A, C], [B, D], [C, E], [E, D], [F, D]]},
    "cycle-and-self-loop": {"concepts": [], "edges": [[A, B], [B, C], [C, A], [D, A], [D, D]]},
    "siblings": {"concepts": [], "edges": [[B, A], [C, A], [D, A], [E, A], [G, F]]},
    "paper": {"concepts": [], "edges": [[VEINS, VESSELS], [STEM, BRAIN], [BRAIN, BETWEEN], [HEAD, BETWEEN]]},
    "retired": {"concepts": [], "edges": [[A, B], [B, C]], "successors": {OLD: A, OLDER: C}, "deleted": [DELETED]},
}
"""Edges are pairs of child and parent."""

SETS: list[tuple[str, str, list[str], list[str]]] = [
    ("both sets empty", "chain", [], []),
    ("one set empty", "chain", [A, B], []),
    ("equal sets", "chain", [A, B, C], [A, B, C]),
    ("part of the other", "chain", [A], [A, B, E]),
    ("near by one hop", "chain", [A], [B]),
    ("near by two hops", "chain", [A], [C]),
    ("near by different hops", "chain", [A, E], [B, ALONE]),
    ("a shared concept is near", "chain", [A, B], [B, ALONE]),
    ("a concept is near to several", "chain", [C], [A, B, D, E]),
    ("several are near to one", "chain", [A, B, D, E], [C]),
    ("no path", "chain", [ALONE], [A, B]),
    ("two paths of two lengths", "two-parents", [A, F], [D]),
    ("up and down again", "two-parents", [B, F], [E, A]),
    ("around a cycle", "cycle-and-self-loop", [A], [C]),
    ("into a cycle", "cycle-and-self-loop", [D], [B, C]),
    ("siblings", "siblings", [B, C], [D, E, G]),
    ("two components", "siblings", [B, G], [A, F]),
    ("veins and blood vessels", "paper", [VEINS], [VESSELS]),
    ("brain stem and head", "paper", [STEM], [HEAD]),
    ("the worked third", "paper", [VESSELS, VEINS], [VESSELS, HEAD]),
    ("unknown in both", "chain", [UNKNOWN, A], [UNKNOWN, B]),
    ("unknown in one", "chain", [UNKNOWN, A], [B, OTHER_UNKNOWN]),
    ("nothing but unknown", "chain", [UNKNOWN], [UNKNOWN]),
    ("a retired concept and its successor", "retired", [OLD], [A, B]),
    ("two identifiers of one concept", "retired", [OLD, A, OLDER], [B]),
    ("retired without a successor", "retired", [DELETED, A], [DELETED, C]),
]

COLLECTIONS: dict[str, dict[str, Any]] = {
    "one collection": {
        "graph": "chain",
        "queries": {
            "a": [A, B],
            "b": [B, C],
            "c": [C],
            "d": [E, ALONE],
            "e": [],
            "f": [UNKNOWN, D],
            "g": [A, B],
            "h": [ALONE],
        },
        "corpus": None,
        "ranking": {
            "a": [["b", 3.0], ["c", 2.0], ["g", 1.0], ["d", 0.5]],
            "b": [["b", 9.0], ["d", 2.0], ["a", 2.0], ["c", 2.0]],
            "c": [["h", 1.0], ["g", 1.0], ["f", 1.0], ["e", 1.0], ["d", 1.0], ["b", 1.0], ["a", 1.0]],
            "d": [["h", 1.0]],
            "e": [["a", 1.0], ["b", 0.5]],
            "f": [["d", -1.0], ["c", -2.0], ["b", -2.5]],
            "g": [["e", 5.0], ["h", 4.0], ["a", 3.0]],
            "h": [["a", 1.0], ["b", 0.9], ["c", 0.8], ["d", 0.7], ["e", 0.6], ["f", 0.5], ["g", 0.4]],
        },
    },
    "queries and corpus": {
        "graph": "siblings",
        "queries": {"q": [B, C], "both": [D], "none": [G]},
        "corpus": {"x": [D], "y": [A, B], "both": [D], "z": [E, B, C], "w": []},
        "ranking": {
            "q": [["w", 2.0], ["x", 1.5], ["y", 1.0], ["z", 0.5]],
            "both": [["both", 4.0], ["z", 3.0], ["x", 2.0]],
            "none": [["x", 2.0], ["y", 1.0]],
        },
    },
}

PARAMETERS = [(0, 0.5), (1, 0.0), (1, 0.5), (1, 1.0), (2, 0.2), (3, 0.7)]
"""n and λ."""

DIRECTIONS = ("any", "up", "down", "vertical")


def distance(graph: Mapping[str, Any], direction: str) -> Distance:
    """Hops by a breadth-first search; None without a path, and for an identifier that is no concept of the graph."""
    if direction == "vertical":
        upwards, downwards = distance(graph, "up"), distance(graph, "down")

        def shorter(a: str, b: str) -> int | None:
            return min((hops for hops in (upwards(a, b), downwards(a, b)) if hops is not None), default=None)

        return shorter
    around: dict[str, set[str]] = {concept: set() for concept in graph["concepts"]}
    for child, parent in graph["edges"]:
        around.setdefault(child, set())
        around.setdefault(parent, set())
        if direction in ("any", "up"):
            around[child].add(parent)
        if direction in ("any", "down"):
            around[parent].add(child)

    def hops(a: str, b: str) -> int | None:
        reached = {a: 0}
        waiting = deque([a])
        while waiting:
            here = waiting.popleft()
            if here == b:
                return reached[here]
            for other in around.get(here, ()):
                if other not in reached:
                    reached[other] = reached[here] + 1
                    waiting.append(other)
        return None

    return hops


def resolved(graph: Mapping[str, Any], identifiers: Sequence[str], unknown: str) -> frozenset[str]:
    """Concepts of an image: successors of retired identifiers; others outside the graph kept or left out."""
    held = {*graph["concepts"], *itertools.chain.from_iterable(graph["edges"])}
    concepts = {graph.get("successors", {}).get(identifier, identifier) for identifier in identifiers}
    return frozenset(concept for concept in concepts if concept in held or unknown == "isolated")


def pair_cases() -> Iterator[dict[str, Any]]:
    """Measures of two sets, for every n, λ, direction and treatment of unknown identifiers."""
    for name, graph_name, a, b in SETS:
        graph = GRAPHS[graph_name]
        held = {*graph["concepts"], *itertools.chain.from_iterable(graph["edges"]), *graph.get("successors", {})}
        treatments = ["isolated"] if {*a, *b} <= held else ["isolated", "drop"]
        for unknown, direction in itertools.product(treatments, DIRECTIONS):
            sets = resolved(graph, a, unknown), resolved(graph, b, unknown)
            dist = distance(graph, direction)
            given = {"graph": graph_name, "A": a, "B": b, "direction": direction, "unknown": unknown}
            where = f"{name}/{direction}/{unknown}"
            if direction == "any":
                yield {"id": f"IoU/{where}", "measure": "IoU", **given, "value": literal.nn_iou(*sets, dist, 0, 0.0)}
            yield {"id": f"BM/{where}", "measure": "BM", **given, "value": literal.bipartite_matching(*sets, dist)}
            for n, lam in PARAMETERS:
                near = {"n": n, "lambda": lam}
                at = f"{where}/n={n}; λ={lam!r}"
                for weight, nn_iou in (("constant", literal.nn_iou), ("hops", literal.weighted_nn_iou)):
                    yield {"id": f"nn-IoU/{at}/{weight}", "measure": "nn-IoU", **given, **near, "weight": weight,
                           "value": nn_iou(*sets, dist, n, lam)}  # fmt: skip
                scores = literal.nn_f1(*sets, dist, n, lam)
                for measure, value in zip(("nn-precision", "nn-recall", "nn-F1"), scores, strict=True):
                    yield {"id": f"{measure}/{at}", "measure": measure, **given, **near, "value": value}


def retrieval_cases() -> Iterator[dict[str, Any]]:
    """CUI@K and nn-CUI@K of each ranking, with the value of every query."""
    for name, collection in COLLECTIONS.items():
        graph = GRAPHS[collection["graph"]]
        ranking = {
            query: [image for image, _ in sorted(listed, key=lambda entry: (-entry[1], entry[0]))]
            for query, listed in collection["ranking"].items()
        }
        settings = [("CUI", 0, 0.0, "constant"), *(
            ("nn-CUI", n, lam, weight) for n, lam in PARAMETERS for weight in ("constant", "hops")
        )]  # fmt: skip
        for (measure, n, lam, weight), k, direction, unknown, empty in itertools.product(
            settings, (1, 3, 10), DIRECTIONS, ("isolated", "drop"), ("zero", "skip")
        ):
            if measure == "CUI" and direction != "any":
                continue
            if unknown == "drop" and (direction != "any" or k != 3 or name != "one collection"):
                continue  # the other unknown sets are none
            if (empty == "skip" or direction == "vertical") and k != 3:
                continue
            images = {
                side: {image: resolved(graph, concepts, unknown) for image, concepts in collection[side].items()}
                for side in ("queries", "corpus")
                if collection[side] is not None
            }
            corpus = images.get("corpus", images["queries"])
            dist = distance(graph, direction)

            def gain(
                A: frozenset[str], B: frozenset[str], dist: Distance = dist, n: int = n, lam: float = lam,
                weight: str = weight,
            ) -> float:  # fmt: skip
                return (literal.weighted_nn_iou if weight == "hops" else literal.nn_iou)(A, B, dist, n, lam)

            values = literal.ndcg_of_each_query(images["queries"], corpus, ranking, k, gain)
            scored = {query: 0.0 if value is None and empty == "zero" else value for query, value in values.items()}
            known = [value for value in scored.values() if value is not None]
            near = {} if measure == "CUI" else {"n": n, "lambda": lam, "weight": weight}
            at = "" if measure == "CUI" else f"/n={n}; λ={lam!r}/{weight}"
            yield {
                "id": f"{measure}@{k}/{name}/{direction}/{unknown}/{empty}{at}", "measure": f"{measure}@{k}",
                "collection": name, "direction": direction, "unknown": unknown, "empty_ideal": empty, **near,
                "value": math.fsum(known) / len(known) if known else None, "queries": scored,
            }  # fmt: skip


def text() -> str:
    """The file: one graph, one collection and one case a line."""

    def lines(rows: Sequence[str]) -> str:
        return ",\n".join(f"  {row}" for row in rows)

    def plain(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    graphs = [f"{plain(name)}: {plain(graph)}" for name, graph in GRAPHS.items()]
    collections = [f"{plain(name)}: {plain(each)}" for name, each in COLLECTIONS.items()]
    cases = list(map(plain, (*pair_cases(), *retrieval_cases())))
    return (
        f'{{"format": 1, "licence": "CC0-1.0", "tolerance": 1e-12,\n"graphs": {{\n{lines(graphs)}\n}},\n'
        f'"collections": {{\n{lines(collections)}\n}},\n"cases": [\n{lines(cases)}\n]}}\n'
    )


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
