"""The results of a command fit a screen: at most 25 lines, and the rest by ``--verbose``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from example_graph import example_graph
from program_run import Run

VEINS, VESSELS, ARTERIES, HEAD, BRAIN = "C0042449", "C0005847", "C0003842", "C0018670", "C0006104"
CONCEPTS = {"a": f"{VEINS};{HEAD}", "b": f"{VESSELS};{HEAD}", "c": ARTERIES, "d": f"{HEAD};{BRAIN}", "e": "C9999999"}
IMAGES = ("--concepts", "images.csv", "--unknown", "isolated")
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "evaluate": (("evaluate", "one.run", *IMAGES), "images.csv: 5 images, 8 concepts, 0 malformed"),
    "compare": (("compare", "one.run", "two.run", *IMAGES, "--resamples", "50"), "effect: the mean difference"),
    "study": (
        ("study", "images.csv", "--unknown", "isolated", "--labels", "labels.csv", "--no-plots", "--overwrite",
         "--output", "study", "--only", "tables"),
        "P@K (%) of the ranking by nn-IoU less that by IoU",
    ),
    "captions": (("score", "captions", "references.csv", "captions.csv"), "references.csv: 3 captions, 0 empty"),
    "load": (("load", "edges.csv", "--output", "loaded.cuihop"), "connected parts"),
    "explain pair": (("explain", "pair", "images.csv", "a", "b", "--unknown", "isolated"), "images.csv: 5 images"),
    "explain query": (
        ("explain", "query", "images.csv", "a", "--ranking", "one.run", "--unknown", "isolated"), "rank   weight"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("short")
    example_graph().save(folder / "graph.cuihop")
    (folder / "images.csv").write_text("ID,CUIs\n" + "".join(f"{image},{of}\n" for image, of in CONCEPTS.items()))
    (folder / "labels.csv").write_text("image,kind\na,x\nb,x\nc,y\nd,x\ne,y\n")
    for name, ranked in (("one", "ebcda"), ("two", "abcde")):
        rows = [f"{q} Q0 {d} {r} {-r} x\n" for q in "abcde" for r, d in enumerate(ranked, 1)]
        (folder / f"{name}.run").write_text("".join(rows))
    (folder / "references.csv").write_text("ID,Caption\nx,veins of the head\ny,arteries\nz,brain\n")
    (folder / "captions.csv").write_text("ID,Caption\nx,vessels of the head\ny,veins\nz,head\n")
    (folder / "edges.csv").write_text("child,parent\nb,a\nc,a\nd,c\n")
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CUIHOP_GRAPH", "graph.cuihop")
    return program


@pytest.mark.parametrize("command", COMMANDS)
def test_a_result_fits_a_screen_and_verbose_prints_the_rest(run: Run, command: str) -> None:
    arguments, left_out = COMMANDS[command]
    short, verbose = run(*arguments), run(*arguments, "--verbose")
    assert (short.code, verbose.code) == (0, 0)
    assert len(short.out.splitlines()) <= 25
    assert left_out not in short.out
    assert left_out in verbose.out


def test_the_conditions_are_one_line(run: Run) -> None:
    lines = run(*COMMANDS["evaluate"][0]).out.splitlines()
    conditions = (
        "5 queries, each excluded from its own results · n = 1, λ = 0.5, hops in both directions · release example ("
    )
    assert [line[: len(conditions)] for line in lines if "queries, each" in line] == [conditions]


def test_what_is_unknown_or_missing_is_always_printed_once(run: Run) -> None:
    done = run(*COMMANDS["evaluate"][0])
    text = done.out + done.err
    assert text.count("1 of 8 occurrences (12.5%)") == 1
    Path("many.csv").write_text("ID,CUIs\na,C0042449\nb,C0042449\nc,C9999999\n")
    Path("many.run").write_text("a Q0 b 1 2 x\n")
    done = run("evaluate", "many.run", "--concepts", "many.csv", "--unknown", "isolated", "--missing", "zero")
    assert "2 queries without a ranking: scored 0" in done.out
    assert "1 of 3 occurrences" not in done.out
    assert done.err.count("1 of 3 occurrences") == 1


def test_a_rank_column_that_contradicts_the_scores_is_printed(run: Run) -> None:
    Path("odd.csv").write_text("query,document,rank,score\na,b,1,1\na,c,2,2\n")
    done = run("evaluate", "odd.csv", *IMAGES, "--missing", "zero")
    assert "1 query has another order by the rank column; --order rank uses it" in done.out


def test_json_has_all_of_it(run: Run) -> None:
    found = json.loads(run(*COMMANDS["evaluate"][0], "--json").out)
    assert list(found["inputs"]) == ["concepts", "ranking"]
    assert found["counts"]["self_retrieved"] == 5
    assert found["parameters"]["direction"] == "any"


def test_an_inferred_form_is_always_printed(run: Run) -> None:
    Path("wide.csv").write_text("a,b,c\nb,a,c\n")
    assert "a row for each query" in run("evaluate", "wide.csv", *IMAGES, "--missing", "zero").out
