"""How the time of a distance, and the cost of the index, grow with the graph.

::

    python benchmarks/growth.py [--sizes 10000 30000 100000 300000 1000000] [--plot FILE]

The graphs are made hierarchies of one shape (`made_hierarchy`). NetworkX, which the paper used, and NetworKit, which is
the fastest peer, are asked the same random pairs, answers compared first; NetworKit's own labelling is built up to
30,000 concepts, beyond which it takes minutes. cuihop is asked with CUIs, in batches, the others with numbers, one by
one.
Memory is that of the arrays that answer.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from cuihop import SnapshotGraph
from cuihop.snapshot.index_builder import build_index, check_index
from distance_peers import LIBRARIES, networkit_graph
from distances import random_pairs
from made_hierarchy import edges_of, made_hierarchy
from measurement import Measurement, arguments_of, require, timed

_PAIRS = 20_000
_FEW = 100
_LARGEST_FOR_NETWORKIT_LABELS = 30_000
_COLUMNS = (
    "concepts", "search µs", "index µs", "index s", "index MB", "graph MB",
    "NetworkX µs", "NetworKit µs", "its labels µs", "its labels s",
)  # fmt: skip

_FIGURES = {
    "search µs": ("cuihop search", "one distance", "µs"),
    "index µs": ("cuihop index", "one distance", "µs"),
    "NetworkX µs": ("NetworkX", "one distance", "µs"),
    "NetworKit µs": ("NetworKit", "one distance", "µs"),
    "its labels µs": ("NetworKit labels", "one distance", "µs"),
    "index s": ("cuihop index", "labels made in", "s"),
    "its labels s": ("NetworKit labels", "labels made in", "s"),
    "index MB": ("cuihop index", "memory of labels", "MB"),
    "graph MB": ("cuihop search", "memory of the graph", "MB"),
}
"""Column → subject, question, unit."""


def measured(concepts: int) -> dict[str, float | None]:
    """One row of the table."""
    graph = made_hierarchy(concepts)
    pairs = random_pairs(graph, np.random.default_rng(7), _PAIRS)
    rows = graph.sections
    edges = edges_of(graph)
    before = time.perf_counter()
    index = build_index(graph)
    built = time.perf_counter() - before
    check_index(graph, index)
    indexed = SnapshotGraph(rows)
    indexed.use_index(index)
    require(indexed.distances(pairs) == graph.distances(pairs), "searches and index agree")
    found: dict[str, float | None] = {
        "concepts": concepts,
        "search µs": timed(lambda: graph.distances(pairs)) / len(pairs) * 1e6,
        "index µs": timed(lambda: indexed.distances(pairs)) / len(pairs) * 1e6,
        "index s": built,
        "index MB": index.facts["bytes"] / 1e6,
        "graph MB": sum(rows[name].nbytes for name in ("any_indptr", "any_indices", "cuis")) / 1e6,
    }
    few = pairs[:_FEW]
    numbered = [(int(a[1:]) - 1, int(b[1:]) - 1) for a, b in few]
    for name in ("NetworkX", "NetworKit"):
        ask = LIBRARIES[name].asker(edges, graph.release.concepts)
        require(ask(numbered) == list(graph.distances(few)), f"cuihop and {name} agree")
        before = time.perf_counter()
        ask(numbered)
        found[f"{name} µs"] = (time.perf_counter() - before) / _FEW * 1e6
    found |= _networkit_labels(edges, graph, pairs, concepts)
    return found


def _networkit_labels(
    edges: Any, graph: SnapshotGraph, pairs: list[tuple[str, str]], concepts: int
) -> dict[str, float | None]:
    if concepts > _LARGEST_FOR_NETWORKIT_LABELS:
        return {"its labels µs": None, "its labels s": None}
    import networkit

    theirs = networkit_graph(edges, graph.release.concepts)
    labels: Any = networkit.distance.PrunedLandmarkLabeling(theirs)
    before = time.perf_counter()
    labels.run()
    built = time.perf_counter() - before
    numbered = [(int(a[1:]) - 1, int(b[1:]) - 1) for a, b in pairs]
    answers = [labels.query(a, b) for a, b in numbered]
    same = [h if h < graph.release.concepts else None for h in answers] == list(graph.distances(pairs))
    require(same, "cuihop and NetworKit's labels agree")
    spent = timed(lambda: [labels.query(a, b) for a, b in numbered])
    return {"its labels µs": spent / len(numbered) * 1e6, "its labels s": built}


def figures(rows: list[dict[str, float | None]]) -> Measurement:
    """The table as figures."""
    found = Measurement(("networkx", "networkit"))
    for row in rows:
        for column, (subject, question, unit) in _FIGURES.items():
            value = row[column]
            if value is not None:
                found.add(f"{question}, {row['concepts']:,} concepts", subject, value, unit)
    return found


def plotted(results: list[dict[str, float | None]], path: Path) -> None:
    """Microseconds over concepts, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for column, style, name in (
        ("NetworkX µs", "s:", "NetworkX"),
        ("NetworKit µs", "^-.", "NetworKit"),
        ("search µs", "o--", "cuihop, searched"),
        ("index µs", "D-", "cuihop, index"),
    ):
        axes.plot([r["concepts"] or 0 for r in results], [r[column] or np.nan for r in results], style, label=name)
    axes.set(xscale="log", yscale="log", xlabel="concepts in the graph", ylabel="µs for one distance, random pairs")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    """Measure, and print a table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    small = made_hierarchy(1000)
    check_index(small, build_index(small))  # compiles
    print("".join(f"{column:>15}" for column in _COLUMNS))
    results = []
    for size in options.sizes:
        row = measured(size)
        results.append(row)
        cells = (
            "–" if (value := row[c]) is None else f"{value:,.0f}" if value >= 100 else f"{value:.2f}" for c in _COLUMNS
        )
        print("".join(f"{cell:>15}" for cell in cells), flush=True)
    if options.plot:
        plotted(results, options.plot)
    figures(results).save(options.json)


if __name__ == "__main__":
    main()
