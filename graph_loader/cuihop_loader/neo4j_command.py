"""``cuihop neo4j push``: a snapshot into a Neo4j server."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cuihop.cli.command_files import TSV, FileUse
from cuihop.cli.option_groups import JsonOptions, argument, option, option_group
from cuihop.cli.output import note, print_json, progress
from cuihop.cli.releases import SERVER, print_difference
from cuihop.errors import InputError
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import CODE_MAPS, SNAPSHOT

if TYPE_CHECKING:
    from cuihop.neo4j_graph.releases import StoredRelease
    from cuihop.snapshot.release_difference import ReleaseDifference


@option_group
class _PushOptions(JsonOptions):
    snapshot: Path = argument("The snapshot that `cuihop load` wrote.")
    graph: str | None = option(SERVER, "-g", envvar="CUIHOP_NEO4J", metavar="GRAPH", mark=FileUse.READS)
    switch: bool = option("Make the new release active at the end.", "--switch/--no-switch", default=True)
    changes: Path | None = option("File for all changes since the active release.", mark=TSV)
    import_files: Path | None = option(
        "Instead of storing: write files for `neo4j-admin database import` into a new database.",
        mark=FileUse.WRITES_FOLDER,
    )
    imported: bool = option("After the import: create the schema, verify the release, and activate it.", default=False)


def push(options: _PushOptions) -> None:
    """Store a release in Neo4j, verify it by reading it back, and make it the active one.

    An interrupted load resumes when the command is run again.
    """
    from cuihop.neo4j_graph.connection import Neo4jConnection
    from cuihop_loader.neo4j_bulk import finish_bulk, write_bulk_files

    sections = Sections.open(options.snapshot, SNAPSHOT)
    if options.import_files is not None:
        _note_maps(sections)
        arguments = write_bulk_files(sections, options.import_files.resolve())
        note("stop the server, run this where it is installed, start it, then give this command with --imported:")
        typer.echo(shlex.join(["neo4j-admin", *arguments]))
        return
    if options.graph is None:
        raise InputError(
            "no server for the release", advice="Give --graph, or --import-files FOLDER for files to import."
        )
    if options.imported:
        with Neo4jConnection.open(options.graph) as connection:
            outcome = StoreOutcome(finish_bulk(sections, connection), None)
    else:
        outcome = store_online(sections, options.graph, switch=options.switch, changes=options.changes)
    if options.json:
        print_json(outcome.to_json())
    else:
        outcome.print_summary()


def _note_maps(sections: Sections) -> None:
    if CODE_MAPS[0] in sections:
        note("Neo4j stores no published mappings; `cuihop codes --maps` needs the snapshot")


@dataclass(frozen=True, eq=False)
class StoreOutcome:
    """The stored release, and the changes since the one that readers had; ``None`` where they had none."""

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
            + ("; it is active" if stored.active else "; the active release stays the same")
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
    from cuihop.neo4j_graph.projection import projected_sections
    from cuihop.neo4j_graph.releases import database_state
    from cuihop.snapshot.release_difference import release_difference
    from cuihop_loader.neo4j_online import load_online

    _note_maps(sections)
    with Neo4jConnection.open(server) as connection:
        state = database_state(connection)
        difference = None  # to the release that readers have
        if state is not None and state.active is not None:
            difference = release_difference(projected_sections(connection, state.active, with_names=False), sections)
        with progress() as bar:
            task = bar.add_task("storing", total=None)

            def show(step: str, done: int, total: int) -> None:
                bar.update(task, description=step, completed=done, total=total)

            stored = load_online(sections, connection, progress=show, switch=switch)
    if changes is not None:
        if difference is None:
            note(f"no release was active before this one: {changes} is not written")
        else:
            difference.write(changes)
    return StoreOutcome(stored, difference)
