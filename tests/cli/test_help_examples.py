"""Every command has an example in its help; each is run on example files, or parsed if it needs a server."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cuihop.cli.application import application
from cuihop.cli.command_help import COMMAND_EXAMPLES
from example_files import write_example_files
from program_run import Run

PARSED = {"demo", "measures verify", "serve", "service check", "service warm", "service mcp", *(
    name for name in COMMAND_EXAMPLES if name.startswith("neo4j ")
)}  # fmt: skip
"""Commands that need a server, a port or a minute. ``measures verify`` is run by the page of the test vectors."""
NOT_SHOWN = {"help", "neighbors"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    write_example_files(folder)
    return folder


@pytest.fixture
def here(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "examples"
    shutil.copytree(files, folder)
    monkeypatch.chdir(folder)
    for variable in ("CUIHOP_GRAPH", "CUIHOP_NEO4J", "CUIHOP_KEYS_FILE"):
        monkeypatch.delenv(variable, raising=False)
    return folder


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), command
        return
    for name, inner in below.items():
        yield from leaves(inner, (*path, name))


COMMANDS = {name: one for name, one in leaves(typer.main.get_command(application())) if name not in NOT_SHOWN}


def test_every_command_has_an_example() -> None:
    assert set(COMMAND_EXAMPLES) == set(COMMANDS)
    for name, example in COMMAND_EXAMPLES.items():
        lines = example.splitlines()
        assert len(lines) <= 2
        assert lines[0].startswith(f"cuihop {name}") or lines[-1].startswith(f"cuihop {name}")


def test_an_option_of_one_name_is_a_flag_in_every_command_or_in_none() -> None:
    kinds = {
        (each.opts[0], each.is_flag) for one in COMMANDS.values() for each in one.params if hasattr(each, "is_flag")
    }
    names = [name for name, _ in kinds]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.parametrize("name", COMMAND_EXAMPLES)
def test_the_help_begins_with_the_example(name: str) -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(application(name.split()), [*name.split(), "--help"]).output
    text = [line.strip() for line in shown.splitlines() if line.strip()]
    first = COMMAND_EXAMPLES[name].splitlines()[0]
    assert f"$ {first}" in text[2:4], text[:5]
    for words in ("<bool>", "<int", "<str>", "<path>", "list["):
        assert words not in shown


@pytest.mark.parametrize("name", [name for name in COMMAND_EXAMPLES if name not in PARSED])
def test_the_example_runs(name: str, here: Path, program: Run) -> None:
    if name in ("service keys list", "service keys revoke"):
        assert program("service", "keys", "create", "curator", "--keys-file", "keys.json").code == 0
    for line in COMMAND_EXAMPLES[name].splitlines():
        done = program(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}\n{done.err}"


@pytest.mark.parametrize("name", sorted(PARSED))
def test_the_example_of_another_command_is_parsed(name: str, here: Path) -> None:
    words = shlex.split(COMMAND_EXAMPLES[name])[1:]
    COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("name", ["evaluate", "compare", "study", "score captions"])
def test_the_first_panel_has_the_options_one_nearly_always_needs(name: str) -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(application(name.split()), [*name.split(), "--help"]).output
    panels = [line.split("─ ")[1].split(" ─")[0] for line in shown.splitlines() if line.startswith("╭─ ")]
    assert panels[:4] == ["Arguments", "Options", "Input", "Measures"]
    assert [panel for panel in panels if panel in ("Nearness", "Output", "Resources")] == [
        "Nearness", "Output", "Resources",
    ]  # fmt: skip
    first = shown[shown.index("─ Options ─") : shown.index("─ Input ─")]
    assert 5 <= first.count("--") <= 9
    assert "--graph" in first
