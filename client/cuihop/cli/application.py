"""The program: its own commands, and those that installed packages add."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer

import cuihop
from cuihop.cli.command_files import checked_files
from cuihop.cli.exit_codes import EXIT_CODES

__all__ = ["COMMANDS_GROUP", "application"]

COMMANDS_GROUP = "cuihop.commands"
"""Entry-point group: a function with typer annotations becomes the sub-command of the entry point's name, and a
`typer.Typer` a sub-command with commands of its own."""

_OWN = {
    "distance": "distance:distance",
    "path": "paths:path",
    "neighbours": "paths:neighbours",
    "ancestors": "paths:ancestors",
    "descendants": "paths:descendants",
    "common-ancestors": "paths:common_ancestors",
    "search": "concepts:search",
    "concept": "concepts:concept",
    "nn-iou": "nn_iou:nn_iou",
    "explain": "explain:explain",
    "evaluate": "evaluate:evaluate_ranking",
    "study": "study:study",
    "compare": "compare:compare_systems",
    "measures": "measures:measures",
    "concept-detection": "detection:concept_detection",
    "irma-error": "detection:irma_error",
    "index": "index:index",
    "info": "info:info",
    "mcp": "agents:mcp",
}
"""Command → module of this package and function."""

_EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, _, meaning in EXIT_CODES) + "."


def application(only: str | None = None) -> typer.Typer:
    """The command line.

    Args:
        only: name of the requested command. The others are then left out, since their imports can take longer than the
            answer. Without it, or where no command has this name, every installed command is there.
    """
    app = typer.Typer(
        name="cuihop",
        help="Hops between UMLS concepts, exactly, and the retrieval measures nn-IoU and nn-CUI@K built on them.",
        epilog=_EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    own = (EntryPoint(name, f"cuihop.cli.{value}", COMMANDS_GROUP) for name, value in _OWN.items())
    others = sorted(entry_points(group=COMMANDS_GROUP), key=lambda entry: entry.name)
    commands = {entry.name: entry for entry in (*own, *others)}
    for entry in [commands[only]] if only in commands else commands.values():
        try:
            loaded = entry.load()
        except ModuleNotFoundError as error:
            loose = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
            app.command(entry.name, context_settings=loose)(_missing(entry, error))
            continue
        _add(app, entry.name, loaded)
    return app


def _add(app: typer.Typer, name: str, command: Callable[..., None] | typer.Typer) -> None:
    if isinstance(command, typer.Typer):
        for registered in command.registered_commands:
            registered.callback = registered.callback and checked_files(registered.callback)
        app.add_typer(command, name=name)
    else:
        app.command(name)(checked_files(command))


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"cuihop {cuihop.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass


def _missing(entry: EntryPoint, error: ModuleNotFoundError) -> Callable[[], None]:
    """A stand-in for a command whose packages are not installed: its error names them."""

    def command() -> None:
        raise error

    command.__doc__ = f"(needs {error.name}: pip install 'cuihop[all]')"
    return command
