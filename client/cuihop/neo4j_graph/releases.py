"""The schema of the database, and the releases stored in it: listing, switching readers, rolling back, removing.

A database with another schema is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from itertools import pairwise
from typing import Any, Literal, LiteralString

import neo4j

from cuihop.errors import InputError, ReleaseMismatch, SchemaMismatch
from cuihop.graph import Release
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings

_SWITCH_SECONDS = 3600.0

CONCEPTS_A_SWITCH = 100_000
"""Most concepts that get their label in one transaction; decision 0004 has the cost."""

SCHEMA_VERSION = 1
"""Incremented when databases must be loaded again; ``schema.cypher`` begins with the same number."""
_NAME = re.compile(r"^CREATE (?:CONSTRAINT|INDEX|FULLTEXT INDEX) (\w+)", re.MULTILINE)
_OPTIONAL = {
    "search_page",
    "search_form",
    "source_code",
}  # added after the schema, for what older releases lack; searches take longer without the first
_INDEX_PATIENCE_SECONDS = 3600
_OPENING_RETRY_SECONDS = 2.0
_COUNT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in a database.

    Attributes:
        number: its own in this database, in the order of loading.
        state: ``loading`` (a load is at work or was interrupted), ``complete``, or ``removing``.
        active: true for the release that readers get.
        loaded: the share of its concepts and edges that is stored, 0 to 1.
    """

    number: int
    release: Release
    state: Literal["loading", "complete", "removing"]
    active: bool
    loaded: float


def stored_releases(connection: Neo4jConnection) -> list[StoredRelease]:
    """All releases, in the order of their numbers."""
    state = database_state(connection)
    if state is None:
        return []
    releases = []
    for properties in connection.read(lambda tx: tx.run(cypher.RELEASES).value()):
        release, number = Release.of(properties), properties["number"]
        total, stored = release.concepts + release.edges, properties["concepts_loaded"] + properties["edges_loaded"]
        loaded = stored / total if total else 1.0
        releases.append(StoredRelease(number, release, properties["state"], number == state.active, loaded))
    return releases


def stored_release(connection: Neo4jConnection, number: int) -> StoredRelease:
    """The release with this number, or an `InputError` where there is none."""
    for release in stored_releases(connection):
        if release.number == number:
            return release
    raise InputError("no such release", found=str(number), expected="a number that `cuihop neo4j releases list` shows")


def switch_to(connection: Neo4jConnection, number: int, *, most_at_once: int = CONCEPTS_A_SWITCH) -> None:
    """Make a complete release the one that readers get.

    A `Neo4jGraph` opened from then on gets all of it. For curators the label ``Concept`` moves too, in ranges of
    identifiers. A switch that was killed in between is finished by calling again.

    Raises:
        InputError: there is no such release.
        ReleaseMismatch: it is not complete, or readers are switched to another one meanwhile.
    """
    if stored_release(connection, number).state != "complete":
        raise ReleaseMismatch(f"release {number} is not complete; load it again, and the load goes on where it stopped")
    # From here to SET_LABELLED the state says that the label is moving. This mark has a transaction of its own: a
    # server shows the writes of a transaction piece by piece while it applies them.
    if connection.write(lambda tx: tx.run(cypher.SWITCH, release=number).single()) is None:
        raise ReleaseMismatch(f"release {number} is not complete any more")
    starts = connection.read(
        lambda tx: tx.run(cypher.RANGES, release=number, size=most_at_once).value(), timeout=_SWITCH_SECONDS
    )
    # The first range is open below, the last above: the old release may have identifiers outside those of the new one.
    for first, last in pairwise(["", *starts[1:], None]):
        _move_label(connection, number, first, last)
    connection.write(lambda tx: tx.run(cypher.SET_LABELLED, release=number).consume())


def _move_label(connection: Neo4jConnection, number: int, first: str | None, last: str | None) -> None:
    """Take the label from other releases and give it to this one, for identifiers from ``first`` up to ``last``."""

    def move(tx: neo4j.ManagedTransaction) -> None:
        if tx.run(cypher.STILL_ACTIVE, release=number).single() is None:
            raise ReleaseMismatch(f"readers were switched to another release while the label moved to {number}")
        tx.run(cypher.UNLABEL, release=number, first=first, last=last).consume()
        tx.run(cypher.LABEL, release=number, first=first, last=last).consume()

    connection.write(move, timeout=_SWITCH_SECONDS)


