"""The command line, run in the process of a test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cuihop.cli import main

__all__ = ["Done", "Run", "program"]


@dataclass
class Done:
    """Exit code and output of a program."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``cuihop`` with some arguments."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["cuihop", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        code = stop.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run
