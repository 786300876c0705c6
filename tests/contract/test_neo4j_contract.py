"""The contract suite on `Neo4jGraph`, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bolt_cluster import bolt_cluster
from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop.graph import ConceptGraph
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import stored_graph


@pytest.mark.core
class TestNeo4j(ConceptGraphContract):
    random_graphs = 5
    pairs_a_thread = 2
    every_published = 20

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, neo4j_server: LocalServer) -> Adapt:
        return lambda snapshot: stored_graph(neo4j_server, snapshot)

    @pytest.mark.slow
    def test_random_graphs_against_networkx(self, adapt: Adapt) -> None:
        super().test_random_graphs_against_networkx(adapt)

    @pytest.mark.slow
    def test_published_distances(self, adapt: Adapt) -> None:
        super().test_published_distances(adapt)

    @pytest.mark.slow
    def test_identifiers_of_any_form_stay_as_they_are(self, adapt: Adapt) -> None:
        super().test_identifiers_of_any_form_stay_as_they_are(adapt)

    @pytest.mark.slow
    def test_a_pack_holds_every_distance_within_the_bound(self, example: ConceptGraph) -> None:
        super().test_a_pack_holds_every_distance_within_the_bound(example)


class TestNeo4jCluster(ConceptGraphContract):
    """The same over ``neo4j://``, but for what loads many graphs: loads by the leader, all else by followers."""

    every_published = 50
    test_identifiers_of_any_form_stay_as_they_are = None  # type: ignore[assignment]
    test_random_graphs_against_networkx = None  # type: ignore[assignment]
    test_random_restrictions_against_networkx = None  # type: ignore[assignment]
    test_many_threads_get_the_same_answers = None  # type: ignore[assignment]
    test_a_pack_holds_every_distance_within_the_bound = None  # type: ignore[assignment]
    test_similarity_on_random_graphs_is_as_defined = None  # type: ignore[assignment]
    test_closure_of_the_semantic_network = None  # type: ignore[assignment]
    test_nci_sample_with_its_cycles = None  # type: ignore[assignment]

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, neo4j_server: LocalServer) -> Iterator[Adapt]:
        with bolt_cluster(neo4j_server.address) as cluster:
            yield lambda snapshot: stored_graph(neo4j_server, snapshot, address=cluster.address)
            assert cluster.leader is not None
            assert cluster.leader.reads == 0
            assert all(follower.reads and not follower.writes for follower in cluster.followers)
