"""Tables of a loader; the snapshot's sections and digest made from them; and sections restricted to vocabularies."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import release_within
from cuihop.errors import InputError, LimitExceeded, SnapshotError
from cuihop.graph import Release
from cuihop.identifiers import EXPECTED, Identifiers, is_identifier
from cuihop.resources.arrays import Int32, UInt8, UInt32, bounds_of
from cuihop.resources.cores import in_order
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import LARGEST_POSITION, NAME_SOURCES
from cuihop.snapshot.name_index_builder import counted_descendants, name_index_sections
from cuihop.snapshot.string_table import IdentifierTable, StringTable, folded, identifier_array
from cuihop.snapshot.term_table import term_table_sections

RETIRED_RELATIONS = ("SY", "RB", "RN", "RO", "DEL")
"""Relations of a retired concept to its successor (UMLS MRCUI): merged, broader, narrower, other; or deleted."""


_HASHED_TOGETHER = 1 << 18
_NAMES_FOR_ONE_BY_ONE = 1 << 23  # the two indexes of names are then built one after the other, to bound memory


def _empty_identifiers() -> npt.NDArray[np.bytes_]:
    return np.empty(0, dtype="S8")


@dataclass(frozen=True, eq=False)
class RetiredTable:
    """Retired concepts, one row for each statement; ascending and distinct as triples.

    Attributes:
        cuis: the retired identifier, dtype ``S``.
        relations: uint8, a position in `RETIRED_RELATIONS`.
        successors: the concept it is related to, dtype ``S``; empty for ``DEL``.
    """

    cuis: npt.NDArray[np.bytes_] = field(default_factory=_empty_identifiers)
    relations: UInt8 = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    successors: npt.NDArray[np.bytes_] = field(default_factory=_empty_identifiers)

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str, str]]) -> RetiredTable:
        """The table of (retired, relation, successor) triples in any order."""
        ordered = sorted({(old, RETIRED_RELATIONS.index(relation), new) for old, relation, new in rows})
        return cls(
            identifier_array([old for old, _, _ in ordered]),
            np.array([relation for _, relation, _ in ordered], dtype=np.uint8),
            identifier_array([new for _, _, new in ordered]),
        )


@dataclass(frozen=True, eq=False)
class GraphTables:
    """Output of a loader. Concepts are numbered by their position in `cuis`.

    Attributes:
        cuis: dtype ``S``, distinct, ascending.
        children, parents: int32, shape (edges,): the is_a edges, ascending by (child, parent), distinct, without
            self-loops.
        sab_sets: for each edge, the position in `sab_set_members` of the vocabularies that assert it; empty if unknown.
        sab_set_members: sorted tuples of SABs.
        names: every name, concept by concept in their order, the preferred name first.
        name_indptr: int32, shape (concepts + 1,); concept i has names ``name_indptr[i]`` up to ``name_indptr[i + 1]``.
        name_grades: uint32, shape (names,): the quality of each name, comparable between concepts; smaller is better.
            The bit `cuihop.snapshot.layout.SUPPRESSED_NAME` marks a suppressed one. None if unknown.
        name_sab_sets: for each name, the position in `name_sab_set_members` of the vocabularies that give it; None if
            unknown.
        name_sab_set_members: sorted tuples of SABs.
        semantic_types: pairs of type identifier and name.
        type_indptr, type_indices: int32, as `name_indptr`, into `semantic_types`.
        definitions: every definition, concept by concept in their order: its vocabulary (SAB), a bar, and its text.
        definition_indptr: int32, as `name_indptr`, into `definitions`.
        codes: gives the sections of the codes of vocabularies, and lists these: see
            `cuihop.snapshot.source_codes.code_sections`. None if unknown.
        code_maps: the sections of the published mappings, and their sets: see `cuihop.snapshot.code_maps`.
        retired: the retired concepts.
    """

    cuis: npt.NDArray[np.bytes_]
    children: Int32
    parents: Int32
    sab_sets: npt.NDArray[np.integer] = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    sab_set_members: Sequence[tuple[str, ...]] = ()
    names: StringTable = field(default_factory=lambda: StringTable.of([]))
    name_indptr: Int32 | None = None
    name_grades: UInt32 | None = None
    name_sab_sets: npt.NDArray[np.integer] | None = None
    name_sab_set_members: Sequence[tuple[str, ...]] = ()
    semantic_types: Sequence[tuple[str, str]] = ()
    type_indptr: Int32 | None = None
    type_indices: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    definitions: StringTable = field(default_factory=lambda: StringTable.of([]))
    definition_indptr: Int32 | None = None
    codes: Callable[[], tuple[Mapping[str, npt.NDArray[Any]], Sequence[str]]] | None = None
    code_maps: tuple[Mapping[str, npt.NDArray[Any]], Sequence[Sequence[str]]] | None = None
    retired: RetiredTable = field(default_factory=RetiredTable)


def tables_of_edges(
    edges: Iterable[tuple[str, str]],
    *,
    concepts: Iterable[str],
    names: Mapping[str, str | Sequence[str]],
    retired: Sequence[tuple[str, str, str]],
    identifiers: Identifiers,
) -> GraphTables:
    """Tables of a graph given as (child, parent) pairs: see `cuihop.SnapshotGraph.of`.

    Raises:
        InputError: an identifier is malformed.
    """
    pairs = list(edges)
    nodes = sorted({cui for pair in pairs for cui in pair}.union(concepts, names))
    for cui in nodes:
        if not is_identifier(cui, identifiers):
            raise InputError("not an identifier", found=repr(cui), expected=EXPECTED[identifiers])
    positions = {cui: i for i, cui in enumerate(nodes)}
    distinct = sorted({(positions[child], positions[parent]) for child, parent in pairs if child != parent})
    ends = np.array(distinct, dtype=np.int32).reshape(-1, 2)
    texts = [
        [of_concept] if isinstance(of_concept, str) else list(of_concept)
        for of_concept in (names.get(cui, ()) for cui in nodes)
    ]
    return GraphTables(
        cuis=identifier_array(nodes),
        children=np.ascontiguousarray(ends[:, 0]),
        parents=np.ascontiguousarray(ends[:, 1]),
        names=StringTable.of([text for group in texts for text in group]),
        name_indptr=bounds_of([len(group) for group in texts], np.int32),
        retired=RetiredTable.of(retired),
    )


def graph_digest(cuis: npt.NDArray[np.bytes_], children: Int32, parents: Int32, retired: RetiredTable) -> str:
    """SHA-256 of the data that distances depend on, as 64 hexadecimal digits.

    Hashed in this order: the line ``cuihop graph 1``, with the numbers of concepts, edges and retired rows; the
    concepts in ascending order, a line each; the edges as little-endian uint32 pairs (child, parent) of positions in
    that order, ascending; the retired concepts, ascending as triples: the retired identifiers, a line each, their
    relations as bytes (positions in `RETIRED_RELATIONS`), the successors, a line each.
    """
    digest = hashlib.sha256(b"cuihop graph 1 %d %d %d\n" % (len(cuis), len(children), len(retired.cuis)))
    _add_lines(digest, cuis)
    for first in range(0, len(children), _HASHED_TOGETHER):
        here = slice(first, first + _HASHED_TOGETHER)
        digest.update(np.stack([children[here], parents[here]], axis=1).astype("<u4").data)
    _add_lines(digest, retired.cuis)
    digest.update(retired.relations.tobytes())
    _add_lines(digest, retired.successors)
    return digest.hexdigest()


def digest_of_sections(sections: Sections) -> str:
    """`graph_digest` of the concepts, the upward edges and the retired concepts of a snapshot."""
    indptr, parents = sections["up_indptr"], sections["up_indices"]
    retired = RetiredTable(
        np.repeat(IdentifierTable(sections["retired_cuis"]).as_bytes(), np.diff(sections["retired_indptr"])),
        sections["retired_relations"],
        sections["retired_successors"],
    )
    children = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return graph_digest(IdentifierTable(sections["cuis"]).as_bytes(), children, parents, retired)


def hierarchy_rows(up_indptr: Int32, up_indices: Int32) -> dict[str, npt.NDArray[Any]]:
    """The sections of the edges in compressed rows: upwards as given, downwards, and in either direction."""
    from cuihop._kernels import csr

    down_indptr, down_indices = csr.transposed(up_indptr, up_indices)
    any_indptr, any_indices = csr.union(up_indptr, up_indices, down_indptr, down_indices)
    return {
        "up_indptr": up_indptr,
        "up_indices": up_indices,
        "down_indptr": down_indptr,
        "down_indices": down_indices,
        "any_indptr": any_indptr,
        "any_indices": any_indices,
    }


def check_digest(sections: Sections) -> None:
    """Check that the edges of a snapshot are those of its digest, in every order in which it holds them.

    Raises:
        SnapshotError: they are not, although checksums may be right.
    """
    derived = hierarchy_rows(sections["up_indptr"], sections["up_indices"])
    stored = sections.meta["release"]["digest"]
    if digest_of_sections(sections) != stored or not all(np.array_equal(sections[n], derived[n]) for n in derived):
        raise SnapshotError(
            f"{sections.origin}: its edges are not those of its digest, {stored[:12]}; the file is damaged"
        )


PULLED_FROM = "pulled_from"
"""Entry of a load report that names the database which a snapshot was read from; missing for a load from files."""


def _add_lines(digest: hashlib._Hash, identifiers: npt.NDArray[np.bytes_]) -> None:
    for first in range(0, len(identifiers), _HASHED_TOGETHER):
        block = np.ascontiguousarray(identifiers[first : first + _HASHED_TOGETHER])
        rows = np.full((len(block), block.dtype.itemsize + 1), ord("\n"), dtype=np.uint8)
        rows[:, :-1] = block.view(np.uint8).reshape(len(block), -1)
        digest.update(rows[rows != 0])  # without what pads shorter ones


def sections_of(
    tables: GraphTables,
    *,
    name: str,
    relations: Sequence[str],
    identifiers: Identifiers,
    source: str = "",
    report: Mapping[str, Any] | None = None,
) -> Sections:
    """Sections of a snapshot, in memory, described as in `Release`, with the load report in the header.

    Raises:
        LimitExceeded: more concepts, edges or names than a snapshot can number.
    """
    concepts = len(tables.cuis)
    children, parents = tables.children, tables.parents
    _check_sizes(tables)
    sab_sets = tables.sab_sets if len(tables.sab_sets) else np.zeros(len(children), dtype=np.uint16)
    members = list(tables.sab_set_members) or [()]
    up_indptr = bounds_of(np.bincount(children, minlength=concepts), np.int32)
    none = np.zeros(concepts + 1, dtype=np.int32)
    beyond_ascii = tables.names.beyond_ascii()
    folded_names = StringTable.of([folded(tables.names[int(row)]) for row in beyond_ascii])
    first_of = np.flatnonzero(np.r_[True, tables.retired.cuis[1:] != tables.retired.cuis[:-1]])
    if not len(tables.retired.cuis):
        first_of = np.empty(0, dtype=np.int64)
    release = Release(
        name=name,
        digest=graph_digest(tables.cuis, children, parents, tables.retired),
        relations=tuple(relations),
        sabs=tuple(sorted({sab for sabs in members for sab in sabs})),
        identifiers=identifiers,
        concepts=concepts,
        edges=len(children),
        source=source,
    )
    arrays: dict[str, npt.NDArray[Any]] = {
        "cuis": IdentifierTable.packed(tables.cuis).stored,
        **hierarchy_rows(up_indptr, parents),
        "up_sab_sets": sab_sets,
        "name_indptr": none if tables.name_indptr is None else tables.name_indptr,
        "name_offsets": tables.names.offsets,
        "name_blob": tables.names.blob,
        "folded_rows": beyond_ascii,
        "folded_offsets": folded_names.offsets,
        "folded_blob": folded_names.blob,
        "type_indptr": none if tables.type_indptr is None else tables.type_indptr,
        "type_indices": tables.type_indices,
        "retired_cuis": IdentifierTable.packed(tables.retired.cuis[first_of]).stored,
        "retired_indptr": np.r_[first_of, len(tables.retired.cuis)].astype(np.int32),
        "retired_relations": tables.retired.relations,
        "retired_successors": tables.retired.successors,
    }
    if tables.definition_indptr is not None and len(tables.definitions):
        arrays |= {
            "definition_indptr": tables.definition_indptr,
            "definition_offsets": tables.definitions.offsets,
            "definition_blob": tables.definitions.blob,
        }
    meta: dict[str, Any] = {
        "release": dataclasses.asdict(release),
        "sab_sets": [list(sabs) for sabs in members],
        "semantic_types": [list(pair) for pair in tables.semantic_types],
        "report": dict(report or {}),
    }
    if tables.name_grades is not None and tables.name_sab_sets is not None:
        of_sets = tables.name_sab_set_members
        meta["name_sabs"] = name_sabs = sorted({sab for sabs in of_sets for sab in sabs})
        numbers = {sab: number for number, sab in enumerate(name_sabs)}
        indptr = bounds_of([len(sabs) for sabs in of_sets], np.int32)
        in_sets = np.array([numbers[sab] for sabs in of_sets for sab in sabs], dtype=np.uint16)
        arrays |= dict(zip(NAME_SOURCES, (tables.name_grades, tables.name_sab_sets, indptr, in_sets), strict=True))
    indexes: list[dict[str, npt.NDArray[Any]]] = []
    descendants = counted_descendants(arrays) if len(tables.names) else none
    if len(tables.names):
        threads = 1 if len(tables.names) > _NAMES_FOR_ONE_BY_ONE else None
        builders = (name_index_sections, term_table_sections)
        indexes += in_order(lambda build: build(arrays, descendants), builders, threads)
    if tables.codes is not None:
        sections, sabs = tables.codes()
        arrays |= sections
        meta["code_sabs"] = list(sabs)
    if tables.code_maps is not None:
        arrays |= tables.code_maps[0]
        meta["map_sets"] = [list(of_set) for of_set in tables.code_maps[1]]
    for sections in indexes:
        arrays |= sections
    return Sections(meta, arrays)


def _check_sizes(tables: GraphTables) -> None:
    """Positions are numbers of 31 bits, and each edge has two in the rows of either direction."""
    for what, count, most in (
        ("concepts", len(tables.cuis), LARGEST_POSITION),
        ("is_a edges", len(tables.children), LARGEST_POSITION // 2),
        ("names", len(tables.names), LARGEST_POSITION),
        ("definitions", len(tables.definitions), LARGEST_POSITION),
        ("semantic types of concepts", len(tables.type_indices), LARGEST_POSITION),
    ):
        if count > most:
            raise LimitExceeded(f"{count:,} {what}, and a snapshot holds at most {most:,}. Load fewer vocabularies")


class RestrictedSections(Sections):
    """Sections of which some are replaced, in memory; the others are read from the whole snapshot."""

    def __init__(self, unrestricted: Sections, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__(meta, arrays, origin=unrestricted.origin)
        self._whole = unrestricted

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name] if name in self._arrays else self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def length(self, name: str) -> int:
        """Length of a section, without reading its content."""
        return len(self._arrays[name]) if name in self._arrays else self._whole.length(name)

    def check_unchanged(self) -> None:
        """See `Sections.check_unchanged`."""
        self._whole.check_unchanged()


def sections_within(sections: Sections, release: Release, sabs: tuple[str, ...]) -> Sections:
    """The sections with only the edges that some of these vocabularies assert.

    The time is linear in the edges, and the memory that of the remaining edges in three directions.
    """
    sets = [[sab for sab in members if sab in sabs] for members in sections.meta["sab_sets"]]
    asserting = np.array([bool(members) for members in sets], dtype=np.bool_)
    asserted = asserting[sections["up_sab_sets"]]
    indptr, parents = sections["up_indptr"], sections["up_indices"][asserted]
    remaining = np.zeros(len(asserted) + 1, dtype=np.int32)
    np.cumsum(asserted, out=remaining[1:])
    arrays = hierarchy_rows(remaining[indptr], parents) | {"up_sab_sets": sections["up_sab_sets"][asserted]}
    restricted_sections = RestrictedSections(sections, sections.meta, arrays)
    restricted = release_within(release, sabs, digest_of_sections(restricted_sections), len(parents))
    restricted_sections.meta = {**sections.meta, "release": dataclasses.asdict(restricted), "sab_sets": sets}
    return restricted_sections
