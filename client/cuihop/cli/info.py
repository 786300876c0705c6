"""``cuihop info``: what a snapshot holds."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.output import JsonOption, console, print_json, table
from cuihop.snapshot import SnapshotGraph

__all__ = ["info"]


def info(
    snapshot: Annotated[Path, typer.Argument(help="The snapshot file.", show_default=False)],
    verify: Annotated[bool, typer.Option("--verify", help="Check every section against its checksum.")] = False,
    json: JsonOption = False,
) -> None:
    """Say what a snapshot holds, and check that it is whole."""
    graph = SnapshotGraph.open(snapshot)
    checked = graph.verify() if verify else None
    release = graph.release
    if json:
        print_json(
            {
                "snapshot": str(snapshot),
                "bytes": snapshot.stat().st_size,
                "release": dataclasses.asdict(release),
                "verified_bytes": checked,
                "report": dict(graph.report),
            }
        )
        return
    rows = table("", "")
    rows.show_header = False
    for name, value in (
        ("release", release.name),
        ("concepts", f"{release.concepts:,}"),
        ("is_a edges", f"{release.edges:,}"),
        ("relations", ", ".join(release.relations)),
        ("vocabularies", ", ".join(release.sabs) or "not told"),
        ("identifiers", "CUIs only" if release.identifiers == "cui" else "CUIs and others"),
        ("read from", release.source or "not told"),
        ("digest", release.digest),
        ("file", f"{snapshot}, {snapshot.stat().st_size:,} bytes"),
        (
            "checksums",
            "header only; --verify checks all" if checked is None else f"all right, {checked:,} bytes checked",
        ),
    ):
        rows.add_row(name, value)
    console().print(rows)
