"""``cuihop concept --file``, and names from a file in other commands."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from example_graph import EDGES, UNKNOWN, example_graph
from program_run import Run

VEINS, VESSELS, AORTA = "C0042449", "C0005847", "C0003483"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in a folder with two graphs, one of them without names, concepts and names."""
    monkeypatch.chdir(tmp_path)
    example_graph().save("graph.cuihop")
    SnapshotGraph.of(EDGES, identifiers="cui").save("bare.cuihop")
    Path("images.csv").write_text(f"ID,CUIs\nb,C9000901;{AORTA}\na,{UNKNOWN};C9000004\nc,\n")
    Path("names.tsv").write_text(f"{VEINS}\tveins; all of them\n{UNKNOWN.lower()}\tthe unknown, named\n")
    return program


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_row_for_each_image_and_concept(run: Run) -> None:
    done = run("concept", "--file", "images.csv", "--graph", "graph.cuihop")
    assert rows(done.out) == [
        ["image", "concept", "name"],
        ["b", AORTA, "Aorta"],
        ["b", "C9000901", "Veins"],
        ["a", "C9000004", ""],
        ["a", UNKNOWN, ""],
        ["c", "", ""],
    ]
    assert "C9000901 → C0042449" in done.err
    assert "4 distinct concepts: 2 with a name, 2 without; 1 unknown in the graph" in done.err
    assert f"without a name: C9000004, {UNKNOWN}" in done.err


def test_a_file_names_what_the_graph_does_not(run: Run) -> None:
    done = run(
        "concept", "--file", "images.csv", "--graph", "graph.cuihop", "--names", "names.tsv", "--output", "named.csv"
    )
    assert done.out == ""
    assert rows(Path("named.csv").read_text())[2:5] == [
        ["b", "C9000901", "Veins"], ["a", "C9000004", ""], ["a", UNKNOWN, "the unknown, named"],
    ]  # fmt: skip
    assert "names.tsv: 2 names, tabs" in done.err


def test_a_list_of_identifiers_keeps_its_order_and_repeats(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("list.txt").write_text(f"\nconcept\n{VESSELS.lower()}\n\n {VEINS}\n{VESSELS}\n")
    done = run("concept", "--file", "list.txt", "--names", "names.tsv")
    assert rows(done.out) == [
        ["concept", "name"], [VESSELS, ""], [VEINS, "veins; all of them"], [VESSELS, ""],
    ]  # fmt: skip
    assert "list.txt: 3 identifiers, 0 malformed, 1 in lower case" in done.err


def test_retired_concepts_are_counted(run: Run) -> None:
    Path("list.txt").write_text("C9000902\n")
    done = run("concept", "--file", "list.txt", "--graph", "graph.cuihop")
    assert (done.code, "1 retired without a successor" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("C0042449\nbrain\n", "list.txt, line 2: not an identifier"),
        ("C0042449 C0005847\n", "list.txt, line 1: "),
        ("CUI\n", "list.txt: the file holds no concept"),
        ("\n\n", "list.txt: the file holds no concept"),
        ("C0042449\nCL123456\n", "list.txt, line 2: not an identifier"),
    ],
)
def test_a_wrong_list_is_refused_with_its_line(run: Run, content: str, message: str) -> None:
    Path("list.txt").write_text(content)
    done = run("concept", "--file", "list.txt", "--graph", "graph.cuihop")
    assert (done.code in {3, 4}, done.out) == (True, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("CUI,name\nC0042449,\n", "names.csv, line 2, column 2: the name is missing"),
        ("CUI,name\nveins,C0042449\n", "names.csv, line 2, column 1: the columns are swapped"),
        ("C0042449,one\nC0042449,two\n", "names.csv, line 2, column 2: a second name of C0042449"),
        ("CUI,name\n", "names.csv: "),
        ("C0042449\n", "names.csv, line 1: wrong number of columns"),
    ],
)
def test_a_wrong_file_of_names_is_refused_with_its_line(run: Run, content: str, message: str) -> None:
    Path("names.csv").write_text(content)
    done = run("concept", "--file", "images.csv", "--names", "names.csv")
    assert (done.code, done.out) == (3, "")
    assert message in done.err


def test_names_come_from_somewhere(run: Run) -> None:
    done = run("concept", "--file", "images.csv")
    assert (done.code, "give --graph" in done.err) == (2, True)


# Names in explanations


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "concepts", f"{VEINS};{UNKNOWN}", VESSELS, "--unknown", "isolated"),
        ("explain", "pair", "pairs.csv", "a", "b", "--unknown", "isolated"),
        ("explain", "query", "pairs.csv", "a", "--unknown", "isolated"),
    ],
    ids=["concepts", "pair", "query"],
)
def test_explanations_name_concepts_from_the_file(run: Run, command: tuple[str, ...]) -> None:
    Path("pairs.csv").write_text(f"ID,CUIs\na,{VEINS};{UNKNOWN}\nb,{VESSELS}\nc,{AORTA}\n")
    without = run(*command, "--graph", "bare.cuihop")
    assert (without.code, "veins; all" in without.out) == (0, False)
    named = run(*command, "--graph", "bare.cuihop", "--names", "names.tsv")
    assert f"{VEINS} veins; all of them" in named.out
    assert named.out.replace(" veins; all of them", "") != named.out
    by_graph = run(*command, "--graph", "graph.cuihop", "--names", "names.tsv")
    assert (f"{VEINS} Veins" in by_graph.out, "veins; all" in by_graph.out) == (True, False)


def test_json_of_an_explanation_names_isolated_concepts_too(run: Run) -> None:
    sets = (f"{VEINS};{UNKNOWN}", VESSELS, "--unknown", "isolated", "--names", "names.tsv", "--json")
    fields = json.loads(run("explain", "concepts", *sets, "--graph", "bare.cuihop").out)
    names = {concept["cui"]: concept["name"] for concept in fields["concepts"]}
    assert names == {VEINS: "veins; all of them", VESSELS: None, UNKNOWN: "the unknown, named"}
