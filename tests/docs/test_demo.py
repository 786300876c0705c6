"""``cuihop demo`` runs in an empty folder, and its figures are those computed by hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from program_run import Run

pytestmark = pytest.mark.xdist_group("demo")  # one process makes the demonstration, for all of them


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Output and folder of the program, run as by ``make``: its folder is not on the path of the shell."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "cuihop", "demo"],
        cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"PATH": os.defpath},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


@pytest.mark.core
def test_the_demonstration_runs_to_its_end(demonstration: tuple[str, Path]) -> None:
    out, folder = demonstration
    assert "That was the main job" in out
    assert f"First, in this shell: export PATH={Path(sys.executable).parent}:$PATH" in out
    assert sorted(path.name for path in (folder / "demo-output").iterdir()) == [
        "captions.csv", "hpo.cuihop", "images.csv", "per_query.csv", "pleural_effusion.svg", "random.csv",
        "region_engine.run", "served.csv",
    ]  # fmt: skip


def test_it_ends_with_a_picture_and_the_address_of_the_explorer(demonstration: tuple[str, Path]) -> None:
    out, folder = demonstration
    picture = (folder / "demo-output" / "pleural_effusion.svg").read_text(encoding="utf-8")
    words = " ".join(re.sub("<[^>]+>", " ", picture).split())
    for name in ("Pleural effusion", "Abnormal pleura morphology", "Chylothorax", "Edema", "C0032227"):
        assert name in words
    assert "A picture of step 4: demo-output/pleural_effusion.svg\n" in out
    assert "cuihop serve --store snapshot:demo-output/hpo.cuihop, then open http://127.0.0.1:8080/" in " ".join(
        out.split()
    )


def test_pleural_effusion_and_pneumothorax_meet_in_the_pleura(demonstration: tuple[str, Path], program: Run) -> None:
    graph = demonstration[1] / "demo-output" / "hpo.cuihop"
    answer = program("path", "C0032227", "C0032326", "--graph", graph, "--json").out
    assert [(step["cui"], step["name"]) for step in json.loads(answer)["path"]] == [
        ("C0032227", "Pleural effusion"),
        ("C4025726", "Abnormal pleura morphology"),
        ("C0032326", "Pneumothorax"),
    ]


def test_near_findings_count_half(demonstration: tuple[str, Path]) -> None:
    out, _ = demonstration
    # One concept shared, two near, three in all: IoU 1/3, nn-IoU (1 + 0.5 * 2) / 3.
    assert "0.3333" in out
    assert "0.6667" in out


def test_the_service_gives_the_figures_of_the_snapshot(demonstration: tuple[str, Path]) -> None:
    out, folder = demonstration
    results = folder / "demo-output"
    assert "serving http://127.0.0.1:" in out
    assert (results / "served.csv").read_text() == (results / "per_query.csv").read_text()
    assert (results / "served.csv").read_text() != (results / "random.csv").read_text()
