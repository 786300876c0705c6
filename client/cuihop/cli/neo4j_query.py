"""``cuihop query``: read-only Cypher."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from cuihop.cli.neo4j_option import ServerOption
from cuihop.cli.output import note, print_table
from cuihop.errors import InputError
from cuihop.notebooks.table import Table

__all__ = ["query"]


def query(
    text: Annotated[str, typer.Argument(help="Cypher, or - to read it from standard input.", show_default=False)],
    server: ServerOption,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter; JSON, or else text. May be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 100,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Time limit in seconds.")] = 30.0,
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", "-f", help="Output format.")] = "table",
) -> None:
    """Run a read-only Cypher query on a Neo4j database. docs/cypher.md has queries to start from."""
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop.neo4j_graph.curator_query import curator_query

    parameters = _parameters(parameter or [])
    with Neo4jConnection.open(server) as connection:
        answer = curator_query(
            connection, sys.stdin.read() if text == "-" else text, parameters, limit=limit, timeout=timeout
        )
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        result = {
            "rows": rows,
            "truncated": answer.truncated,
            "notifications": [asdict(remark) for remark in answer.notifications],
        }
        json.dump(result, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        table = Table(answer.columns, [[_cell(value) for value in row] for row in answer.rows])
        if form == "csv":
            sys.stdout.write(table.csv())
        else:
            print_table(table)
    for remark in answer.notifications:
        place = "" if remark.line is None else f"line {remark.line}, column {remark.column}: "
        note(f"{remark.severity}: {place}{remark.message}")
    if answer.truncated:
        note(f"only the first {limit:,} rows; --limit shows more")


def _parameters(given: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("not a parameter", column="--param", found=repr(text), expected="NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
