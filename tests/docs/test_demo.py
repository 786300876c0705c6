"""``cuihop demo`` writes files for every command, and its tour runs in an empty folder with the figures of its text."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop_loader.demo_files import EXAMPLE_FILES
from demonstration import OF_THE_TOUR, Demonstration, linked
from made_examples import FOLDER, files
from program_run import Run

pytestmark = pytest.mark.xdist_group("demo")  # one process makes the demonstration, for all of them


@pytest.mark.core
def test_the_tour_runs_to_its_end_and_leaves_other_files(demonstration: Demonstration) -> None:
    out, folder = demonstration.out, demonstration.folder
    assert "That was the main job" in out
    assert f"First, in this shell: export PATH={Path(sys.executable).parent}:$PATH" in out
    names = [name.rstrip("/") for name, *_ in EXAMPLE_FILES]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, *OF_THE_TOUR, "mine.txt"])
    assert (folder / "mine.txt").read_text() == "kept"
    assert (folder / "qrels.txt").read_bytes() == (FOLDER / "qrels.txt").read_bytes()


def test_the_load_report_of_the_tour_is_short(demonstration: Demonstration) -> None:
    report = demonstration.out.split("$ cuihop load")[1].split("\n2. ")[0].splitlines()[1:]
    assert 3 <= len(report) <= 8
    assert re.search(r"is_a edges +28,837", "\n".join(report))


def test_it_ends_with_a_picture_and_the_address_of_the_explorer(demonstration: Demonstration) -> None:
    out, folder = demonstration.out, demonstration.folder
    words = " ".join(re.sub("<[^>]+>", " ", (folder / "pleural-effusion.svg").read_text(encoding="utf-8")).split())
    for name in ("Pleural effusion", "Abnormal pleura morphology", "Chylothorax", "Edema", "C0032227"):
        assert name in words
    assert "A picture of step 4: examples/pleural-effusion.svg\n" in out
    assert "cuihop serve --graph examples/graph.cuihop, then open http://127.0.0.1:8080/" in " ".join(out.split())


def test_pleural_effusion_and_pneumothorax_meet_in_the_pleura(demonstration: Demonstration, program: Run) -> None:
    answer = program("path", "C0032227", "C0032326", "--graph", demonstration.folder / "graph.cuihop", "--json").out
    assert [(step["cui"], step["name"]) for step in json.loads(answer)["path"]] == [
        ("C0032227", "Pleural effusion"),
        ("C4025726", "Abnormal pleura morphology"),
        ("C0032326", "Pneumothorax"),
    ]


def test_near_findings_count_half(demonstration: Demonstration) -> None:
    out = demonstration.out
    # One concept shared, two near, three in all: IoU 1/3, nn-IoU (1 + 0.5 * 2) / 3.
    assert "0.3333" in out
    assert "0.6667" in out


def test_the_service_gives_the_figures_of_the_snapshot(demonstration: Demonstration) -> None:
    out, folder = demonstration.out, demonstration.folder
    assert "serving http://127.0.0.1:" in out
    assert (folder / "served.csv").read_text() == (folder / "per-query.csv").read_text()


def test_system_b_is_better_by_near_concepts_and_no_other_by_equal_ones(
    demonstration: Demonstration, program: Run
) -> None:
    folder = demonstration.folder
    answer = program(
        "compare", folder / "run-a.csv", folder / "run-b.csv", "--concepts", folder / "concepts.csv", "--graph",
        folder / "graph.cuihop", "--measure", "nn-CUI@10", "--measure", "CUI@10", "--resamples", "1000", "--json",
    )  # fmt: skip
    near, equal = json.loads(answer.out)["differences"]
    assert (near["measure"], near["difference"] > 0.15, near["p_holm"] < 0.01) == ("nn-CUI@10", True, True)
    assert (equal["measure"], abs(equal["difference"]) < 0.05, equal["p_holm"] > 0.05) == ("CUI@10", True, True)
    assert answer.err == ""


@pytest.fixture(scope="module")
def examples(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example files, and what the commands of the table write."""
    return linked(demonstration.folder, tmp_path_factory.mktemp("table") / "examples")


