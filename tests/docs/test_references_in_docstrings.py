"""Names that docstrings and pages quote in full exist."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"`(cuihop(?!\.toml`)(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
FILES = [*(ROOT / "client" / "cuihop").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
NAMES = sorted({name for file in FILES for name in QUOTED.findall(file.read_text(encoding="utf-8"))})


def exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            reduce(getattr, parts[length:], module)
        except AttributeError:
            return False
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_quoted_exists(name: str) -> None:
    assert exists(name)


def test_a_name_that_does_not_exist_is_reported() -> None:
    assert len(NAMES) > 20
    assert not exists("cuihop.evaluation.evaluate_nothing")
