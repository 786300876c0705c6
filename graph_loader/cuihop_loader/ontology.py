"""Ontologies and taxonomies as a graph: terms, of whichever format, projected on the CUIs they refer to.

A term with UMLS cross-references becomes those CUIs; a term without has its own identifier, so that every hop of
the ontology remains a hop. Where a term has several CUIs, each is a child of each CUI of its parent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.identifiers import EXPECTED, Identifiers, is_identifier
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.identifier_table import identifier_array
from cuihop.snapshot.string_table import StringTable, bounds_of
from cuihop.snapshot.writer import GraphTables, RetiredTable
from cuihop_loader.edge_lists import EdgeListFile
from cuihop_loader.lmf_synsets import LmfFile
from cuihop_loader.mesh_terms import MeshFile, MeshTreesFile
from cuihop_loader.obo_terms import OboFile
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport, ReadGraph, SabReport, TermReport
from cuihop_loader.rf2_terms import Rf2File
from cuihop_loader.sources import EDGE_LIST, MESH, MESH_TREES, OBO, RF2_RELATIONSHIP, WN_LMF, WNDB, SourceFile
from cuihop_loader.terms import Term, TermFile
from cuihop_loader.wordnet_synsets import WordNetFile

__all__ = ["read_ontology"]

_SAMPLES = 3

_READERS: Mapping[str, Callable[[SourceFile, RejectedRows, StepProgress | None], TermFile]] = {
    OBO: OboFile, EDGE_LIST: EdgeListFile, WNDB: WordNetFile, WN_LMF: LmfFile,
    RF2_RELATIONSHIP: Rf2File, MESH: MeshFile, MESH_TREES: MeshTreesFile,
}  # fmt: skip
"""The reader of each format in `cuihop_loader.sources.TERM_FORMATS`."""


class _Projection:
    """Projection of terms on identifiers."""

    def __init__(self, terms: Sequence[Term], identifiers: Identifiers) -> None:
        self._identifiers = identifiers
        self.terms: dict[str, Term] = {}
        joined: set[str] = set()
        for term in terms:
            if term.obsolete:
                continue
            earlier = self.terms.setdefault(term.id, term)
            if earlier is not term:
                if term.id not in joined:
                    joined.add(term.id)
                    earlier = self.terms[term.id] = earlier.copied()
                earlier.join(term)
        self.obsolete = {term.id for term in terms if term.obsolete} - self.terms.keys()
        # Published files list current terms as alternatives of others: such a term represents itself.
        self._alternatives = {
            alternative: term.id
            for term in self.terms.values()
            for alternative in term.alternatives
            if alternative not in self.terms
        }
        self._stands_for = {
            term.id: tuple(sorted({cui for cui in term.umls if is_identifier(cui, "cui")})) or self._own(term.id)
            for term in self.terms.values()
        }

    @property
    def keeps_terms(self) -> bool:
        """True where a term without a CUI is a concept."""
        return self._identifiers == "any"

    def defines(self, identifier: str) -> bool:
        """Membership of the term: true where a file has a stanza for it."""
        term = self.terms.get(identifier)
        if term is not None:
            return term.defined
        return identifier in self._alternatives or identifier in self.obsolete

    def of(self, identifier: str) -> tuple[str, ...]:
        """The concepts of a term, which may be an alternative identifier or undefined; empty for an obsolete one."""
        found = self._stands_for.get(self._alternatives.get(identifier, identifier))
        if found is not None:
            return found
        return () if identifier in self.obsolete else self._own(identifier)

    def _own(self, identifier: str) -> tuple[str, ...]:
        return (identifier,) if self.keeps_terms else ()


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
    """
    if tuple(options.relations) != ("isa",):
        raise InputError(
            "only RRF files have other relations than is_a", column="relations", found=", ".join(options.relations)
        )
    readers = [_READERS[source.role](source, rejected, progress) for source in sources]
    of_file: list[list[Term]] = []
    for reader, source in zip(readers, sources, strict=True):
        terms = list(reader.terms())
        for term in terms:
            if not is_identifier(term.id, "any"):
                raise InputError(
                    "not an identifier", file=str(source), line=term.line, column="id", found=repr(term.id),
                    expected=EXPECTED["any"],
                )  # fmt: skip
        of_file.append(terms)
    all_terms = [term for terms in of_file for term in terms]
    projection = _Projection(all_terms, identifiers)

    sabs_of: dict[tuple[str, str], set[str]] = {}
    loops: set[str] = set()
    undefined: set[str] = set()
    sab_rows: Counter[str] = Counter()
    relation_rows: Counter[str] = Counter()
    files = []
    for reader, source, terms in zip(readers, sources, of_file, strict=True):
        counts = dict.fromkeys(
            ("used", "obsolete", "term without CUI", "concept is its own parent", "other vocabulary"), 0
        )
        for term in terms:
            sab = term.sab or reader.ontology
            for relation, parent in _relations(term):
                if not options.includes(sab):
                    counts["other vocabulary"] += 1
                    continue
                if not projection.defines(parent):
                    undefined.add(parent)
                pairs = [] if term.obsolete else [(c, p) for c in projection.of(term.id) for p in projection.of(parent)]
                edges = [pair for pair in pairs if pair[0] != pair[1]]
                loops.update(child for child, parent in pairs if child == parent)
                for edge in edges:
                    sabs_of.setdefault(edge, set()).add(sab)
                gone = term.obsolete or parent in projection.obsolete
                unused = "concept is its own parent" if pairs else "obsolete" if gone else "term without CUI"
                counts["used" if edges else unused] += 1
                sab_rows[sab] += bool(edges)
                relation_rows[relation] += bool(edges)
        files.append(_file_report(reader, source, counts))
        files.extend(reader.companions)

    sab_edges = Counter(sab for sabs in sabs_of.values() for sab in sabs)
    version_of = {
        sab: reader.versions.get(sab)
        for reader in readers
        for sab in (reader.ontology, *reader.versions)
        if sab_rows[sab]
    }
    versions = list(dict.fromkeys(reader.version for reader in readers if reader.version))
    if not sabs_of:
        raise InputError(
            "no is_a relation",
            file=", ".join(str(source) for source in sources),
            found=f"{sum(len(term.parents) + len(term.classes) for term in all_terms):,} statements of a parent",
            expected="at least one between concepts" + (" in the chosen vocabularies" if options.chooses_sabs else ""),
        )
    return ReadGraph(
        tables=_tables(projection, sabs_of, loops, readers, of_file, all_names=options.synonyms),
        release=", ".join(versions) or None,
        self_loops=len(loops),
        mirrored=0,
        relation_rows={relation: count for relation, count in relation_rows.items() if count},
        sabs={
            sab: SabReport(version_of.get(sab), sab_rows[sab], sab_edges[sab])
            for sab in dict.fromkeys([*version_of, *sorted(sab_edges)])
        },
        files=files,
        warnings=[*_warnings(projection), *chain.from_iterable(reader.warnings for reader in readers)],
        terms=_term_report(projection, len(undefined)),
    )


