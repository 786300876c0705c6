"""Options that most commands share: graph, direction, bound, λ, weight, unknown identifiers; notes about these."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.added_names import GraphWithNames
from cuihop.cli.command_files import FileUse
from cuihop.cli.output import note
from cuihop.collection.concept_names import ConceptNames
from cuihop.connection import connect
from cuihop.errors import ConceptError, InvalidCui, first_few
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.near_weight import IntrinsicContent, Weight
from cuihop.measures.resolution import Unknown

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        "-g",
        envvar="CUIHOP_GRAPH",
        help="Graph: path of a snapshot or neighbour dictionary, grpc://HOST:PORT or https://HOST of a service, "
        "bolt://HOST:PORT of a Neo4j server, or neo4j://HOST of a cluster.",
        show_default=False,
    ),
    FileUse.READS,
]
WithinSabOption = Annotated[
    list[str] | None,
    typer.Option(
        "--within-sab", metavar="SAB", show_default=False,
        help="Count only edges that this vocabulary of the graph asserts. May be repeated: those of any of them.",
    ),
]  # fmt: skip
DirectionOption = Annotated[
    Direction,
    typer.Option(
        "--direction",
        "-d",
        help="Direction of the hops: each either way; to parents; to children; or all to parents or all to children.",
    ),
]
MaxHopsOption = Annotated[
    int | None, typer.Option("--max-hops", min=0, help="Bound of the search; a longer distance counts as no path.")
]
LambdaOption = Annotated[float, typer.Option("--lambda", min=0.0, max=1.0, help="Weight λ of a near concept.")]
WeightedLambdaOption = Annotated[
    float | None,
    typer.Option(
        "--lambda", min=0.0, max=1.0, show_default="0.5; 1 for Lin and Wu-Palmer", help="Weight λ of a near concept."
    ),
]
WeightOption = Annotated[
    Weight,
    typer.Option(
        "--weight",
        help="Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, λ times its "
        "similarity over the hierarchy.",
    ),
]
ContentOption = Annotated[IntrinsicContent, typer.Option("--ic", help="Information content of the weight Lin.")]
UnknownOption = Annotated[
    Unknown,
    typer.Option(
        "--unknown",
        help="Identifiers that are not in the graph: refuse them, let each match only itself, or leave them out.",
    ),
]


NamesOption = Annotated[
    Path | None,
    typer.Option(
        "--names", show_default=False,
        help="Names of concepts where the graph has none: two columns of CSV or TSV, concept and name.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class GraphSource:
    """The graph of a command: its address, and the vocabularies whose edges alone count; without any, all edges."""

    address: str
    within_sabs: Sequence[str] | None = None

    @classmethod
    def optional(cls, address: str | None, within_sabs: Sequence[str] | None) -> GraphSource | None:
        """The graph of a command that may have none.

        Raises:
            typer.BadParameter: vocabularies without a graph.
        """
        if address is None and within_sabs:
            raise typer.BadParameter("--within-sab goes with --graph (or CUIHOP_GRAPH)")
        return None if address is None else cls(address, within_sabs)


def opened_graph(source: str | GraphSource, names: Path | None = None) -> ConceptGraph:
    """Open the graph at an address, with names from a file where it has none.

    Raises:
        InputError, SnapshotError, GraphUnavailable: see `cuihop.connection.connect` and `ConceptGraph.within`.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # a failure is reported once, by the error
    given = GraphSource(source) if isinstance(source, str) else source
    added = None if names is None else ConceptNames.read(names)
    opened = connect(given.address)
    if given.within_sabs:
        try:
            opened = _restricted(opened, given.within_sabs)
        except BaseException:
            opened.close()
            raise
    return opened if added is None else GraphWithNames(opened, added)


def _restricted(whole: ConceptGraph, sabs: Sequence[str]) -> ConceptGraph:
    """The graph within some vocabularies, with a note of it."""
    restricted = whole.within(sabs)
    note(f"only edges that {' or '.join(sorted(set(sabs)))} asserts count")
    return restricted


@contextmanager
def advised_on_unknown() -> Iterator[None]:
    """Advise ``--unknown`` where the graph does not hold a well-formed identifier."""
    try:
        yield
    except InvalidCui:
        raise
    except ConceptError:
        note(
            "--unknown isolated accepts identifiers that are not in the graph: each matches only itself; "
            "--unknown drop leaves them out"
        )
        raise


def note_merged(merged: Mapping[str, str]) -> None:
    """Note retired identifiers and their successors."""
    if merged:
        note(f"retired, taken for the concept it was merged into: {_changes(merged)}")


def note_dropped(dropped: Collection[str]) -> None:
    """Note identifiers that are not in the graph, and were left out."""
    if dropped:
        note(f"not in the graph, and left out: {first_few(sorted(dropped))}")


def note_upper_case(upper: Mapping[str, str]) -> None:
    """Note identifiers in lower case, which are read in upper case."""
    if upper:
        note(f"in lower case, read in upper case: {_changes(upper)}")


def _changes(changes: Mapping[str, str]) -> str:
    return first_few([f"{old} → {new}" for old, new in changes.items()])
