"""SNOMED CT RF2: which rows make the graph, names, retired concepts, discovery, and faults."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import LoadOptions, load
from loader.rf2_made import (
    ACCEPTABLE,
    DEFINITION,
    FINDING_SITE,
    FULLY_SPECIFIED,
    IS_A,
    PLACES,
    POSSIBLY,
    REPLACED_BY,
    SAME_AS,
    acceptability,
    association,
    concept,
    description,
    relationship,
    released,
    sctid,
)
from loader.rrf_made import concepts, edges, grades_of_names

RELATIONSHIPS = [
    relationship(2, 1), relationship(3, 2), relationship(4, 2), relationship(4, 1, active=0),
    relationship(3, 4, FINDING_SITE), relationship(5, 2, active=0),
]  # fmt: skip
CONCEPTS = [concept(1), concept(2), concept(3), concept(4), *(concept(n, active=0) for n in (5, 6, 7, 8))]
DESCRIPTIONS = [
    description(101011, 3, "Heart structure (body structure)", FULLY_SPECIFIED),
    description(102012, 3, "Cardiac structure"),
    description(103013, 3, "Heart structure"),
    description(104014, 3, "Old name", active=0),
    description(105015, 3, "The organ that pumps", DEFINITION),
    description(106016, 4, "Lung (body structure)", FULLY_SPECIFIED),
    description(107017, 5, "Retired"),
]
LANGUAGE = [acceptability(103013), acceptability(102012, ACCEPTABLE), acceptability(102012, active=0)]
ASSOCIATIONS = [
    association(SAME_AS, 5, 3), association(REPLACED_BY, 6, 4), association(POSSIBLY, 7, 3),
    association(POSSIBLY, 7, 4),
    association("900000000000525002", 5, 4), association(SAME_AS, 8, 3, active=0), association(SAME_AS, 3, 4),
]  # fmt: skip
SKIP = LoadOptions(on_bad_row="skip")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return released(
        tmp_path, Relationship=RELATIONSHIPS, Concept=CONCEPTS, Description=DESCRIPTIONS, Language=LANGUAGE,
        Association=ASSOCIATIONS,
    )  # fmt: skip


def test_active_is_a_rows_make_the_graph(release: Path) -> None:
    graph = load([release])
    assert edges(graph) == {(sctid(c), sctid(p)) for c, p in ((2, 1), (3, 2), (4, 2))}
    assert concepts(graph) == {sctid(n) for n in (1, 2, 3, 4)}
    report = graph.report
    files = {file.role: (file.rows, file.used, dict(file.skipped)) for file in report.files}
    assert files == {
        "RF2 Relationship": (6, 3, {"inactive": 2, "other relationship": 1}),
        "RF2 Concept": (8, 8, {}),
        "RF2 Description": (7, 4, {"inactive": 1, "other description": 1, "inactive concept": 1}),
        "RF2 Language": (3, 2, {"inactive": 1}),
        "RF2 Association": (7, 4, {"inactive": 1, "other association": 1, "not a retired concept": 1}),
    }
    assert (report.release, report.warnings, dict(report.sabs)["SNOMEDCT"].edges) == ("20250101", [], 3)
    assert report.terms is not None
    assert (report.terms.obsolete, report.terms.undefined_parents) == (4, 0)


def test_the_preferred_synonym_is_the_name(release: Path) -> None:
    heart, lung, top = SnapshotGraph(load([release]).sections).concepts([sctid(3), sctid(4), sctid(1)])
    assert heart.name == "Heart structure"
    assert set(heart.synonyms) == {"Heart structure (body structure)", "Cardiac structure"}
    assert (lung.name, lung.synonyms, top.name) == ("Lung (body structure)", (), None)


def test_without_a_language_reference_set_the_fully_specified_name_is(release: Path) -> None:
    (release / PLACES["Language"]).unlink()
    graph = load([release])
    heart = SnapshotGraph(graph.sections).concepts([sctid(3)])[0]
    assert (heart.name, len(heart.synonyms)) == ("Heart structure (body structure)", 2)
    assert any("fully specified name" in warning for warning in graph.report.warnings)
    assert min(grades_of_names(graph).values()) == 0


def test_retired_concepts_lead_to_their_successors(release: Path) -> None:
    graph = SnapshotGraph(load([release]).sections)
    found = {r.requested: (r.status, r.cui, r.candidates) for r in graph.resolve([sctid(n) for n in (5, 6, 7, 8)])}
    assert found == {
        sctid(5): ("merged", sctid(3), ()),
        sctid(6): ("merged", sctid(4), ()),
        sctid(7): ("retired", None, (("RO", sctid(3)), ("RO", sctid(4)))),
        sctid(8): ("retired", None, ()),
    }


def test_relationships_alone_make_the_graph_without_names(release: Path) -> None:
    whole = load([release])
    graph = load([release / PLACES["Relationship"]])
    assert edges(graph) == edges(whole)
    assert graph.report.nameless == 4
    assert [warning.partition(":")[0] for warning in graph.report.warnings] == [
        "no sct2_Concept_Snapshot", "no sct2_Description_Snapshot",
    ]  # fmt: skip


def test_a_release_is_found_by_any_of_its_folders_and_in_an_archive(release: Path, tmp_path: Path) -> None:
    digest = load([release]).sections.meta["release"]["digest"]
    other = release / "Full" / "Terminology" / "sct2_Relationship_Full_INT_20250101.txt"
    other.parent.mkdir(parents=True)
    other.write_text("not read")
    archive = tmp_path / "release.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in sorted(release.rglob("*.txt")):
            zipped.write(path, f"SnomedCT_Release/{path.relative_to(release)}")
    files = [release / place for place in PLACES.values()]
    packed = tmp_path / "packed" / (files[0].name + ".gz")
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    for sources in ([release], [release / "Snapshot"], [archive], files, [packed, *files[1:]]):
        graph = load(sources)
        assert graph.sections.meta["release"]["digest"] == digest
        assert len(graph.report.files) == 5


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12), st.booleans(), st.booleans()), min_size=1, max_size=40)
)
def test_subsumption_against_networkx(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, bool, bool]]
) -> None:
    expected = nx.DiGraph(
        [(sctid(child), sctid(parent)) for child, parent, active, is_a in rows if active and is_a and child != parent]
    )
    written = [
        relationship(child, parent, IS_A if is_a else FINDING_SITE, int(active)) for child, parent, active, is_a in rows
    ]
    folder = released(tmp_path_factory.mktemp("rf2"), Relationship=written)
    if not expected.edges:
        with pytest.raises(InputError, match="no is_a relation"):
            load([folder])
        return
    graph = load([folder])
    assert edges(graph) == set(expected.edges)
    found = SnapshotGraph(graph.sections)
    pairs = [(a, b) for a in expected for b in expected]
    subsumed = [distance is not None for distance in found.distances(pairs, direction="up")]
    assert subsumed == [nx.has_path(expected, a, b) for a, b in pairs]


@pytest.mark.parametrize(
    ("old", "new", "column", "problem"),
    [
        ("\t1\t900000000000207008\t30", "\t2\t900000000000207008\t30", "active", "neither active nor inactive"),
        (f"\t{sctid(3)}\t", "\tC0018787\t", "sourceId", "not an SCTID"),
        ("\t0\t116680003\t", "\t116680003\t", "modifierId", "too few columns"),
        ("\t0\t116680003\t", "\t0\t\t116680003\t", 11, "too many columns"),
    ],
)
def test_a_bad_row_is_named_or_left_out(release: Path, old: str, new: str, column: str | int, problem: str) -> None:
    path = release / PLACES["Relationship"]
    lines = path.read_text().split("\n")
    assert old in lines[2]
    lines[2] = lines[2].replace(old, new, 1)
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as error:
        load([release])
    assert (error.value.file, error.value.line, error.value.column, error.value.problem) == (
        str(path), 3, column, problem,
    )  # fmt: skip
    graph = load([release], SKIP)
    assert edges(graph) == {(sctid(2), sctid(1)), (sctid(4), sctid(2))}
    assert graph.report.files[0].bad == 1


def test_bad_rows_of_the_files_beside_are_named_too(release: Path) -> None:
    path = release / PLACES["Description"]
    path.write_bytes(path.read_bytes().replace(b"Heart structure\t", b"Heart \xff\t"))
    with pytest.raises(InputError, match="not UTF-8") as error:
        load([release])
    assert (error.value.file, error.value.line) == (str(path), 4)
    assert SnapshotGraph(load([release], SKIP).sections).concepts([sctid(3)])[0].name != "Heart structure"


def test_files_of_other_columns_or_without_rows(release: Path) -> None:
    path = release / PLACES["Relationship"]
    text = path.read_text()
    path.write_text(text.replace("typeId", "type", 1))
    with pytest.raises(InputError, match="not the columns of RF2 Relationship") as error:
        load([release])
    assert error.value.line == 1
    path.write_text(text.partition("\n")[0] + "\n")
    with pytest.raises(InputError, match="no rows in the file"):
        load([release])
    path.write_bytes(b"")
    with pytest.raises(InputError, match="not the columns"):
        load([release])


@pytest.mark.parametrize(
    "name",
    [
        "sct2_Relationship_Full_INT_20250101.txt",
        "sct2_Relationship_Delta_INT_20250101.txt",
        "sct2_StatedRelationship_Snapshot_INT_20250101.txt",
        "sct2_TextDefinition_Snapshot-en_INT_20250101.txt",
    ],
)
def test_other_files_of_a_release_are_refused_with_a_reason(release: Path, name: str) -> None:
    path = release / name
    path.write_bytes((release / PLACES["Relationship"]).read_bytes())
    with pytest.raises(InputError, match="not a file of SNOMED CT that can be loaded") as error:
        load([path])
    assert "Full and Delta" in str(error.value)


def test_two_releases_or_none_of_the_relationships(release: Path) -> None:
    again = release / "sct2_Relationship_Snapshot_US1000124_20250301.txt"
    again.write_bytes((release / PLACES["Relationship"]).read_bytes())
    with pytest.raises(InputError, match="two files of RF2 Relationship") as error:
        load([release])
    assert str(again) in str(error.value.found)
    with pytest.raises(InputError, match="no file of RF2 Relationship"):
        load([release / PLACES["Concept"]])


def test_line_ends_of_windows_are_accepted(release: Path, tmp_path: Path) -> None:
    dos = released(tmp_path / "dos", "\r\n", Relationship=RELATIONSHIPS)
    graph = load([dos])
    assert edges(graph) == edges(load([release]))
    assert graph.report.files[0].line_ends == "CRLF"
