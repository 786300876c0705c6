"""Similarity on random graphs with cycles, against the definitions written out with sets and NetworkX."""

from __future__ import annotations

import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.similarity.options import SIMILARITY_MEASURES, InformationContent, SimilarityOptions, named_measure
from cuihop.snapshot import set_similarity

ROOT = "the virtual root"


class _Literal:
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

    def value(self, a: str, b: str, measure: str, kind: InformationContent) -> float | None:
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
            return None if math.isinf(total) else sum(self.ic(c, kind) for c in shared) / total if total > 1e-12 else 1
        if math.isinf(ic_x) or math.isinf(ic_y):
            return None
        if measure == "Resnik":
            return mica
        if measure == "Lin":
            return 2 * mica / (ic_x + ic_y) if ic_x + ic_y > 1e-12 else 1.0
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
            return sum(weights[c] for c in above_a & above_b) / total if total > 1e-12 else 1.0
        best = min if measure == "Jiang-Conrath" else max
        values = {(x, y): self.value(x, y, measure, kind) for x in a for y in b}
        if None in values.values():
            return None
        of_a = [best(values[x, y] for y in b) for x in a]
        of_b = [best(values[x, y] for x in a) for y in b]
        return (sum(of_a) / len(a) + sum(of_b) / len(b)) / 2


CONCEPTS = [f"C{i}" for i in range(8)]
PAIRS = st.lists(st.tuples(st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS)), max_size=14)


@given(edges=PAIRS, counts=st.dictionaries(st.sampled_from(CONCEPTS), st.integers(0, 5), max_size=5))
def test_every_measure_is_its_definition(edges: list[tuple[str, str]], counts: dict[str, float]) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    counted = {**counts, "C0": 1.0}
    literal = _Literal(CONCEPTS, edges, counted)
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    pairs = [(a, b) for a in CONCEPTS for b in CONCEPTS]
    for ic in ("Sanchez", "Seco", "corpus"):
        for measure in SIMILARITY_MEASURES:
            options = SimilarityOptions(measure, ic, counted if ic == "corpus" else {})
            found = hierarchy.similarities(pairs, options)
            expected = [literal.value(a, b, measure, ic) for a, b in pairs]
            assert [value is None for value in found] == [value is None for value in expected]
            assert [v for v in found if v is not None] == pytest.approx(
                [v for v in expected if v is not None], rel=1e-12, abs=1e-12
            )
            values = dict(zip(pairs, found, strict=True))
            assert all(values[a, b] == values[b, a] for a, b in pairs)
        pair = hierarchy.pair("C1", "C2", ic=ic, counts=counted if ic == "corpus" else None)
        one = [SimilarityOptions(m, ic, counted if ic == "corpus" else {}) for m in SIMILARITY_MEASURES]
        assert list(pair.values) == list(SIMILARITY_MEASURES)
        assert list(pair.values.values()) == [hierarchy.similarity("C1", "C2", each) for each in one]


SETS = st.sets(st.sampled_from(CONCEPTS), max_size=4)


COUNTS = st.sampled_from([{"C0": 1.0}, {"C0": 2.0, "C3": 1.0}])


@settings(max_examples=30)
@given(edges=PAIRS, pairs=st.lists(st.tuples(SETS, SETS), max_size=6), counts=COUNTS)
def test_every_measure_of_sets_is_its_definition(
    edges: list[tuple[str, str]], pairs: list[tuple[set[str], set[str]]], counts: dict[str, float]
) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    literal = _Literal(CONCEPTS, edges, counts)
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    for ic in ("Sanchez", "corpus"):
        for measure in SIMILARITY_MEASURES:
            options = SimilarityOptions(measure, ic, counts if ic == "corpus" else {})
            found = hierarchy.set_similarities([(sorted(a) * 2, b) for a, b in pairs], options)
            expected = [literal.value_of_sets(a, b, measure, ic) for a, b in pairs]
            assert list(found) == [
                value if value is None else pytest.approx(value, rel=1e-12, abs=1e-12) for value in expected
            ]
            swapped = hierarchy.set_similarities([(b, a) for a, b in pairs], options)
            assert list(swapped) == list(found)
            alone = [(a, b) for a in CONCEPTS[:3] for b in CONCEPTS]
            singles = hierarchy.set_similarities([({a}, {b}) for a, b in alone], options)
            assert list(singles) == list(hierarchy.similarities(alone, options))


