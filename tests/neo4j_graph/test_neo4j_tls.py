"""TLS to a real server with a certificate that it signed itself."""

from __future__ import annotations

import subprocess

import pytest

from cuihop import connect
from cuihop.errors import GraphUnavailable
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, emptied


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_a_certificate_that_nobody_signed_is_taken_where_the_address_says_so(
    killable_neo4j: LocalServer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", killable_neo4j.password)
    with connected(emptied(killable_neo4j)) as connection:
        load_online(example_graph().sections, connection)
    with connect(killable_neo4j.address.replace("bolt", scheme, 1)) as graph:
        assert graph.distance("C0006121", "C0018670") == 3
    offered = killable_neo4j.address.removeprefix("bolt://")
    command = ["openssl", "s_client", "-connect", offered, "-brief"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=300, check=False)
    assert "TLSv1." in done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_it_is_refused_where_the_address_asks_for_one_that_can_be_trusted(
    killable_neo4j: LocalServer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", killable_neo4j.password)
    with pytest.raises(GraphUnavailable, match="cannot be reached"):
        connect(killable_neo4j.address.replace("bolt", scheme, 1))
