"""``cuihop store``: a snapshot into a Neo4j server."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuihop.cli.command_files import TSV, FileUse
from cuihop.cli.output import JsonOption, note, print_json, progress
from cuihop.cli.print_difference import print_difference
from cuihop.errors import InputError
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import SNAPSHOT

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop.neo4j_graph.releases import StoredRelease
    from cuihop.snapshot.release_difference import ReleaseDifference


def store(
    snapshot: Annotated[Path, typer.Argument(help="The snapshot that `cuihop load` wrote.", show_default=False)],
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            "-s",
            envvar="CUIHOP_NEO4J",
            help="The Neo4j server, such as bolt://localhost:7687, or neo4j://HOST for a cluster. User and password: "
            "NEO4J_USER, and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE.",
        ),
    ] = None,
    switch: Annotated[bool, typer.Option(help="Switch readers to it at the end.")] = True,
    changes: Annotated[
        Path | None,
        typer.Option("--changes", help="A file for every change since the release readers have now."),
        TSV,
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Write files for `neo4j-admin database import` here, instead: for a new database."),
        FileUse.WRITES_FOLDER,
    ] = None,
    imported: Annotated[
        bool, typer.Option("--imported", help="The files were imported: make the schema, verify, and let readers in.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Store a release in Neo4j, verify it by reading it back, and switch readers to it.

    An interrupted load resumes when the command is run again.
    """
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop_loader.neo4j_bulk import finish_bulk, import_command, write_bulk_files

    sections = Sections.open(snapshot, SNAPSHOT)
    if csv is not None:
        files = write_bulk_files(sections, csv.resolve())
        note("stop the server, run this where it is installed, start it, then give this command with --imported:")
        typer.echo(import_command(files, overwrite=True))
        return
    if server is None:
        raise InputError("no server to store it in", advice="Give --server, or --csv for files to import.")
    if imported:
        with Neo4jConnection.open(server) as connection:
            outcome = StoreOutcome(finish_bulk(sections, connection), None)
    else:
        outcome = store_online(sections, server, switch=switch, changes=changes)
    if json:
        print_json(outcome.to_json())
    else:
        outcome.print_summary()


@dataclass(frozen=True, eq=False)
class StoreOutcome:
    """Outcome of storing a release.

    Attributes:
        stored: the release in the database.
        difference: changes since the release that readers had; ``None`` where they had none.
    """

    stored: StoredRelease
    difference: ReleaseDifference | None

    def to_json(self) -> dict[str, Any]:
        """Output of ``--json``."""
        changes = None if self.difference is None else self.difference.to_json()
        return {"stored": dataclasses.asdict(self.stored), "changes": changes}

    def print_summary(self) -> None:
        """Print a summary for people."""
        stored = self.stored
        note(
            f"release {stored.number}, {stored.release.name}: {stored.release.concepts:,} concepts, "
            f"{stored.release.edges:,} edges, read back with the same digest"
            + ("; readers get it" if stored.active else "; readers keep the release they had")
        )
        if self.difference is not None:
            print_difference(self.difference)


def store_online(sections: Sections, server: str, *, switch: bool, changes: Path | None) -> StoreOutcome:
    """Store a release in a server that keeps serving, with a progress bar, and write the changes.

    Raises:
        GraphUnavailable, SchemaMismatch, ReleaseMismatch: see `cuihop_loader.neo4j_online.load_online`.
        OutputError: the changes cannot be written; the release is stored.
    """
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop_loader.neo4j_online import load_online

    with Neo4jConnection.open(server) as connection:
        difference = _difference(connection, sections)
        with progress() as bar:
            task = bar.add_task("storing", total=None)

            def show(what: str, done: int, total: int) -> None:
                bar.update(task, description=what, completed=done, total=total)

            stored = load_online(sections, connection, progress=show, switch=switch)
    if changes is not None:
        if difference is None:
            note(f"readers had no release before this one: {changes} is not written")
        else:
            difference.write(changes)
    return StoreOutcome(stored, difference)


def _difference(connection: Neo4jConnection, sections: Sections) -> ReleaseDifference | None:
    """Changes since the release that readers have; ``None`` where they have none."""
    from cuihop.neo4j_graph.projection import projected_sections
    from cuihop.neo4j_graph.schema import database_state
    from cuihop.snapshot.release_difference import release_difference

    found = database_state(connection)
    if found is None or found.active is None:
        return None
    return release_difference(projected_sections(connection, found.active, with_names=False), sections)
