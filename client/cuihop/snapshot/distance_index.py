"""The distance index of a snapshot: 2-hop labels, from which a distance is read rather than searched.

Each concept has a label: hubs, and the hops to them. For any two concepts in one component, some hub lies on a
shortest path and in both labels, so the least sum over common hubs is exactly the distance. Three measures shorten
labels (Akiba, Iwata and Yoshida, SIGMOD 2013): hubs are taken in the order of their degree; a few roots, with up to 64
of their neighbours each, are stored as bit sets for all concepts; and a concept with a single neighbour has no label
of its own, because its distances are the neighbour's plus one.

The index holds distances in direction ``any``. Upward and downward distances are searched: they visit few concepts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from cuihop.errors import ReleaseMismatch, SnapshotError, SnapshotTooNew
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32, UInt64
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import DISTANCE_INDEX

__all__ = ["INDEX_VERSION", "DistanceIndex", "Tables", "index_path"]

Tables: TypeAlias = tuple[Int32, Int64, UInt32, UInt8, UInt64]
"""``place``, ``indptr``, ``entries``, ``root_hops``, ``root_sets``: see `cuihop._kernels.labels`."""

INDEX_VERSION = 1
_TABLES = ("place", "indptr", "entries", "root_hops", "root_sets")


def index_path(snapshot: str | os.PathLike[str]) -> Path:
    """Path of a snapshot's index, next to it: ``graph.cuihop.index``."""
    path = Path(snapshot)
    return path.with_name(f"{path.name}.index")


class DistanceIndex:
    """The labels of a graph, in a mapped file or in memory. Built by `cuihop.snapshot.index_builder.build_index`."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._tables: Tables | None = None

    @classmethod
    def of(cls, tables: Tables, meta: Mapping[str, Any]) -> DistanceIndex:
        """The index of tables in memory."""
        described = {"holds": DISTANCE_INDEX.kind, "version": INDEX_VERSION, **meta}
        return cls(Sections(described, dict(zip(_TABLES, tables, strict=True))))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, digest: str) -> DistanceIndex:
        """Map an index file.

        Args:
            path: the file.
            digest: of the graph that the index must belong to.

        Raises:
            SnapshotError: missing, not an index, truncated, damaged, or of another version.
            ReleaseMismatch: the index of another graph.
        """
        sections = Sections.open(Path(path), DISTANCE_INDEX)
        meta = sections.meta
        if meta["version"] > INDEX_VERSION:
            raise SnapshotTooNew(
                f"{path}: made by a newer cuihop: version {meta['version']} of the distance index, and this one reads "
                f"{INDEX_VERSION}. Upgrade cuihop, or make it again with: cuihop index GRAPH"
            )
        if meta["version"] != INDEX_VERSION:
            raise SnapshotError(
                f"{path}: version {meta['version']} of the distance index, and this cuihop reads {INDEX_VERSION}. "
                "Make it again with: cuihop index GRAPH"
            )
        if meta["digest"] != digest:
            raise ReleaseMismatch(
                f"{path}: the index of another graph; found digest {meta['digest'][:12]}, expected {digest[:12]}. "
                "Make it again with: cuihop index GRAPH"
            )
        return cls(sections)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index atomically.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        self._sections.save(Path(path))

    @property
    def tables(self) -> Tables:
        """The arrays, checked against their checksums on first use."""
        if self._tables is None:
            position, indptr, entries, root_hops, root_sets = (self._sections[name] for name in _TABLES)
            self._tables = (position, indptr, entries, root_hops, root_sets)
        return self._tables

    @property
    def concepts(self) -> int:
        """Number of concepts of the indexed graph."""
        return self._sections.length("place")

    def check_unchanged(self) -> None:
        """Check that the file was not overwritten: see `cuihop.snapshot.file.Sections.check_unchanged`."""
        self._sections.check_unchanged()

    @property
    def facts(self) -> Mapping[str, Any]:
        """Description in the header: ``digest``, ``labels``, ``entries``, ``roots``, ``levels``, ``bytes``."""
        return {name: self._sections.meta[name] for name in ("digest", "labels", "entries", "roots", "levels", "bytes")}

    def verify(self) -> int:
        """Check every section against its checksum, and return the bytes checked.

        Raises:
            SnapshotError: names the first section that fails.
        """
        return self._sections.verify()
