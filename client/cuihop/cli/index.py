"""``cuihop index``: build the distance index of a snapshot."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.output import JsonOption, console, note, print_json, progress
from cuihop.files.written_files import check_output
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.index_builder import build_index, check_index

__all__ = ["index"]


def index(
    graph: Annotated[Path, typer.Argument(help="Path of the snapshot.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Build it again even where a valid one exists.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads; all cores by default.")] = None,
    check: Annotated[
        int, typer.Option("--check", min=0, help="Random pairs, and as many near ones, compared with searches.")
    ] = 2000,
    json: JsonOption = False,
) -> None:
    """Build the distance index of a snapshot: the same distances, read from labels instead of searched.

    The index is a file beside the snapshot (GRAPH.index), used wherever the snapshot is opened. It pays for very many
    distances between distant concepts. An interrupted run goes on where it stopped.
    """
    opened = SnapshotGraph.open(graph)
    path = index_path(graph)
    check_output(path)
    begun = time.monotonic()
    building = opened.index is None or force
    compared = 0
    if opened.index is not None and not force:
        found = opened.index
        note(f"{path} is valid; --force builds it again")
    else:
        checkpoint = path.with_name(f"{path.name}.unfinished")
        with progress() as bar:
            task = bar.add_task("roots", total=None)

            def report(level: int, done: int, total: int) -> None:
                bar.update(task, description=f"hubs at {level} hops", completed=done, total=total)

            try:
                found = build_index(opened, threads=threads, checkpoint=checkpoint, progress=report)
            except KeyboardInterrupt:
                if checkpoint.exists():
                    note(f"finished work is in {checkpoint}; the same command goes on from there")
                raise
        compared = check_index(opened, found, check)
        found.save(path)
    facts = {
        "index": str(path),
        "built": building,
        "seconds": round(time.monotonic() - begun, 3),
        "pairs_compared": compared,
        "release": dataclasses.asdict(opened.release),
        **found.facts,
    }
    if json:
        print_json(facts)
        return
    labels, entries, size = (found.facts[name] for name in ("labels", "entries", "bytes"))
    text = f"{path}: {entries:,} hubs in {labels:,} labels, {entries / max(labels, 1):.1f} each; {size:,} bytes"
    if building:
        text += f"; {compared:,} distances compared with searches: all equal"
    console().print(text)
