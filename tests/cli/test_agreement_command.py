"""``cuihop measures agreement``: tables, files of pairs and unmapped terms, JSON, and refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from example_graph import example_graph
from program_run import Run

GOLD = "brain stem\tbrain\t4\nbrain stem\thead\t3\nveins\tblood vessels\t3.5\nveins\thead\t1\nbrain\tnonsense\t2\n"
OTHER = "Mean,Stdev,Term1,Term2,CUI1,CUI2\n4,1,noggin,brain,C0000001,C0006104\n2,1,noggin,veins,,\n3,0,a,b,C0018670,\n"
FEW = ("--resamples", "50")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    example_graph().save(tmp_path / "example.cuihop")
    monkeypatch.setenv("CUIHOP_GRAPH", "example.cuihop")
    monkeypatch.chdir(tmp_path)
    for name, content in (("gold.tsv", GOLD), ("other.csv", OTHER), ("names.csv", "C0018670,noggin\n")):
        Path(name).write_text(content)
    return program


def test_tables_and_account(run: Run) -> None:
    done = run("measures", "agreement", "gold.tsv", "-m", "hops", "-m", "lin", *FEW)
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("hops 4 0.9487 ") for line in lines)
    assert any(line.startswith("Lin hops 4 ") for line in lines)
    assert "gold.tsv: 5 pairs, tabs, no header, columns 1, 2, 3" in lines
    assert "5 of 6 terms mapped (exact 5)" in lines
    assert "4 of 5 pairs with both terms mapped" in lines
    assert "hops: a distance, so its negative is correlated" in lines


def test_several_files_with_the_values_of_each_pair(run: Run) -> None:
    done = run("measures", "agreement", "gold.tsv", "other.csv", "--names", "names.csv", "-m", "hops",
               "--output", "pairs.csv", "--unmapped", "unmapped.csv", *FEW)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    rows = list(csv.DictReader(Path("pairs.csv").read_text().splitlines()))
    assert [row["file"] for row in rows] == ["gold.tsv"] * 5 + ["other.csv"] * 3
    assert [row["hops"] for row in rows] == ["1.0", "3.0", "1.0", "", "", "2.0", "", ""]
    assert rows[5]["concepts1"] == "C0018670"
    unmapped = list(csv.DictReader(Path("unmapped.csv").read_text().splitlines()))
    assert [tuple(row.values()) for row in unmapped] == [("gold.tsv", "nonsense"), ("other.csv", "b")]
    assert "names.csv: 1 name of 1 concept" in done.out


def test_json(run: Run) -> None:
    done = run("measures", "agreement", "gold.tsv", "--json", *FEW)
    (found,) = json.loads(done.out)["agreements"]
    assert (found["pairs"], found["covered"], found["terms"], found["mapped_terms"]) == (5, 4, 6, 5)
    assert found["measures"][0]["measure"] == "hops"
    assert found["measures"][0]["spearman"] == pytest.approx(0.9487, abs=1e-4)
    assert len(found["measures"]) == len(found["differences"]) + 1 == 10


def test_counts_of_a_corpus(run: Run) -> None:
    Path("counts.csv").write_text("C0006121,3\nC0018670,1\nC0005847,2\n")
    done = run("measures", "agreement", "gold.tsv", "-m", "Lin", "--counts", "counts.csv", *FEW)
    assert (done.code, done.err) == (0, "")
    assert "information content corpus: " in done.out
    assert "counts.csv: 3 concepts, 6 occurrences" in done.out
    assert "Lin: 2 pairs without a value, left out" in done.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("gold.tsv", "-m", "cosine"), "no such measure of similarity"),
        (("gold.tsv", "--within-sab", "MSH"), "the vocabularies of the edges are not recorded; found release example"),
        (("gold.tsv", "--score-column", "9"), "no such column"),
        (("absent.tsv",), "no such file"),
    ],
)
def test_refusals(run: Run, arguments: tuple[str, ...], text: str) -> None:
    done = run("measures", "agreement", *arguments)
    assert done.code == 3
    assert text in done.err
