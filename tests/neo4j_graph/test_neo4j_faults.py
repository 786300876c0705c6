"""Faults of real servers: each has an error of its own, and no answer is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from unittest.mock import patch

import networkx as nx
import pytest

from bolt_proxy import bolt_proxy
from cuihop import SnapshotGraph, connect
from cuihop.adapter_rules import SEARCHES
from cuihop.adapters.graph_export import to_networkx, to_pandas
from cuihop.errors import GraphUnavailable, InputError, QueryTimedOut, SchemaMismatch
from cuihop.graph import DIRECTIONS
from cuihop.graph_wrapper import GraphWithNames
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.releases import check_schema, install_schema
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, open_release, stored_graph
from waiting import wait_for

SLOW = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a * b AS c RETURN max(c) AS most"


@pytest.fixture(scope="module")
def opened(neo4j_server: LocalServer) -> Iterator[Neo4jGraph]:
    with stored_graph(neo4j_server, open_release()) as graph:
        yield graph


def test_a_wrong_password_is_an_error_that_does_not_show_it(neo4j_server: LocalServer) -> None:
    settings = Neo4jSettings(neo4j_server.address, password="wrong-pass-word")  # noqa: S106
    assert "wrong-pass-word" not in repr(settings)
    with (
        Neo4jConnection(settings) as connection,
        pytest.raises(GraphUnavailable, match="refuses user 'neo4j'") as caught,
    ):
        Neo4jGraph(connection)
    assert "wrong-pass-word" not in str(caught.value)


def test_a_database_that_does_not_exist_is_named(neo4j_server: LocalServer) -> None:
    with (
        connected(neo4j_server, database="elsewhere") as connection,
        pytest.raises(GraphUnavailable, match="elsewhere"),
    ):
        Neo4jGraph(connection)


def test_no_server_at_the_address() -> None:
    settings = Neo4jSettings("bolt://127.0.0.1:1", password="x", retry_time=0.5)  # noqa: S106
    with Neo4jConnection(settings) as connection, pytest.raises(GraphUnavailable, match="cannot be reached"):
        Neo4jGraph(connection)


def test_a_server_that_is_away_is_tried_often(neo4j_server: LocalServer) -> None:
    with (
        bolt_proxy(neo4j_server.address) as proxy,
        connected(neo4j_server, address=proxy.address, retry_time=4.0) as connection,
        ThreadPoolExecutor(1) as pool,
    ):

        def one() -> int:
            return connection.read(lambda tx: int(tx.run("RETURN 1").value()[0]))

        assert one() == 1
        proxy.cut()
        answer = pool.submit(one)
        wait_for(lambda: proxy.ended_at_once >= 6 or answer.done())  # after 1, 2 and 4 s, it would be three times
        proxy.heal()
        assert answer.result() == 1


def test_an_address_with_a_password_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    with pytest.raises(InputError, match="no user and no password") as caught:
        connect("bolt://neo4j:hidden@127.0.0.1:7687")
    assert "hidden" not in str(caught.value)


def test_an_address_opens_with_user_and_password_of_the_environment(
    neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(neo4j_server) as connection:
        load_online(example_graph().sections, connection)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.delenv("NEO4J_PASSWORD_FILE", raising=False)
    with pytest.raises(InputError, match="no password"):
        connect(neo4j_server.address)
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(neo4j_server.home / "password"))
    with connect(neo4j_server.address) as graph:
        assert graph.distance("C0006121", "C0018670") == 3
    with connect(neo4j_server.address.replace("bolt://", "neo4j://")) as graph:  # with routing
        assert graph.distance("C0006121", "C0018670") == 3


def test_a_slow_answer_times_out_on_the_server(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as connection:
        begin = time.monotonic()
        with pytest.raises(QueryTimedOut):
            connection.read(lambda tx: tx.run(SLOW).consume(), timeout=0.5)
        assert time.monotonic() - begin < 30
        left = connection.run_alone(
            "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'range(1, 100000)' "
            "AND NOT currentQuery CONTAINS 'SHOW' RETURN currentQuery"
        )
        assert left == []


def test_a_full_pool_is_unavailable(neo4j_server: LocalServer) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(tx: object) -> None:
        held.set()
        release.wait(30)

    with (
        connected(neo4j_server, connections=1, acquisition_timeout=0.5, retry_time=0.5) as connection,
        ThreadPoolExecutor(1) as pool,
    ):
        holder = pool.submit(connection.read, hold)
        held.wait(30)
        try:
            with pytest.raises(GraphUnavailable, match="all 1 connections stayed in use"):
                connection.read(lambda tx: tx.run("RETURN 1").consume())
        finally:
            release.set()
        holder.result()


def test_a_missing_constraint_or_index_is_named_and_made_again(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as connection:
        load_online(example_graph().sections, connection)
        connection.run_alone("DROP CONSTRAINT stored_concept_unique")
        connection.run_alone("DROP INDEX concept_names")
        with pytest.raises(SchemaMismatch, match="lacks stored_concept_unique, concept_names"):
            Neo4jGraph(connection)
        install_schema(connection)
        check_schema(connection)


def test_a_database_of_another_schema_is_refused_by_readers_and_loaders(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as connection:
        load_online(example_graph().sections, connection)
        connection.run_alone("MATCH (s:CuihopStore) SET s.schema = 99")
        try:
            with pytest.raises(SchemaMismatch, match="schema 99"):
                Neo4jGraph(connection)
            with pytest.raises(SchemaMismatch, match="schema 99"):
                load_online(example_graph().sections, connection)
        finally:
            connection.run_alone("MATCH (s:CuihopStore) SET s.schema = 1")


# Questions that take servers down elsewhere


def test_pairs_without_a_path_are_answered_within_the_limit(opened: Neo4jGraph) -> None:
    snapshot = open_release()
    isolated = _outside_the_giant(snapshot)[:20]
    assert len(isolated) > 5
    begin = time.monotonic()
    for direction in DIRECTIONS:
        assert set(opened.distances([("C0000039", cui) for cui in isolated], direction=direction)) == {None}
        assert opened.path("C0000039", isolated[0], direction=direction) is None
    assert time.monotonic() - begin < 60


def _outside_the_giant(snapshot: SnapshotGraph) -> list[str]:
    """The concepts that the largest component leaves out."""
    graph = to_networkx(snapshot)
    giant = max(nx.weakly_connected_components(graph), key=len)
    return [cui for cui in graph if cui not in giant]


def test_more_shortest_paths_than_can_be_listed_are_counted_and_ranked(neo4j_server: LocalServer) -> None:
    layers = [[f"C{layer:03d}{place:04d}" for place in range(8)] for layer in range(7)]
    edges = [(a, b) for one, two in pairwise(layers) for a in one for b in two]
    edges.remove((layers[0][0], layers[1][0]))
    edges.remove((layers[5][1], layers[6][3]))
    edges += [(layers[2][0], f"C9{i:06d}") for i in range(500)]  # a hub that leads nowhere
    snapshot = SnapshotGraph.of(edges, name="many paths")
    with stored_graph(neo4j_server, snapshot) as graph, patch.object(graph, "_rows", wraps=graph._rows) as asked:
        begin = time.monotonic()
        for a, b, direction in [
            (layers[0][0], layers[6][3], "up"),
            (layers[6][3], layers[0][0], "down"),
            (layers[6][3], layers[0][0], "any"),
            (layers[0][0], layers[6][0], "any"),
        ]:
            path = graph.path(a, b, direction=direction)  # type: ignore[arg-type]
            assert path is not None
            assert path.total > 1_000
            for which in (1, 2, 4_321, path.total):
                ranked = graph.path(a, b, direction=direction, which=which)  # type: ignore[arg-type]
                assert ranked == snapshot.path(a, b, direction=direction, which=which)  # type: ignore[arg-type]
            oracle = nx.DiGraph(edges)
            if direction == "up":
                expected = sorted(nx.all_shortest_paths(oracle, a, b))
                assert (list(path.cuis), path.total) == (expected[0], len(expected))
        assert time.monotonic() - begin < 60
        for a, b, most in [(layers[0][0], layers[2][1], 5), (layers[0][0], layers[6][3], 60)]:  # listed; by layers
            for direction, limit, one in product(DIRECTIONS[:2], (None, 20), (graph, GraphWithNames(graph, {}))):
                before = asked.call_count
                assert one.paths(a, b, direction=direction, limit=limit) == snapshot.paths(
                    a, b, direction=direction, limit=limit
                )
                assert asked.call_count - before <= most  # of up to 40 concepts and 300 edges


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("hops", [2, 3, 8, None])  # one hop cannot come twice
@pytest.mark.parametrize("restricted", [False, True])
def test_neighbourhoods_and_packs_are_searched_breadth_first(
    neo4j_server: LocalServer, opened: Neo4jGraph, direction: str, hops: int | None, restricted: bool
) -> None:
    parameters = {"release": 1, "cuis": [], "hops": hops, "limit": None, "numbers": [], "sabs": ["MSH"]}
    with connected(neo4j_server) as connection:
        for texts in (cypher.NEIGHBOURS, cypher.PACK):
            text = texts[direction, cypher.rung(hops), restricted]  # type: ignore[index]
            plan = connection.read(lambda tx, text=text: tx.run("EXPLAIN " + text, parameters).consume().plan)  # type: ignore[misc]
            assert str(plan).count("VarLengthExpand(Pruning,BFS") >= len(SEARCHES[direction])  # type: ignore[index]


@pytest.mark.parametrize("restricted", [False, True])
def test_concepts_are_found_through_the_index(neo4j_server: LocalServer, opened: Neo4jGraph, restricted: bool) -> None:
    parameters = {"release": 1, "starts": [], "ends": [], "sabs": ["MSH"]}
    text = "EXPLAIN " + cypher.DISTANCES["any", None, restricted]
    with connected(neo4j_server) as connection:
        plan = str(connection.read(lambda tx: tx.run(text, parameters).consume().plan))
    assert plan.count("NodeUniqueIndexSeek") >= 2
    assert "AllNodesScan" not in plan
    assert "NodeByLabelScan" not in plan


def test_distances_within_a_vocabulary_are_those_of_the_snapshot_on_the_open_release(opened: Neo4jGraph) -> None:
    snapshot = open_release().within(["MSH"])
    cuis = _every_concept(open_release())[::301]
    pairs = list(zip(cuis, reversed(cuis), strict=True))
    restricted = opened.within(["MSH"])
    for direction in DIRECTIONS:
        assert restricted.distances(pairs, direction=direction) == snapshot.distances(pairs, direction=direction)
    assert restricted.neighbours(cuis, hops=2) == snapshot.neighbours(cuis, hops=2)
    assert restricted.release == snapshot.release
    assert to_pandas(restricted).edges.equals(to_pandas(snapshot).edges)


def test_a_hub_answers_with_an_exact_total_and_a_short_list(opened: Neo4jGraph) -> None:
    snapshot = open_release()
    hub = max(snapshot.concepts(_every_concept(snapshot)), key=lambda concept: concept.children).cui
    for hops in (1, 2, 3, 4):
        hood = opened.neighbours([hub], hops=hops, limit=20)[0]
        assert hood == snapshot.neighbours([hub], hops=hops, limit=20)[0]
        assert hood.total > 20


def _every_concept(snapshot: SnapshotGraph) -> list[str]:
    return to_pandas(snapshot).concepts["cui"].tolist()


def test_answers_are_those_of_the_snapshot_on_the_open_release(opened: Neo4jGraph) -> None:
    snapshot = open_release()
    cuis = _every_concept(snapshot)[::701]
    assert opened.concepts(cuis) == snapshot.concepts(cuis)
    for a, b in zip(cuis, reversed(cuis), strict=True):
        assert opened.path(a, b) == snapshot.path(a, b)
        assert opened.path(a, b, max_hops=5) == snapshot.path(a, b, max_hops=5)
    for text in ("brain", "art dis", "type 2 diabetes", "syndrome", "ß", "C0006121"):
        assert opened.search(text, limit=50) == snapshot.search(text, limit=50)
