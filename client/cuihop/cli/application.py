"""The program: its own commands, and those that installed packages add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer

import cuihop
from cuihop.cli import EXIT_CODES
from cuihop.cli.command_files import checked_files
from cuihop.cli.option_groups import with_flat_options

COMMANDS_GROUP = "cuihop.commands"
"""Entry-point group: a function with typer annotations becomes the sub-command of the entry point's name, and a
`typer.Typer` a sub-command with commands of its own."""

_PANELS: dict[str, dict[str, str | None]] = {
    "Ask the graph": {
        "search": "concepts:search",
        "concept": "concepts:concept",
        "names": "concepts:names_of_concepts",
        "annotate": "annotate:annotate",
        "distance": "paths:distance",
        "similarity": "similarity:similarity",
        "all-similarities": "all_similarities:all_similarities",
        "path": "paths:path",
        "neighbours": "paths:neighbours",
        "ancestors": "paths:ancestors",
        "descendants": "paths:descendants",
        "common-ancestors": "paths:common_ancestors",
    },
    "Evaluate retrieval": {
        "nn-iou": "nn_iou:nn_iou",
        "evaluate": "evaluate:evaluate_ranking",
        "compare": "compare:compare_systems",
        "merge": "merge:merge",
        "explain": "explain:explain",
        "study": "study:study",
        "pool": "runs:pool",
        "fuse": "runs:fuse_runs",
        "measures": "measures:measures",
        "concept-detection": "imageclef:concept_detection",
        "irma-error": "imageclef:irma_error",
        "score-annotations": "score_annotations:score_annotated_texts",
        "captions": "captions:caption_scores",
        "agreement": "agreement:agreement_with_people",
        "verify-vectors": "measures:verify_vectors",
    },
    "Load and look": {"demo": None, "load": None, "info": "snapshots:info", "index": "snapshots:index"},
    "Run a service": {"check": None, "serve": None, "keys": None, "warm": None, "mcp": "agents:mcp"},
    "Neo4j": {"store": None, "releases": None, "query": None, "snapshot": None},
}
"""Panel of the help → its commands, in the order of the help → module of this package and function; ``None`` if an
entry point has it."""

_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}
_OWN = {name: value for names in _PANELS.values() for name, value in names.items() if value is not None}
_ALIASES = {"neighbors": "neighbours"}

_EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, _, meaning in EXIT_CODES) + "."


def application(only: str | None = None) -> typer.Typer:
    """The command line.

    With ``only``, the name of a command, the others are left out: their imports can take longer than the answer.
    Without it, or if no command has this name, every installed command is there.
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
    commands = {name: EntryPoint(name, f"cuihop.cli.{value}", COMMANDS_GROUP) for name, value in _OWN.items()}
    if _ALIASES.get(only or "", only) not in commands:  # else no installed package is looked at
        commands |= {entry.name: entry for entry in entry_points(group=COMMANDS_GROUP)}
    names = dict.fromkeys((*(name for name in _PANEL_OF if name in commands), *sorted(commands), *_ALIASES))
    for name in [only] if only is not None and only in names else list(names):
        entry = commands[_ALIASES.get(name, name)]
        panel = _PANEL_OF.get(entry.name, "Other commands")
        listing: dict[str, Any] = {"name": name, "hidden": name in _ALIASES, "rich_help_panel": panel}
        try:
            _add(app, entry.load(), listing)
        except ModuleNotFoundError as error:
            loose = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
            app.command(context_settings=loose, **listing)(_missing(entry, error))
    return app


def _add(app: typer.Typer, command: Callable[..., None] | typer.Typer, listing: Mapping[str, Any]) -> None:
    if isinstance(command, typer.Typer):
        for registered in command.registered_commands:
            registered.callback = registered.callback and _prepared(registered.callback)
        app.add_typer(command, **listing)
    else:
        settings = {"allow_extra_args": True, "ignore_unknown_options": True} if listing["name"] == "merge" else None
        app.command(context_settings=settings, **listing)(_prepared(command))


def _prepared(command: Callable[..., None]) -> Callable[..., None]:
    """The command with flat options and checked files; one that is prepared already is returned as it is."""
    return command if hasattr(command, "__wrapped__") else checked_files(with_flat_options(command))


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
