"""Query strings: the parameters that each route knows, and numbers in parameters and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args, get_origin

from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute, Route

from cuihop.errors import InputError

__all__ = ["Parameter", "check_query", "decimal", "route_parameters"]

_LONGEST_NAME = 60
_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query string.

    Attributes:
        repeats: it may occur several times.
        integer: its value is an integer.
    """

    repeats: bool
    integer: bool


def route_parameters(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], dict[str, Parameter]]:
    """The parameters of each method and path, by name. A route outside the OpenAPI document has none."""
    return {
        (method, route.path): _parameters(route)
        for route in routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }


def check_query(query: bytes, parameters: Mapping[str, Parameter]) -> None:
    """Refuse a query string with an unknown parameter, with a repeated one, or with a malformed integer.

    Raises:
        InputError: names the parameter.
    """
    values = QueryParams(query)
    for name, value in values.multi_items():
        short = name[:_LONGEST_NAME]
        parameter = parameters.get(name)
        if parameter is None:
            alike = get_close_matches(short.lower(), parameters, 1)
            raise InputError(
                "unknown",
                column=short,
                found="no parameter of this name",
                expected=f"one of {', '.join(sorted(parameters))}" if parameters else "no parameters",
                advice=f"Did you mean {alike[0]}?" if alike else None,
            )
        if not parameter.repeats and (times := len(values.getlist(name))) > 1:
            raise InputError("repeated", column=short, found=f"{times} values", expected="one")
        if parameter.integer and _INTEGER.fullmatch(value) is None:
            raise InputError("not valid", column=short, found=repr(value[:40]), expected="an integer, such as 5")


def decimal(text: str) -> float | None:
    """The number that a header spells in digits; None for any other text that Python would read as one.

    >>> [decimal(text) for text in ("2.5", "1e-3", "1_0", " 1", "+1", "\u0661", "nan")]
    [2.5, 0.001, None, None, None, None, None]
    """
    return float(text) if _DECIMAL.fullmatch(text) else None


def _parameters(route: Route) -> dict[str, Parameter]:
    if not isinstance(route, APIRoute):
        return {}
    kinds = {field.alias: field.field_info.annotation for field in route.dependant.query_params}
    return {name: Parameter(get_origin(kind) is tuple, int in (kind, *get_args(kind))) for name, kind in kinds.items()}
