"""Sensitivity to n, λ and hubs: against `nn_iou`, `evaluate`, and NetworkX with the hubs removed."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cuihop
from collections_made import Case, cases
from concept_graph_contract import oracle
from cuihop import ConceptGraph, SnapshotGraph, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.explanation import sensitivity_of_pair, sensitivity_of_query
from cuihop.explanation.sensitivity import Grid
from cuihop.measures.nearness import Nearness
from example_graph import example_graph
from examples import examples
from literal_algorithms import Distance, ndcg_of_each_query, nn_iou, rel

VEINS, VESSELS, ARTERIES, AORTA = "C0042449", "C0005847", "C0003842", "C0003483"


def distance_without_hubs(case: Case, most: int | None) -> Distance:
    """NetworkX: count the children, remove the hubs, search."""
    edges = {(child, parent) for child, parent in case.edges if child != parent}
    children = nx.DiGraph()
    children.add_nodes_from(case.nodes)
    children.add_edges_from((parent, child) for child, parent in edges)
    hubs = [node for node, degree in children.out_degree() if most is not None and degree > most]
    lengths = []
    for search in ("up", "down") if case.direction == "vertical" else (case.direction,):
        hops = oracle(edges, search, case.nodes)
        hops.remove_nodes_from(hubs)
        lengths.append({source: dict(reached) for source, reached in nx.all_pairs_shortest_path_length(hops)})

    def distance(a: str, b: str) -> int | None:
        found = [reached[a][b] for reached in lengths if b in reached.get(a, {})]
        return 0 if a == b else min(found, default=None)

    return distance


def test_hubs_as_bridge_and_as_partner_by_hand(graph: ConceptGraph) -> None:
    found = sensitivity_of_pair([VEINS], [ARTERIES], graph, Grid(ns=[1, 2], lams=[0.5], hubs=[1, 2]))
    assert [(s.hubs, s.n, s.near, s.nn_iou) for s in found.settings] == [
        (None, 1, 0, 0.0), (None, 2, 2, 0.5),
        (1, 1, 0, 0.0), (1, 2, 0, 0.0),  # blood vessels, between the two, has two children
        (2, 1, 0, 0.0), (2, 2, 2, 0.5),
    ]  # fmt: skip
    assert [(x.hubs, x.n, x.cui, x.name) for x in found.lost] == [(1, 2, ARTERIES, "Arteries"), (1, 2, VEINS, "Veins")]
    assert found.hubs == ()
    partner = sensitivity_of_pair([VEINS], [VESSELS], graph, Grid(ns=[1], lams=[1], hubs=[1]))
    assert [s.nn_iou for s in partner.settings] == [1.0, 0.0]
    assert [(h.cui, h.name, h.children) for h in partner.hubs] == [(VESSELS, "Blood vessels", 2)]
    shared = sensitivity_of_pair([VESSELS], [VESSELS, VEINS], graph, Grid(ns=[1], lams=[1], hubs=[1]))
    assert [s.nn_iou for s in shared.settings] == [1.0, 0.5]  # a hub in both still counts


def test_another_way_round_a_hub_is_found() -> None:
    edges = [("C0000001", "C0000009"), ("C0000002", "C0000009"), ("C0000001", "C0000003"), ("C0000003", "C0000004"),
             ("C0000002", "C0000004")]  # fmt: skip
    found = sensitivity_of_pair(
        ["C0000001"],
        ["C0000002"],
        SnapshotGraph.of([*edges, ("C0000005", "C0000009")]),
        Grid(ns=[2, 3], lams=[0.5], hubs=[2]),
    )
    assert [(s.hubs, s.n, s.near) for s in found.settings] == [(None, 2, 2), (None, 3, 2), (2, 2, 0), (2, 3, 2)]


@pytest.mark.parametrize(
    ("settings", "column"),
    [({"ns": [-1]}, "n"), ({"ns": []}, "ns"), ({"lams": []}, "lams"), ({"lams": [2]}, "lam"), ({"hubs": [-1]}, "hubs"),
     ({"hubs": [1.5]}, "hubs")],
)  # fmt: skip
def test_a_wrong_setting_is_refused(settings: dict[str, Any], column: str) -> None:
    with pytest.raises(InputError) as refused:
        Grid(**settings)
    assert refused.value.column == column


def test_a_grid_beyond_the_weight_of_hops_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        sensitivity_of_pair(VEINS, VESSELS, example_graph(), Grid(ns=[33]), nearness=Nearness(weight="hops"))
    assert refused.value.column == "n"


def test_empty_and_unknown_sets(graph: ConceptGraph) -> None:
    assert {s.nn_iou for s in sensitivity_of_pair("", "", graph).settings} == {0.0}
    strange = sensitivity_of_pair(["C9999999"], ["C9999999", VEINS], graph, nearness=Nearness(unknown="isolated"))
    assert {s.nn_iou for s in strange.settings} == {0.5}


def test_the_json_is_stable() -> None:
    pair = sensitivity_of_pair(VEINS, VESSELS, example_graph(), Grid(ns=[1], lams=[0.5], hubs=[1])).as_dict()
    assert json.loads(json.dumps(pair)) == pair == {
        "direction": "any", "shared": 0, "union": 2,
        "settings": [{"hubs": None, "n": 1, "lambda": 0.5, "near": 2, "nn_iou": 0.5},
                     {"hubs": 1, "n": 1, "lambda": 0.5, "near": 0, "nn_iou": 0.0}],
        "lost": [{"hubs": 1, "n": 1, "cui": VESSELS, "name": "Blood vessels"},
                 {"hubs": 1, "n": 1, "cui": VEINS, "name": "Veins"}],
        "hubs": [{"cui": VESSELS, "name": "Blood vessels", "children": 2}],
    }  # fmt: skip
    images = {"q": VEINS, "x": VESSELS, "y": AORTA}
    query = sensitivity_of_query(
        images, "q", example_graph(), above="x", below="y", grid=Grid(ns=[1], lams=[0.5], hubs=[])
    ).as_dict()
    assert json.loads(json.dumps(query)) == query == {
        "direction": "any", "k": 10,
        "settings": [{"hubs": None, "n": 1, "lambda": 0.5, "gain_above": 0.5, "gain_below": 0.0, "rank_above": 1,
                      "rank_below": 2, "idcg": 0.5, "ndcg": None}],
    }  # fmt: skip


@pytest.mark.slow
@given(cases(), st.data())
def test_every_setting_of_a_pair_is_exact(case: Case, data: st.DataObject) -> None:
    images = st.sampled_from(sorted(case.queries))
    A, B = (case.queries[data.draw(images)] for _ in range(2))
    hubs = data.draw(st.lists(st.integers(0, 4), max_size=3))
    ns, lams, graph = [0, 1, 2, 3, case.n], [0.0, 0.3, case.lam], case.graph
    found = sensitivity_of_pair(
        A, B, graph, Grid(ns=ns, lams=lams, hubs=hubs), nearness=Nearness(direction=case.direction, unknown="isolated")
    )
    assert len(found.settings) == (1 + len(set(hubs))) * len(set(ns)) * len(set(lams))
    for setting in found.settings:
        distance = distance_without_hubs(case, setting.hubs)
        assert setting.nn_iou == nn_iou(A, B, distance, setting.n, setting.lam)
        assert setting.near == len(rel(A, B, distance, setting.n))
        if setting.hubs is None:
            assert setting.nn_iou == cuihop.nn_iou(
                A, B, graph, setting.n, setting.lam, case.direction, unknown="isolated"
            )
    whole = distance_without_hubs(case, None)
    assert {(x.hubs, x.n, x.cui) for x in found.lost} == {
        (most, n, cui)
        for most in hubs
        for n in ns
        for cui in rel(A, B, whole, n) - rel(A, B, distance_without_hubs(case, most), n)
    }


@pytest.mark.slow
@settings(max_examples=examples(75))
@given(cases(), st.data())
def test_every_setting_of_a_query_is_exact(case: Case, data: st.DataObject) -> None:
    query = data.draw(st.sampled_from(sorted(case.queries)))
    others = sorted(set(case.held) - {query})
    assume(len(others) > 1 and case.ranking[query])
    above, below = data.draw(st.lists(st.sampled_from(others), min_size=2, max_size=2, unique=True))
    k, most = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 4))
    found = sensitivity_of_query(
        Dataset(case.queries, case.corpus),
        query,
        case.graph,
        above=above,
        below=below,
        ranking=case.ranking,
        k=k,
        grid=Grid(ns=[0, 1, 3], lams=[0.5, case.lam], hubs=[most]),
        nearness=Nearness(direction=case.direction, unknown="isolated"),
    )
    own = case.queries[query]
    whole = [setting for setting in found.settings if setting.hubs is None]
    if case.corpus is None:
        evaluated = evaluate(
            case.queries,
            case.ranking,
            case.graph,
            measures=[f"nn-CUI@{k}(n={s.n}, λ={s.lam!r})" for s in whole],
            missing="zero",
            nearness=Nearness(direction=case.direction, unknown="isolated"),
        )
        assert [s.ndcg for s in whole] == evaluated.values[evaluated.queries.index(query)].tolist()
    for setting in found.settings:
        distance = distance_without_hubs(case, setting.hubs)
        n, lam = setting.n, setting.lam
        gains = {name: nn_iou(own, case.held[name], distance, n, lam) for name in others}
        order = sorted(others, key=lambda name: (-gains[name], name))
        assert (setting.gain_above, setting.gain_below) == (gains[above], gains[below])
        assert (setting.rank_above, setting.rank_below) == (order.index(above) + 1, order.index(below) + 1)
        literal = ndcg_of_each_query(
            {query: own},
            case.held,
            case.ranking,
            k,
            lambda A, B: nn_iou(A, B, distance, n, lam),  # noqa: B023
        )[query]
        assert setting.ndcg == pytest.approx(literal or 0.0, abs=1e-12)
