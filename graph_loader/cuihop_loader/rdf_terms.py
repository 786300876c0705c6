"""RDF in Turtle, N-Triples and RDF/XML: concepts of SKOS, and classes of RDFS and OWL.

A child is the subject of ``skos:broader`` or ``rdfs:subClassOf``, or the object of ``skos:narrower``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import pyoxigraph

from cuihop.errors import InputError
from cuihop_loader.annotated_terms import (
    EQUIVALENCE,
    IMPORTS,
    OWL,
    OWL_THING,
    RDFS,
    SKOS,
    UNNAMED,
    AnnotatedTerm,
    language_tags,
    ontology_name,
    short_identifier,
    version_name,
)
from cuihop_loader.sources import SourceFile
from cuihop_loader.streams import BLOCK_BYTES
from cuihop_loader.term_files import Term, TermFile, TermReading
from cuihop_loader.xml_elements import CheckedXml

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_CLASSES = frozenset({f"{OWL}Class", f"{RDFS}Class", f"{SKOS}Concept"})
_HEADERS = frozenset({f"{OWL}Ontology", f"{SKOS}ConceptScheme"})
_INDIVIDUAL = f"{OWL}NamedIndividual"  # a concept may be one, too
_PARENT = frozenset({f"{SKOS}broader", f"{RDFS}subClassOf"})
_NARROWER, _IN_SCHEME, _EQUIVALENT = f"{SKOS}narrower", f"{SKOS}inScheme", f"{OWL}equivalentClass"
_VERSION_IRI, _VERSION = f"{OWL}versionIRI", f"{OWL}versionInfo"
_THING = f"{OWL}Thing"

_XML = re.compile(rb"\s*<(\?xml|!|[A-Za-z_][\w.-]*(:[\w.-]+)?[\s>])")
_TURTLE_NAME = re.compile(r".+\.(ttl|nt)(\.gz|\.zst)?", re.IGNORECASE)


class RdfFile(TermFile):
    """A file of RDF, read as a stream of triples.

    Superclasses without a name (restrictions), equivalences and owl:Thing are counted as left out.
    """

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        self._tags = language_tags(reading.languages)
        self._classes: set[str] = set()
        self._waiting: list[AnnotatedTerm] = []  # of which no type or parent is known yet
        self._retired: dict[str, AnnotatedTerm] = {}
        self._headers: dict[str, dict[str, str]] = {}

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        with self.opened() as source:
            subject: AnnotatedTerm | None = None
            for triple in self._triples(source):
                iri = getattr(triple.subject, "value", "")
                if type(triple.subject).__name__ != "NamedNode":
                    continue
                if subject is None or subject.iri != iri:
                    yield from self._finished(subject)
                    subject = AnnotatedTerm(iri)
                self._add(subject, triple)
            yield from self._finished(subject)
        for waiting in [*self._waiting, *self._retired.values()]:
            if waiting.iri in self._classes:
                yield from waiting.terms(self._tags, 0)
        self._read_header()
        if not self._classes:
            raise self.lacks("terms", "concepts of SKOS, or classes of RDFS or OWL", f"{self.lines:,} lines")

    def _triples(self, source: BinaryIO) -> Iterator[Any]:
        name = self.file.parts[0].path.name
        beginning = cast(io.BufferedReader, source).peek(1 << 12)
        is_xml = not _TURTLE_NAME.fullmatch(name) and _XML.match(beginning)
        if is_xml:
            source = cast(BinaryIO, io.BufferedReader(CheckedXml(source, str(self.file)), BLOCK_BYTES))
        syntax = pyoxigraph.RdfFormat.RDF_XML if is_xml else pyoxigraph.RdfFormat.TURTLE
        try:
            yield from pyoxigraph.parse(source, format=syntax, base_iri=f"file:{name}")
        except SyntaxError as error:
            raise InputError(
                f"not {'RDF/XML' if is_xml else 'Turtle or N-Triples'}", file=str(self.file), line=error.lineno,
                column=error.offset, found=re.sub(r"^Parser error at [^:]*: ", "", error.msg), expected="whole triples",
            ) from None  # fmt: skip
        except MemoryError as error:
            if "buffer" not in str(error):
                raise
            raise InputError(
                "a text without end", file=str(self.file), line=self.lines + 1, found="more than 16,777,216 bytes",
                expected="shorter IRIs, literals and comments",
                advice="Is a quotation mark missing? A definition of this size is no part of a graph: remove it",
            ) from None  # fmt: skip

    def _add(self, subject: AnnotatedTerm, triple: Any) -> None:
        predicate, value = triple.predicate.value, triple.object
        kind = type(value).__name__
        if predicate == _TYPE:
            of_type = getattr(value, "value", "")
            if of_type in _CLASSES:
                subject.is_class = True
            elif of_type != _INDIVIDUAL:
                subject.is_other = True
                if of_type in _HEADERS:
                    self._headers.setdefault(subject.iri, {})[_TYPE] = of_type
        elif predicate in _PARENT:
            if kind != "NamedNode":
                self.skipped[UNNAMED] += 1
            elif value.value == _THING:
                self.skipped[OWL_THING] += 1
            else:
                subject.parents.append(short_identifier(value.value))
        elif predicate == _EQUIVALENT:
            self.skipped[EQUIVALENCE] += 1
        elif predicate == _NARROWER and kind == "NamedNode":
            subject.children.append(short_identifier(value.value))
        elif predicate == _IN_SCHEME and kind == "NamedNode":
            subject.schemes.append(value.value)
        elif predicate in (_VERSION, _VERSION_IRI) and kind != "BlankNode":
            self._headers.setdefault(subject.iri, {})[predicate] = value.value
        elif predicate == IMPORTS and kind == "NamedNode":
            self.imports.append(value.value)
        elif kind != "BlankNode":
            subject.annotate(predicate, value.value, getattr(value, "language", None))

    def _finished(self, subject: AnnotatedTerm | None) -> Iterator[Term]:
        """The statements of a subject whose triples are complete; nothing for one that is no class or concept."""
        if subject is None or subject.iri == _THING:
            return
        is_class = subject.is_class or bool(subject.parents or subject.children)
        if is_class:
            self._classes.add(subject.iri)
        if subject.obsolete or subject.replaced_by or subject.consider:
            # A deprecation and the successor may stand apart.
            self._retired.setdefault(subject.iri, subject).join(subject)
        elif is_class:
            yield from subject.terms(self._tags, 0)
        elif not subject.is_other:
            self._waiting.append(subject)

    def _read_header(self) -> None:
        """Name and version of the ontology, or of the one concept scheme."""
        ontologies = [iri for iri, of in self._headers.items() if of.get(_TYPE) == f"{OWL}Ontology"]
        self.imports = [iri for iri in self.imports if iri not in ontologies]  # several ontologies may share a file
        schemes = [iri for iri, of in self._headers.items() if of.get(_TYPE) == f"{SKOS}ConceptScheme"]
        if not ontologies and len(schemes) != 1:
            return
        iri = (ontologies or schemes)[0]
        self.ontology = ontology_name(iri)
        version = self._headers[iri].get(_VERSION_IRI) or self._headers[iri].get(_VERSION)
        self.version = version_name(version) if version else None
