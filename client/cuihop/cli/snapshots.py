"""``cuihop info`` and ``cuihop index``: the content of a snapshot or a server, and the indexes of a snapshot."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from cuihop.answer_fields import fields_of
from cuihop.cli.graph_option import opened_graph
from cuihop.cli.option_groups import JsonOptions, argument, is_stated, option, option_group
from cuihop.cli.output import console, note, print_json, print_table, progress
from cuihop.files.written_files import check_output
from cuihop.graph import ConceptGraph
from cuihop.notebooks.table import Table
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.name_parts import NAME_PARTS, add_name_parts
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary
from cuihop.snapshot.writer import PULLED_FROM


@option_group
class _InfoOptions(JsonOptions):
    graph: str = argument("Path of a snapshot or neighbour dictionary; address of a service or database.")
    verify: bool = option("Check every section of a snapshot against its checksum.", default=False)


@option_group
class _IndexOptions(JsonOptions):
    graph: Path = argument("Path of the snapshot.")
    name_search: bool = option(
        "Instead of the distance index, add the index of names to the snapshot, for search and annotation.",
        default=False,
    )
    force: bool = option("Build again even if a valid index exists.", default=False)
    threads: int | None = option("Number of threads; all cores by default.", min=1)
    check: int = option("Number of random pairs, and of near pairs, to verify by a search.", default=2000, min=0)


def info(options: _InfoOptions) -> None:
    """Describe a snapshot, a neighbour dictionary, a service or a database: release, size, index, limits."""
    with opened_graph(options.graph) as opened:
        if isinstance(opened, SnapshotGraph):
            facts, rest = _of_snapshot(opened, Path(options.graph.removeprefix("snapshot:")), options.verify)
        elif isinstance(opened, NeighbourDictionary):  # opening has checked every section
            facts, rest = opened.facts, [("neighbour dictionary", opened.account)]
        elif options.verify:
            raise typer.BadParameter("--verify checks snapshots, not servers")
        else:
            facts, rest = _of_server(opened, options.graph)
        release = opened.release
    if options.json:
        print_json({**fields_of(release), **facts})
        return
    rows = [
        ("release", release.name),
        ("concepts", f"{release.concepts:,}"),
        ("is_a edges", f"{release.edges:,}"),
        ("relations", ", ".join(release.relations)),
        ("vocabularies", ", ".join(release.sabs) or "not given"),
        ("identifiers", "CUIs only" if release.identifiers == "cui" else "CUIs and others"),
        ("read from", release.source or "not given"),
        ("digest", release.digest),
    ]
    print_table(Table((), [*rows, *rest]))


def _of_snapshot(graph: SnapshotGraph, path: Path, verify: bool) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Fields of ``--json`` without the release, and rows of the table."""
    checked = graph.verify() if verify else None
    if checked is not None and graph.index is not None:
        checked += graph.index.verify()
    size = path.stat().st_size
    checksums = "header only; --verify checks all" if checked is None else f"all right, {checked:,} bytes checked"
    name_sabs, code_sabs = graph.name_sabs, graph.code_sabs
    facts = {
        "snapshot": str(path), "bytes": size, "verified_bytes": checked, "report": dict(graph.report),
        "name_sabs": name_sabs, "code_sabs": code_sabs,
        "index": None if graph.index is None else dict(graph.index.facts),
        "index_problem": graph.index_problem,
    }  # fmt: skip
    if graph.index is not None:
        of_index = f"{graph.index.facts['entries']:,} hubs in {graph.index.facts['labels']:,} labels"
    else:
        of_index = graph.index_problem or "none; cuihop index builds one"
    return facts, [
        ("file", f"{path}, {size:,} bytes"),
        ("checksums", checksums),
        ("vocabularies of names", _listed(name_sabs, _not_recorded(graph))),
        ("vocabularies of codes", _listed(code_sabs)),
        ("distance index", of_index),
    ]


def _listed(sabs: Sequence[str] | None, missing: str = "not recorded; cuihop load records them in a file") -> str:
    """Vocabularies, or the reason that a graph lacks them."""
    return missing if sabs is None else ", ".join(sabs) or "none"


def _not_recorded(graph: SnapshotGraph) -> str:
    """The reason that a snapshot lacks the vocabularies of names."""
    reason = "not recorded" if graph.report.get(PULLED_FROM) is None else "not kept by Neo4j"
    return f"{reason}; cuihop load records them in a file"


