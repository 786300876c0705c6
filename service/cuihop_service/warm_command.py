"""``cuihop warm``: fill the cache with the distances among the concepts of a file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cuihop.addresses import is_neo4j_address
from cuihop.cli.graph_option import DirectionOption, GraphOption, MaxHopsOption
from cuihop.cli.output import note, progress
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.connection import connect
from cuihop.errors import InputError
from cuihop.files.text_lines import decoded_lines, first_line
from cuihop.graph import ConceptGraph

__all__ = ["concepts_of_file", "warm"]


def concepts_of_file(path: Path) -> list[str]:
    """The distinct identifiers of a file: one a line, or in the second column of a CSV file of images.

    Raises:
        InputError: the file cannot be read, is empty, or is neither.
    """
    first, lines = first_line(decoded_lines(path))
    if "," in first:
        images = ImageConcepts.read(path)
        return sorted({cui for concepts in images.values() for cui in concepts})
    found = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise InputError("the file is empty", file=path, expected="an identifier a line, or image,concepts")
    return found


def warm(
    file: Annotated[
        Path,
        typer.Argument(help="Identifiers, one a line; or a CSV file of images and their concepts.", show_default=False),
    ],
    graph: GraphOption,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    redis: Annotated[
        str | None,
        typer.Option(
            "--redis",
            envvar="CUIHOP_REDIS",
            help="With a Neo4j server as the graph: the Redis that the service's replicas share.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Ask for the distance of every pair of the file's concepts, so that the cache knows it.

    The graph is a service that answers by Cypher, or the Neo4j server behind it with the Redis that they share. It can
    be interrupted: what was done is kept.
    """
    from cuihop_service.cache import CachedGraph, SharedPairs
    from cuihop_service.cache import warm as warmed

    cuis = concepts_of_file(file)
    with ExitStack() as stack:
        opened: ConceptGraph
        if is_neo4j_address(graph):
            if redis is None:
                raise InputError(
                    "no cache to fill",
                    column="redis",
                    found="nothing",
                    expected="the Redis of the service, or the service itself as --graph",
                )
            shared = SharedPairs(redis)
            opened = stack.enter_context(CachedGraph(connect(graph), shared=shared))
        elif "://" in graph:
            opened = stack.enter_context(connect(graph))
        else:
            raise InputError(
                "a snapshot needs no cache",
                column="graph",
                found=graph,
                expected="a service, such as grpc://host:50051, or a Neo4j server with --redis",
            )
        with progress() as bar:
            task = bar.add_task("pairs", total=None)
            done = warmed(
                opened,
                cuis,
                direction=direction,
                max_hops=max_hops,
                progress=lambda pairs, total: bar.update(task, completed=pairs, total=total),
            )
        if is_neo4j_address(graph) and shared.statistics.errors:
            note("Redis did not take everything; see its log, and ask again")
    note(f"{done.concepts:,} concepts, {done.pairs:,} pairs, {done.known:,} of them known before")