@pytest.mark.slow
def test_the_command_without_a_tour_writes_the_same_files_and_lists_them(
    demonstration: Demonstration, tmp_path: Path, program: Run
) -> None:
    done = program("demo", "--output", tmp_path)
    assert (done.code, "warning" in done.err) == (0, False)
    for name, *_ in EXAMPLE_FILES:
        assert name in done.out
        for path in (tmp_path / name).rglob("*") if name.endswith("/") else [tmp_path / name]:
            of_the_tour = demonstration.folder / path.relative_to(tmp_path)
            if path.suffix == ".cuihop":  # it names the file that was loaded
                assert SnapshotGraph.open(path).release.digest == SnapshotGraph.open(of_the_tour).release.digest
            else:
                assert path.read_bytes() == of_the_tour.read_bytes()


BY_THE_TOUR = "cuihop load hpo.obo --output hpo.cuihop"  # its first step


@pytest.mark.parametrize("command", [command for *_, command in EXAMPLE_FILES if command != BY_THE_TOUR])
@pytest.mark.slow
def test_every_command_of_the_table_runs_without_a_warning(
    command: str, examples: Path, sooner_in: dict[str, str]
) -> None:
    if "spans.csv" in command:
        _run_in(examples, "cuihop annotate captions.csv --output found.csv --spans spans.csv", sooner_in)
    _run_in(examples, command, sooner_in)


@pytest.fixture
def sooner_in(forked_programs: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{forked_programs}{os.pathsep}{os.environ['PATH']}", "CUIHOP_GRAPH": "graph.cuihop"}


def _run_in(folder: Path, command: str, variables: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    warnings = [line for line in done.stderr.splitlines() if "warning" in line and "are no CUIs" not in line]
    assert (done.returncode, warnings) == (0, []), done.stderr  # one cross-reference of the HPO is malformed


def test_the_release_has_the_terms_of_the_ontology_that_name_a_concept(demonstration: Demonstration) -> None:
    def read(role: str) -> list[list[str]]:
        text = (demonstration.folder / "umls" / f"{role}.RRF").read_text(encoding="utf-8")
        return [line.split("|") for line in text.splitlines()]

    parents = {row[4] for row in read("MRREL") if row[0] == "C0032227" and row[3] == "PAR"}
    assert parents == {"C0013604", "C4025726"}  # edema, abnormal pleura morphology
    children = {row[4] for row in read("MRREL") if row[0] == "C0032227" and row[3] == "CHD"}
    assert children == {"C0008733", "C0014013", "C0020312", "C3887491"}
    # Bronchogenic cyst is_a pulmonary cyst, which names no concept and is_a abnormal lung morphology, which names two.
    assert {row[4] for row in read("MRREL") if row[0] == "C0006281" and row[3] == "PAR"} == {"C0024115", "C4021760"}
    assert [row[14] for row in read("MRCONSO") if row[0] == "C0032227"] == ["Pleural effusion", "Fluid around lungs"]
    assert {row[3] for row in read("MRSTY") if row[0] == "C0007131"} == {"Neoplastic Process"}
    assert {row[3] for row in read("MRSTY") if row[0] == "C0032227"} == {"Finding"}
    assert {len(row) for row in read("MRDEF")} == {9}


@pytest.mark.slow
def test_the_invented_files_are_those_that_their_program_makes(demonstration: Demonstration) -> None:
    with SnapshotGraph.open(demonstration.folder / "graph.cuihop") as graph:
        made = files(graph)
    assert made == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert sum(map(len, made.values())) < 130_000


def test_the_files_agree_on_the_images() -> None:
    def column(name: str, label: str) -> list[str]:
        with (FOLDER / name).open(encoding="utf-8") as file:
            return [row[label] for row in csv.DictReader(file)]

    images = column("concepts.csv", "ID")
    assert len(images) == len(set(images)) == 120
    for name, label in (
        ("captions.csv", "ID"),
        ("labels.csv", "image"),
        ("predictions.csv", "ID"),
        ("captions-a.csv", "ID"),
    ):
        assert column(name, label) == images
    for name in ("run-a.csv", "run-b.csv"):
        assert column(name, "query")[::10] == images
        assert set(column(name, "document")) <= set(images)
    mentioned = {
        (row, cui) for row, cui in zip(column("mentions.csv", "ID"), column("mentions.csv", "cui"), strict=True)
    }
    listed = {
        (i, cui) for i, cuis in zip(images, column("concepts.csv", "CUIs"), strict=True) for cui in cuis.split(";")
    }
    assert mentioned == listed


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, program: Run) -> None:
    (tmp_path / "file").write_text("")
    done = program("demo", "--output", tmp_path / "file" / "examples")
    assert (done.code, "not written" in done.err) == (6, True)
