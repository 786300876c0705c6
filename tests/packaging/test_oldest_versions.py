"""The oldest versions of the dependencies that ``pyproject.toml`` allows."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from installer import install_command
from shared_data import ROOT


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the oldest numba that is allowed knows no newer Python")
def test_commands_run_with_the_oldest_versions_that_are_allowed(tmp_path: Path) -> None:
    python = tmp_path / "oldest" / "bin" / "python"
    venv.create(tmp_path / "oldest")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = [requirement.replace(">=", "==") for requirement in project["dependencies"]]
    subprocess.run([*install_command(python), "--quiet", *oldest], check=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUIHOP", "PYTHON"))}
    for command in (["--help"], ["evaluate", "--help"], ["measures", "list"]):
        done = subprocess.run(
            [python, "-m", "cuihop", *command], capture_output=True, text=True, check=False,
            env=clean | {"PYTHONPATH": str(ROOT / "client")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout
