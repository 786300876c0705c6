"""Identifiers of any form through the command line: arguments, files, JSON and tables."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary
from opaque_identifiers import EDGES, IDENTIFIERS, NAMES, opaque_graph
from program_run import Run

ROOT, LAST = IDENTIFIERS[0], len(IDENTIFIERS) - 1


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opaque") / "graph.cuihop"
    opaque_graph().save(path)
    return path


def table(path: Path, rows: list[list[str]], header: list[str]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.mark.parametrize("n", range(len(IDENTIFIERS)))
def test_an_identifier_is_an_argument_and_comes_back_as_it_is(program: Run, graph: Path, n: int) -> None:
    cui = IDENTIFIERS[n]

    def answer(command: str, *arguments: str, options: tuple[str, ...] = ()) -> dict[str, object]:
        done = program(*command.split(), "--graph", graph, "--json", *options, "--", *arguments)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert isinstance(found, dict)
        return found

    distance = answer("distance", cui, ROOT)
    assert (distance["a"], distance["b"], distance["hops"]) == (cui, ROOT, n)
    assert answer("concept", cui)["cui"] == cui
    path = answer("path", cui, ROOT)["path"]
    assert isinstance(path, list)
    assert [place["cui"] for place in path] == list(IDENTIFIERS[n::-1])
    near = answer("neighbours", cui)["neighbours"]
    assert isinstance(near, list)
    assert {found["cui"] for found in near} == {*IDENTIFIERS[max(n - 1, 0) : n], *IDENTIFIERS[n + 1 : n + 2]}
    relevance = answer("explain concepts", f"{cui};{ROOT}", ROOT)
    assert relevance["iou"] == (0.5 if n else 1.0)
    similar = answer("similarity", cui, ROOT, options=("--measure", "path"))
    assert similar["values"] == {"path": 1 / (1 + n)}
    shown = program("concept", "--graph", graph, "--", cui)
    assert "".join(cui.split()) in "".join(shown.out.split())  # a long one is wrapped


def test_files_of_pairs(program: Run, graph: Path, tmp_path: Path) -> None:
    pairs = table(tmp_path / "pairs.csv", [[cui, ROOT] for cui in IDENTIFIERS], ["a", "b"])
    done = program("distance", "--graph", graph, "--pairs", pairs, "--output", tmp_path / "hops.tsv")
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in (tmp_path / "hops.tsv").read_text().splitlines()]
    assert rows[-len(IDENTIFIERS) :] == [[cui, ROOT, str(n)] for n, cui in enumerate(IDENTIFIERS)]


def test_counts_of_a_corpus(program: Run, graph: Path, tmp_path: Path) -> None:
    counts = table(tmp_path / "counts.csv", [[cui, "1"] for cui in IDENTIFIERS], ["concept", "count"])
    options = ("--measure", "Resnik", "--ic", "corpus", "--counts", counts, "--json")
    done = program("similarity", "--graph", graph, *options, "--", IDENTIFIERS[1], IDENTIFIERS[-1])
    assert done.code == 0, done.err
    expected = -math.log(1 - 1 / len(IDENTIFIERS))  # all counts but that of the root are below the first
    assert json.loads(done.out)["values"]["Resnik"] == pytest.approx(expected)


def test_concepts_of_images_and_the_neighbour_dictionary(program: Run, graph: Path, tmp_path: Path) -> None:
    rows = [[f"image{n}", ";".join(IDENTIFIERS[n : n + 2])] for n in range(LAST)]
    concepts = table(tmp_path / "concepts.csv", rows, ["ID", "CUIs"])
    pickled = tmp_path / "neighbours.cuihop"
    done = program("neighbours", "--graph", graph, "--concepts", concepts, "--hops", 2, "--output", pickled)
    assert done.code == 0, done.err
    assert NeighbourDictionary.open(pickled).distance(IDENTIFIERS[1], IDENTIFIERS[3], max_hops=2) == 2
    run = tmp_path / "a.run"
    run.write_text("".join(f"image0 Q0 image{n} {n} {1 / n} a\n" for n in range(1, LAST)))
    for served in (graph, pickled):
        options = (run, "--measure", "nn-CUI@5(n=2)", "--missing", "skip", "--json")
        done = program("evaluate", "--graph", served, "--concepts", concepts, *options)
        assert done.code == 0, done.err
        assert json.loads(done.out)["means"]["nn-CUI@5(n=2)"] == pytest.approx(1.0)  # nearest first, as in the chain


def test_names_from_a_file(program: Run, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.cuihop"
    SnapshotGraph.of(EDGES).save(nameless)
    names = table(tmp_path / "names.csv", [[cui, NAMES[cui][0]] for cui in IDENTIFIERS], ["CUI", "name"])
    for cui in IDENTIFIERS:
        done = program("explain", "concepts", "--graph", nameless, "--names", names, "--json", "--", cui, cui)
        assert done.code == 0, done.err
        assert NAMES[cui][0] in done.out
