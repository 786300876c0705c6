"""A real Neo4j server for tests: one a session, on the loopback interface, with authentication on.

Where Java or Maven is missing the tests skip and say so; where ``CUIHOP_REQUIRE_NEO4J=1`` is set they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cuihop import SnapshotGraph
from cuihop.neo4j.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j.graph import Neo4jGraph
from cuihop.neo4j.local_server import LocalServer, ServerToolsMissing, missing_tools
from cuihop_loader.neo4j_online import load_online

__all__ = ["connected", "neo4j_server", "new_server", "settings_of", "stored_graph"]


def settings_of(server: LocalServer, **others: object) -> Neo4jSettings:
    """The settings of a client of this server."""
    return Neo4jSettings(server.address, server.user, server.password, **others)  # type: ignore[arg-type]


def connected(server: LocalServer, **others: object) -> Neo4jConnection:
    """A connection to this server."""
    return Neo4jConnection(settings_of(server, **others))


def new_server(factory: pytest.TempPathFactory, **options: str) -> LocalServer:
    """A server of its own for a test that kills it, not yet started."""
    problem = missing_tools()
    if problem is None:
        try:
            return LocalServer(factory.mktemp("neo4j"), **options)  # type: ignore[arg-type]
        except ServerToolsMissing as error:
            problem = str(error)
    if os.environ.get("CUIHOP_REQUIRE_NEO4J") == "1":
        pytest.fail(problem)
    pytest.skip(problem)


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """The session's server."""
    with new_server(tmp_path_factory) as server:
        yield server


def stored_graph(server: LocalServer, snapshot: SnapshotGraph, *, switch: bool = False) -> Neo4jGraph:
    """The content of a snapshot, loaded into the server and opened there."""
    connection = connected(server)
    stored = load_online(snapshot.sections, connection, switch=switch)
    return Neo4jGraph(connection, release=stored.number)
