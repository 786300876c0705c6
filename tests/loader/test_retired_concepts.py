"""MRCUI, MERGEDCUI and DELETEDCUI."""

from __future__ import annotations

from pathlib import Path

from cuihop import SnapshotGraph
from cuihop_loader import LoadOptions, load
from loader.rrf_made import isa, name, retired, written

EDGE = [isa("C0000001", "C0000002")]


def test_what_became_of_a_retired_concept(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        {
            "MRREL": EDGE,
            "MRCUI": [
                retired("C0000011", "SY", "C0000001"),
                retired("C0000012", "RB", "C0000002"),
                retired("C0000012", "RN", "C0000001"),
                retired("C0000013", "DEL"),
                retired("C0000014", "SUBX"),
            ],
            "MERGEDCUI": ["C0000015|C0000011|", "C0000016|CL1|"],
            "DELETEDCUI": ["C0000017|a text|"],
        },
    )
    loaded = load([folder])
    graph = SnapshotGraph(loaded.sections)
    found = {r.requested: (r.status, r.cui, r.candidates) for r in graph.resolve([f"C00000{i}" for i in range(11, 18)])}
    assert found == {
        "C0000011": ("merged", "C0000001", ()),
        "C0000012": ("retired", None, (("RB", "C0000002"), ("RN", "C0000001"))),
        "C0000013": ("retired", None, ()),
        "C0000014": ("unknown", None, ()),
        "C0000015": ("merged", "C0000001", ()),
        "C0000016": ("unknown", None, (("SY", "CL1"),)),
        "C0000017": ("retired", None, ()),
    }
    assert loaded.report.retired.concepts == 6
    assert dict(loaded.report.retired.statements) == {"SY": 3, "RB": 1, "RN": 1, "DEL": 2}
    assert loaded.report.files[1].skipped == {"not in this subset": 1}


def test_a_concept_that_the_release_has_is_not_retired(tmp_path: Path) -> None:
    rows = [retired("C0000001", "SY", "C0000002"), retired("C0000003", "DEL"), retired("C0000004", "DEL")]
    folder = written(tmp_path, {"MRREL": EDGE, "MRCONSO": [name("C0000003", "isolated")], "MRCUI": rows})
    loaded = load([folder])
    assert loaded.report.retired.concepts == 1
    assert [r.status for r in SnapshotGraph(loaded.sections).resolve(["C0000001", "C0000003"])] == ["current"] * 2
    assert loaded.report.files[2].skipped == {"concept is current": 2}


def test_one_statement_in_two_files_is_one_statement(tmp_path: Path) -> None:
    files = {"MRREL": EDGE, "MRCUI": [retired("C0000011", "SY", "C0000001")] * 2, "MERGEDCUI": ["C0000011|C0000001|"]}
    assert dict(load([written(tmp_path, files)]).report.retired.statements) == {"SY": 1}


def test_retired_identifiers_of_other_vocabularies_are_kept_only_where_such_count(tmp_path: Path) -> None:
    files = {"MRREL": EDGE, "MRCUI": [retired("CL99", "SY", "C0000001"), retired("a-long-identifier", "SY", "CL99")]}
    folder = written(tmp_path, files)
    assert load([folder]).report.other_identifiers == {"MRCUI": 2}
    graph = SnapshotGraph(load([folder], LoadOptions(identifiers="any")).sections)
    assert [r.cui for r in graph.resolve(["CL99", "a-long-identifier"])] == ["C0000001", "C0000001"]


def test_without_change_files_there_is_a_warning(tmp_path: Path) -> None:
    assert any("retired CUIs" in warning for warning in load([written(tmp_path, {"MRREL": EDGE})]).report.warnings)
