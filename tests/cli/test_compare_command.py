"""``cuihop compare`` of rankings: evaluated together as ``cuihop evaluate`` evaluates each, alone or beside cards."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuihop.comparison.score_card import ScoreCard
from example_graph import UNKNOWN, example_graph
from program_run import Run

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"
IMAGES = {"a": f"{VEINS};{HEAD}", "b": f"{VESSELS};{HEAD}", "c": ARTERIES, "d": VEINS}
GOOD = {"a": "bdc", "b": "adc", "c": "bad", "d": "abc"}
BAD = {"a": "cdb", "b": "cda", "c": "dab", "d": "cba"}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("compare") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def run(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in this process, in a folder with concepts, labels, judgements and rankings."""
    monkeypatch.setenv("CUIHOP_GRAPH", str(snapshot))
    monkeypatch.chdir(tmp_path)
    Path("images.csv").write_text("ID,CUIs\n" + "".join(f"{image},{of}\n" for image, of in IMAGES.items()))
    for name, ranking in (("good", GOOD), ("bad", BAD)):
        rows = [f"{q} Q0 {d} 1 {-rank} x\n" for q, order in ranking.items() for rank, d in enumerate(order)]
        Path(f"{name}.run").write_text("".join(rows))
    np.save("rows.npy", np.array([["abcd".index(image) for image in GOOD[query]] for query in "abcd"]))
    Path("labels.csv").write_text("image,kind\na,x\nb,x\nc,y\nd,x\n")
    Path("qrels").write_text("a 0 b 1\nb 0 a 2\nb 0 d 0\nc 0 b 1\nd 0 a 1\n")
    return program


CONCEPTS = ("--concepts", "images.csv", "--measure", "nn-CUI@2", "--measure", "CUI@1")


def answer(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("compare", *arguments, "--json", "--resamples", "100")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_rankings_score_what_evaluate_says_of_each(run: Run) -> None:
    found = answer(run, "good.run", "bad.run", "third=rows.npy", *CONCEPTS, "--cards", "cards")
    assert [system["system"] for system in found["systems"]] == ["good", "bad", "third"]
    assert found["holm"] == {"tests": 6, "family": "2 measures × 3 pairs of systems"}
    for name, file in (("good", "good.run"), ("bad", "bad.run"), ("third", "rows.npy")):
        run("evaluate", file, *CONCEPTS, "--card", "alone.json", "--system", name)
        alone, here = ScoreCard.read("alone.json"), ScoreCard.read(f"cards/{name}.json")
        assert here.digest == alone.digest
        assert here.source == f"cards/{name}.json"
        (system,) = [system for system in found["systems"] if system["system"] == name]
        assert (system["sha256"], system["means"]) == (alone.digest, alone.means)


def test_cards_and_rankings_may_be_mixed_and_the_measures_are_then_those_of_the_card(run: Run) -> None:
    run("evaluate", "good.run", *CONCEPTS, "--card", "good.json", "--system", "best")
    found = answer(run, "good.json", "bad.run", "--concepts", "images.csv")
    assert [(d["measure"], d["baseline"], d["system"]) for d in found["differences"]] == [
        ("nn-CUI@2", "best", "bad"), ("CUI@1", "best", "bad")
    ]  # fmt: skip
    assert found["differences"][0]["difference"] < 0
    renamed = answer(run, "other=good.json", "best=bad.run", "--concepts", "images.csv")
    assert [system["system"] for system in renamed["systems"]] == ["other", "best"]
    assert renamed["systems"][0]["sha256"] == ScoreCard.read("good.json").digest  # of the file, whatever its new name


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (["--hops", "2"], "n"),
        (["--lambda", "0.25"], "lambda"),
        (["--direction", "up"], "direction"),
        (["--unknown", "isolated"], "unknown"),
        (["--missing", "zero"], "missing"),
        (["--empty-ideal", "skip"], "empty_ideal"),
        (["--ties", "trec"], "ties"),
        (["--labels", "labels.csv"], "content of labels"),
        (["--qrels", "qrels"], "content of qrels"),
        (["--corpus", "more.csv"], "content of corpus"),
    ],
)
def test_a_card_of_other_conditions_than_the_options_is_refused_by_field(
    run: Run, options: list[str], field: str
) -> None:
    Path("more.csv").write_text(Path("images.csv").read_text() + f"e,{HEAD}\n")
    run("evaluate", "good.run", *CONCEPTS, "--card", "good.json")
    done = run("compare", "good.json", "bad.run", *CONCEPTS, *options)
    assert (done.code, done.out) == (3, "")
    assert f"field {field}: the score cards of good and bad do not match" in " ".join(done.err.split())


