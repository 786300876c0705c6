"""How long one exact distance takes: cuihop beside NetworkX, which the paper used.

::

    python benchmarks/distances.py [--concepts 1000000] [--rows 20000000] [--json FILE]

The graph is synthetic. Four kinds of pairs: random ones, near ones (2 to 4 random hops apart), pairs without a path,
and pairs of which one is a hub. Answers are compared first; a difference ends the run.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import networkx as nx
import numpy as np

from cuihop import SnapshotGraph
from cuihop_loader.synthetic import SyntheticRelease, tables

Pairs = list[tuple[str, str]]


def made_graph(concepts: int, rows: int) -> tuple[SnapshotGraph, np.ndarray]:
    """A synthetic graph with one more component of two concepts, and its edges as digits of CUIs."""
    edges = tables(SyntheticRelease(concepts=concepts, rows=rows)).edges("isa")
    named = [(f"C{child:07d}", f"C{parent:07d}") for child, parent in edges.tolist()]
    return SnapshotGraph.of([*named, ("C0000000", "C9999999")], identifiers="cui"), edges


def kinds_of_pairs(graph: SnapshotGraph, edges: np.ndarray, count: int) -> dict[str, Pairs]:
    """So many pairs of each kind, by name."""
    rng = np.random.default_rng(7)
    nodes = np.unique(edges)
    cuis = [f"C{n:07d}" for n in nodes.tolist()]
    pick = rng.integers(0, len(cuis), (2, count))
    random_pairs = [(cuis[a], cuis[b]) for a, b in zip(*pick.tolist(), strict=True)]
    near = []
    for cui, steps in zip((a for a, _ in random_pairs), rng.integers(2, 5, count).tolist(), strict=True):
        here = cui
        for _ in range(steps):
            around = graph.neighbours([here], hops=1, limit=64)[0]
            here = around[int(rng.integers(0, len(around)))].cui
        near.append((cui, here))
    numbers, counts = np.unique(edges[:, 1], return_counts=True)
    hubs = [f"C{n:07d}" for n in numbers[np.argsort(-counts)[:20]].tolist()]
    return {
        "random": random_pairs,
        "near": near,
        "no path": [(a, "C0000000") for a, _ in random_pairs],
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


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    graph, edges = made_graph(options.concepts, options.rows)
    oracle: nx.Graph[str] = nx.Graph()
    oracle.add_edges_from((f"C{a:07d}", f"C{b:07d}") for a, b in edges.tolist())
    oracle.add_edge("C0000000", "C9999999")

    def by_networkx(pairs: Pairs) -> list[int | None]:
        answers: list[int | None] = []
        for a, b in pairs:
            try:
                answers.append(len(nx.bidirectional_shortest_path(oracle, a, b)) - 1)
            except nx.NetworkXNoPath:
                answers.append(None)
        return answers

    print(f"{graph.release.concepts:,} concepts, {graph.release.edges:,} edges, {platform.machine()}, "
          f"Python {platform.python_version()}, networkx {version('networkx')}, numba {version('numba')}")  # fmt: skip
    columns = ("mean hops", "batch µs", "≤ 2 hops µs", "one call µs", "NetworkX µs", "times")
    print(f"{'pairs':12}" + "".join(f"{column:>13}" for column in columns))
    results = []
    graph.distances([("C0000000", "C9999999")])  # compiles
    for kind, pairs in kinds_of_pairs(graph, edges, options.pairs).items():
        few = pairs[: 20 if kind == "no path" else 200]
        if list(graph.distances(few)) != by_networkx(few):
            raise SystemExit(f"{kind}: cuihop and NetworkX disagree")
        answers = graph.distances(pairs)
        batch = timed(lambda pairs=pairs: graph.distances(pairs)) / len(pairs) * 1e6  # type: ignore[misc]
        bounded = timed(lambda pairs=pairs: graph.distances(pairs, max_hops=2)) / len(pairs) * 1e6  # type: ignore[misc]
        one = timed(lambda few=few: [graph.distance(a, b) for a, b in few]) / len(few) * 1e6  # type: ignore[misc]
        peer = timed(lambda few=few: by_networkx(few)) / len(few) * 1e6  # type: ignore[misc]
        hops = float(answers.hops[answers.reached].mean()) if answers.reached.any() else None
        told = "none" if hops is None else f"{hops:.2f}"
        print(f"{kind:12}{told:>13}{batch:13.2f}{bounded:13.2f}{one:13.2f}{peer:13.1f}{peer / one:12.0f}×")
        results.append(
            {
                "pairs": kind,
                "mean_hops": hops,
                "batch_us": batch,
                "bounded_2_us": bounded,
                "one_call_us": one,
                "networkx_us": peer,
            }
        )
    print(f"peak memory of the whole run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
