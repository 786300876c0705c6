"""OMOP vocabularies: which concepts and edges are kept, names, codes, retired concepts, levels, and faults."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import LoadOptions, load, omop_levels
from loader.omop_made import ancestor, concept, relationship, released, synonym, text, vocabulary
from loader.rrf_made import concepts, edges, isa, written
from program_run import Run

CONCEPTS = [
    concept(1, name='The "top"', code="138875005"), concept(10, "C", name="Heart disease", kind="Navigational concept"),
    concept(2, name="Myocardial infarction", code="22298006"), concept(9, name="Stent", domain="Device", kind="Device"),
    concept(30, "", sab="ICD10CM", code="I21"), concept(31, "", sab="ICD10CM", code="I21.9"), concept(32, ""),
    concept(40, "S", "D", code="s40"), concept(41, "", "U", code="22298006"), concept(42, "", "D"),
]  # fmt: skip
RELATIONSHIPS = [
    relationship(10, "Is a", 1), relationship(1, "Subsumes", 10), relationship(10, "Subsumes", 2),
    relationship(9, "Is a", 1), relationship(9, "Is a", 9), relationship(2, "Is a", 1, "D"),
    relationship(42, "Is a", 1), relationship(31, "Is a", 30), relationship(2, "Due to of", 9),
    relationship(2, "Maps to", 2), relationship(31, "Maps to", 2), relationship(30, "Maps to", 2),
    relationship(30, "Maps to", 10), relationship(41, "Maps to", 2), relationship(40, "Maps to", 31),
    relationship(30, "Maps to", 9, "U"),
]  # fmt: skip
SYNONYMS = [synonym(2, "Heart attack"), synonym(2, "Infarto", 4182511), synonym(2, "Heart attack"), synonym(31, "MI")]
SKIP = LoadOptions(on_bad_row="skip")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return released(
        tmp_path / "athena", CONCEPT=CONCEPTS, CONCEPT_RELATIONSHIP=RELATIONSHIPS, CONCEPT_SYNONYM=SYNONYMS,
        VOCABULARY=[vocabulary("None", "v5.0 27-FEB-25"), vocabulary("SNOMED", "2024-09"), vocabulary("ICD10CM", "")],
    )  # fmt: skip


def test_standard_concepts_and_their_is_a_rows_make_the_graph(release: Path) -> None:
    graph = load([release])
    report = graph.report
    assert edges(graph) == {("10", "1"), ("2", "10"), ("9", "1")}
    assert graph.sections["cuis"].size == 4
    assert concepts(graph) == {"1", "10", "2", "9"}
    assert {file.role: (file.rows, file.used, dict(file.skipped)) for file in report.files} == {
        "OMOP CONCEPT": (10, 4, {"invalid": 3, "non-standard": 3}),
        "OMOP CONCEPT_RELATIONSHIP": (16, 8, {
            "invalid": 2, "concept is its own parent": 1, "invalid concept": 1, "maps a standard concept": 1,
            "maps to a concept that is not standard": 1, "non-standard concept": 1, "other relationship": 1,
        }),
        "OMOP CONCEPT_SYNONYM": (4, 2, {"concept is not kept": 1, "same name again": 1}),
        "OMOP VOCABULARY": (3, 3, {}),
    }  # fmt: skip
    assert (report.mirrored, report.one_directional, report.self_loops) == (1, 2, 1)
    assert dict(report.relation_rows) == {"Is a": 2, "Subsumes": 2}
    assert (report.release, report.identifiers, report.warnings) == ("v5.0 27-FEB-25", "any", [])
    assert {sab: (of.version, of.rows, of.edges) for sab, of in report.sabs.items()} == {"SNOMED": ("2024-09", 4, 3)}
    assert report.omop is not None
    assert (report.omop.invalid, report.omop.non_standard, report.omop.bridged, report.omop.levels) == (3, 3, 0, {})
    assert (report.omop.merged, report.omop.several, report.omop.unmapped) == (2, 1, 3)


def test_concepts_without_a_mapping_and_names_of_the_first_concept_are_counted(tmp_path: Path) -> None:
    made = released(
        tmp_path / "athena", CONCEPT=[concept(1), concept(5), concept(2, ""), concept(3, ""), concept(4, "")],
        CONCEPT_RELATIONSHIP=[relationship(5, "Is a", 1), relationship(4, "Maps to", 1)],
        CONCEPT_SYNONYM=[synonym(1, "All"), synonym(4, "Part")],
    )  # fmt: skip
    report = load([made]).report
    assert report.omop is not None
    assert (report.omop.merged, report.omop.several, report.omop.unmapped) == (1, 0, 2)
    of_synonyms = next(file for file in report.files if file.role == "OMOP CONCEPT_SYNONYM")
    assert (of_synonyms.rows, of_synonyms.used, dict(of_synonyms.skipped)) == (2, 1, {"concept is not kept": 1})


def test_names_synonyms_and_types(release: Path) -> None:
    infarction, top, stent = SnapshotGraph(load([release]).sections).concepts(["2", "1", "9"])
    assert (infarction.name, set(infarction.synonyms)) == ("Myocardial infarction", {"Heart attack", "Infarto"})
    assert (top.name, infarction.sabs) == ('The "top"', ("SNOMED",))
    assert infarction.semantic_types == (("Condition", "Condition"), ("Disorder", "Disorder"))
    assert stent.semantic_types == (("Device", "Device"),)
    alone = SnapshotGraph(load([release], LoadOptions(synonyms=False)).sections).concepts(["2"])[0]
    assert (alone.name, alone.synonyms) == ("Myocardial infarction", ())


def test_concepts_that_are_not_kept_lead_to_those_that_they_map_to(release: Path) -> None:
    graph = SnapshotGraph(load([release]).sections)
    found = {r.requested: (r.status, r.cui, r.candidates) for r in graph.resolve(["31", "30", "32", "40", "41", "42"])}
    assert found == {
        "31": ("merged", "2", ()),
        "30": ("retired", None, (("RO", "10"), ("RO", "2"))),
        "32": ("unknown", None, ()),
        "40": ("retired", None, ()),
        "41": ("merged", "2", ()),
        "42": ("retired", None, ()),
    }


def test_codes_of_one_letter_are_kept(tmp_path: Path) -> None:
    rows = [concept(1), concept(2, code="b"), concept(30, "", sab="ATC", code="A")]
    related = [relationship(2, "Is a", 1), relationship(30, "Maps to", 2)]
    graph = SnapshotGraph(load([released(tmp_path, CONCEPT=rows, CONCEPT_RELATIONSHIP=related)]).sections)
    (lookup,) = graph.codes(["2"])
    assert [(code.sab, code.code, code.source_concept) for code in lookup.codes] == [
        ("SNOMED", "b", None), ("ATC", "A", "30"),
    ]  # fmt: skip


def test_a_concept_without_a_code_has_none(tmp_path: Path) -> None:
    rows = [concept(1, code=""), concept(2)]
    related = [relationship(2, "Is a", 1)]
    graph = SnapshotGraph(load([released(tmp_path, CONCEPT=rows, CONCEPT_RELATIONSHIP=related)]).sections)
    assert [len(lookup.codes) for lookup in graph.codes(["1", "2"])] == [0, 1]


def test_codes_are_those_of_kept_concepts_and_of_those_that_map_to_them(release: Path) -> None:
    graph = SnapshotGraph(load([release]).sections)
    found = {
        lookup.requested: (lookup.status, [(c.cui, c.sab, c.code, c.source_concept, c.mark) for c in lookup.codes])
        for lookup in graph.codes(["SNOMED:22298006", "ICD10CM:I21", "2", "SNOMED:s40", "31"])
    }
    own, mapped = ("SNOMED", "22298006", None, "active"), ("SNOMED", "22298006", "41", "obsolete")
    assert found["SNOMED:22298006"] == ("current", [("2", *own), ("2", *mapped)])
    icd = ("ICD10CM", "I21", "30", "active")
    assert found["ICD10CM:I21"] == ("current", [("10", *icd), ("2", *icd)])
    assert found["2"][1] == [("2", *own), ("2", *icd), ("2", "ICD10CM", "I21.9", "31", "active"), ("2", *mapped)]
    assert found["SNOMED:s40"] == ("unknown", [])
    assert found["31"] == ("merged", found["2"][1])
    without = SnapshotGraph(load([release], LoadOptions(codes=False)).sections)
    with pytest.raises(InputError, match="codes"):
        without.codes(["2"])


class Release(NamedTuple):
    """A random release: the standing of each concept by its number, and edges with the notations that state them."""

    standing: list[tuple[str, str]]
    stated: list[tuple[int, int, str]]


STANDING = st.lists(st.sampled_from([("S", ""), ("S", ""), ("C", ""), ("", ""), ("", ""), ("S", "D")]), min_size=2)
RELEASES = st.builds(
    Release, STANDING.map(lambda standing: [("S", ""), ("S", ""), *standing][:16]),
    st.lists(st.tuples(st.integers(1, 16), st.integers(1, 16), st.sampled_from(["Is a", "Subsumes", "Maps to"]))),
)  # fmt: skip


def levels_of(release: Release) -> dict[tuple[int, int], int]:
    """Least levels between standard concepts: a row adds one if its upper end is standard (OHDSI's own rule)."""
    valid = {n: standard for n, (standard, invalid) in enumerate(release.standing, start=1) if not invalid}
    ends = [(a, b) if kind == "Is a" else (b, a) for a, b, kind in release.stated if kind != "Maps to"]
    least: dict[tuple[int, int], int] = {(n, n): 0 for n in valid if valid[n]}
    changed = True
    while changed:
        changed = False
        for (below, above), level in list(least.items()):
            for child, parent in ends:
                if child == above and child in valid and parent in valid:
                    further = level + (valid[parent] != "")
                    if further < least.get((below, parent), further + 1):
                        least[below, parent] = further
                        changed = True
    return {(below, above): level for (below, above), level in least.items() if valid[above]}


@given(RELEASES)
def test_hops_are_the_levels_of_the_published_rule(drawn: Release) -> None:
    numbers = range(1, len(drawn.standing) + 1)
    stated = [(1, 2, "Is a"), *((a, b, kind) for a, b, kind in drawn.stated if a in numbers and b in numbers)]
    release = Release(drawn.standing, stated)
    expected = levels_of(release)
    with TemporaryDirectory() as folder:
        path = released(
            Path(folder), CONCEPT=[concept(n, *of) for n, of in zip(numbers, release.standing, strict=True)],
            CONCEPT_RELATIONSHIP=[relationship(a, kind, b) for a, b, kind in stated],
            CONCEPT_ANCESTOR=[ancestor(above, below, level) for (below, above), level in expected.items()],
        )  # fmt: skip
        loaded = load([path])
    graph, report = SnapshotGraph(loaded.sections), loaded.report
    kept = [str(n) for n in numbers if release.standing[n - 1] in (("S", ""), ("C", ""))]
    assert concepts(loaded) == set(kept)
    pairs = [(below, above) for below in kept for above in kept]
    hops = graph.distances(pairs, direction="up")
    assert {(int(b), int(a)): h for (b, a), h in zip(pairs, hops, strict=True) if h is not None} == expected
    assert report.omop is not None
    assert report.omop.levels == {"descendants compared": len(kept), "equal levels": len(expected)}
    assert report.omop.deviations == {}
    maps = {n: {str(b) for a, b, kind in stated if (a, kind) == (n, "Maps to")} & set(kept) for n in numbers}
    for resolution in graph.resolve([str(n) for n in numbers if str(n) not in kept]):
        targets = maps[int(resolution.requested)]
        invalid = bool(release.standing[int(resolution.requested) - 1][1])
        status = "merged" if len(targets) == 1 else "retired" if targets or invalid else "unknown"
        candidates = {candidate for _, candidate in resolution.candidates}
        assert (resolution.status, candidates) == (status, targets if len(targets) > 1 else set())


DEVIATING = [
    ancestor(1, 1, 0), ancestor(10, 10, 0), ancestor(2, 2, 0), ancestor(9, 9, 0), ancestor(1, 10, 2), ancestor(1, 2, 1),
    ancestor(10, 2, 1), ancestor(10, 9, 1), ancestor(30, 31, 1), ancestor(1, 77, 1),
]  # fmt: skip


def test_deviations_from_concept_ancestor_are_reported_by_kind(release: Path) -> None:
    released(release, CONCEPT_ANCESTOR=DEVIATING)
    report = load([release]).report
    assert report.omop is not None
    assert dict(report.omop.deviations) == {
        "not reached here": ["9 below 10: levels 1"],
        "only here": ["9 below 1: hops 1"],
        "shorter here": ["10 below 1: levels 2, hops 1"],
        "longer here": ["2 below 1: levels 1, hops 2"],
        "concept not kept": ["31 below 30", "77 below 1"],
    }
    assert report.omop.levels == {
        "descendants compared": 4, "equal levels": 5, "not reached here": 1, "only here": 1, "shorter here": 1,
        "longer here": 1, "concept not kept": 2,
    }  # fmt: skip
    assert "CONCEPT_ANCESTOR and this graph: longer here: 1, as 2 below 1: levels 1, hops 2" in report.warnings
    skipped = {file.role: file.skipped for file in report.files}
    assert skipped["OMOP CONCEPT_ANCESTOR"] == {"concept not kept": 2}


def test_of_many_descendants_a_sample_is_compared(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(omop_levels, "LARGEST_SAMPLE", 2)
    released(release, CONCEPT_ANCESTOR=DEVIATING)
    report = load([release]).report
    assert report.omop is not None
    assert report.omop.levels["descendants compared"] == 2
    ancestors = next(file for file in report.files if file.role == "OMOP CONCEPT_ANCESTOR")
    assert (ancestors.used, ancestors.skipped["descendant is not in the sample"]) == (3, 5)


def test_a_way_through_a_concept_that_is_not_standard_is_one_hop(tmp_path: Path) -> None:
    path = released(
        tmp_path, CONCEPT=[concept(1), concept(2, sab="LOINC"), concept(5, ""), concept(6, "")],
        CONCEPT_RELATIONSHIP=[relationship(2, "Is a", 5), relationship(5, "Is a", 6), relationship(6, "Is a", 1)],
    )  # fmt: skip
    graph = load([path])
    assert (edges(graph), graph.report.omop and graph.report.omop.bridged) == ({("2", "1")}, 1)
    assert {sab: of.edges for sab, of in graph.report.sabs.items()} == {"LOINC": 1}
    with pytest.raises(InputError, match="no is_a relation"):
        load([path], LoadOptions(exclude_sabs=("LOINC",)))


def test_vocabularies_are_reported_with_those_of_most_edges_first(tmp_path: Path) -> None:
    path = released(
        tmp_path, CONCEPT=[concept(1), concept(2, sab="LOINC"), concept(3), concept(4)],
        CONCEPT_RELATIONSHIP=[relationship(2, "Is a", 1), relationship(3, "Is a", 1), relationship(4, "Is a", 1)],
    )  # fmt: skip
    assert {sab: of.edges for sab, of in load([path]).report.sabs.items()} == {"SNOMED": 2, "LOINC": 1}
    assert list(load([path]).report.sabs) == ["SNOMED", "LOINC"]


@pytest.mark.parametrize("form", ["zip", "gz", "files", "CRLF", "capitals"])
def test_every_form_of_a_download_gives_the_same_graph(release: Path, tmp_path: Path, form: str) -> None:
    expected = load([release]).sections.meta["release"]["digest"]
    sources: Sequence[Path] = [release]
    paths = sorted(release.iterdir())
    if form == "zip":
        sources = [tmp_path / "vocabulary_download_v5.zip"]
        with zipfile.ZipFile(sources[0], "w") as archive:
            for path in paths:
                archive.write(path, path.name)
            archive.writestr("DRUG_STRENGTH.csv", "another table\n")
    for path in paths:
        if form == "gz":
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        elif form == "CRLF":
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        elif form == "capitals":
            header, _, rest = path.read_text().partition("\n")
            path.write_text(f"{header.upper()}\n{rest}")
    if form == "files":
        sources = paths
    loaded = load(sources)
    assert loaded.sections.meta["release"]["digest"] == expected
    assert {file.line_ends for file in loaded.report.files} == {"CRLF" if form == "CRLF" else "LF"}


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / f"{name}.csv"
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new, 1))

    return change


