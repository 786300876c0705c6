"""TLS to a real server with a certificate that it signed itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from cuihop import connect
from cuihop.errors import GraphUnavailable
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected, new_server

TLS = (
    "server.bolt.tls_level=OPTIONAL",  # OPTIONAL: the fixture knocks without TLS
    "dbms.ssl.policy.bolt.enabled=true",
    "dbms.ssl.policy.bolt.base_directory=certificates/bolt",
    "dbms.ssl.policy.bolt.client_auth=NONE",
)


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    server = new_server(tmp_path_factory, settings=TLS)
    folder = server.home / "certificates" / "bolt"
    folder.mkdir(parents=True)
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-keyout", str(folder / "private.key"), "-out", str(folder / "public.crt")]
    subprocess.run(command, check=True, capture_output=True)
    with server:
        yield server


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_a_certificate_that_nobody_signed_is_taken_where_the_address_says_so(
    tls_server: LocalServer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", tls_server.password)
    with connected(tls_server) as connection:
        load_online(example_graph().sections, connection)
    with connect(tls_server.address.replace("bolt", scheme, 1)) as graph:
        assert graph.distance("C0006121", "C0018670") == 3
    offered = tls_server.address.removeprefix("bolt://")
    command = ["openssl", "s_client", "-connect", offered, "-brief"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=30, check=False)
    assert "TLSv1." in done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_it_is_refused_where_the_address_asks_for_one_that_can_be_trusted(
    tls_server: LocalServer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", tls_server.password)
    with pytest.raises(GraphUnavailable, match="cannot be reached"):
        connect(tls_server.address.replace("bolt", scheme, 1))
