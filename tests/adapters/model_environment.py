"""The environment of ``make model-environment``, in which models run, and the results of `model_program` there.

If it is missing, its tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

__all__ = ["cuihop_with_models", "program_result"]

_PROJECT = Path(__file__).parents[2]
_HOME = _PROJECT / ".cache" / "caption-models"
_PROGRAM = Path(__file__).parent / "model_program.py"


def _run(arguments: list[str], transformers: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python of the environment with this version of transformers, and the checkout's cuihop."""
    if not (_HOME / ".ready").exists():
        pytest.skip("torch and transformers not found: make model-environment")
    path = [str(_PROJECT / "client"), *([str(_HOME / "transformers-4")] if transformers == 4 else [])]
    return subprocess.run(
        [str(_HOME / "bin" / "python"), *arguments], capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": "", **environment},
    )  # fmt: skip


def program_result(task: str, folder: Path, transformers: int) -> Any:
    """The JSON that a task of `model_program` prints; ``None`` of one that prints none."""
    done = _run([str(_PROGRAM), task, str(folder)], transformers)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout) if done.stdout.strip() else None


def cuihop_with_models(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line where models run, with transformers 4 and the sentences of the folder."""
    return _run(["-m", "cuihop", *arguments], 4, NLTK_DATA=str(folder / "nltk_data"), COLUMNS="200", NO_COLOR="1")
