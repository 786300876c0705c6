"""Schedulers of the page on scaling: their commands run here as each scheduler would run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from example_graph import EDGES, example_graph
from shared_data import ROOT

PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
JOB = ROOT / "deploy" / "kubernetes" / "evaluation" / "job.yaml"
PROGRAMS = Path(sys.executable).parent


def indented(section: str) -> str:
    """The commands of a section of the page."""
    text = re.search(rf"^### {section}\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    assert text is not None
    return "".join(line[4:] for line in text[1].splitlines(keepends=True) if line.startswith("    "))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    example_graph().save(tmp_path / "graph.cuihop")
    concepts = sorted({concept for edge in EDGES for concept in edge})
    names = [f"i{place}" for place in range(40)]
    rows = [f"{name},{concepts[place % len(concepts)]};{concepts[0]}\n" for place, name in enumerate(names)]
    tmp_path.joinpath("concepts.csv").write_text("ID,CUIs\n" + "".join(rows))
    lists = [f"{name} Q0 {other} 1 {rank} x\n" for name in names for rank, other in enumerate(names[:12])]
    tmp_path.joinpath("run.trec").write_text("".join(lists))
    return tmp_path


def run(command: str, folder: Path, **variables: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUIHOP")}
    environment = inherited | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"} | variables
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_merged(folder: Path) -> None:
    merged = run("cuihop shards merge parts", folder)
    assert "nn-CUI@5" in merged
    values = folder.joinpath("values.csv").read_bytes()
    command = "cuihop evaluate run.trec --concepts concepts.csv --graph graph.cuihop --output values.csv"
    assert run(command, folder) == merged
    assert folder.joinpath("values.csv").read_bytes() == values


@pytest.mark.slow
def test_the_array_job_of_slurm(here: Path) -> None:
    script = indented("Slurm").partition("JOB=")[0]
    assert script.startswith("#!/bin/bash\n#SBATCH ")
    assert "--array=1-8 " in script
    tasks = "".join(f"(export SLURM_ARRAY_TASK_ID={task}; {script})\n" for task in (1, 2))
    run(tasks, here, SLURM_ARRAY_TASK_COUNT="2", SLURM_CPUS_PER_TASK="1")
    assert_merged(here)


@pytest.mark.slow
def test_the_indexed_job_of_kubernetes(here: Path) -> None:
    done = subprocess.run(
        [PROGRAMS / "kubernetes-validate", "--strict", JOB], check=False, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    spec = yaml.safe_load(JOB.read_text())["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert spec["completionMode"] == "Indexed"
    (shards,) = container["env"]
    assert (shards["name"], int(shards["value"])) == ("SHARDS", spec["completions"])
    volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    assert volumes == {mount["name"] for mount in container["volumeMounts"]}
    (command,) = container["args"]
    for index in ("0", "1"):
        run(command, here, JOB_COMPLETION_INDEX=index, SHARDS="2")
    assert_merged(here)


@pytest.mark.slow
def test_the_command_of_gnu_parallel(here: Path) -> None:
    program = shutil.which("parallel")
    if program is None:
        pytest.skip("GNU parallel not found: install Debian's package parallel")
    command = indented("GNU parallel").partition("cuihop shards merge")[0]
    assert "{1..8}" in command
    local = command.replace("--sshloginfile machines.txt ", "").replace("--workdir . ", "")
    run(local.replace("8", "2"), here)
    assert_merged(here)
