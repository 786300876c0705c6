"""Cypher of a curator's own, read-only: checked before it runs, bounded in rows and in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neo4j.graph import Node, Relationship
from neo4j.graph import Path as GraphPath

import neo4j
from cuihop.errors import InputError, ReleaseMismatch
from cuihop.neo4j.connection import Neo4jConnection
from cuihop.neo4j.schema import Store, store

__all__ = ["ALLOWED_PROCEDURES", "Answer", "curator_query"]

ALLOWED_PROCEDURES = frozenset(
    {
        "db.index.fulltext.queryNodes",
        "db.labels",
        "db.propertyKeys",
        "db.relationshipTypes",
        "db.schema.nodeTypeProperties",
        "db.schema.relTypeProperties",
        "db.schema.visualization",
    }
)
"""Procedures that only look at the graph. Others could write, read files, or reach other machines."""

_HIDDEN = {"folded"}  # for the search only; a name in other letters


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned.

    Attributes:
        columns: their names.
        rows: plain values: text, numbers, lists, and nodes as dictionaries.
        truncated: whether the limit cut it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool


def curator_query(
    connection: Neo4jConnection,
    text: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 100,
    timeout: float = 30.0,
) -> Answer:
    """Run a query that reads.

    Args:
        connection: to the server.
        text: Cypher, one statement.
        parameters: values for its ``$names``.
        limit: at most so many rows.
        timeout: seconds.

    Raises:
        InputError: not Cypher, or it would write, load a file, or call a procedure other than `ALLOWED_PROCEDURES`.
        ReleaseMismatch: a switch from one release to another is under way.
        QueryTimedOut, LimitExceeded, GraphUnavailable: see `cuihop.errors`.
    """
    values = dict(parameters or {})
    # The text is the curator's own and is run as such: what it may do is decided by its plan, and by the server,
    # which refuses writes in a read transaction.
    before = _settled(connection)
    explained = "EXPLAIN " + text
    summary = connection.read(lambda tx: tx.run(explained, values).consume(), timeout=timeout)
    _check(summary)

    def read(tx: neo4j.ManagedTransaction) -> Answer:
        result = tx.run(text, values)
        records = result.fetch(limit + 1)
        rows = tuple(tuple(_plain(value) for value in record.values()) for record in records[:limit])
        return Answer(tuple(result.keys()), rows, len(records) > limit)

    answer = connection.read(read, timeout=timeout)
    if _settled(connection) != before:
        raise ReleaseMismatch("readers got another release while the query ran; run it again")
    return answer


def _settled(connection: Neo4jConnection) -> Store | None:
    """What the database says it is, while the label ``Concept`` rests on one release.

    Raises:
        ReleaseMismatch: the label is on its way from one release to another.
    """
    found = store(connection)
    if found is None or found.active == found.labelled:
        return found
    raise ReleaseMismatch(
        f"the database is being switched to release {found.active}; try again in a minute, or finish the switch with: "
        f"cuihop releases switch {found.active}"
    )


def _check(summary: neo4j.ResultSummary) -> None:
    if summary.plan is None:
        raise InputError("the query has no plan", expected="one statement that reads, without EXPLAIN or PROFILE")
    for operator, details in _operators(summary.plan):
        if operator == "LoadCSV":
            raise InputError("the query loads a file", expected="a query that only reads the graph")
        if operator == "ProcedureCall":
            name = details.partition("(")[0].strip()
            if name not in ALLOWED_PROCEDURES:
                raise InputError(
                    "the query calls a procedure that is not allowed here",
                    found=name,
                    expected=" or ".join(sorted(ALLOWED_PROCEDURES)),
                )
    if summary.query_type != "r":
        raise InputError("the query would write", expected="a query that only reads the graph")


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan["operatorType"].partition("@")[0], str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)


def _plain(value: Any) -> Any:
    """The value as JSON knows values."""
    if isinstance(value, Node):
        return {key: _plain(v) for key, v in sorted(value.items()) if key not in _HIDDEN}
    if isinstance(value, Relationship):
        return {"type": value.type, **{key: _plain(v) for key, v in sorted(value.items())}}
    if isinstance(value, GraphPath):
        return [_plain(node) for node in value.nodes]
    if isinstance(value, Mapping):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
