"""How long one exact distance takes: cuihop's engines beside the libraries that people would take instead.

::

    python benchmarks/distances.py [--concepts 1000000] [--parents 3.44] [--no-index] [--peers NAME …] [--json FILE]

The graph is a made hierarchy (`made_hierarchy`). Four kinds of pairs: random ones, near ones (2 to 4 random hops
apart), pairs without a path, and pairs of which one is a hub. Every peer (`distance_peers`) is asked in a process of
its own; its answers are compared with cuihop's first, and a difference ends the run. Peers that look at the whole graph
for each distance are asked fewer pairs. Neo4j needs Java and Maven, and is left out where they are missing.

"Made in" is what it takes from edges in memory to a graph, or an index, that answers; "MB" what the peer then holds.
For cuihop it is that of the arrays that answer: they are mapped from a file, and shared by all processes that do so.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence

import numpy as np

from cuihop import SnapshotGraph
from cuihop.snapshot.index_builder import build_index, check_index
from cuihop.snapshot.writer import GraphTables, sections_of
from distance_peers import PEERS, measured_alone
from made_hierarchy import edges_of, made_hierarchy, shape
from measurement import Measurement, arguments_of, peak_megabytes, require, timed

Pairs = list[tuple[str, str]]

_MOST_FOR_A_PEER = 200
_GRAPH = ("any_indptr", "any_indices", "cuis")  # what a search reads


def random_pairs(graph: SnapshotGraph, rng: np.random.Generator, count: int) -> Pairs:
    """So many pairs of concepts, but for the component of two."""
    pick = rng.integers(2, graph.release.concepts, (2, count)) + 1
    return [(f"C{a:07d}", f"C{b:07d}") for a, b in zip(*pick.tolist(), strict=True)]


def kinds_of_pairs(graph: SnapshotGraph, count: int) -> dict[str, Pairs]:
    """So many pairs of each kind, by name."""
    rng = np.random.default_rng(7)
    drawn = random_pairs(graph, rng, count)
    near = []
    for cui, steps in zip((a for a, _ in drawn), rng.integers(2, 5, count).tolist(), strict=True):
        here = cui
        for _ in range(steps):
            around = graph.neighbours([here], hops=1, limit=64)[0]
            here = around[int(rng.integers(0, len(around)))].cui
        near.append((cui, here))
    hubs = [f"C{1 + row:07d}" for row in np.argsort(-np.diff(graph.sections["down_indptr"]))[:20].tolist()]
    return {
        "random": drawn,
        "near": near,
        "no path": [(a, "C0000001") for a, _ in drawn],
        "one a hub": [(a, hubs[i % len(hubs)]) for i, (a, _) in enumerate(drawn)],
    }


def measured(graph: SnapshotGraph, pairs: Pairs) -> dict[str, float]:
    """Microseconds a pair: batched, batched within 2 hops, and call by call."""
    few = pairs[:2000]
    return {
        "batch": timed(lambda: graph.distances(pairs)) / len(pairs) * 1e6,
        "within 2": timed(lambda: graph.distances(pairs, max_hops=2)) / len(pairs) * 1e6,
        "call by call": timed(lambda: [graph.distance(a, b) for a, b in few]) / len(few) * 1e6,
    }


def engines(graph: SnapshotGraph, results: Measurement, *, with_index: bool) -> dict[str, SnapshotGraph]:
    """The graph as it is searched, and with an index."""
    graph.distances([("C0000001", "C0000002")] * 64)  # compiles
    held = sum(graph.sections[name].nbytes for name in _GRAPH) / 1e6
    results.add("memory", "cuihop search", held, "MB")
    results.add("made in", "cuihop search", made_again(graph), "s")
    if not with_index:
        return {"search": graph}
    small = made_hierarchy(1000)
    check_index(small, build_index(small))  # compiles
    before, memory = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    index = build_index(graph)
    spent, more = time.perf_counter() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    facts = index.facts
    print(f"index: {facts['entries']:,} hubs, {facts['entries'] / facts['labels']:.1f} a label, "
          f"{facts['bytes'] / 1e6:,.0f} MB, made in {spent:.1f} s with {more / 1024:,.0f} MB more memory; "
          f"{check_index(graph, index):,} distances compared with searches")  # fmt: skip
    results.add("memory", "cuihop index", held + facts["bytes"] / 1e6, "MB")
    results.add("made in", "cuihop index", spent, "s")
    indexed = SnapshotGraph(graph.sections)
    indexed.use_index(index)
    indexed.distances([("C0000001", "C0000002")])
    return {"search": graph, "index": indexed}


def made_again(graph: SnapshotGraph) -> float:
    """Seconds from edges to the graph, as a load makes it."""
    edges = edges_of(graph)
    tables = GraphTables(
        cuis=np.char.mod(b"C%07d", np.arange(1, graph.release.concepts + 1)).astype("S8"),
        children=np.ascontiguousarray(edges[:, 0]),
        parents=np.ascontiguousarray(edges[:, 1]),
    )
    return timed(lambda: SnapshotGraph(sections_of(tables, name="again", relations=("isa",), identifiers="cui")))


def compared(graph: SnapshotGraph, kinds: dict[str, Pairs], peers: Sequence[str], results: Measurement) -> None:
    """Every peer on every kind of pairs."""
    edges = edges_of(graph)
    numbered = {}
    for kind, pairs in kinds.items():
        few = pairs[:_MOST_FOR_A_PEER]
        numbered[kind] = ([(int(a[1:]) - 1, int(b[1:]) - 1) for a, b in few], list(graph.distances(few)))
    for peer in peers:
        found = measured_alone(peer, edges, graph.release.concepts, numbered)
        if isinstance(found, str):
            print(f"{peer} was left out: {found}")
            continue
        for kind, micros in found.micros.items():
            results.add(f"{kind}, call by call", found.name, micros, "µs")
        results.add("made in", found.name, found.made_s, "s")
        results.add("memory", found.name, found.megabytes, "MB")
        results.add("peak memory of the process", found.name, found.peak_megabytes, "MB")


def show(results: Measurement, kinds: Sequence[str]) -> None:
    """A table: engines by kinds of pairs, microseconds, and how many times the best of cuihop's."""
    found = {(figure.subject, figure.question): figure for figure in results.figures}
    print(f"{'µs a pair, call by call':26}" + "".join(f"{kind:>22}" for kind in kinds) + f"{'made in s':>11}{'MB':>9}")
    for subject in dict.fromkeys(figure.subject for figure in results.figures):
        cells = []
        for kind in kinds:
            figure = found[subject, f"{kind}, call by call"]
            ratio = results.ratio(figure) or 0.0
            cells.append(f"{figure.value:12,.1f} {ratio:8,.{0 if ratio >= 10 else 1}f}×")
        cells.append(f"{found[subject, 'made in'].value:11.1f}{found[subject, 'memory'].value:9,.0f}")
        print(f"{subject:26}{''.join(cells)}")


