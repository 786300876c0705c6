"""Cypher of a curator's own, read-only: checked before it runs, bounded in rows, in size and in time."""

from __future__ import annotations

import logging
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import neo4j
from neo4j import exceptions
from neo4j.graph import Node, Relationship
from neo4j.graph import Path as GraphPath

from cuihop.errors import GraphUnavailable, InputError, LimitExceeded, QueryTimedOut, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection, first_line
from cuihop.neo4j_graph.query_text import ALLOWED_PROCEDURES, check_text
from cuihop.neo4j_graph.releases import DatabaseState, database_state

LONG_AFTER_SECONDS = 60.0
"""From the end of a query to a warning that the database still works on it."""

LARGEST_RESULT = 64 << 20
"""Bytes of a result's rows: characters of text, and 16 for each value."""

Result = TypeVar("Result")

_log = logging.getLogger("cuihop.neo4j")

_HIDDEN = {"folded", "weight"}  # normalised names and their order, for the search only
_ROWS_AT_A_TIME = 100
_EXPLAIN = "EXPLAIN "
_PLACE = re.compile(r"\(line 1, column (\d+) \(offset: \d+\)\).*")

_FAILED = "Neo.DatabaseError.Statement.ExecutionFailed"  # by its own values: a shortest path from a node to itself
_READS_ONLY = "a query that only reads the graph"

# The end of a query in the database
_POLL_SECONDS = 0.1
_END_WAIT_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_GIVE_UP_SECONDS = 60.0

# The plan
_OF_THE_SERVER = ("Show", "Terminate")
"""Beginnings of the operators that show other people's queries and the settings, or end transactions."""

# A subquery within a list comprehension, reduce, CASE, an index, a predicate of a path … is no operator of the plan.
# It stands as text in the details of the operator that holds it, with keywords in capitals and names resolved. Strings
# and quoted names in that text are searched too: their content could imitate their end.
_NESTED_LOAD = re.compile(r"LOAD CSV (?:WITH HEADERS )?FROM\b")
_NESTED_CALL = re.compile(r"(?:\b\w*Call\(|\bCALL (?=[\w.`]+\())([\w.`]*)")


@dataclass(frozen=True, slots=True)
class Notification:
    """A remark of the server on a query, such as an unknown label.

    Attributes:
        severity: ``warning`` or ``information``.
        line, column: place in the query, from 1; ``None`` where the remark concerns the whole.
    """

    severity: str
    message: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query as plain values: text, numbers, lists, and nodes as dictionaries."""

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
) -> QueryResult:
    """Run a read-only query.

    Args:
        timeout: seconds, after which the query is ended in the database.
        abandoned: returns true when the caller waits no more; the query is then ended in the database, too.
        released: called once, when the database has stopped work on the query: before or after the return.

    Raises:
        InputError: not Cypher, or it would write, load a file, or call a procedure other than
            `cuihop.neo4j_graph.query_text.ALLOWED_PROCEDURES`.
        ReleaseMismatch: a switch from one release to another is under way.
        LimitExceeded: the query is too large to be planned in time, or its result too large.
        QueryTimedOut, GraphUnavailable: see `cuihop.errors`.
    """
    # The text runs as the curator wrote it. Its words, its plan, and the server's settings with the read transaction
    # limit its effects. Each of the three is tested alone.
    values = dict(parameters or {})
    try:
        check_text(text, values)
        before = _stable_state(connection)
    except BaseException:
        released()
        raise

    def work(timed: _TimedRead) -> QueryResult:
        try:
            summary = timed.read(
                lambda tx: tx.run(_EXPLAIN + text, values).consume(), notifications_min_severity="INFORMATION"
            )
        except InputError as error:
            raise _in_place(error) from error
        check_plan(summary)
        columns, rows, truncated = timed.read(lambda tx: _rows(tx.run(text, values), limit), fetch_size=_ROWS_AT_A_TIME)
        return QueryResult(columns, rows, truncated, _notifications(summary))

    result = _timed_read(connection, work, timeout, abandoned, released)
    if _stable_state(connection) != before:
        raise ReleaseMismatch("readers got another release while the query ran; run it again")
    return result


def _stable_state(connection: Neo4jConnection) -> DatabaseState | None:
    """The state of the database between switches, or a `ReleaseMismatch` while a switch is under way."""
    state = database_state(connection)
    if state is None or state.active == state.labelled:
        return state
    raise ReleaseMismatch(
        f"the database is being switched to release {state.active}; try again in a minute, or finish the switch with: "
        f"cuihop neo4j releases switch {state.active}"
    )


def check_plan(summary: neo4j.ResultSummary) -> None:
    """Refuse a query whose plan, in the summary of its ``EXPLAIN``, does more than read the graph.

    Raises:
        InputError: it would write, load a file, inspect the server, or call a procedure that is not allowed.
    """
    if summary.plan is None:
        raise InputError("the query has no plan", expected="one statement that reads, without EXPLAIN or PROFILE")
    for operator, details in _operators(summary.plan):
        if operator.startswith("LoadCSV") or _NESTED_LOAD.search(details):
            raise InputError(
                "the query loads a file",
                found="LOAD CSV",
                expected=f"{_READS_ONLY}; a column with this text gets another name with AS",
            )
        if operator.startswith(_OF_THE_SERVER):
            raise InputError("the query shows or ends work of the server", found=operator, expected=_READS_ONLY)
        called = [match[1] for match in _NESTED_CALL.finditer(details)]
        if operator.startswith("ProcedureCall"):
            called.append(details.partition("(")[0].strip())
        for name in called:
            if name not in ALLOWED_PROCEDURES:
                raise InputError(
                    "the query calls a procedure that is not allowed here",
                    found=name,
                    expected=" or ".join(sorted(ALLOWED_PROCEDURES)),
                )
    if summary.query_type != "r":
        raise InputError("the query would write", expected=_READS_ONLY)


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each operator of a plan, with its details."""
    yield plan["operatorType"].partition("@")[0], str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)


