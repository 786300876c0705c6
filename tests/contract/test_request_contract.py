"""The contract suite on `RequestGraph`: the core of the service as a graph."""

from __future__ import annotations

import math

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop import SnapshotGraph
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.limits import Limits
from cuihop_service.request_context import RequestContext
from cuihop_service.request_graph import RequestGraph


class TestOfOneRequest(ConceptGraphContract):
    own_counts = False
    random_graphs = 20
    pairs_a_thread = 8

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Adapt:
        def adapt(snapshot: SnapshotGraph) -> RequestGraph:
            core = ConceptService(GraphHolder(), Limits(text=8192))
            served = ServedGraph(snapshot.release, index=snapshot)
            return RequestGraph(core, served, RequestContext(ends=math.inf))

        return adapt
