"""A real Neo4j server for tests: one a session, on the loopback interface, with authentication on.

If Java or Maven is missing, its tests are skipped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuihop import SnapshotGraph
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.snapshot.string_table import StringTable, identifier_array
from cuihop.snapshot.writer import GraphTables, sections_of
from cuihop_loader import LoadOptions, load
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import SHORT_LIVED, LocalServer, ServerToolsMissing, missing_tools
from loader.rrf_made import isa, retired, written
from neo4j_plugin import with_plugin
from real_graphs import rows
from shared_data import shared

__all__ = [
    "connected",
    "emptied",
    "killable_neo4j",
    "make_active",
    "neo4j_server",
    "new_server",
    "open_release",
    "settings_of",
    "stored_graph",
    "typed_graph",
]

_HALF_STACK = "-Xss512k"
"""What a curator may ask stays far from the end of a stack of the default size."""

_TLS = (
    "server.bolt.tls_level=OPTIONAL",
    "dbms.ssl.policy.bolt.enabled=true",
    "dbms.ssl.policy.bolt.base_directory=certificates/bolt",
    "dbms.ssl.policy.bolt.client_auth=NONE",
)
_OPEN = (
    "dbms.security.allow_csv_import_from_file_urls=true",
    "internal.dbms.cypher_ip_blocklist=",
    "dbms.security.procedures.allowlist=*",
    "db.transaction.timeout=8s",
    "db.checkpoint.interval.time=20s",  # a server that is killed has little to repair
)


def settings_of(server: LocalServer, **others: object) -> Neo4jSettings:
    """The settings of a client of this server."""
    return Neo4jSettings(**{"address": server.address, "user": server.user, "password": server.password, **others})  # type: ignore[arg-type]


def connected(server: LocalServer, **others: object) -> Neo4jConnection:
    """A connection to this server."""
    return Neo4jConnection(settings_of(server, **others))


def new_server(factory: pytest.TempPathFactory, **options: Any) -> LocalServer:
    """A server of its own for a test that kills it, not yet started."""
    problem = missing_tools()
    if problem is None:
        try:
            return LocalServer(factory.mktemp("neo4j"), **{"java_options": (*SHORT_LIVED, _HALF_STACK), **options})
        except ServerToolsMissing as error:
            problem = str(error)
    pytest.skip(problem)


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """The session's server, with a plugin that is kept out."""
    routing = ("dbms.routing.enabled=true", "db.transaction.bookmark_ready_timeout=1s")
    with with_plugin(new_server(tmp_path_factory, settings=routing)) as server:
        yield server


@pytest.fixture(scope="session")
def killable_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that tests may kill, stop and import into, with settings that allow queries and plugins everything.

    Over TLS, too, with a certificate that it signed itself.
    """
    server = with_plugin(new_server(tmp_path_factory, settings=_TLS + _OPEN))
    folder = server.home / "certificates" / "bolt"
    folder.mkdir(parents=True)
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-keyout", str(folder / "private.key"), "-out", str(folder / "public.crt")]
    subprocess.run(command, check=True, capture_output=True)
    with server:
        yield server


def emptied(server: LocalServer) -> LocalServer:
    """The server, running, without a release."""
    with connected(server.start()) as connection:
        connection.run_alone("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 20000 ROWS")
    return server


def stored_graph(server: LocalServer, snapshot: SnapshotGraph, *, switch: bool = False, **others: object) -> Neo4jGraph:
    """The content of a snapshot, loaded into the server and opened there; ``others``: more settings of the client."""
    connection = connected(server, **others)
    stored = load_online(snapshot.sections, connection, switch=switch)
    return Neo4jGraph(connection, release=stored.number)


def make_active(server: LocalServer, snapshot: SnapshotGraph) -> None:
    """Load a release and have readers get it."""
    stored_graph(server, snapshot, switch=True).close()


NEW_AND_UNNAMED = "C9999998"
MERGED, SUCCESSOR = "C1514420", "C1514897"


@cache
def open_release(*, next_one: bool = False) -> SnapshotGraph:
    """rrf_open, as the loader reads its files.

    The next one is made up: a concept below the heart is new and has no name, and two lung buds are one.
    """
    files = [shared("rrf_open/MRREL.RRF.gz"), shared("rrf_open/MRCONSO.RRF.gz")]
    if not next_one:
        return SnapshotGraph(load(files, LoadOptions(release="rrf_open")).sections)
    with TemporaryDirectory() as folder:
        remaining = {file.name.partition(".")[0]: [row for row in rows(file) if MERGED not in row] for file in files}
        lines = {role: ["|".join(row) for row in table] for role, table in remaining.items()}
        lines["MRREL"].append(isa("C0018787", NEW_AND_UNNAMED, sab="MSH"))
        lines["MRCUI"] = [retired(MERGED, "SY", SUCCESSOR)]
        return SnapshotGraph(load([written(Path(folder), lines)], LoadOptions(release="rrf_open, next")).sections)


def typed_graph() -> SnapshotGraph:
    """Three concepts with semantic types of the UMLS, one of them with two, and vocabularies, names and definitions."""
    return SnapshotGraph(
        sections_of(
            GraphTables(
                cuis=identifier_array(["C0000001", "C0000002", "C0000003"]),
                children=np.array([0, 1, 2], dtype=np.int32),
                parents=np.array([1, 2, 1], dtype=np.int32),
                sab_sets=np.array([1, 0, 1], dtype=np.uint16),
                sab_set_members=[("MSH",), ("MSH", "NCI")],
                names=StringTable.of(["One", "Uno", "Two"]),
                name_indptr=_indptr([2, 1, 0]),
                semantic_types=[("T023", "Body Part, Organ, or Organ Component"), ("T047", "Disease or Syndrome")],
                type_indptr=_indptr([1, 0, 2]),
                type_indices=np.array([1, 0, 1], dtype=np.int32),
                definitions=StringTable.of(['MSH|The "first" of Ménière, 1861.', "NCI|The first.", "MSH|The third."]),
                definition_indptr=_indptr([2, 0, 1]),
            ),
            name="typed",
            relations=["isa"],
            identifiers="cui",
        )
    )


def _indptr(counts: list[int]) -> npt.NDArray[np.int32]:
    return np.cumsum([0, *counts]).astype(np.int32)
