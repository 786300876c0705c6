"""The example files of ``cuihop demo``, made by its tour once for all tests of a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared_once import made_once

__all__ = ["Demonstration", "demonstration", "linked"]

OF_THE_TOUR = ["per-query.csv", "pleural-effusion.svg", "served.csv"]


@dataclass
class Demonstration:
    """The output of the tour, and the folder of its files, which nobody changes."""

    out: str
    folder: Path


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    """The tour, run as by ``make``: its folder is not on the path of the shell."""
    base = made_once(tmp_path_factory, "demonstration", _demonstrate)
    return Demonstration((base / "out").read_text(), base / "examples")


def _demonstrate(base: Path) -> None:
    (base / "examples").mkdir()
    (base / "examples" / "mine.txt").write_text("kept")
    (base / "examples" / "qrels.txt").write_text("replaced")
    done = subprocess.run(
        [sys.executable, "-m", "cuihop", "demo", "--tour"], cwd=base, capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": os.defpath},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    (base / "out").write_text(done.stdout)


def linked(source: Path, target: Path) -> Path:
    """A folder with the example files: commands replace files, and change none."""
    further = shutil.ignore_patterns("mine.txt", *OF_THE_TOUR)
    return Path(shutil.copytree(source, target, copy_function=os.link, ignore=further))
