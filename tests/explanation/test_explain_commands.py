"""``cuihop explain``: what it prints, its JSON, its files and its exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cuihop import SnapshotGraph, explain_pair, explain_query, read_ranking
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.explanation import sensitivity_of_pair, sensitivity_of_query
from cuihop.explanation.sensitivity import Grid
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Similarity
from cuihop_server import running_service
from example_graph import example_graph
from program_run import Run
from shared_data import ROOT

IMAGES = {
    "query": "C0042449;C0018670",
    "exact": "C0042449;C0006121",
    "near": "C0005847;C0018670",
    "far": "C0006121",
    "old": "C9000901",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in this process, in a folder with the example graph, some images and a ranking."""
    example_graph().save(tmp_path / "graph.cuihop")
    lines = ["ID,CUIs", *(f"{image},{concepts}" for image, concepts in IMAGES.items())]
    (tmp_path / "images.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "run.txt").write_text("query Q0 far 1 9 x\nquery Q0 exact 2 8 x\nquery Q0 near 3 7 x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUIHOP_GRAPH", "graph.cuihop")

    return partial(program, "explain")


def test_concepts_for_people(run: Run) -> None:
    done = run("concepts", "C0042449;C0018670;C0006121", "C0005847;C0018670;C0003483;C9999999", "--unknown", "isolated")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == f"""\
A ∪ B: 6 concepts
├── in both: 1 concept
│   └── 1  C0018670 Head
├── only in A: 2 concepts
│   ├── 0.5  C0042449 Veins: 1 hop to C0005847 Blood vessels
│   │   └── Veins ↑ Blood vessels
│   └── 0  C0006121 Brain stem: 3 hops to C0018670 Head, too far
└── only in B: 3 concepts
    ├── 0.5  C0005847 Blood vessels: 1 hop from C0042449 Veins
    │   └── Veins ↑ Blood vessels
    ├── 0  C0003483 Aorta: 3 hops from C0042449 Veins, too far
    └── 0  C9999999: not in the graph: matches only itself
paths run from A to B: ↑ to a parent, ↓ to a child
IoU     0.1667  = 1 / 6
nn-IoU  0.3333  = (1 + 0.5 · 2) / 6   (n = 1, λ = 0.5, hops in both directions)
release example, digest {example_graph().release.digest[:12]}
"""
    )


def test_ties_retired_identifiers_and_partners_beyond_look_are_printed(run: Run) -> None:
    done = run("concepts", "C9000901;C0006121", "C0042449;C0003842;C0005847", "--look", "0")
    assert "1  C0042449 Veins (given as C9000901, retired)" in done.out
    assert "C0005847 Blood vessels: 1 hop from C0042449 Veins" in done.out
    assert "0  C0003842 Arteries: no concept of the other set within 1 hop" in done.out
    assert "C9000901 → C0042449" in done.err
    tied = run("concepts", "C0005847", "C0042449;C0003842")
    assert "C0005847 Blood vessels: 1 hop to C0003842 Arteries; as near: C0042449" in tied.out


def test_a_pair_as_json_is_the_explanation(run: Run) -> None:
    done = run("pair", "images.csv", "query", "near", "--json", "-n", "2", "--lambda", "0.2", "--direction", "up")
    expected = explain_pair(
        IMAGES["query"], IMAGES["near"], example_graph(), Nearness(2, 0.2, "up"), titles=("query", "near")
    ).as_dict()
    inputs = {"concepts": "images.csv: 5 images, 8 concepts, 0 malformed"}
    assert json.loads(done.out) == {**expected, "sensitivity": None, "picture": None, "inputs": inputs}


