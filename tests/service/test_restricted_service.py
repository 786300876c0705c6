"""The service within vocabularies: every operation over both transports, its releases, and what it holds."""

from __future__ import annotations

import json
import pickle
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
import urllib3

from cuihop import connect
from cuihop.errors import GraphUnavailable, InputError, ReleaseMismatch
from cuihop.remote.graph import RemoteGraph
from cuihop.resources.progress import interrupted_by
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub
from cuihop_server import RunningService, running_service
from cuihop_service.cache import CachedGraph
from cuihop_service.graph_holder import GraphHolder, Lease, RestrictedGraphs, ServedGraph
from cuihop_service.request_context import Overdue, ReleaseSession, RequestContext
from example_graph import asserted_graph, sourced_edges_graph
from service_askers import HttpAsker, Refused

ONE, TWO, THREE = "C0000001", "C0000002", "C0000003"
NCI = {"within_sabs": ["NCI"]}


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(asserted_graph()) as running:
        yield running


@pytest.fixture
def http(service: RunningService) -> Iterator[HttpAsker]:
    asker = HttpAsker(service)
    yield asker
    asker.close()


def test_every_operation_over_http_counts_these_edges_only(http: HttpAsker) -> None:
    digest = asserted_graph().within(["NCI"]).release.digest
    answers: list[tuple[dict[str, Any], str, Any]] = [
        (http.get("/v1/distance", a=ONE, b=TWO, within_sabs="NCI"), "hops", None),
        (http.get("/v1/distance", a=THREE, b=TWO, within_sabs="NCI"), "hops", 1),
        (http.post("/v1/distances", {"pairs": [(ONE, TWO), (TWO, THREE)], **NCI}), "hops", [None, 1]),
        (http.get("/v1/path", a=ONE, b=THREE, within_sabs="NCI"), "path", None),
        (http.get("/v1/neighbourhood", cui=TWO, within_sabs="NCI"), "total", 1),
        (http.post("/v1/pack", {"cuis": [ONE, TWO, THREE], "hops": 1, **NCI}), "indptr", [0, 1, 3, 5]),
        (http.post("/v1/relevance", {"a": [ONE], "b": [TWO], **NCI}), "nn_iou", 0.0),
        (http.post("/v1/relevances", {"query": [TWO], "corpus": [[ONE], [THREE]], **NCI}), "nn_iou", [0.0, 0.5]),
        (http.get("/v1/concept", cui=ONE, within_sabs="NCI"), "parents", 0),
    ]
    for answer, field, expected in answers:
        assert (answer[field], answer["release"], answer["tier"]) == (expected, digest, "index")
    hoods = http.post("/v1/neighbourhoods", {"cuis": [ONE, TWO], **NCI})
    assert [hood["total"] for hood in hoods["neighbourhoods"]] == [0, 1]
    assert [c["children"] for c in http.post("/v1/concepts", {"cuis": [TWO], **NCI})["concepts"]] == [1]
    release = http.get("/v1/release", within_sabs="NCI")
    assert (release["name"], release["digest"], release["edges"]) == ("asserted within NCI", digest, 1)
    assert http.get("/v1/distance", a=ONE, b=TWO)["hops"] == 1


def test_grpc_counts_these_edges_only(service: RunningService) -> None:
    within = pb.SearchBounds(within_sabs=["NCI"])
    pairs = [pb.ConceptPair(a=ONE, b=TWO), pb.ConceptPair(a=TWO, b=THREE)]
    packed = pb.PackedPairs(a=[1, 2], b=[2, 3])
    with grpc.insecure_channel(service.grpc.removeprefix("grpc://")) as channel:
        stub = ConceptGraphServiceStub(channel)
        assert not stub.Distance(pb.DistanceRequest(a=ONE, b=TWO, bounds=within)).HasField("hops")
        assert stub.Distance(pb.DistanceRequest(a=ONE, b=TWO)).hops == 1
        batches = [pb.DistancesRequest(pairs=pairs, bounds=within), pb.DistancesRequest(packed=packed, bounds=within)]
        answers = [stub.Distances(batch) for batch in batches]
        answers += [a.batch for a in stub.StreamDistances(pb.StreamDistancesRequest(batch=b) for b in batches)]
        assert [(list(answer.hops), list(answer.unreached)) for answer in answers] == [([0, 1], [0])] * 4
        sets = [pb.ConceptSet(cuis=[cui]) for cui in (ONE, TWO, THREE)]
        rule = pb.RelevanceRule(within_sabs=["NCI"])
        assert stub.SetRelevance(pb.SetRelevanceRequest(a=sets[0], b=sets[1], rule=rule)).nn_iou == 0
        row = stub.Relevances(pb.RelevancesRequest(query=sets[1], corpus=sets, rule=rule))
        assert list(row.nn_iou) == [0, 1, 0.5]
        with pytest.raises(grpc.RpcError) as caught:
            stub.Distance(pb.DistanceRequest(a=ONE, b=TWO, bounds=pb.SearchBounds(within_sabs=["NCIt"])))
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "Did you mean NCI?" in str(caught.value.details())