def test_sets_larger_than_a_block_have_the_same_average(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [("C1", "C0"), ("C2", "C0"), ("C3", "C1"), ("C4", "C1"), ("C5", "C2")]
    hierarchy = SnapshotGraph.of(edges).hierarchy
    pairs = [({"C1", "C2", "C3"}, {"C4", "C5"}), ({"C3"}, set()), ({"C0", "C5"}, {"C3", "C4", "C1"})]
    whole = list(hierarchy.set_similarities(pairs))
    monkeypatch.setattr(set_similarity, "_CELLS_A_BLOCK", 2)
    assert list(hierarchy.set_similarities(pairs)) == whole


@pytest.mark.parametrize("wrong", [["C1"], [("C1", "C2")], [({"C1"},)], [({"C1"}, "C2")], [7]])
def test_pairs_of_sets_are_checked(wrong: list[object]) -> None:
    hierarchy = SnapshotGraph.of([("C1", "C0"), ("C2", "C0")]).hierarchy
    with pytest.raises(InputError, match="not a pair of sets"):
        hierarchy.set_similarities(wrong)  # type: ignore[arg-type]


@given(edges=PAIRS)
def test_places_and_lowest_common_subsumers(edges: list[tuple[str, str]]) -> None:
    edges = [(a, b) for a, b in edges if a != b]
    literal = _Literal(CONCEPTS, edges, {"C0": 1})
    hierarchy = SnapshotGraph.of(edges, concepts=CONCEPTS).hierarchy
    facts = hierarchy.facts()
    assert (facts.nodes, facts.leaves, facts.depth) == (literal.N, len(literal.leaves), literal.most)
    assert facts.virtual_root == literal.virtual
    for cui, place in zip(CONCEPTS, hierarchy.placements(CONCEPTS), strict=True):
        node = literal.node_of[cui]
        assert place.depth == literal.depth[node]
        assert (place.ancestors, place.descendants) == (len(literal.above[node]) - 1, len(literal.below[node]) - 1)
        assert place.leaves == len(literal.below[node] & literal.leaves)
        assert set(place.cycle) == (
            literal.dag.nodes[node]["members"] if len(literal.dag.nodes[node]["members"]) > 1 else set()
        )
    for a, b in [("C1", "C2"), ("C5", "C0"), ("C3", "C3")]:
        shared = literal.above[literal.node_of[a]] & literal.above[literal.node_of[b]]
        lowest = {c for c in shared if not (literal.below[c] - {c}) & shared}
        first = {min(literal.dag.nodes[c]["members"]): c for c in lowest}
        found = hierarchy.pair(a, b)
        assert {each.cui for each in found.lowest} == (first.keys() if first else {None})
        for each in found.lowest:
            node = ROOT if each.cui is None else first[each.cui]
            assert each.depth == literal.depth[node]
            assert (each.hops_a, each.hops_b) == tuple(literal.hops(literal.node_of[c], node) for c in (a, b))


def test_options_are_checked() -> None:
    assert [named_measure(text) for text in ("LIN", "wup", "leacockchodorow", "SimUI")] == [
        "Lin", "Wu-Palmer", "Leacock-Chodorow", "simUI",
    ]  # fmt: skip
    for wrong in ({"measure": "cosine"}, {"ic": "Zhou"}, {"ic": "corpus"}, {"counts": {"C0": 1}},
                  {"ic": "corpus", "counts": {"C0": -1}}, {"ic": "corpus", "counts": {"C0": math.nan}}):  # fmt: skip
        with pytest.raises(InputError):
            SimilarityOptions(**wrong)
