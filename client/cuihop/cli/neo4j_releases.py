"""``cuihop releases``: the releases of a Neo4j database, and the active one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.neo4j_option import ServerOption
from cuihop.cli.output import JsonOption, note, print_json, print_table
from cuihop.errors import InputError
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection

__all__ = ["releases"]

Action = Literal["list", "switch", "rollback", "remove", "compare", "repair"]


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
        Path | None,
        typer.Option("--output", "-o", help="With compare: file for every single change."),
        FileUse.WRITES,
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
        print_json({"releases": [dataclasses.asdict(release) for release in found]})
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
