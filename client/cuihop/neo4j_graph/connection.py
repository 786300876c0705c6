"""A connection to a Neo4j server: settings, driver, and the translation of its errors into cuihop's."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, Self, TypeVar
from urllib.parse import urlsplit

import neo4j
from neo4j import exceptions
from neo4j.api import BookmarkManager

from cuihop.addresses import NEO4J_SCHEMES, is_routed_address
from cuihop.errors import GraphUnavailable, InputError, LimitExceeded, QueryTimedOut
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.login import Login, password_of_file
from cuihop.neo4j_graph.routing import (
    address_of_member,
    bookmarks_of,
    first_cause,
    is_stale,
    lacks_leader,
    routing_failure,
)

Result = TypeVar("Result")

_RETRY_SECONDS = 0.5
_FIRST_RETRY_SECONDS = 0.1
_NEXT_RETRY = 1.3  # of the pause before: after an outage, a request waits for a third of its length at most
_MEMBERS_TRIED = 3
_ELECTION_SECONDS = 10.0
_POSITION_PAUSE_SECONDS = 30.0

_log = logging.getLogger("cuihop.neo4j")

logging.getLogger("neo4j").addHandler(
    logging.NullHandler()
)  # no messages about retries unless the user configures logging


@dataclass(frozen=True)
class Neo4jSettings:
    """Address, login, timeouts and retries of a connection to a Neo4j server.

    Attributes:
        address: ``neo4j://`` routes in a cluster, ``bolt://`` means one server; ``+s`` adds TLS, and ``+ssc`` TLS with
            a certificate that no authority has signed.
        user, password: never part of the address, and never shown.
        password_file: source of the password, read again when it changes. ``None``: the password is constant.
        database: ``None`` is the user's home database.
        timeout: seconds that one transaction may take on the server.
        connections: most open connections, to each member of a cluster.
        acquisition_timeout: seconds to wait for a free connection.
        retry_time: seconds during which a transaction is repeated after transient failures.
        idle_time: seconds of idleness after which a connection is tested before use. ``None``: never.
    """

    address: str
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    database: str | None = None
    timeout: float = 60.0
    connections: int = 50
    acquisition_timeout: float = 30.0
    retry_time: float = 30.0
    idle_time: float | None = None

    def __post_init__(self) -> None:
        url = urlsplit(self.address)
        if url.scheme not in NEO4J_SCHEMES:
            raise InputError(
                "not the address of a Neo4j server",
                found=repr(url.scheme + "://…"),
                expected=" or ".join(f"{scheme}://" for scheme in NEO4J_SCHEMES),
            )
        if url.username is not None or url.password is not None:
            raise InputError(
                "an address holds no user and no password",
                advice="Set NEO4J_USER, and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE, instead.",
            )

    @classmethod
    def from_environment(cls, address: str, environment: Mapping[str, str] = os.environ, **others: Any) -> Self:
        """Settings whose user, password and database come from the environment.

        ``NEO4J_USER`` (default ``neo4j``), ``NEO4J_PASSWORD`` or ``NEO4J_PASSWORD_FILE`` (a file that holds nothing
        else), ``NEO4J_DATABASE``.

        Raises:
            InputError: no password, or its file cannot be read.
        """
        password = environment.get("NEO4J_PASSWORD", "")
        named = environment.get("NEO4J_PASSWORD_FILE", "")
        file = Path(named) if named and not password else None
        if file is not None:
            password = password_of_file(file)
        if not password:
            raise InputError(
                "no password for the Neo4j server",
                advice="Set NEO4J_PASSWORD, or NEO4J_PASSWORD_FILE to a file's path.",
            )
        return cls(
            address=address,
            user=environment.get("NEO4J_USER") or "neo4j",
            password=password,
            password_file=file,
            database=environment.get("NEO4J_DATABASE") or None,
            **others,
        )


class Neo4jConnection:
    """A pool of connections to one server or cluster. Safe to share between threads.

    In a cluster, reads go to members that serve readers, and writes to the leader. A read sees every write that this
    process has made at this address, and those that any process had committed before the connection was first used.
    """

    def __init__(self, settings: Neo4jSettings) -> None:
        self.settings = settings
        self._login = Login(settings.address, settings.user, settings.password, settings.password_file)
        self._routed = is_routed_address(settings.address)
        self._bookmarks = bookmarks_of(settings.address, settings.database) if self._routed else None
        self._members_tried = _MEMBERS_TRIED if self._routed else 1
        self._position_due = 0.0  # on the monotonic clock
        with self._translated_errors():
            self._driver = self._new_driver(self._login, settings.connections)

    def _new_driver(self, auth: Any, connections: int) -> neo4j.Driver:
        settings = self.settings
        return neo4j.GraphDatabase.driver(
            settings.address,
            auth=auth,
            max_connection_pool_size=connections,
            connection_acquisition_timeout=settings.acquisition_timeout / self._members_tried,
            connection_timeout=min(10.0, settings.acquisition_timeout / self._members_tried),
            liveness_check_timeout=settings.idle_time,
            max_transaction_retry_time=settings.retry_time,
            initial_retry_delay=_FIRST_RETRY_SECONDS,
            retry_delay_multiplier=_NEXT_RETRY,
            notifications_min_severity="OFF",
            user_agent="cuihop",
        )

    @classmethod
    def open(cls, address: str) -> Neo4jConnection:
        """Connect with user and password of the environment: see `Neo4jSettings.from_environment`."""
        return cls(Neo4jSettings.from_environment(address))

    def read(self, task: Callable[[neo4j.ManagedTransaction], Result], *, timeout: float | None = None) -> Result:
        """The result of ``task`` in one read transaction, repeated after transient failures.

        Args:
            task: runs queries in the transaction; may be called more than once.
            timeout: seconds; by default the settings' own.

        Raises:
            QueryTimedOut, GraphUnavailable, LimitExceeded: see `cuihop.errors`.
        """
        bounded = neo4j.unit_of_work(timeout=self.settings.timeout if timeout is None else timeout)(task)
        with self._translated_errors(), self._session(neo4j.READ_ACCESS) as session:
            return self._connected(lambda: session.execute_read(bounded))

    def read_named(
        self, name: str, task: Callable[[neo4j.ManagedTransaction], Result], *, timeout: float, **session: Any
    ) -> Result:
        """Like `read`, in a transaction that `end` can end by its name; ``session``: more session settings."""
        bounded = neo4j.unit_of_work(metadata={"cuihop": name}, timeout=timeout)(task)
        with self._translated_errors(), self._session(neo4j.READ_ACCESS, **session) as opened:
            return self._connected(lambda: opened.execute_read(bounded))

    def member(self, tx: neo4j.ManagedTransaction) -> str | None:
        """The address of the member of the cluster that runs the transaction; ``None`` without routing."""
        if not self._routed:
            return None
        return address_of_member(self.settings.address, str(tx.run("RETURN 1").consume().server.address))

    def end(self, name: str) -> int:
        """End the transactions of this name over another connection. Returns the number still at work.

        A server knows its own transactions only, so in a cluster this is for the connection to one `member`.

        Raises:
            GraphUnavailable: the server cannot be reached.
        """
        with self._translated_errors(), self._session(neo4j.READ_ACCESS) as session:
            return len(list(session.run(cypher.END_TRANSACTIONS, name=name)))

    def write(self, task: Callable[[neo4j.ManagedTransaction], Result], *, timeout: float | None = None) -> Result:
        """Like `read`, in one write transaction. ``task`` must be idempotent: it is repeated after a lost response."""
        bounded = neo4j.unit_of_work(timeout=self.settings.timeout if timeout is None else timeout)(task)
        with self._translated_errors(), self._session(neo4j.WRITE_ACCESS) as session:
            try:
                return self._connected(lambda: session.execute_write(bounded))
            except exceptions.IncompleteCommit:
                return self._connected(lambda: session.execute_write(bounded))

    def run_alone(self, text: LiteralString, **parameters: Any) -> list[neo4j.Record]:
        """The rows of a statement outside explicit transactions: schema, ``IN TRANSACTIONS``.

        It must be idempotent: it is repeated after transient failures. It may take longer than a transaction of the
        server by its own settings, since it has as much to do as a release is large.
        """
        statement = neo4j.Query(text, timeout=0)

        def attempt() -> list[neo4j.Record]:
            with self._session(neo4j.WRITE_ACCESS) as session:
                return list(self._connected(lambda: session.run(statement, parameters)))

        with self._translated_errors():
            return _repeated(attempt, self.settings.retry_time)

    def _session(self, access: str, **others: Any) -> neo4j.Session:
        self._log_in()
        if self._bookmarks is not None:
            self._take_position(self._bookmarks)
        return self._driver.session(
            database=self.settings.database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
            **others,
        )

    def _take_position(self, bookmarks: BookmarkManager) -> None:
        """Take the leader's bookmark in place of those held, once: no read is then older, on any member.

        Without a leader of the cluster, the bookmarks stay, and reads continue.
        """
        if time.monotonic() < self._position_due:
            return
        held = bookmarks.get_bookmarks()
        until = time.monotonic() + min(_ELECTION_SECONDS, self.settings.retry_time - 2 * _RETRY_SECONDS)

        def position() -> list[str] | None:
            try:
                with self._driver.session(
                    database=self.settings.database, default_access_mode=neo4j.WRITE_ACCESS
                ) as leader:
                    with self._connected(lambda: leader.begin_transaction(timeout=self.settings.timeout)) as tx:
                        tx.run("RETURN 1").consume()
                        tx.commit()
                    return list(leader.last_bookmarks().raw_values)
            except (exceptions.DriverError, exceptions.Neo4jError) as error:
                if lacks_leader(error) and time.monotonic() >= until:
                    return None
                raise

        reached = _repeated(position, self.settings.retry_time)
        if reached is None:
            self._position_due = time.monotonic() + _POSITION_PAUSE_SECONDS
            _log.warning("%s: no leader: reads may miss the latest writes of other programs", self.settings.address)
        else:
            bookmarks.update_bookmarks(held, reached)
            self._position_due = math.inf

    def _log_in(self) -> None:
        """Log in, with repetitions within the retry time."""
        deadline = time.monotonic() + self.settings.retry_time
        while True:
            try:
                self._login.check(self._try_password, self.settings.acquisition_timeout)
            except (exceptions.DriverError, exceptions.TransientError, OSError):
                if time.monotonic() + _RETRY_SECONDS > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _try_password(self) -> None:
        with self._new_driver(self._login.get_auth(), 1) as driver:
            if not self._routed:
                driver.verify_connectivity()
                return
            with driver.session(database=self.settings.database, default_access_mode=neo4j.READ_ACCESS) as session:
                self._connected(lambda: session.run("RETURN 1").consume())

    def _connected(self, request: Callable[[], Result]) -> Result:
        """The result of a request, tried on other members of the cluster where the first ones do not answer.

        The time for a connection is divided among them. The driver leaves out members that took theirs in vain.
        """
        for _ in range(self._members_tried - 1):
            with suppress(exceptions.ConnectionAcquisitionTimeoutError):
                return request()
        return request()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except exceptions.Neo4jError as error:
            if is_stale(error):
                self._position_due = 0.0
            raise self._as_ours(error) from error
        except exceptions.ConnectionAcquisitionTimeoutError as error:
            silence = ", or members of the cluster did not answer" if self._routed else ""
            raise GraphUnavailable(
                f"{self.settings.address}: all {self.settings.connections} connections stayed in use for "
                f"{self.settings.acquisition_timeout:g} s{silence}"
            ) from error
        except (exceptions.DriverError, OSError, ValueError) as error:
            self._login.doubt()
            if failure := routing_failure(self.settings.address, error, self.settings.retry_time):
                raise GraphUnavailable(f"{failure}.") from error
            reason = first_line(first_cause(error)).rstrip(":")
            raise GraphUnavailable(
                f"{self.settings.address}: cannot be reached: {reason}. Is the server running there?"
            ) from error

    def _as_ours(self, error: exceptions.Neo4jError) -> Exception:
        code = error.code or ""
        where = self.settings.address
        if "TransactionTimedOut" in code or code.endswith("Transaction.Terminated"):
            return QueryTimedOut(f"{where}: the answer took longer than allowed")
        if isinstance(error, exceptions.AuthError):
            return GraphUnavailable(self._login.refusal_text())
        if code.endswith("DatabaseNotFound"):
            return GraphUnavailable(f"{where}: no database {self.settings.database!r}; set NEO4J_DATABASE")
        if code.endswith("BookmarkTimeout"):
            return GraphUnavailable(
                f"{where}: no member reached the state that was read or written before; it may lag behind, or hold "
                f"another database since: {first_line(error)}"
            )
        if failure := routing_failure(where, error, self.settings.retry_time):
            return GraphUnavailable(f"{failure}.")
        if "MemoryPoolOutOfMemory" in code or "OutOfMemory" in code:
            return LimitExceeded(f"{where}: the query needs more memory than the server allows one transaction")
        if code.startswith(("Neo.ClientError.Statement.", "Neo.ClientError.Procedure.")):
            return InputError("the server refuses the query", found=first_line(error))
        return GraphUnavailable(f"{where}: {first_line(error)}")

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _repeated(attempt: Callable[[], Result], seconds: float) -> Result:
    """The result of an attempt, repeated after transient failures."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (exceptions.DriverError, exceptions.Neo4jError) as error:
            if not error.is_retryable() or time.monotonic() + _RETRY_SECONDS > deadline:
                raise
        time.sleep(_RETRY_SECONDS)


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    text = error.message if isinstance(error, exceptions.Neo4jError) and error.message else str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
