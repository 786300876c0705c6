"""The options that most commands share: which graph, which direction, and what to tell of retired identifiers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import note
from cuihop.connection import connect
from cuihop.errors import ConceptError, InvalidCui
from cuihop.graph import ConceptGraph, Direction

__all__ = [
    "DirectionOption",
    "GraphOption",
    "LambdaOption",
    "MaxHopsOption",
    "advised_on_unknown",
    "opened_graph",
    "release_json",
    "tell_merged",
    "tell_upper_case",
]

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        "-g",
        envvar="CUIHOP_GRAPH",
        help="The graph: path of a snapshot, grpc://HOST:PORT or https://HOST of a service, or bolt://HOST:PORT.",
        show_default=False,
    ),
    FileUse.READS,
]
DirectionOption = Annotated[
    Direction, typer.Option("--direction", "-d", help="Which way hops go: either way, to parents, or to children.")
]
MaxHopsOption = Annotated[
    int | None, typer.Option("--max-hops", min=0, help="Look no farther; a longer distance counts as no path.")
]
LambdaOption = Annotated[float, typer.Option("--lambda", min=0.0, max=1.0, help="Weight λ of a near concept.")]


def opened_graph(address: str) -> ConceptGraph:
    """The graph at the address that the user gave.

    Raises:
        InputError, SnapshotError, GraphUnavailable: see `cuihop.connection.connect`.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what fails is told once, by the error
    return connect(address)


@contextmanager
def advised_on_unknown() -> Iterator[None]:
    """Advise ``--unknown isolated`` where the graph does not hold a well-formed identifier."""
    try:
        yield
    except InvalidCui:
        raise
    except ConceptError:
        note("--unknown isolated keeps such identifiers as concepts near nothing but themselves, and counts them")
        raise


def release_json(graph: ConceptGraph) -> dict[str, Any]:
    """What every JSON result says of the release that it comes from."""
    return {"name": graph.release.name, "digest": graph.release.digest}


def tell_merged(merged: Mapping[str, str]) -> None:
    """Say which retired identifiers were taken for their successors."""
    if not merged:
        return
    told = [f"{old} → {new}" for old, new in list(merged.items())[:5]]
    more = "" if len(merged) <= len(told) else f" and {len(merged) - len(told):,} more"
    note(f"retired, taken for the concept it was merged into: {', '.join(told)}{more}")


def tell_upper_case(upper: Mapping[str, str]) -> None:
    """Say which identifiers in lower case were read in upper case."""
    if upper:
        told = [f"{old} → {new}" for old, new in list(upper.items())[:5]]
        more = "" if len(upper) <= len(told) else f" and {len(upper) - len(told):,} more"
        note(f"in lower case, read in upper case: {', '.join(told)}{more}")
