"""The schema of the database: its installation, and the refusal of a database with another schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, LiteralString

import neo4j

from cuihop.errors import ReleaseMismatch, SchemaMismatch
from cuihop.graph import Release
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings

SCHEMA_VERSION = 1
"""Incremented when databases must be loaded anew; ``schema.cypher`` begins with the same number."""

_NAME = re.compile(r"^CREATE (?:CONSTRAINT|INDEX|FULLTEXT INDEX) (\w+)", re.MULTILINE)
_OPTIONAL = {
    "search_page",
    "search_form",
}  # added after the schema; searches take longer without the first, and find fewer forms without the second
_INDEX_PATIENCE_SECONDS = 3600
_OPENING_RETRY_SECONDS = 2.0
_COUNT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """State of the database, stored in its one ``CuihopStore`` node.

    Attributes:
        active: number of the release that readers get; ``None`` if there is none.
        previous: number of the release that a rollback leads to; ``None`` if there is none.
        labelled: the release whose concepts carry the label ``Concept``; ``None`` during a switch.
        switches: number of switches so far.
    """

    active: int | None
    previous: int | None
    labelled: int | None
    switches: int


def schema_text() -> str:
    """The text of ``schema.cypher``."""
    return resources.files("cuihop.neo4j_graph").joinpath("schema.cypher").read_text(encoding="utf-8")


def _statements() -> list[LiteralString]:
    without_comments = re.sub(r"^\s*//.*$", "", schema_text(), flags=re.MULTILINE)
    return [part.strip() for part in without_comments.split(";") if part.strip()]


def check_server(settings: Neo4jSettings) -> None:
    """Check within seconds that the server can be reached; the retry time of the settings is for later outages.

    Raises:
        GraphUnavailable: it cannot.
        SchemaMismatch: the database was written by another schema.
    """
    with Neo4jConnection(replace(settings, retry_time=min(_OPENING_RETRY_SECONDS, settings.retry_time))) as first:
        database_state(first)


def install_schema(connection: Neo4jConnection) -> None:
    """Create missing constraints, indexes and the ``CuihopStore`` node, and wait until all are online.

    Raises:
        SchemaMismatch: the database was written by another schema.
    """
    if database_state(connection) is not None and not _missing(connection):
        return
    for statement in _statements():
        connection.run_alone(statement)
    connection.run_alone(cypher.AWAIT_INDEXES, seconds=_INDEX_PATIENCE_SECONDS)
    connection.write(lambda tx: tx.run(cypher.MAKE_STORE, schema=SCHEMA_VERSION).consume())


def database_state(connection: Neo4jConnection) -> DatabaseState | None:
    """The state of the database; ``None`` for a database without cuihop's schema.

    Raises:
        SchemaMismatch: the database was written by another schema.
    """
    row = connection.read(lambda tx: tx.run(cypher.DATABASE_STATE).single())
    return None if row is None else _checked(row)


def _checked(row: neo4j.Record) -> DatabaseState:
    if row["schema"] != SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the database has cuihop schema {row['schema']}, and this version reads schema {SCHEMA_VERSION}. "
            "Load the release anew, into an empty database, with this version."
        )
    return DatabaseState(row["active"], row["previous"], row["labelled"], row["switches"])


def check_schema(connection: Neo4jConnection) -> DatabaseState:
    """The state of the database, its constraints and indexes checked.

    Raises:
        SchemaMismatch: an empty database, another schema, or a constraint or index is missing or not online.
    """
    state = database_state(connection)
    if state is None:
        raise SchemaMismatch("the database holds no release of cuihop; load one with: cuihop load")
    missing = [name for name in _missing(connection) if name not in _OPTIONAL]
    if missing:
        raise SchemaMismatch(
            f"the database lacks {', '.join(missing)}, or it is not online yet. "
            "Make it again with: cuihop releases repair"
        )
    return state


def _missing(connection: Neo4jConnection) -> list[str]:
    """The constraints and indexes of the schema that are missing or not yet online."""
    online = connection.read(
        lambda tx: {row["name"] for row in tx.run(cypher.SCHEMA_OBJECTS) if row["state"] == "ONLINE"}
    )
    return [name for name in _NAME.findall(schema_text()) if name not in online]


def complete_release(connection: Neo4jConnection, number: int) -> Release:
    """A stored release.

    Raises:
        ReleaseMismatch: no such release, or it is not complete.
    """
    row = connection.read(lambda tx: tx.run(cypher.RELEASE, release=number).single())
    if row is None or row["release"]["state"] != "complete":
        raise ReleaseMismatch(f"the database holds no complete release {number}; see: cuihop releases list")
    return release_of(row["release"])


def check_counts(connection: Neo4jConnection, number: int, release: Release) -> None:
    """Count the concepts and edges of a stored release.

    Raises:
        ReleaseMismatch: there are more or fewer than it states.
    """
    row = connection.read(
        lambda tx: tx.run(cypher.STORED_COUNTS, release=number).single(strict=True), timeout=_COUNT_SECONDS
    )
    if (row["concepts"], row["edges"]) != (release.concepts, release.edges):
        raise ReleaseMismatch(
            f"release {number} has {row['concepts']:,} concepts and {row['edges']:,} edges where it was read, and was "
            f"loaded with {release.concepts:,} and {release.edges:,}: a member of the cluster is behind, or the "
            "release was changed"
        )


def release_of(properties: Mapping[str, Any]) -> Release:
    """The release from the properties of its node."""
    return Release(
        name=properties["name"],
        digest=properties["digest"],
        relations=tuple(properties.get("relations", ())),
        sabs=tuple(properties.get("sabs", ())),
        identifiers=properties["identifiers"],
        concepts=properties["concepts"],
        edges=properties["edges"],
        source=properties["source"],
    )