def _of_server(graph: ConceptGraph, address: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Fields and rows of a server."""
    from cuihop.remote.graph import RemoteGraph

    if not isinstance(graph, RemoteGraph):
        from cuihop.neo4j_graph.graph import Neo4jGraph

        code_sabs = graph.code_sabs if isinstance(graph, Neo4jGraph) else None
        codes = _listed(code_sabs, "not stored; cuihop load stores them")
        return {"address": address, "code_sabs": code_sabs}, [("address", address), ("vocabularies of codes", codes)]
    served = graph.service
    limits = dataclasses.asdict(served.limits)
    facts = {
        "address": address, "service_version": served.service_version, "indexed": served.indexed,
        "names": served.names, "limits": limits,
    }  # fmt: skip
    return facts, [
        ("address", address),
        ("service", f"cuihop {served.service_version}, {'index in memory' if served.indexed else 'database only'}"),
        ("names", "shown" if served.names else "hidden from this key"),
        ("limits", ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in limits.items())),
    ]


def index(context: typer.Context, options: _IndexOptions) -> None:
    """Build the distance index of a snapshot: distances are then looked up instead of searched.

    The index is a file next to the snapshot (GRAPH.index), and is used whenever the snapshot is opened. It is worth
    building for very many distances between distant concepts. An interrupted run resumes where it stopped.

    With --name-search, build the index of names instead, which a snapshot of an earlier version lacks. The snapshot is
    replaced atomically; a process that has it open continues with the old one.
    """
    begun = time.monotonic()
    if options.name_search:
        unused = [name for name in ("threads", "check") if is_stated(context, name)]
        if unused:
            raise typer.BadParameter(f"--{unused[0]} is for the distance index, and does not go with --name-search")
        facts, text = _name_parts(options.graph, force=options.force)
    else:
        facts, text = _distance_index(options)
    facts["seconds"] = round(time.monotonic() - begun, 3)
    if options.json:
        print_json(facts)
    else:
        console().print(text)


def _name_parts(path: Path, *, force: bool) -> tuple[dict[str, Any], str]:
    """Fields of ``--json``, and the line of text."""
    with progress() as bar:
        task = bar.add_task("opening", total=len(NAME_PARTS) + 2)
        built = add_name_parts(path, force=force, progress=lambda step: bar.update(task, description=step, advance=1))
    opened = SnapshotGraph.open(path)
    if opened.name_sabs is None:
        note(f"vocabularies and grades of names: {_not_recorded(opened)}")
    if not built:
        note(f"{path} has all of them; --force builds them again")
    size = path.stat().st_size
    facts = {
        "snapshot": str(path), "built": [section.name for section in built], "bytes": size,
        "name_sabs": opened.name_sabs, "release": dataclasses.asdict(opened.release),
    }  # fmt: skip
    names = " and ".join(section.name for section in built or NAME_PARTS)
    return facts, f"{path}: {names} {'built' if built else 'valid'}; {size:,} bytes"


def _distance_index(options: _IndexOptions) -> tuple[dict[str, Any], str]:
    """Fields of ``--json``, and the line of text."""
    from cuihop.snapshot.index_builder import check_index  # compiles

    opened = SnapshotGraph.open(options.graph)
    path = index_path(options.graph)
    check_output(path)
    built, compared = None if options.force else opened.index, 0
    building = built is None
    if built is None:
        built = _built_index(opened, path, options.threads)
        compared = check_index(opened, built, options.check)
        built.save(path)
    else:
        note(f"{path} is valid; --force builds it again")
    facts = {
        "index": str(path), "built": building, "pairs_compared": compared,
        "release": dataclasses.asdict(opened.release), **built.facts,
    }  # fmt: skip
    labels, entries, size = (built.facts[name] for name in ("labels", "entries", "bytes"))
    text = f"{path}: {entries:,} hubs in {labels:,} labels, {entries / max(labels, 1):.1f} each; {size:,} bytes"
    return facts, text + (f"; {compared:,} distances compared with searches: all equal" if building else "")


def _built_index(opened: SnapshotGraph, path: Path, threads: int | None) -> DistanceIndex:
    from cuihop.snapshot.index_builder import build_index

    checkpoint = path.with_name(f"{path.name}.unfinished")
    with progress() as bar:
        task = bar.add_task("roots", total=None)

        def report(level: int, done: int, total: int) -> None:
            bar.update(task, description=f"hubs at {level} hops", completed=done, total=total)

        try:
            return build_index(opened, threads=threads, checkpoint=checkpoint, progress=report)
        except KeyboardInterrupt:
            if checkpoint.exists():
                note(f"finished work is in {checkpoint}; the same command resumes from there")
            raise
