"""The load report: what was read, what was kept, and what the graph looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Cycles", "FileReport", "Hub", "LoadReport", "OboReport", "Retired", "SabReport"]


@dataclass(frozen=True)
class FileReport:
    """One file.

    Attributes:
        role: what the file holds, e.g. ``MRREL``.
        file: its path.
        rows: how many it has; ``kept`` and the counts of ``skipped`` add up to it.
        kept: rows that count.
        skipped: rows left out, by reason.
        bad: of the skipped, the rows that break the layout.
        bytes: read, as they lie on the disk.
        line_ends: ``LF``, ``CRLF`` or ``mixed``.
    """

    role: str
    file: str
    rows: int
    kept: int
    skipped: Mapping[str, int]
    bad: int
    bytes: int
    line_ends: str


@dataclass(frozen=True)
class SabReport:
    """One vocabulary: its version, the rows kept that it asserts, and the distinct edges among them."""

    version: str | None
    rows: int
    edges: int


@dataclass(frozen=True)
class Cycles:
    """The strongly connected components of more than one concept: concepts that are above and below each other.

    Attributes:
        components: how many.
        concepts: how many concepts lie in one.
        sizes: how many components there are of each size, largest first, as pairs (size, components).
        examples: the members of the first few, largest first.
    """

    components: int = 0
    concepts: int = 0
    sizes: Sequence[tuple[int, int]] = ()
    examples: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Hub:
    """A concept with many children."""

    cui: str
    name: str | None
    children: int


@dataclass(frozen=True)
class Retired:
    """Retired concepts: how many, and the statements about them by UMLS relation (``SY``: merged, ``DEL``: deleted)."""

    concepts: int = 0
    statements: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OboReport:
    """How the terms of an ontology were projected on CUIs.

    Attributes:
        terms: current terms.
        obsolete: obsolete terms, left out.
        without_cui: terms without a UMLS cross-reference.
        several_cuis: terms with more than one.
        shared_cuis: CUIs that more than one term refers to.
        undefined_parents: parents that no file defines.
    """

    terms: int
    obsolete: int
    without_cui: int
    several_cuis: int
    shared_cuis: int
    undefined_parents: int


@dataclass(frozen=True)
class LoadReport:
    """What became of the files.

    Attributes:
        release, relations, identifiers: as in `cuihop.Release`.
        files: one entry for each file read.
        concepts, edges: of the graph; an edge is one distinct (child, parent) pair without self-loops.
        mirrored: edges that the file asserts both ways, child first and parent first; one_directional: one way only.
        self_loops: concepts that the file calls their own parent; left out of the edges.
        cycles: where concepts are above and below each other.
        weak_components: parts of two or more concepts without a path between them; giant_component: concepts in the
            largest; isolated: concepts without any edge.
        depth: edges on the longest upward path, each cycle taken as one concept.
        hubs: the concepts with the most children.
        names: how many names; nameless: concepts without one.
        semantic_types: how many of them occur.
        definitions: how many.
        retired: retired concepts.
        relation_rows: rows kept by relation (``isa``, ``inverse_isa``, ``CHD``, ``PAR``, ``RN``, ``RB``).
        sabs: the vocabularies that assert an edge.
        other_identifiers: rows left out because an identifier is not a CUI, by file; other_identifier_samples: a few.
        obo: for OBO files only.
        warnings: what a user should know before trusting the graph.
        bytes: read, as they lie on the disk; seconds: from the first file to the graph.
    """

    release: str
    relations: Sequence[str]
    identifiers: str
    files: Sequence[FileReport]
    concepts: int
    edges: int
    mirrored: int
    one_directional: int
    self_loops: int
    cycles: Cycles
    weak_components: int
    giant_component: int
    isolated: int
    depth: int
    hubs: Sequence[Hub]
    names: int
    nameless: int
    semantic_types: int
    definitions: int
    retired: Retired
    relation_rows: Mapping[str, int]
    sabs: Mapping[str, SabReport]
    other_identifiers: Mapping[str, int]
    other_identifier_samples: Sequence[str]
    obo: OboReport | None
    warnings: Sequence[str]
    bytes: int
    seconds: float

    def to_json(self, *, timing: bool = True) -> dict[str, Any]:
        """The report as plain values, ready for ``json.dumps``.

        Args:
            timing: without it, the same files and options always give the same values.
        """
        values = asdict(self)
        if not timing:
            del values["seconds"]
        return values
