"""How long one exact distance takes: cuihop's engines beside the libraries that people would take instead.

::

    python benchmarks/distances.py [--concepts 1000000] [--parents 3.44] [--no-index] [--json FILE]

The graph is a made hierarchy (`made_hierarchy`). Four kinds of pairs: random ones, near ones (2 to 4 random hops
apart), pairs without a path, and pairs of which one is a hub. Every peer's answers are compared with cuihop's first; a
difference ends the run. Peers that look at the whole graph for each distance are asked fewer pairs.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop import SnapshotGraph
from cuihop.index_builder import build_index, check_index
from cuihop.landmarks import LANDMARKS
from made_hierarchy import edges_of, made_hierarchy, shape

Pairs = list[tuple[str, str]]
Ask = Callable[[list[tuple[int, int]]], list[int | None]]

_SLOW = 20  # pairs for a peer that searches the whole graph
_QUICK = 200


def kinds_of_pairs(graph: SnapshotGraph, count: int) -> dict[str, Pairs]:
    """So many pairs of each kind, by name."""
    rng = np.random.default_rng(7)
    concepts = graph.release.concepts
    cuis = [f"C{number:07d}" for number in range(1, concepts + 1)]
    pick = rng.integers(2, concepts, (2, count))
    random_pairs = [(cuis[a], cuis[b]) for a, b in zip(*pick.tolist(), strict=True)]
    near = []
    for cui, steps in zip((a for a, _ in random_pairs), rng.integers(2, 5, count).tolist(), strict=True):
        here = cui
        for _ in range(steps):
            around = graph.neighbours([here], hops=1, limit=64)[0]
            here = around[int(rng.integers(0, len(around)))].cui
        near.append((cui, here))
    hubs = [cuis[place] for place in np.argsort(-np.diff(graph.sections["down_indptr"]))[:20].tolist()]
    return {
        "random": random_pairs,
        "near": near,
        "no path": [(a, "C0000001") for a, _ in random_pairs],
        "one a hub": [(a, hubs[i % len(hubs)]) for i, (a, _) in enumerate(random_pairs)],
    }


def timed(call: Callable[[], object]) -> float:
    """Seconds: the median of three."""
    spent = []
    for _ in range(3):
        before = time.perf_counter()
        call()
        spent.append(time.perf_counter() - before)
    return sorted(spent)[1]


def _each(distance: Callable[[int, int], int | None]) -> Ask:
    return lambda pairs: [distance(a, b) for a, b in pairs]


def _networkx(edges: npt.NDArray[np.int32], concepts: int) -> Ask:
    import networkx as nx

    of_networkx: nx.Graph[int] = nx.Graph()
    of_networkx.add_nodes_from(range(concepts))
    of_networkx.add_edges_from(edges.tolist())

    def by_networkx(a: int, b: int) -> int | None:
        try:
            return len(nx.bidirectional_shortest_path(of_networkx, a, b)) - 1
        except nx.NetworkXNoPath:
            return None

    return _each(by_networkx)


def _igraph(edges: npt.NDArray[np.int32], concepts: int) -> Ask:
    import igraph

    of_igraph = igraph.Graph(n=concepts, edges=edges)

    def by_igraph(a: int, b: int) -> int | None:
        hops = of_igraph.distances(a, b)[0][0]
        return None if hops == float("inf") else int(hops)

    return _each(by_igraph)


def _networkit(edges: npt.NDArray[np.int32], concepts: int) -> Ask:
    import networkit

    of_networkit = networkit.Graph(concepts)
    for a, b in edges.tolist():
        of_networkit.addEdge(a, b)

    def by_networkit(a: int, b: int) -> int | None:
        search: Any = networkit.distance.BidirectionalBFS(of_networkit, a, b, False)
        search.run()
        hops = search.getDistance()
        return int(hops) if hops < concepts else None

    return _each(by_networkit)


def _rustworkx(edges: npt.NDArray[np.int32], concepts: int) -> Ask:
    import rustworkx

    of_rustworkx: Any = rustworkx.PyGraph()
    of_rustworkx.add_nodes_from(range(concepts))
    of_rustworkx.add_edges_from_no_data([tuple(edge) for edge in edges.tolist()])

    def by_rustworkx(a: int, b: int) -> int | None:
        hops = rustworkx.graph_dijkstra_shortest_path_lengths(of_rustworkx, a, lambda _: 1.0, goal=b)
        return int(hops[b]) if b in hops else (0 if a == b else None)

    return _each(by_rustworkx)


def _scipy(edges: npt.NDArray[np.int32], concepts: int) -> Ask:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    of_scipy = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(concepts, concepts)).tocsr()

    def by_scipy(pairs: list[tuple[int, int]]) -> list[int | None]:
        answers: list[int | None] = []
        for a, b in pairs:
            hops = dijkstra(of_scipy, directed=False, unweighted=True, indices=a)[b]
            answers.append(None if np.isinf(hops) else int(hops))
        return answers

    return by_scipy


_MAKERS: dict[str, tuple[Callable[[npt.NDArray[np.int32], int], Ask], int]] = {
    "NetworkX": (_networkx, _QUICK),
    "igraph": (_igraph, _SLOW),
    "NetworKit": (_networkit, _QUICK),
    "rustworkx": (_rustworkx, _SLOW),
    "SciPy": (_scipy, _SLOW // 4),
}
"""Peer → what makes its asker, and how many pairs it is asked."""


def peers(
    edges: npt.NDArray[np.int32], concepts: int, only: Sequence[str] = tuple(_MAKERS)
) -> dict[str, tuple[Ask, int]]:
    """What others offer: name → how to ask for distances of numbered pairs, and how many pairs to ask at a time."""
    return {f"{name} {version(name)}": (_MAKERS[name][0](edges, concepts), _MAKERS[name][1]) for name in only}


def measured(graph: SnapshotGraph, pairs: Pairs) -> dict[str, float]:
    """Microseconds a pair: batched, batched within 2 hops, and call by call."""
    few = pairs[:2000]
    return {
        "batch": timed(lambda: graph.distances(pairs)) / len(pairs) * 1e6,
        "within 2": timed(lambda: graph.distances(pairs, max_hops=2)) / len(pairs) * 1e6,
        "one call": timed(lambda: [graph.distance(a, b) for a, b in few]) / len(few) * 1e6,
    }


def engines(graph: SnapshotGraph, *, with_index: bool) -> dict[str, SnapshotGraph]:
    """The graph as it is searched, with landmarks, and with an index."""
    graph.use_landmarks(0)
    graph.distances([("C0000001", "C0000002")] * 64)  # compiles
    past_landmarks = SnapshotGraph(graph.sections)
    past_landmarks.use_landmarks(1)
    past_landmarks.distances([("C0000001", "C0000002")])
    before = time.perf_counter()
    past_landmarks.use_landmarks()
    print(f"landmarks: made in {time.perf_counter() - before:.1f} s, {LANDMARKS * graph.release.concepts / 1e6:.0f} MB")
    if not with_index:
        return {"search": graph, "landmarks": past_landmarks}
    small = made_hierarchy(1000)
    check_index(small, build_index(small))  # compiles
    before, memory = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    index = build_index(graph)
    spent, more = time.perf_counter() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    facts = index.facts
    print(f"index: {facts['entries']:,} hubs, {facts['entries'] / facts['labels']:.1f} a label, "
          f"{facts['bytes'] / 1e6:,.0f} MB, made in {spent:.1f} s with {more / 1024:,.0f} MB more memory; "
          f"{check_index(graph, index):,} distances compared with searches")  # fmt: skip
    indexed = SnapshotGraph(graph.sections)
    indexed.use_index(index)
    indexed.distances([("C0000001", "C0000002")])
    return {"search": graph, "landmarks": past_landmarks, "index": indexed}


def compared(graph: SnapshotGraph, kinds: dict[str, Pairs], edges: npt.NDArray[np.int32]) -> list[dict[str, Any]]:
    """Every peer on every kind of pairs, answers compared first."""
    results = []
    for name, (ask, most) in peers(edges, graph.release.concepts).items():
        for kind, pairs in kinds.items():
            few = pairs[:most]
            numbered = [(int(a[1:]) - 1, int(b[1:]) - 1) for a, b in few]
            if ask(numbered) != list(graph.distances(few)):
                raise SystemExit(f"{kind}: cuihop and {name} disagree")
            before = time.perf_counter()
            ask(numbered)
            results.append({"engine": name, "pairs": kind, "one call": (time.perf_counter() - before) / most * 1e6})
    return results


def show(results: Sequence[dict[str, Any]], kinds: Sequence[str]) -> None:
    """A table: engines by kinds of pairs, microseconds, and how many times the best of cuihop's."""
    best = {kind: min(r["one call"] for r in results if r["pairs"] == kind) for kind in kinds}
    print(f"{'µs a pair, call by call':28}" + "".join(f"{kind:>22}" for kind in kinds))
    for engine in dict.fromkeys(r["engine"] for r in results):
        cells = []
        for kind in kinds:
            spent = next(r["one call"] for r in results if (r["engine"], r["pairs"]) == (engine, kind))
            cells.append(f"{spent:12,.1f} {spent / best[kind]:8,.0f}×")
        print(f"{engine:28}" + "".join(cells))


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--parents", type=float, default=3.44)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--no-index", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    graph = made_hierarchy(options.concepts, parents_each=options.parents)
    print(shape(graph))
    kinds = kinds_of_pairs(graph, options.pairs)
    results: list[dict[str, Any]] = []
    for name, engine in engines(graph, with_index=not options.no_index).items():
        for kind, pairs in kinds.items():
            results.append({"engine": f"cuihop {name}", "pairs": kind, **measured(engine, pairs)})
    print(f"{'µs a pair':18}{'':14}{'batch':>10}{'within 2':>10}{'one call':>10}")
    for r in results:
        print(f"{r['engine']:18}{r['pairs']:14}{r['batch']:10.2f}{r['within 2']:10.2f}{r['one call']:10.2f}")
    results += compared(graph, kinds, edges_of(graph))
    show(results, list(kinds))
    print(f"Python {platform.python_version()}, numba {version('numba')}; peak memory of the run, peers included: "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
