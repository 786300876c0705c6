"""Terms from annotations of classes and concepts, as OWL, RDFS, SKOS, Dublin Core and oboInOwl define them.

Identifiers of OBO ontologies are those of OBO files, in whichever format they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cuihop_loader.term_files import Term

_OBO = "http://purl.obolibrary.org/obo/"
_OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"

REPLACED_BY = f"{_OBO}IAO_0100001"
ALTERNATIVE = f"{_OBO_IN_OWL}hasAlternativeId"
CONSIDER = f"{_OBO_IN_OWL}consider"
CROSS_REFERENCE = f"{_OBO_IN_OWL}hasDbXref"
EXACT_SYNONYM = f"{_OBO_IN_OWL}hasExactSynonym"

_TERM = re.compile(rf"{re.escape(_OBO)}([A-Za-z]+(?:_[A-Za-z]+)*)_([0-9]+)")
_UMLS = frozenset({"umls", "umls_cui"})


def short_identifier(iri: str) -> str:
    """The identifier of an OBO term as OBO files write it; every other IRI as it is.

    OBO Foundry, Identifier Policy: the IRI is the base, the prefix of the ontology, an underscore, and digits.

    >>> short_identifier("http://purl.obolibrary.org/obo/HP_0001250")
    'HP:0001250'
    >>> short_identifier("http://example.org/HP_0001250")
    'http://example.org/HP_0001250'
    """
    match = _TERM.fullmatch(iri)
    return f"{match[1]}:{match[2]}" if match else iri


def cui_of(reference: str) -> str | None:
    """The CUI of a cross-reference to UMLS; ``None`` for one to another vocabulary.

    >>> cui_of("UMLS:C0018787"), cui_of("MESH:D006321")
    ('C0018787', None)
    """
    prefix, _, local = reference.partition(":")
    return local if prefix.lower() in _UMLS else None


def ontology_name(iri: str) -> str:
    """The name of an ontology, in capitals, as the ``ontology`` of an OBO file; any other IRI as it is.

    >>> ontology_name("http://purl.obolibrary.org/obo/envo.owl")
    'ENVO'
    """
    if not iri.startswith(_OBO):
        return iri
    return iri.removeprefix(_OBO).removesuffix(".owl").removesuffix(".obo").removesuffix(".json").upper()


def version_name(iri: str) -> str:
    """The version in the IRI of a version, as the ``data-version`` of an OBO file; any other text as it is.

    >>> version_name("http://purl.obolibrary.org/obo/envo/releases/2025-10-20/envo.owl")
    'releases/2025-10-20'
    """
    local = iri.removeprefix(_OBO)
    match = re.fullmatch(r"([^/]+)/(.+)/\1\.(?:owl|json)", local)
    return match[2] if match and local != iri else local


OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"

IMPORTS = f"{OWL}imports"

UNNAMED, EQUIVALENCE, OWL_THING = "superclass without a name", "equivalent class", "owl:Thing as superclass"
"""Reasons for which statements are left out."""

_PREFERRED = (f"{SKOS}prefLabel", f"{RDFS}label")
_SYNONYMS = frozenset({f"{SKOS}altLabel", EXACT_SYNONYM})
_DEPRECATED = f"{OWL}deprecated"
_SUCCESSORS = frozenset({REPLACED_BY, "http://purl.org/dc/terms/isReplacedBy"})
_TRUE = frozenset({"true", "1"})
_UNTAGGED = ""

_TAGS = {
    "BAQ": "eu", "CHI": "zh", "CZE": "cs", "DAN": "da", "DUT": "nl", "ENG": "en", "EST": "et", "FIN": "fi",
    "FRE": "fr", "GER": "de", "GRE": "el", "HEB": "he", "HUN": "hu", "ITA": "it", "JPN": "ja", "KOR": "ko",
    "LAV": "lv", "NOR": "no", "POL": "pl", "POR": "pt", "RUS": "ru", "SCR": "hr", "SPA": "es", "SWE": "sv",
    "TUR": "tr", "UKR": "uk",
}  # fmt: skip
"""Languages as UMLS abbreviates them (LAT), and the tags of ISO 639-1 that RDF and OWL use."""


def language_tags(languages: Sequence[str]) -> list[str]:
    """Tags of the languages, preferred ones first; texts without a tag come last.

    >>> language_tags(["FRE", "en"])
    ['fr', 'en', '']
    """
    return [*dict.fromkeys(_TAGS.get(language.upper(), language.lower()) for language in languages), _UNTAGGED]


@dataclass(slots=True)
class AnnotatedTerm:
    """Annotations of one IRI, collected until the term is complete.

    Attributes:
        is_class: true for a class or concept; is_other: for a property, an individual and the like.
        labels, synonyms: by language tag, without the region.
        parents, children, replaced_by, alternatives, consider: identifiers.
        schemes: vocabularies that it belongs to.
    """

    iri: str
    is_class: bool = False
    is_other: bool = False
    obsolete: bool = False
    labels: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    synonyms: dict[str, list[str]] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    replaced_by: list[str] = field(default_factory=list)
    consider: list[str] = field(default_factory=list)
    umls: list[str] = field(default_factory=list)
    schemes: list[str] = field(default_factory=list)

    def annotate(self, predicate: str, value: str, language: str | None = None) -> None:
        """Add one annotation, a text or an IRI; those that do not concern the graph are left out."""
        tag = (language or "").partition("-")[0].lower()
        if predicate in _PREFERRED:
            self.labels.setdefault((_PREFERRED.index(predicate), tag), []).append(value)
        elif predicate in _SYNONYMS:
            self.synonyms.setdefault(tag, []).append(value)
        elif predicate == _DEPRECATED:
            self.obsolete = value.strip().lower() in _TRUE
        elif predicate in _SUCCESSORS:
            self.replaced_by.append(short_identifier(value))
        elif predicate == ALTERNATIVE:
            self.alternatives.append(short_identifier(value))
        elif predicate == CONSIDER:
            self.consider.append(short_identifier(value))
        elif predicate == CROSS_REFERENCE and (cui := cui_of(value)):
            self.umls.append(cui)

    def join(self, later: AnnotatedTerm) -> None:
        """Add the annotations of the same IRI from elsewhere in the file."""
        if later is self:
            return
        self.is_class |= later.is_class
        self.obsolete |= later.obsolete
        for key, texts in later.labels.items():
            self.labels.setdefault(key, []).extend(texts)
        for tag, texts in later.synonyms.items():
            self.synonyms.setdefault(tag, []).extend(texts)
        for name in ("parents", "children", "alternatives", "replaced_by", "consider", "umls", "schemes"):
            getattr(self, name).extend(getattr(later, name))

    def terms(self, tags: Sequence[str], line: int) -> Iterator[Term]:
        """The statements of the term, one for each vocabulary, named in these `language_tags`; then its children."""
        preferred = [
            text for tag in tags for kind in range(len(_PREFERRED)) for text in self.labels.get((kind, tag), ())
        ]
        names = [*preferred, *(text for tag in tags for text in self.synonyms.get(tag, ()))]
        identifier = short_identifier(self.iri)
        for sab in self.schemes or (None,):
            yield Term(
                identifier, line, names[0] if preferred else None, names[1:] if preferred else names,
                self.parents, alternatives=self.alternatives, replaced_by=self.replaced_by, consider=self.consider,
                umls=self.umls, obsolete=self.obsolete, sab=sab, defined=self.is_class,
            )  # fmt: skip
            for child in () if self.obsolete else self.children:
                yield Term(child, line, parents=[identifier], sab=sab, defined=False)
