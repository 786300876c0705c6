"""The program: its own commands, and those that installed packages add."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import cuihop
from cuihop.cli import EXIT_CODES
from cuihop.cli.command_help import HelpfulCommand, help_text, import_help_of_typer, with_values
from cuihop.errors import installation

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS_GROUP = "cuihop.commands"
"""Entry-point group: a function with typer annotations becomes the sub-command of the entry point's name, and a
`typer.Typer` a sub-command with commands of its own; ``score.pixels`` is the command ``pixels`` of the group ``score``.
"""

_PANELS: dict[str, dict[str, str | None]] = {
    "Load and look": {
        "demo": None,
        "load": None,
        "info": "snapshots:info",
        "index": "snapshots:index",
        "releases compare": "releases:compare",
        "export": "export:export",
    },
    "Ask the graph": {
        "search": "concepts:search",
        "concept": "concepts:concept",
        "codes": "codes:codes",
        "distance": "paths:distance",
        "path": "paths:path",
        "neighbours": "paths:neighbours",
        "ancestors": "paths:ancestors",
        "descendants": "paths:descendants",
        "similarity": "similarity:similarity",
        "annotate": "annotate:annotate",
    },
    "Evaluate retrieval": {
        "evaluate": "evaluate:evaluate_ranking",
        "compare": "compare:compare_systems",
        "explain": "explain:explain",
        "study": "study:study",
        "score captions": "captions:caption_scores",
        "score concepts": "imageclef:concept_detection",
        "score annotations": "score_annotations:score_annotated_texts",
        "score irma": "imageclef:irma_error",
        "runs pool": "runs:pool",
        "runs fuse": "runs:fuse_runs",
        "measures list": "measures:measures",
        "measures verify": "measures:verify_vectors",
        "measures agreement": "agreement:agreement_with_people",
        "shards merge": "merge:merge",
    },
    "Run a service": {
        "serve": None,
        "service setup": None,
        "service check": None,
        "service warm": None,
        "service keys": None,
        "service mcp": "agents:mcp",
    },
    "Neo4j": {
        "neo4j push": None,
        "neo4j pull": "neo4j_commands:pull",
        "neo4j query": "neo4j_commands:query",
        "neo4j releases": "neo4j_commands:releases",
    },
}
"""Panel of the help → its commands, in the order of the help → module of this package and function; ``None`` if an
entry point has it. A name of two words is a command of a group."""

_SUMMARIES = {
    "demo": "Write example files to try every command with: a graph, images, captions, rankings and judgements.",
    "load": "Load a UMLS release, or ontologies and taxonomies, into a snapshot, a Neo4j server, or both.",
    "info": "Describe a snapshot, a neighbour dictionary, a service or a database: release, size, index, limits.",
    "index": "Build the distance index of a snapshot: distances are then looked up instead of searched.",
    "export": "Write a graph or a neighbourhood for other programs: KGX, and codes as SSSOM.",
    "search": "Find concepts by name or synonym.",
    "concept": "Show a concept, or add preferred names to the concepts of a file.",
    "codes": "List the codes of concepts in source vocabularies, or the concepts of codes.",
    "distance": "Print the distance in hops between two concepts, or for every pair of a file.",
    "path": "Show a shortest path between two concepts, and the number of shortest paths.",
    "neighbours": "List the concepts within --hops of a concept, or write the neighbour dictionary of all concepts of "
    "files.",
    "ancestors": "List the ancestors of a concept, or the common ancestors of several, nearest first.",
    "descendants": "List the descendants of a concept, nearest first.",
    "similarity": "Print the similarity of two concepts over the hierarchy, of two sets, of the pairs of a file, or of "
    "all pairs.",
    "annotate": "Find the concepts of texts by their names, and write them to a file for cuihop evaluate --concepts.",
    "evaluate": "Evaluate a ranking by the concepts of the images, by labels, or by relevance judgements.",
    "compare": "Compare systems on the same queries, from rankings or score cards: differences, intervals, tests, "
    "wins.",
    "explain": "Explain nn-IoU: the matching concepts and their paths, and the influence of n, λ and hubs.",
    "study": "Compare IoU, nn-IoU, BM, embeddings and baselines as the paper does: tables, ablation of n and λ, cost.",
    "serve": "Answer distances and relevance over HTTP and gRPC.",
}
"""First lines of the help of the commands without a group, to list them without an import."""

_LISTING: tuple[list[str], ...] = ([], ["-h"], ["--help"], ["--version"])
"""Arguments that list the commands, or run none."""

_GROUPS = {
    "releases": "What changes from one release to another",
    "score": "Score predictions against the truth",
    "runs": "Combine rankings",
    "measures": "List and check the measures",
    "shards": "Finish a divided evaluation",
    "service": "Prepare and protect a service",
    "neo4j": "Keep releases in Neo4j",
}
_FORMER = {
    "all-similarities": "similarity --all",
    "captions": "score captions",
    "common-ancestors": "ancestors A B",
    "concept-detection": "score concepts",
    "irma-error": "score irma",
    "names": "concept --file FILE",
    "nn-iou": "explain concepts",
    "releases": "neo4j releases",
    "score-annotations": "score annotations",
    "snapshot": "neo4j pull",
    "store": "neo4j push",
    "verify-vectors": "measures verify",
}
"""Names of other versions and of other programs → the command, for the message about an unknown one."""


@dataclass(frozen=True)
class _Own:
    """A command of this package: module and function."""

    value: str

    def load(self) -> Any:
        module, _, name = self.value.partition(":")
        return getattr(import_module(f"cuihop.cli.{module}"), name)


_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}
_RANK = {name.partition(" ")[0]: rank for rank, name in enumerate(_PANEL_OF)}
_OWN = {
    name: _Own(value)
    for names in _PANELS.values() for name, value in names.items() if value is not None
}  # fmt: skip
_ALIASES = {"neighbors": "neighbours"}
_EXTRAS = {"demo": "demo", "load": "loader", "serve": "service", "service": "service", "neo4j": "neo4j"}
_PASSES_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

_EPILOG = (
    "The options of a command: cuihop help COMMAND. "
    f"Exit codes: {'; '.join(f'{code} {meaning}' for code, _, meaning in EXIT_CODES)}."
)


class _Group(TyperGroup):
    """A group of commands that names the nearest ones of all groups for an unknown one."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(self.commands, key=lambda name: _RANK.get(name, len(_RANK)))

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        import_help_of_typer()
        super().format_help(ctx, formatter)

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        return with_values(super().get_params(ctx))

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        if args[0] not in self.commands and not args[0].startswith("-"):
            path = ctx.command_path.partition(" ")[2]
            near = [f"{path} {name}" for name in get_close_matches(args[0], self.commands)] if path else []
            meant = near or ([_FORMER[path]] if path in _FORMER else _meant(args[0]))
            names = [f"'cuihop {name}'" for name in meant]
            hint = f" Did you mean {' or '.join(names)}?" if names else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _meant(unknown: str) -> list[str]:
    """The command of a former name, those of this name in a group, or else those with a word that is spelt alike."""
    if unknown in _FORMER:
        return [_FORMER[unknown]]
    if exact := [name for name in _installed() if name.split()[-1] == unknown]:
        return exact
    words = {word: name for name in _installed() for word in name.split()} | {word: word for word in _RANK} | _FORMER
    return list(dict.fromkeys(words[each] for each in get_close_matches(unknown.lower(), words)))


