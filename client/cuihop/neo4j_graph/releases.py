"""Stored releases of a database: listing, switching readers, rolling back, removing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import neo4j

from cuihop.errors import InputError, ReleaseMismatch
from cuihop.graph import Release
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.schema import database_state, release_of

_SWITCH_SECONDS = 3600.0

CONCEPTS_A_SWITCH = 100_000
"""Most concepts that get their label in one transaction; decision 0004 has the cost."""


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in a database.

    Attributes:
        number: its own in this database, in the order of loading.
        release: its description.
        state: ``loading`` (a load is at work or was interrupted), ``complete``, or ``removing``.
        active: true for the release that readers get.
        loaded: the share of its concepts and edges that is stored, 0 to 1.
    """

    number: int
    release: Release
    state: Literal["loading", "complete", "removing"]
    active: bool
    loaded: float


def _stored(properties: Mapping[str, Any], active: int | None) -> StoredRelease:
    release = release_of(properties)
    whole = release.concepts + release.edges
    stored = properties["concepts_loaded"] + properties["edges_loaded"]
    return StoredRelease(
        number=properties["number"],
        release=release,
        state=properties["state"],
        active=properties["number"] == active,
        loaded=stored / whole if whole else 1.0,
    )


def stored_releases(connection: Neo4jConnection) -> list[StoredRelease]:
    """All releases, in the order of their numbers."""
    state = database_state(connection)
    if state is None:
        return []
    rows = connection.read(lambda tx: tx.run(cypher.RELEASES).value())
    return [_stored(properties, state.active) for properties in rows]


def stored_release(connection: Neo4jConnection, number: int) -> StoredRelease:
    """One release.

    Raises:
        InputError: no release has this number.
    """
    for release in stored_releases(connection):
        if release.number == number:
            return release
    raise InputError("no such release", found=str(number), expected="a number that `cuihop releases list` shows")


def switch_to(connection: Neo4jConnection, number: int, *, most_at_once: int = CONCEPTS_A_SWITCH) -> None:
    """Make a complete release the one that readers get.

    A `Neo4jGraph` opened from then on gets all of it. For curators the label ``Concept`` moves too, in ranges of
    identifiers. A switch that was killed in between is finished by calling again.

    Args:
        connection: to the server.
        number: of the release.
        most_at_once: concepts that get their label in one transaction.

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
            f"a switch to release {state.active} is not finished; finish it with: cuihop releases switch {state.active}"
        )
    if state is None or state.active is None or state.previous is None:
        raise InputError(
            "there is no release to go back to",
            found="nothing is active" if state is None or state.active is None else f"release {state.active} is active",
            advice="Name one: cuihop releases list, cuihop releases switch NUMBER.",
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
    for text in (
        cypher.REMOVE_CONCEPTS,
        cypher.REMOVE_RETIRED,
        cypher.REMOVE_PAGES,
        cypher.REMOVE_FORMS,
        cypher.REMOVE_TYPES,
        cypher.REMOVE_VOCABULARIES,
    ):
        connection.run_alone(text, release=number)
    connection.write(lambda tx: tx.run(cypher.REMOVE_RELEASE, release=number).consume())
