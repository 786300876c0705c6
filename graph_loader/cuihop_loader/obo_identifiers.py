"""Identifiers and annotations of OBO ontologies, as OWL, RDF and OBO Graph JSON write them."""

from __future__ import annotations

import re

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
