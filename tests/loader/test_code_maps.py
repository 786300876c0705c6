"""Published mappings in MRMAP, and the vocabularies of their sets in MRSAT, against the rows as csv reads them."""

from __future__ import annotations

import csv
import dataclasses
import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError, SnapshotError
from cuihop.graph import CodeMap
from cuihop.graph_wrapper import GraphOfCodes
from cuihop.snapshot.file import Sections
from cuihop_loader import Loaded, LoadOptions, load, row_scanner
from cuihop_loader.sources import LAYOUTS
from loader.rrf_made import attribute, coded, isa, mapping, name, written

COLUMNS = LAYOUTS["MRMAP"]
KEPT = (*COLUMNS[2:4], *COLUMNS[8:14], *COLUMNS[16:25])
SETS = {"C0000009": ("SNOMEDCT_US", "ICD10CM"), "C0000008": ("", ""), "C0000007": ("MSH", "")}
CODES = ["22298006", "22", "I21", "é", "C0000001"]
STATED = [
    attribute(cui, kind, sab)
    for cui, sabs in SETS.items()
    for kind, sab in zip(("FROMRSAB", "TORSAB"), sabs, strict=True)
    if sab
]
ATTRIBUTES = sorted(STATED + [attribute(f"C{i:07d}", "LANGUAGE", "v" * i) for i in range(40)])


NAMES = [
    coded("C0000001", "SNOMEDCT_US", "22298006", "22298006"),
    coded("C0000001", "MSH", "I21", "22"),
    coded("C0000002", "MSH", "é"),
    name("C0000009", "SNOMED CT to ICD-10-CM"),
]
TEXTS = st.sampled_from(["", "100051", "I21.9 &#x7C; <A> OR <B>", "é"])
ROWS = st.lists(
    st.builds(
        lambda cui, sab, fields: mapping(cui, sab, **dict(zip(KEPT, fields, strict=True))),
        st.sampled_from([*SETS, ""]),
        st.sampled_from(["SNOMEDCT_US", "MSH"]),
        st.tuples(
            st.sampled_from(["", "1", "2", "10", "x"]), st.sampled_from(["", "1", "9", "10", "02"]),
            st.sampled_from([*CODES, ""]),
            st.sampled_from(["SCUI", "SDUI", "CODE", "CUI", "AUI", "BOOLEAN_EXPRESSION_STR", ""]),
            *[TEXTS] * (len(KEPT) - 4),
        ),
    ),
    max_size=25,
)  # fmt: skip


def loaded(folder: Path, rows: list[str], options: LoadOptions | None = None, **more: list[str]) -> Loaded:
    edges = [isa("C0000001", "C0000002")]
    files = {"MRREL": edges, "MRCONSO": NAMES, "MRMAP": rows, "MRSAT": ATTRIBUTES, **more}
    return load([written(folder, files)], options or LoadOptions())


def reopened(found: Loaded, folder: Path) -> SnapshotGraph:
    found.sections.save(folder / "graph.cuihop")
    return SnapshotGraph.open(folder / "graph.cuihop")


def number(text: str) -> tuple[bool, int, str]:
    return (False, int(text), "") if text.isdecimal() else (True, 0, text)


def oracle(rows: list[str], sab: str | None, text: str, kinds: set[str]) -> list[CodeMap]:
    """The mappings from a code of a vocabulary or from a concept, in their order, from the rows themselves."""
    found = []
    for row in csv.reader(rows, delimiter="|", quoting=csv.QUOTE_NONE):
        of = dict(zip(COLUMNS, row, strict=False))
        source, target = SETS.get(of["MAPSETCUI"], ("", ""))
        mapped = of["MAPSETCUI"] and of["FROMEXPR"] == text and of["FROMTYPE"] in kinds
        if mapped and sab in (None, source or of["MAPSETSAB"]):
            called = "SNOMED CT to ICD-10-CM" if of["MAPSETCUI"] == "C0000009" else None
            texts = [of[column].replace("&#x7C;", "|") for column in KEPT]
            found.append(CodeMap(of["MAPSETCUI"], of["MAPSETSAB"], called, source or None, target or None, *texts))
    return sorted(found, key=lambda m: (m.map_set, m.map_set_sab, number(m.subset), number(m.rank)))