@pytest.mark.parametrize(
    "arguments",
    [
        ("pair", "images.csv", "query", "old", "--sensitivity", "--hubs", "1"),
        ("query", "images.csv", "query", "--above", "near", "--below", "far", "--ranking", "run.txt", "--sensitivity",
         "--hubs", "1"),
    ],
    ids=["pair", "query"],
)  # fmt: skip
def test_every_key_of_the_json_stands_in_the_documentation(run: Run, arguments: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    found = set(_keys(json.loads(run(*arguments, "--json").out)))
    assert len(found) > 30
    assert {key for key in found if f"`{key}`" not in page} == set()


def _keys(value: object) -> Iterator[str]:
    """All keys, but for retired identifiers that stand for others."""
    if isinstance(value, dict):
        yield from value
        for key, held in value.items():
            yield from () if key == "merged" else _keys(held)
    elif isinstance(value, list):
        for held in value:
            yield from _keys(held)


def test_a_pair_over_a_service_is_the_same(run: Run) -> None:
    local = run("pair", "images.csv", "query", "old", "--sensitivity", "--json")
    with running_service(example_graph()) as service:
        for address in (service.grpc, service.http):
            assert run("pair", "images.csv", "query", "old", "--sensitivity", "--json", "-g", address) == local


def test_the_other_image_may_stand_in_another_file(run: Run) -> None:
    Path("others.csv").write_text("ID,CUIs\nvessel,C0005847\n")
    done = run("pair", "images.csv", "query", "vessel", "--corpus", "others.csv", "--json")
    assert json.loads(done.out)["nn_iou"] == 1 / 3


def test_sensitivity_of_a_pair(run: Run) -> None:
    done = run("pair", "images.csv", "query", "near", "--sensitivity", "--hubs", "1", "--hubs", "4", "--json")
    varied = sensitivity_of_pair(IMAGES["query"], IMAGES["near"], example_graph(), Grid(hubs=[1, 4]))
    assert json.loads(done.out)["sensitivity"] == varied.as_dict()
    for_people = run("pair", "images.csv", "query", "near", "--sensitivity", "--hubs", "1").out
    assert "0.6667 *" in for_people
    assert (
        "without hubs (> 1 children) no longer near within 1 hop: C0005847 Blood vessels; C0042449 Veins" in for_people
    )
    assert "hubs among the concepts: C0005847 Blood vessels (2 children)" in for_people


def test_a_picture_is_saved(run: Run) -> None:
    done = run("pair", "images.csv", "query", "near", "--plot", "pair.svg")
    assert (done.code, done.err) == (0, "picture: pair.svg\n")
    assert Path("pair.svg").read_text(encoding="utf-8").startswith("<?xml")
    done = run("query", "images.csv", "query", "--above", "exact", "--below", "near", "--plot", "query.svg")
    assert (done.code, done.err) == (0, "picture: query.svg\n")


def test_a_query_for_people(run: Run) -> None:
    done = run("query", "images.csv", "query", "--above", "near", "--below", "exact", "--ranking", "run.txt", "-k", "3")
    assert done.code == 0
    assert "near ranks above exact for query: it gains 0.3333 more" in done.out
    assert "swapping them back would gain 0.0436 DCG@3, 0.0380 nn-CUI@3" in done.out
    assert "retired, taken for" not in done.err
    premise = run("query", "images.csv", "query", "--above", "exact", "--below", "near")
    assert "exact does not rank above near for query: it gains 0.3333 less" in premise.out
    same = run("query", "images.csv", "query", "--above", "exact", "--below", "old", "-n", "0", "--lambda", "0")
    assert "exact ranks above old" in same.out or "exact does not rank above old" in same.out


def test_a_query_as_json_is_the_explanation(run: Run) -> None:
    done = run(
        "query", "images.csv", "query", "--above", "near", "--below", "exact", "--ranking", "run.txt", "-k", "3",
        "--sensitivity", "--json",
    )  # fmt: skip
    ranking = read_ranking("run.txt", tuple(IMAGES))
    options = {"above": "near", "below": "exact", "ranking": ranking, "k": 3}
    expected = explain_query(ImageConcepts.read("images.csv"), "query", example_graph(), **options)  # type: ignore[arg-type]
    varied = sensitivity_of_query(IMAGES, "query", example_graph(), **options)  # type: ignore[arg-type]
    assert json.loads(done.out) == {**expected.as_dict(), "sensitivity": varied.as_dict(), "picture": None}


def test_sensitivity_of_a_query_for_people(run: Run) -> None:
    done = run("query", "images.csv", "query", "--above", "near", "--below", "exact", "--ranking", "run.txt",
               "--sensitivity")  # fmt: skip
    assert "0.6667 > 0.3333 *" in done.out
    assert "their ranks in the ideal ranking" in done.out
    assert "nn-CUI@10" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pair", "images.csv", "query", "nobody"], 3, "no such image"),
        (["pair", "absent.csv", "query", "near"], 3, "absent.csv"),
        (["pair", "images.csv", "query", "near", "-n", "-1"], 2, "Usage"),
        (["pair", "images.csv", "query", "near", "--plot", "p.gif"], 3, ".svg, .png or .pdf"),
        (["pair", "images.csv", "query", "near", "--plot", "absent/p.svg"], 6, "not written"),
        (["concepts", "C9999999", "C0042449"], 4, "--unknown isolated"),
        (["concepts", "C1;;C2", "C0042449"], 3, "an identifier is missing"),
        (["query", "images.csv"], 2, "without --ranking, name a QUERY"),
        (["query", "images.csv", "query", "--above", "near", "--below", "near"], 3, "one image twice"),
        (
            ["query", "images.csv", "far", "--above", "near", "--below", "exact", "--ranking", "run.txt"],
            3,
            "no ranking",
        ),
    ],
)
def test_what_goes_wrong_has_its_exit_code(arguments: list[str], code: int, message: str, run: Run) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


