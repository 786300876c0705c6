"""``cuihop similarity``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions
from example_graph import example_graph
from program_run import Run

VEINS, AORTA, HEAD, CYCLE = "C0042449", "C0003483", "C0018670", "C9000001"
COUNTS = {"C0042449": 3.0, "C0003483": 2.0, "C9000001": 1.0}


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, graph: SnapshotGraph) -> Path:
    path: Path = tmp_path_factory.mktemp("similarity") / "example.cuihop"
    graph.save(path)
    return path


@pytest.fixture
def run(program: Run, snapshot: Path) -> Run:
    return lambda *arguments: program("similarity", *map(str, arguments), "--graph", str(snapshot))


def test_a_pair_is_shown_with_its_ancestors_and_the_account(run: Run) -> None:
    out = run(VEINS, AORTA).out
    for measure in SIMILARITY_MEASURES:
        assert measure in out
    assert "C0005847 Blood vessels   lowest, deepest, nearest, most informative" in out
    assert "hierarchy: 16 nodes, 1 cycle with 2 concepts made one node each; a virtual root above 5 roots" in out
    apart = run(VEINS, CYCLE, "-m", "lin", "-m", "wup").out
    assert "virtual root" in apart
    assert "in a cycle of 2" in apart
    assert "Resnik" not in apart


def test_values_are_those_of_the_library(run: Run, graph: SnapshotGraph) -> None:
    printed = json.loads(run("C9000901", AORTA, "--ic", "Seco", "-m", "Lin", "-m", "simGIC", "--json").out)
    lin, gic = (graph.hierarchy.similarity(VEINS, AORTA, SimilarityOptions(m, "Seco")) for m in ("Lin", "simGIC"))
    assert printed["values"] == {"Lin": lin, "simGIC": gic}
    assert (printed["merged"], printed["names"]["C0005847"]) == ({"C9000901": VEINS}, "Blood vessels")


def test_sets_are_compared(run: Run, graph: SnapshotGraph) -> None:
    printed = json.loads(run(f"{VEINS};{HEAD}", AORTA, "--json").out)
    expected = {
        m: graph.hierarchy.set_similarities([([VEINS, HEAD], [AORTA])], SimilarityOptions(m))[0]
        for m in SIMILARITY_MEASURES
    }
    assert printed["values"] == expected
    assert "best-match average" in run(f"{VEINS};{HEAD}", AORTA).out


def test_a_file_of_pairs_gets_values_and_the_most_informative_ancestor(
    run: Run, graph: SnapshotGraph, tmp_path: Path
) -> None:
    source, target = tmp_path / "pairs.tsv", tmp_path / "out.tsv"
    source.write_text(f"from\tto\n{VEINS}\t{AORTA}\n{VEINS}\t{HEAD}\nC9000901\t{VEINS}\n")
    done = run("--pairs", source, "-m", "Lin", "-m", "path", "-o", target)
    assert "3 pairs, 0 of them without a value" in done.out
    lines = target.read_text().splitlines()
    assert lines[0] == "from\tto\tLin\tpath\tmost_informative_common_ancestor"
    lin = graph.hierarchy.similarity(VEINS, AORTA)
    assert lines[1] == f"{VEINS}\t{AORTA}\t{lin!r}\t0.25\tC0005847"
    assert lines[2] == f"{VEINS}\t{HEAD}\t0.0\t0.0\tvirtual root"
    assert lines[3] == f"C9000901\t{VEINS}\t1.0\t1.0\t{VEINS}"
    source.write_text(f"{VEINS}\t{AORTA}\n{VEINS}\tC9999999\n")
    assert "column 2" in run("--pairs", source).err
    report = json.loads(run("--pairs", source, "--on-bad-row", "skip", "-o", target, "--json").out)
    assert (report["pairs"], report["with_value"], report["rejected"]) == (1, 1, 1)


def test_counts_make_the_information_content_of_a_corpus(run: Run, graph: SnapshotGraph, tmp_path: Path) -> None:
    table, images = tmp_path / "counts.csv", tmp_path / "images.csv"
    table.write_text("".join(f"{cui},{count:g}\n" for cui, count in COUNTS.items()) + "C9999999,4\n")
    options = SimilarityOptions("Lin", "corpus", COUNTS)
    done = run(VEINS, AORTA, "--counts", table)
    assert f"{graph.hierarchy.similarity(VEINS, AORTA, options):.4f}" in done.out
    assert "4 concepts, 10 occurrences; 1 concept with 4 occurrences not in the graph, left out" in done.out
    assert "none" in run(VEINS, HEAD, "--counts", table, "-m", "Lin").out  # head does not occur
    rows = [
        f"{image},{cui}\n" for cui, count in COUNTS.items() for image in map(f"{cui}-{{}}".format, range(int(count)))
    ]
    images.write_text("ID,CUIs\n" + "".join(rows))
    same = json.loads(run(VEINS, AORTA, "--counts", images, "--ic", "corpus", "--json").out)
    assert same["values"]["Lin"] == graph.hierarchy.similarity(VEINS, AORTA, options)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("CUI,count\nC0042449,many\n", "line 2, column 2: not a number of occurrences; found 'many'"),
        ("C0042449,3\nC0042449,-1\n", "line 2"),
        ("C0042449,3\nC0003483,2\nC0042449,1\n", "line 3, column 1: a concept stands twice"),
        ("C0042449,nan\n", "line 1, column 2: not a number"),
        ("C0042449,0\n", "holds no occurrence"),
        ("", "wrong number of columns"),
        ("C0042449;C0003483,3\nC0042449,3\n", "line 1, column 1: not an identifier"),
    ],
)
def test_wrong_counts_are_refused_with_their_place(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        ConceptCounts.read(path)
    assert place in str(raised.value)


def test_counts_are_read_from_every_form_of_table(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    lines, tabs, table = tmp_path / "a.jsonl", tmp_path / "a.tsv", tmp_path / "a.parquet"
    lines.write_text("".join(json.dumps({"cui": cui, "count": count}) + "\n" for cui, count in COUNTS.items()))
    tabs.write_text("count\tnote\tCUI\n" + "".join(f"{count}\t-\t{cui.lower()}\n" for cui, count in COUNTS.items()))
    parquet.write_table(pyarrow.table({"cui": list(COUNTS), "count": [3, 2, 1]}), table)
    assert [dict(ConceptCounts.read(path)) for path in (lines, tabs, table)] == [COUNTS] * 3
    images = ImageConcepts.of({"a": "C0042449;C0003483", "b": "C0042449", "c": ""})
    assert dict(ConceptCounts.of(images)) == {"C0003483": 1.0, "C0042449": 2.0}


def test_counts_of_another_graph_are_refused(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match=r"no concept of the counts is in the graph"):
        ConceptCounts({"C9999999": 1.0}).used_in(graph)
    assert ConceptCounts({"C9000901": 1.0, "C0042449": 2.0}).used_in(graph)[0] == {"C0042449": 3.0}


def test_wrong_requests_are_refused(run: Run, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("C0042449,3\n")
    for arguments, message in (
        ((VEINS,), "give two identifiers, or --pairs FILE"),
        ((VEINS, AORTA, "-m", "cosine"), "no such measure of similarity"),
        ((VEINS, "C9999999"), "C9999999"),
        ((VEINS, AORTA, "--ic", "corpus"), "--counts FILE"),
        ((VEINS, AORTA, "--ic", "Seco", "--counts", counts), "--counts goes with --ic corpus"),
    ):
        done = run(*arguments)
        assert done.code != 0
        assert message in done.err, done.err
