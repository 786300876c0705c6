"""Annotation on a database: the answers of a snapshot without the vocabularies of names."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from cuihop import SnapshotGraph
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, ReleaseMismatch
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.releases import remove
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import EDGES, example_graph, sourced_graph
from neo4j_server import connected, stored_graph, typed_graph

TEXTS = ["The brain stem, the veins and Ménière's brain-like thing.", "", "Vessel, blood: blood vessels", "aortas"]


def test_a_database_answers_as_the_snapshot_does_to_all_threads(neo4j_server: LocalServer) -> None:
    expected = list(example_graph().annotate_many(TEXTS))
    assert expected[0].cuis == ("C0006121", "C0042449", "C9000011")
    with stored_graph(neo4j_server, example_graph()) as graph, ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(graph.annotate_many, TEXTS) for _ in range(8)]
        assert all(list(answer.result()) == expected for answer in answers)
        options = AnnotationOptions(longest=False, candidates=True, disambiguate="context")
        assert list(graph.annotate_many(TEXTS, options)) == list(example_graph().annotate_many(TEXTS, options))
        assert graph.annotate(TEXTS[0]) == expected[0]


def test_semantic_types_are_stored_and_vocabularies_of_names_are_not(neo4j_server: LocalServer) -> None:
    with stored_graph(neo4j_server, typed_graph()) as graph:
        assert graph.annotate("one two").cuis == typed_graph().annotate("one two").cuis
    with stored_graph(neo4j_server, sourced_graph()) as graph:
        assert graph.annotate("brain")[0].sabs == ()


def test_a_database_without_names_says_so(neo4j_server: LocalServer) -> None:
    nameless = stored_graph(neo4j_server, SnapshotGraph.of(EDGES))
    with nameless as graph, pytest.raises(InputError, match="the graph has no names"):
        graph.annotate("brain")


def test_a_release_that_is_removed_answers_no_longer(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as connection:
        first = load_online(example_graph().sections, connection)
        graph = Neo4jGraph(connection, release=first.number)
        assert graph.annotate("brain").cuis == ("C0006104",)
        load_online(typed_graph().sections, connection)
        remove(connection, first.number)
        with pytest.raises(ReleaseMismatch):
            graph.annotate("brain")
