"""``cuihop distance``, ``path``, ``neighbours``, ``ancestors`` and ``descendants``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import typer

from cuihop.adapter_rules import replaced
from cuihop.cli.command_files import DICTIONARY
from cuihop.cli.graph_option import (
    DirectionOptions,
    GraphOptions,
    PairsOptions,
    SearchOptions,
    ShownCodesOptions,
    printed_as_json,
    read_identifiers,
)
from cuihop.cli.option_groups import ColumnOptions, JsonOptions, argument, option, option_group
from cuihop.cli.output import console, hops_text, note, print_json, print_table
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import MOST_PATHS, ConceptGraph, Direction, Neighbourhood, Path, Step
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from rich.tree import Tree

_ARROWS = {"parent": "↑", "child": "↓"}


@option_group
class _PairOptions(JsonOptions, GraphOptions):
    a: str = argument("Identifier of a concept.")
    b: str = argument("Identifier of a concept.")


@option_group
class _DistanceOptions(SearchOptions, PairsOptions, GraphOptions):
    a: str | None = argument("Identifier of a concept.", default=None)
    b: str | None = argument("Identifier of another concept.", default=None)


@option_group
class _TreeOptions:
    tree: bool = option("Draw a tree; ↑ marks a parent, ↓ a child.", default=False)


@option_group
class _PathOptions(_TreeOptions, SearchOptions, _PairOptions):
    which: int = option("Number of the path among all shortest ones, by identifiers.", default=1, min=1)


@option_group
class _ListOptions(ShownCodesOptions, JsonOptions, _TreeOptions, GraphOptions):
    limit: int = option("Maximum number of concepts; the total is always printed.", default=100, min=0)


@option_group
class _BoundOptions(_ListOptions):
    max_hops: int | None = option("Maximum number of hops; unlimited by default.", min=0)


@option_group
class _AncestorOptions(_BoundOptions):
    cuis: list[str] = argument("Identifier of a concept; for several, common ancestors are listed.", metavar="CUI")

    def __post_init__(self) -> None:
        if len(self.cuis) > 1 and (self.tree or self.max_hops is not None):
            raise typer.BadParameter("--tree and --max-hops go with one concept")


@option_group
class _DescendantOptions(_BoundOptions):
    cui: str = argument("Identifier of a concept.")


@option_group
class _NeighbourOptions(DirectionOptions, _ListOptions, ColumnOptions):
    cui: str | None = argument("Identifier of a concept.", default=None)
    concepts: list[FilePath] | None = option("Instead of a concept: file of images or of identifiers. May be repeated.")
    output: FilePath | None = option(
        "With --concepts: file for the neighbour dictionary, which --graph accepts instead of the graph.",
        "-o", mark=DICTIONARY,
    )  # fmt: skip
    hops: int = option("Maximum number of hops.", "-n", default=1, min=0)


def distance(options: _DistanceOptions) -> None:
    """Print the distance in hops between two concepts, or for every pair of a file."""
    options.check(options.a, options.b)
    direction, max_hops = options.direction, options.max_hops
    with options.opened() as opened:
        if options.pairs is not None:
            from cuihop.cli.pairs import PairAnswers, PairColumns, print_answers_of_file

            def answers(pairs: Sequence[tuple[str, str]]) -> PairAnswers:
                distances = opened.distances(pairs, direction=direction, max_hops=max_hops)
                texts = ["" if hops is None else str(hops) for hops in distances]
                return PairAnswers(texts, int(distances.reached.sum()), distances.merged)

            quick = getattr(opened, "distances_of_keys", None)
            by_keys = quick and partial(quick, direction=direction, max_hops=max_hops)
            columns = PairColumns(["hops"], answers, by_keys)
            print_answers_of_file(opened, options, columns, ("reached", "no_path"))
            return
        a, b = read_identifiers(opened, (options.a, options.b))
        answer = opened.distances([(a, b)], direction=direction, max_hops=max_hops)
        fields = {}
        if options.json:
            from cuihop.answer_fields import fields_of
            from cuihop.operations.answers import DistanceAnswer
            from cuihop.operations.requests import DistanceRequest

            fields = fields_of(DistanceAnswer.of_hops(answer[0], DistanceRequest(a, b, direction, max_hops)))
        if printed_as_json(options, opened, fields, answer.merged):
            return
        name_a, name_b = (f" {name}" if name else "" for name in opened.names([a, b]))
        text = hops_text(answer[0], max_hops)
        console().print(f"{text} between {a}{name_a} and {b}{name_b} ({direction_text(direction)})")


def path(options: _PathOptions) -> None:
    """Show a shortest path between two concepts, and the number of shortest paths."""
    from cuihop.answer_fields import fields_of
    from cuihop.operations.answers import PathAnswer
    from cuihop.operations.requests import DistanceRequest

    direction, max_hops = options.direction, options.max_hops
    with options.opened() as opened:
        a, b = read_identifiers(opened, (options.a, options.b))
        shortest = opened.path(a, b, direction=direction, max_hops=max_hops, which=options.which)
        names = opened.names(() if shortest is None else shortest.cuis)
        fields = fields_of(PathAnswer.of((shortest, names), DistanceRequest(a, b, direction, max_hops)))
        if printed_as_json(options, opened, fields, None if shortest is None else shortest.merged):
            return
    screen = console()
    if shortest is None:
        screen.print(f"{hops_text(None, max_hops)} from {a} to {b} ({direction_text(direction)})")
        return
    screen.print(f"{hops_text(shortest.hops)} ({direction_text(direction)}){_rank_text(shortest)}")
    if options.tree:
        root = branch = _branch(shortest.start, names[0])
        for step, name in zip(shortest.steps, names[1:], strict=True):  # each hop is indented by one step more
            branch = branch.add(_branch(step.cui, name, step))
        screen.print(root)
        return
    rows = [("", shortest.start, names[0] or "(no name)", "")]
    rows += [
        (f"{_ARROWS[step.relation]} {step.relation}", step.cui, name or "(no name)", ", ".join(step.sabs))
        for step, name in zip(shortest.steps, names[1:], strict=True)
    ]
    print_table(Table(("", "concept", "name", "asserted by"), rows))


def neighbours(options: _NeighbourOptions) -> None:
    """List the concepts within --hops of a concept, or write the neighbour dictionary of all concepts of files.

    The nearest concepts come first. The dictionary holds which concepts of the files are within --hops of each other.
    """
    if (options.cui is None) == (not options.concepts) or (options.output is None) != (not options.concepts):
        raise typer.BadParameter("give one concept, or --concepts FILE with --output FILE")
    if options.cui is not None:
        _show_neighbourhood(options.cui, options, options.hops, options.direction)
    elif options.codes:
        raise typer.BadParameter("--codes goes with one concept")
    elif options.concepts and options.output is not None:
        _write_dictionary(options, options.concepts, options.output)


def ancestors(options: _AncestorOptions) -> None:
    """List the ancestors of a concept, or the common ancestors of several, nearest first."""
    if len(options.cuis) == 1:
        _show_neighbourhood(options.cuis[0], options, options.max_hops, "up")
    else:
        _show_common_ancestors(options.cuis, options)


def descendants(options: _DescendantOptions) -> None:
    """List the descendants of a concept, nearest first."""
    _show_neighbourhood(options.cui, options, options.max_hops, "down")


def _show_neighbourhood(cui: str, options: _ListOptions, hops: int | None, direction: Direction) -> None:
    from cuihop.answer_fields import fields_of
    from cuihop.operations.answers import NeighbourhoodAnswer

    if options.tree and options.codes:
        raise typer.BadParameter("--codes goes without --tree")
    with options.opened() as opened:
        (cui,) = read_identifiers(opened, [cui])
        hood: Neighbourhood = opened.neighbours([cui], hops=hops, direction=direction, limit=options.limit)[0]
        names = opened.names([n.cui for n in hood])
        fields = fields_of(NeighbourhoodAnswer.of_first([hood]))
        for row, name in zip(fields["neighbours"], names, strict=True):
            row["name"] = name
        codes = options.add_codes(opened, hood.cuis, fields)
        if printed_as_json(options, opened, fields, hood.merged):
            return
        tree = _neighbourhood_tree(opened, hood, names) if options.tree else None
    where = {"any": "around", "up": "above", "down": "below", "vertical": "above or below"}[direction]
    bound = "" if hops is None else f", within {counted(hops, 'hop')}"
    console().print(f"{counted(hood.total, 'concept')} {where} {hood.cui}{bound}")
    if tree is not None:
        console().print(tree)
    elif hood.neighbours:
        columns = [[str(each.hops) for each in hood], hood.cuis, [name or "(no name)" for name in names], *codes]
        titles = ("hops", "concept", "name", "codes")[: len(columns)]
        print_table(Table(titles, list(zip(*columns, strict=True))))
    _note_limit(len(hood), hood.total)


def _show_common_ancestors(cuis: Sequence[str], options: _ListOptions) -> None:
    """The concepts above all; by the sum of the distances, then by identifier."""
    limit = options.limit
    with options.opened() as opened:
        cuis = read_identifiers(opened, cuis)
        shared = opened.common_ancestors(cuis[0], cuis[1])
        hops = {each.cui: [each.hops_a, each.hops_b] for each in shared}
        for cui in cuis[2:]:
            others = {each.cui: each.hops_b for each in opened.common_ancestors(cuis[0], cui)}
            hops = {each: [*from_each, others[each]] for each, from_each in hops.items() if each in others}
        ranked = sorted(hops, key=lambda cui: (sum(hops[cui]), cui))
        names = opened.names(ranked[:limit])
        merged = replaced(opened.resolve(cuis))
        fields = {
            "concepts": list(cuis), "total": len(ranked), "truncated": len(ranked) > limit,
            "common_ancestors": [
                {"cui": cui, "name": name, "hops": hops[cui]} for cui, name in zip(ranked[:limit], names, strict=True)
            ],
        }  # fmt: skip
        codes = options.add_codes(opened, ranked[:limit], fields)
        if printed_as_json(options, opened, fields, merged):
            return
    console().print(f"{counted(len(ranked), 'concept')} above all of {', '.join(cuis)}")
    if ranked:
        rows = [
            (*map(str, hops[cui]), cui, name or "(no name)", *text)
            for cui, name, *text in zip(ranked[:limit], names, *codes, strict=True)
        ]
        titles = (*(f"hops from {cui}" for cui in cuis), "concept", "name", *(["codes"] if codes else []))
        print_table(Table(titles, rows))
    _note_limit(len(names), len(ranked))


def _note_limit(listed: int, total: int) -> None:
    if listed < total:
        note(f"the nearest {listed:,} of {total:,} are listed; --limit lists more")


def _rank_text(path: Path) -> str:
    """The rank of a path where there are several."""
    if path.total == 1:
        return ""
    return f", {path.which:,} of {'at least ' if path.total == MOST_PATHS else ''}{path.total:,} shortest paths"


def _branch(cui: str, name: str | None, step: Step | None = None) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    sign = "" if step is None else f"{_ARROWS[step.relation]} "
    sabs = "" if step is None or not step.sabs else f"  ({', '.join(step.sabs)})"
    return Tree(Text(f"{sign}{cui} {name or '(no name)'}{sabs}"))


def _neighbourhood_tree(graph: ConceptGraph, hood: Neighbourhood, names: Sequence[str | None]) -> Tree:
    """A neighbourhood, each concept under its predecessor on `ConceptGraph.path` from the centre.

    The beginning of such a path is itself such a path, so all of them together are a tree.
    """
    root = _branch(hood.cui, graph.names([hood.cui])[0])
    branches = {hood.cui: root}
    for neighbour, name in zip(hood, names, strict=True):
        path = graph.path(hood.cui, neighbour.cui, direction=hood.direction)
        if path is not None:
            branches[neighbour.cui] = branches[path.cuis[-2]].add(_branch(neighbour.cui, name, path.steps[-1]))
    return root


def _write_dictionary(options: _NeighbourOptions, files: Sequence[FilePath], output: FilePath) -> None:
    """Write the neighbour dictionary of all concepts of the files, and print its content."""
    from cuihop.answer_fields import with_release
    from cuihop.cli.concepts import distinct_concepts
    from cuihop.collection.concept_tables import read_concept_file
    from cuihop.measures.resolution import resolved_concepts
    from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

    read = [read_concept_file(file, **options.columns) for file in files]
    identifiers = frozenset().union(*map(distinct_concepts, read))

    def location_of(concept: str) -> str | None:
        return next((location for each in read if (location := each.place_of(concept)) is not None), None)

    started = time.perf_counter()
    with options.opened() as opened:
        resolved_concepts(identifiers, opened, "isolated", location_of)  # a malformed one is an error with its location
        dictionary = NeighbourDictionary.of(
            opened, identifiers, hops=options.hops, direction=options.direction, files=[file.name for file in files]
        )
    dictionary.save(output)
    seconds, size = time.perf_counter() - started, output.stat().st_size
    release = dictionary.release
    merged = {answer.requested: answer.cui for answer in dictionary.others.values() if answer.cui is not None}
    fields = {**dictionary.facts, "inputs": [each.account for each in read], "output": str(output), "bytes": size}
    if options.json:
        print_json(with_release(release, fields, merged))
        return
    facts = dictionary.facts["neighbour_dictionary"]
    rows = [
        ("release", f"{release.name}, digest {release.digest[:12]}"),
        *(("read", each.account) for each in read),
        ("concepts", f"{facts['concepts']:,} in the graph"),
        ("retired", f"{facts['merged']:,} taken for successors, {facts['retired']:,} without one"),
        ("unknown", f"{facts['unknown']:,}"),
        ("ordered pairs",
         f"{facts['pairs']:,} within {counted(options.hops, 'hop')}, {direction_text(options.direction)}"),
        ("written", f"{output}, {size:,} bytes, in {seconds:.1f} s"),
    ]  # fmt: skip
    print_table(Table((), rows))
    console().print(f"It is used as a graph: --graph {output}")
    note("it holds identifiers and relations of the release: pass it only to people with its licence")