def test_tables_for_people_fit_a_terminal_of_100_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = run("compare", "good.run", "bad.run", *CONCEPTS, "--seed", "3", "--resamples", "200", "--verbose")
    assert max(len(line) for line in done.out.splitlines() if " · " not in line) <= 100
    words = " ".join(done.out.split())
    for part in (
        "system nn-CUI@2 CUI@1",
        "nn-CUI@2 bad good −",
        "4 queries that both systems were scored on",
        "difference: of the system over the baseline (system − baseline); wins and losses: of the system",
        "interval: paired bootstrap; p: randomisation test, two-sided; 200 resamples, seed 3",
        "p (Holm): adjusted for all 2 tests, 2 measures × 1 pair of systems",
        "4 queries, each excluded from its own results · n = 1, λ = 0.5, hops in both directions · release example (",
    ):
        assert part in words


def test_what_only_one_ranking_has_is_told_with_its_name(run: Run) -> None:
    Path("short.run").write_text("a Q0 a 1 2 x\na Q0 b 1 1 x\n")
    done = run("compare", "good.run", "short.run", *CONCEPTS, "--missing", "zero", "--verbose")
    lines = done.out.splitlines()
    assert "short: 1 query retrieved itself; that hit was removed and later ranks moved up" in lines
    assert "short: 3 queries without a ranking: scored 0" in lines
    assert [line for line in lines if line.startswith("good:")] == [
        "good: good.run: TREC run by score, 4 queries, 3 retrieved each",
        "good: without the query without anything relevant by IoU: CUI@1 0.8889",
    ]
    assert "short: short.run: TREC run by score, 1 query, 2 retrieved each" in lines
    assert sum(line.startswith("images.csv: 4 images") for line in lines) == 1


def test_systems_are_compared_with_one_of_them(run: Run) -> None:
    found = answer(run, "good.run", "bad.run", "third=rows.npy", *CONCEPTS, "--against", "bad", "-m", "CUI@1")
    assert found["against"] == "bad"
    assert {(d["baseline"], d["system"]) for d in found["differences"]} == {("bad", "good"), ("bad", "third")}
    assert found["holm"] == {"tests": 4, "family": "2 measures × 2 systems against bad"}


def test_labels_and_judgements_need_no_concepts(run: Run) -> None:
    by_labels = answer(
        run, "good.run", "rows.npy", "bad.run", "--labels", "labels.csv", "-m", "P@1(kind)", "-m", "AP(kind)"
    )
    assert by_labels["systems"][0]["means"] == by_labels["systems"][1]["means"]
    assert by_labels["systems"][0]["means"]["P@1(kind)"] == 0.75
    by_qrels = answer(run, "good.run", "bad.run", "--qrels", "qrels", "-m", "RR", "--ties", "trec")
    assert by_qrels["systems"][0]["means"] == {"RR": 1.0}
    assert by_qrels["conditions"]["ties"] == "trec"