def main() -> None:
    """Measure, and print tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--parents", type=float, default=3.44)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--no-index", action="store_true")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    options = parser.parse_args()
    results = Measurement(("networkx", "igraph", "networkit", "rustworkx", "scipy", "neo4j"))
    graph = made_hierarchy(options.concepts, parents_each=options.parents)
    print(shape(graph))
    kinds = kinds_of_pairs(graph, options.pairs)
    made = engines(graph, results, with_index=not options.no_index)
    expected = {kind: made["search"].distances(pairs) for kind, pairs in kinds.items()}
    print(f"{'µs a pair':18}{'':14}{'batch':>10}{'within 2':>10}{'one call':>10}")
    for name, engine in made.items():
        for kind, pairs in kinds.items():
            require(engine.distances(pairs) == expected[kind], f"{name} answers {kind} pairs as a search does")
            micros = measured(engine, pairs)
            print(f"cuihop {name:11}{kind:14}" + "".join(f"{value:10.2f}" for value in micros.values()))
            for how, value in micros.items():
                results.add(f"{kind}, {how}", f"cuihop {name}", value, "µs")
    compared(graph, kinds, options.peers, results)
    show(results, list(kinds))
    print(f"Peak memory of cuihop's part: {peak_megabytes():,.0f} MB")
    results.save(options.json)


if __name__ == "__main__":
    main()
