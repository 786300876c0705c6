"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from cuihop.cli import EXIT_CODES
from cuihop.cli.application import application
from markdown_cells import cell, table

__all__ = ["command_reference"]


def command_reference() -> str:
    """Every command with its arguments and options, as in ``--help``."""
    program: Any = typer.main.get_command(application())
    parts = [part for name, command in sorted(program.commands.items()) for part in _command(f"cuihop {name}", command)]
    codes = table(("exit code", "meaning"), [(str(code), meaning) for code, _, meaning in EXIT_CODES])
    return "\n\n".join([*parts, "## Exit codes", codes])


def _command(name: str, command: Any, level: int = 2) -> list[str]:
    paragraphs = (command.help or "").split("\n\n")
    parts = [f"{'#' * level} {name}", *(_paragraph(each) for each in paragraphs)]
    parameters = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    if arguments:
        rows = [(f"`{one.name.upper()}`", _value(one), _description(one)) for one in arguments]
        parts.append(table(("argument", "value", ""), rows))
    if options:
        parts.append(table(("option", "value", ""), [(_flags(one), _value(one), _description(one)) for one in options]))
    for below, inner in sorted(getattr(command, "commands", {}).items()):
        parts += _command(f"{name} {below}", inner, level + 1)
    return parts


def _paragraph(text: str) -> str:
    """A paragraph of the help; the example, whose lines begin with ``$``, as code."""
    if not text.startswith("$ "):
        return cell(text)
    lines = (line.removeprefix("$ ") for line in text.splitlines())
    return "\n".join(["```sh", *lines, "```"])


def _flags(option: Any) -> str:
    return ", ".join(f"`{flag}`" for flag in [*option.opts, *option.secondary_opts])


def _value(parameter: Any) -> str:
    """The value of a parameter: its kind and bounds, or the choices; nothing for a flag."""
    if parameter.metavar and parameter.param_type_name == "option":
        return f"`{parameter.metavar}`"
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    repeated = get_origin(kind) is list
    if repeated:
        (kind,) = get_args(kind)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        text = " or ".join(f"`{one.value}`" for one in kind)
    elif get_origin(kind) is Literal:
        text = " or ".join(f"`{one}`" for one in get_args(kind))
    else:
        text = {Path: "path", int: "whole number", float: "number", str: "text", bool: ""}.get(
            kind, getattr(kind, "__name__", str(kind))
        )
    if parameter.min is not None:
        text += f" from {parameter.min}"
    if parameter.max is not None:
        text += f" up to {parameter.max}"
    return text + ("; several" if repeated else "")


def _description(parameter: Any) -> str:
    parts = [cell(parameter.help or "")]
    default = parameter.default
    if parameter.required:
        parts.append("Required.")
    elif parameter.show_default and isinstance(default, str | int | float) and not isinstance(default, bool):
        parts.append(f"Default: `{default}`.")
    if parameter.envvar:
        parts.append(f"Also: the variable `{parameter.envvar}`.")
    return " ".join(part for part in parts if part)
