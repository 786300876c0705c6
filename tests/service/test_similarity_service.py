"""Similarity over HTTP and gRPC: limits, counts of a corpus, wrong requests, and a hierarchy that is built once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import urllib3

from cuihop import SnapshotGraph
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.errors import GraphUnavailable, InputError, LimitExceeded
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub
from cuihop_server import RunningService, running_service
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.limits import Limits
from cuihop_service.release_watch import ReleaseWatch
from cuihop_service.settings import read_settings
from cuihop_service.similarity import CorpusCounts
from cuihop_service.stores import SnapshotStore
from cuihop_service.worker import corpus_counts
from example_graph import example_graph

VEINS, AORTA, HEAD = "C0042449", "C0003483", "C0018670"
COUNTS = {VEINS: 3.0, AORTA: 2.0, "C9000001": 1.0}
SMALL = Limits(pairs=3, concepts=6, sets=2, set_concepts=2, comparisons=3)


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    corpus = CorpusCounts(ConceptCounts({**COUNTS, "C9999999": 9.0}))
    with running_service(example_graph(), corpus=corpus) as running:
        yield running


@pytest.fixture(scope="module")
def small() -> Iterator[RunningService]:
    with running_service(example_graph(), limits=SMALL) as running:
        yield running


def post(service: RunningService, route: str, **fields: Any) -> tuple[int, dict[str, Any]]:
    answer = urllib3.request("POST", f"{service.http}/v1/{route}", json=fields, timeout=300)
    return answer.status, answer.json()


def remote(service: RunningService, scheme: str) -> RemoteGraph:
    return RemoteGraph(RemoteSettings(getattr(service, scheme), retry_time=0))


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_the_corpus_is_that_of_the_service(service: RunningService, small: RunningService, scheme: str) -> None:
    options, own = SimilarityOptions("Lin", "corpus"), SimilarityOptions("Lin", "corpus", COUNTS)
    with remote(service, scheme) as graph:
        expected = list(example_graph().hierarchy.similarities([(VEINS, AORTA), (VEINS, HEAD)], own))
        assert list(graph.hierarchy.similarities([(VEINS, AORTA), (VEINS, HEAD)], options)) == expected
        assert graph.hierarchy.placements([HEAD], ic="corpus")[0].ic is None
        assert graph.hierarchy.pair(VEINS, AORTA, ic="corpus").values["Lin"] == expected[0]
    with remote(small, scheme) as graph, pytest.raises(InputError, match=r"no counts of a corpus.*Its owner can give"):
        graph.hierarchy.similarity(VEINS, AORTA, options)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_batches_are_cut_to_the_limits(small: RunningService, scheme: str) -> None:
    cuis = ["C0006121", "C0006104", HEAD, VEINS, AORTA, "C0005847", "C0003842", "C0007226"]
    pairs = [(a, b) for a in cuis for b in cuis]
    sets = [([a], [b, AORTA]) for a, b in pairs[:9]]
    here = example_graph().hierarchy
    with remote(small, scheme) as graph:
        assert list(graph.hierarchy.similarities(pairs)) == list(here.similarities(pairs))
        assert graph.hierarchy.pairs(pairs[:10]) == here.pairs(pairs[:10])
        assert graph.hierarchy.placements(cuis) == here.placements(cuis)
        assert list(graph.hierarchy.set_similarities(sets)) == list(here.set_similarities(sets))
        with pytest.raises(LimitExceeded, match="set concepts"):
            graph.hierarchy.set_similarities([(cuis, [AORTA])])


def test_the_scale_is_the_distribution_over_all_pairs(service: RunningService) -> None:
    """A sample of 2,000 pairs is near what all pairs of concepts with an edge give."""
    graph = example_graph()
    pairs = list(
        permutations([c.cui for c in graph.concepts(graph.hierarchy.identifiers()) if c.parents + c.children], 2)
    )
    answer = urllib3.request("GET", f"{service.http}/v1/similarity-scale", fields={"ic": "Seco"}, timeout=300).json()
    assert (answer["ic"], answer["release"]) == ("Seco", graph.release.digest)
    assert 1700 < answer["pairs"] < 2000
    for measure in SIMILARITY_MEASURES:
        levels = answer["percentiles"][measure]
        values = np.array(graph.hierarchy.similarities(pairs, SimilarityOptions(measure, "Seco")).values)
        assert levels == sorted(levels)
        assert len(levels) == 101
        assert set(levels) <= set(values.tolist())
        for percent in (10, 25, 50, 75, 90):
            below, with_ties = (values < levels[percent]).mean(), (values <= levels[percent]).mean()
            assert below - 0.05 < percent / 100 < with_ties + 0.05, measure
    with grpc.insecure_channel(service.grpc.removeprefix("grpc://")) as channel:
        stub = ConceptGraphServiceStub(channel)
        same = stub.GetSimilarityScale(pb.GetSimilarityScaleRequest(ic=pb.INFORMATION_CONTENT_SECO), timeout=300)
    assert [list(each.values) for each in same.percentiles] == list(answer["percentiles"].values())
    empty = SnapshotGraph.of([], concepts=["C0000001", "C0000002"]).hierarchy.scale(SimilarityOptions())
    assert (empty.pairs, set(empty.percentiles.values())) == (0, {()})


def test_requests_above_the_limits_are_refused(small: RunningService) -> None:
    pair = [VEINS, AORTA]
    for route, fields, limit in (
        ("similarities", {"pairs": [pair] * 4}, "pairs"),
        ("similarities", {"sets": [[[VEINS], [AORTA]]] * 3}, "sets"),
        ("similarities", {"sets": [[[VEINS] * 3, [AORTA]]]}, "set concepts"),
        ("similarities", {"sets": [[pair, pair]]}, "comparisons"),
        ("pair-similarities", {"pairs": [pair] * 4}, "concepts"),
        ("placements", {"cuis": [VEINS] * 7}, "concepts"),
    ):
        status, problem = post(small, route, **fields)
        assert (status, problem["reason"]) == (413, "LIMIT_EXCEEDED")
        assert f"too many {limit}" in problem["detail"]
    long = urllib3.request("GET", f"{small.http}/v1/similarity", fields={"a": VEINS, "b": "C" * 600}, timeout=300)
    assert (long.status, "too long" in long.json()["detail"]) == (400, True)


def test_wrong_requests_name_the_field(service: RunningService) -> None:
    for fields, found in (
        ({}, "either pairs or sets"),
        ({"pairs": [], "sets": []}, "either pairs or sets"),
        ({"pairs": [[VEINS, AORTA]], "measure": "cosine"}, "measure"),
        ({"pairs": [[VEINS, AORTA]], "ic": "Zhou"}, "ic"),
        ({"pairs": [[VEINS, AORTA]], "counts": {VEINS: 3}}, "counts"),
        ({"pairs": [[VEINS]]}, "pairs"),
    ):
        status, problem = post(service, "similarities", **fields)
        assert status == 400
        assert found in f"{problem['detail']} {problem.get('field')}"
    of_corpus = urllib3.request(
        "GET", f"{service.http}/v1/similarity", fields={"a": VEINS, "b": AORTA, "ic": "corpus"}, timeout=300
    )
    assert of_corpus.status == 400  # the answer may be cached by its address, and the counts are not in it
    with grpc.insecure_channel(service.grpc.removeprefix("grpc://")) as channel:
        stub = ConceptGraphServiceStub(channel)
        both = pb.SimilaritiesRequest(pairs=[pb.ConceptPair(a=VEINS, b=AORTA)], sets=[pb.ConceptSetPair()])
        for request in (both, pb.SimilaritiesRequest(measure=99), pb.SimilaritiesRequest(ic=99)):  # type: ignore[arg-type]
            with pytest.raises(grpc.RpcError) as raised:
                stub.Similarities(request)
            assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        default = stub.Similarities(pb.SimilaritiesRequest(pairs=[pb.ConceptPair(a=VEINS, b=AORTA)]))
        assert list(default.similarities) == [example_graph().hierarchy.similarity(VEINS, AORTA)]
        assert default.provenance.release_digest == example_graph().release.digest


def test_without_an_index_similarity_is_refused_with_the_way_on() -> None:
    snapshot = example_graph()
    with (
        running_service(ServedGraph(snapshot.release, database=snapshot)) as running,
        remote(running, "grpc") as graph,
    ):
        with pytest.raises(GraphUnavailable, match="see the setting index"):
            graph.hierarchy.facts()
        assert graph.distance(VEINS, AORTA) == 3


def test_the_hierarchy_is_built_once_for_all_threads() -> None:
    snapshot = example_graph()
    with ThreadPoolExecutor(8) as threads:
        assert len({id(tables) for tables in threads.map(lambda _: snapshot.hierarchy.tables, range(32))}) == 1


def test_the_counts_are_read_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    flags = {"graph": "g.cuihop", "information_content_counts": str(path)}
    with pytest.raises(InputError):
        corpus_counts(read_settings(flags, None))
    path.write_text(f"{VEINS},3\n{AORTA},2\nC9000001,1\nC9000901,1\n")
    corpus = corpus_counts(read_settings(flags, None))
    assert corpus is not None
    snapshot = example_graph()
    assert corpus.used_in(snapshot) == {**COUNTS, VEINS: 4.0}
    assert corpus.used_in(snapshot) is corpus.used_in(snapshot)
    with pytest.raises(InputError, match="no concept of the counts is in the graph"):
        corpus.used_in(SnapshotGraph.of([("C0000001", "C0000002")]))


def test_the_hierarchy_is_built_after_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "g.cuihop"
    example_graph().save(path)
    holder = GraphHolder()
    with caplog.at_level("INFO", "cuihop.service"):
        ReleaseWatch(holder, SnapshotStore(path, tmp_path / "copies"), 1.0).open_first()
        for thread in threading.enumerate():
            if thread.name == "hierarchy":
                thread.join(60)
    holder.close()
    assert "the hierarchy was built in" in caplog.text