def test_embeddings_of_a_corpus_go_by_the_name_of_their_system(run: Run) -> None:
    generator = np.random.default_rng(4)
    for name in ("u", "v"):
        np.save(f"{name}.npy", generator.normal(size=(4, 3)))
        np.save(f"{name}_corpus.npy", generator.normal(size=(5, 3)))
    Path("more.csv").write_text(Path("images.csv").read_text() + f"e,{HEAD}\n")
    given = ("u.npy", "v.npy", *CONCEPTS, "--corpus", "more.csv", "--similarity", "dot")
    both = ("--corpus-embeddings", "u=u_corpus.npy", "--corpus-embeddings", "v=v_corpus.npy")
    found = answer(run, *given, *both)
    run("evaluate", "v.npy", "--corpus-embeddings", "v_corpus.npy", *CONCEPTS, "--corpus", "more.csv",
        "--similarity", "dot", "--card", "alone.json")  # fmt: skip
    assert found["systems"][1]["means"] == ScoreCard.read("alone.json").means
    one = answer(run, "u.npy", "good.run", *given[2:-2], "--corpus-embeddings", "u_corpus.npy")
    assert [system["system"] for system in one["systems"]] == ["u", "good"]
    done = run("compare", *given, "--corpus-embeddings", "u_corpus.npy")
    assert done.code == 2
    assert "--corpus-embeddings takes NAME=FILE" in " ".join(done.err.split())


def test_values_of_each_query_side_by_side(run: Run) -> None:
    run("compare", "good.run", "bad.run", *CONCEPTS, "--output", "side.csv")
    with Path("side.csv").open() as file:
        rows = {row["query"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(IMAGES)
    assert list(rows["a"]) == ["query", "nn-CUI@2 good", "nn-CUI@2 bad", "CUI@1 good", "CUI@1 bad"]
    assert (rows["d"]["CUI@1 good"], rows["d"]["CUI@1 bad"]) == ("1.0", "0.0")


def test_tables_for_a_paper(run: Run) -> None:
    for name in ("tables.tex", "tables.md"):
        done = run("compare", "good=good.run", "b_d=bad.run", *CONCEPTS, "--report", name)
        assert f"Tables: {name}" in done.out
    latex = Path("tables.tex").read_text()
    assert latex.isascii()  # pdflatex knows no minus sign of Unicode
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 2
    assert r"system & nn-CUI@2 & CUI@1 \\" in latex
    assert r"nn-CUI@2 & b\_d & good & $-$" in latex
    markdown = Path("tables.md").read_text()
    assert "| system | nn-CUI@2 | CUI@1 |" in markdown
    assert "Interval: paired bootstrap; p: randomisation test, two-sided; 10,000 resamples, seed 0." in markdown


def test_a_zipped_run_is_called_without_its_endings(run: Run) -> None:
    Path("zipped.run.gz").write_bytes(gzip.compress(Path("good.run").read_bytes()))
    assert answer(run, "zipped.run.gz", "bad.run", *CONCEPTS)["systems"][0]["system"] == "zipped"


def test_a_file_whose_name_holds_an_equals_sign(run: Run) -> None:
    Path("n=2.run").write_text(Path("good.run").read_text())
    assert answer(run, "n=2.run", "bad.run", *CONCEPTS)["systems"][0]["system"] == "n=2"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["good.run", *CONCEPTS], 2, "two or more systems are needed"),
        (["good.run", "./good.run", *CONCEPTS], 2, "'good.run' is given twice"),
        (["good.run", "again=good.run", *CONCEPTS], 2, "'good.run' is given twice"),
        (["x=good.run", "x=bad.run", *CONCEPTS], 2, "two systems are called 'x'"),
        (["=good.run", "bad.run", *CONCEPTS], 2, "'=good.run' is neither FILE nor NAME=FILE"),
        (
            ["good.json", "bad.json", "--hops", "2", "--ties", "trec"],
            2,
            "--hops, --ties: every system is a score",
        ),
        (["good.json", "bad.json", "--concepts", "images.csv"], 2, "--concepts: every system is a score card"),
        (["good.json", "bad.json", "--cards", "folder"], 2, "--cards: every system is a score card"),
        (["good.run", "bad.run"], 2, "without --concepts, measures are needed"),
        (["good.run", "bad.run", "-m", "AP"], 2, "relevance has to come from one of them"),
        (["good.run", "bad.run", "-m", "AP", "--qrels", "qrels", "--corpus", "images.csv"], 2, "go with --concepts"),
        (["good.run", "bad.run", "-m", "nn-CUI@1", "--qrels", "qrels"], 3, "a concept-based measure without concepts"),
        (["good.run", "bad.run", *CONCEPTS, "--labels", "a", "--label-concepts", "b"], 2, "give one of --labels"),
        (["good.run", "bad.run", *CONCEPTS, "--similarity", "dot"], 2, "--similarity goes with a NumPy array"),
        (["good.run", "bad.run", *CONCEPTS, "--corpus-embeddings", "rows.npy"], 2, "arrays: none is given"),
        (["good.run", "bad.run", *CONCEPTS, "--report", "tables.html"], 3, "ends in .md or .tex"),
        (["good.run", "bad.run", *CONCEPTS, "--against", "none"], 3, "parameter against: no such system; found 'none'"),
        (["good.run", "none.run", *CONCEPTS], 3, "none.run: no such file"),
        (["good.run", ".", *CONCEPTS], 3, "cannot be read"),
        (["good.run", "half.run", *CONCEPTS], 3, "half.run: queries without a ranking; found 3"),
        (["good.run", "half.run", "-m", "RR", "--qrels", "qrels"], 3, "half.run: queries without a ranking; found 3"),
        (["good.run", "bad.run", *CONCEPTS, "--resamples", "9999999"], 3, "1 or more, 1,000,000 at most"),
        (["a/b=good.run", "bad.run", *CONCEPTS, "--cards", "folder"], 6, "no score card can be called 'a/b'"),
        (["good.run", "bad.run", *CONCEPTS, "--cards", "qrels/folder"], 6, "not written: not a folder"),
    ],
)
def test_options_that_exclude_one_another_are_refused(run: Run, arguments: list[str], code: int, message: str) -> None:
    Path("half.run").write_text("a Q0 b 1 1 x\n")
    for name in ("good", "bad"):
        run("evaluate", f"{name}.run", *CONCEPTS, "--card", f"{name}.json")
    done = run("compare", *arguments)
    words = " ".join(done.err.replace("│", " ").split())
    assert (done.code, done.out) == (code, "")
    assert message in words
    assert not Path("folder").exists()


