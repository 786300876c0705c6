"""``cuihop index``: build the distance index of a snapshot, or the parts of it that follow from its names."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.output import JsonOption, console, note, print_json, progress
from cuihop.files.written_files import check_output
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.index_builder import build_index, check_index
from cuihop.snapshot.name_parts import NAME_PARTS, add_name_parts

_OF_DISTANCES = {"threads": "--threads", "check": "--check"}


def index(
    context: typer.Context,
    graph: Annotated[Path, typer.Argument(help="Path of the snapshot.", show_default=False)],
    names: Annotated[
        bool,
        typer.Option(
            "--names", help="Build into the snapshot what search and annotation read, instead of the distance index."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Build again what is there and valid.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads; all cores by default.")] = None,
    check: Annotated[
        int, typer.Option("--check", min=0, help="Random pairs, and as many near ones, compared with searches.")
    ] = 2000,
    json: JsonOption = False,
) -> None:
    """Build the distance index of a snapshot: the same distances, read from labels instead of searched.

    The index is a file beside the snapshot (GRAPH.index), used wherever the snapshot is opened. It pays for very many
    distances between distant concepts. An interrupted run goes on where it stopped.

    With --names, build the index of names and the table of names instead, which a snapshot of an earlier version lacks.
    The snapshot is replaced whole or not at all; a process that has it open goes on with the old one.
    """
    begun = time.monotonic()
    if names:
        _refuse_unused(context)
        facts, text = _name_parts(graph, force=force)
    else:
        facts, text = _distance_index(graph, force=force, threads=threads, check=check)
    facts["seconds"] = round(time.monotonic() - begun, 3)
    if json:
        print_json(facts)
    else:
        console().print(text)


def _refuse_unused(context: typer.Context) -> None:
    """Refuse options of the distance index."""
    for name, option in _OF_DISTANCES.items():
        if str(context.get_parameter_source(name)).endswith("COMMANDLINE"):
            raise typer.BadParameter(f"{option} is for the distance index, and does not go with --names")


def _name_parts(path: Path, *, force: bool) -> tuple[dict[str, Any], str]:
    """Fields of ``--json``, and the line of text."""
    with progress() as bar:
        task = bar.add_task("opening", total=len(NAME_PARTS) + 2)
        built = add_name_parts(path, force=force, progress=lambda step: bar.update(task, description=step, advance=1))
    opened = SnapshotGraph.open(path)
    if opened.name_sabs is None:
        note("vocabularies and grades of names: not recorded; cuihop load records them")
    if not built:
        note(f"{path} has all of them; --force builds them again")
    size = path.stat().st_size
    facts = {
        "snapshot": str(path),
        "built": [part.name for part in built],
        "bytes": size,
        "name_sabs": opened.name_sabs,
        "release": dataclasses.asdict(opened.release),
    }
    parts = " and ".join(part.name for part in built or NAME_PARTS)
    return facts, f"{path}: {parts} {'built' if built else 'valid'}; {size:,} bytes"


def _distance_index(graph: Path, *, force: bool, threads: int | None, check: int) -> tuple[dict[str, Any], str]:
    """Fields of ``--json``, and the line of text."""
    opened = SnapshotGraph.open(graph)
    path = index_path(graph)
    check_output(path)
    building = opened.index is None or force
    compared = 0
    if opened.index is not None and not force:
        found = opened.index
        note(f"{path} is valid; --force builds it again")
    else:
        found = _built_index(opened, path, threads)
        compared = check_index(opened, found, check)
        found.save(path)
    facts = {
        "index": str(path),
        "built": building,
        "pairs_compared": compared,
        "release": dataclasses.asdict(opened.release),
        **found.facts,
    }
    labels, entries, size = (found.facts[name] for name in ("labels", "entries", "bytes"))
    text = f"{path}: {entries:,} hubs in {labels:,} labels, {entries / max(labels, 1):.1f} each; {size:,} bytes"
    if building:
        text += f"; {compared:,} distances compared with searches: all equal"
    return facts, text


def _built_index(opened: SnapshotGraph, path: Path, threads: int | None) -> DistanceIndex:
    checkpoint = path.with_name(f"{path.name}.unfinished")
    with progress() as bar:
        task = bar.add_task("roots", total=None)

        def report(level: int, done: int, total: int) -> None:
            bar.update(task, description=f"hubs at {level} hops", completed=done, total=total)

        try:
            return build_index(opened, threads=threads, checkpoint=checkpoint, progress=report)
        except KeyboardInterrupt:
            if checkpoint.exists():
                note(f"finished work is in {checkpoint}; the same command goes on from there")
            raise
