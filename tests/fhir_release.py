"""A release with codes and hierarchies of several vocabularies, small enough to check by eye.

::

    C0000001 disorder
     ├─ C0000002 heart disease ── C0000003 myocardial infarction (also in MSH)    C0000006 ⇄ C0000007 (NCI)
     │   └─ C0000005 old thing (NCI only)
     └─ C0000004 fracture

ICD10CM has codes and no is_a edge, CVX neither. `simple` is the code system of the case ``simple-lookup-1`` of the
FHIR Terminology Ecosystem Implementation Guide, with the codes in the place of those of SNOMED CT.
"""

from __future__ import annotations

from pathlib import Path

from cuihop import SnapshotGraph
from cuihop_loader import LoadOptions, load
from loader.rrf_made import definition, isa, retired, semantic_type, written

EDGES = [
    ("C0000001", "C0000002", "SNOMEDCT_US"),
    ("C0000002", "C0000003", "SNOMEDCT_US"),
    ("C0000002", "C0000003", "MSH"),
    ("C0000001", "C0000004", "SNOMEDCT_US"),
    ("C0000002", "C0000005", "NCI"),
    ("C0000006", "C0000007", "NCI"),
    ("C0000007", "C0000006", "NCI"),
]
"""Parent, child and vocabulary."""

CODES = [
    ("C0000001", "SNOMEDCT_US", "100", "Disorder", "N"),
    ("C0000002", "SNOMEDCT_US", "200", "Heart disease", "N"),
    ("C0000002", "NCI", "C2", "Cardiac disease", "N"),
    ("C0000002", "MSH", "D1", "Heart diseases", "N"),
    ("C0000003", "SNOMEDCT_US", "300", "Myocardial infarction", "N"),
    ("C0000003", "SNOMEDCT_US", "301", "Heart attack", "N"),
    ("C0000003", "MSH", "D1", "Infarct of heart", "N"),
    ("C0000003", "MSH", "D3", "MI", "N"),
    ("C0000003", "ICD10CM", "I21", "Acute MI", "N"),
    ("C0000003", "ICD10CM", "I21.9", "Acute MI, unspecified", "N"),
    ("C0000004", "SNOMEDCT_US", "400", "Fracture", "N"),
    ("C0000004", "MSH", "D4", "Fractures", "N"),
    ("C0000004", "ICD10CM", "T14", "Injury", "N"),
    ("C0000005", "SNOMEDCT_US", "500", "Old thing", "O"),
    ("C0000005", "NCI", "C5", "Old thing", "N"),
    ("C0000006", "NCI", "C6", "Here", "N"),
    ("C0000007", "NCI", "C7", "There", "N"),
    ("C0000007", "LOCAL", "7", "There", "N"),
]
"""Concept, vocabulary, code, name and SUPPRESS."""

_SIMPLE = {"code1": "", "code2": "", "code2a": "code2", "code2aI": "code2a", "code2aII": "code2a", "code2b": "code2"}


def _named(number: int, cui: str, sab: str, code: str, text: str, suppress: str) -> str:
    """A row of MRCONSO; the first of a concept is the preferred one."""
    return f"{cui}|ENG|P|L{number}|PF|S{number}|Y|A{number}||||{sab}|PT|{code}|{text}|0|{suppress}||"


def fhir_release(folder: Path) -> SnapshotGraph:
    """The graph above."""
    files = {
        "MRREL": [isa(parent, child, sab=sab) for parent, child, sab in EDGES],
        "MRCONSO": [_named(number, *row) for number, row in enumerate(CODES)],
        "MRSTY": [semantic_type("C0000003", "T047", "Disease or Syndrome")],
        "MRDEF": [definition("C0000003", "Death of heart muscle.", sab="NCI")],
        "MRCUI": [retired("C0000009", "SY", "C0000003"), retired("C0000010", "RB", "C0000002")],
    }
    return SnapshotGraph(load([written(folder / "release", files)], LoadOptions(release="2026AA")).sections)


def simple(folder: Path) -> SnapshotGraph:
    """The code system of the guide."""
    cuis = {code: f"C000000{number}" for number, code in enumerate(_SIMPLE, 1)}
    sab = "SNOMEDCT_US"
    names = {code: f"Display {code.removeprefix('code')}" for code in _SIMPLE}
    old = _named(99, cuis["code2a"], sab, "code2a", "mine own first code yond's issue of the second code", "N")
    files = {
        "MRREL": [isa(cuis[parent], cuis[code], sab=sab) for code, parent in _SIMPLE.items() if parent],
        "MRCONSO": [*(_named(n, cuis[c], sab, c, names[c], "N") for n, c in enumerate(_SIMPLE)), old],
        "MRDEF": [definition(cuis["code2a"], "My first second level code", sab=sab)],
    }
    return SnapshotGraph(load([written(folder / "simple", files)], LoadOptions(release="0.1.0")).sections)
