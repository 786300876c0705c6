"""The load report: files, rows used and left out, and the structure of the graph; and the result of reading files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from cuihop.resources.arrays import Int32, ascending, bounds_of
from cuihop.snapshot.writer import GraphTables

_HUBS = 10


@dataclass(frozen=True)
class FileReport:
    """One file.

    Attributes:
        role: kind of file, e.g. ``MRREL``.
        rows: number of its rows, the sum of ``used`` and the counts of ``skipped``.
        skipped: rows left out, by reason.
        bad: number of skipped rows that break the layout.
        bytes: bytes read, as on disk.
        line_ends: ``LF``, ``CRLF`` or ``mixed``; empty for a file that is not text.
    """

    role: str
    file: str
    rows: int
    used: int
    skipped: Mapping[str, int]
    bad: int
    bytes: int
    line_ends: str


def line_ends(crlf: int, lines: int) -> str:
    """The ends of the lines of a file, ``crlf`` of which end in CR LF: see `FileReport`."""
    return "mixed" if 0 < crlf < lines else "CRLF" if crlf else "LF"


@dataclass(frozen=True)
class SabReport:
    """One vocabulary: its version, its rows used, and its distinct edges."""

    version: str | None
    rows: int
    edges: int


@dataclass(frozen=True)
class Cycles:
    """Strongly connected components of more than one concept: concepts that are above and below each other.

    Attributes:
        sizes: pairs (size, number of components of that size), largest first.
        examples: members of the first few, largest first.
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
    """Number of retired concepts, and of statements about them by UMLS relation (``SY``: merged, ``DEL``: deleted)."""

    concepts: int = 0
    statements: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TermReport:
    """Terms of an ontology or taxonomy, and their projection on CUIs.

    Attributes:
        terms: current terms.
        obsolete: obsolete terms, left out.
        without_cui: terms without a UMLS cross-reference.
        several_cuis: terms with more than one CUI.
        shared_cuis: CUIs of more than one term.
        undefined_parents: parents that no file defines.
    """

    terms: int
    obsolete: int
    without_cui: int
    several_cuis: int
    shared_cuis: int
    undefined_parents: int


@dataclass(frozen=True)
class OmopReport:
    """Concepts of OMOP vocabularies that are no concepts of the graph; and a comparison with CONCEPT_ANCESTOR.

    Attributes:
        invalid: concepts with an invalid_reason; non_standard: valid ones that are neither standard nor classification.
        merged: of both, those that map to one standard concept; several: to more; unmapped: to none.
        bridged: edges that stand for a way through valid non-standard concepts alone.
        levels: number of ``descendants compared``, of their pairs with ``equal levels``, that is as many hops as
            min_levels_of_separation, and of others by kind: ``not reached here``, ``only here``, ``shorter here``,
            ``longer here``; and of pairs with a ``concept not kept`` in the complete file. Empty without that file.
        deviations: a few pairs of each kind.
    """

    invalid: int
    non_standard: int
    merged: int
    several: int
    unmapped: int
    bridged: int
    levels: Mapping[str, int]
    deviations: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class LoadReport:
    """Report of a load.

    Attributes:
        release, relations, identifiers: as in `cuihop.Release`.
        files: one entry for each file read.
        concepts, edges: of the graph; an edge is one distinct (child, parent) pair without self-loops.
        example: an edge with its names, child first, so that a wrong direction shows; empty without edges.
        mirrored: edges asserted in both notations, child first and parent first; one_directional: in one only.
        self_loops: concepts asserted as their own parent; left out of the edges.
        cycles: concepts that are above and below each other.
        weak_components: parts of two or more concepts without a path between them; giant_component: concepts in the
            largest; isolated: concepts without any edge.
        depth: edges on the longest upward path, with each cycle as one concept.
        hubs: the concepts with the most children.
        names: number of names; nameless: concepts without one.
        semantic_types: number of types that occur.
        definitions: number of definitions.
        codes: number of codes of vocabularies, over all concepts; without_code: rows of MRCONSO that have none.
        retired: retired concepts.
        relation_rows: rows used by relation (``isa``, ``inverse_isa``, ``CHD``, ``PAR``, ``RN``, ``RB``; of files of
            terms ``is_a`` and ``instance_of``; of OMOP vocabularies ``Is a`` and ``Subsumes``).
        sabs: the vocabularies that assert an edge.
        other_identifiers: rows left out because an identifier is not a CUI, by file; other_identifier_samples: a few.
        terms: for files of terms, such as OBO, only. omop: for OMOP vocabularies only.
        warnings: reservations about the graph, for the user.
        bytes: bytes read, as on disk; seconds: from the first file to the graph.
    """

    release: str
    relations: Sequence[str]
    identifiers: str
    files: Sequence[FileReport]
    concepts: int
    edges: int
    example: str
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
    codes: int
    without_code: int
    retired: Retired
    relation_rows: Mapping[str, int]
    sabs: Mapping[str, SabReport]
    other_identifiers: Mapping[str, int]
    other_identifier_samples: Sequence[str]
    terms: TermReport | None
    omop: OmopReport | None
    warnings: Sequence[str]
    bytes: int
    seconds: float

    def to_json(self, *, timing: bool = True) -> dict[str, Any]:
        """The report as plain values for ``json.dumps``.

        Args:
            timing: include the time taken; without it the same files and options give the same values.
        """
        values = asdict(self)
        if not timing:
            del values["seconds"]
        return values


