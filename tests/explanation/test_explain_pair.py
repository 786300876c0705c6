"""Explanations of a pair: against worked values, the literal algorithm, and literal searches of the graph."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cuihop
from collections_made import Case, cases, networkx_distance
from concept_graph_contract import oracle
from cuihop import ConceptGraph, connect, explain_pair
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui, LimitExceeded
from cuihop.explanation import ExplainedConcept, Explanation
from cuihop.measures.nearness import Nearness, Weight
from cuihop_server import running_service
from cuihop_service.limits import Limits
from example_graph import ISOLATED, UNKNOWN, example_graph
from flat_options import grouped
from literal_algorithms import rel

VEINS, VESSELS, ARTERIES, AORTA, SYSTEM = "C0042449", "C0005847", "C0003842", "C0003483", "C0007226"
STEM, BRAIN, HEAD, ROOT = "C0006121", "C0006104", "C0018670", "C0926510"


def of(explanation: Explanation, cui: str) -> ExplainedConcept:
    return next(concept for concept in explanation.concepts if concept.cui == cui)


def test_veins_and_blood_vessels_earn_half_each(graph: ConceptGraph) -> None:
    explanation = explain_pair(VEINS, VESSELS, graph)
    assert (explanation.iou, explanation.nn_iou, explanation.arithmetic) == (0.0, 0.5, "(0 + 0.5 · 2) / 2")
    assert (explanation.shared, explanation.near, explanation.union) == (0, 2, 2)
    of_veins, of_vessels = explanation.concepts
    assert (of_veins.name, of_veins.side, of_veins.match, of_veins.earned) == ("Veins", "A", "near", 0.5)
    assert [(p.cui, p.name, p.hops) for p in of_veins.partners] == [(VESSELS, "Blood vessels", 1)]
    assert [(p.cui, p.relation) for p in of_veins.path] == [(VEINS, None), (VESSELS, "parent")]
    assert of_vessels.path == of_veins.path  # paths run from A to B
    turned = explain_pair(VESSELS, VEINS, graph)
    assert [(p.cui, p.relation) for p in turned.concepts[0].path] == [(VESSELS, None), (VEINS, "child")]


def test_a_shared_concept_may_be_the_near_one(graph: ConceptGraph) -> None:
    explanation = explain_pair([VESSELS, VEINS], [VESSELS, HEAD], graph)  # x, y and x, z of METRICS
    assert (explanation.nn_iou, explanation.arithmetic) == (0.5, "(1 + 0.5 · 1) / 3")
    assert [(c.cui, c.match, c.earned) for c in explanation.concepts] == [
        (VESSELS, "exact", 1.0), (VEINS, "near", 0.5), (HEAD, "none", 0.0),
    ]  # fmt: skip
    assert of(explanation, VESSELS).path == () == of(explanation, VESSELS).partners
    assert of(explanation, HEAD).partners == ()  # no path at all


def test_a_concept_that_earned_nothing_has_its_nearest_partner(graph: ConceptGraph) -> None:
    explanation = explain_pair([STEM], [HEAD, ARTERIES], graph)
    assert [(p.cui, p.hops) for p in of(explanation, STEM).partners] == [(HEAD, 3)]
    assert of(explanation, STEM).match == "none"
    assert explain_pair([STEM], [HEAD], graph, look=1).concepts[0].partners == ()  # beyond n + look
    assert explain_pair([STEM], [HEAD], graph, look=2).concepts[0].partners[0].hops == 3
    assert explain_pair([STEM], [HEAD], graph, Nearness(3)).nn_iou == 0.5
    path = explain_pair([STEM], [HEAD], graph, Nearness(3)).concepts[0].path
    assert [(p.cui, p.relation) for p in path] == [(STEM, None), (BRAIN, "parent"), (ROOT, "parent"), (HEAD, "child")]


def test_ties_are_partners_and_the_first_by_identifier_has_the_path(graph: ConceptGraph) -> None:
    explanation = explain_pair([VESSELS], [VEINS, ARTERIES, AORTA], graph, Nearness(2))
    vessels = of(explanation, VESSELS)
    assert [(p.cui, p.hops) for p in vessels.partners] == [(ARTERIES, 1), (VEINS, 1), (AORTA, 2)]
    assert [p.cui for p in vessels.nearest] == [ARTERIES, VEINS]
    assert vessels.path[-1].cui == ARTERIES
    assert [p.cui for p in of(explanation, AORTA).path] == [VESSELS, ARTERIES, AORTA]


def test_direction_goes_from_a_to_b(graph: ConceptGraph) -> None:
    assert explain_pair(VEINS, VESSELS, graph, Nearness(direction="up")).nn_iou == 0.5
    down = explain_pair(VEINS, VESSELS, graph, Nearness(direction="down"))
    assert (down.nn_iou, down.concepts[0].partners, down.direction) == (0.0, (), "down")
    both = explain_pair("C9000001", "C9000002", graph, Nearness(direction="down"))  # a cycle of two
    assert [step.relation for step in both.concepts[0].path] == [None, "child"]


def test_identifiers_outside_the_graph_match_only_themselves(graph: ConceptGraph) -> None:
    a = ["C9000901", UNKNOWN, "C9000902", "C0000000", ISOLATED]
    explanation = explain_pair(a, [VEINS, UNKNOWN], graph, Nearness(unknown="isolated"))
    assert (of(explanation, VEINS).match, of(explanation, VEINS).given) == ("exact", ("C9000901",))
    assert (of(explanation, UNKNOWN).match, of(explanation, UNKNOWN).outside, of(explanation, UNKNOWN).name) == (
        "exact",
        "unknown",
        None,
    )
    assert (of(explanation, "C9000902").match, of(explanation, "C9000902").outside) == ("none", "retired")
    with pytest.raises(InvalidCui, match=r"vein\?"):
        explain_pair([*a, "vein?"], [VEINS], graph, Nearness(unknown="isolated"))
    assert (of(explanation, ISOLATED).outside, of(explanation, ISOLATED).partners) == (None, ())
    assert explanation.as_dict()["merged"] == {"C9000901": VEINS}
    assert explanation.nn_iou == cuihop.nn_iou(a, [VEINS, UNKNOWN], graph, unknown="isolated") == 2 / 5
    with pytest.raises(ConceptNotFound, match=UNKNOWN):
        explain_pair([UNKNOWN], [VEINS], graph)
    with pytest.raises(ConceptRetired, match="C9000902"):
        explain_pair(["C9000902"], [VEINS], graph)


def test_dropped_identifiers_are_in_no_set(graph: ConceptGraph) -> None:
    explanation = explain_pair([VEINS, UNKNOWN], [VEINS, "C9000902"], graph, Nearness(unknown="drop"))
    assert (explanation.A, explanation.B, explanation.nn_iou) == ((VEINS,), (VEINS,), 1.0)
    assert (explanation.resolved.unknown, explanation.resolved.retired) == ((UNKNOWN,), ("C9000902",))


def test_near_concepts_earn_less_with_each_hop(graph: ConceptGraph) -> None:
    explanation = explain_pair([STEM, VEINS], [HEAD, VESSELS], graph, Nearness(3, weight="hops"))
    assert {c.cui: c.earned for c in explanation.concepts} == {VEINS: 0.5, VESSELS: 0.5, STEM: 0.125, HEAD: 0.125}
    assert explanation.arithmetic == "(0 + 0.5 · 2 + 0.5³ · 2) / 4"
    assert explanation.nn_iou == cuihop.nn_iou([STEM, VEINS], [HEAD, VESSELS], graph, 3, weight="hops") == 1.25 / 4


def test_empty_sets(graph: ConceptGraph) -> None:
    nothing = explain_pair("", "", graph)
    assert (nothing.nn_iou, nothing.arithmetic, nothing.concepts) == (0.0, "(0 + 0.5 · 0) / 0", ())
    half = explain_pair("", [VEINS, VESSELS], graph)
    assert (half.nn_iou, [c.match for c in half.concepts], half.A) == (0.0, ["none", "none"], ())


def test_the_json_is_stable(graph: ConceptGraph) -> None:
    explanation = explain_pair([VESSELS, VEINS], [VESSELS, STEM], graph, titles=("left", "right"))
    read = json.loads(explanation.to_json())
    assert read == explanation.as_dict()
    assert read == {
        "release": {"name": "example", "digest": example_graph().release.digest},
        "titles": {"A": "left", "B": "right"},
        "n": 1, "lambda": 0.5, "weight": "constant", "ic": None, "direction": "any", "look": 3,
        "A": [VESSELS, VEINS], "B": [VESSELS, STEM],
        "shared": 1, "near": 1, "union": 3, "iou": 1 / 3, "nn_iou": 0.5, "arithmetic": "(1 + 0.5 · 1) / 3",
        "concepts": [
            {"cui": VESSELS, "name": "Blood vessels", "side": "both", "match": "exact", "earned": 1.0, "partners": [],
             "path": [], "outside": None, "given": [], "similarity": None},
            {"cui": VEINS, "name": "Veins", "side": "A", "match": "near", "earned": 0.5,
             "partners": [{"cui": VESSELS, "name": "Blood vessels", "hops": 1}],
             "path": [{"cui": VEINS, "name": "Veins", "relation": None, "sabs": []},
                      {"cui": VESSELS, "name": "Blood vessels", "relation": "parent", "sabs": []}],
             "outside": None, "given": [], "similarity": None},
            {"cui": STEM, "name": "Brain stem", "side": "B", "match": "none", "earned": 0.0, "partners": [],
             "path": [], "outside": None, "given": [], "similarity": None},
        ],
        "merged": {}, "unknown": [], "retired": [], "upper_case": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "column"),
    [({"n": -1}, "n"), ({"n": None}, "n"), ({"lam": 1.5}, "lam"), ({"look": -1}, "look"), ({"look": None}, "look"),
     ({"direction": "sideways"}, "direction"), ({"unknown": "skip"}, "unknown"),
     ({"weight": "lin"}, "weight"), ({"n": 33, "weight": "hops"}, "n")],
)  # fmt: skip
def test_a_parameter_out_of_its_range_is_named(arguments: dict[str, object], column: str) -> None:
    with pytest.raises(InputError) as refused:
        explain_pair(VEINS, VESSELS, example_graph(), **grouped(arguments))
    assert refused.value.column == column


def test_a_look_beyond_the_limit_of_a_service_is_limit_exceeded() -> None:
    with (
        running_service(example_graph(), limits=Limits(hops=2)) as service,
        connect(service.http) as remote,
    ):
        with pytest.raises(LimitExceeded, match="at most 2"):
            explain_pair(VEINS, VESSELS, remote)
        assert explain_pair(VEINS, VESSELS, remote, look=1).nn_iou == 0.5


@given(cases(), st.data())
def test_an_explanation_holds_of_any_graph(case: Case, data: st.DataObject) -> None:
    images = st.sampled_from(sorted(case.queries))
    A, B = (case.queries[data.draw(images)] for _ in range(2))
    look, weight = data.draw(st.integers(0, 3)), data.draw(st.sampled_from(get_args(Weight)))
    graph = case.graph
    explanation = explain_pair(A, B, graph, Nearness(case.n, case.lam, case.direction, "isolated", weight), look=look)
    assert explanation.nn_iou == cuihop.nn_iou(
        A, B, graph, case.n, case.lam, case.direction, unknown="isolated", weight=weight
    )
    assert explanation.iou == cuihop.iou(A, B)
    distance = networkx_distance(case.nodes, case.edges, case.direction)
    assert {c.cui for c in explanation.concepts} == A | B
    assert {c.cui for c in explanation.concepts if c.match == "exact"} == A & B
    assert {c.cui for c in explanation.concepts if c.match == "near"} == rel(A, B, distance, case.n)
    hops = oracle(case.edges, "any" if case.direction == "vertical" else case.direction)
    for concept in explanation.concepts:
        if concept.match == "exact":
            continue
        others = B if concept.side == "A" else A
        ends = ((concept.cui, o) if concept.side == "A" else (o, concept.cui) for o in others)
        far = {(b if concept.side == "A" else a): d for a, b in ends if (d := distance(a, b)) is not None}
        nearest = min(far.values(), default=None)
        bound = case.n if concept.match == "near" else nearest if nearest is not None else -1
        expected = sorted((d, o) for o, d in far.items() if d <= min(bound, case.n + look))
        assert [(p.hops, p.cui) for p in concept.partners] == expected
        if concept.match == "none":
            assert nearest is None or nearest > case.n  # nothing of the other is near
            assert concept.path == ()
            continue
        assert len(concept.path) - 1 == concept.partners[0].hops <= case.n
        assert {concept.path[0].cui, concept.path[-1].cui} == {concept.cui, concept.partners[0].cui}
        assert concept.path[0].cui in A
        for before, step in zip(concept.path, concept.path[1:], strict=False):
            edge = (before.cui, step.cui) if step.relation == "parent" else (step.cui, before.cui)
            assert edge in case.edges
            assert hops.has_edge(before.cui, step.cui)
        assert case.direction != "vertical" or len({step.relation for step in concept.path[1:]}) <= 1
