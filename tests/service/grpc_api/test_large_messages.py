"""Large messages under overload: each waits for its turn, as over HTTP, and gives it back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any

import grpc
import pytest

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.limits import Limits
from service_askers import GrpcAsker
from waiting import wait_for

SERVICE = pb.DESCRIPTOR.services_by_name["ConceptGraphService"].full_name
CHAIN = [f"C{number:07d}" for number in range(1_000)]
LARGE = pb.DistancesRequest(pairs=[pb.ConceptPair(a=CHAIN[0], b=CHAIN[3])] * 500)
SMALL = pb.DistancesRequest(packed=pb.PackedPairs(a=[0], b=[3]))


@pytest.fixture
def service() -> Iterator[RunningService]:
    graph = SnapshotGraph.of(list(pairwise(CHAIN)), name="chain", identifiers="cui")
    with running_service(graph, limits=Limits(running=1)) as running:
        yield running


@pytest.fixture
def asker(service: RunningService) -> Iterator[GrpcAsker]:
    with closing(GrpcAsker(service)) as opened:
        yield opened


@contextmanager
def waiting(service: RunningService, asker: GrpcAsker, seconds: float) -> Iterator[Future[Any]]:
    """A large call that waits, as another is being answered."""
    assert service.admission.turn_at_once(1)
    with ThreadPoolExecutor() as pool:
        call = pool.submit(asker.stub.Distances, LARGE, timeout=seconds)
        wait_for(lambda: len(service.admission._turns) == 1)
        yield call


def test_a_large_message_waits_for_its_turn(service: RunningService, asker: GrpcAsker) -> None:
    with waiting(service, asker, 300) as call:
        assert list(asker.stub.Distances(SMALL).hops) == [3], "a small one takes no turn"
        assert not call.done()
        service.loop.call_soon_threadsafe(service.admission.end_turn)
        assert list(call.result().hops) == [3] * 500
    wait_for(lambda: service.admission._turns_held == 0)


def test_a_call_whose_time_is_over_gives_no_answer_and_keeps_no_turn(service: RunningService, asker: GrpcAsker) -> None:
    with waiting(service, asker, 1) as call, pytest.raises(grpc.RpcError) as late:
        call.result()
    assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_for(lambda: not service.admission._turns)
    service.loop.call_soon_threadsafe(service.admission.end_turn)
    wait_for(lambda: service.admission._turns_held == 0)


def test_every_large_call_gives_its_turn_back(service: RunningService, asker: GrpcAsker) -> None:
    unknown = pb.DistancesRequest(pairs=[pb.ConceptPair(a=CHAIN[0], b="C9999999")] * 500)
    pack = pb.GetDistancePackRequest(cuis=CHAIN)
    assert list(asker.stub.Distances(LARGE).hops) == [3] * 500
    assert list(asker.stub.GetDistancePack(pack))
    with pytest.raises(grpc.RpcError, match="C9999999"):
        asker.stub.Distances(unknown)
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        call: Any = channel.unary_unary(f"/{SERVICE}/Distances", request_serializer=bytes)
        with pytest.raises(grpc.RpcError, match="not a message of the contract"):
            call(b"\xff" * 10_000, timeout=60)
    wait_for(lambda: service.admission._turns_held == 0)
    assert service.admission._turns == []
