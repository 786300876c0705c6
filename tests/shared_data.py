"""The real data that tests read: openly licensed files that lie beside the checkout, never in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("CUIHOP_SHARED_DATA", ROOT.parent / "shared" / "data"))
MISSING = "read data that is not in the repository: CUIHOP_SHARED_DATA names its folder"


def shared(relative: str) -> Path:
    """The path of a shared file or folder; skips the test, saying why, where the shared data is absent."""
    path = FOLDER / relative
    if not path.exists():
        pytest.skip(MISSING)
    return path


def wordnet() -> Path:
    """The folder of WordNet 3.0 as Debian has it; skips the test, saying why, where it is absent."""
    for folder in (ROOT / ".cache" / "wordnet" / "usr" / "share" / "wordnet", Path("/usr/share/wordnet")):
        if folder.joinpath("data.noun").exists():
            return folder
    pytest.skip("WordNet not found: install Debian's package wordnet-base")
