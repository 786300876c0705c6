"""The command line, run in the process of a test or, for what it imports, in one of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import pytest
import typer

from cuihop.cli import application, main

__all__ = ["Done", "Run", "built_once", "imported_by", "program"]

_build = application.application
_built: dict[object, typer.Typer] = {}
_command = cache(typer.main.get_command)


@dataclass
class Done:
    """Exit code and output of a program."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def built_once(patched: pytest.MonkeyPatch) -> None:
    """Let `main` build a command once, if no package is missing: each time takes longer than most answers."""

    def kept(arguments: Sequence[str]) -> typer.Typer:
        missing = frozenset(name for name, module in sys.modules.copy().items() if module is None)
        listed = [*arguments[:1]] in application._LISTING
        key = (tuple(application._selected(arguments).items()), listed, missing)
        if key in _built:
            return _built[key]
        lacking: list[str] = []
        stand_in = application._missing

        def noted(extra: str, error: ModuleNotFoundError) -> Callable[[], None]:
            lacking.append(extra)
            return stand_in(extra, error)

        application._missing = noted
        try:
            built = _build(arguments)
        finally:
            application._missing = stand_in
        if not lacking:  # else of this test alone
            _built[key] = built
        return built

    patched.setattr(application, "application", kept)
    patched.setattr(typer.main, "get_command", _command)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``cuihop`` with some arguments."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["cuihop", *map(str, arguments)])
        built_once(monkeypatch)
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        code = stop.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


def imported_by(command: Sequence[str], modules: set[str], before: str = "") -> str:
    """The modules, of these, that a command of ``cuihop`` has imported at its end, as a printed list.

    Args:
        command: the arguments. modules: names to look for. before: Python that runs before the command.
    """
    code = (
        "import sys\n"
        "from cuihop.cli import main\n"
        f"{before}"
        f"sys.argv = {['cuihop', *command]!r}\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        f"print(sorted({modules!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]
