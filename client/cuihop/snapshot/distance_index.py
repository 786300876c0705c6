"""The distance index of a snapshot: 2-hop labels, from which a distance is read rather than searched.

Each concept has a label: hubs, and the hops to them. For any two concepts in one component, some hub lies on a
shortest path and in both labels, so the least sum over common hubs is exactly the distance. Three measures shorten
labels: hubs are taken in the order of their degree (Akiba, Iwata and Yoshida, SIGMOD 2013); the hops to the first 64
concepts of each component, the roots, are stored for all its concepts, as differences of 4 bits; and a concept with a
single neighbour has no label of its own, because its distances are the neighbour's plus one.

The index holds distances in direction ``any``. Upward and downward distances are searched: they visit few concepts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from cuihop.errors import ReleaseMismatch
from cuihop.resources.arrays import Int32, UInt16
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import DISTANCE_INDEX, INDEX_VERSION

__all__ = ["INDEX_VERSION", "DistanceIndex", "Tables", "index_path"]

Tables: TypeAlias = tuple[Int32, UInt16, UInt16]
"""``rank_bits``, ``records``, ``words``: see `cuihop._kernels.labels`."""

_TABLES = ("place", "records", "words")


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
            rank_bits, records, words = (self._sections[name] for name in _TABLES)
            self._tables = (rank_bits, records, words)
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
