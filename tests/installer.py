"""The program that installs packages for a test: uv if it is here, else pip."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal

INSTALLER: Literal["uv", "pip"] = "uv" if shutil.which("uv") else "pip"


def install_command(python: str | Path = sys.executable) -> list[str]:
    """The beginning of a command that installs into the environment of this interpreter."""
    if INSTALLER == "uv":
        return ["uv", "pip", "install", "--python", str(python)]
    return [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-compile"]