def roll_back(connection: Neo4jConnection) -> tuple[int, int]:
    """Switch to the release that was active before the present one; returns the numbers of both, from and to.

    Repeated calls go further back and never forward again: a release that was rolled back from is skipped.

    Raises:
        InputError: there is no release further back that is still stored.
        ReleaseMismatch: a switch is under way, or was interrupted.
    """
    state = database_state(connection)
    if state is not None and state.active != state.labelled:
        raise ReleaseMismatch(
            f"a switch to release {state.active} is not finished; "
            f"finish it with: cuihop neo4j releases switch {state.active}"
        )
    if state is None or state.active is None or state.previous is None:
        raise InputError(
            "there is no release to go back to",
            found="nothing is active" if state is None or state.active is None else f"release {state.active} is active",
            advice="Name one: cuihop neo4j releases list, cuihop neo4j releases switch NUMBER.",
        )
    switch_to(connection, state.previous)
    return state.active, state.previous


def remove(connection: Neo4jConnection, number: int) -> None:
    """Remove a release. An interrupted removal is completed by another call.

    Raises:
        InputError: no such release, or it is the active one.
    """
    stored_release(connection, number)
    if connection.write(lambda tx: tx.run(cypher.MARK_REMOVING, release=number).single()) is None:
        raise InputError(
            "the active release cannot be removed", found=str(number), advice="Switch to another one first."
        )
    for text in cypher.REMOVALS:
        connection.run_alone(text, release=number)
    connection.write(lambda tx: tx.run(cypher.REMOVE_RELEASE, release=number).consume())


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """State of the database, stored in its one ``CuihopStore`` node.

    Attributes:
        active: number of the release that readers get; ``None`` if there is none.
        previous: number of the release that a rollback leads to; ``None`` if there is none.
        labelled: the release whose concepts carry the label ``Concept``; ``None`` during a switch.
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
    return [statement.strip() for statement in without_comments.split(";") if statement.strip()]


def check_server(settings: Neo4jSettings) -> None:
    """Check within seconds that the server can be reached; the retry time of the settings is for later outages."""
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
    """The state of the database, ``None`` without cuihop's schema; `SchemaMismatch` for another schema."""
    row = connection.read(lambda tx: tx.run(cypher.DATABASE_STATE).single())
    if row is None:
        return None
    if row["schema"] != SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the database has cuihop schema {row['schema']}, and this version reads schema {SCHEMA_VERSION}. "
            "Load the release again, into an empty database, with this version."
        )
    return DatabaseState(row["active"], row["previous"], row["labelled"], row["switches"])


def check_schema(connection: Neo4jConnection) -> DatabaseState:
    """The state of the database; `SchemaMismatch` for another schema, or without an online index of it."""
    state = database_state(connection)
    if state is None:
        raise SchemaMismatch("the database holds no release of cuihop; load one with: cuihop load")
    missing = [name for name in _missing(connection) if name not in _OPTIONAL]
    if missing:
        raise SchemaMismatch(
            f"the database lacks {', '.join(missing)}, or it is not online yet. "
            "Make it again with: cuihop neo4j releases repair"
        )
    return state


def _missing(connection: Neo4jConnection) -> list[str]:
    """The constraints and indexes of the schema that are missing or not yet online."""
    online = connection.read(
        lambda tx: {row["name"] for row in tx.run(cypher.SCHEMA_OBJECTS) if row["state"] == "ONLINE"}
    )
    return [name for name in _NAME.findall(schema_text()) if name not in online]


def complete_release(connection: Neo4jConnection, number: int) -> dict[str, Any]:
    """The properties of a stored release, or a `ReleaseMismatch` where there is none, or it is not complete."""
    row = connection.read(lambda tx: tx.run(cypher.RELEASE, release=number).single())
    if row is None or row["release"]["state"] != "complete":
        raise ReleaseMismatch(f"the database holds no complete release {number}; see: cuihop neo4j releases list")
    properties: dict[str, Any] = row["release"]
    return properties


def check_counts(connection: Neo4jConnection, number: int, release: Mapping[str, Any]) -> None:
    """Count the concepts, edges and codes of a stored release: `ReleaseMismatch` for others than its properties say."""
    row = connection.read(
        lambda tx: tx.run(cypher.STORED_COUNTS, release=number).single(strict=True), timeout=_COUNT_SECONDS
    )
    loaded = [release.get(kind) or 0 for kind in ("concepts", "edges", "codes")]
    stored = [row["concepts"], row["edges"], row["codes"]]
    if stored != loaded:
        with_codes = " and {:,} codes" if loaded[2] else ""
        here, there = (f"{{:,}} concepts and {{:,}} edges{with_codes}".format(*counts) for counts in (stored, loaded))
        raise ReleaseMismatch(
            f"release {number} has {here} where it was read, and was loaded with {there}: a member of the cluster is "
            "behind, or the release was changed"
        )
