"""Routing in a Neo4j cluster: the bookmarks that a process holds, and the reasons why no member takes a request."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
from neo4j import exceptions
from neo4j.api import BookmarkManager

from cuihop.addresses import scheme_of

_bookmarks: dict[tuple[str, str | None], BookmarkManager] = {}

_STALE = (
    "Neo.TransientError.Transaction.BookmarkTimeout",
    "Neo.ClientError.Transaction.InvalidBookmark",
    "Neo.ClientError.Transaction.InvalidBookmarkMixture",
    # a transaction with less time than the server waits for a bookmark
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)


def bookmarks_of(address: str, database: str | None) -> BookmarkManager:
    """The bookmarks of a database, shared by all connections of this process to the address.

    A bookmark is a position in the history of the database. A member of the cluster begins a transaction when it has
    reached the bookmarks that come with it.
    """
    key = address, database
    return _bookmarks.get(key) or _bookmarks.setdefault(key, neo4j.GraphDatabase.bookmark_manager())


def is_stale(error: exceptions.Neo4jError) -> bool:
    """True if the server may have waited in vain for a bookmark, as after the import of another database."""
    return error.code in _STALE


def address_of_member(address: str, member: str) -> str:
    """The address of one member, given as host and port by the routing table, without routing."""
    return f"{(scheme_of(address) or '').lower().replace('neo4j', 'bolt')}://{member}"


def lacks_leader(error: BaseException) -> bool:
    """True if no member that accepts writes was reached."""
    return any(
        isinstance(cause, exceptions.WriteServiceUnavailable | exceptions.NotALeader) for cause in _causes(error)
    )


def first_cause(error: BaseException) -> BaseException:
    """The first of several failures that an error sums up."""
    group = error.__cause__
    return group.exceptions[0] if isinstance(group, BaseExceptionGroup) else error


def routing_failure(address: str, error: BaseException, seconds: float) -> str | None:
    """The text for a request that no member of the cluster took; ``None`` for an error of another kind."""
    causes = list(_causes(error))
    if lacks_leader(error):
        if not (scheme_of(address) or "").lower().startswith("neo4j"):
            return (
                f"{address}: this member of a cluster accepts no writes. Use neo4j:// instead, which finds the leader"
            )
        return (
            f"{address}: no leader of the cluster took the request within {seconds:g} s. Most members are down, or the "
            "address that the leader advertises (server.bolt.advertised_address) cannot be reached from here"
        )
    if any(isinstance(cause, exceptions.ReadServiceUnavailable) for cause in causes):
        return (
            f"{address}: none of the members that the routing table names can be reached. It names them by the "
            "addresses that they advertise (server.bolt.advertised_address). For a single server, use bolt://"
        )
    refusal = next((cause for cause in causes if isinstance(cause, exceptions.Neo4jError)), None)
    if isinstance(error, exceptions.ServiceUnavailable) and refusal is not None:
        return f"{address}: no routing: {refusal.message}. For a single server, use bolt://"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes, those of a group one by one."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _causes(inner)
        error = error.__cause__
