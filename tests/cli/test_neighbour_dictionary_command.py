"""``cuihop neighbours --concepts``, and the commands that take its file as a graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuihop import NeighbourDictionary
from example_graph import UNKNOWN, example_graph
from program_run import Run

IMAGES = f"ID,CUIs\na,C0042449;C0006121\nb,C0005847;{UNKNOWN}\nc,C9000901;C0003842;C9000903\nd,\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in a folder with a graph, concepts, a list of identifiers and annotations."""
    monkeypatch.chdir(tmp_path)
    example_graph().save("graph.cuihop")
    Path("images.csv").write_text(IMAGES)
    Path("list.txt").write_text("CUI\nc0003483\nC0018670\n")
    Path("run.csv").write_text("query,document,rank\na,b,1\na,c,2\nb,c,1\nb,a,2\nc,d,1\nd,a,1\n")
    Path("gold.csv").write_text("ID,start,end,cui\n1,0,5,C0042449\n2,0,4,C0003842\n")
    Path("found.csv").write_text("ID,start,end,cui\n1,0,5,C0042449\n2,0,4,C0005847\n")
    return program


def write(run: Run, *arguments: str) -> None:
    done = run("neighbours", "--concepts", "images.csv", "--graph", "graph.cuihop", "--output", "nb", *arguments)
    assert done.code == 0, done.err


def test_the_content_of_the_file_is_printed(run: Run) -> None:
    arguments = ("--concepts", "images.csv", "--concepts", "list.txt", "--hops", "2", "-g", "graph.cuihop", "-o", "nb")
    done = run("neighbours", *arguments)
    lines = [" ".join(line.split()) for line in done.out.splitlines() if line.strip()]
    size = Path("nb").stat().st_size
    assert lines[1:-2] == [
        "read images.csv: 4 images, 7 concepts, 0 malformed",
        "read list.txt: 2 identifiers, 0 malformed, 1 in lower case read in upper case",
        "concepts 6 in the graph",
        "retired 1 taken for successors, 1 without one",
        "unknown 1",
        "ordered pairs 10 within 2 hops, in both directions",
    ]
    assert lines[-2].startswith(f"written nb, {size:,} bytes, in ")
    assert lines[-1] == "It is used as a graph: --graph nb"
    assert "licence" in done.err
    fields = json.loads(run("neighbours", *arguments, "--json").out)
    assert fields["neighbour_dictionary"] == NeighbourDictionary.open("nb").facts["neighbour_dictionary"]
    assert (fields["bytes"], fields["merged"], fields["release"]) == (
        size, {"C9000901": "C0042449"}, example_graph().release.digest,
    )  # fmt: skip


@pytest.mark.parametrize("direction", ["any", "vertical"])
def test_measures_have_the_same_output_as_with_the_graph(run: Run, direction: str) -> None:
    write(run, "--hops", "2", "--direction", direction)
    shared = ("--unknown", "isolated", "--direction", direction)
    commands = [
        ("evaluate", "--concepts", "images.csv", "run.csv", *shared, "-n", "2", "--missing", "zero",
         "--measure", "nn-CUI@2", "--measure", "nn-CUI@2(n=1)", "--json"),
        ("evaluate", "--concepts", "images.csv", "--baseline", "nn-iou", *shared, "--json"),
    ]  # fmt: skip
    for command in commands:
        by_graph, by_dictionary = (run(*command, "--graph", graph) for graph in ("graph.cuihop", "nb"))
        assert by_graph.code == 0
        assert by_graph == by_dictionary
    pair = ("explain", "concepts", "C0042449;C9000903", f"C0005847;{UNKNOWN}", *shared, "--json", "--graph")
    by_graph, by_dictionary = (json.loads(run(*pair, graph).out) for graph in ("graph.cuihop", "nb"))
    assert {each["name"] for each in by_dictionary["concepts"]} == {None}
    assert by_graph["concepts"][0]["name"] == "Veins"
    assert by_graph["relevance"] == by_dictionary["relevance"]
    assert by_graph["nn_iou"] > 0


def test_score_cards_of_both_are_compared(run: Run) -> None:
    write(run)
    for graph in ("graph.cuihop", "nb"):
        card = ("--card", f"{graph}.json", "--system", graph)
        done = run("evaluate", "--concepts", "images.csv", "run.csv", "--unknown", "isolated", *card,
                   "--graph", graph, "--missing", "zero")  # fmt: skip
        assert done.code == 0
    assert run("compare", "graph.cuihop.json", "nb.json", "--resamples", "100").code == 0


