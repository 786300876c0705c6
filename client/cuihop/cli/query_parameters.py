"""Parameters of a Cypher query: the lines ``:param`` before it, as Neo4j Browser takes them, and options."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from cuihop.errors import InputError

_LINE = re.compile(r"[ \t]*:param\b(?P<assignment>[^\n]*)", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*(?:=>|:)\s*(?P<value>.*?)\s*;?\s*")
_STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*\"""")
_ESCAPED_QUOTE = re.compile(r"\\(')|(\\.)|(\")")


def parameters_of_options(given: Sequence[str]) -> dict[str, Any]:
    """Values of ``NAME=VALUE``: JSON, or else text.

    Raises:
        InputError: no name, or no equals sign.
    """
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("--param: not a parameter", found=repr(text), expected="NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


def separated_parameters(text: str) -> tuple[dict[str, Any], str]:
    r"""Values of the lines ``:param NAME => VALUE`` of a query, and the query with these lines empty.

    A value is a string, a number, ``true``, ``false``, ``null`` or a list of these.

    Raises:
        InputError: such a line that is not as expected, with its number.

    Example:
        >>> separated_parameters(":param cui => 'C0006121';\nRETURN $cui")
        ({'cui': 'C0006121'}, '\nRETURN $cui')
    """
    values: dict[str, Any] = {}
    lines = text.split("\n")
    for place, line in enumerate(lines):
        found = _LINE.fullmatch(line.rstrip("\r"))
        if found is not None:
            assignment = _ASSIGNMENT.fullmatch(found["assignment"])
            try:
                if assignment is None:
                    raise ValueError
                values[assignment["name"]] = json.loads(_STRING.sub(_as_json, assignment["value"]))
            except ValueError:
                raise InputError(
                    "not a parameter", line=place + 1, found=repr(line.strip())[:100],
                    expected=":param NAME => a string, a number, true, false, null or a list of these",
                ) from None  # fmt: skip
            lines[place] = ""
    return values, "\n".join(lines)


def _as_json(string: re.Match[str]) -> str:
    if string[1] is None:  # in double quotes, as in JSON
        return string[0]
    inner = _ESCAPED_QUOTE.sub(lambda part: part[1] or part[2] or '\\"', string[1])
    return f'"{inner}"'
