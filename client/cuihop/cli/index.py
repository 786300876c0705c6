"""``cuihop index``: the distance index of a snapshot."""

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
    graph: Annotated[Path, typer.Argument(help="The snapshot file.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Make it anew even where it is there and fits.")] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="As many as there are cores, if not given.")
    ] = None,
    check: Annotated[
        int, typer.Option("--check", min=0, help="Compare so many random pairs, and as many near ones, with searches.")
    ] = 2000,
    json: JsonOption = False,
) -> None:
    """Make the distance index of a snapshot: distances are then read from labels, not searched, and are the same.

    The index stands beside the snapshot (GRAPH.index) and is used from then on wherever the snapshot is opened. It pays
    where very many distances between distant concepts are asked. An interrupted run goes on where it was.
    """
    opened = SnapshotGraph.open(graph)
    path = index_path(graph)
    check_output(path)
    begun = time.monotonic()
    made = opened.index is None or force
    compared = 0
    if opened.index is not None and not force:
        found = opened.index
        note(f"{path} is there and fits; --force makes it anew")
    else:
        checkpoint = path.with_name(f"{path.name}.unfinished")
        with progress() as bar:
            task = bar.add_task("roots", total=None)

            def tell(level: int, done: int, total: int) -> None:
                bar.update(task, description=f"hubs at {level} hops", completed=done, total=total)

            try:
                found = build_index(opened, threads=threads, checkpoint=checkpoint, progress=tell)
            except KeyboardInterrupt:
                if checkpoint.exists():
                    note(f"what is done is kept in {checkpoint}; the same command goes on from there")
                raise
        compared = check_index(opened, found, check)
        found.save(path)
    facts = {
        "index": str(path),
        "made": made,
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
    if made:
        text += f"; {compared:,} distances compared with searches: all equal"
    console().print(text)
