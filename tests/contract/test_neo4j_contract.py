"""The contract suite on `Neo4jGraph`, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bolt_cluster import bolt_cluster
from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import stored_graph


@pytest.mark.core
class TestNeo4j(ConceptGraphContract):
    random_graphs = 8
    pairs_a_thread = 4
    every_published = 10

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, neo4j_server: LocalServer) -> Adapt:
        return lambda snapshot: stored_graph(neo4j_server, snapshot)


class TestNeo4jCluster(ConceptGraphContract):
    """The same over ``neo4j://``: loads by the leader, all else by followers."""

    random_graphs = 5
    pairs_a_thread = 2
    every_published = 50

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, neo4j_server: LocalServer) -> Iterator[Adapt]:
        with bolt_cluster(neo4j_server.address) as cluster:
            yield lambda snapshot: stored_graph(neo4j_server, snapshot, address=cluster.address)
            assert cluster.leader is not None
            assert cluster.leader.reads == 0
            assert all(follower.reads and not follower.writes for follower in cluster.followers)
