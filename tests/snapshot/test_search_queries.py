"""Queries of people, and the concept that they mean: on the open release, and on a small one with names it lacks."""

from __future__ import annotations

import pytest

from cuihop import SnapshotGraph
from neo4j_server import open_release

OPEN = [
    # text, preferred name of the first hit, kind of the match
    ("lung", "Lung", "exact"),
    ("lungs", "Lung", "form"),
    ("hearts", "Heart", "form"),
    ("brain stem", "Brain Stem", "exact"),
    ("stem brain", "Brain Stem", "form"),
    ("brain ste", "Brain Stem", "prefix"),
    ("leukaemia", "leukemia", "form"),
    ("leukaem", "leukemia", "form"),
    ("lukemia", "leukemia", "spelling"),
    ("oesophagus", "esophagus", "form"),
    ("haemorrhage", "Hemorrhage", "form"),
    ("hemorrage", "Hemorrhage", "spelling"),
    ("diarrhoea", "Diarrhea", "form"),
    ("oedema", "Edema", "form"),
    ("anaemia", "anemia", "form"),
    ("tumours of meninges", "tumor of meninges", "form"),
    ("alzheimers", "Alzheimer's disease", "form"),
    ("alzheimers disease", "Alzheimer's disease", "form"),
    ("alzheimer's disease", "Alzheimer's disease", "exact"),
    ("alzhiemer", "Alzheimer's disease", "spelling"),
    ("cancer of lung", "lung cancer", "form"),
    ("cancer of the lungs", "lung cancer", "form"),
    ("diseases of the kidneys", "kidney disease", "form"),
    ("xray", "Tomography, X-Ray Computed", "form"),
    ("x-ray", "Tomography, X-Ray Computed", "words"),
    ("x ray computed tomography", "Tomography, X-Ray Computed", "form"),
    ("brain-stem", "Brain Stem", "exact"),
    ("pnuemonia", "pneumonia", "spelling"),
    ("pneumonia", "pneumonia", "exact"),
    ("pneumonias", "pneumonia", "form"),
    ("bacterial pnuemonia", "bacterial pneumonia", "spelling"),
    ("diabetis", "diabetes mellitus", "spelling"),
    ("kidney stones", "Kidney", "part"),
    ("C0006121", "Brain Stem", "identifier"),
    ("c0006121", "Brain Stem", "identifier"),
]


@pytest.mark.parametrize(("text", "name", "kind"), OPEN, ids=[text for text, _, _ in OPEN])
def test_the_first_hit_on_the_open_release(text: str, name: str, kind: str) -> None:
    best = open_release().search(text, limit=1)[0]
    assert (best.name, best.kind) == (name, kind)


def test_the_bacterial_pneumonia_comes_before_that_of_calves() -> None:
    names = [hit.name for hit in open_release().search("pneumonia", limit=50)]
    assert names[:2] == ["pneumonia", "bacterial pneumonia"]
    assert names.index("bacterial pneumonia") < names.index("Pneumonia of Calves, Enzootic")


def test_a_word_that_no_name_is_near_finds_nothing() -> None:
    assert open_release().search("zzzzqq") == []


NAMES = {
    "C0027051": ["Myocardial Infarction", "Heart attack", "MI", "Myocardial infarct"],
    "C0026266": ["Mitral Valve Insufficiency", "Mitral regurgitation", "MI"],
    "C0026205": ["Miosis"],
    "C0022650": ["Kidney Calculi", "Kidney stone", "Nephrolith"],
    "C0019557": ["Hip Fractures", "Fracture of hip"],
    "C0015802": ["Femoral Fractures"],
    "C0040405": ["X-Ray Computed Tomography", "CT", "CAT scan"],
    "C0009244": ["Cognitive Therapy", "CT"],
    "C0043299": ["Diagnostic radiologic examination", "Plain x-ray"],
    "C0027651": ["Neoplasms", "Tumor", "Tumour"],
    "C0020538": ["Hypertensive disease", "High blood pressure"],
    "C0013604": ["Oedema"],
    "C0242379": ["Malignant neoplasm of lung", "Lung cancer", "Cancer of lung"],
    "C0035309": ["Retinal Diseases", "Diseases, Retinal"],
    "C0022346": ["Icterus", "Jaundice"],
    "C0018787": ["Heart", "Cardiac structure"],
    "C0155626": ["Acute myocardial infarction"],
}
EDGES = [("C0155626", "C0027051"), ("C0019557", "C0015802")]

SMALL = [
    ("mi", "C0027051", "exact"),  # the abbreviation of two: the one with more descendants
    ("MI", "C0027051", "exact"),
    ("heart attack", "C0027051", "exact"),
    ("heart attacks", "C0027051", "form"),
    ("hart attack", "C0027051", "spelling"),
    ("attack heart", "C0027051", "form"),
    ("kidney stones", "C0022650", "form"),
    ("kidny stones", "C0022650", "spelling"),
    ("stones in the kidneys", "C0022650", "form"),
    ("hip fracture", "C0019557", "form"),
    ("fracture of hip", "C0019557", "exact"),
    ("fractured hip", "C0019557", "spelling"),
    ("ct", "C0009244", "exact"),  # the abbreviation of two: the one of the lower identifier
    ("cat scans", "C0040405", "form"),
    ("xray", "C0040405", "form"),  # a preferred name before a synonym
    ("plain xrays", "C0043299", "form"),
    ("tumour", "C0027651", "exact"),
    ("tumors", "C0027651", "form"),
    ("edema", "C0013604", "form"),
    ("edem", "C0013604", "form"),
    ("high blood presure", "C0020538", "spelling"),
    ("retinal disease", "C0035309", "form"),
    ("jaundise", "C0022346", "spelling"),
    ("icteru", "C0022346", "prefix"),
    ("cancer lung", "C0242379", "form"),
    ("heart xyzzy", "C0018787", "part"),
]


@pytest.fixture(scope="module")
def small() -> SnapshotGraph:
    return SnapshotGraph.of(EDGES, names=NAMES, identifiers="cui")


@pytest.mark.parametrize(("text", "cui", "kind"), SMALL, ids=[text for text, _, _ in SMALL])
def test_the_first_hit_on_a_small_release(small: SnapshotGraph, text: str, cui: str, kind: str) -> None:
    best = small.search(text, limit=1)[0]
    assert (best.cui, best.kind) == (cui, kind)


def test_concepts_of_one_name_follow_one_another_in_the_order_of_their_identifiers() -> None:
    hits = open_release().search("brain stem cancer", limit=4)
    assert {hit.name for hit in hits} == {"brain stem cancer"}
    assert [hit.cui for hit in hits] == sorted(hit.cui for hit in hits)