def test_annotations_are_scored_as_far_as_the_dictionary_reaches(run: Run) -> None:
    Path("names.tsv").write_text("C0003842\tthe arteries\n")
    score = ("score", "annotations", "gold.csv", "found.csv", "--resamples", "100", "--json", "--names", "names.tsv")
    (one,) = json.loads(run(*score, "--graph", "graph.cuihop").out)["systems"]
    (miss,) = one.pop("near_misses")
    assert one["false_positives_by_hops"]["1"] == 1
    for hops in (1, 5):
        arguments = ("--concepts", "list.txt", "--concepts", "images.csv", "--hops", hops, "-g", "graph.cuihop")
        assert run("neighbours", *arguments, "-o", "nb").code == 0
        (other,) = json.loads(run(*score, "--graph", "nb").out)["systems"]
        (same,) = other.pop("near_misses")
        assert (miss["true_name"], same["true_name"], same["predicted_name"]) == ("Arteries", "the arteries", None)
        if hops == 1:
            assert other["false_positives_by_hops"] == {"1": 1, "farther": 0, "not in the graph": 0}
            other["false_positives_by_hops"] = one["false_positives_by_hops"]
        assert one == other


def test_detected_concepts_have_the_same_scores(run: Run) -> None:
    write(run)
    Path("detected.csv").write_text("ID,CUIs\na,C0005847\nb,C0042449\nc,C0003842\nd,C0006121\n")
    detect = ("score", "concepts", "images.csv", "detected.csv", "--json", "--graph")
    ((one,), (other,)) = (json.loads(run(*detect, graph).out)["systems"] for graph in ("graph.cuihop", "nb"))
    assert one["averages"] == other["averages"]
    assert "nn-F1" in json.dumps(one["averages"])


def test_a_study_has_the_same_numbers(run: Run) -> None:
    write(run, "--hops", "254")  # the ranking by BM takes all distances
    study = ("study", "images.csv", "--unknown", "isolated", "--only", "tables", "--no-plots", "--json")
    by_graph, by_dictionary = (
        json.loads(run(*study, "--graph", graph, "--output", f"study-{graph}").out)["numbers"]
        for graph in ("graph.cuihop", "nb")
    )
    assert by_graph == by_dictionary
    write(run, "--hops", "1")
    done = run(*study, "--graph", "nb", "--output", "another")
    assert (done.code, "found 254 hops; expected a bound of at most 1 hop" in done.err) == (3, True)


def test_more_than_the_file_holds_is_refused_with_a_way_on(run: Run) -> None:
    write(run)
    done = run("explain", "concepts", "C0042449", "C0005847", "-n", "2", "--graph", "nb")
    assert (done.code, done.out) == (3, "")
    assert "found 2 hops; expected a bound of at most 1 hop" in done.err
    assert "cuihop neighbours --concepts FILE --hops N" in done.err
    done = run("explain", "query", "images.csv", "a", "--graph", "nb")
    assert (done.code, "a neighbour dictionary holds no paths" in done.err) == (3, True)
    assert run("index", "nb").code == 5


def test_info_describes_the_file(run: Run) -> None:
    write(run)
    assert "4 concepts of images.csv within 1 hop (in both directions) in release example" in run("info", "nb").out
    assert json.loads(run("info", "nb", "--json").out)["neighbour_dictionary"]["unknown"] == 1


@pytest.mark.parametrize(
    "arguments",
    [(), ("--concepts", "images.csv"), ("--output", "nb"), ("C0042449", "--concepts", "images.csv", "--output", "nb")],
)
def test_a_concept_or_files_with_an_output(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("neighbours", *arguments, "--graph", "graph.cuihop")
    assert done.code == 2
    assert "give one concept, or --concepts FILE with --output FILE" in " ".join(done.err.split())
    assert not Path("nb").exists()


def test_a_malformed_identifier_is_named_with_its_place(run: Run) -> None:
    Path("images.csv").write_text("ID,CUIs\na,C0042449\nb,CL123456\n")
    done = run("neighbours", "--concepts", "images.csv", "--graph", "graph.cuihop", "--output", "nb")
    assert (done.code, "images.csv, line 3, image 'b'" in done.err) == (4, True)
    assert not Path("nb").exists()
