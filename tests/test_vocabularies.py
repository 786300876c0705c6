"""The table of vocabularies, and what it makes of a text."""

from __future__ import annotations

import pytest

from cuihop.identifiers import is_identifier
from cuihop.vocabularies import Vocabulary, by_system, read_code, vocabularies


def test_no_prefix_uri_or_system_is_of_two_vocabularies() -> None:
    for values in (
        [each.sab for each in vocabularies() if each.sab],
        [each.prefix for each in vocabularies() if each.prefix],
        [uri.partition("//")[2] for each in vocabularies() for uri in each.uris],
        [system for each in vocabularies() for system in each.fhir_systems],
    ):
        assert len(values) == len(set(values))


def test_each_row_has_a_source_and_a_use() -> None:
    for each in vocabularies():
        assert each.source
        assert each.prefix == each.prefix.lower()
        assert each.prefix or each.fhir_systems


@pytest.mark.parametrize("vocabulary", vocabularies(), ids=lambda each: each.prefix or each.sab)
def test_each_form_of_a_code_is_read(vocabulary: Vocabulary) -> None:
    code = "C0006121" if vocabulary.prefix == "umls" else "0012345"
    expected = vocabulary.identifier(code)
    assert is_identifier(expected, "any")
    assert read_code(expected) is None
    if vocabulary.prefix:
        assert read_code(f"{vocabulary.prefix}:{code}") == expected
    for uri in vocabulary.uris:
        assert read_code(uri + code) == expected
        assert read_code(uri) is None
    for system in vocabulary.fhir_systems:
        assert by_system(system) is vocabulary
        assert read_code(f"{system}|{vocabulary.code_prefix}{code}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UMLS:C0006121", "C0006121"),
        ("hp:HP:0001250", "HPO:HP:0001250"),  # the prefix twice, as some write it
        ("http://www.genenames.org|HGNC:1100", "HGNC:HGNC:1100"),
        ("https://purl.obolibrary.org/obo/HP_0001250", "HPO:HP:0001250"),  # either scheme
        ("http://loinc.org/rdf/8480-6", "LNC:8480-6"),  # the longer of two URIs
        ("http://purl.obolibrary.org/obo/PATO_0000001", "PATO:0000001"),  # of any other ontology
    ],
)
def test_other_forms_are_read(text: str, expected: str) -> None:
    assert read_code(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "C0006121", "SNOMEDCT_US:15926001", "HP:0001250", "Snomedct:15926001", "snomedct:", "snomed:15926001",
        "http://example.org/15926001", "http://purl.obolibrary.org/obo/hp.owl", "http://snomed.info/sct",
        "http://snomed.info/sct|", "http://snomed.info/sct|2026|15926001", "15926001", "|15926001", ":15926001",
    ],
)  # fmt: skip
def test_other_texts_are_none(text: str) -> None:
    assert read_code(text) is None
