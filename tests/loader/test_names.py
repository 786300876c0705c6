"""MRCONSO and MRSTY: preferred names, synonyms, languages, semantic types."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import LimitExceeded
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop_loader import LoadOptions, concept_names, load
from loader.rrf_made import (
    concepts,
    grades_of_names,
    isa,
    name,
    sabs_of_names,
    semantic_type,
    vocabulary,
    written,
)

EDGE = [isa("C0000001", "C0000002")]
RANKS = ["0003|MSH|MH|N|", "0002|SRC|PT|N|", "0001|SRC|SY|N|", "0009|SRC|PT|O|"]


def names(folder: Path, options: LoadOptions | None = None) -> list[str]:
    concept = SnapshotGraph(load([folder], options or LoadOptions()).sections).concepts(["C0000001"])[0]
    return [text for text in (concept.name, *concept.synonyms) if text is not None]


def test_names_come_by_rank(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "unranked", tty="XX"),
        name("C0000001", "synonym", tty="SY"),
        name("C0000001", "term"),
        name("C0000001", "heading", sab="MSH", tty="MH", ts="S", stt="VO", ispref="N"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": RANKS})
    assert names(folder) == ["heading", "term", "synonym", "unranked"]
    assert names(folder, LoadOptions(synonyms=False)) == ["heading"]


def test_without_ranks_ts_stt_and_ispref_decide(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "d", ts="S"),
        name("C0000001", "c and b", stt="VO", ispref="N"),
        name("C0000001", "c", stt="VO"),
        name("C0000001", "b", ispref="N"),
        name("C0000001", "a"),
    ]
    assert names(written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})) == ["a", "b", "c", "c and b", "d"]


def test_a_term_type_has_a_rank_for_each_value_of_suppress(tmp_path: Path) -> None:
    values = ("Y", "E", "O")
    ranks = [f"{rank:04d}|SRC|PT|{value}|" for rank, value in enumerate(values, start=1)]
    rows = [name("C0000001", value, suppress=value) for value in values]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": ranks})
    assert names(folder, LoadOptions(include_suppressed=True)) == ["O", "E", "Y"]


def test_names_of_equal_rank_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [name("C0000001", text) for text in ("m", "z", "a")]
    assert names(written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": RANKS})) == ["m", "z", "a"]


def test_a_name_given_by_several_vocabularies_is_told_once(tmp_path: Path) -> None:
    rows = [name("C0000001", text, sab=sab) for sab in ("A", "B") for text in ("Heart", "heart", "Heart ")]
    loaded = load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})])
    assert loaded.report.names == 3
    assert loaded.report.files[1].skipped == {"same name again": 3}


def test_many_names_of_one_concept_that_stand_apart(tmp_path: Path) -> None:
    rows = []
    for i in range(500):
        rows.append(name("C0000001", f"name {i % 400}"))
        rows.append(name("C0000002", f"other {i}"))
    assert names(written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})) == [f"name {i}" for i in range(400)]


def test_suppressed_names_serve_only_where_there_is_no_other(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "obsolete but ranked first", suppress="O"),
        name("C0000001", "active"),
        name("C0000002", "worse", suppress="Y", tty="SY"),
        name("C0000002", "better", suppress="O"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": RANKS})
    loaded = load([folder])
    assert SnapshotGraph(loaded.sections).names(["C0000001", "C0000002"]) == ["active", "better"]
    assert loaded.report.files[1].skipped == {"suppressed": 2}
    everything = LoadOptions(include_suppressed=True)
    assert names(folder, everything) == ["obsolete but ranked first", "active"]


def test_every_name_is_kept_where_suppressed_ones_are(tmp_path: Path) -> None:
    rows = [name("C0000001", text, **fields) for text, fields in {
        "best": {}, "not preferred": {"ispref": "N"}, "variant": {"stt": "VO"}, "other term": {"ts": "S"},
        "obsolete": {"suppress": "O"},
    }.items()]  # fmt: skip
    loaded = load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})], LoadOptions(include_suppressed=True))
    (concept,) = SnapshotGraph(loaded.sections).concepts(["C0000001"])
    assert {concept.name, *concept.synonyms} == {"best", "not preferred", "variant", "other term", "obsolete"}


def test_the_first_language_that_has_a_name_gives_it(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "heart"),
        name("C0000001", "cœur", lat="FRE", ts="S"),
        name("C0000001", "corazón", lat="SPA"),
        name("C0000002", "vein"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})
    assert names(folder) == ["heart"]
    french = LoadOptions(languages=["FRE", "ENG"])
    assert names(folder, french) == ["cœur", "heart"]
    assert SnapshotGraph(load([folder], french).sections).names(["C0000002"]) == ["vein"]


def test_a_concept_without_a_name_in_the_language_is_known_and_counted(tmp_path: Path) -> None:
    rows = [name("C0000003", "corazón", lat="SPA"), name("C0000001", "")]
    loaded = load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})])
    assert concepts(loaded) == {"C0000001", "C0000002", "C0000003"}
    assert (loaded.report.nameless, loaded.report.names, loaded.report.isolated) == (3, 0, 1)
    assert SnapshotGraph(loaded.sections).names(["C0000003"]) == [None]
    assert loaded.report.files[1].skipped == {"no text": 1, "other language": 1}


@pytest.mark.parametrize("text", ['3" nail', '"unbalanced', "tab\there", "a\\b", "back`tick", "𝔘nicode", "a  b "])
def test_any_text_is_a_name(tmp_path: Path, text: str) -> None:
    assert names(written(tmp_path, {"MRREL": EDGE, "MRCONSO": [name("C0000001", text)]})) == [text]


def test_semantic_types_come_in_the_order_of_their_identifiers(tmp_path: Path) -> None:
    rows = [
        semantic_type("C0000001", "T121", "Pharmacologic Substance"),
        semantic_type("C0000001", "T116", "Amino Acid, Peptide, or Protein"),
        semantic_type("C0000001", "T116", "Amino Acid, Peptide, or Protein"),
        semantic_type("C0000009", "T047", "Disease or Syndrome"),
    ]
    loaded = load([written(tmp_path, {"MRREL": EDGE, "MRSTY": rows})])
    concept = SnapshotGraph(loaded.sections).concepts(["C0000001"])[0]
    assert concept.semantic_types == (
        ("T116", "Amino Acid, Peptide, or Protein"), ("T121", "Pharmacologic Substance"),
    )  # fmt: skip
    assert loaded.report.files[1].skipped == {"concept is in neither MRREL nor MRCONSO": 1, "same type again": 1}
    assert loaded.report.semantic_types == 2


def test_mrsab_tells_the_release_and_the_versions(tmp_path: Path) -> None:
    rows = [
        vocabulary("SRC", "2025", "2025AA"),
        vocabulary("MTH", "", "2025AB"),
        vocabulary("SRC", "2031", "2031AA", current="N"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRSAB": rows})
    loaded = load([folder])
    assert loaded.report.release == "2025AB"
    assert loaded.report.sabs["SRC"].version == "2025"
    assert load([folder], LoadOptions(release="ours")).report.release == "ours"
    assert load([folder / "MRREL.RRF"]).report.release == "unversioned"


def test_a_name_has_the_vocabularies_of_all_its_rows(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "heart", sab="A"),
        name("C0000001", "cor", sab="B"),
        name("C0000002", "vein", sab="C"),
        name("C0000001", "heart", sab="B", ts="S"),
        name("C0000001", "heart", sab="D", suppress="Y"),
        name("C0000002", "vein", sab="A"),
        name("C0000002", "vein", sab="C", stt="VO"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})
    heart, cor, vein = ("C0000001", "heart"), ("C0000001", "cor"), ("C0000002", "vein")
    assert sabs_of_names(load([folder])) == {heart: {"A", "B"}, cor: {"B"}, vein: {"A", "C"}}
    everything = load([folder], LoadOptions(include_suppressed=True))
    assert sabs_of_names(everything) == {heart: {"A", "B", "D"}, cor: {"B"}, vein: {"A", "C"}}
    best = load([folder], LoadOptions(synonyms=False))
    assert sabs_of_names(best) == {heart: {"A"}, vein: {"C"}}
    assert load([folder / "MRREL.RRF"]).sections.meta.get("name_sabs") is None


def test_very_many_vocabularies_in_very_many_sets(tmp_path: Path) -> None:
    """More sets than there is room for at first, in an order that makes some of them in several ways."""
    given: dict[tuple[str, str], set[str]] = {}
    rows = []
    for i in range(3000):
        cui, sab = f"C{i % 700 + 1:07d}", f"S{i * 7919 % 97}"
        rows.append(name(cui, "name", sab=sab))
        given.setdefault((cui, "name"), set()).add(sab)
    assert sabs_of_names(load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})])) == given


def test_a_name_of_many_vocabularies_has_each_once(tmp_path: Path) -> None:
    """More than are searched for one that is known, each in several rows."""
    rows = [name("C0000001", "heart", sab=f"S{i * 37 % 200}") for i in range(700)]
    rows += [name("C0000001", "vein", sab=f"S{i}") for i in range(200)]
    loaded = load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})])
    assert list(sabs_of_names(loaded).values()) == [{f"S{i}" for i in range(200)}] * 2
    assert loaded.sections["name_sab_sets"].tolist() == [0, 0]


def test_more_vocabularies_than_have_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_names, "_MOST_SABS", 2)
    rows = [name("C0000001", "heart", sab=sab) for sab in "ABA"]
    assert load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})]).report.names == 1
    with pytest.raises(LimitExceeded, match=r"more than 2 vocabularies \(SAB\) in MRCONSO"):
        load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": [*rows, name("C0000001", "cor", sab="C")]})])


@pytest.mark.slow
def test_65_536_vocabularies_have_numbers_and_no_more(tmp_path: Path) -> None:
    rows = [name("C0000001", f"heart {n}", sab=f"S{n % 65_536}") for n in range(65_537)]
    assert load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows})]).report.names == 65_537
    with pytest.raises(LimitExceeded, match=r"more than 65,536 vocabularies \(SAB\) in MRCONSO"):
        load([written(tmp_path, {"MRREL": EDGE, "MRCONSO": [*rows, name("C0000001", "cor", sab="C")]})])


def test_suppressed_names_are_marked_and_grades_compare_names_of_all_concepts(tmp_path: Path) -> None:
    rows = [
        name("C0000001", "heading", sab="MSH", tty="MH"),
        name("C0000001", "synonym", tty="SY"),
        name("C0000002", "term"),
        name("C0000003", "obsolete but ranked first", suppress="O"),
        name("C0000004", "obsolete here", suppress="O"),
        name("C0000004", "obsolete here", tty="SY"),
        name("C0000004", "obsolete", suppress="O", tty="SY"),
    ]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": rows, "MRRANK": RANKS})
    for options in (LoadOptions(), LoadOptions(include_suppressed=True)):
        grades = {text: grade for (_, text), grade in grades_of_names(load([folder], options)).items()}
        assert grades["heading"] < grades["term"] < grades["synonym"] == grades["obsolete here"]
        marked = {text for text in grades if grades[text] & SUPPRESSED_NAME}
        assert marked == {"obsolete but ranked first"} | ({"obsolete"} if options.include_suppressed else set())
        assert min(grades[text] for text in marked) > grades["synonym"]
