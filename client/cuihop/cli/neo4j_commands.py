"""``cuihop neo4j query``, ``releases`` and ``pull``: read-only Cypher, and the releases of a Neo4j database."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cuihop.cli.command_files import SNAPSHOT, FileUse
from cuihop.cli.option_groups import JsonOptions, argument, option, option_group
from cuihop.cli.output import note, print_json, print_table
from cuihop.cli.releases import SERVER, compare
from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.text_lines import whole_text
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection

_LARGEST_FILE = 1 << 20  # more than a query may have: its own bound names what is too large
_LINE = re.compile(r"[ \t]*:param\b(?P<assignment>[^\n]*)", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*(?:=>|:)\s*(?P<value>.*?)\s*;?\s*")
_STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*\"""")
_ESCAPED_QUOTE = re.compile(r"\\(')|(\\.)|(\")")


@option_group
class _ServerOptions:
    """The Neo4j server."""

    graph: str = option(SERVER, "-g", required=True, envvar="CUIHOP_NEO4J", metavar="GRAPH", mark=FileUse.READS)

    def connected(self) -> Neo4jConnection:
        """Open a connection."""
        from cuihop.neo4j_graph.connection import Neo4jConnection  # the driver takes long to import

        return Neo4jConnection.open(self.graph)


@option_group
class QueryOptions(JsonOptions, _ServerOptions):
    """A query, its parameters and its bounds."""

    text: str | None = argument("Cypher, or - to read it from standard input.", default=None)
    file: Path | None = option("File with the Cypher; - is standard input.")
    parameter: list[str] | None = option(
        "Parameter of the query; its value is JSON or text. May be repeated.", "--param", "-p", metavar="NAME=VALUE"
    )
    limit: int = option("Maximum number of rows.", default=100, min=1)
    timeout: float = option("Time limit in seconds.", default=30.0, min=0.1)
    csv: bool = option("Print the rows as CSV.", default=False)


def query(options: QueryOptions) -> None:
    """Run a read-only Cypher query on a Neo4j database. docs/cypher.md has queries to start from.

    Lines `:param NAME => VALUE` before the query set parameters, as in Neo4j Browser; --param overrides them.
    """
    from cuihop.neo4j_graph.curator_query import curator_query

    parameters, cypher = separated_parameters(_query_text(options.text, options.file))
    parameters |= parameters_of_options(options.parameter or [])
    with options.connected() as connection:
        answer = curator_query(connection, cypher, parameters, limit=options.limit, timeout=options.timeout)
    if options.json:
        result = {
            "rows": [dict(zip(answer.columns, row, strict=True)) for row in answer.rows],
            "truncated": answer.truncated,
            "notifications": [asdict(remark) for remark in answer.notifications],
        }
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    else:
        table = Table(answer.columns, [[_cell(value) for value in row] for row in answer.rows])
        if options.csv:
            sys.stdout.write(table.csv())
        else:
            print_table(table)
    for remark in answer.notifications:
        location = "" if remark.line is None else f"line {remark.line}, column {remark.column}: "
        note(f"{remark.severity}: {location}{remark.message}")
    if answer.truncated:
        note(f"only the first {options.limit:,} rows; --limit shows more")


