"""Graphs written as KGX and codes as SSSOM, read back, and against NetworkX."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
import pytest
import yaml

from cuihop import SnapshotGraph
from cuihop.adapters.graph_export import to_kgx, to_networkx, to_sssom
from cuihop.annotated_texts.mention_identifiers import IdentifierMap
from cuihop.errors import InputError
from cuihop_loader import LoadOptions, load
from example_graph import coded_graph, example_graph
from program_run import Run

EDGES = [("HP:1", "C0000001"), ("HP:2", "C0000001"), ("HP:2", "HP:1"), ("C0000002", "C0000001")]
NAMES = {"HP:1": "One\tand  a half", "C0000001": "Über", "C0000002": "“Two”"}
NODES = "id\tcategory\tname\nUMLS:C0000001\tbiolink:Disease\tOne\nHP:2\tbiolink:NamedThing\tTwo\n"
COLUMNS = "id\tsubject\tpredicate\tobject\tprimary_knowledge_source\n"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def reloaded(folder: Path, *names: str) -> SnapshotGraph:
    return SnapshotGraph(load([folder / name for name in names], LoadOptions()).sections)


@pytest.mark.parametrize(
    "made", [partial(SnapshotGraph.of, EDGES, names=NAMES), example_graph, partial(SnapshotGraph.of, [])]
)
def test_a_graph_comes_back_from_kgx(made: Callable[[], SnapshotGraph], tmp_path: Path) -> None:
    graph = made()
    nodes, edges = tmp_path / "g_nodes.tsv", tmp_path / "g_edges.tsv"
    original = to_networkx(graph)
    assert to_kgx(graph, nodes, edges) == (original.number_of_nodes(), original.number_of_edges())
    plain = [{key: text.removeprefix("UMLS:") for key, text in row.items()} for row in table(edges)]
    assert [(row["subject"], row["object"]) for row in plain] == list(original.edges)
    assert {(row["predicate"], row["knowledge_level"]) for row in plain} <= {
        ("biolink:subclass_of", "knowledge_assertion")
    }  # fmt: skip
    assert [row["id"].removeprefix("UMLS:") for row in table(nodes)] == list(original)
    if not original:
        return
    again = to_networkx(reloaded(tmp_path, "g_nodes.tsv", "g_edges.tsv"))
    assert set(again.edges) == set(original.edges)
    names = {cui: " ".join((name or "").split()) or None for cui, name in original.nodes(data="name")}
    assert dict(again.nodes(data="name")) == names


def test_a_neighbourhood_is_the_subgraph_of_its_concepts(tmp_path: Path, program: Run) -> None:
    graph = example_graph()
    graph.save(tmp_path / "graph.cuihop")
    files = ("--nodes", tmp_path / "n.tsv", "--edges", tmp_path / "e.tsv", "--graph", tmp_path / "graph.cuihop")
    done = program("export", "c0006121", "--max-hops", "2", "--direction", "up", *files, "--json")
    assert done.code == 0, done.err
    near = nx.ego_graph(to_networkx(graph), "C0006121", radius=2)
    assert {(row["subject"], row["object"]) for row in table(tmp_path / "e.tsv")} == {
        (f"UMLS:{child}", f"UMLS:{parent}") for child, parent in near.edges
    }
    assert json.loads(done.out)["counts"] == {"nodes": near.number_of_nodes(), "edges": near.number_of_edges()}
    done = program("export", *files)
    assert (done.code, f"{tmp_path / 'n.tsv'}: 17 nodes" in done.out) == (0, True)


def test_a_graph_that_cannot_be_read_as_a_whole_needs_a_concept(tmp_path: Path, program: Run) -> None:
    example_graph().save(tmp_path / "graph.cuihop")
    (tmp_path / "some.txt").write_text("C0006121\nC0006104\n")
    made = ("--concepts", tmp_path / "some.txt", "--output", tmp_path / "some.cuihop", "--hops", "2")
    assert program("neighbours", *made, "--graph", tmp_path / "graph.cuihop").code == 0
    files = ("--nodes", tmp_path / "n.tsv", "--edges", tmp_path / "e.tsv", "--graph", tmp_path / "some.cuihop")
    done = program("export", *files)
    assert (done.code, "cannot be read as a whole. Give a concept and --max-hops." in done.err) == (3, True)
    assert not (tmp_path / "n.tsv").exists()


def test_each_vocabulary_of_an_edge_has_a_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("child,parent,sab\nHP:1,HP:2,HPO\nHP:1,HP:2,MSH\nHP:3,HP:2,HPO\n")
    graph = reloaded(tmp_path, "in.csv")
    assert to_kgx(graph, tmp_path / "n.tsv", tmp_path / "e.tsv") == (3, 3)
    again = to_networkx(reloaded(tmp_path, "n.tsv", "e.tsv"))
    assert dict(nx.get_edge_attributes(again, "sabs")) == dict(nx.get_edge_attributes(to_networkx(graph), "sabs"))


def test_other_predicates_of_kgx_are_counted_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "nodes.tsv").write_text(NODES)
    (tmp_path / "edges.tsv").write_text(
        f"{COLUMNS}e1\tHP:2\tbiolink:subclass_of\tumls:C0000001\tinfores:hpo\n"
        "e2\tHP:2\tbiolink:part_of\tHP:3\tinfores:hpo\ne3\tHP:4\trdfs:subClassOf\tHP:2\t\n"
        "e4\tHP:2\tbiolink:broad_match\tHP:5\tinfores:hpo\n"
    )
    result = load([tmp_path / "nodes.tsv", tmp_path / "edges.tsv"], LoadOptions())
    graph = to_networkx(SnapshotGraph(result.sections))
    assert set(graph.edges) == {("HP:2", "C0000001"), ("HP:4", "HP:2")}
    assert graph.edges["HP:2", "C0000001"]["sabs"] == ("hpo",)
    assert dict(graph.nodes(data="name")) == {"C0000001": "One", "HP:2": "Two", "HP:4": None}
    (warning,) = [text for text in result.report.warnings if "is not is_a" in text]
    assert "1 biolink:part_of" in warning
    assert "1 biolink:broad_match" in warning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{COLUMNS}e1\tHP:2\tbiolink:subclass_of\t\tx\n", "line 2, column object: an identifier is missing"),
        (f"{COLUMNS}e1\tHP 2\tbiolink:subclass_of\tHP:1\tx\n", "line 2, column subject: not an identifier"),
        (f"{COLUMNS}e1\tHP:2\tbiolink:subclass_of\n", "line 2.*wrong number of columns"),
        ("id\tcategory\tparent_id\nHP:1\tx\tHP:2\n", "no column of the child"),
        ("subject\tobject\nHP:1\tHP:2\n", "no column of the child"),
    ],
)
def test_wrong_files_of_kgx_are_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "edges.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        load([tmp_path / "edges.tsv"], LoadOptions())


def test_codes_become_mappings_and_a_map_again(tmp_path: Path, program: Run) -> None:
    coded_graph().save(tmp_path / "graph.cuihop")
    path = tmp_path / "codes.sssom.tsv"
    done = program("export", "--mappings", path, "--graph", tmp_path / "graph.cuihop")
    assert done.code == 0, done.err
    graph = coded_graph()
    expected = {
        (f"{code.sab}:{code.code}", f"UMLS:{code.cui}")
        for lookup in graph.codes(list(to_networkx(graph)))
        for code in lookup.codes
        if code.mark == "active"
    }
    rows = table(path)
    assert {(row["subject_id"], row["object_id"]) for row in rows} == expected
    assert {row["predicate_id"] for row in rows} == {"skos:closeMatch"}
    assert {row["mapping_justification"] for row in rows} == {"semapv:UnspecifiedMatching"}
    facts = yaml.safe_load("".join(line[1:] for line in path.read_text().splitlines(True) if line.startswith("#")))
    assert {row["subject_id"].partition(":")[0] for row in rows} | {"UMLS"} == facts["curie_map"].keys()
    assert {"mapping_set_id", "license"} <= facts.keys()
    read = IdentifierMap.read(path)
    assert {(code, f"UMLS:{cui}") for code, cuis in read.concepts.items() for cui in cuis} == expected
    assert f"{path}: {len(read.concepts)} identifiers" in read.account
    one = program("export", "--mappings", path, "--sab", "MSH", "--graph", tmp_path / "graph.cuihop")
    assert one.code == 0
    assert {row["subject_source"] for row in table(path)} == {"MSH"}


def test_codes_of_a_graph_without_any_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no codes"):
        to_sssom(example_graph(), tmp_path / "x.sssom.tsv")
    assert not (tmp_path / "x.sssom.tsv").exists()


SSSOM = '#curie_map:\n#  MESH: "http://x/"\n# license: y\nsubject_id\tpredicate_id\tobject_id\tpredicate_modifier\n'


def test_only_mappings_of_one_meaning_count(tmp_path: Path) -> None:
    (tmp_path / "m.sssom.tsv").write_text(
        f"{SSSOM}MESH:D1\tskos:exactMatch\tUMLS:C0000001\t\nMESH:D1\tskos:closeMatch\tUMLS:c0000002\t\n"
        "MESH:D2\tskos:broadMatch\tUMLS:C0000003\t\nMESH:D3\tskos:exactMatch\tUMLS:C0000004\tNot\n"
        "UMLS:C0000005\towl:equivalentClass\tMESH:D4\t\n"
    )
    read = IdentifierMap.read(tmp_path / "m.sssom.tsv")
    assert read.concepts == {"MESH:D1": ("C0000001", "C0000002"), "MESH:D4": ("C0000005",)}
    assert "SSSOM, tabs, left out: 1 skos:broadMatch, 1 Not skos:exactMatch" in read.account


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("MESH:D1\t\tUMLS:C0000001\t\n", "line 5, column 2: a field is missing; found nothing"),
        ("\tskos:exactMatch\tUMLS:C0000001\t\n", "line 5, column 1: a field is missing"),
        ("MESH:D1\tskos:exactMatch\tUMLS:C1 2\t\n", "line 5, column 3: "),
        ("MESH:D1\tskos:exactMatch\n", "line 5.*wrong number of columns"),
        ("MESH:D1\tskos:broadMatch\tUMLS:C0000001\t\n", "holds no mapping of SSSOM; found 1 skos:broadMatch"),
        ("", "holds no mapping of SSSOM"),
    ],
)  # fmt: skip
def test_wrong_files_of_sssom_are_errors_by_line(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "m.sssom.tsv").write_text(SSSOM + row)
    with pytest.raises(InputError, match=message):
        IdentifierMap.read(tmp_path / "m.sssom.tsv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "n.tsv"], "give --nodes and --edges, or --mappings"),
        (["--nodes", "n.tsv", "--edges", "e.tsv", "--sab", "MSH"], "--sab goes with --mappings"),
        (["C0006121", "--mappings", "m.tsv"], "go together"),
        (["--mappings", "m.tsv", "--direction", "up"], "go together"),
    ],
)
def test_options_that_do_not_go_together_are_refused(program: Run, arguments: list[str], message: str) -> None:
    done = program("export", *arguments, "--graph", "g.cuihop")
    assert (done.code, message in " ".join(done.err.replace("│", " ").split())) == (2, True)
