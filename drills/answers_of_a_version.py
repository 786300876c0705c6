"""Answers of one small graph, with their bits, as JSON: ``python drills/answers_of_a_version.py FOLDER``.

Another interpreter, other versions of the dependencies or another processor run it; it needs nothing but cuihop. The
folder gets the files of the graph; a file that is there is read. Answers that differ between versions on purpose are
not among these.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import cuihop
from cuihop import SnapshotGraph, connect, evaluate

CONCEPTS = [f"C{number:07d}" for number in range(1, 61)]


def edges() -> list[tuple[str, str]]:
    """A tree with further parents, of more than one component."""
    rng = random.Random(7)
    drawn = {(CONCEPTS[place], CONCEPTS[rng.randrange(place)]) for place in range(1, 55) for _ in range(2)}
    return sorted((child, parent) for child, parent in drawn if child != parent)


def images() -> dict[str, frozenset[str]]:
    """Concepts of the images of a collection."""
    rng = random.Random(8)
    return {f"image-{number:02d}": frozenset(rng.sample(CONCEPTS, rng.randrange(1, 7))) for number in range(24)}


def answers_of(graph: cuihop.ConceptGraph) -> dict[str, object]:
    """Distances, neighbours, paths and values; numbers with a fraction as their bits."""
    pairs = [(a, b) for a in CONCEPTS[::2] for b in CONCEPTS[::3]]
    collection = images()
    ranking = {query: [other for other in sorted(collection) if other != query][::-1] for query in collection}
    found: dict[str, object] = {
        way: list(graph.distances(pairs, direction=way).to_list())
        for way in ("any", "up", "down")
    }  # fmt: skip
    found["neighbours"] = [[one.cui, one.hops] for one in graph.neighbours([CONCEPTS[3]], hops=2)[0]]
    path = graph.path(CONCEPTS[5], CONCEPTS[50])
    found["path"] = None if path is None else list(path.cuis)
    measures = ["nn-CUI@1", "nn-CUI@3", "nn-CUI@10"]
    found["values"] = evaluate(collection, ranking, graph, measures=measures).values.tobytes().hex()
    return found


def main() -> None:
    """Answer from a graph in memory, from the file of it, and with the index beside that; or from an address."""
    if "://" in sys.argv[1]:
        with connect(sys.argv[1]) as graph:
            print(json.dumps({"served": answers_of(graph)}))
        return
    file = Path(sys.argv[1]) / "graph.cuihop"
    found = {}
    if not file.exists():
        graph = SnapshotGraph.of(edges(), concepts=CONCEPTS)
        found["memory"] = answers_of(graph)
        graph.save(file)
    with connect(str(file)) as graph:
        found["file"] = answers_of(graph)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