def with_rows(name: str, *rows: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / f"{name}.csv"
        path.write_text((path.read_text() if path.exists() else text(name, ())) + "".join(row + "\n" for row in rows))

    return change


def of_content(name: str, change_of: Callable[[str], str]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / f"{name}.csv"
        path.write_text(change_of(path.read_text()))

    return change


FAULTS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "comma": (
        of_content("CONCEPT", lambda content: content.replace("\t", ",")),
        ["CONCEPT.csv", "line 1", "columns separated by ',', not by tabs", "a header with concept_id, concept_name"],
    ),
    "header": (
        replaced("CONCEPT_RELATIONSHIP", "concept_id_2\trelationship_id", "relationship_id\tconcept_id_2"),
        ["line 1", "not the columns of OMOP CONCEPT_RELATIONSHIP", "concept_id_1, concept_id_2"],
    ),
    "quotes": (
        of_content("CONCEPT", lambda content: '"' + content.replace("\t", '"\t"', 9).replace("\n", '"\n', 1)),
        ["line 1", "not in quotation marks"],
    ),
    "cut": (
        of_content("CONCEPT", lambda content: content[:-30]),
        ["CONCEPT.csv", "line 11", "the last line is cut off", "expected 10 columns, separated by tabs"],
    ),
    "cut at the end": (
        of_content("CONCEPT_SYNONYM", lambda content: content[:-3]),
        ["CONCEPT_SYNONYM.csv", "line 5", "language_concept_id", "the last line is cut off", "expected a line end"],
    ),
    "empty": (of_content("CONCEPT", lambda content: content[:0] + "\n"), ["line 1", "not the columns"]),
    "header alone": (
        of_content("CONCEPT_RELATIONSHIP", lambda content: content.partition("\n")[0] + "\n"),
        ["CONCEPT_RELATIONSHIP.csv", "the file is empty", "found a header without rows"],
    ),
    "columns": (
        with_rows("CONCEPT_SYNONYM", "2\tname\tmore\t4180186"),
        ["line 6", "too many columns", "found 4 columns", "expected 3 columns, separated by tabs"],
    ),
    "repeated": (
        with_rows("CONCEPT", concept(10, name="again")),
        ["CONCEPT.csv", "line 12", "concept_id", "two concepts with one concept_id", "found 10, as in line 3"],
    ),
    "unknown": (
        with_rows("CONCEPT_RELATIONSHIP", relationship(2, "Is a", 77)),
        ["CONCEPT_RELATIONSHIP.csv", "line 18", "concept_id_2", "no such concept", "found '77'", "a concept_id of"],
    ),
    "unknown synonym": (with_rows("CONCEPT_SYNONYM", synonym(77, "x")), ["line 6", "concept_id", "found '77'"]),
    "number": (
        with_rows("CONCEPT", concept(5).replace("5", "05", 1)),
        ["line 12", "concept_id", "not a concept_id", "found '05'", "expected up to 18 digits"],
    ),
    "standing": (
        with_rows("CONCEPT", concept(5, "s")),
        ["line 12", "standard_concept", "unknown value", "found 's'", "expected S or C, or nothing"],
    ),
    "reason": (
        with_rows("CONCEPT_RELATIONSHIP", relationship(2, "Is a", 10, "\\N")),
        ["line 18", "invalid_reason", "unknown value", "expected D or U, or nothing"],
    ),
    "levels": (
        with_rows("CONCEPT_ANCESTOR", ancestor(1, 2, -1)),
        ["CONCEPT_ANCESTOR.csv", "line 2", "min_levels_of_separation", "found '-1'"],
    ),
    "no edge": (of_content("CONCEPT_RELATIONSHIP", lambda content: content.replace("Is a", "x").replace("Subs", "")), [
        "CONCEPT_RELATIONSHIP.csv", "no is_a relation", "found 16 rows",
    ]),
    "nothing standard": (
        of_content("CONCEPT", lambda content: content.replace("\tS\t", "\t\t").replace("\tC\t", "\t\t")),
        ["CONCEPT.csv", "no standard concept", "found 10 concepts"],
    ),
    "no concepts": (lambda folder: (folder / "CONCEPT.csv").unlink(), ["no CONCEPT.csv", "beside it"]),
    "no relationships": (
        lambda folder: (folder / "CONCEPT_RELATIONSHIP.csv").unlink(),
        ["no file of OMOP CONCEPT_RELATIONSHIP", "CONCEPT_RELATIONSHIP.csv beside it"],
    ),
    "twice": (
        lambda folder: (folder / "CONCEPT.csv.gz").write_bytes(gzip.compress((folder / "CONCEPT.csv").read_bytes())),
        ["two files of OMOP CONCEPT", "two snapshots"],
    ),
    "RRF beside": (
        lambda folder: written(folder, {"MRREL": [isa("C0000001", "C0000002")]}),
        ["OMOP CONCEPT and RRF files together", "one kind"],
    ),
    "WordNet beside": (
        lambda folder: (folder / "data.noun").write_text(""), ["OMOP and WNDB files together", "one kind"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_file_line_and_column(release: Path, fault: str) -> None:
    change, parts = FAULTS[fault]
    change(release)
    with pytest.raises(InputError) as caught:
        load([release])
    assert [part for part in parts if part not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize(
    "fault",
    ["cut at the end", "columns", "unknown", "unknown synonym", "number", "standing", "reason", "levels"],
)
def test_bad_rows_can_be_left_out_and_are_counted(release: Path, fault: str) -> None:
    FAULTS[fault][0](release)
    report = load([release], SKIP).report
    assert sum(file.bad for file in report.files) == 1
    assert all(file.rows == file.used + sum(file.skipped.values()) for file in report.files)
    assert "bad rows were left out: 1" in report.warnings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LoadOptions(identifiers="cui"), "no identifier of OMOP vocabularies is a CUI"),
        (LoadOptions(relations=("par-chd",)), "only RRF files have other relations than is_a"),
        (LoadOptions(include_sabs=("LOINC",)), "in the chosen vocabularies"),
    ],
)
def test_options_that_cannot_be_met_are_refused(release: Path, options: LoadOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load([release], options)


@given(st.sampled_from(["CONCEPT", "CONCEPT_RELATIONSHIP", "CONCEPT_SYNONYM", "CONCEPT_ANCESTOR"]), st.data())
def test_a_file_that_breaks_off_anywhere_is_refused_unless_a_line_ends_there(name: str, data: st.DataObject) -> None:
    rows = {
        "CONCEPT": CONCEPTS, "CONCEPT_RELATIONSHIP": RELATIONSHIPS, "CONCEPT_SYNONYM": SYNONYMS,
        "CONCEPT_ANCESTOR": DEVIATING,
    }  # fmt: skip
    content = text(name, rows[name]).encode()
    size = data.draw(st.integers(0, len(content) - 1))
    with TemporaryDirectory() as folder:
        path = released(Path(folder), **rows)
        (path / f"{name}.csv").write_bytes(content[:size])
        error, of_rest = error_of(path), error_of(path, SKIP)
    ends_a_line = content[:size].endswith(b"\n")
    header_alone = content.partition(b"\n")[0] == content[:size]  # which needs no line end
    assert "csv" in (error or "csv")
    assert "csv" in (of_rest or "csv")
    assert error or ends_a_line or header_alone


def error_of(path: Path, options: LoadOptions | None = None) -> str | None:
    """The message of a load that fails; nothing if it succeeds."""
    try:
        load([path], options or LoadOptions())
    except InputError as error:
        return str(error)
    return None


def test_a_file_of_bad_rows_alone_has_no_concept(release: Path) -> None:
    released(release, CONCEPT=["one column"])
    with pytest.raises(InputError, match="no standard concept"):
        load([release], SKIP)


def test_the_command_line_loads_reports_and_answers_in_codes(program: Run, release: Path, tmp_path: Path) -> None:
    released(release, CONCEPT_ANCESTOR=DEVIATING)
    path = tmp_path / "omop.cuihop"
    done = program("load", release, "--output", path)
    assert done.code == 0
    printed = " ".join(done.out.split())
    for fact in ("invalid concepts, left out 3", "non-standard concepts, left out 3", "longer here 1", "compared 4"):
        assert fact in printed
    assert "warning: CONCEPT_ANCESTOR and this graph: shorter here: 1, as 10 below 1" in done.err
    lookups = json.loads(program("codes", "SNOMED:22298006", "--json", "-g", path).out)["lookups"]
    assert [code["cui"] for code in lookups[0]["codes"]] == ["2", "2"]
    assert program("info", path, "--verify").code == 0
    distance = program("distance", "31", "9", "-g", path)
    assert "3 hops" in distance.out
