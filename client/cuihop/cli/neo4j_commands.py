"""``cuihop query``, ``releases`` and ``snapshot``: read-only Cypher, and the releases of a Neo4j database."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import JsonOption, note, print_json, print_table
from cuihop.errors import InputError
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection

__all__ = ["query", "releases", "snapshot"]

_SERVER = (
    "The Neo4j server, such as bolt://localhost:7687. User and password: NEO4J_USER, and NEO4J_PASSWORD or "
    "NEO4J_PASSWORD_FILE."
)
ServerOption = Annotated[str, typer.Option("--server", "-s", envvar="CUIHOP_NEO4J", help=_SERVER, show_default=False)]
Action = Literal["list", "switch", "rollback", "remove", "compare", "repair"]


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
        json_text.dump(result, sys.stdout, indent=2, ensure_ascii=False)
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
            values[name] = json_text.loads(value)
        except json_text.JSONDecodeError:
            values[name] = value
    return values


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text.dumps(value, ensure_ascii=False)


def releases(
    server: ServerOption,
    action: Annotated[
        Action,
        typer.Argument(
            help="list all; switch readers to one; rollback to the one before; remove one; compare two; repair "
            "the schema."
        ),
    ] = "list",
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Number of the release; two numbers for compare.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With compare: file for every single change."), FileUse.WRITES
    ] = None,
    json: JsonOption = False,
) -> None:
    """List, switch, roll back, remove and compare the releases in a Neo4j database."""
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop.neo4j_graph.releases import remove, roll_back, switch_to
    from cuihop.neo4j_graph.schema import install_schema

    needed = {"switch": 1, "remove": 1, "compare": 2}.get(action, 0)
    given = numbers or []
    if len(given) != needed:
        raise InputError(
            f"wrong number of releases for {action}", column="numbers", found=str(len(given)), expected=str(needed)
        )
    with Neo4jConnection.open(server) as connection:
        if action == "compare":
            _compare(connection, given[0], given[1], output, json)
            return
        if action == "switch":
            switch_to(connection, given[0])
            note(f"readers get release {given[0]}")
        elif action == "rollback":
            left, number = roll_back(connection)
            note(f"readers went back from release {left} to release {number}")
        elif action == "remove":
            remove(connection, given[0])
            note(f"release {given[0]} is removed")
        elif action == "repair":
            install_schema(connection)
            note("constraints and indexes are in place")
        _list(connection, json)


def _list(connection: Neo4jConnection, json: bool) -> None:
    from cuihop.neo4j_graph.releases import stored_releases

    found = stored_releases(connection)
    if json:
        print_json({"releases": [asdict(release) for release in found]})
        return
    if not found:
        note("the database holds no release; load one with: cuihop store")
        return
    rows = []
    for stored in found:
        state = f"loading, {stored.loaded:.0%} done" if stored.state == "loading" else stored.state
        rows.append((
            str(stored.number), stored.release.name, f"{state}, active" if stored.active else state,
            f"{stored.release.concepts:,}", f"{stored.release.edges:,}", stored.release.digest[:12],
        ))  # fmt: skip
    print_table(Table(("number", "release", "state", "concepts", "is_a edges", "digest"), rows))


def _compare(connection: Neo4jConnection, old: int, new: int, output: Path | None, json: bool) -> None:
    from cuihop.neo4j_graph.projection import snapshot_sections
    from cuihop.snapshot.release_difference import release_difference

    difference = release_difference(snapshot_sections(connection, old), snapshot_sections(connection, new))
    if output is not None:
        difference.write(output)
    if json:
        print_json({"old": difference.old, "new": difference.new, **difference.counts()})
        return
    counts = [(change, f"{count:,}") for change, count in difference.counts().items()]
    print_table(Table(("change", "count"), counts), title=f"From {difference.old} to {difference.new}")
    if output is not None:
        note(f"every change is in {output}")


def snapshot(
    server: Annotated[str, typer.Option("--from", envvar="CUIHOP_NEO4J", help=_SERVER, show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Path of the snapshot.", show_default=False), FileUse.WRITES
    ],
    release: Annotated[int | None, typer.Option("--release", help="Number; the active release by default.")] = None,
) -> None:
    """Write a release of a Neo4j database as a snapshot file."""
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop.neo4j_graph.projection import snapshot_sections
    from cuihop.neo4j_graph.schema import check_schema
    from cuihop.snapshot.writer import write_snapshot

    with Neo4jConnection.open(server) as connection:
        number = release if release is not None else check_schema(connection).active
        if number is None:
            raise InputError("the database has no active release", advice="See: cuihop releases list")
        sections = snapshot_sections(connection, number)
    write_snapshot(output, sections)
    facts = sections.meta["release"]
    note(f"{output}: {facts['name']}, {facts['concepts']:,} concepts, {facts['edges']:,} edges, digest as loaded")
