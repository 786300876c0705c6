"""Frequent beginnings of words on a real server: answers stored at the load are those that the names give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuihop import SnapshotGraph
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.name_search import HITS_A_PAGE
from cuihop.neo4j_graph.releases import check_schema, install_schema, remove
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop_loader.neo4j_online import load_online
from cuihop_loader.neo4j_rows import NAMES_FOR_A_PAGE, ReleaseRows
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import connected, open_release

PAGES = (
    "MATCH (p:SearchPage {release: $release}) "
    "RETURN p.prefix AS prefix, p.cuis AS cuis, p.places AS places, p.kinds AS kinds"
)


@pytest.fixture(scope="module")
def connection(neo4j_server: LocalServer) -> Iterator[Neo4jConnection]:
    with connected(neo4j_server) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(connection: Neo4jConnection) -> Neo4jGraph:
    stored = load_online(open_release().sections, connection, switch=False)
    return Neo4jGraph(connection, release=stored.number)


def pages(connection: Neo4jConnection, graph: Neo4jGraph) -> dict[str, tuple[list[str], list[int], list[str]]]:
    rows = connection.read(lambda tx: list(tx.run(PAGES, release=graph.number)))
    return {row["prefix"]: (row["cuis"], row["places"], row["kinds"]) for row in rows}


def test_every_page_has_the_hits_of_the_snapshot(connection: Neo4jConnection, graph: Neo4jGraph) -> None:
    stored = pages(connection, graph)
    assert {"a", "s", "di"} <= set(stored)
    snapshot = open_release()
    for prefix, (cuis, _, _) in stored.items():
        assert len(cuis) == HITS_A_PAGE
        for limit in (0, 1, 12, HITS_A_PAGE):
            assert graph.search(prefix, limit=limit) == snapshot.search(prefix, limit=limit)
    assert graph.search("Á-", limit=20) == snapshot.search("a", limit=20)


def test_hits_beyond_a_page_are_found_in_the_names(connection: Neo4jConnection, graph: Neo4jGraph) -> None:
    for prefix in ("a", "disease"):
        limit = HITS_A_PAGE + 30
        assert graph.search(prefix, limit=limit) == open_release().search(prefix, limit=limit)


def test_a_release_without_pages_answers_the_same(connection: Neo4jConnection, graph: Neo4jGraph) -> None:
    """As one that was loaded before there were any, into a database whose schema was made then."""
    stored = pages(connection, graph)
    rows = [[prefix, *page] for prefix, page in stored.items()]
    connection.run_alone("MATCH (p:SearchPage {release: $release}) DELETE p", release=graph.number)
    connection.run_alone("DROP INDEX search_page")
    try:
        check_schema(connection)
        assert pages(connection, graph) == {}
        for prefix in ("a", "disease", "diseas"):
            assert graph.search(prefix) == open_release().search(prefix)
    finally:
        install_schema(connection)
        restore = (
            "UNWIND $rows AS r "
            "CREATE (:SearchPage {release: $release, prefix: r[0], cuis: r[1], places: r[2], kinds: r[3]})"
        )
        connection.run_alone(restore, release=graph.number, rows=rows)
    assert "search_page" in {row["name"] for row in connection.run_alone("SHOW INDEXES YIELD name, state")}


def test_a_snapshot_without_an_index_has_the_same_pages() -> None:
    sections = open_release().sections
    old = Sections(sections.meta, {name: sections[name] for name in sections if name not in NAME_INDEX})
    assert list(ReleaseRows(old).page_rows()) == list(ReleaseRows(sections).page_rows())
    assert ReleaseRows(old).content == ReleaseRows(sections).content


@pytest.mark.parametrize(
    "text",
    [
        "lungs", "leukaemia", "leuka", "oesophagus", "alzheimers", "cancer of lung", "kidney stones", "xray",
        "brainstem", "brain stem", "fractures hi", "tumours", "of the", "pnuemonia", "pnuemo", "diabetis melitus",
        "hart disease", "zzzzqq", "lung xyzzy", "haemorrhage intracranial", "C0006121", "c0006121",
        "syndrome type", "vitamin d",
    ],
)  # fmt: skip
def test_words_in_other_forms_and_spellings_are_found_as_in_a_snapshot(graph: Neo4jGraph, text: str) -> None:
    for limit in (0, 3, 40):
        assert graph.search(text, limit=limit) == open_release().search(text, limit=limit)


def test_a_release_takes_its_pages_with_it(connection: Neo4jConnection) -> None:
    names = {f"C{i:07d}": f"fractures {i}" for i in range(NAMES_FOR_A_PAGE)}
    stored = load_online(SnapshotGraph.of([], names=names, name="pages").sections, connection, switch=False)
    kinds = "MATCH (n:SearchPage|SearchForm|SearchWords {release: $release}) RETURN DISTINCT labels(n) AS labels"
    assert len(connection.run_alone(kinds, release=stored.number)) == 3
    remove(connection, stored.number)
    assert connection.run_alone(kinds, release=stored.number) == []
