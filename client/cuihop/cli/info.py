"""``cuihop info``: the release and the form of a snapshot, or of a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.answer_fields import fields_of
from cuihop.cli.graph_option import opened_graph
from cuihop.cli.output import JsonOption, print_json, print_table
from cuihop.graph import ConceptGraph, Release
from cuihop.notebooks.table import Table
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary


def info(
    graph: Annotated[
        str,
        typer.Argument(
            help="Path of a snapshot or neighbour dictionary; address of a service or database.",
            show_default=False,
        ),
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every section of a snapshot against its checksum.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Describe a snapshot, a neighbour dictionary, a service or a database: release, size, index, limits."""
    with opened_graph(graph) as opened:
        if isinstance(opened, SnapshotGraph):
            facts, rest = _of_snapshot(opened, Path(graph.removeprefix("snapshot:")), verify)
        elif isinstance(opened, NeighbourDictionary):  # opening has checked every section
            facts, rest = opened.facts, [("neighbour dictionary", opened.account)]
        elif verify:
            raise typer.BadParameter("--verify checks snapshots, not servers")
        else:
            facts, rest = _of_server(opened, graph)
        release = opened.release
    if json:
        print_json({**fields_of(release), **facts})
        return
    print_table(Table((), [*_release_rows(release), *rest]))


def _release_rows(release: Release) -> Iterator[tuple[str, str]]:
    yield "release", release.name
    yield "concepts", f"{release.concepts:,}"
    yield "is_a edges", f"{release.edges:,}"
    yield "relations", ", ".join(release.relations)
    yield "vocabularies", ", ".join(release.sabs) or "not given"
    yield "identifiers", "CUIs only" if release.identifiers == "cui" else "CUIs and others"
    yield "read from", release.source or "not given"
    yield "digest", release.digest


def _of_snapshot(graph: SnapshotGraph, path: Path, verify: bool) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Fields of ``--json`` beside the release, and rows of the table."""
    checked = graph.verify() if verify else None
    if checked is not None and graph.index is not None:
        checked += graph.index.verify()
    size = path.stat().st_size
    checksums = "header only; --verify checks all" if checked is None else f"all right, {checked:,} bytes checked"
    facts = {"snapshot": str(path), "bytes": size, "verified_bytes": checked, "report": dict(graph.report)}
    facts["name_sabs"] = name_sabs = graph.name_sabs
    facts["index"] = None if graph.index is None else dict(graph.index.facts)
    facts["index_problem"] = graph.index_problem
    if graph.index is not None:
        of_index = f"{graph.index.facts['entries']:,} hubs in {graph.index.facts['labels']:,} labels"
    else:
        of_index = graph.index_problem or "none; cuihop index builds one"
    of_names = "not recorded; cuihop load records them" if name_sabs is None else ", ".join(name_sabs) or "none"
    return facts, [
        ("file", f"{path}, {size:,} bytes"),
        ("checksums", checksums),
        ("vocabularies of names", of_names),
        ("distance index", of_index),
    ]


def _of_server(graph: ConceptGraph, address: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Fields and rows of a server."""
    from cuihop.remote.graph import RemoteGraph

    if not isinstance(graph, RemoteGraph):
        return {"address": address}, [("address", address)]
    served = graph.service
    limits = dataclasses.asdict(served.limits)
    facts = {
        "address": address,
        "service_version": served.service_version,
        "indexed": served.indexed,
        "names": served.names,
        "limits": limits,
    }
    return facts, [
        ("address", address),
        ("service", f"cuihop {served.service_version}, {'index in memory' if served.indexed else 'database only'}"),
        ("names", "shown" if served.names else "hidden from this key"),
        ("limits", ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in limits.items())),
    ]
