"""Similarity over a hierarchy by its definitions, written out with sets and NetworkX."""

from __future__ import annotations

import math
from functools import cache

import networkx as nx

from cuihop.similarity.options import InformationContent

ROOT = "the virtual root"


class LiteralHierarchy:
    """The hierarchy by its definitions; ``edges`` are (child, parent) pairs."""

    def __init__(self, concepts: list[str], edges: list[tuple[str, str]], counts: dict[str, float]) -> None:
        self.undirected = nx.Graph()
        self.undirected.add_nodes_from(concepts)
        self.undirected.add_edges_from(edges)
        whole = nx.DiGraph()
        whole.add_nodes_from(concepts)
        whole.add_edges_from(edges)
        self.dag = nx.condensation(whole)
        self.node_of = self.dag.graph["mapping"]
        self.N = len(self.dag)
        roots = [node for node in self.dag if not self.dag.out_degree(node)]
        self.leaves = {node for node in self.dag if not self.dag.in_degree(node)}
        self.above = {node: nx.descendants(self.dag, node) | {node} for node in list(self.dag)}
        self.below = {node: nx.ancestors(self.dag, node) | {node} for node in list(self.dag)}
        self.occurring = {
            node: sum(counts.get(c, 0) for low in below for c in self.dag.nodes[low]["members"])
            for node, below in self.below.items()
        }
        self.total = sum(counts.values())
        self.virtual = len(roots) > 1
        if self.virtual:
            self.dag.add_edges_from((root, ROOT) for root in roots)
        top = ROOT if self.virtual else roots[0]
        self.depth = {
            node: max(len(path) for path in nx.all_simple_paths(self.dag, node, top)) if node != top else 1
            for node in self.dag
        }
        self.most = max(self.depth.values()) - 1
        self.value = cache(self._value)

    def ic(self, node: object, kind: InformationContent) -> float:
        if node == ROOT:
            return 0.0
        if kind == "Seco":
            return 1 - math.log(len(self.below[node])) / math.log(self.N) if self.N > 1 else 0.0
        if kind == "Sanchez":
            ratio = len(self.below[node] & self.leaves) / len(self.above[node])
            return -math.log((ratio + 1) / (len(self.leaves) + 1))
        return -math.log(self.occurring[node] / self.total) if self.occurring[node] else math.inf

    def hops(self, low: object, high: object) -> int:
        return int(nx.shortest_path_length(self.dag, low, high))

    def _value(self, a: str, b: str, measure: str, kind: InformationContent) -> float | None:
        x, y = self.node_of[a], self.node_of[b]
        shared, united = self.above[x] & self.above[y], self.above[x] | self.above[y]
        subsumers = shared | ({ROOT} if self.virtual else set())
        both = {c: self.hops(x, c) + self.hops(y, c) for c in subsumers}
        ic_x, ic_y = self.ic(x, kind), self.ic(y, kind)
        mica = max(self.ic(c, kind) for c in subsumers)
        if measure == "path":
            connected = nx.has_path(self.undirected, a, b)
            return 1 / (1 + nx.shortest_path_length(self.undirected, a, b)) if connected else 0.0
        if measure == "path-lcs":
            return 1 / (1 + min(both.values()))
        if measure == "Leacock-Chodorow":
            return -math.log((min(both.values()) + 1) / (2 * self.most)) if self.most else None
        if measure == "Wu-Palmer":
            deepest = max(self.depth[c] for c in subsumers)
            hops = min(both[c] for c in subsumers if self.depth[c] == deepest)
            return 2 * deepest / (hops + 2 * deepest)
        if measure == "simUI":
            return len(shared) / len(united)
        if measure == "simGIC":
            total = sum(self.ic(c, kind) for c in united)
            return (
                None
                if math.isinf(total)
                else sum(self.ic(c, kind) for c in shared) / total
                if total > 1e-12
                else float(bool(shared))
            )
        if measure == "Resnik":
            return None if math.isinf(mica) else mica
        if math.isinf(ic_x) or math.isinf(ic_y):
            return None
        if measure == "Lin":
            return 2 * mica / (ic_x + ic_y) if ic_x + ic_y > 1e-12 else float(bool(shared))
        return ic_x + ic_y - 2 * mica

    def value_of_sets(self, a: set[str], b: set[str], measure: str, kind: InformationContent) -> float | None:
        if not a or not b:
            return None if not (a or b) or measure == "Jiang-Conrath" else 0.0
        if measure in ("simUI", "simGIC"):
            above_a, above_b = (set().union(*(self.above[self.node_of[c]] for c in each)) for each in (a, b))
            weights = {c: 1.0 if measure == "simUI" else self.ic(c, kind) for c in above_a | above_b}
            total = sum(weights.values())
            if math.isinf(total):
                return None
            shared = above_a & above_b
            return sum(weights[c] for c in shared) / total if total > 1e-12 else float(bool(shared))
        best = min if measure == "Jiang-Conrath" else max
        found = {(x, y): self.value(x, y, measure, kind) for x in a for y in b}
        values = {pair: value for pair, value in found.items() if value is not None}
        if len(values) < len(found):
            return None
        of_a = [best(values[x, y] for y in b) for x in a]
        of_b = [best(values[x, y] for x in a) for y in b]
        return (sum(of_a) / len(a) + sum(of_b) / len(b)) / 2
