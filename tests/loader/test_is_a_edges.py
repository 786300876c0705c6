"""MRREL to edges: direction, mirrors, repeats, self-loops, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError, LimitExceeded
from cuihop_loader import LoadOptions, load
from cuihop_loader.options import RelationFilter
from loader.rrf_made import concepts, edges, inverse_isa, isa, relation, sabs_of_edges, written

VEINS, VESSELS, HEART, ORGAN = "C0042449", "C0005847", "C0018787", "C0178784"


@pytest.mark.parametrize(
    ("row", "relations"),
    [
        (relation(VESSELS, "CHD", VEINS, "isa"), "isa"),
        (relation(VEINS, "PAR", VESSELS, "inverse_isa"), "isa"),
        (relation(VESSELS, "RO", VEINS, "isa"), "isa"),
        (relation(VESSELS, "CHD", VEINS), "par-chd"),
        (relation(VEINS, "PAR", VESSELS), "par-chd"),
        (relation(VESSELS, "RN", VEINS), "rb-rn"),
        (relation(VEINS, "RB", VESSELS), "rb-rn"),
    ],
)
def test_a_row_reads_from_right_to_left(tmp_path: Path, row: str, relations: RelationFilter) -> None:
    loaded = load([written(tmp_path, {"MRREL": [row]})], LoadOptions(relations=[relations]))
    assert edges(loaded) == {(VEINS, VESSELS)}
    graph = SnapshotGraph(loaded.sections)
    assert graph.distance(VEINS, VESSELS, direction="up") == 1
    assert graph.distance(VESSELS, VEINS, direction="up") is None


def test_isa_rows_inverse_isa_rows_and_both_give_the_same_graph(tmp_path: Path) -> None:
    pairs = [(VEINS, VESSELS), (HEART, ORGAN), (VESSELS, ORGAN)]
    down = [isa(parent, child) for child, parent in pairs]
    up = [inverse_isa(child, parent) for child, parent in pairs]
    loads = [load([written(tmp_path / n, {"MRREL": rows})]) for n, rows in (("d", down), ("u", up), ("b", down + up))]
    assert all(edges(loaded) == set(pairs) for loaded in loads)
    assert len({loaded.sections.meta["release"]["digest"] for loaded in loads}) == 1
    assert [loaded.report.mirrored for loaded in loads] == [0, 0, 3]
    assert [loaded.report.one_directional for loaded in loads] == [3, 3, 0]


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = [isa(VESSELS, VEINS, sab="B"), isa(ORGAN, HEART, sab="A"), inverse_isa(VEINS, VESSELS, sab="A")]
    first = load([written(tmp_path / "a", {"MRREL": rows})])
    second = load([written(tmp_path / "b", {"MRREL": rows[::-1]})])
    assert {name: first.sections[name].tobytes() for name in first.sections} == {
        name: second.sections[name].tobytes() for name in second.sections
    }


def test_repeats_are_one_edge_with_all_its_vocabularies(tmp_path: Path) -> None:
    rows = [
        isa(VESSELS, VEINS, sab="SNOMEDCT_US"),
        isa(VESSELS, VEINS, sab="MSH"),
        inverse_isa(VEINS, VESSELS, sab="MSH"),
        isa(ORGAN, HEART, sab="FMA"),
    ]
    loaded = load([written(tmp_path, {"MRREL": rows})])
    assert sabs_of_edges(loaded) == {(VEINS, VESSELS): ("MSH", "SNOMEDCT_US"), (HEART, ORGAN): ("FMA",)}
    assert {sab: (facts.rows, facts.edges) for sab, facts in loaded.report.sabs.items()} == {
        "FMA": (1, 1), "MSH": (2, 1), "SNOMEDCT_US": (1, 1),
    }  # fmt: skip
    assert list(loaded.sections.meta["release"]["sabs"]) == ["FMA", "MSH", "SNOMEDCT_US"]


def test_self_loops_are_counted_and_left_out_but_their_concepts_are_known(tmp_path: Path) -> None:
    loaded = load([written(tmp_path, {"MRREL": [isa(VESSELS, VEINS), isa(HEART, HEART), isa(HEART, HEART)]})])
    assert edges(loaded) == {(VEINS, VESSELS)}
    assert loaded.report.self_loops == 1
    assert loaded.report.files[0].skipped == {"concept is its own parent": 2}
    assert HEART in concepts(loaded)


def test_a_row_that_contradicts_itself_gives_both_edges(tmp_path: Path) -> None:
    rows = [relation(VESSELS, "PAR", VEINS, "isa")]
    loaded = load([written(tmp_path, {"MRREL": rows})], LoadOptions(relations=["isa", "par-chd"]))
    assert edges(loaded) == {(VEINS, VESSELS), (VESSELS, VEINS)}
    assert loaded.report.cycles.components == 1


def test_suppressed_rows_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    rows = [isa(VESSELS, VEINS), *(isa(ORGAN, HEART, suppress=value) for value in ("O", "Y", "E"))]
    folder = written(tmp_path, {"MRREL": rows})
    assert edges(load([folder])) == {(VEINS, VESSELS)}
    assert load([folder]).report.files[0].skipped == {"suppressed": 3}
    assert edges(load([folder], LoadOptions(include_suppressed=True))) == {(VEINS, VESSELS), (HEART, ORGAN)}


def test_vocabularies_can_be_included_and_excluded(tmp_path: Path) -> None:
    rows = [isa(VESSELS, VEINS, sab="MSH"), isa(ORGAN, HEART, sab="FMA"), isa(ORGAN, VESSELS, sab="NCI")]
    folder = written(tmp_path, {"MRREL": rows})
    assert edges(load([folder], LoadOptions(include_sabs=["MSH", "NCI"]))) == {(VEINS, VESSELS), (VESSELS, ORGAN)}
    loaded = load([folder], LoadOptions(exclude_sabs=["NCI"]))
    assert edges(loaded) == {(VEINS, VESSELS), (HEART, ORGAN)}
    assert loaded.report.files[0].skipped == {"other vocabulary": 1}


def test_a_vocabulary_that_does_not_occur_is_reported(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": [isa(VESSELS, VEINS, sab="SNOMEDCT_US")]})
    loaded = load([folder], LoadOptions(exclude_sabs=["SNOMEDCT"]))
    assert any("SNOMEDCT" in warning for warning in loaded.report.warnings)


def test_other_identifiers_are_left_out_loudly_or_kept(tmp_path: Path) -> None:
    rows = [isa(VESSELS, VEINS), isa(VESSELS, "CL319935"), isa("HP:0001250", VEINS)]
    folder = written(tmp_path, {"MRREL": rows})
    loaded = load([folder])
    assert edges(loaded) == {(VEINS, VESSELS)}
    assert loaded.report.other_identifiers == {"MRREL": 2}
    assert set(loaded.report.other_identifier_samples) == {"CL319935", "HP:0001250"}
    assert any("--identifiers any" in warning and "CL319935" in warning for warning in loaded.report.warnings)

    loaded_any = load([folder], LoadOptions(identifiers="any"))
    assert edges(loaded_any) == {(VEINS, VESSELS), ("CL319935", VESSELS), (VEINS, "HP:0001250")}
    assert loaded_any.report.other_identifiers == {}
    assert not any("--identifiers" in warning for warning in loaded_any.report.warnings)


def test_identifiers_longer_than_eight_bytes_are_kept_in_order(tmp_path: Path) -> None:
    long = ["UBERON:0002107", "D" * 64, "A", "CL1", "C99999999", "C0000000"]
    rows = [isa("C5000000", child) for child in long]
    loaded = load([written(tmp_path, {"MRREL": rows})], LoadOptions(identifiers="any"))
    assert edges(loaded) == {(child, "C5000000") for child in long}
    stored = loaded.sections["cuis"].tolist()
    assert stored == sorted(stored)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([relation(VEINS, "PAR", VESSELS)], LoadOptions(), "--relations par-chd (rows: 1)"),
        ([relation(VEINS, "RB", VESSELS)] * 3, LoadOptions(), "--relations rb-rn (rows: 3)"),
        ([isa(VESSELS, VEINS)], LoadOptions(relations=["rb-rn"]), "--relations isa (rows: 1)"),
        ([isa(VESSELS, VEINS, sab="MSH")], LoadOptions(include_sabs=["FMA"]), "Vocabularies with such rows: MSH"),
        ([isa(VESSELS, "CL319935")], LoadOptions(), "--identifiers any"),
        ([isa(VESSELS, VEINS, suppress="O")], LoadOptions(), "--include-suppressed"),
        ([relation(VEINS, "SIB", VESSELS)], LoadOptions(), "1 rows, of which isa: 0"),
        ([isa(VEINS, VEINS)], LoadOptions(), "1 rows, of which isa: 1"),
    ],
)
def test_no_edge_at_all_is_an_error_that_says_what_would_find_some(
    tmp_path: Path, rows: list[str], options: LoadOptions, message: str
) -> None:
    with pytest.raises(InputError, match="no is_a relation") as error:
        load([written(tmp_path, {"MRREL": rows})], options)
    assert message in str(error.value)


def test_more_vocabularies_than_fit_are_refused(tmp_path: Path) -> None:
    rows = [isa(VESSELS, VEINS, sab=f"SAB{i}") for i in range(2049)]
    with pytest.raises(LimitExceeded, match="2,048 vocabularies"):
        load([written(tmp_path, {"MRREL": rows})])
    assert len(load([written(tmp_path, {"MRREL": rows[1:]})]).report.sabs) == 2048


@pytest.mark.parametrize(
    "wrong",
    [
        {"relations": []},
        {"relations": ["is_a"]},
        {"identifiers": "all"},
        {"on_bad_row": "ignore"},
        {"rejects": Path("rejects.tsv")},
        {"languages": []},
        {"include_sabs": ["MSH"], "exclude_sabs": ["MSH"]},
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        LoadOptions(**wrong)  # type: ignore[arg-type]