def _installed() -> dict[str, EntryPoint | _Own]:
    """Every command: those of this package, and those of installed ones."""
    from importlib.metadata import entry_points

    installed = {entry.name.replace(".", " "): entry for entry in entry_points(group=COMMANDS_GROUP)} | _OWN
    return {name: installed[name] for name in dict.fromkeys((*_PANEL_OF, *sorted(installed))) if name in installed}


def application(arguments: Sequence[str] | None = None) -> typer.Typer:
    """The command line: all of it, or only what these arguments need, as imports can take longer than the answer."""
    app = typer.Typer(
        name="cuihop",
        cls=_Group,
        help="Hops between UMLS concepts, exactly, and the retrieval measures nn-IoU and nn-CUI@K built on them.",
        epilog=_EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    app.command("help", hidden=True)(_help)
    listed = arguments is not None and [*arguments[:1]] in _LISTING and "_CUIHOP_COMPLETE" not in os.environ
    commands, groups = _selected(arguments or ()), dict[str, typer.Typer]()
    for name, entry in commands.items():
        group, _, word = name.rpartition(" ")
        panel = _PANEL_OF.get(_ALIASES.get(name, name), "Other commands")
        if group and group not in groups:
            names = dict.fromkeys((*_PANEL_OF, *commands))
            content = ", ".join(each.partition(" ")[2] for each in names if each.startswith(f"{group} "))
            text = f"{_GROUPS.get(group, 'Other commands')}: {content}."
            groups[group] = typer.Typer(name=group, help=text, no_args_is_help=True, cls=_Group)
            app.add_typer(groups[group], rich_help_panel=panel)
        listing: dict[str, Any] = {
            "name": word, "hidden": name in _ALIASES, "rich_help_panel": None if group else panel,
        }  # fmt: skip
        if listed and (group or _ALIASES.get(name, name) in _SUMMARIES):
            if name in _SUMMARIES:
                app.command(help=_SUMMARIES[name], **listing)(_options)
            continue
        try:
            _add(groups.get(group, app), entry.load(), listing, _ALIASES.get(name, name))
        except ModuleNotFoundError as error:
            loose = {**_PASSES_ON, "help_option_names": []}
            extra = _EXTRAS.get(name.partition(" ")[0], "all")
            groups.get(group, app).command(context_settings=loose, **listing)(_missing(extra, error))
    return app


def _selected(arguments: Sequence[str]) -> dict[str, EntryPoint | _Own]:
    """The commands that the arguments may need, by name; none if they begin with an unknown one."""
    first = arguments[0] if arguments else ""
    typed = (" ".join(arguments[:2]), first)
    own = any(_ALIASES.get(name, name) in _OWN for name in typed)  # else installed packages are looked at
    commands: dict[str, EntryPoint | _Own] = dict(_OWN) if own else _installed()
    commands |= {alias: commands[name] for alias, name in _ALIASES.items()}
    names = [name for name in typed if name in commands][:1]
    names = names or [name for name in commands if name.startswith(f"{first} ")]
    every = not first or first.startswith("-")
    return {name: commands[name] for name in (commands if every else names)}


def _add(
    app: typer.Typer, command: Callable[..., None] | typer.Typer, listing: Mapping[str, Any], path: str
) -> None:  # fmt: skip
    if isinstance(command, typer.Typer):
        for registered in command.registered_commands:
            if registered.callback is not None:
                registered.help = help_text(
                    f"{path} {registered.name or registered.callback.__name__}", registered.callback
                )
                registered.callback, registered.cls = _prepared(registered.callback), HelpfulCommand
        app.add_typer(command, cls=_Group, **listing)
    else:
        settings = _PASSES_ON if path == "shards merge" else None
        text = help_text(path, command)
        app.command(cls=HelpfulCommand, help=text, context_settings=settings, **listing)(_prepared(command))


def _prepared(command: Callable[..., None]) -> Callable[..., None]:
    """The command with flat options and checked files; one that is prepared already is returned as it is."""
    from cuihop.cli.command_files import checked_files
    from cuihop.cli.option_groups import with_flat_options

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


def _help(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="The command, such as: score irma.")
    ] = None,
) -> None:
    """Print the options of a command; without a command, list all commands."""
    application(command or [])([*(command or []), "--help"], prog_name="cuihop")


def _missing(extra: str, error: ModuleNotFoundError) -> Callable[[], None]:
    """A stand-in for a command whose packages are not installed: its error names them."""
    needed = installation(f"cuihop[{extra}]")

    def command() -> None:
        text = f"this needs the package {error.name}, which is not installed: {needed}"
        raise ModuleNotFoundError(error.msg if "pip install" in error.msg else text, name=error.name)

    from rich.markup import escape

    command.__doc__ = escape(f"(needs {error.name}: {needed})")
    return command