def parameters_of_options(texts: Sequence[str]) -> dict[str, Any]:
    """Values of ``NAME=VALUE``: JSON, or else text; refuses a text without name or equals sign."""
    values: dict[str, Any] = {}
    for text in texts:
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

    A value is a string, a number, ``true``, ``false``, ``null`` or a list of these; the error of another has its line.

    >>> separated_parameters(":param cui => 'C0006121';\nRETURN $cui")
    ({'cui': 'C0006121'}, '\nRETURN $cui')
    """
    values: dict[str, Any] = {}
    lines = text.split("\n")
    for index, line in enumerate(lines):
        match = _LINE.fullmatch(line.rstrip("\r"))
        if match is not None:
            assignment = _ASSIGNMENT.fullmatch(match["assignment"])
            try:
                if assignment is None:
                    raise ValueError
                values[assignment["name"]] = json.loads(_STRING.sub(_as_json, assignment["value"]))
            except ValueError:
                raise InputError(
                    "not a parameter", line=index + 1, found=repr(line.strip())[:100],
                    expected=":param NAME => a string, a number, true, false, null or a list of these",
                ) from None  # fmt: skip
            lines[index] = ""
    return values, "\n".join(lines)


def _as_json(string: re.Match[str]) -> str:
    if string[1] is None:  # in double quotes, as in JSON
        return string[0]
    inner = _ESCAPED_QUOTE.sub(lambda match: match[1] or match[2] or '\\"', string[1])
    return f'"{inner}"'


def _query_text(text: str | None, file: Path | None) -> str:
    """The query: an argument, or the text of a file or of standard input; refuses both and neither."""
    if (text is None) == (file is None):
        stated = "neither" if text is None else "both"
        raise InputError("give the query as an argument or as a file", found=stated, expected="Cypher, or --file FILE")
    if file is None and text != STANDARD_INPUT:
        return str(text)
    return whole_text(file or STANDARD_INPUT, _LARGEST_FILE)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


releases = typer.Typer(
    name="releases",
    help="Releases in a Neo4j database: list, switch, roll back, compare, remove.",
    no_args_is_help=True,
)
releases.command()(compare)


@option_group
class _ListOptions(JsonOptions, _ServerOptions):
    """The server whose releases are listed."""


@option_group
class _ReleaseOptions(_ListOptions):
    number: int = argument("Number of the release, as `cuihop neo4j releases list` shows it.")


@releases.command("list")
def list_releases(options: _ListOptions) -> None:
    """List the releases, with their states."""
    with options.connected() as connection:
        _list(connection, options)


@releases.command()
def switch(options: _ReleaseOptions) -> None:
    """Make a release the active one."""
    from cuihop.neo4j_graph.releases import switch_to

    with options.connected() as connection:
        switch_to(connection, options.number)
        _list(connection, options, f"release {options.number} is active")


@releases.command()
def rollback(options: _ListOptions) -> None:
    """Go back to the release that was active before."""
    from cuihop.neo4j_graph.releases import roll_back

    with options.connected() as connection:
        left, number = roll_back(connection)
        _list(connection, options, f"release {number} is active again, in place of release {left}")


@releases.command("remove")
def remove_release(options: _ReleaseOptions) -> None:
    """Remove a release that is not active."""
    from cuihop.neo4j_graph.releases import remove

    with options.connected() as connection:
        remove(connection, options.number)
        _list(connection, options, f"release {options.number} is removed")


@releases.command()
def repair(options: _ListOptions) -> None:
    """Create missing constraints and indexes of the schema."""
    from cuihop.neo4j_graph.releases import install_schema

    with options.connected() as connection:
        install_schema(connection)
        _list(connection, options, "constraints and indexes are in place")


def _list(connection: Neo4jConnection, options: _ListOptions, done: str = "") -> None:
    """Note what was done, and print the releases."""
    from cuihop.neo4j_graph.releases import stored_releases

    if done:
        note(done)
    stored = stored_releases(connection)
    if options.json:
        print_json({"releases": [asdict(release) for release in stored]})
        return
    if not stored:
        note("the database holds no release; load one with: cuihop neo4j push")
        return
    rows = []
    for each in stored:
        state = f"loading, {each.loaded:.0%} done" if each.state == "loading" else each.state
        rows.append((
            str(each.number), each.release.name, f"{state}, active" if each.active else state,
            f"{each.release.concepts:,}", f"{each.release.edges:,}", each.release.digest[:12],
        ))  # fmt: skip
    print_table(Table(("number", "release", "state", "concepts", "is_a edges", "digest"), rows))


@option_group
class _PullOptions(_ServerOptions):
    output: Path = option("Path of the snapshot.", "-o", required=True, mark=SNAPSHOT)
    number: int | None = option("Number of the release; the active one by default.")


def pull(options: _PullOptions) -> None:
    """Write a release of a Neo4j database as a snapshot file."""
    from cuihop.neo4j_graph.projection import snapshot_sections
    from cuihop.neo4j_graph.releases import check_schema

    with options.connected() as connection:
        number = options.number if options.number is not None else check_schema(connection).active
        if number is None:
            raise InputError("the database has no active release", advice="See: cuihop neo4j releases list")
        sections = snapshot_sections(connection, number)
    sections.save(options.output)
    facts = sections.meta["release"]
    note(
        f"{options.output}: {facts['name']}, {facts['concepts']:,} concepts, {facts['edges']:,} edges, digest as loaded"
    )
