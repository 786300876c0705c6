"""MeSH: descriptors in XML and tree numbers, their parents and names, and faults."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import Loaded, LoadOptions, load
from loader.rrf_made import concepts, edges, sabs_of_edges

DTD = "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20260101.dtd"
HEAD = f'<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "{DTD}">\n'
EYES = {
    "D005123": ("Eye", ["A01.456.505.420", "A09.371"]),
    "D005138": ("Eyebrows", ["A01.456.505.420.338", "A17.360.296"]),
    "D005145": ("Face", ["A01.456.505"]),
    "D006257": ("Head", ["A01.456"]),
    "D001829": ("Body Regions", ["A01"]),
    "D012679": ("Sense Organs", ["A09"]),
    "D006197": ("Hair", ["A17.360"]),
    "D005260": ("Female", []),
}
"""Places of real descriptors (MeSH RDF technical documentation, "Tree numbers"); A17 itself is left out."""

EDGES = {
    ("D005123", "D005145"), ("D005123", "D012679"), ("D005138", "D005123"), ("D005138", "D006197"),
    ("D005145", "D006257"), ("D006257", "D001829"),
}  # fmt: skip


def record(ui: str, name: str, numbers: Sequence[str], others: str = "") -> str:
    """A descriptor in the published layout, with another one referred to, and a concept that is not the preferred."""
    trees = "".join(f"   <TreeNumber>{number}</TreeNumber>\n" for number in numbers)
    return f"""<DescriptorRecord DescriptorClass = "1">
  <DescriptorUI>{ui}</DescriptorUI>
  <DescriptorName>
   <String>{name}</String>
  </DescriptorName>
  <SeeRelatedList><SeeRelatedDescriptor><DescriptorReferredTo>
    <DescriptorUI>D999999</DescriptorUI><DescriptorName><String>Another</String></DescriptorName>
  </DescriptorReferredTo></SeeRelatedDescriptor></SeeRelatedList>
  <TreeNumberList>
{trees}  </TreeNumberList>
  <ConceptList>
   <Concept PreferredConceptYN="Y">
    <ConceptUI>M0000001</ConceptUI>
    <ConceptName><String>{name}</String></ConceptName>
    <TermList>
     <Term  ConceptPreferredTermYN="Y"  IsPermutedTermYN="N"  LexicalTag="NON"  RecordPreferredTermYN="Y">
      <TermUI>T000001</TermUI><String>{name}</String>
     </Term>
     <Term  ConceptPreferredTermYN="N"  IsPermutedTermYN="Y"  LexicalTag="NON"  RecordPreferredTermYN="N">
      <TermUI>T000001</TermUI><String>{name}s &amp; more</String>
     </Term>
    </TermList>
   </Concept>
   <Concept PreferredConceptYN="N">
    <ConceptUI>M0000002</ConceptUI>
    <ConceptName><String>Narrower</String></ConceptName>
    <TermList><Term RecordPreferredTermYN="N"><TermUI>T000002</TermUI><String>Narrower</String></Term></TermList>
   </Concept>
  </ConceptList>{others}
 </DescriptorRecord>
