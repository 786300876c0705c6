"""The program that installs packages for a test: uv if it is here, else pip."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

INSTALLER = "uv" if shutil.which("uv") else "pip"


def install_command(python: str | Path = sys.executable) -> list[str]:
    """The beginning of a command that installs into the environment of this interpreter."""
    if INSTALLER == "uv":
        return ["uv", "pip", "install", "--python", str(python)]
    return [str(python), "-m", "pip", "install"]