LONG = "[bold]Structure[/bold] of anterior division of lateral basal branch of inferior pulmonary vein, " * 3 + "END"


@pytest.fixture
def of_long_names(run: Run, tmp_path: Path) -> Run:
    names = {"C0000001": [LONG], "C0000002": [LONG], "C0000003": [LONG]}
    edges = [("C0000001", "C0000002"), ("C0000002", "C0000003")]
    SnapshotGraph.of(edges, names=names).save(tmp_path / "graph.cuihop")
    return run


def test_long_names_are_whole_in_a_file(of_long_names: Run) -> None:
    assert of_long_names("concepts", "C0000001", "C0000003", "-n", "2").out.count(LONG) == 10


def test_long_names_are_whole_on_a_narrow_terminal(of_long_names: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    assert of_long_names("concepts", "C0000001", "C0000003", "-n", "2").out.count("END") == 10


def test_a_picture_without_matplotlib_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("pair", "images.csv", "query", "near", "--plot", "pair.svg")
    assert (done.code, done.out) == (8, "")
    assert "pip install 'cuihop[plots]'" in done.err


def test_a_query_of_a_system_that_is_given_by_its_embeddings(run: Run) -> None:
    vectors = np.random.default_rng(3).normal(size=(len(IMAGES), 4))
    np.save("vectors.npy", vectors)
    np.save("codes.npy", (vectors > 0).astype(np.uint8))
    arguments = (
        "query",
        "images.csv",
        "query",
        "--above",
        "exact",
        "--below",
        "far",
        "--unknown",
        "isolated",
        "--json",
    )
    ways: list[tuple[str, Similarity]] = [("vectors.npy", "cosine"), ("vectors.npy", "dot"), ("codes.npy", "hamming")]
    for file, similarity in ways:
        done = run(*arguments, "--ranking", file, "--similarity", similarity)
        assert (done.code, done.err) == (0, "")
        ranked = json.loads(done.out)["ranking"]
        whole = read_ranking(file, tuple(IMAGES), depth=len(IMAGES), similarity=similarity)["query"]
        assert ranked["length"] == len(IMAGES) - 1
        assert (ranked["rank_above"], ranked["rank_below"]) == (whole.index("exact") + 1, whole.index("far") + 1)
        assert [rank["image"] for rank in ranked["ranks"]] == list(whole)
    np.save("corpus.npy", vectors[1:])
    Path("held.csv").write_text("\n".join(["ID,CUIs", *(f"{i},{c}" for i, c in list(IMAGES.items())[1:])]) + "\n")
    done = run(*arguments, "--corpus", "held.csv", "--ranking", "vectors.npy", "--corpus-embeddings", "corpus.npy")
    assert json.loads(done.out)["ranking"]["length"] == len(IMAGES) - 1
    assert run(*arguments, "--ranking", "run.txt", "--similarity", "cosine").code == 3


def test_the_query_and_the_images_are_chosen_where_none_is_named(run: Run) -> None:
    done = run("query", "images.csv", "--ranking", "run.txt", "-k", "3", "--json")
    chosen = json.loads(done.out)
    assert (chosen["query"], done.err.partition(",")[0]) == ("query", "query query: the smallest nn-CUI@3")
    assert chosen["below"]["image"] == chosen["ranking"]["ranks"][0]["image"]
    assert chosen["above"]["nn_iou"]["rank"] == 1
