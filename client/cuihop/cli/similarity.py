"""``cuihop similarity``: a pair of concepts by every measure, a file of pairs, two sets of concepts, or all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from cuihop.answer_fields import set_similarity_fields, similarity_fields
from cuihop.cli.all_similarities import SIMILARITIES, AllOptions, Content, ContentOptions, all_similarities
from cuihop.cli.graph_option import (
    NamedGraphOptions,
    PairsOptions,
    note_upper_case,
    printed_as_json,
    read_identifiers,
)
from cuihop.cli.option_groups import argument, option, option_group
from cuihop.cli.output import console, hops_text, print_table
from cuihop.cli.pairs import PairAnswers, PairColumns, print_answers_of_file
from cuihop.graph import ConceptGraph, Release
from cuihop.graph_wrapper import names_of
from cuihop.identifiers import concept_set
from cuihop.measures.resolution import resolved_concepts
from cuihop.notebooks.table import Table
from cuihop.similarity.hierarchy import CommonSubsumer, HierarchyFacts, PairSimilarity, Placement
from cuihop.similarity.options import (
    DISTANCES,
    SIMILARITY_MEASURES,
    SimilarityMeasure,
    SimilarityOptions,
    named_measure,
)

_PAIRS_AT_ONCE = 5_000
_VIRTUAL_ROOT = "virtual root"


@option_group
class _Options(AllOptions, PairsOptions, ContentOptions, NamedGraphOptions):
    a: str | None = argument("Concept, or a set of them: 'C1;C2'.", default=None)
    b: str | None = argument("The other concept or set.", default=None)
    measure: list[str] | None = option(
        f"Measure: {', '.join(SIMILARITY_MEASURES)}. May be repeated.", "-m", shown="all; with --all simUI"
    )
    output: Path | None = option("File for the answers to --pairs, or for --all.", "-o", mark=SIMILARITIES)


def similarity(options: _Options) -> None:
    """Print the similarity of two concepts over the hierarchy, of two sets, of the pairs of a file, or of all pairs."""
    defaults = ("simUI",) if options.every else SIMILARITY_MEASURES
    measures = list(dict.fromkeys(map(named_measure, options.measure or defaults)))
    every = options.check_all(options.output)
    if every and (options.pairs or options.a or len(measures) > 1):
        raise typer.BadParameter("--all goes with one measure, and with neither concepts nor --pairs")
    if not every:
        options.check(options.a, options.b)
    with options.opened() as opened:
        content = options.content(opened)
        if every and options.output is not None:
            all_similarities(opened, measures[0], content, options, options, options.output)
        elif options.pairs is not None:
            _of_file(opened, options, measures, content)
        elif ";" in f"{options.a}{options.b}":
            _of_sets(opened, options, measures, content)
        else:
            _of_pair(opened, options, measures, content)


def _of_file(graph: ConceptGraph, options: _Options, measures: Sequence[SimilarityMeasure], content: Content) -> None:
    hierarchy = graph.hierarchy

    def answers(pairs: Sequence[tuple[str, str]]) -> PairAnswers:
        answers = hierarchy.pairs(pairs, ic=content.ic, counts=content.counts)
        merged = {old: new for pair in answers for old, new in pair.merged.items()}
        valued = sum(all(pair.values[m] is not None for m in measures) for pair in answers)
        return PairAnswers([_columns(pair, measures) for pair in answers], valued, merged)

    columns = PairColumns([*measures, "most_informative_common_ancestor"], answers)
    print_answers_of_file(graph, options, columns, ("with_value", "without_value"), block=_PAIRS_AT_ONCE)
    _print_summary(hierarchy.facts(), content, graph.release, error=True)


def _columns(pair: PairSimilarity, measures: Sequence[SimilarityMeasure]) -> str:
    texts = ["" if pair.values[m] is None else repr(pair.values[m]) for m in measures]
    return "\t".join([*texts, pair.most_informative.cui or _VIRTUAL_ROOT])


def _of_pair(graph: ConceptGraph, options: _Options, measures: Sequence[SimilarityMeasure], content: Content) -> None:
    a, b = read_identifiers(graph, (options.a, options.b))
    pair, facts = graph.hierarchy.pair(a, b, ic=content.ic, counts=content.counts), graph.hierarchy.facts()
    subsumers = [*pair.lowest, pair.deepest, pair.nearest, pair.most_informative]
    cuis = list(dict.fromkeys(cui for cui in (pair.a.cui, pair.b.cui, *(each.cui for each in subsumers)) if cui))
    named = names_of(graph, cuis)
    fields = {**similarity_fields(pair, facts, measures), "names": named}
    if printed_as_json(options, graph, fields, pair.merged):
        return
    _print_values(measures, pair.values)
    _print_placements(pair, named)
    _print_subsumers(pair, named)
    _print_summary(facts, content, graph.release)


def _of_sets(graph: ConceptGraph, options: _Options, measures: Sequence[SimilarityMeasure], content: Content) -> None:
    hierarchy, sets = graph.hierarchy, (concept_set(str(options.a)), concept_set(str(options.b)))
    resolution = resolved_concepts(sets[0] | sets[1], graph)
    read = resolution.upper_case
    first, second = (
        {cui for text in concepts for cui in resolution.codes.get(text, (read.get(text, text),))} for concepts in sets
    )
    values: dict[SimilarityMeasure, float | None] = {}
    merged: Mapping[str, str] = {}
    for m in measures:
        answer = hierarchy.set_similarities([(first, second)], SimilarityOptions(m, content.ic, content.counts))
        values[m], merged = answer[0], answer.merged
    facts = hierarchy.facts()
    if not options.json:
        note_upper_case(resolution.upper_case)
    fields = set_similarity_fields(first, second, values, content.ic, facts)
    if printed_as_json(options, graph, fields, {**resolution.replaced, **merged}):
        return
    _print_values(measures, values)
    console().print(
        f"{len(first)} and {len(second)} concepts; simUI and simGIC of the united ancestors, the others as best-match "
        "average"
    )
    _print_summary(facts, content, graph.release)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _print_values(measures: Sequence[SimilarityMeasure], values: Mapping[SimilarityMeasure, float | None]) -> None:
    rows = [(f"{m} (distance)" if m in DISTANCES else m, _number(values[m]), SIMILARITY_MEASURES[m]) for m in measures]
    print_table(Table(("measure", "value", "formula"), rows), numbers=[1])


def _print_placements(pair: PairSimilarity, named: Mapping[str, str | None]) -> None:
    def row(at: Placement) -> tuple[str, ...]:
        numbers = (at.depth, at.shortest_depth, at.height, at.ancestors, at.descendants, at.leaves)
        cycle = f", in a cycle of {len(at.cycle)}" if at.cycle else ""
        name = f"{at.cui} {named.get(at.cui) or ''}".rstrip() + cycle
        return (name, *(f"{number:,}" for number in numbers), _number(at.ic))

    header = ("concept", "depth", "shortest depth", "height", "ancestors", "descendants", "leaves", "IC")
    print_table(Table(header, [row(pair.a), row(pair.b)]), numbers=range(1, 8))


def _print_subsumers(pair: PairSimilarity, named: Mapping[str, str | None]) -> None:
    roles: dict[CommonSubsumer, list[str]] = {each: ["lowest"] for each in pair.lowest}
    for role in ("deepest", "nearest", "most_informative"):
        roles.setdefault(getattr(pair, role), []).append(role.replace("_", " "))
    rows = [
        (
            _VIRTUAL_ROOT if each.cui is None else f"{each.cui} {named.get(each.cui) or ''}".rstrip(),
            ", ".join(which),
            str(each.depth),
            _number(each.ic),
            hops_text(each.hops_a),
            hops_text(each.hops_b),
        )
        for each, which in roles.items()
    ]
    header = ("common ancestor", "which", "depth", "IC", f"from {pair.a.cui}", f"from {pair.b.cui}")
    print_table(Table(header, rows), numbers=[2, 3])


def _print_summary(facts: HierarchyFacts, content: Content, release: Release, *, error: bool = False) -> None:
    screen = console(error=error)
    screen.print(content.summary)
    screen.print(f"hierarchy: {facts.account}")
    screen.print(f"release {release.name}, digest {release.digest[:12]}")
