"""The schema of the database: the file that makes it, and the guard that refuses a database of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, LiteralString

import neo4j

from cuihop.errors import SchemaMismatch
from cuihop.graph import Release
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings

__all__ = [
    "SCHEMA_VERSION",
    "Store",
    "check_schema",
    "check_server",
    "install_schema",
    "release_of",
    "schema_text",
    "store",
]

SCHEMA_VERSION = 1
"""Raised whenever a database must be loaded anew; ``schema.cypher`` begins with the same number."""

_NAME = re.compile(r"^CREATE (?:CONSTRAINT|INDEX|FULLTEXT INDEX) (\w+)", re.MULTILINE)
_NOT_NEEDED = {"search_page"}  # came later than the schema; without it nothing answers otherwise
_INDEX_PATIENCE_SECONDS = 3600
_OPENING_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Store:
    """The one node that says what the database is.

    Attributes:
        active: number of the release that readers get; ``None`` if there is none.
        previous: number of the release that a rollback leads to; ``None`` if there is none.
        labelled: the release whose concepts carry the label ``Concept``; ``None`` while the label is on its way.
        switches: how often readers were switched.
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
    """See within seconds whether the server can be reached: the settings' own patience is for later outages.

    Raises:
        GraphUnavailable: it cannot.
        SchemaMismatch: the database was written by another schema.
    """
    with Neo4jConnection(replace(settings, retry_time=min(_OPENING_RETRY_SECONDS, settings.retry_time))) as first:
        store(first)


def install_schema(connection: Neo4jConnection) -> None:
    """Make constraints, indexes and the store's node where they are missing, and wait until they serve.

    Raises:
        SchemaMismatch: the database was written by another schema.
    """
    if store(connection) is not None and not _missing(connection):
        return
    for statement in _statements():
        connection.run_alone(statement)
    connection.run_alone(cypher.AWAIT_INDEXES, seconds=_INDEX_PATIENCE_SECONDS)
    connection.write(lambda tx: tx.run(cypher.MAKE_STORE, schema=SCHEMA_VERSION).consume())


def store(connection: Neo4jConnection) -> Store | None:
    """What the database says it is; ``None`` where it says nothing.

    Raises:
        SchemaMismatch: the database was written by another schema.
    """
    row = connection.read(lambda tx: tx.run(cypher.STORE).single())
    return None if row is None else _checked(row)


def _checked(row: neo4j.Record) -> Store:
    if row["schema"] != SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the database has cuihop schema {row['schema']}, and this version reads schema {SCHEMA_VERSION}. "
            "Load the release anew, into an empty database, with this version."
        )
    return Store(row["active"], row["previous"], row["labelled"], row["switches"])


def check_schema(connection: Neo4jConnection) -> Store:
    """What the database says it is, after a look at its constraints and indexes.

    Raises:
        SchemaMismatch: nothing was ever loaded, another schema, or a constraint or index is missing or not online.
    """
    found = store(connection)
    if found is None:
        raise SchemaMismatch("the database holds no release of cuihop; load one with: cuihop load")
    missing = [name for name in _missing(connection) if name not in _NOT_NEEDED]
    if missing:
        raise SchemaMismatch(
            f"the database lacks {', '.join(missing)}, or it is not online yet. "
            "Make it again with: cuihop releases repair"
        )
    return found


def _missing(connection: Neo4jConnection) -> list[str]:
    """The constraints and indexes of the schema that the database lacks or that do not serve yet."""
    online = connection.read(
        lambda tx: {row["name"] for row in tx.run(cypher.SCHEMA_OBJECTS) if row["state"] == "ONLINE"}
    )
    return [name for name in _NAME.findall(schema_text()) if name not in online]


def release_of(properties: Mapping[str, Any]) -> Release:
    """The release of a release node's properties."""
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
