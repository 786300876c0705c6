"""``cuihop score annotations``: one prediction, several, files, and refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cuihop.comparison.score_card import ScoreCard
from example_graph import UNKNOWN, example_graph
from program_run import Run
from shared_data import shared

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"
GOLD = f"ID,start,end,cui\n1,0,5,{VEINS}\n1,10,14,{HEAD}\n2,0,4,{ARTERIES}\n3,0,4,{HEAD}\n"
GOOD = f"ID,start,end,cui\n1,0,5,{VEINS}\n1,10,14,{HEAD}\n2,0,4,{VESSELS}\n"
BAD = f"ID,start,end,cui\n1,0,5,{VESSELS}\n2,1,4,{ARTERIES}\n9,0,1,{HEAD}\n"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("scoring") / "example.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def run(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.setenv("CUIHOP_GRAPH", str(snapshot))
    monkeypatch.chdir(tmp_path)
    for name, content in (("gold", GOLD), ("good", GOOD), ("bad", BAD)):
        Path(f"{name}.csv").write_text(content)
    return program


FEW = ("--resamples", "100")


def test_one_prediction_with_its_near_misses(run: Run) -> None:
    done = run("score", "annotations", "gold.csv", "good.csv", "--output", "values.csv", *FEW)
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("span-F1 0.6667 0.5000 0.5714 ") for line in lines)
    assert any(line.startswith("nn-F1 0.8333 0.6250 0.7143 ") for line in lines)  # 2.5 of 3, and of 4
    assert f"1 1 {VESSELS} Blood vessels {ARTERIES} Arteries" in lines
    assert "1 text without a prediction: nothing is found there" in lines
    rows = list(csv.DictReader(Path("values.csv").read_text().splitlines()))
    assert [row["document-F1"] for row in rows] == ["1.0", "0.0", "0.0"]
    assert [row["nn-F1"] for row in rows] == ["1.0", "0.5", "0.0"]


def test_json_has_everything_and_the_card_goes_to_compare(run: Run) -> None:
    done = run("score", "annotations", "gold.csv", "good.csv", "--json", "--cards", "cards", "-n", "0", *FEW)
    (system,) = json.loads(done.out)["systems"]
    scores = {score["measure"]: score for score in system["scores"]}
    assert scores["nn-F1"]["f1"] == scores["document-F1"]["f1"] == pytest.approx(4 / 7)
    assert system["false_positives_by_hops"]["1"] == 1
    assert system["near_misses"] == []
    assert system["counts"]["without_predictions"] == 1
    card = ScoreCard.read("cards/good.json")
    assert card.means["document-F1"] == system["means"]["document-F1"] == scores["document-F1"]["macro_f1"]
    assert card.conditions["n"] == 0
    run("score", "annotations", "gold.csv", "bad.csv", "--cards", "cards", "-n", "0", *FEW)
    compared = run("compare", "cards/good.json", "cards/bad.json", "--json", *FEW)
    assert (compared.code, compared.err) == (0, "")
    assert {row["measure"] for row in json.loads(compared.out)["differences"]} == set(scores)


def test_several_predictions_are_ranked_and_compared(run: Run) -> None:
    done = run("score", "annotations", "gold.csv", "bad.csv", "best=good.csv", "--report", "tables.md",
               "--output", "values.csv", *FEW)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    ranked = [line.split()[:2] for line in done.out.splitlines() if line.strip().startswith("nn-F1")]
    assert ranked[:2] == [["nn-F1", "best"], ["nn-F1", "bad"]]
    assert "bad: 1 text of the predictions not in the gold annotations: left out" in done.out
    assert "| nn-F1 | best |" in Path("tables.md").read_text()
    assert Path("values.csv").read_text().splitlines()[0].startswith("query,span-F1 bad,span-F1 best,")
    found = json.loads(run("score", "annotations", "gold.csv", "bad.csv", "best=good.csv", "--json", *FEW).out)
    assert [system["system"] for system in found["systems"]] == ["bad", "best"]
    assert found["holm"]["tests"] == len(found["differences"]) == 4


def test_without_a_graph(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUIHOP_GRAPH")
    done = run("score", "annotations", "gold.csv", "good.csv", "--json", *FEW)
    (system,) = json.loads(done.out)["systems"]
    assert [score["measure"] for score in system["scores"]] == ["span-F1", "span-F1(match=overlap)", "document-F1"]
    assert system["false_positives_by_hops"] is None


def test_identifiers_of_another_vocabulary_need_a_map(run: Run) -> None:
    Path("mesh.csv").write_text("ID,start,end,cui\n1,0,5,MESH:D1\n1,10,14,MESH:D9\n")
    done = run("score", "annotations", "mesh.csv", "good.csv", *FEW)
    assert done.code != 0
    assert "MESH:D1" in done.err
    assert "--map" in done.err
    Path("map.csv").write_text(f"D1,{VEINS}\nD1,{UNKNOWN}\n")
    found = json.loads(run("score", "annotations", "mesh.csv", "good.csv", "--map", "map.csv", "--json", *FEW).out)
    assert found["systems"][0]["counts"]["unmapped"]["identifiers"] == ["MESH:D9"]
    assert found["systems"][0]["scores"][0]["recall"] == 0.5
    left_out = run(
        "score", "annotations", "mesh.csv", "good.csv", "--map", "map.csv", "--leave-out-unmapped", "--json", *FEW
    )
    assert json.loads(left_out.out)["systems"][0]["scores"][0]["recall"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gold.csv", "good.csv", "good.csv"), "given twice"),
        (("gold.csv", "a=good.csv", "a=bad.csv"), "two predictions are called 'a'"),
        (("gold.csv", "good.csv", "--report", "tables.txt"), ".md or .tex"),
        (("gold.csv", "none.csv"), "none.csv"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run("score", "annotations", *arguments)
    assert done.code != 0
    assert message in " ".join(done.err.replace("│", " ").split())


def test_the_ncbi_disease_corpus_against_itself(program: Run, tmp_path: Path) -> None:
    gold = shared("ncbi_disease/devel.pubtator.txt.gz")
    copy = tmp_path / "copy.txt.gz"
    copy.write_bytes(gold.read_bytes())
    found = json.loads(program("score", "annotations", gold, copy, "--json", *FEW).out)["systems"][0]
    assert {score["f1"] for score in found["scores"]} == {1.0}
    assert {score["macro_low"] for score in found["scores"]} == {1.0}
    assert (found["counts"]["texts"], found["counts"]["composite"]) == (100, 30)
