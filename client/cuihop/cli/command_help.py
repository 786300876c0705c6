"""The help of the commands: an example for each, the panels of those with many options, and what a value is."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from typer.core import TyperCommand

__all__ = ["COMMAND_EXAMPLES", "HelpfulCommand", "help_text", "with_values"]

COMMAND_EXAMPLES: Mapping[str, str] = {
    "demo": "cuihop demo",
    "load": "cuihop load umls --output umls.cuihop",
    "info": "cuihop info graph.cuihop",
    "index": "cuihop index graph.cuihop",
    "releases compare": "cuihop load umls --output umls.cuihop\n"
    "cuihop releases compare graph.cuihop umls.cuihop --concepts concepts.csv",
    "export": "cuihop export --nodes nodes.tsv --edges edges.tsv --graph graph.cuihop",
    "search": "cuihop search 'pleural effusion' --graph graph.cuihop",
    "concept": "cuihop concept C0032227 --graph graph.cuihop",
    "distance": "cuihop distance C0032227 C0032326 --graph graph.cuihop",
    "path": "cuihop path C0032227 C0032326 --graph graph.cuihop",
    "neighbours": "cuihop neighbours C0032227 --hops 2 --graph graph.cuihop",
    "ancestors": "cuihop ancestors C0032227 C0032326 --graph graph.cuihop",
    "descendants": "cuihop descendants C0032227 --graph graph.cuihop",
    "codes": "cuihop load umls --output umls.cuihop\ncuihop codes C0032227 --graph umls.cuihop",
    "similarity": "cuihop similarity C0032227 C0032326 --graph graph.cuihop",
    "annotate": "cuihop annotate captions.csv --output found.csv --graph graph.cuihop",
    "evaluate": "cuihop evaluate run-a.csv --concepts concepts.csv --graph graph.cuihop\n"
    "cuihop evaluate run-a.csv --qrels qrels.txt --measure nDCG@10,AP",
    "compare": "cuihop compare run-a.csv run-b.csv --concepts concepts.csv --graph graph.cuihop",
    "explain pair": "cuihop explain pair concepts.csv chest-01 chest-02 --graph graph.cuihop",
    "explain concepts": "cuihop explain concepts 'C0032227;C0018800' 'C3887491;C0018800' --graph graph.cuihop",
    "explain query": "cuihop explain query --concepts concepts.csv --ranking run-a.csv --graph graph.cuihop",
    "study": "cuihop study concepts.csv --labels labels.csv --graph graph.cuihop --output study --no-plots",
    "score captions": "cuihop score captions captions.csv captions-a.csv --graph graph.cuihop",
    "score concepts": "cuihop score concepts concepts.csv predictions.csv --graph graph.cuihop",
    "score annotations": "cuihop annotate captions.csv --output found.csv --spans spans.csv --graph graph.cuihop\n"
    "cuihop score annotations mentions.csv spans.csv --graph graph.cuihop",
    "score irma": "cuihop score irma irma-truth.csv irma-a.csv --branching 10",
    "runs pool": "cuihop runs pool run-a.csv run-b.csv --depth 5 --output pool.csv",
    "runs fuse": "cuihop runs fuse run-a.csv run-b.csv --output fused.run",
    "measures list": "cuihop measures list",
    "measures verify": "cuihop measures verify",
    "measures agreement": "cuihop measures agreement pairs.csv --graph graph.cuihop",
    "shards merge": "cuihop evaluate run-a.csv --qrels qrels.txt --measure AP --checkpoint parts --shard 1/1\n"
    "cuihop shards merge parts",
    "serve": "cuihop serve --graph graph.cuihop",
    "service setup": "cuihop service setup department",
    "service check": "cuihop service check --graph graph.cuihop",
    "service warm": "cuihop service warm concepts.csv --graph grpc://localhost:50051",
    "service keys create": "cuihop service keys create curator --scope read --keys-file keys.json",
    "service keys list": "cuihop service keys list --keys-file keys.json",
    "service keys revoke": "cuihop service keys revoke curator --keys-file keys.json",
    "service mcp": "cuihop service mcp --graph graph.cuihop",
    "neo4j push": "cuihop neo4j push graph.cuihop --graph bolt://localhost:7687",
    "neo4j pull": "cuihop neo4j pull --graph bolt://localhost:7687 --output graph.cuihop",
    "neo4j query": "cuihop neo4j query 'MATCH (c:Concept) RETURN count(c)' --graph bolt://localhost:7687",
    "neo4j releases list": "cuihop neo4j releases list --graph bolt://localhost:7687",
    "neo4j releases switch": "cuihop neo4j releases switch 2 --graph bolt://localhost:7687",
    "neo4j releases rollback": "cuihop neo4j releases rollback --graph bolt://localhost:7687",
    "neo4j releases remove": "cuihop neo4j releases remove 1 --graph bolt://localhost:7687",
    "neo4j releases repair": "cuihop neo4j releases repair --graph bolt://localhost:7687",
    "neo4j releases compare": "cuihop neo4j releases compare 1 2 --graph bolt://localhost:7687",
}
"""Command → its example, on the files of `cuihop demo`; a line for each command line."""

_FIRST = {
    "evaluate": ("concepts", "graph", "measure", "hops", "output", "json"),
    "compare": ("concepts", "graph", "measure", "hops", "against", "json"),
    "study": ("graph", "labels", "embeddings", "hops", "output", "json"),
    "captions": ("graph", "measure", "hops", "output", "report", "json"),
}
"""Command → the options that one nearly always needs: those of its first panel."""

_NEARNESS = frozenset({"direction", "lam", "weight", "ic", "unknown", "within_sab", "hops"})
_OUTPUTS = frozenset(
    {"output", "card", "cards", "system", "report", "plot", "plots", "html", "overwrite", "json", "rows", "verbose"}
)
_ORDER = ("", "Input", "Measures", "Nearness", "Tests", "Models", "Output", "Resources")
_NAMES = {bool: "", int: "N", float: "N", str: "TEXT"}


class _Later(type):
    """A class of rich that is imported when it is first used."""

    def __call__(cls, *arguments: Any, **settings: Any) -> Any:
        return getattr(import_module(cls.__module__), cls.__name__)(*arguments, **settings)

    def __getattr__(cls, name: str) -> Any:
        return getattr(getattr(import_module(cls.__module__), cls.__name__), name)


def import_help_of_typer() -> None:
    """Import what Typer prints help with, without Markdown and tracebacks: a third of its time, and rarely used."""
    later = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    stand_ins = {name: ModuleType(name) for name in later if not {name, "typer.rich_utils"} & sys.modules.keys()}
    for name, module in stand_ins.items():
        setattr(module, later[name], _Later(later[name], (), {"__module__": name}))
    sys.modules.update(stand_ins)
    try:
        import_module("typer.rich_utils")
    finally:
        for name in stand_ins:
            del sys.modules[name]


class HelpfulCommand(TyperCommand):
    """A command whose help says what a value is (FILE, N), and has the needed options in its first panel."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **settings)
        parameters: list[Any] = self.params
        for parameter in parameters:
            if parameter.param_type_name == "argument" and parameter.metavar is None:
                parameter.metavar = parameter.name.upper()
        first = _FIRST.get(name or "")
        if first is not None:
            for parameter in parameters:
                if parameter.param_type_name == "option":
                    parameter.rich_help_panel = None if parameter.name in first else _panel(parameter)
            self.params.sort(key=_rank)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        import_help_of_typer()
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters and ``--help``, each with what its value is."""
        return with_values(super().get_params(ctx))


def with_values(parameters: list[Any]) -> list[Any]:
    """Parameters whose help says FILE or N in place of the name of a Python type."""
    for parameter in parameters:
        parameter.display_type_rich = partial(_value, parameter)
        if not isinstance(parameter.get_runtime_param, partial):
            parameter.get_runtime_param = partial(_Reader, parameter.get_runtime_param)
        parameter._get_number_range_help_str = lambda: None  # the bounds are part of the value
    return parameters


@dataclass(frozen=True)
class _Reader:
    """Reads the usual values of an option. Typer reads the others by pydantic, whose import takes long."""

    typer: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter as its type, or an error."""
        kind, several = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        element = get_args(kind)[0] if several and get_origin(kind) is list else kind
        texts = list(value) if several and isinstance(value, list | tuple) else [value]
        read = [_read(element, each, param.type_descriptor.parameter_info) for each in texts]
        if None in read or (several and element is kind):
            return self.typer().coerce(value, param=param, ctx=ctx)
        return read if several else read[0]


