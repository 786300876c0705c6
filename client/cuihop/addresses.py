"""Kinds of addresses: a snapshot, a Neo4j server, a cuihop service."""

from __future__ import annotations

import re

ROUTED_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc")
"""Schemes by which the members of a Neo4j cluster share the work; ``+s`` is TLS."""

NEO4J_SCHEMES = (*ROUTED_SCHEMES, "bolt", "bolt+s", "bolt+ssc")
"""Schemes of a Neo4j server: ``neo4j`` routes in a cluster, ``bolt`` connects to one server, ``+s`` is TLS."""

REMOTE_SCHEMES = ("grpc", "grpcs", "http", "https")
"""Schemes of a cuihop service; ``grpcs`` and ``https`` are TLS."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def scheme_of(address: str) -> str | None:
    """The scheme of a URL, as written; ``None`` for a path."""
    scheme = _SCHEME.match(address)
    return None if scheme is None else scheme[1]


def is_neo4j_address(address: str) -> bool:
    """Recognise the address of a Neo4j server."""
    return _begins_with(address, NEO4J_SCHEMES)


def is_routed_address(address: str) -> bool:
    """Recognise the address of a Neo4j cluster, whose requests are routed."""
    return _begins_with(address, ROUTED_SCHEMES)


def is_remote_address(address: str) -> bool:
    """Recognise the address of a cuihop service."""
    return _begins_with(address, REMOTE_SCHEMES)


def host_in_url(host: str) -> str:
    """A host as URLs have it: an IPv6 address in brackets.

    >>> host_in_url("::1"), host_in_url("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host else host


def _begins_with(address: str, schemes: tuple[str, ...]) -> bool:
    return (scheme_of(address) or "").lower() in schemes
