"""``cuihop evaluate`` and ``cuihop explain concepts``: what they print, where, and with which exit code."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from cuihop import ImageConcepts, SnapshotGraph, evaluate, read_ranking
from example_graph import UNKNOWN, example_graph
from program_run import Run

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"
CONCEPTS = f"ID,CUIs\na,{VEINS};{HEAD}\nb,{VESSELS};{HEAD}\nc,{ARTERIES}\nd,\n"
RUN = "a Q0 b 1 3 r\na Q0 c 2 2 r\nb Q0 c 1 2 r\nb Q0 a 2 1 r\nc Q0 b 1 1 r\nd Q0 a 1 1 r\n"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("evaluate") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def run(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in this process on the example graph, in a folder with concepts and a run."""
    monkeypatch.setenv("CUIHOP_GRAPH", str(snapshot))
    monkeypatch.chdir(tmp_path)
    Path("images.csv").write_text(CONCEPTS)
    Path("run.txt").write_text(RUN)

    return program


GIVEN = ("evaluate", "--concepts", "images.csv", "run.txt")


def test_means_and_a_summary_for_people(run: Run) -> None:
    done = run(*GIVEN, "--measure", "nn-CUI@1,3", "--measure", "CUI@1")
    assert (done.code, done.err) == (0, "")
    words = " ".join(done.out.split())
    for part in (
        "nn-CUI@1 0.6250 4",
        "CUI@1 0.2500 4",
        "4 queries, each excluded from its own results · n = 1, λ = 0.5, hops in both directions · release example (",
        "1 of 4 queries and 1 of 4 images of the corpus have no concept",
        "1 query without any relevant image by nn-IoU (scored 0)",
        "2 queries without any relevant image by IoU (scored 0)",
        "4 rankings shorter than the largest K",
    ):
        assert part in words
    for absent in ("unknown", "retired", "itself", "without a ranking", "Values of each query"):
        assert absent not in words


@pytest.mark.parametrize("option", ["--output", "--card"])
def test_a_device_or_pipe_is_not_replaced_by_a_file(run: Run, option: str) -> None:
    os.mkfifo("device")  # for root, /dev/null would be a file from then on
    done = run(*GIVEN, option, "device")
    assert (done.code, done.err) == (6, "cuihop: device: not written: a device or a pipe, and not a file\n")
    assert Path("device").is_fifo()
    assert not list(Path().glob(".*.partial"))


def test_values_of_each_query_go_to_a_file(run: Run) -> None:
    done = run(*GIVEN, "--measure", "nn-CUI@1", "--output", "out.csv", "--empty-ideal", "skip")
    assert "Values of each query: out.csv" in done.out
    assert "nn-CUI@1 0.8333 3" in " ".join(done.out.split())
    with Path("out.csv").open() as file:
        assert {row["query"]: row["nn-CUI@1"] for row in csv.DictReader(file)} == {
            "a": "1.0", "b": "0.5", "c": "1.0", "d": "",
        }  # fmt: skip


def test_the_result_as_json(run: Run) -> None:
    done = run(*GIVEN, "--measure", "nn-CUI@1", "--hops", "2", "--lambda", "0.25", "--json", "--threads", "1")
    answer = json.loads(done.out)
    assert done.err == ""
    assert set(answer) == {
        "means", "mean_queries", "counts", "release", "parameters", "versions", "inputs", "per_query", "worst", "by",
        "means_by_empty_ideal",
    }  # fmt: skip
    assert answer["per_query"] is None
    assert answer["release"]["digest"] == example_graph().release.digest
    assert (answer["parameters"]["n"], answer["parameters"]["lambda"]) == (2, 0.25)
    assert answer["parameters"]["ranking"] == "run.txt"
    assert answer["counts"]["queries"] == 4
    assert answer["inputs"] == {
        "concepts": "images.csv: 4 images, 5 concepts, 0 malformed",
        "ranking": "run.txt: TREC run by score, 4 queries, 1 to 2 retrieved each",
    }


def test_unknown_concepts_are_refused_with_advice_or_counted(run: Run) -> None:
    Path("images.csv").write_text(CONCEPTS.replace(ARTERIES, f"{UNKNOWN};C9000901;C9000902;C9800001"))
    done = run(*GIVEN)
    assert (done.code, done.out) == (4, "")
    assert "--unknown isolated" in done.err
    done = run(*GIVEN, "--unknown", "isolated", "--verbose")
    assert done.code == 0
    for part in (
        "2 of 7 identifiers (28.6%), 2 of 8 occurrences (25.0%): not in the graph; match only themselves",
        "1 of 7 identifiers (14.3%), 1 of 8 occurrences (12.5%): retired without an exact successor",
        "retired, replaced by their successors (C9000901 → C0042449)",
    ):
        assert part in done.out