"""


def in_xml(descriptors: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    records = "".join(record(ui, name, numbers) for ui, (name, numbers) in descriptors.items())
    return f'{HEAD}<DescriptorRecordSet LanguageCode = "eng">\n{records}</DescriptorRecordSet>\n'


def in_trees(descriptors: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    places = [(number, name) for name, numbers in descriptors.values() for number in numbers]
    return "".join(f"{name};{number}\n" for number, name in sorted(places))


def loaded(folder: Path, text: str | bytes, name: str = "desc2026.xml", options: LoadOptions | None = None) -> Loaded:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load([path], options or LoadOptions())


def refused(folder: Path, text: str | bytes, name: str = "desc2026.xml") -> InputError:
    with pytest.raises(InputError) as error:
        loaded(folder, text, name)
    return error.value


def test_the_parent_of_a_place_is_its_number_without_the_last_part(tmp_path: Path) -> None:
    graph = loaded(tmp_path, in_xml(EYES))
    assert edges(graph) == EDGES
    assert concepts(graph) == set(EYES)
    assert set(sabs_of_edges(graph).values()) == {("MSH",)}
    report = graph.report
    (file,) = report.files
    assert (file.role, file.rows, file.used) == ("MeSH XML", 9, 8)
    assert file.skipped == {"parent is not in the file": 1}
    assert (report.release, report.isolated, report.sabs["MSH"].version) == ("2026", 1, "2026")


def test_names_are_the_terms_of_the_preferred_concept(tmp_path: Path) -> None:
    graph = SnapshotGraph(loaded(tmp_path, in_xml(EYES)).sections)
    eye = graph.concepts(["D005123"])[0]
    assert (eye.name, eye.synonyms) == ("Eye", ("Eyes & more",))
    assert not graph.search("Narrower")
    assert not graph.search("Another")


def test_tree_numbers_give_the_same_graph_with_the_first_as_identifier(tmp_path: Path) -> None:
    graph = loaded(tmp_path, in_trees(EYES), "mtrees2026.bin")
    first = {ui: numbers[0] for ui, (_, numbers) in EYES.items() if numbers}
    assert edges(graph) == {(first[child], first[parent]) for child, parent in EDGES}
    found = SnapshotGraph(graph.sections)
    assert found.concepts([first["D005123"]])[0].name == "Eye"
    eye = found.resolve(["A09.371"])[0]
    assert (eye.status, eye.cui) == ("merged", "A01.456.505.420")
    (file,) = graph.report.files
    assert (file.role, file.rows, file.used, graph.report.release) == ("MeSH trees", 9, 8, "2026")


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), min_size=2, max_size=30, unique=True))
def test_random_trees_against_networkx(tmp_path_factory: pytest.TempPathFactory, places: list[tuple[int, ...]]) -> None:
    numbers = [".".join([f"A{place[0]:02d}", *(f"{part:03d}" for part in place[1:])]) for place in places]
    descriptors = {
        f"D{n:06d}": (f"Name {n}", numbers[n :: max(1, len(numbers) // 2)]) for n in range(max(1, len(numbers) // 2))
    }
    of = {number: ui for ui, (_, of_descriptor) in descriptors.items() for number in of_descriptor}
    expected = nx.DiGraph(
        [(ui, of[number[:-4]]) for number, ui in of.items() if number[:-4] in of and of[number[:-4]] != ui]
    )
    folder = tmp_path_factory.mktemp("mesh")
    if not expected.edges:
        assert refused(folder, in_xml(descriptors)).problem == "no is_a relation"
        return
    graph = loaded(folder, in_xml(descriptors))
    assert edges(graph) == set(expected.edges)
    by_number = loaded(folder, in_trees(descriptors), "mtrees2026.bin")
    first = {ui: min(of_descriptor) for ui, (_, of_descriptor) in descriptors.items()}
    assert edges(by_number) == {(first[child], first[parent]) for child, parent in expected.edges}


def test_gzip_other_names_and_line_ends_of_windows(tmp_path: Path) -> None:
    for name, data in (
        ("desc2026.xml.gz", gzip.compress(in_xml(EYES).encode())),
        ("descriptors.xml", in_xml(EYES).replace("\n", "\r\n").encode()),
        ("mtrees2026.bin.gz", gzip.compress(in_trees(EYES).encode())),
    ):
        assert loaded(tmp_path, data, name).report.edges == len(EDGES)
    stated = LoadOptions(file_format="mesh-trees")
    assert loaded(tmp_path, in_trees(EYES), "trees.txt", stated).report.edges == len(EDGES)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<DescriptorUI>D005145</DescriptorUI>", "<DescriptorUI>5145</DescriptorUI>", "not the identifier"),
        ("<DescriptorUI>D005145</DescriptorUI>", "", "not the identifier"),
        ("<DescriptorUI>D005145</DescriptorUI>", "<DescriptorUI>D005123</DescriptorUI>", "a descriptor stands twice"),
        ("<String>Face</String>", "<String/>", "a descriptor without a name"),
        ("A01.456.505<", "A01456505<", "not a tree number"),
        ("A01.456.505<", "A09.371<", "a tree number stands twice"),
    ],
)
def test_a_bad_descriptor_is_named_or_left_out(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = in_xml(EYES)
    assert old in text
    text = text.replace(old, new, 1)
    error = refused(tmp_path, text)
    assert problem in error.problem
    line = text.splitlines()[(error.line or 0) - 1]
    assert line.startswith("<DescriptorRecord") or new in line
    graph = loaded(tmp_path, text, options=LoadOptions(on_bad_row="skip"))
    assert graph.report.files[0].bad == 1
    assert ("D005138", "D006197") in edges(graph)


@pytest.mark.parametrize(
    ("bad", "column", "problem"),
    [
        ("Body Regions", 1, "not a name and a tree number"),
        (";A01", 1, "not a name and a tree number"),
        ("Body Regions;A1", 14, "not a tree number"),
        ("Other;A09", 7, "a tree number stands twice"),
    ],
)
def test_a_bad_line_of_tree_numbers_is_named_or_left_out(tmp_path: Path, bad: str, column: int, problem: str) -> None:
    text = f"Sense Organs;A09\n{bad}\nEye;A09.371\n"
    error = refused(tmp_path, text, "mtrees2026.bin")
    assert (error.line, error.column, error.problem) == (2, column, problem)
    graph = loaded(tmp_path, text, "mtrees2026.bin", LoadOptions(on_bad_row="skip"))
    assert edges(graph) == {("A09.371", "A09")}


def test_xml_that_breaks_off(tmp_path: Path) -> None:
    text = in_xml(EYES)
    error = refused(tmp_path, text[: len(text) // 2])
    assert error.problem == "not well-formed XML"
    assert error.line == text[: len(text) // 2].count("\n") + 1
    assert (
        refused(tmp_path, gzip.compress(text.encode())[:-20], "desc2026.xml.gz").problem == "the gzip file breaks off"
    )


@pytest.mark.parametrize(
    ("declared", "used", "problem"),
    [
        ('<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">', "&b;", "an entity is declared"),
        ('<!ENTITY secret SYSTEM "file:///etc/passwd">', "&secret;", "an entity is declared"),
        ('<!ENTITY % more SYSTEM "http://127.0.0.1:9/x.dtd"> %more;', "", "an entity is declared"),
        ("", "&nowhere;", "an entity that the file does not declare"),
    ],
)
def test_entities_are_refused(tmp_path: Path, declared: str, used: str, problem: str) -> None:
    text = in_xml(EYES).replace("Face", f"Face{used}", 1).replace(f'"{DTD}"', f'"{DTD}" [{declared}]')
    error = refused(tmp_path, text)
    assert problem in error.problem
    assert error.line is not None


def test_nesting_and_text_without_end_are_refused(tmp_path: Path) -> None:
    start = "<DescriptorRecordSet><DescriptorRecord>"
    assert "nested too deeply" in refused(tmp_path, start + "<a>" * 1000).problem
    assert "without end" in refused(tmp_path, start + "x" * (18 << 20)).problem
    assert "without end" not in refused(tmp_path, start + "x" * (15 << 20)).problem
    assert "without end" in refused(tmp_path, start + '<a b="' + "x" * (18 << 20)).problem


def test_xml_of_other_records_is_no_mesh_of_descriptors(tmp_path: Path) -> None:
    assert refused(tmp_path, "<QualifierRecordSet/>", "qual2026.xml").problem == "not a file that can be loaded"
    empty = HEAD + "<DescriptorRecordSet></DescriptorRecordSet>"
    assert refused(tmp_path, empty).problem == "no tree numbers in the file"
    assert refused(tmp_path, b"", "mtrees2026.bin").problem == "no tree numbers in the file"
