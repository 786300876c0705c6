"""MRDEF to the definitions of concepts: which rows count, in which order, and what a snapshot keeps of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.graph import Definition
from cuihop_loader import LoadOptions, load
from cuihop_loader.loading import load_to
from loader.rrf_made import definition, isa, vocabulary, written
from program_run import Run

VEINS, VESSELS = "C0042449", "C0005847"
ROWS = [
    definition(VESSELS, "Any of the tubular vessels conveying the blood.", sab="MSH"),
    definition(VEINS, "Blut führende Gefäße", sab="MSHGER"),
    definition(VEINS, "Vessels that carry blood to the heart.", sab="NCI"),
    definition(VEINS, "Die Vene.", sab="UNTOLD"),
    definition(VEINS, "The vessels carrying blood away from the capillary beds.", sab="MSH"),
    definition(VEINS, "The vessels carrying blood away from the capillary beds.", sab="MSH"),
    definition(VEINS, "Obsolete.", sab="AOD", suppress="O"),
    definition(VEINS, "Edited out.", sab="AOD", suppress="E"),
    definition(VEINS, "Not to be shown.", sab="AOD", suppress="Y"),
    definition(VEINS, "", sab="AOD"),
    definition("C0000001", "Of a concept that is nowhere else.", sab="MSH"),
    definition("CL123456", "Of no CUI.", sab="MSH"),
]
SABS = [vocabulary("MSH", "1", "2026AA"), vocabulary("NCI", "1", "2026AA"), vocabulary("AOD", "1", "2026AA"),
        vocabulary("MSHGER", "1", "2026AA", lat="GER")]  # fmt: skip


def release(folder: Path, rows: list[str] = ROWS) -> Path:
    return written(folder, {"MRREL": [isa(VESSELS, VEINS)], "MRSAB": SABS, "MRDEF": rows})


def test_rows_that_are_active_and_in_a_language_asked_for_count_once(tmp_path: Path) -> None:
    loaded = load([release(tmp_path)])
    veins, vessels = SnapshotGraph(loaded.sections).concepts([VEINS, VESSELS])
    assert veins.definitions == (
        Definition("MSH", "The vessels carrying blood away from the capillary beds."),
        Definition("NCI", "Vessels that carry blood to the heart."),
        Definition("UNTOLD", "Die Vene."),  # no MRSAB row has its language
    )
    assert vessels.definitions == (Definition("MSH", "Any of the tubular vessels conveying the blood."),)
    assert loaded.report.definitions == 4
    report = next(file for file in loaded.report.files if file.role == "MRDEF")
    assert (report.rows, report.used) == (12, 4)
    assert list(report.skipped.items()) == [  # the most frequent first, then by the alphabet
        ("suppressed", 3),
        ("concept is in neither MRREL nor MRCONSO", 1),
        ("identifier is not a CUI", 1),
        ("no text", 1),
        ("other language", 1),
        ("same definition again", 1),
    ]


def test_suppressed_rows_and_other_languages_count_where_they_are_asked_for(tmp_path: Path) -> None:
    loaded = load([release(tmp_path)], LoadOptions(include_suppressed=True, languages=["ENG", "GER"]))
    veins = SnapshotGraph(loaded.sections).concepts([VEINS])[0]
    assert [d.sab for d in veins.definitions] == ["AOD", "AOD", "AOD", "MSH", "MSHGER", "NCI", "UNTOLD"]


def test_identifiers_that_are_not_cuis_have_definitions_where_they_are_kept(tmp_path: Path) -> None:
    files = {"MRREL": [isa("CL123456", VEINS)], "MRDEF": ROWS}
    loaded = load([written(tmp_path, files)], LoadOptions(identifiers="any"))
    assert SnapshotGraph(loaded.sections).concepts(["CL123456"])[0].definitions == (Definition("MSH", "Of no CUI."),)


def test_a_release_without_definitions_gives_the_sections_of_one_without_mrdef(tmp_path: Path) -> None:
    without = load([written(tmp_path / "without", {"MRREL": [isa(VESSELS, VEINS)]})]).sections
    empty = load([release(tmp_path / "empty", [])]).sections
    full = load([release(tmp_path / "full")]).sections
    assert set(empty) == set(without)
    assert set(full) - set(without) == {"definition_indptr", "definition_offsets", "definition_blob"}
    assert full.meta["release"]["digest"] == without.meta["release"]["digest"]
    assert SnapshotGraph(without).concepts([VEINS])[0].definitions == ()


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"MRDEF\.RRF.*line 2.*7 columns"):
        load([release(tmp_path, [ROWS[0], ROWS[1].removesuffix("|")[:-1] + "|"])])
    with pytest.raises(InputError, match=r"MRDEF\.RRF.*line 2, column CUI: not an identifier"):
        load([release(tmp_path, [ROWS[0], definition("C 1", "Of nothing.")])])


def test_the_command_prints_definitions_as_text_and_as_json(tmp_path: Path, program: Run) -> None:
    path = tmp_path / "graph.cuihop"
    load_to(path, [release(tmp_path / "release")])
    with SnapshotGraph.open(path) as graph:
        assert graph.verify() > 0
        assert len(graph.concepts([VEINS])[0].definitions) == 3
    printed = program("concept", VEINS, "--graph", path, "--json")
    definitions = json.loads(printed.out)["definitions"]
    assert definitions[1] == {"sab": "NCI", "text": "Vessels that carry blood to the heart."}
    assert "(NCI)" in program("concept", VEINS, "--graph", path).out


def test_definitions_can_be_left_out(tmp_path: Path) -> None:
    loaded = load([release(tmp_path)], LoadOptions(definitions=False))
    assert loaded.report.definitions == 0
    assert "MRDEF" not in {file.role for file in loaded.report.files}
