"""IoU and nn-IoU of two concept sets."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import literal_algorithms
from collections_made import Case, cases
from cuihop import SnapshotGraph
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui
from cuihop.graph import Neighbour
from cuihop.measures import RelatedConcept, concept_overlap, iou, nn_iou, related
from cuihop.measures.resolution import Unknown
from example_graph import UNKNOWN, example_graph
from real_graphs import isa_edges

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"

small = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


# Values that anyone can check by hand


def test_veins_and_blood_vessels_are_half_relevant(graph: SnapshotGraph) -> None:
    assert iou({VEINS}, {VESSELS}) == 0.0
    assert nn_iou({VEINS}, {VESSELS}, graph) == 0.5
    assert related({VEINS}, {VESSELS}, graph) == {VEINS, VESSELS}


def test_one_shared_and_one_near_of_three(graph: SnapshotGraph) -> None:
    A, B = {VESSELS, VEINS}, {VESSELS, HEAD}
    assert iou(A, B) == pytest.approx(1 / 3)
    assert related(A, B, graph) == {VEINS}  # the concept near to it is the shared one
    assert nn_iou(A, B, graph) == pytest.approx((1 + 0.5) / 3)


def test_brain_stem_and_head_meet_at_three_hops(graph: SnapshotGraph) -> None:
    assert [nn_iou("C0006121", HEAD, graph, n) for n in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]


def test_the_two_distances_of_the_paper_on_real_data() -> None:
    with SnapshotGraph.of(isa_edges("rrf_open"), identifiers="cui") as real:
        assert nn_iou({VEINS}, {VESSELS}, real) == 0.5
        assert nn_iou({"C0006121"}, {HEAD}, real, n=2) == 0.0


@pytest.mark.parametrize("n", [0, 1, 3])
def test_two_empty_sets_have_no_overlap(graph: SnapshotGraph, n: int) -> None:
    assert iou([], []) == iou("", "") == 0.0
    assert nn_iou([], [], graph, n) == 0.0
    assert related("", "", graph, n) == frozenset()


def test_an_empty_set_overlaps_with_none(graph: SnapshotGraph) -> None:
    assert nn_iou([], {VEINS}, graph) == nn_iou({VEINS}, [], graph) == 0.0


def test_equal_sets_overlap_wholly(graph: SnapshotGraph) -> None:
    assert nn_iou({VEINS, VESSELS}, {VESSELS, VEINS}, graph) == 1.0


def test_concepts_may_be_written_or_collected(graph: SnapshotGraph) -> None:
    for A in ("C0042449;C0018670", " C0042449 ; C0018670", [VEINS, HEAD, HEAD], {VEINS, HEAD}):
        for B in (VESSELS, (VESSELS,), frozenset({VESSELS})):
            assert nn_iou(A, B, graph) == pytest.approx(1 / 3)
    assert nn_iou(iter([VEINS, HEAD]), iter([VESSELS]), graph) == pytest.approx(1 / 3)


def test_direction_goes_from_the_first_set_to_the_second(graph: SnapshotGraph) -> None:
    assert nn_iou({VEINS}, {VESSELS}, graph, direction="up") == 0.5
    assert nn_iou({VEINS}, {VESSELS}, graph, direction="down") == 0.0
    assert nn_iou({VESSELS}, {VEINS}, graph, direction="down") == 0.5


# Oracles


@small
@given(cases())
def test_nn_iou_is_the_literal_algorithm(case: Case) -> None:
    dist = case.distance()
    with case.graph as graph:
        for A in case.queries.values():
            for B in case.held.values():
                arguments = (A, B, graph, case.n)
                expected = literal_algorithms.nn_iou(A, B, dist, case.n, case.lam)
                assert nn_iou(*arguments, case.lam, case.direction, unknown="isolated") == expected
                found = related(*arguments, case.direction, unknown="isolated")
                assert found == literal_algorithms.rel(A, B, dist, case.n)


concept_numbers = st.frozensets(st.integers(0, 12), min_size=1)


@small
@given(concept_numbers, concept_numbers)
def test_iou_is_the_jaccard_score_of_scikit_learn(A: frozenset[int], B: frozenset[int]) -> None:
    from sklearn.metrics import jaccard_score

    truth, guess = ([int(i in numbers) for i in range(13)] for numbers in (A, B))
    expected = jaccard_score(truth, guess)
    assert iou([f"C{i:07d}" for i in A], [f"C{i:07d}" for i in B]) == pytest.approx(expected, abs=1e-15)


@small
@given(cases())
def test_without_hops_or_weight_nn_iou_is_iou(case: Case) -> None:
    with case.graph as graph:
        for A in case.queries.values():
            for B in case.held.values():
                expected = iou(A, B)
                assert nn_iou(A, B, graph, 0, case.lam, case.direction, unknown="isolated") == expected
                assert nn_iou(A, B, graph, case.n, 0.0, case.direction, unknown="isolated") == expected


@small
@given(cases())
def test_nn_iou_grows_with_weight_and_hops_stays_within_one_and_is_symmetric(case: Case) -> None:
    with case.graph as graph:
        A, B = next(iter(case.queries.values())), next(iter(case.held.values()))
        table = [[nn_iou(A, B, graph, n, lam, unknown="isolated") for lam in (0.0, 0.3, 0.5, 1.0)] for n in range(4)]
        for row in table:
            assert row == sorted(row)
        for column in zip(*table, strict=True):
            assert list(column) == sorted(column)
        assert 0.0 <= table[-1][-1] <= 1.0
        assert nn_iou(A, B, graph, case.n, case.lam, unknown="isolated") == nn_iou(
            B, A, graph, case.n, case.lam, unknown="isolated"
        )
        there = nn_iou(A, B, graph, case.n, case.lam, "up", unknown="isolated")
        assert there == nn_iou(B, A, graph, case.n, case.lam, "down", unknown="isolated")


# Why a concept counts


def test_each_near_concept_names_its_witnesses(graph: SnapshotGraph) -> None:
    overlap = concept_overlap({VEINS, ARTERIES, HEAD}, {VESSELS, "C0007226", HEAD}, graph, n=2)
    assert overlap.shared == {HEAD}
    assert overlap.related == (
        RelatedConcept(ARTERIES, "A", (Neighbour(VESSELS, 1), Neighbour("C0007226", 2))),
        RelatedConcept(VEINS, "A", (Neighbour(VESSELS, 1), Neighbour("C0007226", 2))),
        RelatedConcept(VESSELS, "B", (Neighbour(ARTERIES, 1), Neighbour(VEINS, 1))),
        RelatedConcept("C0007226", "B", (Neighbour(ARTERIES, 2), Neighbour(VEINS, 2))),
    )
    assert overlap.iou == pytest.approx(1 / 5)
    assert overlap.nn_iou == pytest.approx((1 + 0.5 * 4) / 5)


# Identifiers that the graph does not hold


def test_an_unknown_concept_is_an_error_unless_isolation_is_asked_for(graph: SnapshotGraph) -> None:
    with pytest.raises(ConceptNotFound, match=UNKNOWN):
        nn_iou({VEINS, UNKNOWN}, {VESSELS}, graph)
    overlap = concept_overlap({VEINS, UNKNOWN}, {VESSELS}, graph, unknown="isolated")
    assert overlap.nn_iou == pytest.approx(1 / 3)
    assert overlap.resolved.unknown == (UNKNOWN,)


def test_an_isolated_concept_matches_itself(graph: SnapshotGraph) -> None:
    assert nn_iou({UNKNOWN}, {UNKNOWN}, graph, unknown="isolated") == 1.0
    assert nn_iou({UNKNOWN}, {UNKNOWN, VEINS}, graph, n=9, lam=1.0, unknown="isolated") == 0.5


def test_a_merged_concept_is_its_successor_and_is_reported(graph: SnapshotGraph) -> None:
    overlap = concept_overlap("C9000901;C0042449", VEINS, graph)
    assert {VEINS} == overlap.A
    assert overlap.nn_iou == 1.0
    assert overlap.resolved.merged == {"C9000901": VEINS}


def test_a_retired_concept_without_successor_is_an_error_or_isolated(graph: SnapshotGraph) -> None:
    with pytest.raises(ConceptRetired, match="C9000902"):
        nn_iou({"C9000902"}, {VEINS}, graph)
    overlap = concept_overlap({"C9000902", "C9000903"}, {"C9000902"}, graph, unknown="isolated")
    assert overlap.resolved.retired == ("C9000902", "C9000903")
    assert overlap.nn_iou == 0.5


@pytest.mark.parametrize("unknown", ["error", "isolated", "drop"])
def test_what_is_no_identifier_is_an_error_however_unknown_ones_are_treated(
    graph: SnapshotGraph, unknown: Unknown
) -> None:
    for text in ("vein?", "C0042449,C0005847", "['C0042449']", "C004244"):
        with pytest.raises(InvalidCui):
            nn_iou(text, VEINS, graph, unknown=unknown)


def test_a_cui_in_lower_case_is_read_in_upper_case(graph: SnapshotGraph) -> None:
    overlap = concept_overlap("c0042449", VEINS, graph)
    assert (overlap.nn_iou, overlap.resolved.upper_case) == (1.0, {"c0042449": VEINS})
    assert iou("c0042449", VEINS) == 1.0


# Arguments that are none


@pytest.mark.parametrize("lam", [-0.1, 1.1, float("nan"), float("inf"), "half"])
def test_lambda_out_of_range(graph: SnapshotGraph, lam: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        nn_iou(VEINS, VESSELS, graph, lam=lam)


@pytest.mark.parametrize("n", [-1, 0.5, True, "1", None])
def test_n_that_is_no_number_of_hops(graph: SnapshotGraph, n: int) -> None:
    with pytest.raises(InputError, match="0 or more"):
        nn_iou(VEINS, VESSELS, graph, n)


def test_no_other_treatment_of_unknown_concepts_is_accepted(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match="error or isolated"):
        nn_iou(VEINS, VESSELS, graph, unknown="ignore")  # type: ignore[arg-type]


def test_directions_are_three(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match="any or up or down"):
        nn_iou(VEINS, VESSELS, graph, direction="sideways")  # type: ignore[arg-type]


def test_an_identifier_missing_between_semicolons(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match="identifier is missing"):
        iou("C0042449;;C0018670", VEINS)
    with pytest.raises(InputError, match="identifier is missing"):
        nn_iou("C0042449;", VEINS, graph)