def _relations(term: Term) -> Iterator[tuple[str, str]]:
    """The parents of a term, each with the relation as reports name it."""
    yield from (("is_a", parent) for parent in term.parents)
    yield from (("instance_of", parent) for parent in term.classes)


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
    projection: _Projection,
    sabs_of: dict[tuple[str, str], set[str]],
    loops: set[str],
    readers: Sequence[TermFile],
    of_file: Sequence[Sequence[Term]],
    *,
    all_names: bool,
) -> GraphTables:
    names: dict[str, dict[str, None]] = {}
    for term in projection.terms.values():
        for concept in projection.of(term.id):
            of_concept = names.setdefault(concept, {})
            of_concept.update(dict.fromkeys(name for name in (term.name, *term.synonyms) if name))
    concepts = sorted({concept for edge in sabs_of for concept in edge} | names.keys() | loops)
    place = {concept: i for i, concept in enumerate(concepts)}
    edges = sorted(sabs_of)
    members, sab_sets = _numbered([sabs_of[edge] for edge in edges])
    names_of_concepts = [list(names.get(concept, ()))[: None if all_names else 1] for concept in concepts]
    sources = _name_sources(projection, readers, of_file)
    of_names = [sources[concept, name] for concept, of in zip(concepts, names_of_concepts, strict=True) for name in of]
    name_members, name_sab_sets = _numbered([source.sabs for source in of_names])
    return GraphTables(
        cuis=identifier_array(concepts),
        children=np.array([place[child] for child, _ in edges], dtype=np.int32),
        parents=np.array([place[parent] for _, parent in edges], dtype=np.int32),
        sab_sets=sab_sets,
        sab_set_members=members,
        names=StringTable.of([name for of in names_of_concepts for name in of]),
        name_indptr=bounds_of([len(of) for of in names_of_concepts], np.int32),
        name_grades=np.array([source.grade for source in of_names], dtype=np.uint32),
        name_sab_sets=name_sab_sets.astype(np.uint32),
        name_sab_set_members=name_members,
        retired=RetiredTable.of([row for row in _retired(projection, chain(*of_file)) if row[0] not in place]),
    )


