"""Ontologies and taxonomies as a graph: files of terms, of whichever format, read into one set of tables."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, first_few
from cuihop.identifiers import Identifiers
from cuihop.resources.arrays import bounds_of
from cuihop.resources.optional_packages import OptionalPackage
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.identifier_table import identifier_array
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.writer import GraphTables, RetiredTable
from cuihop_loader.arrays import ascending
from cuihop_loader.cellxgene_terms import CellxgeneFile
from cuihop_loader.edge_lists import EdgeListFile
from cuihop_loader.lmf_synsets import LmfFile
from cuihop_loader.mesh_terms import MeshFile, MeshTreesFile
from cuihop_loader.obo_graph_terms import OboGraphFile
from cuihop_loader.obo_identifiers import ontology_name
from cuihop_loader.obo_terms import OboFile
from cuihop_loader.options import LoadOptions
from cuihop_loader.owl_terms import OwlFile
from cuihop_loader.rdf_terms import RdfFile
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport, ReadGraph, SabReport
from cuihop_loader.rf2_terms import Rf2File
from cuihop_loader.sources import (
    CELLXGENE,
    EDGE_LIST,
    MESH,
    MESH_TREES,
    OBO,
    OBO_GRAPH,
    OWL_AXIOMS,
    RDF,
    RF2_RELATIONSHIP,
    WN_LMF,
    WNDB,
    SourceFile,
)
from cuihop_loader.term_columns import MOST_SABS, TermColumns
from cuihop_loader.term_projection import ParentRows, TermProjection
from cuihop_loader.terms import TermFile, TermRows
from cuihop_loader.wordnet_synsets import WordNetFile

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_IMPORTS = 50  # named in a warning

_READERS: Mapping[str, Callable[[SourceFile, RejectedRows, StepProgress | None], TermFile]] = {
    CELLXGENE: CellxgeneFile, OBO: OboFile, OBO_GRAPH: OboGraphFile, EDGE_LIST: EdgeListFile, WNDB: WordNetFile,
    WN_LMF: LmfFile, RF2_RELATIONSHIP: Rf2File, MESH: MeshFile, MESH_TREES: MeshTreesFile,
}  # fmt: skip
_READERS_BY_LANGUAGE: Mapping[
    str, Callable[[SourceFile, RejectedRows, StepProgress | None, Sequence[str]], TermFile]
] = {OWL_AXIOMS: OwlFile, RDF: RdfFile}
"""The reader of each format in `cuihop_loader.sources.TERM_FORMATS`; some choose names by their language."""


PACKAGES_OF_FORMATS: Mapping[str, OptionalPackage] = {
    OBO: OptionalPackage("fastobo", "cuihop[loader]"),
    **dict.fromkeys((CELLXGENE, OBO_GRAPH), OptionalPackage("orjson", "cuihop[loader]")),
    OWL_AXIOMS: OptionalPackage("pyhornedowl", "cuihop[ontologies]"),
    RDF: OptionalPackage("pyoxigraph", "cuihop[ontologies]"),
}
"""What the reader of a format needs that the base installation does not bring."""


def _reader(
    source: SourceFile, options: LoadOptions, rejected: RejectedRows, progress: StepProgress | None
) -> TermFile:
    if (by_language := _READERS_BY_LANGUAGE.get(source.role)) is not None:
        return by_language(source, rejected, progress, options.languages)
    return _READERS[source.role](source, rejected, progress)


def read_ontology(
    sources: Sequence[SourceFile],
    options: LoadOptions,
    identifiers: Identifiers,
    rejected: RejectedRows,
    progress: StepProgress | None,
) -> ReadGraph:
    """Read files of terms into one graph.

    Raises:
        InputError: a file or an identifier is malformed, or an option is for RRF files only.
        LimitExceeded: more vocabularies than fit.
    """
    if tuple(options.relations) != ("isa",):
        raise InputError(
            "only RRF files have other relations than is_a", column="relations", found=", ".join(options.relations)
        )
    readers = [_reader(source, options, rejected, progress) for source in sources]
    columns = TermColumns()
    ends = [0]  # of the statements of a parent, file by file
    with _no_garbage_collection():
        for reader, source in zip(readers, sources, strict=True):
            name = str(source)
            for term in reader.terms():
                if isinstance(term, TermRows):
                    columns.add_rows(term)
                else:
                    columns.add(term, name)
            columns.end_file(reader.ontology)
            ends.append(columns.parent_count)
    projection = TermProjection(columns, identifiers)
    statements, parents = columns.parents
    sabs = list(columns.sabs)
    included = np.array([options.includes(sab) for sab in sabs], dtype=np.bool_)[columns.sab_numbers[statements]]
    pairs = projection.pairs(included)
    fates = _Fates(pairs, included, ~projection.usable[statements] | projection.gone[parents])
    if not fates.used.any():
        raise InputError(
            "no is_a relation",
            file=", ".join(str(source) for source in sources),
            found=f"{len(parents):,} statements of a parent",
            expected="at least one between concepts" + (" in the chosen vocabularies" if options.chooses_sabs else ""),
            advice=". ".join(warning for reader in readers for warning in reader.warnings) or None,
        )
    tables, sab_edges = _tables(columns, projection, pairs, all_names=options.synonyms)
    sab_of_row = columns.sab_numbers[statements]
    sab_rows = dict(zip(sabs, np.bincount(sab_of_row[fates.used], minlength=len(sabs)).tolist(), strict=True))
    instances = int(np.count_nonzero(fates.used & columns.instances))
    relation_rows = {"is_a": int(np.count_nonzero(fates.used)) - instances, "instance_of": instances}
    version_of = {
        sab: reader.versions.get(sab)
        for reader in readers
        for sab in (reader.ontology, *reader.versions)
        if sab_rows.get(sab)
    }
    versions = list(dict.fromkeys(reader.version for reader in readers if reader.version))
    return ReadGraph(
        tables=tables,
        release=", ".join(versions) or None,
        self_loops=len(ascending(pairs.children[pairs.children == pairs.parents])),
        mirrored=0,
        relation_rows={name: count for name, count in relation_rows.items() if count},
        sabs={
            sab: SabReport(version_of.get(sab), sab_rows[sab], sab_edges.get(sab, 0))
            for sab in dict.fromkeys([*version_of, *sorted(sab_edges)])
        },
        files=[
            report
            for reader, source, begin, end in zip(readers, sources, ends, ends[1:], strict=False)
            for report in (_file_report(reader, source, fates.counts(begin, end)), *reader.companions)
        ],
        warnings=[
            *_missing_imports(readers),
            *_lower_case(columns),
            *projection.warnings(),
            *(warning for reader in readers for warning in reader.warnings),
        ],
        terms=projection.report(projection.undefined(parents[included])),
    )


def _missing_imports(readers: Sequence[TermFile]) -> list[str]:
    """A warning with the imported ontologies that are none of those read, by their addresses or versions."""
    read = {
        name.casefold()
        for reader in readers
        for name in (reader.ontology, reader.version or "", f"{reader.ontology}/{reader.version}/{reader.ontology}")
    }
    imports = sorted({iri for reader in readers for iri in reader.imports})
    missing = [iri for iri in imports if ontology_name(iri).casefold() not in read]
    if not missing:
        return []
    return [
        "imports are not followed, so that terms and is_a relations may be missing; load these ontologies with the "
        f"file: {first_few(missing, _IMPORTS)}"
    ]


def _lower_case(columns: TermColumns) -> list[str]:
    if not columns.lower:
        return []
    return [f"CUIs in lower case, read in upper case: {first_few(sorted(columns.lower))}"]


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the search for cycles of objects, of which a term has none: an eighth of the time of a million terms."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Fates:
    """Use of each statement of a parent, or the reason against it; each mask has one entry for each statement."""

    def __init__(self, pairs: ParentRows, included: npt.NDArray[np.bool_], gone: npt.NDArray[np.bool_]) -> None:
        self.used = np.zeros(len(included), dtype=np.bool_)
        self.used[pairs.rows[pairs.children != pairs.parents]] = True
        paired = np.zeros_like(self.used)
        paired[pairs.rows] = True
        self._masks = {
            "used": self.used,
            "obsolete": included & ~paired & gone,
            "term without CUI": included & ~paired & ~gone,
            "concept is its own parent": paired & ~self.used,
            "other vocabulary": ~included,
        }

    def counts(self, begin: int, end: int) -> dict[str, int]:
        """Number of statements by use, from one statement up to another."""
        return {name: int(np.count_nonzero(mask[begin:end])) for name, mask in self._masks.items()}


def _file_report(reader: TermFile, source: SourceFile, counts: dict[str, int]) -> FileReport:
    skipped = {reason: count for reason, count in counts.items() if count and reason != "used"}
    used = counts["used"] + reader.parentless
    skipped |= {reason: skipped.get(reason, 0) + count for reason, count in reader.skipped.items()}
    if reader.bad:
        skipped["bad row"] = reader.bad
    return FileReport(
        role=reader.role,
        file=str(source),
        rows=used + sum(skipped.values()),
        used=used,
        skipped=skipped,
        bad=reader.bad,
        bytes=reader.bytes,
        line_ends=reader.line_ends,
    )


def _tables(
    columns: TermColumns, projection: TermProjection, pairs: ParentRows, *, all_names: bool
) -> tuple[GraphTables, dict[str, int]]:
    """The tables of the graph, and the number of edges of each vocabulary that asserts one."""
    used = ascending(np.concatenate([projection.concepts_of_terms(), pairs.children, pairs.parents]))
    identifiers = list(columns.code_of)
    cuis = identifier_array([identifiers[code] for code in used.tolist()])
    order = np.argsort(cuis)
    place = np.zeros(len(identifiers), dtype=np.int32)
    place[used[order]] = np.arange(len(used), dtype=np.int32)
    cuis = cuis[order]

    sabs = list(columns.sabs)
    sab_of_row = columns.sab_numbers[columns.parents[0]]
    proper = pairs.children != pairs.parents
    keys = place[pairs.children[proper]].astype(np.int64) << 32 | place[pairs.parents[proper]]
    edges = _Grouped(keys, sab_of_row[pairs.rows[proper]])
    names = _names(columns, projection, place, len(cuis), all_names=all_names)
    sab_sets, members = edges.sab_sets(sabs)
    name_sab_sets, name_members = names.sab_sets
    found = {identifiers[code] for code in used.tolist()} if columns.others else set()
    return (
        GraphTables(
            cuis=cuis,
            children=(edges.keys >> 32).astype(np.int32),
            parents=(edges.keys & 0xFFFFFFFF).astype(np.int32),
            sab_sets=sab_sets,
            sab_set_members=members,
            names=names.texts,
            name_indptr=names.indptr,
            name_grades=names.grades,
            name_sab_sets=name_sab_sets.astype(np.uint32),
            name_sab_set_members=name_members,
            retired=RetiredTable.of([row for row in projection.retired() if row[0] not in found]),
        ),
        {sabs[number]: count for number, count in edges.sab_counts().items()},
    )


class _Grouped:
    """Rows grouped by a key, with the vocabularies of each group.

    Args:
        keys: of each row.
        sabs: number of the vocabulary of each row.

    Attributes:
        keys: the distinct ones, ascending; one group each.
    """

    def __init__(self, keys: Int64, sabs: Int32) -> None:
        order = np.lexsort((sabs, keys))
        keys, sabs = keys[order], sabs[order]
        new_key = np.ones(len(keys), dtype=np.bool_)
        new_key[1:] = keys[1:] != keys[:-1]
        distinct = new_key.copy()
        distinct[1:] |= sabs[1:] != sabs[:-1]
        self.keys = keys[new_key]
        self._sabs = sabs[distinct]
        self._begins = np.flatnonzero(new_key[distinct])
        self.rows = order
        self.begins = np.flatnonzero(new_key)

    def sab_counts(self) -> dict[int, int]:
        """Number of groups of each vocabulary that has one."""
        counts = np.bincount(self._sabs, minlength=1)
        return {number: int(counts[number]) for number in np.flatnonzero(counts).tolist()}

    def sab_sets(self, sabs: Sequence[str], chosen: Int64 | None = None) -> tuple[Int32, list[tuple[str, ...]]]:
        """For each group, or the chosen ones, the place of its vocabularies among the distinct sets; and the sets."""
        begins = np.append(self._begins, len(self._sabs))
        groups = np.arange(len(self.keys)) if chosen is None else chosen
        first, size = begins[groups], begins[groups + 1] - begins[groups]
        numbers = self._sabs[first].astype(np.int64)  # a set of one vocabulary has its number
        several: dict[tuple[int, ...], int] = {}
        for place in np.flatnonzero(size > 1).tolist():
            of_group = tuple(self._sabs[first[place] : first[place] + size[place]].tolist())
            numbers[place] = MOST_SABS + several.setdefault(of_group, len(several))
        tuples = list(several)
        members = {
            number: tuple(
                sorted(sabs[sab] for sab in (tuples[number - MOST_SABS] if number >= MOST_SABS else (number,)))
            )
            for number in ascending(numbers).tolist()
        }
        ordered = sorted(members, key=lambda number: members[number])
        place_of = np.zeros(MOST_SABS + len(several), dtype=np.int32)
        place_of[ordered] = np.arange(len(ordered), dtype=np.int32)
        return place_of[numbers], [members[number] for number in ordered]


@dataclass(frozen=True, eq=False)
class _Names:
    """Names of concepts, as `cuihop.snapshot.writer.GraphTables` has them."""

    texts: StringTable
    indptr: Int32
    grades: npt.NDArray[np.uint32]
    sab_sets: tuple[Int32, list[tuple[str, ...]]]


def _names(columns: TermColumns, projection: TermProjection, place: Int32, concepts: int, *, all_names: bool) -> _Names:
    """Names, concept by concept: terms as they come, of each its name and then its synonyms.

    The grade is 0 for the name of a term, 1 for a synonym. A name has the vocabularies of all statements that give it.
    """
    statements, texts, synonyms = columns.names
    rows = np.flatnonzero(projection.usable[statements]).astype(np.int32)
    terms = columns.terms
    # A term has the place of its first statement; its name is the first that any of its statements gives.
    first_statement, first_name = (np.full(len(columns.code_of), -1, dtype=np.int64) for _ in range(2))
    usable = np.flatnonzero(projection.usable)[::-1]
    first_statement[terms[usable]] = usable
    named = rows[synonyms[rows] == 0][::-1]
    first_name[terms[statements[named]]] = named
    at, of_concept = projection.expanded(terms[statements[rows]])
    rows = rows[at]
    row_terms = terms[statements[rows]]
    within = np.where(rows == first_name[row_terms], 0, rows.astype(np.int64) + 1)
    of_concept = place[of_concept]
    order = np.lexsort((within, first_statement[row_terms], of_concept))
    rows, of_concept = rows[order], of_concept[order]
    grouped = _Grouped(of_concept.astype(np.int64) << 32 | texts[rows], columns.sab_numbers[statements[rows]])
    if not len(rows):
        return _Names(StringTable.of([]), np.zeros(concepts + 1, dtype=np.int32), np.empty(0, np.uint32), (
            np.empty(0, dtype=np.int32), []))  # fmt: skip
    firsts = np.minimum.reduceat(grouped.rows, grouped.begins)
    grades = np.minimum.reduceat(synonyms[rows][grouped.rows], grouped.begins)
    chosen = np.argsort(firsts)
    owners = (grouped.keys >> 32)[chosen]
    if not all_names:
        preferred = np.ones(len(chosen), dtype=np.bool_)
        preferred[1:] = owners[1:] != owners[:-1]
        chosen, owners = chosen[preferred], owners[preferred]
    strings = list(columns.text_of)
    return _Names(
        StringTable.of([strings[code] for code in (grouped.keys[chosen] & 0xFFFFFFFF).tolist()]),
        bounds_of(np.bincount(owners, minlength=concepts), np.int32),
        grades[chosen].astype(np.uint32),
        grouped.sab_sets(list(columns.sabs), chosen),
    )
