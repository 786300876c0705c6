"""``cuihop query``, ``releases`` and ``snapshot``: read-only Cypher, and the releases of a Neo4j database."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cuihop.cli.command_files import SNAPSHOT, TSV
from cuihop.cli.output import JsonOption, note, print_json, print_table
from cuihop.cli.print_difference import print_difference
from cuihop.cli.query_parameters import parameters_of_options, separated_parameters
from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.text_lines import whole_text
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection

_SERVER = (
    "The Neo4j server, such as bolt://localhost:7687, or neo4j://HOST for a cluster. User and password: NEO4J_USER, "
    "and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE."
)
ServerOption = Annotated[str, typer.Option("--server", "-s", envvar="CUIHOP_NEO4J", help=_SERVER, show_default=False)]
NumberArgument = Annotated[
    int, typer.Argument(help="Number of the release, as `cuihop releases list` shows it.", show_default=False)
]


_LARGEST_FILE = 1 << 20  # more than a query may have: its own bound names what is too large


def query(
    server: ServerOption,
    text: Annotated[
        str | None, typer.Argument(help="Cypher, or - to read it from standard input.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="File with the Cypher; - is standard input.")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter; JSON, or else text. May be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 100,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Time limit in seconds.")] = 30.0,
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", "-f", help="Output format.")] = "table",
) -> None:
    """Run a read-only Cypher query on a Neo4j database. docs/cypher.md has queries to start from.

    Lines `:param NAME => VALUE` before the query set parameters, as in Neo4j Browser; --param wins over them.
    """
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop.neo4j_graph.curator_query import curator_query

    parameters, cypher = separated_parameters(_query_text(text, file))
    parameters |= parameters_of_options(parameter or [])
    with Neo4jConnection.open(server) as connection:
        answer = curator_query(connection, cypher, parameters, limit=limit, timeout=timeout)
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


def _query_text(text: str | None, file: Path | None) -> str:
    """The query: an argument, or the text of a file or of standard input.

    Raises:
        InputError: both or neither, or the file is no text.
    """
    if (text is None) == (file is None):
        found = "neither" if text is None else "both"
        raise InputError("the query is an argument or a file", found=found, expected="Cypher, or --file FILE")
    if file is None and text != STANDARD_INPUT:
        return str(text)
    return whole_text(file or STANDARD_INPUT, _LARGEST_FILE)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text.dumps(value, ensure_ascii=False)


releases = typer.Typer(
    name="releases",
    help="Releases in a Neo4j database: list, switch, roll back, compare, remove.",
    no_args_is_help=True,
)


@releases.command("list")
def list_releases(server: ServerOption, json: JsonOption = False) -> None:
    """List the releases, with their states."""
    with _connected(server) as connection:
        _list(connection, json)


@releases.command()
def switch(number: NumberArgument, server: ServerOption, json: JsonOption = False) -> None:
    """Make a release the one that readers get."""
    from cuihop.neo4j_graph.releases import switch_to

    with _connected(server) as connection:
        switch_to(connection, number)
        note(f"readers get release {number}")
        _list(connection, json)


@releases.command()
def rollback(server: ServerOption, json: JsonOption = False) -> None:
    """Go back to the release that was active before."""
    from cuihop.neo4j_graph.releases import roll_back

    with _connected(server) as connection:
        left, number = roll_back(connection)
        note(f"readers went back from release {left} to release {number}")
        _list(connection, json)


@releases.command("remove")
def remove_release(number: NumberArgument, server: ServerOption, json: JsonOption = False) -> None:
    """Remove a release that readers do not get."""
    from cuihop.neo4j_graph.releases import remove

    with _connected(server) as connection:
        remove(connection, number)
        note(f"release {number} is removed")
        _list(connection, json)


@releases.command()
def repair(server: ServerOption, json: JsonOption = False) -> None:
    """Make missing constraints and indexes of the schema again."""
    from cuihop.neo4j_graph.schema import install_schema

    with _connected(server) as connection:
        install_schema(connection)
        note("constraints and indexes are in place")
        _list(connection, json)


@releases.command()
def compare(
    old: Annotated[int, typer.Argument(help="Number of the old release.", show_default=False)],
    new: Annotated[int, typer.Argument(help="Number of the new release.", show_default=False)],
    server: ServerOption,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for every single change."), TSV] = None,
    json: JsonOption = False,
) -> None:
    """Compare two releases: concepts and edges, in all and by source vocabulary."""
    from cuihop.neo4j_graph.projection import snapshot_sections
    from cuihop.snapshot.release_difference import release_difference

    with _connected(server) as connection:
        difference = release_difference(snapshot_sections(connection, old), snapshot_sections(connection, new))
    if output is not None:
        difference.write(output)
    if json:
        print_json({"old": difference.old, "new": difference.new, **difference.to_json()})
        return
    print_difference(difference)
    if output is not None:
        note(f"every change is in {output}")


def _connected(server: str) -> Neo4jConnection:
    from cuihop.neo4j_graph.connection import Neo4jConnection  # the driver takes long to import

    return Neo4jConnection.open(server)


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


def snapshot(
    server: Annotated[str, typer.Option("--from", envvar="CUIHOP_NEO4J", help=_SERVER, show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Path of the snapshot.", show_default=False), SNAPSHOT],
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
