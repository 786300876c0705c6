"""Options that most commands share: graph, direction, bound, files of pairs; notes about identifiers."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import typer

from cuihop.adapter_rules import replaced
from cuihop.cli.command_files import REJECTS, TSV, FileUse
from cuihop.cli.option_groups import JsonOptions, option, option_group
from cuihop.cli.output import note, print_json
from cuihop.connection import connect
from cuihop.errors import ConceptError, InvalidCui, first_few, parameter_named
from cuihop.graph import ConceptGraph, Direction, Many, SourceCode
from cuihop.graph_wrapper import GraphOfCodes, GraphWithNames
from cuihop.identifiers import as_read, codes_among, codes_of, written_as_code

Header = Literal["auto", "yes", "no"]
OnBadRow = Literal["error", "skip"]

last_address: list[str] = []
"""Address of the graph that the command has opened last, for the concepts that an error may name."""

_first_taken: dict[str, str] = {}
"""Codes of several concepts in the arguments of the command, and the first concept of each, which was taken."""


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
class _CodeOptions:
    """The identifiers of a command, in its arguments and files."""

    identifiers: str | None = option(
        "Vocabulary whose codes stand in place of identifiers, in arguments and files; without it, codes are written "
        "SAB:CODE.",
        metavar="SAB", shown="concepts of the graph",
    )  # fmt: skip
    many: Many = option(
        "A code of several concepts: an error that lists them; the first, best one; or all, in sets of concepts.",
        default="error",
    )  # fmt: skip

    def prepare(self) -> None:
        """Read identifiers as these options demand, until the command ends."""
        _first_taken.clear()
        if self.identifiers is None:
            return
        if not written_as_code(f"{self.identifiers}:0") or ":" in self.identifiers:
            raise typer.BadParameter(f"--identifiers takes a vocabulary, such as SNOMEDCT_US, not {self.identifiers!r}")
        codes_of.set(self.identifiers)
        note(f"identifiers are read as codes of {self.identifiers}")


@option_group
class ShownCodesOptions:
    """Codes of the concepts in an answer."""

    codes: list[str] | None = option(
        "Show the codes of each concept in this vocabulary. May be repeated.", metavar="SAB"
    )

    def add_codes(self, graph: ConceptGraph, cuis: Sequence[str], fields: dict[str, Any]) -> list[list[str]]:
        """Add the codes of concepts to the fields of an answer; a column of a table with them, or none."""
        if not self.codes:
            return []
        from cuihop.answer_fields import fields_of

        with parameter_named("sabs", "--codes"):
            lookups = graph.codes(cuis, sabs=self.codes)
        fields["codes"] = [fields_of(code) for lookup in lookups for code in lookup.codes]
        return [["\n".join(map(code_text, lookup.codes)) for lookup in lookups]]


@option_group
class EdgeOptions(_WithinOptions, AddressOptions):
    """The graph of a command that reads no identifiers, and the vocabularies whose edges alone count."""

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, within_sabs=self.within_sab)


@option_group
class GraphOptions(_CodeOptions, EdgeOptions):
    """The graph of a command, and how its identifiers are read."""

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, None, self.within_sab, self.many)


@option_group
class NamesOptions:
    """Names of concepts from a file."""

    names: Path | None = option("Names of concepts that have none in the graph: CSV or TSV, concept and name.")


@option_group
class NamedGraphOptions(NamesOptions, GraphOptions):
    """The graph of a command, with names of concepts from a file."""

    def opened(self) -> ConceptGraph:
        """Open the graph; see `opened_graph`."""
        return opened_graph(self.graph, self.names, self.within_sab, self.many)


@option_group
class OptionalAddressOptions:
    """The address of a graph, if there is one."""

    graph: str | None = option(
        "Graph, if a measure needs one: path of a snapshot, address of a service, or bolt://HOST:PORT.",
        "-g", envvar="CUIHOP_GRAPH", metavar="GRAPH", panel="Files", mark=FileUse.READS,
    )  # fmt: skip


@option_group
class OptionalEdgeOptions(_WithinOptions, OptionalAddressOptions):
    """The graph of a command that may have none; refuses vocabularies without a graph."""

    def __post_init__(self) -> None:
        if self.graph is None and self.within_sab:
            raise typer.BadParameter("--within-sab goes with --graph (or CUIHOP_GRAPH)")

    def opened(self, names: Path | None = None, many: Many = "error") -> AbstractContextManager[ConceptGraph | None]:
        """Open the graph; the value is ``None`` without one."""
        return nullcontext() if self.graph is None else opened_graph(self.graph, names, self.within_sab, many)


@option_group
class OptionalGraphOptions(_CodeOptions, OptionalEdgeOptions):
    """The graph of a command that may have none, and how its identifiers are read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.graph is None and (self.identifiers or self.many != "error"):
            raise typer.BadParameter("--identifiers and --many go with --graph (or CUIHOP_GRAPH)")

    def opened(self, names: Path | None = None, many: Many = "error") -> AbstractContextManager[ConceptGraph | None]:
        """Open the graph; the value is ``None`` without one."""
        return super().opened(names, self.many if many == "error" else many)


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