@dataclass(frozen=True, eq=False)
class ReadGraph:
    """A graph read from files.

    Attributes:
        release: name of the release in the files; ``None`` without one.
        self_loops: concepts asserted as their own parent.
        mirrored, relation_rows, sabs, files, warnings, other_identifiers, other_identifier_samples, terms,
            omop, without_code: as in `LoadReport`.
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
    terms: TermReport | None = None
    omop: OmopReport | None = None
    without_code: int = 0


def structure(
    concepts: int, children: Int32, parents: Int32
) -> tuple[dict[str, int], list[Int32], list[tuple[int, int]]]:
    """Structure of a graph of ``concepts`` concepts and distinct edges, ascending by (child, parent).

    Returns:
        The four fields of `LoadReport` from ``weak_components`` to ``depth``; the members, ascending, of each cycle,
        the largest first, then by their first member; and pairs of hub and number of children, most children first.
    """
    from cuihop._kernels.csr import weak_components
    from cuihop._kernels.hierarchy import strong_components
    from cuihop_loader._kernels.edges import longest_path

    n_children = np.bincount(parents, minlength=concepts)
    n_parents = np.bincount(children, minlength=concepts)
    up = bounds_of(n_parents, np.int32), np.ascontiguousarray(parents, np.int32)
    members_of_weak = np.bincount(weak_components(*up), minlength=1)
    of_strong, strong = strong_components(*up)

    between = of_strong[children] != of_strong[parents]
    edges = ascending(of_strong[children[between]].astype(np.int64) << 32 | of_strong[parents[between]])
    indptr = bounds_of(np.bincount(edges >> 32, minlength=strong), np.int32)
    depth = longest_path(indptr, (edges & 0xFFFFFFFF).astype(np.int32))

    isolated = int(np.count_nonzero(n_children + n_parents == 0))
    most = np.argsort(-n_children, kind="stable")[:_HUBS].tolist()
    sizes = {
        "weak_components": int(np.count_nonzero(members_of_weak)) - isolated,
        "giant_component": int(members_of_weak.max()),
        "isolated": isolated,
        "depth": int(depth),
    }
    hubs = [(concept, int(n_children[concept])) for concept in most if n_children[concept]]
    return sizes, _members(of_strong, strong), hubs


def _members(component: Int32, count: int) -> list[Int32]:
    """Members of each component of more than one concept."""
    sizes = np.bincount(component, minlength=count)
    inside = np.flatnonzero(sizes[component] > 1).astype(np.int32)
    inside = inside[np.argsort(component[inside], kind="stable")]
    ends = np.flatnonzero(np.diff(component[inside])) + 1
    groups = np.split(inside, ends) if len(inside) else []
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))
