"""From an address to a graph."""

from __future__ import annotations

import re

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph
from cuihop.snapshot import SnapshotGraph

__all__ = ["connect"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def connect(address: str) -> ConceptGraph:
    """The graph at an address: the path of a snapshot, with or without ``snapshot:`` in front.

    Raises:
        InputError: an address of a kind that this version does not know.
        SnapshotError: no usable snapshot lies there.
    """
    if scheme := _SCHEME.match(address):
        raise InputError(
            "no graph can be reached by this kind of address",
            column="graph",
            found=f"{scheme[1]}://…",  # the rest may hold a password
            expected="the path of a snapshot, such as graph.cuihop",
        )
    return SnapshotGraph.open(address.removeprefix("snapshot:"))
