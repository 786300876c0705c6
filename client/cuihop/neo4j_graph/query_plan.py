"""The plan of a curator's query, as the server gives it without running it: what it would do besides reading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import neo4j

from cuihop.errors import InputError
from cuihop.neo4j_graph.query_text import ALLOWED_PROCEDURES

__all__ = ["check_plan"]

_OF_THE_SERVER = ("Show", "Terminate")
"""Beginnings of the operators that show other people's queries and the settings, or end transactions."""

# A subquery within a list comprehension, reduce, CASE, an index, a predicate of a path … is no operator of the plan.
# It stands as text in the details of the operator that holds it, with keywords in capitals and names resolved. Strings
# and quoted names in that text are not left out: what they hold could be made to look like their end.
_NESTED_LOAD = re.compile(r"LOAD CSV (?:WITH HEADERS )?FROM\b")
_NESTED_CALL = re.compile(r"(?:\b\w*Call\(|\bCALL (?=[\w.`]+\())([\w.`]*)")


def check_plan(summary: neo4j.ResultSummary) -> None:
    """Refuse a query whose plan does more than read the graph.

    Args:
        summary: of the query after ``EXPLAIN``.

    Raises:
        InputError: it would write, load a file, look at the server, or call a procedure that is not allowed.
    """
    if summary.plan is None:
        raise InputError("the query has no plan", expected="one statement that reads, without EXPLAIN or PROFILE")
    for operator, details in _operators(summary.plan):
        if operator.startswith("LoadCSV") or _NESTED_LOAD.search(details):
            raise InputError(
                "the query loads a file",
                found="LOAD CSV",
                expected="a query that only reads the graph; a column with this text gets another name with AS",
            )
        if operator.startswith(_OF_THE_SERVER):
            raise InputError(
                "the query asks about the server, or tells it what to do",
                found=operator,
                expected="a query that only reads the graph",
            )
        called = [match[1] for match in _NESTED_CALL.finditer(details)]
        if operator.startswith("ProcedureCall"):
            called.append(details.partition("(")[0].strip())
        for name in called:
            if name not in ALLOWED_PROCEDURES:
                raise InputError(
                    "the query calls a procedure that is not allowed here",
                    found=name,
                    expected=" or ".join(sorted(ALLOWED_PROCEDURES)),
                )
    if summary.query_type != "r":
        raise InputError("the query would write", expected="a query that only reads the graph")


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each operator with what the server says of it."""
    yield plan["operatorType"].partition("@")[0], str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)