def test_nn_iou_needs_a_graph(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUIHOP_GRAPH")
    done = run("compare", "good.run", "bad.run", *CONCEPTS)
    assert done.code == 2
    assert "nn-IoU needs --graph" in done.err
    assert answer(run, "good.run", "bad.run", "--concepts", "images.csv", "-m", "CUI@1")["conditions"]["n"] == 1


def test_unknown_identifiers_are_refused_with_advice(run: Run) -> None:
    Path("images.csv").write_text(Path("images.csv").read_text().replace(ARTERIES, UNKNOWN))
    done = run("compare", "good.run", "bad.run", *CONCEPTS)
    assert done.code == 4
    assert UNKNOWN in done.err
    assert "(--unknown isolated) accepts them: each matches only itself; drop leaves them out." in done.err


def test_names_of_files_that_are_not_utf_8_are_written(run: Run) -> None:
    """The program gets each such byte as half of a surrogate pair, which no file can hold."""
    for name in ("good.run", "bad.run", "images.csv"):
        Path(name).rename(f"\udcff{name}")
    for name, system in (("good", ("--system", "A\udcff")), ("bad", ())):
        concepts = ("--concepts", "\udcffimages.csv", "--measure", "nn-CUI@2")
        done = run("evaluate", f"\udcff{name}.run", *concepts, "--card", f"{name}.json", *system)
        assert (done.code, done.err) == (0, "")
    assert [ScoreCard.read(f"{name}.json").system for name in ("good", "bad")] == ["A\ufffd", "\ufffdbad"]
    done = run("compare", "B\udcff=good.json", "bad.json", "--html", "\udcff.html", "--resamples", "100")
    assert (done.code, done.err) == (0, "")
    page = Path("\udcff.html").read_text("utf-8")
    assert "\ufffdbad" in page
    assert "B\ufffd" in page


def test_a_release_from_a_file_whose_name_is_not_utf_8_is_opened_again(run: Run) -> None:
    Path("\udcff.csv").write_text("child,parent\nC0000001,C0000002\n")
    assert run("load", "\udcff.csv", "--output", "\udcff.cuihop", "--release", "of \udcff").code == 0
    done = run("info", "\udcff.cuihop", "--json")
    assert (done.code, "of ?" in done.out) == (0, True)
