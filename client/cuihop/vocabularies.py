"""Vocabularies in the terms of others: prefixes of CURIEs, URIs, and the names of code systems in FHIR.

The table ``vocabularies.tsv`` beside this module says where each of its rows is from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

_OBO_PURL = re.compile(r"purl\.obolibrary\.org/obo/([A-Za-z]+)_([0-9A-Za-z]+)")
_SCHEME = re.compile(r"https?://")


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary.

    Attributes:
        sab: its name in the UMLS; empty where its codes are the identifiers of concepts themselves.
        prefix: of its CURIEs, as Bioregistry has it, in lower case; empty for none.
        code_prefix: with which each of its codes begins, though a CURIE and a URI leave it out, as ``HP:``.
        uris: what the URIs of its concepts begin with, the preferred one first.
        fhir_systems: URIs of the code system in FHIR, the canonical one first.
        source: where its row is from.
    """

    sab: str
    prefix: str
    code_prefix: str
    uris: tuple[str, ...]
    fhir_systems: tuple[str, ...]
    source: str

    def identifier(self, code: str) -> str:
        """The code as it is written in requests: ``SAB:CODE``, or the identifier of a concept.

        >>> by_system("http://snomed.info/sct").identifier("15926001")
        'SNOMEDCT_US:15926001'
        """
        code = code if code.startswith(self.code_prefix) else self.code_prefix + code
        return f"{self.sab}:{code}" if self.sab else code


@cache
def vocabularies() -> tuple[Vocabulary, ...]:
    """All of the table, read at the first call."""
    from importlib import resources

    text = resources.files("cuihop").joinpath("vocabularies.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return tuple(
        Vocabulary(sab, prefix, code_prefix, tuple(uris.split()), tuple(systems.split()), source)
        for sab, prefix, code_prefix, uris, systems, source in rows
    )


def by_system(uri: str) -> Vocabulary | None:
    """The vocabulary of a code system in FHIR; None for another URI.

    >>> by_system("http://loinc.org").sab
    'LNC'
    """
    return _systems().get(uri)


def read_code(text: str) -> str | None:
    """The ``SAB:CODE``, or the identifier of a concept, that a CURIE, a URI, or ``system|code`` of FHIR stands for.

    None for any other text, as for one that is such an identifier. A prefix is in lower case, but for ``UMLS:``.

    >>> [read_code(text) for text in ("snomedct:15926001", "umls:C0006121", "hp:0001250", "HP:0001250")]
    ['SNOMEDCT_US:15926001', 'C0006121', 'HPO:HP:0001250', None]
    >>> read_code("http://purl.obolibrary.org/obo/HP_0001250"), read_code("https://loinc.org/8480-6")
    ('HPO:HP:0001250', 'LNC:8480-6')
    >>> read_code("http://hl7.org/fhir/sid/icd-10-cm|G40.909")
    'ICD10CM:G40.909'
    """
    system, bar, code = text.rpartition("|")
    if bar:
        vocabulary = _systems().get(system)
    elif scheme := _SCHEME.match(text):
        address = text[scheme.end() :]
        uri = max(filter(address.startswith, _uris()), key=len, default="")
        vocabulary, code = _uris().get(uri), address[len(uri) :]
        if vocabulary is None and (purl := _OBO_PURL.fullmatch(address)):
            return f"{purl[1]}:{purl[2]}"
    else:
        prefix, _, code = text.partition(":")
        vocabulary = _prefixes().get("umls" if prefix == "UMLS" else prefix)
    return vocabulary.identifier(code) if vocabulary and code else None


@cache
def _prefixes() -> Mapping[str, Vocabulary]:
    return {each.prefix: each for each in vocabularies() if each.prefix}


@cache
def _systems() -> Mapping[str, Vocabulary]:
    return {system: each for each in vocabularies() for system in each.fhir_systems}


@cache
def _uris() -> Mapping[str, Vocabulary]:
    """Vocabularies by the beginning of their URIs, without ``http://`` or ``https://``."""
    return {_SCHEME.sub("", uri): each for each in vocabularies() for uri in each.uris}
