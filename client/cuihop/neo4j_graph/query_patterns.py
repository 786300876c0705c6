"""Regular expressions in a curator's query: those that could keep a server's thread busy for ever are refused.

The server matches by backtracking and does not look meanwhile whether the query was ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cuihop.errors import InputError

__all__ = ["MOST_REPETITIONS", "check_patterns"]

MOST_REPETITIONS = 4
"""``*``, ``+``, ``?`` and ``{…}`` in one regular expression: the time to match grows with the length to this power."""

_MATCHES = re.compile(r"=~\s*")
_OPERAND = re.compile(r"(?P<string>'+|\"+)|\$\s*(?P<parameter>\w+)")
_GOES_ON = re.compile(r"\s*(?:[-+*/%^.\[:]|\|\|)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PART = re.compile(
    r"\\(?P<escape>.)|(?P<set>\[\^?(?:\\.|[^\]\\\[])+\])|(?P<open>\((?:\?[a-zA-Z-]*[:)]?)?)|(?P<rest>.)", re.DOTALL
)


def check_patterns(text: str, code: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a query with a regular expression that is computed, or that may take exponential time.

    Args:
        text: the query.
        code: the same with strings, quoted names and comments overwritten.
        parameters: values for its ``$names``.

    Raises:
        InputError: with line and column.
    """
    for match in _MATCHES.finditer(code):
        operand = _OPERAND.match(code, match.end())
        value: Any = None
        if operand is not None and not _GOES_ON.match(code, operand.end()):
            if operand["parameter"] is None:
                value = _ESCAPED.sub(r"\1", text[operand.start() + 1 : operand.end() - 1])
            else:
                value = parameters.get(operand["parameter"], "")
        problem = "a regular expression that is computed" if not isinstance(value, str) else _problem(value)
        if problem is not None:
            raise InputError(
                problem,
                line=code.count("\n", 0, match.start()) + 1,
                column=match.start() - code.rfind("\n", 0, match.start()),
                expected=f"a string or a parameter with at most {MOST_REPETITIONS} of * + ? {{}}, none of them around "
                "another or around |, and without references back; CONTAINS and STARTS WITH need none",
            )


def _problem(pattern: str) -> str | None:
    if "\\Q" in pattern or re.search(r"\(\?[a-wyzA-Z-]*x", pattern):
        return "a regular expression with quoted text or remarks"
    repetitions = 0
    groups = [False]  # whether the group holds a choice or a repetition
    closed = False  # whether the part before is a group that does
    for part in _PART.finditer(pattern):
        before, closed = closed, False
        sign = part["rest"]
        if part["escape"] is not None and part["escape"] in "123456789k":
            return "a regular expression that refers back"
        if sign == "[" or (sign == ")" and len(groups) == 1):
            return "a regular expression whose brackets do not match, or stand within [ ]"
        if part["open"] is not None and not part["open"].endswith(")"):
            groups.append(False)
        elif sign == ")":
            closed = groups.pop()
            groups[-1] = groups[-1] or closed
        elif sign == "|":
            groups[-1] = True
        elif sign is not None and sign in "*+?{":
            repetitions += 1
            groups[-1] = True
            if before:
                return "a regular expression with a repetition around another, or around a choice"
    if len(groups) > 1:
        return "a regular expression whose brackets do not match"
    return None if repetitions <= MOST_REPETITIONS else "a regular expression with too many repetitions"