def _read(kind: Any, value: object, settings: Any) -> Any:
    """A text, a name of several, a path or a number, as the usual type; ``None`` for all else."""
    if settings.parser is not None:
        return None
    if isinstance(value, str):
        if kind is str or (get_origin(kind) is Literal and value in get_args(kind)):
            return value
        strict = settings.exists or settings.resolve_path or settings.writable or not settings.file_okay
        if kind is Path and not strict and (os.access(value, os.R_OK) or not Path(value).exists()):
            return Path(value)
    number = int(value) if kind is int and isinstance(value, str) and value.isascii() and value.isdecimal() else value
    if kind not in (int, float) or type(number) is not kind:
        return None
    low, high = settings.min, settings.max
    return number if (low is None or number >= low) and (high is None or number <= high) else None


def help_text(command: str, described: Callable[..., Any]) -> str | None:
    """The docstring of a command with its example after the first paragraph, each paragraph in one line."""
    if not described.__doc__:
        return None
    first, *rest = (" ".join(each.split()) for each in inspect.cleandoc(described.__doc__).split("\n\n"))
    example = "\n".join(f"$ {line}" for line in COMMAND_EXAMPLES.get(command, "").splitlines())
    return "\n\n".join(filter(None, (first, example, *rest)))


def _panel(parameter: Any) -> str:
    panel = parameter.rich_help_panel
    if parameter.name in _NEARNESS:
        return "Nearness"
    if panel in (None, "Files"):
        return "Output" if parameter.name in _OUTPUTS else "Input"
    return str(panel)


def _rank(parameter: Any) -> int:
    panel = parameter.rich_help_panel or ""
    return _ORDER.index(panel) if panel in _ORDER else len(_ORDER)


def _value(parameter: Any, ctx: object = None) -> str:
    """The kind of a value: FILE, N with its bounds, one of several names, TEXT; nothing for a flag."""
    kind = parameter.type_descriptor
    if parameter.metavar is not None:
        return "" if parameter.param_type_name == "argument" else str(parameter.metavar)
    if kind.is_choice:
        return (
            str(parameter.display_type(ctx)).removeprefix("<").removesuffix(">").removeprefix("list[").removesuffix("]")
        )
    if kind.is_path or "Path" in str(kind.annotation):
        return "FILE"
    base = next((base for base in _NAMES if kind.annotation in (base, list[base])), str)  # type: ignore[valid-type]
    text = _NAMES[base]
    if text == "TEXT" and parameter.param_type_name == "argument":
        return ""
    if text == "N" and parameter.min is not None:
        text = f"N ≥ {parameter.min:g}"
    return text + ("" if text == "" or parameter.max is None else f" ≤ {parameter.max:g}")