def test_missing_rankings_stop_it_or_score_nothing(run: Run) -> None:
    Path("run.txt").write_text("a Q0 b 1 3 r\na Q0 a 1 4 r\n")
    done = run(*GIVEN)
    assert (done.code, done.out) == (3, "")
    assert "3: b, c, d" in done.err
    done = run(*GIVEN, "--missing", "zero", "--verbose")
    assert "3 queries without a ranking: scored 0" in done.out
    assert "1 query retrieved itself; that hit was removed" in done.out


@pytest.mark.parametrize(
    ("baseline", "measure"), [("iou", "CUI@1,2"), ("nn-iou", "nn-CUI@1,2"), ("random", "CUI@2"), ("random:7", "CUI@2")]
)
def test_baselines(run: Run, baseline: str, measure: str) -> None:
    arguments = ("evaluate", "--concepts", "images.csv", "--baseline", baseline, "--measure", measure, "--json")
    answer = json.loads(run(*arguments, "--empty-ideal", "skip").out)
    if baseline.startswith("random"):
        seed = 7 if ":" in baseline else 0
        assert answer["parameters"]["ranking"] == f"random, seed {seed}"
    else:
        assert set(answer["means"].values()) == {1.0}


def test_a_corpus_of_its_own_and_embeddings(run: Run) -> None:
    Path("corpus.csv").write_text(f"image,concepts\nx,{VESSELS}\ny,{HEAD}\n")
    np.save("q.npy", np.eye(4))
    np.save("c.npy", np.array([[1.0, 0.5, 0.1, 0.0], [0.0, 0.2, 0.3, 1.0]]))
    common = ("evaluate", "--concepts", "images.csv", "--corpus", "corpus.csv", "q.npy", "--json")
    answer = json.loads(run(*common, "--corpus-embeddings", "c.npy", "--measure", "nn-CUI@1").out)
    assert (answer["counts"]["corpus"], answer["counts"]["queries_in_corpus"]) == (2, 0)
    # a finds x (1/3 of the ideal 1/2 ... by hand: nn-IoU 2 * .5 / 3), b finds x, c finds y, d finds y.
    assert answer["means"]["nn-CUI@1"] == pytest.approx(((1 / 3) / (1 / 2) + 1.0 + 0.0 + 0.0) / 4)
    assert run(*common, "--measure", "nn-CUI@1").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("evaluate", "--concepts", "images.csv"), 2, "either RANKING or --baseline"),
        ((*GIVEN, "--baseline", "iou"), 2, "either RANKING or --baseline"),
        (("evaluate", "--concepts", "images.csv", "--baseline", "best"), 2, "no baseline is called 'best'"),
        (("evaluate", "--concepts", "images.csv", "--baseline", "random:x"), 2, "no baseline is called"),
        (("evaluate", "--concepts", "images.csv", "--baseline", "random:"), 2, "no baseline is called"),
        (("evaluate", "--concepts", "none.csv", "--baseline", "iou"), 3, "none.csv: no such file"),
        (("evaluate", "--concepts", "run.txt", "--baseline", "iou"), 3, "run.txt, line 1: wrong number of columns"),
        (("evaluate", "--concepts", "images.csv", "none.run"), 3, "none.run: no such file"),
        ((*GIVEN, "--measure", "ERR@10"), 3, "not a measure"),
        ((*GIVEN, "--measure", "nDCG@10"), 3, "which documents are relevant"),
        ((*GIVEN, "--lambda", "1.5"), 2, "lambda"),
        ((*GIVEN, "--hops", "-1"), 2, "hops"),
        ((*GIVEN, "--graph", "none.cuihop"), 5, "no such snapshot"),
        ((*GIVEN, "--output", "no/such/folder.csv"), 6, "not written"),
    ],
)
def test_what_is_wrong_has_a_message_and_a_code(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run(*arguments)
    assert done.code == code
    assert message in " ".join(done.err.split())


# explain concepts


def test_the_nn_iou_of_two_sets_is_shown_with_its_reasons(run: Run) -> None:
    done = run("explain", "concepts", f"{VEINS};{HEAD}", f"{VESSELS};{HEAD};C0006121")
    assert (done.code, done.err) == (0, "")
    words = " ".join(done.out.split())
    for part in (
        "1 C0018670 Head",
        "0.5 C0042449 Veins: 1 hop to C0005847 Blood vessels",
        "0.5 C0005847 Blood vessels: 1 hop from C0042449 Veins",
        "0 C0006121 Brain stem: 3 hops from C0018670 Head, too far",
        "IoU 0.2500 = 1 / 4",
        "nn-IoU 0.5000 = (1 + 0.5 · 2) / 4 (n = 1, λ = 0.5, hops in both directions)",
    ):
        assert part in words


def test_all_concepts_within_n_hops_are_named(run: Run) -> None:
    done = run("explain", "concepts", VEINS, f"{VESSELS};{ARTERIES}", "-n", "2")
    assert f"1 hop to {VESSELS} Blood vessels; also 2 hops to {ARTERIES}" in done.out


def test_the_nn_iou_of_two_sets_as_json(run: Run) -> None:
    given = ("explain", "concepts", f"C9000901;{UNKNOWN}", VESSELS, "--unknown", "isolated", "-n", "2", "--json")
    answer = json.loads(run(*given).out)
    assert (answer["A"], answer["B"], answer["merged"]) == ([VEINS, UNKNOWN], [VESSELS], {"C9000901": VEINS})
    assert (answer["unknown"], answer["retired"], answer["upper_case"]) == ([UNKNOWN], [], {})
    assert answer["relevance"] == {
        "n": 2,
        "lambda": 0.5,
        "weight": "constant",
        "ic": None,
        "direction": "any",
        "iou": 0.0,
        "nn_iou": pytest.approx(1 / 3),
        "shared": [],
        "related": [
            {"cui": VEINS, "side": "A", "witnesses": [{"cui": VESSELS, "hops": 1}], "similarity": None},
            {"cui": VESSELS, "side": "B", "witnesses": [{"cui": VEINS, "hops": 1}], "similarity": None},
        ],
        "union": 3,
        "isolated": [UNKNOWN],
        "dropped": [],
        "merged": {"C9000901": VEINS},
        "release": example_graph().release.digest,
        "release_name": "example",
    }  # fmt: skip


def test_near_concepts_are_weighed_by_hops_and_unknown_ones_left_out(run: Run) -> None:
    sets = (f"C0006121;{UNKNOWN}", "C0018670;C0926510")
    done = run("explain", "concepts", *sets, "--unknown", "drop", "-n", "3", "--weight", "hops")
    assert f"not in the graph, and left out: {UNKNOWN}" in done.err
    assert "0.25 = 0.5²" in done.out
    assert "(0 + 0.5² · 2 + 0.5³ · 1) / 3   (n = 3, λ = 0.5, weight λ^hops, hops in both directions)" in done.out
    assert run("explain", "concepts", VEINS, VESSELS, "--weight", "lin").code == 2
    assert run("explain", "concepts", VEINS, VESSELS, "--weight", "hops", "-n", "33").code == 3


def test_retired_and_unknown_concepts_of_two_sets_are_named(run: Run) -> None:
    done = run("explain", "concepts", f"C9000901;{UNKNOWN}", VESSELS, "--unknown", "isolated")
    assert "C9000901 → C0042449" in done.err
    assert f"{UNKNOWN}: not in the graph: matches only itself" in done.out
    done = run("explain", "concepts", f"C9000901;{UNKNOWN}", VESSELS)
    assert (done.code, done.out) == (4, "")
    assert "--unknown isolated" in done.err


def test_two_empty_sets_have_an_nn_iou_of_0(run: Run) -> None:
    done = run("explain", "concepts", "", "")
    assert "nn-IoU 0.0000 = (0 + 0.5 · 0) / 0" in " ".join(done.out.split())
    assert run("explain", "concepts", f"{VEINS};;{HEAD}", VESSELS).code == 3


def test_the_worst_queries_are_listed_with_their_values(run: Run) -> None:
    done = run(*GIVEN, "--measure", "nn-CUI@1,3", "--worst", "2")
    lines = [line.split() for line in done.out.splitlines()]
    at = lines.index(["Queries", "with", "the", "smallest", "nn-CUI@1."])
    header, _, first, second = [line for line in lines[at + 1 :] if line][:4]
    assert header == ["query", "nn-CUI@1", "nn-CUI@3"]
    assert (first[0], second[0]) == ("d", "b")  # 0 and 0.5
    answer = json.loads(run(*GIVEN, "--measure", "nn-CUI@1,3", "--worst", "2", "--json").out)
    assert answer["worst"] == ["d", "b"]


def test_a_printed_evaluation_is_the_text_of_the_command_line(run: Run, snapshot: Path) -> None:
    with SnapshotGraph.open(snapshot) as graph:
        images = ImageConcepts.read("images.csv")
        found = evaluate(images, read_ranking("run.txt", tuple(images)), graph, measures=["nn-CUI@1,3", "CUI@1"])
    printed = run(*GIVEN, "--measure", "nn-CUI@1,3", "--measure", "CUI@1", "--verbose").out
    assert str(found).replace("─", "").split() == printed.replace("─", "").split()


def test_a_figure_of_the_values_is_written_and_another_suffix_refused_before_the_work(run: Run) -> None:
    done = run(*GIVEN, "--plot", "values.svg")
    assert "Figure: values.svg" in done.out
    assert "nn-CUI@5" in Path("values.svg").read_text()
    done = run(*GIVEN[:-1], "--plot", "values.gif", "missing.txt")
    assert (done.code, "found '.gif'; expected a name that ends in .svg, .png or .pdf" in done.err) == (3, True)
