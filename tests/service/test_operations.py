"""Every operation, asked of the core, over gRPC and over HTTP: the same answers and the same errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import pytest

from cuihop import SnapshotGraph
from cuihop.measures.nn_iou import concept_overlap, nn_iou
from cuihop.remote.statuses import STATUSES
from cuihop_server import RunningService, running_service
from cuihop_service.limits import Limits
from cuihop_service.request_context import RequestContext
from example_graph import ISOLATED, UNKNOWN, example_graph
from service_askers import ASKERS, Asker, CoreAsker, GrpcAsker, HttpAsker, Refused

LIMITS = Limits(pairs=5, concepts=4, neighbours=6, sets=3, set_concepts=3, hits=3, pack_concepts=3, comparisons=5)
HTTP_STATUS = {status.reason: str(status.http) for status in STATUSES}
GRPC_STATUS = {status.reason: status.grpc for status in STATUSES}


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def service(graph: SnapshotGraph) -> Iterator[RunningService]:
    with running_service(graph, limits=LIMITS) as running:
        yield running


@pytest.fixture(scope="module", params=sorted(ASKERS))
def ask(request: pytest.FixtureRequest, service: RunningService) -> Iterator[Asker]:
    asker = cast("type[Any]", ASKERS[request.param])(service)
    yield asker
    asker.close()


def test_the_distance_of_the_paper(ask: Asker, graph: SnapshotGraph) -> None:
    assert ask.distance("C0006121", "C0018670") == {
        "hops": 3,
        "merged": {},
        "release": graph.release.digest,
        "tier": "index",
    }


def test_no_path_is_an_answer(ask: Asker) -> None:
    assert ask.distance(ISOLATED, "C0018670")["hops"] is None
    assert ask.distance("C0006121", "C0018670", max_hops=2)["hops"] is None
    assert ask.distance("C0006121", "C0018670", max_hops=3)["hops"] == 3
    assert ask.distance("C0006121", "C0006121", max_hops=0)["hops"] == 0


def test_directions(ask: Asker) -> None:
    assert ask.distance("C0006121", "C0926510", direction="up")["hops"] == 2
    assert ask.distance("C0006121", "C0926510", direction="down")["hops"] is None
    assert ask.distance("C0926510", "C0006121", direction="down")["hops"] == 2


def test_a_retired_concept_is_replaced_by_its_successor_visibly(ask: Asker) -> None:
    assert ask.distance("C9000901", "C0005847")["merged"] == {"C9000901": "C0042449"}
    assert ask.distance("C9000901", ISOLATED)["merged"] == {"C9000901": "C0042449"}
    assert ask.path("C9000901", ISOLATED) == {**ask.path("C9000901", ISOLATED), "path": None}
    assert ask.path("C9000901", ISOLATED)["merged"] == {"C9000901": "C0042449"}
    assert ask.neighbourhoods(["C9000901"])["merged"] == {"C9000901": "C0042449"}
    assert ask.concepts(["C9000901"])["merged"] == {"C9000901": "C0042449"}
    assert ask.pack(["C9000901"], 1)["merged"] == {"C9000901": "C0042449"}
    assert ask.relevance(["C9000901"], ["C0042449"])["merged"] == {"C9000901": "C0042449"}


def test_all_shortest_paths_are_one_graph(ask: Asker, graph: SnapshotGraph) -> None:
    ends = "C9000011", "C9000014"
    expected = graph.paths(*ends)
    assert expected is not None
    answer = ask.paths(*ends)
    assert (answer["hops"], answer["total"], answer["truncated"], answer["merged"]) == (2, 2, False, {})
    assert answer["concepts"] == [(each.cui, each.hops) for each in expected.concepts]
    assert answer["edges"] == [(each.child, each.parent, list(each.sabs)) for each in expected.edges]
    assert [cui for cui, _ in answer["concepts"]] == ["C9000011", "C9000012", "C9000013", "C9000014"]
    first = ask.paths(*ends, limit=3)
    assert ([cui for cui, _ in first["concepts"]], first["truncated"]) == (["C9000011", "C9000012", "C9000014"], True)
    assert ask.paths(*ends, direction="down" if expected.edges[0].child == ends[0] else "up")["hops"] is None
    retired = ask.paths("C9000901", "C9000901", direction="vertical")
    assert (retired["concepts"], retired["merged"]) == ([("C0042449", 0)], {"C9000901": "C0042449"})


def test_a_batch_with_pairs_without_a_path(ask: Asker) -> None:
    pairs = [("C0006121", "C0018670"), (ISOLATED, "C0018670"), ("C0042449", "C0005847"), (ISOLATED, ISOLATED)]
    assert ask.distances(pairs)["hops"] == [3, None, 1, 0]
    assert ask.distances(pairs, max_hops=1)["hops"] == [None, None, 1, 0]
    assert ask.distances([])["hops"] == []


def test_a_path_with_names(ask: Asker) -> None:
    assert ask.path("C0006121", "C0018670")["path"] == [
        ("C0006121", "Brain stem", None),
        ("C0006104", "Brain", "parent"),
        ("C0926510", None, "parent"),
        ("C0018670", "Head", "child"),
    ]
    assert ask.path("C0006121", "C0006121")["path"] == [("C0006121", "Brain stem", None)]
    without = ask.path("C0006121", "C0018670", max_hops=2)
    assert (without["path"], without["total"], without["which"]) == (None, 0, None)


def test_the_shortest_paths_are_counted_and_given_by_rank(ask: Asker) -> None:
    for which, cui in ((None, "C9000012"), (1, "C9000012"), (2, "C9000013")):
        answer = ask.path("C9000011", "C9000014", which=which)
        assert (answer["path"][1][0], answer["which"], answer["total"]) == (cui, which or 1, 2)
    for which in (0, 3, 10**15 + 1):
        with pytest.raises(Refused, match=r"expected|greater|less") as refused:
            ask.path("C9000011", "C9000014", which=which)
        assert (refused.value.reason, refused.value.details["field"]) == ("INVALID_INPUT", "which")


def test_neighbourhoods_are_told_with_their_totals(ask: Asker) -> None:
    assert ask.neighbourhoods(["C0006121", ISOLATED], hops=2)["around"] == [
        ("C0006121", [("C0006104", 1), ("C0926510", 2)], 2),
        (ISOLATED, [], 0),
    ]
    assert ask.neighbourhoods(["C0005847"], limit=1)["around"] == [("C0005847", [("C0003842", 1)], 3)]
    assert ask.neighbourhoods(["C0005847"], limit=0)["around"] == [("C0005847", [], 3)]
    assert ask.neighbourhoods(["C0006121"], hops=None, direction="up")["around"][0][2] == 2


def test_the_relevance_of_two_sets_and_why(ask: Asker) -> None:
    found = ask.relevance(["C0042449", "C0006121"], ["C0005847", "C0006121"], n=1, lam=0.5)
    assert (found["iou"], found["nn_iou"]) == (1 / 3, (1 + 0.5 * 2) / 3)
    assert found["shared"] == ["C0006121"]
    assert found["related"] == [("C0042449", "A", [("C0005847", 1)]), ("C0005847", "B", [("C0042449", 1)])]
    assert found["union"] == 3
    assert ask.relevance([], [])["nn_iou"] == 0.0
    assert ask.relevance(["C0042449"], ["C0005847"], n=0)["nn_iou"] == 0.0
    assert ask.relevance(["C0042449"], ["C0005847"], lam=0.0)["nn_iou"] == 0.0
    assert ask.relevance(["C0042449"], ["C0005847"])["nn_iou"] == 0.5


def test_unknown_concepts_can_be_kept_as_isolated_ones(ask: Asker) -> None:
    found = ask.relevance([UNKNOWN, "C0042449"], [UNKNOWN], unknown="isolated")
    assert (found["iou"], found["isolated"]) == (0.5, [UNKNOWN])
    with pytest.raises(Refused) as refused:
        ask.relevance([UNKNOWN], ["C0042449"])
    assert refused.value.reason == "CONCEPT_NOT_FOUND"
    row = ask.relevances([UNKNOWN], [[UNKNOWN], []], unknown="isolated")
    assert (row["iou"], row["nn_iou"], row["isolated"]) == ([1.0, 0.0], [1.0, 0.0], [UNKNOWN])


def test_unknown_concepts_can_be_left_out(ask: Asker) -> None:
    found = ask.relevance([UNKNOWN, "C0042449"], [UNKNOWN], unknown="drop")
    assert (found["iou"], found["union"], found["dropped"], found["isolated"]) == (0.0, 1, [UNKNOWN], [])
    row = ask.relevances([UNKNOWN, "C0042449"], [[UNKNOWN, "C0042449"], [UNKNOWN]], unknown="drop")
    assert (row["iou"], row["dropped"], row["isolated"]) == ([1.0, 0.0], [UNKNOWN], [])


@pytest.mark.parametrize("direction", ["any", "up", "down"])
def test_near_concepts_can_weigh_less_with_each_hop(ask: Asker, graph: SnapshotGraph, direction: Any) -> None:
    query, corpus = ["C0006121"], [["C0006104", "C0018670"], ["C0018670", "C0042449"], ["C0926510"]]
    row = ask.relevances(query, corpus, n=3, lam=0.3, direction=direction, weight="hops")
    expected = [nn_iou(query, concepts, graph, 3, 0.3, direction, weight="hops") for concepts in corpus]
    pairs = [ask.relevance(query, one, n=3, lam=0.3, direction=direction, weight="hops") for one in corpus]
    assert row["nn_iou"] == [pair["nn_iou"] for pair in pairs] == expected
    with pytest.raises(Refused, match="32 at most") as refused:
        ask.relevances(query, corpus, n=33, weight="hops")
    assert refused.value.reason == "INVALID_INPUT"


@pytest.mark.parametrize(("weight", "ic"), [("Lin", "Sanchez"), ("Lin", "Seco"), ("Wu-Palmer", "Sanchez")])
def test_near_concepts_can_weigh_their_similarity(ask: Asker, graph: SnapshotGraph, weight: Any, ic: Any) -> None:
    query, corpus = ["C0006121"], [["C0006104", "C0018670"], ["C0018670", "C0042449"], ["C0926510"]]
    row = ask.relevances(query, corpus, n=3, weight=weight, ic=ic)
    pairs = [ask.relevance(query, one, n=3, weight=weight, ic=ic) for one in corpus]
    overlaps = [concept_overlap(query, concepts, graph, 3, weight=weight, ic=ic) for concepts in corpus]
    assert row["nn_iou"] == [pair["nn_iou"] for pair in pairs] == [overlap.nn_iou for overlap in overlaps]
    half = ask.relevances(query, corpus, n=3, lam=0.5, weight=weight, ic=ic)
    assert half["nn_iou"] == pytest.approx([value / 2 for value in row["nn_iou"]])  # nothing is shared
    if weight != "Lin":
        with pytest.raises(Refused, match="the weight Lin"):
            ask.relevances(query, corpus, weight=weight, ic="Seco")


@pytest.mark.parametrize("direction", ["any", "up", "down", "vertical"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_one_set_against_many_is_each_pair(ask: Asker, graph: SnapshotGraph, direction: Any, n: int) -> None:
    query = ["C0006121", "C0005847"]
    corpus = [["C0006104"], ["C0005847", "C0042449"], []]
    row = ask.relevances(query, corpus, n=n, lam=0.3, direction=direction)
    assert row["nn_iou"] == [nn_iou(query, concepts, graph, n, 0.3, direction) for concepts in corpus]
    assert row["iou"] == [nn_iou(query, concepts, graph, 0) for concepts in corpus]


def test_a_concept_of_both_sets_lends_no_distance_of_the_other_way(ask: Asker, graph: SnapshotGraph) -> None:
    # C0006104 is in the query and in the first set; C0006121 is below it. Upwards it is not near, downwards it is.
    query, corpus = ["C0006104", "C0926510"], [["C0006104", "C0006121"], ["C0926510", "C0006121"]]
    for direction in ("up", "down"):
        row = ask.relevances(query, corpus, direction=direction)
        assert row["nn_iou"] == [nn_iou(query, concepts, graph, direction=direction) for concepts in corpus]


def test_search_finds_names_and_identifiers(ask: Asker) -> None:
    assert ask.search("brain st")["hits"] == [("C0006121", "Brain stem", "Brain stem", "prefix")]
    assert ask.search("C9000901")["hits"] == [("C0042449", "Veins", "C9000901", "identifier")]
    assert ask.search("menieres", limit=1)["hits"][0][0] == "C9000011"
    assert ask.search("spleen", limit=1)["hits"] == []
    assert ask.search("ménière")["hits"][0][0] == "C9000011"


def test_concepts_in_the_order_asked(ask: Asker) -> None:
    assert ask.concepts(["C0005847", ISOLATED])["concepts"] == [
        ("C0005847", "Blood vessels", ["Vessel, blood"], 1, 2),
        (ISOLATED, None, [], 0, 0),
    ]
    assert ask.concepts(["C0005847"], names_only=True)["concepts"] == [("C0005847", "Blood vessels", [], 0, 0)]


def test_what_became_of_identifiers(ask: Asker) -> None:
    assert ask.resolve(["C0006121", "C9000901", "C9000903", UNKNOWN])["resolutions"] == [
        ("C0006121", "current", "C0006121", []),
        ("C9000901", "merged", "C0042449", []),
        ("C9000903", "retired", None, [("RB", "C0005847")]),
        (UNKNOWN, "unknown", None, []),
    ]
    assert ask.resolve(["né", ""])["resolutions"] == [("né", "invalid", None, []), ("", "invalid", None, [])]


def test_a_pack_holds_all_distances_up_to_its_bound(ask: Asker) -> None:
    found = ask.pack(["C0006121", "C0006104", ISOLATED], 1)
    assert found["lengths"] == [2, 2, 1]
    assert found["columns"] == [0, 1, 0, 1, 2]
    assert found["hops"] == [0, 1, 1, 0, 0]
    assert ask.pack([], 3)["columns"] == []


@pytest.mark.parametrize(
    ("a", "b", "reason", "cuis"),
    [
        (UNKNOWN, "C0018670", "CONCEPT_NOT_FOUND", [UNKNOWN]),
        ("C9000902", UNKNOWN, "CONCEPT_RETIRED", ["C9000902"]),
        ("brain", "C9000902", "INVALID_CUI", ["brain"]),
        ("", "", "INVALID_CUI", [""]),
        ("C0006121\n", "C0018670", "INVALID_CUI", ["C0006121\n"]),
        ("Ç0006121", "C0018670", "INVALID_CUI", ["Ç0006121"]),
    ],
)
def test_a_concept_at_fault_is_named(ask: Asker, a: str, b: str, reason: str, cuis: list[str]) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: ask.distance(a, b),
        lambda: ask.distances([("C0006121", "C0018670"), (a, b)]),
        lambda: ask.path(a, b),
        lambda: ask.paths(a, b),
        lambda: ask.neighbourhoods([a, b]),
        lambda: ask.concepts([a, b]),
        lambda: ask.relevance([a], [b]),
        lambda: ask.relevances([a], [[b]]),
    ]
    messages = set()
    for call in calls:
        with pytest.raises(Refused) as refused:
            call()
        assert (refused.value.reason, refused.value.details["cuis"]) == (reason, cuis)
        assert refused.value.status in (HTTP_STATUS[reason], GRPC_STATUS[reason])
        messages.add(refused.value.message)
    assert len(messages) == 1


def test_limits_are_named(ask: Asker) -> None:
    cui = "C0006121"
    refusals: list[tuple[Callable[[], Any], str]] = [
        (lambda: ask.distances([(cui, cui)] * 6), "too many pairs: found 6; this service allows 5"),
        (lambda: ask.concepts([cui] * 5), "too many concepts: found 5; this service allows 4"),
        (lambda: ask.resolve([cui] * 5), "too many concepts"),
        (lambda: ask.neighbourhoods([cui] * 5), "too many concepts"),
        (lambda: ask.neighbourhoods(["C0926510", "C0005847"], hops=9), "too many neighbours: found 7"),
        (lambda: ask.relevances([cui], [[cui]] * 4), "too many sets: found 4; this service allows 3"),
        (lambda: ask.relevance([cui] * 4, [cui]), "too many set concepts: found 4"),
        (lambda: ask.relevance([cui, "C0006104", ISOLATED], [cui, "C0005847"]), "too many comparisons: found 6"),
        (lambda: ask.search("brain", limit=4), "too many hits: found 4; this service allows 3"),
        (lambda: ask.pack([cui] * 4, 1), "too many pack concepts: found 4"),
        (lambda: ask.paths(cui, cui, limit=7), "too many neighbours: found 7; this service allows 6"),
    ]
    for call, pattern in refusals:
        with pytest.raises(Refused, match=pattern) as refused:
            call()
        assert refused.value.reason == "LIMIT_EXCEEDED"
        assert refused.value.status in ("413", "RESOURCE_EXHAUSTED")
        assert "retry_after" not in refused.value.details


def test_a_limit_on_hops_holds_for_every_search(graph: SnapshotGraph) -> None:
    with running_service(graph, limits=Limits(hops=2)) as bounded:
        for make in (HttpAsker, GrpcAsker):
            asker = make(bounded)
            assert asker.distance("C0006121", "C0018670", max_hops=2)["hops"] is None
            assert asker.neighbourhoods(["C0006121"], hops=2)["around"][0][2] == 2
            calls: list[Callable[[], Any]] = [
                partial(asker.distance, "C0006121", "C0018670"),
                partial(asker.distances, [("C0006121", "C0018670")], max_hops=3),
                partial(asker.path, "C0006121", "C0018670", max_hops=3),
                partial(asker.neighbourhoods, ["C0006121"], hops=None),
                partial(asker.pack, ["C0006121"], 3),
                partial(asker.relevance, ["C0006121"], ["C0018670"], n=3),
                partial(asker.relevances, ["C0006121"], [["C0018670"]], n=3),
            ]
            for call in calls:
                with pytest.raises(Refused, match="this service allows a bound of at most 2") as refused:
                    call()
                assert refused.value.reason == "LIMIT_EXCEEDED"
            asker.close()


def test_a_limit_on_neighbours_counts_what_would_be_sent(ask: Asker) -> None:
    assert [row[2] for row in ask.neighbourhoods(["C0926510", "C0005847"], hops=9, limit=3)["around"]] == [3, 4]


@pytest.mark.parametrize("text", ["x" * 513, "é" * 513])
def test_a_text_that_is_too_long(ask: Asker, text: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: ask.search(text),
        lambda: ask.distance(text, "C0006121"),
        lambda: ask.resolve([text]),
    ]
    for call in calls:
        with pytest.raises(Refused, match="too long; found 513 characters; expected at most 512") as refused:
            call()
        assert refused.value.reason == "INVALID_INPUT"


def test_nothing_to_search_for(ask: Asker) -> None:
    with pytest.raises(Refused, match="nothing to search for") as refused:
        ask.search("…")
    assert (refused.value.reason, refused.value.details["field"]) == ("INVALID_INPUT", "text")


def test_a_pack_names_a_concept_given_twice(ask: Asker) -> None:
    with pytest.raises(Refused, match="given twice; found C9000901"):
        ask.pack(["C9000901", "C0042449"], 1)


def test_the_core_stops_when_the_answer_is_overdue(service: RunningService) -> None:
    from cuihop.errors import QueryTimedOut

    with pytest.raises(QueryTimedOut):
        service.core.distances([("C0006121", "C0018670")], context=RequestContext(ends=0.0))


def test_the_core_stops_when_the_caller_has_gone(service: RunningService) -> None:
    from cuihop_service.request_context import Cancelled

    with pytest.raises(Cancelled):
        service.core.distances([("C0006121", "C0018670")], context=RequestContext(cancelled=True))


def test_the_three_ways_in_are_three() -> None:
    assert {*ASKERS} == {"core", "grpc", "http"}
    assert issubclass(CoreAsker, Asker)
