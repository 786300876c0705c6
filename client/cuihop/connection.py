"""From an address to a graph."""

from __future__ import annotations

import re

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph
from cuihop.snapshot import SnapshotGraph

__all__ = ["NEO4J_SCHEMES", "connect", "is_neo4j_address"]

NEO4J_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
"""How the address of a Neo4j server begins: ``neo4j`` routes in a cluster, ``bolt`` asks one server, ``+s`` is TLS."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def connect(address: str) -> ConceptGraph:
    """The graph at an address.

    Args:
        address: the path of a snapshot, with or without ``snapshot:`` in front; or a Neo4j server, such as
            ``bolt://host:7687``, whose user and password come from the environment (``NEO4J_USER``; ``NEO4J_PASSWORD``
            or ``NEO4J_PASSWORD_FILE``).

    Raises:
        InputError: an address of a kind that this version does not know, or no password.
        SnapshotError: no usable snapshot lies there.
        GraphUnavailable, SchemaMismatch: the server cannot be used.
    """
    if is_neo4j_address(address):
        from cuihop.neo4j.graph import Neo4jGraph

        return Neo4jGraph.open(address)
    if scheme := _SCHEME.match(address):
        raise InputError(
            "no graph can be reached by this kind of address",
            column="graph",
            found=f"{scheme[1]}://…",  # the rest may hold a password
            expected="the path of a snapshot, such as graph.cuihop, or a Neo4j server, such as bolt://localhost:7687",
        )
    return SnapshotGraph.open(address.removeprefix("snapshot:"))


def is_neo4j_address(address: str) -> bool:
    """Whether the address is one of a Neo4j server."""
    scheme = _SCHEME.match(address)
    return scheme is not None and scheme[1].lower() in NEO4J_SCHEMES
