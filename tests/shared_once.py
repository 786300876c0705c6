"""Values that a run makes once for all of its processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["made_once"]


def made_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """A folder of the run that the first process to come fills, while the others wait. Nobody changes it later.

    Args:
        factory: pytest's. name: of the folder. fill: gets the new folder.
    """
    base = factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, complete = run / name, run / f"{name}.complete"
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            folder.mkdir()  # fails if another process did not finish it
            fill(folder)
            complete.touch()
    return folder