def test_a_stream_over_http_has_the_vocabularies_of_each_batch(service: RunningService) -> None:
    pairs = [(ONE, TWO), (TWO, THREE)]
    lines = [{"pairs": pairs}, {"pairs": pairs, **NCI}, {"pairs": pairs, "within_sabs": ["MSH"]}]
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    headers = {"content-type": "application/x-ndjson"}
    answer = urllib3.request("POST", f"{service.http}/v1/distances/stream", body=body, headers=headers, timeout=300)
    assert [json.loads(line)["hops"] for line in answer.data.splitlines()] == [[1, 1], [None, 1], [1, None]]


@pytest.mark.parametrize(
    ("wrong", "found"),
    [(["snomedct"], "Did you mean SNOMEDCT_US?"), ([f"S{i}" for i in range(17)], "at most 16"), (["x" * 500], "xxx…")],
)
def test_vocabularies_that_cannot_be_are_refused_with_advice(http: HttpAsker, wrong: list[str], found: str) -> None:
    refusals: tuple[Callable[[], object], ...] = (
        lambda: http.get("/v1/distance", a=ONE, b=TWO, within_sabs=wrong),
        lambda: http.post("/v1/distances", {"pairs": [(ONE, TWO)], "within_sabs": wrong}),
        lambda: http.get("/v1/release", within_sabs=wrong),
    )
    for refused in refusals:
        with pytest.raises(Refused, match=re.escape(found)) as caught:
            refused()
        assert caught.value.reason == "INVALID_INPUT"


