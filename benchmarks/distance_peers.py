"""What people would take for a distance instead of cuihop, each made from the same edges and asked the same pairs.

A peer is measured in a process of its own (`measured_alone`), so that its memory is its own: what the process holds
once the peer is made, less what it held before, the edges and the imported library left out. For Neo4j it is the memory
of the server, whose edges are imported from files and whose concepts have a unique constraint.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop_tools.neo4j_server import VERSION, LocalServer, ServerToolsMissing
from measurement import peak_megabytes, require, resident_megabytes

Edges = npt.NDArray[np.int32]
Ask = Callable[[list[tuple[int, int]]], list[int | None]]
"""Pairs of concepts by number → hops, ``None`` where there is no path."""

_SLOW = 20  # pairs for a peer that searches the whole graph
_QUICK = 200
_SHORTEST = """
MATCH (a:Concept {number: $a}), (b:Concept {number: $b})
MATCH p = shortestPath((a)-[:IS_A*]-(b))
RETURN length(p) AS hops
"""


def _each(distance: Callable[[int, int], int | None]) -> Ask:
    return lambda pairs: [distance(a, b) for a, b in pairs]


def _networkx(edges: Edges, concepts: int) -> Ask:
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


def _igraph(edges: Edges, concepts: int) -> Ask:
    import igraph

    of_igraph = igraph.Graph(n=concepts, edges=edges)

    def by_igraph(a: int, b: int) -> int | None:
        hops = of_igraph.distances(a, b)[0][0]
        return None if hops == float("inf") else int(hops)

    return _each(by_igraph)


def networkit_graph(edges: Edges, concepts: int) -> Any:
    """The graph as NetworKit holds it."""
    import networkit

    graph = networkit.Graph(concepts)
    for a, b in edges.tolist():
        graph.addEdge(a, b)
    return graph


def _networkit(edges: Edges, concepts: int) -> Ask:
    import networkit

    of_networkit = networkit_graph(edges, concepts)

    def by_networkit(a: int, b: int) -> int | None:
        search: Any = networkit.distance.BidirectionalBFS(of_networkit, a, b, False)
        search.run()
        hops = search.getDistance()
        return int(hops) if hops < concepts else None

    return _each(by_networkit)


def _rustworkx(edges: Edges, concepts: int) -> Ask:
    import rustworkx

    of_rustworkx: Any = rustworkx.PyGraph()
    of_rustworkx.add_nodes_from(range(concepts))
    of_rustworkx.add_edges_from_no_data([tuple(edge) for edge in edges.tolist()])

    def by_rustworkx(a: int, b: int) -> int | None:
        hops = rustworkx.graph_dijkstra_shortest_path_lengths(of_rustworkx, a, lambda _: 1.0, goal=b)
        return int(hops[b]) if b in hops else (0 if a == b else None)

    return _each(by_rustworkx)


def _scipy(edges: Edges, concepts: int) -> Ask:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    of_scipy = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(concepts, concepts)).tocsr()

    def by_scipy(a: int, b: int) -> int | None:
        hops = dijkstra(of_scipy, directed=False, unweighted=True, indices=a)[b]
        return None if np.isinf(hops) else int(hops)

    return _each(by_scipy)


@contextmanager
def _neo4j(edges: Edges, concepts: int) -> Iterator[tuple[Ask, int]]:
    """The asker, and the server's process."""
    from neo4j import GraphDatabase

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "concepts.csv").write_text(
            "number:long,:ID\n" + "".join(f"{i},{i}\n" for i in range(concepts)), encoding="ascii"
        )
        (folder / "edges.csv").write_text(
            ":START_ID,:END_ID\n" + "".join(f"{a},{b}\n" for a, b in edges.tolist()), encoding="ascii"
        )
        server = LocalServer(folder / "server", heap="2g", page_cache="1g")
        server.admin(
            "database", "import", "full", "neo4j", "--overwrite-destination", "--id-type=integer",
            f"--nodes=Concept={folder / 'concepts.csv'}", f"--relationships=IS_A={folder / 'edges.csv'}",
        )  # fmt: skip
        with server, GraphDatabase.driver(server.address, auth=(server.user, server.password)) as driver:
            driver.execute_query("CREATE CONSTRAINT FOR (c:Concept) REQUIRE c.number IS UNIQUE")
            driver.execute_query("CALL db.awaitIndexes(600)")
            with driver.session() as session:

                def by_neo4j(a: int, b: int) -> int | None:
                    if a == b:  # shortestPath refuses
                        return 0
                    row = session.run(_SHORTEST, a=a, b=b).single()
                    return None if row is None else int(row["hops"])

                require(server.pid is not None, "the Neo4j server runs")
                yield _each(by_neo4j), server.pid or 0


