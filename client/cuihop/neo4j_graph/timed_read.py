"""Reads with a deadline, for the caller and in the database, where the transaction is ended."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

import neo4j
from neo4j import exceptions

from cuihop.errors import GraphUnavailable, LimitExceeded, QueryTimedOut
from cuihop.neo4j_graph.connection import Neo4jConnection

__all__ = ["TimedRead", "timed_read"]

Result = TypeVar("Result")

_POLL_SECONDS = 0.1
_END_WAIT_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_GIVE_UP_SECONDS = 60.0


class TimedRead:
    """The read transactions of one piece of work, with one name, by which they can be ended.

    Args:
        connection: to the server.
        seconds: for all of them together.
    """

    def __init__(self, connection: Neo4jConnection, seconds: float) -> None:
        self.name = f"query-{secrets.token_hex(8)}"
        self._connection = connection
        self._ends = time.monotonic() + seconds
        self._stopped = threading.Event()
        self.begun = False

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; not below 0."""
        return max(0.0, self._ends - time.monotonic())

    def read(self, work: Callable[[neo4j.ManagedTransaction], Result], **session: Any) -> Result:
        """The result of ``work`` from `Neo4jConnection.read_named`; nothing begins after the end."""

        def in_time(tx: neo4j.ManagedTransaction) -> Result:
            if self._stopped.is_set():
                raise QueryTimedOut("the time was over before the query began")
            self.begun = True
            try:
                return work(tx)
            except exceptions.TransientError as error:
                if "OutOfMemory" in (error.code or ""):  # the driver would repeat it
                    raise LimitExceeded("the query needs more memory than the server allows it") from error
                raise

        return self._connection.read_named(self.name, in_time, timeout=max(0.001, self.remaining), **session)

    def end(self, done: Future[Any]) -> None:
        """End the transactions, and return when the database has stopped work on them.

        A server marks a transaction as ended at once; the thread at work on it checks the mark between rows, but not
        within one expression.
        """
        self._stopped.set()
        pause, given_up = _POLL_SECONDS, time.monotonic() + _GIVE_UP_SECONDS
        while True:
            try:
                if self._connection.end(self.name) == 0 and done.done():
                    return
                given_up = time.monotonic() + _GIVE_UP_SECONDS
            except GraphUnavailable:
                if time.monotonic() > given_up:  # the server is gone, and its work with it
                    return
            wait([done], pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def timed_read(
    connection: Neo4jConnection,
    work: Callable[[TimedRead], Result],
    *,
    seconds: float,
    abandoned: Callable[[], bool] = lambda: False,
    released: Callable[[], None] = lambda: None,
) -> Result:
    """The result of ``work``, within a time.

    Args:
        connection: to the server.
        work: reads through its `TimedRead`. It runs in a thread of its own, which may outlive the call.
        seconds: the time, after which the caller stops waiting and the transactions are ended.
        abandoned: returns true when the caller waits no more; the transactions are then ended, too.
        released: called once, when the database has stopped work: before or after the return.

    Raises:
        QueryTimedOut: the time is over, or the caller waits no more.
        CuihopError: from ``work``.
    """
    timed = TimedRead(connection, seconds)
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work(timed))
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
