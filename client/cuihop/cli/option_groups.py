"""Options in groups: a parameter of a command whose type is a dataclass stands for the options that are its fields."""

from __future__ import annotations

import contextvars
import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform

import typer

_DECLARED = "typer"
Group = TypeVar("Group")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def option_group(cls: type[Group]) -> type[Group]:
    """A frozen dataclass whose fields are made by `option` and `argument`."""
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)  # which take longer to make


def option(text: str, *flags: str, mark: object = None, **settings: Any) -> Any:
    """A field of a group that is an option, ``--`` and the name of the field.

    Args:
        flags: further names, such as ``-n``; a long one replaces the name of the field.
        mark: its use of a file, or the optional package that it needs; see `cuihop.cli.command_files`.
        settings: ``default``, ``None`` if it is not stated; ``required``; ``panel`` of the help; ``shown`` there as
            the default; and those of `typer.Option`.
    """
    return _declared(typer.Option, text, flags, mark, settings)


def argument(text: str, *, mark: object = None, **settings: Any) -> Any:
    """A field of a group that is an argument: as `option`, but required unless it has a default."""
    return _declared(typer.Argument, text, (), mark, {"required": "default" not in settings, **settings})


def _declared(
    kind: Callable[..., Any], text: str, flags: tuple[str, ...], mark: object, settings: dict[str, Any]
) -> Any:
    default = MISSING if settings.pop("required", False) else settings.pop("default", None)
    renamed = {"panel": "rich_help_panel", "shown": "show_default"}
    others = {renamed.get(name, name): value for name, value in settings.items()}
    return field(default=default, metadata={_DECLARED: (functools.partial(kind, help=text, **others), flags, mark)})


file_option = functools.partial(option, panel="Files")
measure_option = functools.partial(option, panel="Measures")
test_option = functools.partial(option, panel="Tests")


def with_flat_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it: with the fields of its option groups as parameters of their own.

    The command is called with an instance of each group, in a context of its own; what a group's ``prepare`` sets
    there, as the vocabulary of identifiers, ends with the command. A field of another group's name is a ``ValueError``.
    """
    hints = typing.get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    groups = {each.name: hints[each.name] for each in parameters if is_dataclass(hints[each.name])}
    if not groups:
        return command
    flat: list[inspect.Parameter] = []
    for each in parameters:
        if each.name in groups:
            flat += _parameters_of(groups[each.name])
        else:
            flat.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name]))

    def in_context(**values: Any) -> None:
        instances = {
            name: group(**{each.name: values.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        for instance in instances.values():
            if hasattr(instance, "prepare"):
                instance.prepare()
        command(**values, **instances)

    @functools.wraps(command)
    def called(**values: Any) -> None:
        contextvars.copy_context().run(in_context, **values)

    called.__annotations__ = {each.name: each.annotation for each in flat}
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return called


def _parameters_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for each in fields(group):
        hint = hints[each.name]
        if _DECLARED in each.metadata:
            kind, flags, mark = each.metadata[_DECLARED]
            if kind.func is typer.Option and not any(flag.startswith("--") for flag in flags):
                flags = (f"--{each.name.replace('_', '-')}", *flags)
            if getattr(mark, "name", "") == "WRITES_FOLDER" and "metavar" not in kind.keywords:
                kind = functools.partial(kind, metavar="FOLDER")
            hint = Annotated[hint, kind(*flags), *(() if mark is None else (mark,))]
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


@option_group
class JsonOptions:
    """The form of the result."""

    json: bool = option("Print the result as JSON.", default=False)


@option_group
class VerboseOptions(JsonOptions):
    """The form of the result, and its length."""

    verbose: bool = option("Also print how each input was read, and all conditions, as --json does.", default=False)


@option_group
class ColumnOptions:
    """Columns of files of concepts."""

    image_column: str | None = file_option(
        "Column of the images in files of concepts.", shown="the first of two; image_id, ID or image of more"
    )
    concept_column: str | None = file_option(
        "Column of the concepts in files of concepts.", shown="the second of two; CUIs, cui or concepts of more"
    )

    @property
    def columns(self) -> dict[str, str | None]:
        """As arguments of `ImageConcepts.read`."""
        return {"image_column": self.image_column, "concept_column": self.concept_column}


def is_stated(context: typer.Context, name: str | None, sources: tuple[str, ...] = ("COMMANDLINE",)) -> bool:
    """True if a parameter comes from the command line, or another of the sources."""
    return str(context.get_parameter_source(name or "")).endswith(sources)
