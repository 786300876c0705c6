"""The contract suite on `Neo4jGraph`, against a real server."""

from __future__ import annotations

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import stored_graph


class TestNeo4j(ConceptGraphContract):
    random_graphs = 8
    pairs_a_thread = 4
    every_published = 10

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, neo4j_server: LocalServer) -> Adapt:
        return lambda snapshot: stored_graph(neo4j_server, snapshot)
