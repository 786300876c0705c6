"""The Cypher that the explorer shows for a picture gives, on a real server, what the picture shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from neo4j import Driver, GraphDatabase

from browser import Explorer, expect, opened
from cuihop import SnapshotGraph
from cuihop_server import running_service
from cuihop_service.explorer import explorer_routes
from cuihop_tools.neo4j_server import LocalServer
from explorer_graph import HOSTILE, explorer_graph
from neo4j_server import stored_graph

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STEM, HEAD, VEINS = "C0006121", "C0018670", "C0042449"
PARAMETER = re.compile(r"^:param (\w+) => (.*);$", re.MULTILINE)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    return explorer_graph(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def driver(neo4j_server: LocalServer, graph: SnapshotGraph) -> Iterator[Driver]:
    """The same release on a server."""
    stored_graph(neo4j_server, graph, switch=True).close()
    with GraphDatabase.driver(neo4j_server.address, auth=("neo4j", neo4j_server.password)) as driver:
        yield driver


@pytest.fixture(scope="module")
def explorer(browser: Browser, graph: SnapshotGraph) -> Iterator[Explorer]:
    with (
        running_service(graph, routes=lambda core, front: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        yield explorer


def answers(explorer: Explorer, driver: Driver, address: str) -> list[list[Any]]:
    """The rows of each statement that the view at the address shows."""
    explorer.open(address)
    expect(explorer[".cypher pre"]).to_be_attached()
    text = explorer[".cypher pre"].text_content() or ""
    parameters = {name: json.loads(value.replace("'", '"')) for name, value in PARAMETER.findall(text)}
    statements = [part for part in PARAMETER.sub("", text).split(";") if part.strip()]
    return [[record.values() for record in driver.execute_query(part, parameters).records] for part in statements]


@pytest.mark.parametrize(
    ("a", "b", "direction"),
    [(STEM, HEAD, "any"), (VEINS, "C0007226", "any"), (VEINS, "C0007226", "up"), ("C0007226", VEINS, "down"),
     ("C0007226", VEINS, "vertical"), ("C9000005", "C9000001", "any"),
     ("C9000011", "C9000014", "up"), (HEAD, HEAD, "any")],
)  # fmt: skip
def test_the_path(explorer: Explorer, driver: Driver, graph: SnapshotGraph, a: str, b: str, direction: str) -> None:
    expected = graph.path(a, b, direction=direction)  # type: ignore[arg-type]
    assert expected is not None
    [[[path]]] = answers(explorer, driver, f"#/path?a={a}&b={b}&direction={direction}")
    assert [node["cui"] for node in path.nodes] == list(expected.cuis)
    if expected.total > 1:
        last = graph.path(a, b, direction=direction, which=expected.total)  # type: ignore[arg-type]
        assert last is not None
        [[[path]]] = answers(explorer, driver, f"#/path?a={a}&b={b}&direction={direction}&which={expected.total}")
        assert [node["cui"] for node in path.nodes] == list(last.cuis)


@pytest.mark.parametrize("direction", ["any", "up", "down", "vertical"])
def test_the_neighbourhood(explorer: Explorer, driver: Driver, graph: SnapshotGraph, direction: str) -> None:
    picture, everything = answers(
        explorer, driver, f"#/neighbourhood?cui={HEAD}&hops=3&direction={direction}&as=picture"
    )
    found = graph.neighbours([HEAD], hops=3, direction=direction)[0]  # type: ignore[arg-type]
    assert [(cui, hops) for cui, _, hops in everything] == [(near.cui, near.hops) for near in found]
    drawn = {concept["cui"] for concept, _, _ in picture}
    assert HEAD in drawn
    assert drawn <= {HEAD, *(near.cui for near in found)}
    edges = [(concept["cui"], parent["cui"]) for concept, _, parent in picture if parent is not None]
    assert all(graph.distance(child, parent, direction="up") == 1 for child, parent in edges)


@pytest.mark.parametrize("direction", ["any", "up", "down", "vertical"])
def test_the_comparison(explorer: Explorer, driver: Driver, graph: SnapshotGraph, direction: str) -> None:
    a, b = [STEM, HEAD, "C0003483"], ["C0006104", HEAD, VEINS]
    address = f"#/comparison?a={'+'.join(a)}&b={'+'.join(b)}&n=3&direction={direction}"
    near, matched = answers(explorer, driver, address)
    pairs = [(one, other) for one in a for other in b if one != other]
    distances = graph.distances(pairs, direction=direction, max_hops=3)  # type: ignore[arg-type]
    expected = {(*pair, hops) for pair, hops in zip(pairs, distances, strict=True) if hops is not None}
    assert {(one, other, hops) for one, _, other, _, hops in near} == expected
    assert matched == [[HEAD]]


def test_the_parents_of_a_concept(explorer: Explorer, driver: Driver) -> None:
    [rows] = answers(explorer, driver, f"#/concept?cui={HOSTILE}")
    assert [(row[0], row[2], row[4]) for row in rows] == [(HOSTILE, HEAD, ["MSH"])]