LOOKED_UP: dict[str, list[tuple[str | None, str, set[str]]]] = {
    "SNOMEDCT_US:22298006": [("SNOMEDCT_US", "22298006", {"CODE", "SDUI", "SCUI"})],
    "snomedct:22298006": [("SNOMEDCT_US", "22298006", {"CODE", "SDUI", "SCUI"})],
    "MSH:I21": [("MSH", "I21", {"CODE", "SDUI"}), ("MSH", "22", {"SCUI"})],
    "MSH:é": [("MSH", "é", {"CODE", "SDUI", "SCUI"})],
    "MSH:22298006": [("MSH", "22298006", {"CODE", "SDUI", "SCUI"})],  # only in MRMAP
    "C0000001": [
        (None, "C0000001", {"CUI"}), ("MSH", "I21", {"CODE", "SDUI"}), ("MSH", "22", {"SCUI"}),
        ("SNOMEDCT_US", "22298006", {"CODE", "SDUI", "SCUI"}),
    ],
    "MSH:I2": [], "C9999999": [], "I21": [],
}  # fmt: skip


@given(ROWS, st.sampled_from([400, 1 << 20]))
def test_mappings_are_those_of_the_rows_in_their_order(rows: list[str], block: int) -> None:
    with TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scanner, "BLOCK_BYTES", block)
        found = loaded(Path(made), rows)
        split = [row.split("|") for row in rows]
        usable = [r for r in split if r[0] and r[8] and r[9] in ("SCUI", "SDUI", "CODE", "CUI")]
        (report,) = [file for file in found.report.files if file.role == "MRMAP"]
        assert (report.used, report.rows, report.bad) == (len(usable), len(rows), 0)
        left = {
            "no map set": sum(not r[0] for r in split),
            "nothing mapped from": sum(bool(r[0]) and not r[8] for r in split),
        }
        left["not mapped from a code or concept"] = len(rows) - len(usable) - sum(left.values())
        assert report.skipped == {reason: count for reason, count in left.items() if count}
        graph = reopened(found, Path(made))
        if not usable:
            with pytest.raises(InputError, match="the snapshot holds no published mappings"):
                graph.code_maps(["MSH:I21"])
            return
        for lookup, codes in zip(graph.code_maps(list(LOOKED_UP)), graph.codes(list(LOOKED_UP)), strict=True):
            assert list(lookup.maps) == [m for key in LOOKED_UP[lookup.requested] for m in oracle(rows, *key)]
            shared = ("requested", "status", "cui", "alternatives")
            assert [getattr(lookup, each) for each in shared] == [getattr(codes, each) for each in shared]


FROM = {"FROMEXPR": "22298006", "FROMTYPE": "SCUI"}


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_restricted_or_wrapped_graph_has_the_mappings_of_the_whole(tmp_path: Path, *, wrapped: bool) -> None:
    graph = reopened(loaded(tmp_path, [mapping(TOEXPR="I21.9", **FROM)]), tmp_path)
    other = GraphOfCodes(graph, "first") if wrapped else graph.within(["SRC"])
    (found,) = other.code_maps(["SNOMEDCT_US:22298006"])
    assert [each.to_text for each in found.maps] == ["I21.9"]
    assert [found] == graph.code_maps(["SNOMEDCT_US:22298006"])


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("before", [0, 1, 1000])
@pytest.mark.parametrize("after", [0, 1, 1000])
def test_the_vocabularies_of_a_set_are_found_anywhere_in_mrsat(
    tmp_path: Path, end: str, before: int, after: int
) -> None:
    folder = tmp_path / "release"
    loaded(folder, [mapping(**FROM)])
    rows = [
        *(attribute("C0000005", "A", "v" * (i % 50)) for i in range(before)),
        attribute("C0000009", "FROMRSAB", "MSH"), attribute("C0000009", "TOVSAB", "ICD10CM_2026"),
        *(attribute(f"C000{1000 + i}", "TORSAB", "v" * (i % 50)) for i in range(after)),
    ]  # fmt: skip
    (folder / "MRSAT.RRF").write_text("\n".join(rows) + end)
    graph = reopened(load([folder], LoadOptions()), tmp_path)
    assert graph.code_maps(["SNOMEDCT_US:22298006"])[0].maps == ()
    (found,) = graph.code_maps(["MSH:22298006"])
    assert [(each.from_sab, each.to_sab) for each in found.maps] == [("MSH", "ICD10CM_2026")]


