"""Options in groups: a parameter of a command whose type is a dataclass stands for the options that are its fields."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any


def with_flat_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it: with the fields of its option groups as parameters of their own.

    A group is a dataclass whose fields have ``Annotated`` types with a `typer.Option` or `typer.Argument`. The command
    is called with an instance of the group.

    Raises:
        ValueError: two groups have a field of the same name.
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

    @functools.wraps(command)
    def called(**values: Any) -> None:
        instances = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **instances)

    called.__annotations__ = {each.name: each.annotation for each in flat}
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return called


def _parameters_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