def test_an_answer_is_demanded_and_kept_by_the_digest_of_the_restricted_release(service: RunningService) -> None:
    whole, within = asserted_graph().release.digest, asserted_graph().within(["NCI"]).release.digest
    path = f"{service.http}/v1/distance?a={ONE}&b={TWO}"
    first = urllib3.request("GET", f"{path}&within_sabs=NCI&release={within}", timeout=300)
    assert (first.status, json.loads(first.data)["release"]) == (200, within)
    assert "immutable" in first.headers["cache-control"]
    assert urllib3.request("GET", f"{path}&within_sabs=NCI&release={whole}", timeout=300).status == 409
    assert urllib3.request("GET", f"{path}&release={within}", timeout=300).status == 409
    tag = {"if-none-match": first.headers["etag"]}
    assert urllib3.request("GET", f"{path}&within_sabs=NCI&release={within}", headers=tag, timeout=300).status == 304
    assert urllib3.request("GET", path, headers=tag, timeout=300).status == 200


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_remote_graph_notices_another_release(scheme: str) -> None:
    with running_service(asserted_graph()) as running, connect(getattr(running, scheme)) as whole:
        within = whole.within(["NCI"])
        assert isinstance(within, RemoteGraph)
        other = sourced_edges_graph({(ONE, TWO): ["NCI"], (TWO, THREE): ["NCI"]}, name="asserted")
        running.holder.serve(ServedGraph(other.release, index=other))
        for call in (lambda: within.distance(ONE, TWO), lambda: within.names([ONE]), lambda: whole.within(["NCI"])):
            with pytest.raises(ReleaseMismatch, match="has changed to the release"):
                call()
        assert within.refresh() == other.within(["NCI"]).release
        assert within.distance(ONE, TWO) == 1


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_service_that_ignores_the_field_is_noticed(
    scheme: str, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_vocabularies(
        holder: GraphHolder, within_sabs: Sequence[str] = (), session: ReleaseSession | None = None
    ) -> Lease:
        return Lease(holder, (), session)  # as a service of an earlier version

    with connect(getattr(service, scheme)) as whole:
        monkeypatch.setattr(GraphHolder, "lease", without_vocabularies)
        with pytest.raises(GraphUnavailable, match="does not restrict its graph to vocabularies"):
            whole.within(["NCI"])


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_the_hierarchy_of_a_restricted_remote_graph_is_that_of_these_edges(
    scheme: str, service: RunningService
) -> None:
    expected = asserted_graph().within(["NCI"]).hierarchy
    with connect(getattr(service, scheme)) as whole:
        found = whole.within(["NCI"]).hierarchy
        assert found.facts() == expected.facts() != whole.hierarchy.facts()
        assert found.placements([ONE, TWO, THREE]) == expected.placements([ONE, TWO, THREE])
        pairs = [(ONE, TWO), (THREE, TWO), (ONE, THREE)]
        assert found.similarities(pairs).to_list() == expected.similarities(pairs).to_list()


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_restricted_remote_graph_is_opened_again_from_a_pickle(scheme: str, service: RunningService) -> None:
    with connect(getattr(service, scheme)) as whole:
        within = whole.within(["NCI"])
        with pickle.loads(pickle.dumps(within)) as again:  # noqa: S301 - its own pickle
            assert again.release == within.release
            assert again.distances([(ONE, TWO), (THREE, TWO)]) == [None, 1]
        within.close()
        with pytest.raises(GraphUnavailable, match="the graph is closed"):
            whole.distance(ONE, TWO)


@pytest.mark.slow
def test_a_service_by_cypher_caches_by_the_restricted_release() -> None:
    graph = asserted_graph()
    served = ServedGraph(graph.release, database=graph, cached=CachedGraph(graph, entries=100))
    with running_service(served) as running:
        asker = HttpAsker(running)
        for _ in range(2):
            whole = asker.get("/v1/distance", a=ONE, b=TWO)
            within = asker.get("/v1/distance", a=ONE, b=TWO, within_sabs="NCI")
            assert (whole["hops"], within["hops"]) == (1, None)
        assert (whole["tier"], within["tier"]) == ("cache", "cache")
        asker.close()


@pytest.mark.parametrize("with_cache", [False, True])
def test_a_database_is_restricted_and_its_cache_with_it(with_cache: bool) -> None:
    graph = asserted_graph()
    cached = CachedGraph(graph, entries=1) if with_cache else None
    within = ServedGraph(graph.release, database=graph, cached=cached).within(["NCI"])
    assert (within.index, within.release) == (None, graph.within(["NCI"]).release)
    assert within.database is not None
    assert within.database.distances([(ONE, TWO), (THREE, TWO)]) == [None, 1]
    assert (None if within.cached is None else within.cached.graph) is (within.database if with_cache else None)


def test_the_most_recent_restrictions_are_held_and_each_is_built_once() -> None:
    graphs: RestrictedGraphs[tuple[str, ...]] = RestrictedGraphs(most=2)
    built: list[tuple[str, ...]] = []
    together = threading.Barrier(8)

    def graph(sabs: tuple[str, ...]) -> tuple[str, ...]:
        def build() -> tuple[str, ...]:
            built.append(sabs)
            return sabs

        return graphs.graph(sabs, build)

    def after_the_others(_: int) -> tuple[str, ...]:
        together.wait(30)
        return graph(("A",))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(after_the_others, range(8))) == {("A",)}
    assert built == [("A",)]
    for sabs in ("B", "A", "C", "A", "B"):
        assert graph((sabs,)) == (sabs,)
    assert built == [("A",), ("B",), ("C",), ("B",)]
    assert len(graphs) == 2


def test_a_request_that_is_overdue_does_not_wait_for_the_graph_of_another() -> None:
    graphs: RestrictedGraphs[int] = RestrictedGraphs()
    begun, go = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go.wait(30)
        return 1

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(graphs.graph, ("A",), slow)
        assert begun.wait(30)
        with pytest.raises(Overdue), interrupted_by(RequestContext(ends=0.0).check):
            graphs.graph(("B",), lambda: 2)
        go.set()
        assert other.result(30) == 1


def test_a_request_that_is_overdue_once_it_may_build_builds_nothing() -> None:
    graphs: RestrictedGraphs[int] = RestrictedGraphs()
    with pytest.raises(Overdue), interrupted_by(RequestContext(ends=0.0).check):
        graphs.graph(("A",), lambda: pytest.fail("built"))
    assert graphs.graph(("A",), lambda: 7) == 7


def test_a_restriction_that_fails_is_tried_again() -> None:
    graphs: RestrictedGraphs[int] = RestrictedGraphs()

    def failing() -> int:
        raise InputError("as it happens")

    with pytest.raises(InputError, match="as it happens"):
        graphs.graph(("A",), failing)
    assert graphs.graph(("A",), lambda: 7) == 7
