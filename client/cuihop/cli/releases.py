"""``cuihop releases compare``: what changes from one release to another, and what of a user's concepts and pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cuihop.addresses import scheme_of
from cuihop.cli.command_files import TSV, FileUse
from cuihop.cli.graph_option import PairsOptions
from cuihop.cli.option_groups import ColumnOptions, argument, is_stated, option, option_group
from cuihop.cli.output import note, print_json, print_table
from cuihop.errors import InputError
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.graph import Release
    from cuihop.snapshot.graph import SnapshotGraph
    from cuihop.snapshot.release_difference import ReleaseDifference

SERVER = (
    "The Neo4j server, such as bolt://localhost:7687, or neo4j://HOST for a cluster. User and password: NEO4J_USER, "
    "and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE."
)


@option_group
class _CompareOptions(ColumnOptions, PairsOptions):
    old: str = argument("The old release: a snapshot, or with --graph its number in Neo4j.", mark=FileUse.READS)
    new: str = argument("The new release, likewise.", mark=FileUse.READS)
    graph: str | None = option(SERVER, "-g", envvar="CUIHOP_NEO4J", metavar="GRAPH", mark=FileUse.READS)
    concepts: Path | None = option("Your concepts: images and concepts, or one identifier a line; - for stdin.")
    output: Path | None = option("File for all changes.", "-o", mark=TSV)
    concept_changes: Path | None = option("File for what became of each of --concepts.", mark=TSV)
    pair_changes: Path | None = option("File for the hops of each of --pairs in both releases.", mark=TSV)

    def __post_init__(self) -> None:
        if self.concepts is None and self.concept_changes is not None:
            raise typer.BadParameter("--concept-changes goes with --concepts")
        if self.pairs is None and (self.pair_changes is not None or self.rejects is not None):
            raise typer.BadParameter("--pair-changes and --rejects go with --pairs")


def compare(context: typer.Context, options: _CompareOptions) -> None:
    """Compare two releases: concepts and edges, and what becomes of your concepts and pairs.

    Releases are two snapshots, or the numbers of two releases in Neo4j. A moved concept has other parents, a replaced
    one was merged into another. --concepts and --pairs also count what stays the same.
    """
    from cuihop.cli.release_changes import PairChanges, changed_concepts  # imports that `cuihop load` does without
    from cuihop.snapshot.release_difference import release_difference

    old, new = _releases(options, is_stated(context, "graph"))
    difference = release_difference(old.sections, new.sections)
    if old.release.concepts and len(difference.concepts_added) == new.release.concepts:
        raise InputError(
            "the releases have no concept in common", found=f"{difference.old} and {difference.new}",
            expected="two releases with identifiers of one kind",
        )  # fmt: skip
    concepts = pairs = done = None
    if options.concepts is not None:
        concepts = changed_concepts(options.concepts, options.columns, old, new)
        concepts.write(options.concept_changes)
    if options.pairs is not None:
        pairs = PairChanges(old, new)
        done = pairs.write(options, options.pair_changes)
    if options.output is not None:
        difference.write(options.output)
    if options.json:
        inputs = {"old": _account(options.old, old.release), "new": _account(options.new, new.release)}
        fields = {"old": difference.old, "new": difference.new, **difference.to_json(), "inputs": inputs}
        if concepts is not None:
            fields["concepts"], inputs["concepts"] = concepts.fields(), concepts.account
        if pairs is not None and done is not None:
            fields["pairs"], inputs["pairs"] = pairs.fields(done), done.summary
        print_json(fields)
        return
    print_difference(difference)
    if concepts is not None:
        concepts.show()
    if pairs is not None:
        pairs.show()
    titles = {"change": options.output, "concept": options.concept_changes, "pair": options.pair_changes}
    for title, path in titles.items():
        if path is not None:
            note(f"every {title} is in {path}")


def _releases(options: _CompareOptions, graph_stated: bool) -> tuple[SnapshotGraph, SnapshotGraph]:
    """Both releases; refuses a snapshot with a number."""
    from cuihop.snapshot.graph import SnapshotGraph

    texts = (options.old, options.new)
    numbers = [text.isdecimal() for text in texts]
    if all(numbers):
        if options.graph is None:
            raise typer.BadParameter("numbers of releases go with --graph (or CUIHOP_NEO4J)")
        from cuihop.neo4j_graph.connection import Neo4jConnection  # the driver takes long to import
        from cuihop.neo4j_graph.projection import snapshot_sections

        with Neo4jConnection.open(options.graph) as connection:
            old, new = (SnapshotGraph(snapshot_sections(connection, int(text))) for text in texts)
            return old, new
    if any(numbers) or any(scheme_of(text) for text in texts):
        raise InputError(
            "not two releases of one kind", found=" and ".join(texts),
            expected="two snapshots, or with --graph the numbers of two releases in Neo4j",
            advice="A snapshot whose name is a number: ./NUMBER." if any(numbers) else None,
        )  # fmt: skip
    if graph_stated:
        raise typer.BadParameter("--graph goes with numbers of releases, and not with snapshots")
    old, new = (SnapshotGraph.open(text.removeprefix("snapshot:")) for text in texts)
    return old, new


def _account(source: str, release: Release) -> str:
    return f"{source}: {release.name}, {release.concepts:,} concepts, {release.edges:,} edges"


def print_difference(difference: ReleaseDifference) -> None:
    """Print the changes in all, and those of each source vocabulary that changed."""
    counts = [(change, f"{count:,}") for change, count in difference.counts().items()]
    print_table(Table(("change", "count"), counts), title=f"From {difference.old} to {difference.new}")
    changed = [one for one in difference.vocabularies if one.added or one.removed]
    if changed:
        header = ("vocabulary", "edges before", "edges after", "added", "removed")
        rows = [(one.sab, *(f"{count:,}" for count in (one.old, one.new, one.added, one.removed))) for one in changed]
        print_table(Table(header, rows), title="Source vocabularies that changed", numbers=range(1, 5))
    same = [one.sab for one in difference.vocabularies if one not in changed]
    if same:
        note(f"source vocabularies with the same edges: {', '.join(same)}")
