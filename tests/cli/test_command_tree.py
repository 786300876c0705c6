"""The tree of commands: groups, unknown and former names, help, and commands whose packages are missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import pytest
import typer
from typer.testing import CliRunner

from cuihop.cli.application import COMMANDS_GROUP, application
from program_run import Run, imported_by

WIDE = {"COLUMNS": "160"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("irma-error", "'cuihop score irma'"),
        ("nn-iou", "'cuihop explain concepts'"),
        ("all-similarities", "'cuihop similarity --all'"),
        ("store", "'cuihop neo4j push'"),
        ("keys", "'cuihop service keys'"),
        ("releases list", "'cuihop neo4j releases'"),
        ("evalute", "'cuihop evaluate'"),
        ("score imra", "'cuihop score irma'"),
        ("explain concept A B", "'cuihop explain concepts'"),
        ("Distance", "'cuihop distance'"),
        ("merge", "'cuihop shards merge'?"),
    ],
)
def test_the_command_that_was_meant_is_named(typed: str, meant: str, program: Run) -> None:
    done = program(*typed.split())
    text = " ".join(done.err.replace("│", " ").split())
    assert (done.code, done.out) == (2, "")
    assert "No such command" in text
    assert f"Did you mean {meant}" in text


def test_an_unknown_command_names_no_other(program: Run) -> None:
    done = program("xyzzyxyzzy")
    assert (done.code, "No such command 'xyzzyxyzzy'." in done.err, "Did you mean" in done.err) == (2, True, False)


def test_each_group_lists_its_commands_in_one_line() -> None:
    whole = CliRunner(env=WIDE).invoke(application(), ["--help"], prog_name="cuihop").output
    for line in (
        "Score predictions against the truth: captions, concepts, annotations, irma.",
        "List and check the measures: list, verify, agreement.",
        "Prepare and protect a service: setup, check, warm, keys, mcp.",
        "Keep releases in Neo4j: push, pull, query, releases.",
    ):
        assert line in whole


@pytest.mark.parametrize("name", ["distance", "explain", "serve", "score irma", "service keys", "neo4j releases list"])
def test_a_command_alone_and_among_all_is_the_same(name: str) -> None:
    words = name.split()
    alone = CliRunner().invoke(application(words), [*words, "--help"], prog_name="cuihop")
    among = CliRunner().invoke(application(), [*words, "--help"], prog_name="cuihop")
    assert alone.exit_code == 0
    assert alone.output == among.output
    assert CliRunner().invoke(application(["help"]), ["help", *words], prog_name="cuihop").output == alone.output


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_the_list_of_commands_is_the_same_without_their_imports(arguments: list[str]) -> None:
    whole = CliRunner(env=WIDE).invoke(application(), ["--help"], prog_name="cuihop").output
    listed = CliRunner(env=WIDE).invoke(application(arguments), arguments, prog_name="cuihop").output
    assert listed.rstrip() == whole.rstrip()


def test_the_list_of_commands_imports_none_of_them() -> None:
    assert imported_by(["--help"], {"numpy", "cuihop.cli.paths", "cuihop_loader", "cuihop_service"}) == "[]"


def test_a_command_after_two_hyphens_runs(program: Run) -> None:
    assert "used by" in program("--", "measures", "list").out


def test_help_without_a_command_lists_them_all(program: Run) -> None:
    assert "neighbours" in program("help").out
    assert program("help", "nn-iou").code == 2


def test_a_command_of_a_group_imports_no_other_package() -> None:
    heavy = {"cuihop_service", "cuihop_loader", "neo4j", "cuihop.cli.captions"}
    assert imported_by(["score", "irma", "--help"], heavy) == "[]"


def test_a_command_whose_package_is_missing_names_the_extra(program: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(entry: EntryPoint) -> object:
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    # Once importlib_metadata is imported, as by OpenTelemetry, entry points are of its class.
    for kind in {EntryPoint, *(type(entry) for entry in entry_points(group=COMMANDS_GROUP))}:
        monkeypatch.setattr(kind, "load", load)
    listed = CliRunner(env=WIDE).invoke(application(["service"]), ["service"], prog_name="cuihop").output
    assert "(needs uvicorn: pip install 'cuihop[service]', or in a checkout pip install '.[service]')" in listed
    done = program("service", "check", "--any", "thing")
    assert (done.code, "pip install '.[service]'" in done.err) == (8, True), done.err


def test_an_installed_package_adds_a_command_to_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def pixels() -> None:
        """Score pixels."""
        typer.echo("scored")

    entry = EntryPoint("score.pixels", "a_package:pixels", COMMANDS_GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    load = EntryPoint.load
    monkeypatch.setattr(EntryPoint, "load", lambda self: pixels if self == entry else load(self))
    done = CliRunner().invoke(application(["score", "pixels"]), ["score", "pixels"])
    assert (done.exit_code, done.output) == (0, "scored\n")
    assert "irma, pixels." in CliRunner(env=WIDE).invoke(application(["score"]), ["score", "--help"]).output
