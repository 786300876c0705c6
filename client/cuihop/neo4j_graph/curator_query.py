"""Cypher of a curator's own, read-only: checked before it runs, bounded in rows, in size and in time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import neo4j
from neo4j.graph import Node, Relationship
from neo4j.graph import Path as GraphPath

from cuihop.errors import InputError, LimitExceeded, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.query_plan import check_plan
from cuihop.neo4j_graph.query_text import check_text
from cuihop.neo4j_graph.schema import Store, store
from cuihop.neo4j_graph.timed_read import TimedRead, timed_read

__all__ = ["LARGEST_ANSWER", "Answer", "Notification", "curator_query"]

LARGEST_ANSWER = 64 << 20
"""Bytes of an answer's rows: characters of text, and 16 for each value."""

_HIDDEN = {"folded"}  # for the search only; a name in other letters
_ROWS_AT_A_TIME = 100
_EXPLAIN = "EXPLAIN "
_PLACE = re.compile(r"\(line 1, column (\d+) \(offset: \d+\)\).*")


@dataclass(frozen=True, slots=True)
class Notification:
    """A remark of the server's on a query, such as that the graph has no such label.

    Attributes:
        severity: ``warning`` or ``information``.
        message: in the server's words.
        line, column: where in the query, from 1; ``None`` where it concerns the whole.
    """

    severity: str
    message: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned.

    Attributes:
        columns: their names.
        rows: plain values: text, numbers, lists, and nodes as dictionaries.
        truncated: whether the limit cut it.
        notifications: the server's remarks on the query.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    notifications: tuple[Notification, ...] = ()


def curator_query(
    connection: Neo4jConnection,
    text: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 100,
    timeout: float = 30.0,
    abandoned: Callable[[], bool] = lambda: False,
    released: Callable[[], None] = lambda: None,
) -> Answer:
    """Run a query that reads.

    Args:
        connection: to the server.
        text: Cypher, one statement.
        parameters: values for its ``$names``.
        limit: at most so many rows.
        timeout: seconds. When they are over, the query is ended in the database.
        abandoned: whether nobody waits for the answer any more; the query is ended then, too.
        released: called once, when the database does not work on the query any more: before or after the return.

    Raises:
        InputError: not Cypher, or it would write, load a file, or call a procedure other than
            `cuihop.neo4j_graph.query_text.ALLOWED_PROCEDURES`.
        ReleaseMismatch: a switch from one release to another is under way.
        LimitExceeded: too large to be planned in time, or its answer is.
        QueryTimedOut, GraphUnavailable: see `cuihop.errors`.
    """
    # The text is the curator's own and is run as such: what it may do is decided by its words, by its plan, and by
    # the server's settings and the read transaction. Each of the three is tested alone.
    values = dict(parameters or {})
    try:
        check_text(text, values)
        before = _settled(connection)
    except BaseException:
        released()
        raise

    def work(timed: TimedRead) -> Answer:
        try:
            summary = timed.read(
                lambda tx: tx.run(_EXPLAIN + text, values).consume(), notifications_min_severity="INFORMATION"
            )
        except InputError as error:
            raise _in_place(error) from error
        check_plan(summary)
        columns, rows, truncated = timed.read(lambda tx: _rows(tx.run(text, values), limit), fetch_size=_ROWS_AT_A_TIME)
        return Answer(columns, rows, truncated, _notifications(summary))

    answer = timed_read(connection, work, seconds=timeout, abandoned=abandoned, released=released)
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


def _rows(result: neo4j.Result, limit: int) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], bool]:
    """Columns, the first rows, and whether there are more."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for record in result:
        if len(rows) == limit:
            return tuple(result.keys()), tuple(rows), True
        row = tuple(_plain(value) for value in record.values())
        size += _size(row)
        if size > LARGEST_ANSWER:
            raise LimitExceeded(f"the answer is larger than {LARGEST_ANSWER:,} bytes; ask for less")
        rows.append(row)
    return tuple(result.keys()), tuple(rows), False


def _size(value: Any) -> int:
    if isinstance(value, str):
        return 16 + len(value)
    if isinstance(value, Mapping):
        return 16 + sum(len(key) + _size(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return 16 + sum(map(_size, value))
    return 16


def _notifications(summary: neo4j.ResultSummary) -> tuple[Notification, ...]:
    """The server's remarks on the explained text, at their places in the text itself."""
    remarks = []
    for status in summary.gql_status_objects:
        if not status.is_notification:
            continue
        place = status.position
        line = None if place is None else place.line
        column = None if place is None else place.column - (len(_EXPLAIN) if place.line == 1 else 0)
        message = status.status_description.partition(": ")[2] or status.status_description
        remarks.append(Notification((status.raw_severity or "information").lower(), message, line, column))
    return tuple(sorted(remarks, key=lambda remark: (remark.line or 0, remark.column or 0)))


def _in_place(error: InputError) -> InputError:
    """The server's refusal with the column of the text, and not that of the explained one."""

    def moved(match: re.Match[str]) -> str:
        return f"(line 1, column {max(1, int(match[1]) - len(_EXPLAIN))})"

    return InputError(
        error.problem,
        found=None if error.found is None else _PLACE.sub(moved, error.found),
        expected=error.expected,
        advice=error.advice,
    )


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
