"""Options that most commands share: graph, direction, bound, λ, weight, unknown identifiers; notes about these."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import Unknown

FILES_PANEL = "Files"

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph", "-g", envvar="CUIHOP_GRAPH", show_default=False,
        help="Graph: path of a snapshot or neighbour dictionary, grpc://HOST:PORT or https://HOST of a service, "
        "bolt://HOST:PORT of a Neo4j server, or neo4j://HOST of a cluster.",
    ),
    FileUse.READS,
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
NamesOption = Annotated[
    Path | None,
    typer.Option(
        "--names", show_default=False,
        help="Names of concepts where the graph has none: two columns of CSV or TSV, concept and name.",
    ),
]  # fmt: skip


OptionalGraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph", "-g", envvar="CUIHOP_GRAPH", rich_help_panel=FILES_PANEL, show_default=False,
        help="Graph, where a measure needs one: path of a snapshot, address of a service, or bolt://HOST:PORT.",
    ),
    FileUse.READS,
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _WithinOptions:
    within_sab: Annotated[
        list[str] | None,
        typer.Option(
            "--within-sab", metavar="SAB", show_default=False,
            help="Count only edges that this vocabulary of the graph asserts. May be repeated: those of any of them.",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GraphOptions(_WithinOptions):
    """The graph of a command, and the vocabularies whose edges alone count."""

    graph: GraphOption

    def opened(self, names: Path | None = None) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, names, self.within_sab)


@dataclass(frozen=True, kw_only=True)
class OptionalGraphOptions(_WithinOptions):
    """The graph of a command that may have none.

    Raises:
        typer.BadParameter: vocabularies without a graph.
    """

    graph: OptionalGraphOption = None

    def __post_init__(self) -> None:
        if self.graph is None and self.within_sab:
            raise typer.BadParameter("--within-sab goes with --graph (or CUIHOP_GRAPH)")

    def opened(self, names: Path | None = None) -> AbstractContextManager[ConceptGraph | None]:
        """Open the graph; the value is ``None`` without one."""
        return nullcontext() if self.graph is None else opened_graph(self.graph, names, self.within_sab)


@dataclass(frozen=True, kw_only=True)
class NearnessOptions:
    """Hop threshold, and the weight of near concepts."""

    hops: Annotated[int, typer.Option("--hops", "-n", min=0, help="Hop threshold n of near concepts.")] = 1
    lam: Annotated[
        float | None,
        typer.Option(
            "--lambda", min=0.0, max=1.0, show_default="0.5; 1 for Lin and Wu-Palmer",
            help="Weight λ of a near concept.",
        ),
    ] = None  # fmt: skip
    weight: Annotated[
        Weight,
        typer.Option(
            "--weight",
            help="Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, λ times "
            "its similarity over the hierarchy.",
        ),
    ] = "constant"
    ic: Annotated[IntrinsicContent, typer.Option("--ic", help="Information content of the weight Lin.")] = "Sanchez"
    direction: DirectionOption = "any"
    unknown: Annotated[
        Unknown,
        typer.Option(
            "--unknown",
            help="Identifiers that are not in the graph: refuse them, let each match only itself, or leave them out.",
        ),
    ] = "error"

    @property
    def nearness(self) -> Nearness:
        """The checked values.

        Raises:
            InputError: a value is out of its range.
        """
        return Nearness(self.hops, self.lam, self.direction, self.unknown, self.weight, self.ic)


@dataclass(frozen=True, kw_only=True)
class ConstantNearnessOptions:
    """Hop threshold, direction, and one weight for all near concepts."""

    hops: Annotated[
        int, typer.Option("--hops", "-n", min=0, help="Hop threshold n of near concepts.", rich_help_panel="Measures")
    ] = 1
    lam: Annotated[float, typer.Option("--lambda", min=0.0, max=1.0, help="Weight λ of a near concept.")] = 0.5
    direction: DirectionOption = "any"

    @property
    def nearness(self) -> Nearness:
        """The checked values; an identifier that the graph does not hold matches only itself."""
        return Nearness(self.hops, self.lam, self.direction, "isolated")


def opened_graph(
    address: str, names: Path | None = None, within_sabs: Sequence[str] | None = None
) -> ConceptGraph:  # fmt: skip
    """Open the graph at an address.

    Args:
        names: names of concepts, where the graph has none. within_sabs: vocabularies whose edges alone count.

    Raises:
        InputError, SnapshotError, GraphUnavailable: see `cuihop.connection.connect` and `ConceptGraph.within`.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # a failure is reported once, by the error
    added = None if names is None else ConceptNames.read(names)
    opened = connect(address)
    if within_sabs:
        try:
            opened = opened.within(within_sabs)
        except BaseException:
            opened.close()
            raise
        note(f"only edges that {' or '.join(sorted(set(within_sabs)))} asserts count")
    return opened if added is None else GraphWithNames(opened, added)


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
