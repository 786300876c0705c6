"""Options that most commands share: graph, direction, bound, files of pairs; notes about identifiers."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import typer

from cuihop.cli.command_files import REJECTS, TSV, FileUse
from cuihop.cli.option_groups import JsonOptions, option, option_group
from cuihop.cli.output import note, print_json
from cuihop.connection import connect
from cuihop.errors import ConceptError, InvalidCui, first_few
from cuihop.graph import ConceptGraph, Direction
from cuihop.graph_wrapper import GraphWithNames
from cuihop.identifiers import in_upper_case

Header = Literal["auto", "yes", "no"]
OnBadRow = Literal["error", "skip"]

last_address: list[str] = []
"""Address of the graph that the command has opened last, for the concepts that an error may name."""


@option_group
class AddressOptions:
    """The address of a graph."""

    graph: str = option(
        "Graph: path of a snapshot or neighbour dictionary, grpc://HOST:PORT or https://HOST of a service, "
        "bolt://HOST:PORT of a Neo4j server, or neo4j://HOST of a cluster.",
        "-g", required=True, envvar="CUIHOP_GRAPH", metavar="GRAPH", mark=FileUse.READS,
    )  # fmt: skip

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph)


@option_group
class _WithinOptions:
    within_sab: list[str] | None = option(
        "Use only the edges that this vocabulary asserts. May be repeated: an edge of any of them counts.",
        metavar="SAB",
    )


@option_group
class GraphOptions(_WithinOptions, AddressOptions):
    """The graph of a command, and the vocabularies whose edges alone count."""

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, within_sabs=self.within_sab)


@option_group
class NamesOptions:
    """Names of concepts from a file."""

    names: Path | None = option("Names of concepts that have none in the graph: CSV or TSV, concept and name.")


@option_group
class NamedGraphOptions(NamesOptions, GraphOptions):
    """The graph of a command, with names of concepts from a file."""

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, self.names, self.within_sab)


@option_group
class OptionalAddressOptions:
    """The address of a graph, if there is one."""

    graph: str | None = option(
        "Graph, if a measure needs one: path of a snapshot, address of a service, or bolt://HOST:PORT.",
        "-g", envvar="CUIHOP_GRAPH", metavar="GRAPH", panel="Files", mark=FileUse.READS,
    )  # fmt: skip


@option_group
class OptionalGraphOptions(_WithinOptions, OptionalAddressOptions):
    """The graph of a command that may have none; refuses vocabularies without a graph."""

    def __post_init__(self) -> None:
        if self.graph is None and self.within_sab:
            raise typer.BadParameter("--within-sab goes with --graph (or CUIHOP_GRAPH)")

    def opened(self, names: Path | None = None) -> AbstractContextManager[ConceptGraph | None]:
        """Open the graph; the value is ``None`` without one."""
        return nullcontext() if self.graph is None else opened_graph(self.graph, names, self.within_sab)


@option_group
class DirectionOptions:
    """Direction of the hops."""

    direction: Direction = option(
        "Direction of the hops: any; up, to parents; down, to children; or vertical, all up or all down.",
        "-d", default="any",
    )  # fmt: skip


@option_group
class SearchOptions(DirectionOptions):
    """Direction and bound of a search for distances."""

    max_hops: int | None = option("Maximum number of hops; a longer distance counts as no path.", min=0)


@option_group
class PairsOptions(JsonOptions):
    """The files of a run over pairs."""

    pairs: Path | None = option("Pairs: two columns of TSV, CSV, JSON Lines or Parquet; - for stdin.")
    output: Path | None = option("File for the answers to --pairs.", "-o", mark=TSV)
    header: Header = option("Header in the first line of CSV: detected, present or absent.", default="auto")
    on_bad_row: OnBadRow = option("Stop at an invalid row, or skip it.", default="error")
    rejects: Path | None = option("File for the skipped rows; OUTPUT.rejects by default.", mark=REJECTS)

    def check(self, a: str | None, b: str | None) -> None:
        """Refuse a single pair with a file, neither of them, or options of a file without one."""
        if (self.pairs is not None and (a or b)) or (self.pairs is None and not (a and b)):
            raise typer.BadParameter("give two identifiers, or --pairs FILE")
        if self.pairs is None and (self.output is not None or self.rejects is not None):
            raise typer.BadParameter("--output and --rejects go with --pairs")


def upper_case_pair(a: str | None, b: str | None) -> tuple[str, str]:
    """Two identifiers, CUIs in upper case, with a note about those that were not."""
    upper = {cui: in_upper_case(cui) for cui in (str(a), str(b))}
    note_upper_case({cui: changed for cui, changed in upper.items() if changed != cui})
    return upper[str(a)], upper[str(b)]


def opened_graph(
    address: str, names: Path | None = None, within_sabs: Sequence[str] | None = None
) -> ConceptGraph:  # fmt: skip
    """Open the graph at an address; ``names`` are for concepts that have none there, ``within_sabs`` whose edges count.

    Raises:
        InputError, SnapshotError, GraphUnavailable: see `cuihop.connection.connect` and `ConceptGraph.within`.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # a failure is reported once, by the error
    added = None
    if names is not None:
        from cuihop.collection.concept_tables import ConceptNames

        added = ConceptNames.read(names)
    last_address[:] = [address]
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
    """End the error about a well-formed identifier that the graph does not hold with ``--unknown``, unless it does."""
    try:
        yield
    except ConceptError as error:
        if not isinstance(error, InvalidCui) and "--unknown" not in str(error):
            error.args = (f"{error}. --unknown isolated accepts it: it matches only itself; drop leaves it out.",)
        raise


def printed_as_json(
    options: JsonOptions, graph: ConceptGraph, fields: Mapping[str, Any], merged: Mapping[str, str] | None = None
) -> bool:
    """Print the fields of an answer if the options request JSON; otherwise only note the retired identifiers."""
    if options.json:
        from cuihop.answer_fields import with_release

        print_json(with_release(graph.release, fields, merged))
    else:
        note_merged(merged or {})
    return options.json


def note_merged(merged: Mapping[str, str]) -> None:
    """Note retired identifiers and their successors."""
    if merged:
        note(f"retired, replaced by the concept it was merged into: {_changes(merged)}")


def note_dropped(dropped: Collection[str]) -> None:
    """Note identifiers that are not in the graph, and were left out."""
    if dropped:
        note(f"not in the graph, and left out: {first_few(sorted(dropped))}")


def note_upper_case(upper: Mapping[str, str]) -> None:
    """Note identifiers in lower case, which are read in upper case."""
    if upper:
        note(f"lower case read as upper case: {_changes(upper)}")


def _changes(changes: Mapping[str, str]) -> str:
    return first_few([f"{old} → {new}" for old, new in changes.items()])
