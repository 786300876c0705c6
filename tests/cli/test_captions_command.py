"""``cuihop score captions``: one system, several, files, and refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cuihop.comparison.score_card import ScoreCard
from example_graph import example_graph
from program_run import Run

REFERENCES = 'ID,Caption\n1,"Veins of the head, 3 cm"\n2,Aorta\n3,\n4,Nothing\n'
GOOD = 'ID,Caption\n2,Arteries\n1,"Veins of the head, 5 cm"\n4,Nothing\n3,\n'
BAD = "ID,Caption\n1,Blood vessels\n2,Aorta\n3,Head\n4,Something\n"
SCORES = (
    "ID,BERTScore,similarity,BLEURT,AlignScore\n1,0.5,0.9,0.1,0.2\n2,0.5,0.9,0.1,0.2\n3,1,1,1,1\n4,0.5,0.9,-0.1,0\n"
)
FEW = ("--resamples", "100")
CONCEPTS = ("--reference-concepts", "true.csv", "--predicted-concepts", "good=found.csv")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("captions") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, content in (("ref", REFERENCES), ("good", GOOD), ("bad", BAD), ("scores", SCORES)):
        Path(f"{name}.csv").write_text(content)
    return program


def test_one_system_with_its_near_misses(run: Run, snapshot: Path) -> None:
    done = run("score", "captions", "ref.csv", "good.csv", "--graph", snapshot, "--output", "values.csv", *FEW)
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("good 0.7500 (") and ") 0.5000 (" in line and ") 0.6250 (" in line for line in lines)
    assert "1 1 C0003842 Arteries C0003483 Aorta" in lines
    assert "1 image with two empty captions: scored 1" in lines
    assert "1 image without a concept on either side: 0 by concepts" in lines
    assert "Values of each caption: values.csv" in lines
    rows = list(csv.DictReader(Path("values.csv").read_text().splitlines()))
    assert [row["query"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["concept-F1"] for row in rows] == ["1.0", "0.0", "1.0", "0.0"]
    assert [row["nn-concept-F1"] for row in rows] == ["1.0", "0.5", "1.0", "0.0"]


def test_several_systems_are_ranked_and_compared(run: Run) -> None:
    names = ("ROUGE-1,BLEU@2", "--cards", "cards", "--report", "r.tex", "--plot", "p.svg")
    done = run("score", "captions", "ref.csv", "B=bad.csv", "G=good.csv", "--measure", *names, *FEW, "--verbose")
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    places = {name: next(i for i, line in enumerate(lines) if line.startswith(f"{name} 0.")) for name in "GB"}
    assert places["G"] < places["B"]
    assert any(line.startswith("ROUGE-1 G B +0.") for line in lines)
    assert "G: good.csv: 4 captions, 1 empty, header 'ID,Caption'" in lines
    assert r"\toprule" in Path("r.tex").read_text()
    assert Path("p.svg").stat().st_size
    again = run("compare", "cards/B.json", "cards/G.json", *FEW, "--json")
    twice = run(
        "score", "captions", "ref.csv", "B=bad.csv", "G=good.csv", "--measure", "ROUGE-1,BLEU@2", *FEW, "--json"
    )
    assert json.loads(again.out)["differences"] == json.loads(twice.out)["differences"]
    assert ScoreCard.read("cards/G.json").means["ROUGE-1"] == 0.75


def test_json_means_by_label_and_values_from_elsewhere(run: Run, snapshot: Path) -> None:
    Path("groups.csv").write_text("image,modality\n1,CT\n2,CT\n3,MR\n4,MR\n")
    arguments = ("--scores", "good=scores.csv", "--graph", snapshot, "--by", "modality", "--groups", "groups.csv", *FEW)
    done = run("score", "captions", "ref.csv", "good.csv", *arguments, "--json")
    (system,) = json.loads(done.out)["systems"]
    means = {row["measure"]: row["mean"] for row in system["scores"]}
    assert means == system["means"]
    assert means["factuality"] == pytest.approx((means["concept-F1"] + means["AlignScore"]) / 2)
    assert means["overall"] == pytest.approx((means["relevance"] + means["factuality"]) / 2)
    assert system["near_misses"][0]["true_name"] == "Aorta"
    ct = next(row for row in system["by"] if (row["measure"], row["value"]) == ("ROUGE-1", "CT"))
    assert (ct["queries"], ct["mean"]) == (2, 0.5)
    official = run("score", "captions", "ref.csv", "good.csv", *arguments, "--official", "2025")
    assert "relevance: not computed, without BERTScore(value=F1)" in official.out.splitlines()


def test_concepts_of_another_extractor(run: Run) -> None:
    Path("true.csv").write_text("ID,CUIs\n1,C0042449;C0018670\n2,C0003483\n3,\n4,\n")
    Path("found.csv").write_text("ID,CUIs\n1,C0042449\n2,C0003842\n3,\n4,C0018670\n")
    done = run("score", "captions", "ref.csv", "good.csv", *CONCEPTS, "--json", *FEW)
    assert json.loads(done.out)["systems"][0]["means"] == {"ROUGE-1": 0.75, "concept-F1": pytest.approx(5 / 12)}
    Path("found.csv").write_text("ID,CUIs\n1,C0042449\n2,C0003842\n3,\n5,C0018670\n")
    refused = run("score", "captions", "ref.csv", "good.csv", *CONCEPTS)
    assert "found.csv, line 5" in refused.err
    assert "found '5'" in refused.err


@pytest.mark.parametrize("found", ["D006257", "Head", "HP:0000234"])
def test_concepts_of_another_vocabulary_are_refused(run: Run, found: str) -> None:
    Path("true.csv").write_text("ID,CUIs\n1,C0042449;C0018670\n2,C0003483\n3,\n4,\n")
    Path("found.csv").write_text(f"ID,CUIs\n1,{found}\n2,\n3,\n4,\n")
    done = run("score", "captions", "ref.csv", "good.csv", *CONCEPTS)
    assert (done.code, done.out) == (3, "")
    assert (
        f"found.csv: no predicted concept is a true one, and all are written in another form; found such as '{found}'"
        in done.err
    )
    assert "expected identifiers of the vocabulary of true.csv, such as 'C0003483'" in done.err


def test_a_caption_without_any_right_concept_is_said(run: Run) -> None:
    Path("true.csv").write_text("ID,CUIs\n1,C0042449\n2,\n3,\n4,\n")
    Path("found.csv").write_text("ID,CUIs\n1,C0018670\n2,\n3,\n4,\n")
    done = run("score", "captions", "ref.csv", "good.csv", *CONCEPTS, *FEW)
    assert done.code == 0
    assert "no predicted concept is a true one of any text or image: are both of the same vocabulary?" in done.out


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("ID,Caption\n1,nan\n2,NaN\n3,\n4,None\n", (), "every caption is a missing value"),
        ("1,<NA>\n2,nan\n3,nan\n4,nan\n", ("--official", "2025"), "every caption is a missing value"),
        ("ID,CUIs\n1,C0042449;C0018670\n2,C0003483\n3,\n4,\n", (), "every caption is a list of concepts"),
        ("ID,CUIs\n1,HP:0000234\n2,C0003483\n3,\n4,\n", ("--official", "2026"), "every caption is a list of concepts"),
    ],
)
def test_what_is_no_caption_is_refused(run: Run, content: str, options: tuple[str, ...], words: str) -> None:
    Path("wrong.csv").write_text(content)
    for arguments in (("ref.csv", "wrong.csv"), ("wrong.csv", "good.csv")):
        done = run("score", "captions", *arguments, *options)
        assert (done.code, done.out, words in done.err) == (3, "", True), done.err
        assert f"wrong.csv, line {2 - content.startswith('1')}" in done.err


def test_columns_of_captions_may_have_any_name(run: Run) -> None:
    Path("other.csv").write_text(GOOD.replace("Caption", "prediction"))
    assert run("score", "captions", "ref.csv", "other.csv", *FEW).code == 0


@pytest.mark.parametrize(("column", "value"), [("BLEURT", "31.1"), ("BERTScore", "84.7"), ("AlignScore", "9.1")])
def test_values_in_percent_are_refused(run: Run, column: str, value: str) -> None:
    Path("percent.csv").write_text(f"ID,{column}\n1,{value}\n2,0.5\n3,0.5\n4,0.5\n")
    done = run("score", "captions", "ref.csv", "good.csv", "--scores", "percent.csv")
    assert (done.code, done.out) == (3, "")
    assert f"not a value of the measure; found '{value}'" in done.err
    assert f"A value in percent is divided by 100: {float(value) / 100:g}" in done.err


@pytest.mark.parametrize("value", ["nan", "NULL", "<NA>"])
def test_a_missing_value_is_no_group(run: Run, value: str) -> None:
    Path("groups.csv").write_text(f"image,modality\n1,CT\n2,\n3,{value}\n4,none\n")
    done = run("score", "captions", "ref.csv", "good.csv", "--by", "modality", "--groups", "groups.csv", *FEW)
    assert (done.code, done.out) == (3, "")
    assert f"groups.csv, line 4, column 2: a missing value in place of a label; found '{value}'" in done.err
    assert "expected a label, or nothing" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--predicted-concepts", "good=scores.csv"), "go together"),
        (("--scores", "other=scores.csv"), "systems: good"),
        (("--measure", "concept-F1"), "needs a graph, or concepts of both sides"),
        (("--measure", "BERTScore"), "a file of --scores"),
        (("--words", "as-given", "--official", "2025"), "no rules of the organisers"),
        (("--measure", "AP"), "not a measure of captions"),
        (("--by", "modality"), "--groups"),
        (("good=bad.csv",), "two predictions are called 'good'"),
    ],
)
def test_refusals(run: Run, arguments: tuple[str, ...], words: str) -> None:
    done = run("score", "captions", "ref.csv", "good.csv", *arguments)
    assert done.code != 0
    assert words in " ".join(done.err.replace("│", " ").split())
