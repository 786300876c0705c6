"""Terms from annotations of classes and concepts, as OWL, RDFS, SKOS, Dublin Core and oboInOwl define them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cuihop_loader.obo_identifiers import (
    ALTERNATIVE,
    CONSIDER,
    CROSS_REFERENCE,
    EXACT_SYNONYM,
    REPLACED_BY,
    cui_of,
    short_identifier,
)
from cuihop_loader.terms import Term

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
        iri: of the term.
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
        """The statements of the term, one for each vocabulary, with names in these languages; then its children.

        Args:
            tags: as `language_tags` returns them.
            line: of the file; 0 where it is not known.
        """
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
