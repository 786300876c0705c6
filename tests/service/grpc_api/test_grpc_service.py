"""Features of gRPC alone: streams, packed numbers, health, reflection, details of errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.limits import Limits
from example_graph import UNKNOWN, example_graph
from service_askers import GrpcAsker, Refused, refusal
from waiting import wait_until_still


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph(), limits=Limits(pairs=2_000, message_bytes=100_000)) as running:
        yield running


@pytest.fixture(scope="module")
def asker(service: RunningService) -> Iterator[GrpcAsker]:
    grpc_asker = GrpcAsker(service)
    yield grpc_asker
    grpc_asker.close()


@pytest.fixture
def channel(service: RunningService) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as opened:
        yield opened


def test_packed_numbers_are_the_same_batch(asker: GrpcAsker) -> None:
    packed = pb.PackedPairs(a=[6121, 42449, 9000901, 9000004], b=[18670, 5847, 5847, 18670])
    answer = asker.stub.Distances(pb.DistancesRequest(packed=packed))
    assert list(answer.hops) == [3, 1, 1, 0]
    assert list(answer.unreached) == [3]
    assert dict(answer.merged) == {"C9000901": "C0042449"}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (pb.DistancesRequest(packed=pb.PackedPairs(a=[1], b=[])), "two lengths; found 1 and 0"),
        (pb.DistancesRequest(packed=pb.PackedPairs(a=[10_000_000], b=[1])), "no CUI has this number; found 10000000"),
        (
            pb.DistancesRequest(pairs=[pb.ConceptPair(a="C", b="C")], packed=pb.PackedPairs(a=[1], b=[1])),
            "two forms of pairs",
        ),
        (pb.DistancesRequest(bounds=pb.SearchBounds(direction=7)), "direction: no such value; found 7"),  # type: ignore[arg-type]
    ],
)
def test_a_batch_that_asks_nothing_possible(asker: GrpcAsker, request_: pb.DistancesRequest, message: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        asker.stub.Distances(request_)
    found = refusal(refused.value)
    assert (found.reason, found.status) == ("INVALID_INPUT", "INVALID_ARGUMENT")
    assert message in found.message


def test_packed_numbers_need_a_release_of_cuis() -> None:
    graph = SnapshotGraph.of([("HP:1", "HP:2")])
    with running_service(graph) as running:
        asker = GrpcAsker(running)
        assert asker.distance("HP:1", "HP:2")["hops"] == 1
        with pytest.raises(grpc.RpcError) as refused:
            asker.stub.Distances(pb.DistancesRequest(packed=pb.PackedPairs(a=[1], b=[1])))
        assert "identifiers that are no CUIs" in refusal(refused.value).message
        asker.close()


def test_numbers_of_enumerations_without_meaning(asker: GrpcAsker) -> None:
    rule: Any = pb.RelevanceRule(unknown=9)  # type: ignore[arg-type]
    calls: list[Callable[[], Any]] = [
        lambda: asker.stub.SetRelevance(pb.SetRelevanceRequest(rule=rule)),
        lambda: asker.stub.Distance(pb.DistanceRequest(bounds=pb.SearchBounds(direction=9))),  # type: ignore[arg-type]
        lambda: asker.stub.Path(pb.PathRequest(bounds=pb.SearchBounds(direction=9))),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refusal(refused.value).reason == "INVALID_INPUT"


def test_a_lambda_out_of_its_range(asker: GrpcAsker) -> None:
    for lam in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(Refused, match="λ is out of its range"):
            asker.relevance(["C0042449"], ["C0005847"], lam=lam)


def batches(count: int, taken: list[int]) -> Iterator[pb.StreamDistancesRequest]:
    for sequence in range(count):
        taken.append(sequence)
        packed = pb.PackedPairs(a=[6121] * 1_000, b=[18670] * 1_000)
        yield pb.StreamDistancesRequest(sequence=sequence, batch=pb.DistancesRequest(packed=packed))


def test_a_stream_answers_in_order(asker: GrpcAsker) -> None:
    taken: list[int] = []
    answers = list(asker.stub.StreamDistances(batches(50, taken)))
    assert [answer.sequence for answer in answers] == list(range(50))
    assert all(set(answer.batch.hops) == {3} for answer in answers)
    assert {answer.batch.provenance.release_digest for answer in answers} == {
        answers[0].batch.provenance.release_digest
    }


@pytest.mark.slow
def test_a_slow_reader_slows_the_stream_down(asker: GrpcAsker) -> None:
    taken: list[int] = []
    stream = asker.stub.StreamDistances(batches(5_000, taken))
    next(stream)
    held_back = wait_until_still(lambda: len(taken))
    assert held_back < 5_000  # windows of HTTP/2 hold some batches; the rest waits with the sender
    stream.cancel()


def test_an_error_ends_a_stream_after_the_answers_before_it(asker: GrpcAsker) -> None:
    good = pb.DistancesRequest(pairs=[pb.ConceptPair(a="C0006121", b="C0018670")])
    bad = pb.DistancesRequest(pairs=[pb.ConceptPair(a="C0006121", b=UNKNOWN)])
    stream = asker.stub.StreamDistances(
        iter(pb.StreamDistancesRequest(sequence=i, batch=batch) for i, batch in enumerate([good, bad, good]))
    )
    assert next(stream).sequence == 0
    with pytest.raises(grpc.RpcError) as refused:
        next(stream)
    assert refusal(refused.value).details["cuis"] == [UNKNOWN]


def test_a_pack_of_several_messages_is_whole(monkeypatch: pytest.MonkeyPatch, asker: GrpcAsker) -> None:
    from cuihop_service.grpc_api import messages

    whole = asker.pack(["C0006121", "C0006104", "C0926510", "C0018670"], 2)
    monkeypatch.setattr(messages, "_PACK_ENTRIES", 2)
    request = pb.GetDistancePackRequest(cuis=whole["cuis"], hops=2)
    parts = list(asker.stub.GetDistancePack(request))
    assert len(parts) == 4
    assert [len(part.cuis) for part in parts] == [4, 0, 0, 0]
    assert asker.pack(whole["cuis"], 2) == whole


def test_a_message_that_is_too_large_is_refused(asker: GrpcAsker) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        asker.stub.Resolve(pb.ResolveRequest(cuis=["C0006121"] * 20_000))
    found: Any = refused.value
    assert found.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_many_identifiers_at_fault_fit_into_the_status(asker: GrpcAsker) -> None:
    unknown = [f"C88{i:05d}" for i in range(2_000)]
    with pytest.raises(Refused) as refused:
        asker.distances([(cui, "C0006121") for cui in unknown])
    assert refused.value.reason == "CONCEPT_NOT_FOUND"
    assert refused.value.details["cuis"] == unknown[: len(refused.value.details["cuis"])]
    assert len(refused.value.details["cuis"]) > 50
    assert "and 1,995 more" in refused.value.message


def test_the_request_id_of_the_caller_comes_back(asker: GrpcAsker) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        asker.stub.Distance(pb.DistanceRequest(a=UNKNOWN, b=UNKNOWN), metadata=[("x-request-id", "my-request")])
    error: Any = refused.value
    trailers = dict(error.trailing_metadata())
    assert b"my-request" in trailers["grpc-status-details-bin"]


def test_what_is_served_and_within_which_limits(asker: GrpcAsker) -> None:
    described = asker.stub.GetRelease(pb.GetReleaseRequest())
    graph = example_graph()
    assert described.release.digest == graph.release.digest
    assert (described.release.concepts, described.release.edges) == (graph.release.concepts, graph.release.edges)
    assert (described.limits.pairs, described.indexed, described.names) == (2_000, True, True)


def test_the_standard_health_service(channel: grpc.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    for name in ("", "cuihop_api.v1.ConceptGraphService"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as refused:
        stub.Check(health_pb2.HealthCheckRequest(service="no such service"))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_tells_the_contract(channel: grpc.Channel, version: str) -> None:
    ask: Any = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    reflection_requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="cuihop_api.v1.ConceptGraphService"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=f"grpc.reflection.{version}.ServerReflection"),
    ]
    listed, file, own = ask(iter(reflection_requests))
    reflection = {"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}
    assert {"cuihop_api.v1.ConceptGraphService", *reflection} <= {s.name for s in listed.list_services_response.service}
    (itself,) = own.file_descriptor_response.file_descriptor_proto
    assert FileDescriptorProto.FromString(itself).package == f"grpc.reflection.{version}"
    described = FileDescriptorProto.FromString(file.file_descriptor_response.file_descriptor_proto[0])
    assert {method.name for method in described.service[0].method} >= {"Distance", "StreamDistances", "SetRelevance"}


@pytest.mark.slow
def test_many_callers_get_the_same_answers(asker: GrpcAsker, service: RunningService) -> None:
    wrong: list[Any] = []

    def ask() -> None:
        mine = GrpcAsker(service)
        for _ in range(100):
            if mine.distance("C0006121", "C0018670")["hops"] != 3 or mine.distance("C0042449", "C0005847")["hops"] != 1:
                wrong.append(1)
        mine.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
