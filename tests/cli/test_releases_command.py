"""``cuihop releases compare``: releases from files and from Neo4j, a user's concepts and pairs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest

from cuihop import SnapshotGraph
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import coded_graph
from neo4j_server import connected
from program_run import Run

OLD = [("C1", "C2"), ("C3", "C2"), ("C4", "C2"), ("C6", "C1"), ("C7", "C2")]
NEW = [("C1", "C2"), ("C5", "C2"), ("C6", "C5"), ("C6", "C2"), ("C7", "C8")]
PAIRS = [("C1", "C2"), ("C6", "C2"), ("C6", "C1"), ("C7", "C2"), ("C4", "C1"), ("C5", "C1"), ("C3", "C2"), ("C5", "C4")]
OLD_NAMES = {"C0000001": "One", "C0000003": "Three"}
NEW_NAMES = {"C0000001": "One", "C0000005": "Five"}


def cui(short: str) -> str:
    return f"C{int(short[1:]):07}"


def edges(short: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(cui(child), cui(parent)) for child, parent in short]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUIHOP_NEO4J", raising=False)
    retired = [(cui("C3"), "SY", cui("C1")), (cui("C4"), "RO", cui("C5"))]
    SnapshotGraph.of(edges(OLD), name="old", names=OLD_NAMES, identifiers="cui").save("old.cuihop")
    SnapshotGraph.of(edges(NEW), name="new", names=NEW_NAMES, retired=retired, identifiers="cui").save("new.cuihop")
    Path("mine.txt").write_text("".join(f"{cui(f'c{number}').lower()}\n" for number in range(1, 10)))
    Path("pairs.csv").write_text("a,b,note\n" + "".join(f"{cui(a)},{cui(b)},x\n" for a, b in PAIRS))
    return tmp_path


def test_what_becomes_of_a_users_concepts_and_pairs(here: Path, program: Run) -> None:
    done = program(
        "releases", "compare", "old.cuihop", "new.cuihop", "--concepts", "mine.txt", "--pairs", "pairs.csv",
        "--concept-changes", "concepts.tsv", "--pair-changes", "pairs.tsv", "--output", "changes.tsv",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in Path("concepts.tsv").read_text().splitlines()]
    assert rows[0] == ["concept", "change", "old", "new", "candidates", "parents gained", "parents lost", "name"]
    assert {row[0]: tuple(row[1:]) for row in rows[1:]} == {
        cui("C1"): ("unchanged", cui("C1"), cui("C1"), "", "", "", "One"),
        cui("C2"): ("unchanged", cui("C2"), cui("C2"), "", "", "", ""),
        cui("C3"): ("replaced", cui("C3"), cui("C1"), "", "", "", "Three"),
        cui("C4"): ("retired", cui("C4"), "", f"RO {cui('C5')}", "", "", ""),
        cui("C5"): ("added", "", cui("C5"), "", "", "", "Five"),
        cui("C6"): ("moved", cui("C6"), cui("C6"), "", f"{cui('C2')};{cui('C5')}", cui("C1"), ""),
        cui("C7"): ("moved", cui("C7"), cui("C7"), "", cui("C8"), cui("C2"), ""),
        cui("C8"): ("added", "", cui("C8"), "", "", "", ""),
        cui("C9"): ("unknown", "", "", "", "", "", ""),
    }
    assert f"concept moved\t{cui('C6')}\t\n" in Path("changes.tsv").read_text()
    for text in (
        "9 identifiers, 0 malformed, 9 in lower case",
        "8 pairs, header 'a\\tb'",
        "every pair is in pairs.tsv",
    ):
        assert text in done.err
    for text in ("concepts moved 2", "unknown 1", "in neither release 1", f"{cui('C6')} {cui('C2')} nearer 2 1"):
        assert text in " ".join(done.out.split())


def test_the_hops_of_pairs_are_those_of_networkx(here: Path, program: Run) -> None:
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--pairs", "pairs.csv", "--json",
                   "--pair-changes", "pairs.tsv")  # fmt: skip
    graphs = [networkx.Graph(edges(OLD)), networkx.Graph(edges(NEW))]
    lines = Path("pairs.tsv").read_text().splitlines()
    assert lines[0] == "\t".join(("a", "b", "change", "old hops", "new hops"))
    kinds = {}
    for (a, b), line in zip(edges(PAIRS), lines[1:], strict=True):
        hops = []
        for graph, merged in zip(graphs, ({}, {cui("C3"): cui("C1")}), strict=True):
            ends = [merged.get(end, end) for end in (a, b)]
            linked = all(end in graph for end in ends) and networkx.has_path(graph, *ends)
            hops.append(str(networkx.shortest_path_length(graph, *ends)) if linked else "")
        assert [line.split("\t")[at] for at in (0, 1, 3, 4)] == [a, b, *hops]
        kinds[a, b] = line.split("\t")[2]
    assert list(kinds.values()) == [
        "same", "nearer", "farther", "path lost", "concept lost", "concept gained", "same", "in neither release",
    ]  # fmt: skip
    found = json.loads(done.out)["pairs"]
    assert (found["pairs"], found["rejected"], sum(found["counts"].values())) == (8, 0, 8)
    assert found["changed"][0] == {
        "a": cui("C6"), "b": cui("C2"), "change": "nearer", "old_hops": 2, "new_hops": 1
    }  # fmt: skip
    assert [row["new_hops"] for row in found["changed"]] == [1, 2, None, None, 2, None]


def test_json_has_counts_changes_and_how_each_input_was_read(here: Path, program: Run) -> None:
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--concepts", "mine.txt", "--json")
    found = json.loads(done.out)
    assert (found["old"], found["new"], found["concepts moved"], found["edges added"]) == ("old", "new", 2, 4)
    assert found["inputs"] == {
        "old": "old.cuihop: old, 6 concepts, 5 edges", "new": "new.cuihop: new, 6 concepts, 5 edges",
        "concepts": "mine.txt: 9 identifiers, 0 malformed, 9 in lower case read in upper case",
    }  # fmt: skip
    assert found["concepts"]["counts"] == {
        "unchanged": 2, "moved": 2, "replaced": 1, "retired": 1, "added": 2, "unknown": 1
    }  # fmt: skip
    assert found["concepts"]["changed"][1] == {
        "requested": cui("C4"), "change": "retired", "old": cui("C4"), "new": None, "name": None,
        "candidates": [{"relation": "RO", "cui": cui("C5")}], "parents_gained": [], "parents_lost": [],
    }  # fmt: skip


def test_concepts_of_images_and_many_changes(here: Path, program: Run) -> None:
    Path("images.csv").write_text("ID,CUIs\na,C0000001;C0000003\nb,C0000003\n")
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--concepts", "images.csv")
    assert "images.csv: 2 images" in done.err
    assert "replaced 1" in " ".join(done.out.split())
    Path("many.txt").write_text("".join(f"C{number:07}\n" for number in range(100, 140)))
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--concepts", "many.txt")
    assert "only the first 20 of 40 that changed" in done.err


def test_a_pair_in_neither_release_is_refused_or_set_aside(here: Path, program: Run) -> None:
    Path("bad.tsv").write_text("C0000001\tC0000002\nC0000001\tC0000009\n")
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--pairs", "bad.tsv")
    assert done.code == 3
    assert "bad.tsv, line 2, column 2: unknown concept; found 'C0000009'; expected a concept of release old or new" in (
        " ".join(done.err.split())
    )
    Path("apart.tsv").write_text(f"{cui('C5')}\t{cui('C4')}\n")
    done = program("releases", "compare", "old.cuihop", "new.cuihop", "--pairs", "apart.tsv")
    assert "in neither release 1" in " ".join(done.out.split())
    skipping = ("releases", "compare", "old.cuihop", "new.cuihop", "--pairs", "bad.tsv", "--on-bad-row", "skip")
    assert "needs --rejects, or --pair-changes" in program(*skipping).err
    done = program(*skipping, "--pair-changes", "out.tsv")
    assert (done.code, Path("out.tsv").read_text()) == (0, "C0000001\tC0000002\tsame\t1\t1\n")
    assert Path("out.tsv.rejects").read_text().startswith("2\tunknown concept")


def test_codes_stand_for_the_concept_of_each_release(here: Path, program: Run) -> None:
    coded_graph().save("coded.cuihop")
    edges = [("C0006121", "C0006104"), ("C0006104", "C0018670")]
    SnapshotGraph.of(edges, name="plain", identifiers="cui").save("plain.cuihop")
    Path("codes.tsv").write_text("MSH:D001933\tMSH:D001921\nMSH:D001933\tC0006104\n")
    asked = ("--pairs", "codes.tsv", "--pair-changes", "out.tsv")
    assert program("releases", "compare", "coded.cuihop", "coded.cuihop", *asked).code == 0
    assert Path("out.tsv").read_text() == ("MSH:D001933\tMSH:D001921\tsame\t1\t1\nMSH:D001933\tC0006104\tsame\t1\t1\n")
    assert program("releases", "compare", "coded.cuihop", "plain.cuihop", *asked).code == 0
    assert [line.split("\t")[2:] for line in Path("out.tsv").read_text().splitlines()] == [
        ["concept lost", "1", ""]
    ] * 2
    Path("codes.txt").write_text("MSH:D001933\n")
    done = program("releases", "compare", "coded.cuihop", "plain.cuihop", "--concepts", "codes.txt", "--json")
    (changed,) = json.loads(done.out)["concepts"]["changed"]
    assert (changed["change"], changed["old"], changed["new"]) == ("removed", "C0006121", None)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("old.cuihop", "2"), 3, "not two releases of one kind; found old.cuihop and 2; expected two snapshots"),
        (("1", "2"), 2, "numbers of releases go with --graph"),
        (("old.cuihop", "grpc://localhost:50051"), 3, "not two releases of one kind"),
        (("old.cuihop", "new.cuihop", "--graph", "bolt://localhost:1"), 2, "--graph goes with numbers of releases"),
        (("old.cuihop", "missing.cuihop"), 5, "missing.cuihop: no such snapshot"),
        (("old.cuihop", "mesh.cuihop"), 3, "the releases have no concept in common; found old and mesh"),
        (("old.cuihop", "new.cuihop", "--concept-changes", "x.tsv"), 2, "--concept-changes goes with --concepts"),
        (("old.cuihop", "new.cuihop", "--pair-changes", "x.tsv"), 2, "go with --pairs"),
        (("old.cuihop", "new.cuihop", "--concepts", "bad.txt"), 4, "bad.txt, line 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_an_error(
    here: Path, program: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    SnapshotGraph.of([("D000001", "D000002")], name="mesh").save("mesh.cuihop")
    Path("bad.txt").write_text("C0000001\nC1\n")
    done = program("releases", "compare", *arguments)
    text = " ".join(done.err.replace("│", " ").split())
    assert (done.code, done.out) == (code, ""), text
    assert message in text


def test_releases_in_neo4j_are_compared_as_files_are(
    here: Path, program: Run, neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    with connected(neo4j_server) as connection:
        graphs = [SnapshotGraph.open(f"{name}.cuihop") for name in ("old", "new")]
        numbers = [load_online(graph.sections, connection, switch=False).number for graph in graphs]
    asked = ("--concepts", "mine.txt", "--pairs", "pairs.csv", "--json")
    of_files = json.loads(program("releases", "compare", "old.cuihop", "new.cuihop", *asked).out)
    for command in ("releases compare", "neo4j releases compare"):
        done = program(*command.split(), *numbers, "--graph", neo4j_server.address, *asked)
        stored = json.loads(done.out)
        assert stored["inputs"]["old"] == f"{numbers[0]}: old, 6 concepts, 5 edges"
        assert {**stored, "inputs": of_files["inputs"]} == of_files