def _rows(result: neo4j.Result, limit: int) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], bool]:
    """Columns, the first rows, and true if there are more rows."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for record in result:
        if len(rows) == limit:
            return tuple(result.keys()), tuple(rows), True
        row = tuple(_plain(value) for value in record.values())
        size += _size(row)
        if size > LARGEST_RESULT:
            raise LimitExceeded(f"the answer is larger than {LARGEST_RESULT:,} bytes; ask for less")
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
        position = status.position
        line = None if position is None else position.line
        column = None if position is None else position.column - (len(_EXPLAIN) if position.line == 1 else 0)
        message = status.status_description.partition(": ")[2] or status.status_description
        remarks.append(Notification((status.raw_severity or "information").lower(), message, line, column))
    return tuple(sorted(remarks, key=lambda remark: (remark.line or 0, remark.column or 0)))


def _in_place(error: InputError) -> InputError:
    """The server's refusal, its column moved from the explained text to the query's own."""

    def moved(match: re.Match[str]) -> str:
        return f"(line 1, column {max(1, int(match[1]) - len(_EXPLAIN))})"

    return InputError(
        error.problem,
        found=None if error.found is None else _PLACE.sub(moved, error.found),
        expected=error.expected,
        advice=error.advice,
    )


def _plain(value: Any) -> Any:
    """The value as a JSON value."""
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


# The deadline, for the caller and in the database


class _TimedRead:
    """The read transactions of one piece of work, within some seconds, with one name, by which they can be ended."""

    def __init__(self, connection: Neo4jConnection, seconds: float) -> None:
        self.name = f"query-{secrets.token_hex(8)}"
        self._connection = connection
        self._ends = time.monotonic() + seconds
        self._stopped = threading.Event()
        self.begun = False
        self._member: str | None = None

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; not below 0."""
        return max(0.0, self._ends - time.monotonic())

    def read(self, task: Callable[[neo4j.ManagedTransaction], Result], **session: Any) -> Result:
        """The result of ``task`` from `Neo4jConnection.read_named`; nothing begins after the end."""

        def in_time(tx: neo4j.ManagedTransaction) -> Result:
            if self._stopped.is_set():
                raise QueryTimedOut("the time was over before the query began")
            self.begun = True
            try:
                self._member = self._connection.member(tx)
                return task(tx)
            except exceptions.TransientError as error:
                if "OutOfMemory" in (error.code or ""):  # the driver would repeat it
                    raise LimitExceeded("the query needs more memory than the server allows it") from error
                raise
            except exceptions.DatabaseError as error:
                if error.code == _FAILED:
                    raise InputError("the query fails while it runs", found=first_line(error)) from error
                raise

        return self._connection.read_named(self.name, in_time, timeout=max(0.001, self.remaining), **session)

    def end(self, done: Future[Any]) -> None:
        """End the transactions, and return when the database has stopped work on them.

        A server marks a transaction as ended at once; the thread at work on it checks the mark between rows, but not
        within one expression.
        """
        self._stopped.set()
        pause, given_up, due = _POLL_SECONDS, time.monotonic() + _GIVE_UP_SECONDS, time.monotonic() + LONG_AFTER_SECONDS
        while True:
            if time.monotonic() > due:
                due = math.inf
                _log.warning("%s: ended %g s ago, and still runs in the database", self.name, LONG_AFTER_SECONDS)
            try:
                with self._beside() as connection:
                    if connection.end(self.name) == 0 and done.done():
                        return
                given_up = time.monotonic() + _GIVE_UP_SECONDS
            except GraphUnavailable:
                if time.monotonic() > given_up:  # the server is gone, and its work with it
                    return
            except (QueryTimedOut, LimitExceeded):  # it has too much to do to say
                given_up = time.monotonic() + _GIVE_UP_SECONDS
            if done.done():  # a wait for it would be over at once
                time.sleep(pause)
            else:
                wait([done], pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def _beside(self) -> Iterator[Neo4jConnection]:
        """A connection to the server that runs the transactions."""
        if self._member is None:
            yield self._connection
        else:
            with Neo4jConnection(replace(self._connection.settings, address=self._member, retry_time=0.0)) as member:
                yield member


def _timed_read(
    connection: Neo4jConnection,
    task: Callable[[_TimedRead], Result],
    seconds: float,
    abandoned: Callable[[], bool],
    released: Callable[[], None],
) -> Result:
    """The result of ``task``, within a time: see `curator_query`.

    ``task`` runs in a thread of its own, which may outlive the call.
    """
    timed = _TimedRead(connection, seconds)
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(task(timed))
        except BaseException as error:
            outcome.set_exception(error)

    def end() -> None:
        try:
            timed.end(outcome)
        finally:
            released()

    threading.Thread(target=run, name=timed.name, daemon=True).start()
    try:
        while not outcome.done() and timed.remaining and not abandoned():
            wait([outcome], min(_POLL_SECONDS, timed.remaining))
    finally:
        lost = outcome.done() and isinstance(outcome.exception(), GraphUnavailable) and timed.begun
        if lost or not outcome.done():
            ending = threading.Thread(target=end, name=f"{timed.name}-end", daemon=True)
            ending.start()
            ending.join(_END_WAIT_SECONDS)
        else:
            released()
    if outcome.done() and not isinstance(outcome.exception(), QueryTimedOut):
        return outcome.result()
    raise QueryTimedOut(f"the query was ended after {seconds - timed.remaining:.1f} s; its time is {seconds:g} s")
