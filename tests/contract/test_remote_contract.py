"""The contract suite on `RemoteGraph`, over both transports, against the real service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop import ConceptGraph, SnapshotGraph, connect
from cuihop_server import RunningService, running_service
from cuihop_service.graph_holder import ServedGraph
from example_graph import example_graph


class TestOverGrpc(ConceptGraphContract):
    scheme = "grpc"
    own_counts = False
    random_graphs = 8
    pairs_a_thread = 4

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Iterator[Adapt]:
        def address(running: RunningService) -> str:
            return running.grpc if cls.scheme == "grpc" else running.http

        with running_service(example_graph()) as example, running_service(SnapshotGraph.of([])) as others:

            def adapt(snapshot: SnapshotGraph) -> ConceptGraph:
                if snapshot.release == example_graph().release:  # asked in turn with the others
                    return connect(address(example))
                others.holder.serve(ServedGraph(snapshot.release, index=snapshot))
                return connect(address(others))

            yield adapt


class TestOverHttp(TestOverGrpc):
    scheme = "http"
