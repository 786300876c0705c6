"""``cuihop runs pool``, ``runs fuse``, and the tables of a campaign in ``cuihop compare`` and ``cuihop score irma``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from program_run import Run

RUNS = {
    "x": "1 Q0 b 1 0.9 x\n1 Q0 c 2 0.8 x\n1 Q0 a 3 0.7 x\n2 Q0 b 1 0.5 x\n2 Q0 a 2 0.4 x\n",
    "y": "1 Q0 d 1 9 y\n1 Q0 c 2 8 y\n2 Q0 a 1 5 y\n",
    "z": "1 Q0 c 2 7 z\n1 Q0 d 1 6 z\n2 Q0 b 1 5 z\n",  # ranks and scores disagree in query 1
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in RUNS.items():
        Path(f"{name}.run").write_text(text)
    Path("qrels").write_text("1 0 a DR\n1 0 b NR\n1 0 d PR\n2 0 a DR\n")
    Path("systems.csv").write_text("system,group\nx,A\ny,A\nz,B\n")
    Path("topics.csv").write_text("topic,type\n1,visual\n2,textual\n")
    return program


def answer(run: Run, *arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_pool(run: Run) -> None:
    found = answer(
        run, "runs", "pool", "x.run", "y.run", "--depth", "2", "--output", "pool.csv", "--judge", "judge.qrels"
    )
    assert found["sizes"] == {"1": 3, "2": 2}
    assert (found["minimum"], found["mean"], found["maximum"]) == (2, 2.5, 3)
    assert Path("pool.csv").read_text() == "query,document,runs\n1,b,1\n1,c,2\n1,d,1\n2,a,2\n2,b,1\n"
    assert "1 0 b -1\n1 0 c -1\n1 0 d -1\n" in Path("judge.qrels").read_text()
    done = run("runs", "pool", "x.run", "./x.run")
    assert (done.code, "is given twice" in done.err) == (2, True)
    shallow = answer(run, "runs", "pool", "z.run", "--depth", "1", "--order", "rank", "--output", "pool.csv")
    assert shallow["sizes"] == {"1": 1, "2": 1}
    assert "1,d,1" in Path("pool.csv").read_text()


OTHERS = {
    "other queries": ("8 Q0 b 1 2 o\n9 Q0 b 1 2 o\n", "8, 9; expected the queries of"),
    "swapped": ("b Q0 1 1 3 o\nc Q0 1 2 2 o\na Q0 2 3 1 o\n", "are the columns query and document swapped"),
    "an ending": ("1.jpg Q0 b 1 2 o\n2.jpg Q0 b 1 2 o\n", "Names differ by an ending: '1.jpg' here, '1' there"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.parametrize("runs", [("x", "y", "other"), ("x", "other")])
def test_runs_of_other_queries_are_neither_pooled_nor_fused(case: str, runs: tuple[str, ...], run: Run) -> None:
    text, words = OTHERS[case]
    Path("other.run").write_text(text)
    files = [f"{name}.run" for name in runs]
    pool = run("runs", "pool", *files, "--output", "out")
    fuse = run("runs", "fuse", *files, "--output", "out")
    for done in (pool, fuse):
        assert (done.code, "runs of different queries" in done.err) == (3, True), done.err
    assert words in " ".join(fuse.err.split())
    if len(runs) > 2:
        assert words.split("; expected")[0] in " ".join(pool.err.split())
    assert not Path("out").exists()


def test_a_run_may_lack_a_query_in_a_pool_which_is_said(run: Run) -> None:
    Path("part.run").write_text("1 Q0 a 1 2 o\n")
    done = run("runs", "pool", "x.run", "part.run")
    assert (done.code, "1 query with fewer than 2 runs: 2" in done.err) == (0, True), done.err


COMPARE = ("compare", "x.run", "y.run", "z.run", "--qrels", "qrels", "--measure", "AP", "--measure", "P@1")


def test_systems_in_order_with_relevant_documents_and_ap_by_rank(run: Run) -> None:
    found = answer(run, *COMPARE, "--measure-by-rank", "AP", "--no-tests")
    assert found["differences"] == []
    by_hand = {  # query 1: a, d relevant; query 2: a
        "x": ((1 / 3 / 2 + 1 / 2) / 2, (1 / 3 / 2 + 1 / 2) / 2, 2),
        "y": ((1 / 2 + 1) / 2, (1 / 2 + 1) / 2, 2),
        "z": ((1 / 2 / 2 + 0) / 2, (1 / 2 + 0) / 2, 1),
    }
    assert [system["system"] for system in found["ranked"]] == ["y", "x", "z"]
    for system in found["ranked"]:
        ap, by_rank, relevant = by_hand[system["system"]]
        assert system["means"]["AP"] == pytest.approx(ap)
        assert system["means"]["AP by rank"] == pytest.approx(by_rank)
        assert system["relevant_retrieved"] == relevant


def test_groups_of_systems_and_of_queries(run: Run) -> None:
    options = ("--systems", "systems.csv", "--by-system", "group", "--by", "type", "--groups", "topics.csv")
    found = answer(run, *COMPARE, *options, "--best-systems", "1", "--no-tests")
    assert [system["system"] for system in found["ranked"]] == ["y", "z"]
    (a,) = [g for g in found["by_system"] if (g["value"], g["measure"]) == ("A", "AP")]
    assert (a["systems"], a["best_rank"], a["worst_rank"]) == (2, 1, 2)
    assert (a["minimum"], a["maximum"]) == (pytest.approx(1 / 3), pytest.approx(3 / 4))
    alone = answer(run, "evaluate", "x.run", "--qrels", "qrels", "--measure", "AP", "--measure", "P@1",
                   "--by", "type", "--groups", "topics.csv")  # fmt: skip
    here = [{k: v for k, v in g.items() if k != "system"} for g in found["by"] if g["system"] == "x"]
    assert here == alone["by"]
    done = run(*COMPARE, *options, "--resamples", "100")
    assert done.code == 0
    assert "Systems by group." in done.out
    assert "Means by type of the queries." in done.out
    assert "systems.csv: 3 systems, group" in done.out


def test_score_cards_have_the_same_groups(run: Run) -> None:
    options = ("--systems", "systems.csv", "--by-system", "group", "--by", "type", "--groups", "topics.csv")
    of_runs = answer(run, *COMPARE, *options, "--no-tests", "--cards", "cards")
    of_cards = answer(run, "compare", "cards/x.json", "cards/y.json", "cards/z.json", *options, "--no-tests")
    assert [of_cards[name] for name in ("ranked", "by_system", "by")] == [
        of_runs[name] for name in ("ranked", "by_system", "by")
    ]
    mixed = run("compare", "cards/x.json", "y.run", "--qrels", "qrels", "--measure-by-rank", "AP")
    assert (mixed.code, "the score card of x has no ranks" in mixed.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--by-system", "group"), "--by-system needs labels of the systems"),
        (("--best-systems", "1"), "add --by-system LABEL"),
        (("--systems", "systems.csv", "--by-system", "media"), "no such label of systems"),
        (("--by", "type"), "--by needs labels of the queries"),
        (("--no-tests", "--plot", "x.svg"), "which --no-tests does not compute"),
        (("--grades", "DR=two"), "not grades in words"),
        (("--order", "rank", "--measure", "P@1"), None),
    ],
)
def test_options_that_do_not_go_together(run: Run, options: tuple[str, ...], words: str | None) -> None:
    done = run(*COMPARE, *options, "--resamples", "10")
    assert (done.code == 0) == (words is None)
    assert words is None or words in " ".join(done.err.replace("│", " ").split())


@pytest.mark.slow
@pytest.mark.usefixtures("ranx")
def test_fuse(run: Run) -> None:
    found = answer(run, "runs", "fuse", "x.run", "y.run", "--output", "fused.run")
    assert found["method"] == "rrf"
    assert found["account"].startswith("rrf of 2 runs, k = 60, by ranx")
    lines = [line.split() for line in Path("fused.run").read_text().splitlines()]
    assert [line[2] for line in lines] == ["c", "b", "d", "a", "a", "b"]  # b and d are equal: by name
    assert [line[3] for line in lines] == ["1", "2", "3", "4", "1", "2"]
    assert float(lines[0][4]) == pytest.approx(2 / 62)


CODES = {
    "truth": "1 318a\n2 318a\n3 318a\n4 200b\n",
    "wild": "1 318*\n2 32**\n3 318a\n4 200b\n",
    "flat": "1 3187\n2 318a\n3 318a\n4 1000\n",
    "training": "a 318a\nb 318a\nc 200b\n" + "".join(f"t{n} 318a\n" for n in range(20)),
    "groups": "system,group\nwild,A\nflat,B\n",
    "images": "image,view\n1,front\n2,front\n3,side\n4,side\n",
}


def test_irma_codes_of_several_systems(run: Run) -> None:
    for name, text in CODES.items():
        Path(name).write_text(text)
    options = ("--branching", "2", "--systems", "groups", "--by-system", "group", "--training", "training")
    found = answer(run, "score", "irma", "truth", "wild", "flat", *options, "--by", "view", "--groups", "images",
                   "--cards", "cards", "--plot", "frequency.svg")  # fmt: skip
    assert [(s["system"], s["rank"]) for s in found["ranked"]] == [("wild", 1), ("flat", 2)]
    assert found["ranked"][0]["means"] == {
        "error count": pytest.approx(0.06 + 0.52), "IRMA(b=2)": pytest.approx(0.145), "ER": 0.5
    }  # fmt: skip
    assert {(g["value"], g["measure"], g["maximum"]) for g in found["by_system"]} >= {
        ("A", "ER", 0.5),
        ("B", "ER", 0.5),
    }
    assert [(g["system"], g["value"], g["mean"]) for g in found["by"] if g["measure"] == "ER"] == [
        ("wild", "front", 1.0), ("wild", "side", 0.0), ("flat", "front", 0.5), ("flat", "side", 0.5)
    ]  # fmt: skip
    rare, often = found["by_code"]
    assert (rare["code"], rare["training"], rare["images"], rare["error_rate"]) == ("200b", 1, 1, 0.5)
    assert (often["code"], often["training"], often["images"]) == ("318a", 22, 3)
    assert often["error_rate"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert often["error"] == pytest.approx(((0.06 + 0.52) / 3 + 0.12 / 3) / 2)
    assert "<svg" in Path("frequency.svg").read_text()
    compared = answer(run, "compare", "cards/wild.json", "cards/flat.json", "--resamples", "100")
    assert [d["measure"] for d in compared["differences"]] == ["IRMA(b=2)", "ER"]
    text = run("score", "irma", "truth", "wild", "flat", *options).out
    assert "Errors of the codes by their frequency in training." in text
    assert "10 to 99" in text
    alone = run("score", "irma", "truth", "named=wild", "--branching", "2", "--training", "training").out
    assert "training: training: 23 images" in alone


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("wild", "flat", "--branching", "2", "--output", "x.csv"), "go with one system"),
        (("wild", "--branching", "2", "--plot", "x.svg"), "--training FILE"),
        (("wild", "a=flat", "a=wild", "--branching", "2"), "is given twice"),
        (("wild", "--branching", "2", "--training", "others"), "Are they of another collection?"),
        (
            ("wild", "--branching", "2", "--training", "wild"),
            "wild, line 1, column 2: a code of training is not wholly",
        ),
    ],
)
def test_irma_options_that_do_not_go_together(run: Run, options: tuple[str, ...], words: str) -> None:
    for name, text in {**CODES, "others": "a 1111\n"}.items():
        Path(name).write_text(text)
    done = run("score", "irma", "truth", *options)
    assert done.code in (2, 3)
    assert words in " ".join(done.err.replace("│", " ").split())
