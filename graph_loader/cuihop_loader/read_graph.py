"""Result of reading files: a graph, and the facts for the load report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cuihop.snapshot.writer import GraphTables
from cuihop_loader.report import FileReport, OboReport, SabReport

__all__ = ["ReadGraph"]


@dataclass(frozen=True, eq=False)
class ReadGraph:
    """A graph read from files.

    Attributes:
        tables: the graph.
        release: name of the release in the files; ``None`` without one.
        self_loops: concepts asserted as their own parent.
        mirrored, relation_rows, sabs, files, warnings, other_identifiers, other_identifier_samples, obo: as in
            `LoadReport`.
    """

    tables: GraphTables
    release: str | None
    self_loops: int
    mirrored: int
    relation_rows: Mapping[str, int]
    sabs: Mapping[str, SabReport]
    files: Sequence[FileReport]
    warnings: Sequence[str]
    other_identifiers: Mapping[str, int] = field(default_factory=dict)
    other_identifier_samples: Sequence[str] = ()
    obo: OboReport | None = None