def _numbered(sets: Sequence[set[str]]) -> tuple[list[tuple[str, ...]], npt.NDArray[np.int32]]:
    """The distinct sets of vocabularies, sorted, and the number of each given one."""
    each = [tuple(sorted(sabs)) for sabs in sets]
    members = sorted(set(each))
    place = {member: i for i, member in enumerate(members)}
    return members, np.array([place[member] for member in each], dtype=np.int32)


@dataclass
class _NameSource:
    """Grade of a concept's name: 0 for the name of a term, 1 for an exact synonym; and the ontologies that give it."""

    grade: int = 1
    sabs: set[str] = field(default_factory=set)


def _name_sources(
    projection: _Projection, readers: Sequence[TermFile], of_file: Sequence[Sequence[Term]]
) -> Mapping[tuple[str, str], _NameSource]:
    """The source of each name, by concept and name."""
    found: dict[tuple[str, str], _NameSource] = defaultdict(_NameSource)
    for reader, terms in zip(readers, of_file, strict=True):
        for term in terms:
            for concept in () if term.obsolete else projection.of(term.id):
                for name in (term.name, *term.synonyms):
                    if name:
                        source = found[concept, name]
                        source.sabs.add(term.sab or reader.ontology)
                        if name == term.name:
                            source.grade = 0
    return found


def _retired(projection: _Projection, terms: Iterable[Term]) -> Iterator[tuple[str, str, str]]:
    """Alternative identifiers, and obsolete terms with their successors; empty where only CUIs are used."""
    if not projection.keeps_terms:
        return
    for term in terms:
        alternatives = [alternative for alternative in term.alternatives if alternative not in projection.terms]
        if not term.obsolete:
            for alternative in alternatives:
                yield from ((alternative, "SY", concept) for concept in projection.of(term.id))
            continue
        yield from ((alternative, "SY", term.id) for alternative in alternatives)
        successors = [
            (term.id, relation, concept)
            for relation, targets in (("SY", term.replaced_by), ("RO", term.consider))
            for target in targets
            for concept in (projection.of(target) or (target,))
            if concept != term.id
        ]
        yield from successors or [(term.id, "DEL", "")]


def _term_report(projection: _Projection, undefined: int) -> TermReport:
    cuis = [[cui for cui in projection.of(term) if is_identifier(cui, "cui")] for term in projection.terms]
    terms_of = Counter(cui for of in cuis for cui in of)
    return TermReport(
        terms=len(projection.terms),
        obsolete=len(projection.obsolete),
        without_cui=sum(not of for of in cuis),
        several_cuis=sum(len(of) > 1 for of in cuis),
        shared_cuis=sum(count > 1 for count in terms_of.values()),
        undefined_parents=undefined,
    )


def _warnings(projection: _Projection) -> list[str]:
    wrong = sorted({umls for term in projection.terms.values() for umls in term.umls if not is_identifier(umls, "cui")})
    if not wrong:
        return []
    return [f"{len(wrong):,} UMLS cross-references are no CUIs and were left out, e.g. {', '.join(wrong[:_SAMPLES])}"]