class Peer(NamedTuple):
    """A library: what makes its asker, how many pairs it is asked, and the module whose import is not its memory."""

    asker: Callable[[Edges, int], Ask]
    pairs: int
    module: str


LIBRARIES = {
    "NetworkX": Peer(_networkx, _QUICK, "networkx"),
    "igraph": Peer(_igraph, _SLOW, "igraph"),
    "NetworKit": Peer(_networkit, _QUICK, "networkit"),
    "rustworkx": Peer(_rustworkx, _SLOW, "rustworkx"),
    "SciPy": Peer(_scipy, _SLOW // 4, "scipy.sparse.csgraph"),
}
PEERS = (*LIBRARIES, "Neo4j")


class Measured(NamedTuple):
    """What a peer took: microseconds a pair by kind of pairs, how it was made, and megabytes."""

    name: str
    micros: dict[str, float]
    made_s: float
    megabytes: float
    peak_megabytes: float


def asked(ask: Ask, kinds: dict[str, Any], most: int) -> dict[str, float]:
    """Microseconds a pair, by kind; answers are compared first."""
    micros = {}
    for kind, (pairs, expected) in kinds.items():
        few = [(int(a), int(b)) for a, b in pairs[:most]]
        require(ask(few) == expected[:most], f"the answers are cuihop's for pairs that are {kind}")
        before = time.perf_counter()
        ask(few)
        micros[kind] = (time.perf_counter() - before) / len(few) * 1e6
    return micros


def measured_alone(name: str, edges: Edges, concepts: int, kinds: dict[str, Any]) -> Measured | str:
    """A peer in a process of its own, or why there is none.

    Args:
        name: of `PEERS`.
        edges: shape (edges, 2).
        concepts: how many.
        kinds: kind of pairs → pairs of numbers, and cuihop's answers.
    """
    with tempfile.TemporaryDirectory() as made:
        np.save(Path(made) / "edges.npy", edges)
        (Path(made) / "asked.json").write_text(json.dumps([name, concepts, kinds]), encoding="utf-8")
        done = subprocess.run([sys.executable, __file__, made], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"distances: {name} failed")
    told = json.loads(done.stdout)
    return told["missing"] if "missing" in told else Measured(**told)


def main(folder: Path) -> dict[str, Any]:
    """Measure one peer in this process."""
    name, concepts, kinds = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    edges = np.load(folder / "edges.npy")
    if name == "Neo4j":
        before = time.perf_counter()
        try:
            with _neo4j(edges, concepts) as (ask, server):
                spent = time.perf_counter() - before
                micros = asked(ask, kinds, _QUICK)
                held = resident_megabytes(server)
        except ServerToolsMissing as missing:
            return {"missing": str(missing)}
        return Measured(f"Neo4j {VERSION}", micros, spent, held, held)._asdict()
    peer = LIBRARIES[name]
    import_module(peer.module)
    gc.collect()
    held, before = resident_megabytes(), time.perf_counter()
    ask = peer.asker(edges, concepts)
    spent = time.perf_counter() - before
    gc.collect()
    held = resident_megabytes() - held
    return Measured(f"{name} {version(name)}", asked(ask, kinds, peer.pairs), spent, held, peak_megabytes())._asdict()


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