def read_identifiers(graph: ConceptGraph, texts: Iterable[str | None]) -> list[str]:
    """Identifiers of the command line as they are read, see `as_read`, with a note about CUIs in lower case.

    A code of several concepts is the first of them, if the graph resolves it so.
    """
    identifiers = [str(text) for text in texts]
    read = {text: as_read(text) for text in identifiers}
    note_upper_case({text: cui for text, cui in read.items() if cui == text.upper() != text})
    if graph.many == "first" and (codes := [cui for cui in read.values() if ":" in cui]):
        _first_taken.update((r.requested, r.cui) for r in graph.resolve(codes) if r.candidates and r.cui is not None)
    return [_first_taken.get(read[text], read[text]) for text in identifiers]


def opened_graph(
    address: str, names: Path | None = None, within_sabs: Sequence[str] | None = None, many: Many = "error"
) -> ConceptGraph:  # fmt: skip
    """Open the graph at an address.

    ``names`` are for concepts that have none there, ``within_sabs`` those whose edges count; ``many`` as in
    `ConceptGraph.many`.

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
    try:
        if (sab := codes_of.get()) is not None:
            refuse_unknown_vocabulary(opened, sab)
        if within_sabs:
            opened = opened.within(within_sabs)
    except BaseException:
        opened.close()
        raise
    if within_sabs:
        note(f"only edges that {' or '.join(sorted(set(within_sabs)))} asserts count")
    if many != "error":
        opened = GraphOfCodes(opened, many)
        note(f"of a code of several concepts, {'the first counts' if many == 'first' else 'all count'}")
    if added is not None and codes_of.get() is not None:
        concept = replaced(opened.resolve([*added]))
        return GraphWithNames(opened, {concept.get(code, code): name for code, name in added.items()})
    return opened if added is None else GraphWithNames(opened, added)


def refuse_unknown_vocabulary(graph: ConceptGraph, sab: str) -> None:
    """Refuse a vocabulary of ``--identifiers`` that gives no codes to the release."""
    from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

    if not isinstance(graph, NeighbourDictionary):  # which holds the codes that it was made for, and no others
        with parameter_named("sabs", "--identifiers"):
            graph.codes([], sabs=[sab])


def code_text(code: SourceCode) -> str:
    """A code, with its mark unless it is active."""
    return f"{code.sab}:{code.code}" + ("" if code.mark == "active" else f" ({code.mark})")


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

        print_json(with_release(graph.release, fields, {**_first_taken, **(merged or {})}))
    else:
        note_merged({**_first_taken, **(merged or {})})
    return options.json


def note_merged(merged: Mapping[str, str]) -> None:
    """Note retired identifiers and their successors, and codes and their concepts."""
    codes = codes_among(merged)
    if codes:
        note(f"read as the concept of a code: {_changes(codes)}")
    if retired := {old: new for old, new in merged.items() if old not in codes}:
        note(f"retired, replaced by the concept it was merged into: {_changes(retired)}")


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