@pytest.mark.parametrize("state", ["absent", "empty", "packed", "unsorted", "short rows"])
def test_sets_of_unknown_vocabularies_are_a_warning(tmp_path: Path, state: str) -> None:
    folder = tmp_path / "release"
    loaded(folder, [mapping(**FROM)])
    path = folder / "MRSAT.RRF"
    if state == "packed":
        (folder / "MRSAT.RRF.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.write_text("".join(f"{row}\n" for row in ([*reversed(ATTRIBUTES)] if state == "unsorted" else [])))
    if state in ("absent", "packed"):
        path.unlink()
    elif state == "short rows":
        path.write_text("C0000009|||A1|AUI\n\nC0000009\n")
    found = load([folder], LoadOptions())
    (warning,) = [text for text in found.report.warnings if "map sets" in text]
    assert "are not known: 1 of 1, such as C0000009" in warning
    (lookup,) = reopened(found, tmp_path).code_maps(["SNOMEDCT_US:22298006"])
    assert [(each.from_sab, each.to_sab) for each in lookup.maps] == [(None, None)]


def test_bytes_of_mrsat_that_are_no_text_do_not_end_a_load(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    loaded(folder, [mapping(**FROM)])
    row = attribute("C0000009", "TORSAB", "ICD\xff").encode("latin-1")
    (folder / "MRSAT.RRF").write_bytes(row + b"\n\xff\n")
    (lookup,) = reopened(load([folder], LoadOptions()), tmp_path).code_maps(["SNOMEDCT_US:22298006"])
    assert [each.to_sab for each in lookup.maps] == ["ICD\ufffd"]


def test_known_vocabularies_are_no_warning(tmp_path: Path) -> None:
    assert not [text for text in loaded(tmp_path, [mapping(**FROM)]).report.warnings if "map set" in text]


@pytest.mark.parametrize(
    ("rows", "codes", "names"), [([mapping(**FROM)], False, NAMES), ([], True, NAMES), ([mapping(**FROM)], True, None)]
)
def test_without_mappings_the_error_says_how_to_get_them(
    tmp_path: Path, rows: list[str], codes: bool, names: list[str] | None
) -> None:
    loaded(tmp_path, rows)
    if names is None:
        (tmp_path / "MRCONSO.RRF").unlink()
    graph = SnapshotGraph(load([tmp_path], LoadOptions(codes=codes)).sections)
    for each in (graph, SnapshotGraph.of([("C0000001", "C0000002")])):
        with pytest.raises(InputError, match=r"no published mappings.*MRMAP, without --no-codes"):
            each.code_maps(["SNOMEDCT_US:22298006"])


def test_a_row_with_a_bar_too_many_is_a_bad_row(tmp_path: Path) -> None:
    rows = [mapping(**FROM), mapping(MAPRULE="IFA 1 | Age |", **FROM)]
    with pytest.raises(InputError, match=r"MRMAP\.RRF, line 2.*too many columns"):
        loaded(tmp_path, rows)
    (report,) = [f for f in loaded(tmp_path, rows, LoadOptions(on_bad_row="skip")).report.files if f.role == "MRMAP"]
    assert (report.used, report.skipped) == (1, {"bad row": 1})


def test_columns_that_are_mixed_up_are_damage(tmp_path: Path) -> None:
    sections = loaded(tmp_path, [mapping(**FROM)]).sections
    fields = sections["map_fields"].copy()
    fields[0, 0] = fields[0, 2]
    arrays = {each: sections[each] for each in sections} | {"map_fields": fields}
    Sections(sections.meta, arrays).save(tmp_path / "graph.cuihop")
    with pytest.raises(SnapshotError, match="'map_fields' mixes up columns"):
        SnapshotGraph.open(tmp_path / "graph.cuihop").code_maps(["SNOMEDCT_US:22298006"])


@pytest.mark.parametrize("section", ["map_set_numbers", "map_fields"])
def test_numbers_beyond_their_table_are_damage(tmp_path: Path, section: str) -> None:
    sections = loaded(tmp_path, [mapping(**FROM)]).sections
    arrays = {each: sections[each] for each in sections} | {section: sections[section] + 100}
    Sections(sections.meta, arrays).save(tmp_path / "graph.cuihop")
    with pytest.raises(SnapshotError, match=f"'{section}' holds values that it must not"):
        SnapshotGraph.open(tmp_path / "graph.cuihop").code_maps(["SNOMEDCT_US:22298006"])


@pytest.mark.parametrize("sets", [7, [["C0000009"]], [["C0000009", "SNOMEDCT_US", "", 1]]])
def test_sets_of_another_form_are_damage(tmp_path: Path, sets: object) -> None:
    sections = loaded(tmp_path, [mapping(**FROM)]).sections
    Sections({**sections.meta, "map_sets": sets}, {each: sections[each] for each in sections}).save(
        tmp_path / "g.cuihop"
    )
    with pytest.raises(SnapshotError, match="sets of mappings are not described"):
        SnapshotGraph.open(tmp_path / "g.cuihop")


def test_every_column_that_is_shown_has_a_field() -> None:
    assert len(dataclasses.fields(CodeMap)) == 5 + len(KEPT)
