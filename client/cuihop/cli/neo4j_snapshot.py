"""``cuihop snapshot``: a release of a Neo4j database as a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import note
from cuihop.errors import InputError

__all__ = ["snapshot"]


def snapshot(
    server: Annotated[
        str,
        typer.Option(
            "--from",
            envvar="CUIHOP_NEO4J",
            help="The Neo4j server, such as bolt://localhost:7687. User and password: NEO4J_USER, and NEO4J_PASSWORD "
            "or NEO4J_PASSWORD_FILE.",
            show_default=False,
        ),
    ],
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
