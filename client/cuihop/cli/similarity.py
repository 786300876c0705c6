"""``cuihop similarity``: a pair of concepts by every measure, a file of pairs, or two sets of concepts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from cuihop.added_names import names_of
from cuihop.answer_fields import set_similarity_fields, similarity_fields, with_release
from cuihop.cli.graph_option import GraphOptions, NamesOption, note_merged, note_upper_case
from cuihop.cli.information_content import Content, ContentOptions
from cuihop.cli.output import JsonOption, console, hops_text, print_json, print_table
from cuihop.cli.pairs_file import PairAnswers
from cuihop.cli.pairs_options import PairsOptions, print_answers_of_file, upper_case_pair
from cuihop.graph import ConceptGraph, Release
from cuihop.identifiers import concept_set, in_upper_case
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

MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help=f"Measure, also repeated: {', '.join(SIMILARITY_MEASURES)}. All by default.",
        show_default=False,
    ),
]  # fmt: skip


def similarity(
    a: Annotated[str | None, typer.Argument(help="Concept, or a set of them: 'C1;C2'.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(help="The other concept or set.", show_default=False)] = None,
    *,
    graph: GraphOptions,
    content_options: ContentOptions,
    files: PairsOptions,
    measure: MeasureOption = None,
    names: NamesOption = None,
    json: JsonOption = False,
) -> None:
    """Print the similarity of two concepts over the hierarchy, of two sets, or of every pair of a file."""
    measures = list(dict.fromkeys(map(named_measure, measure or SIMILARITY_MEASURES)))
    files.check(a, b)
    with graph.opened(names) as opened:
        content = content_options.content(opened)
        if files.pairs is not None:
            _of_file(opened, files, measures, content, json=json)
        elif ";" in f"{a}{b}":
            _of_sets(opened, str(a), str(b), measures, content, json=json)
        else:
            _of_pair(opened, *upper_case_pair(a, b), measures, content, json=json)


def _of_file(
    graph: ConceptGraph,
    files: PairsOptions,
    measures: Sequence[SimilarityMeasure],
    content: Content,
    *,
    json: bool,
) -> None:
    hierarchy = graph.hierarchy

    def answers(some: Sequence[tuple[str, str]]) -> PairAnswers:
        found = hierarchy.pairs(some, ic=content.ic, counts=content.counts)
        merged = {old: new for pair in found for old, new in pair.merged.items()}
        valued = sum(all(pair.values[m] is not None for m in measures) for pair in found)
        return PairAnswers([_columns(pair, measures) for pair in found], valued, merged)

    columns = [*measures, "most_informative_common_ancestor"]
    outcome = ("with_value", "without_value")
    print_answers_of_file(graph, files, columns, answers, outcome, json=json, block=_PAIRS_AT_ONCE)
    _print_account(hierarchy.facts(), content, graph.release, error=True)


def _columns(pair: PairSimilarity, measures: Sequence[SimilarityMeasure]) -> str:
    texts = ["" if pair.values[m] is None else repr(pair.values[m]) for m in measures]
    return "\t".join([*texts, pair.most_informative.cui or _VIRTUAL_ROOT])


def _of_pair(
    graph: ConceptGraph, a: str, b: str, measures: Sequence[SimilarityMeasure], content: Content, *, json: bool
) -> None:
    hierarchy = graph.hierarchy
    pair, facts = hierarchy.pair(a, b, ic=content.ic, counts=content.counts), hierarchy.facts()
    subsumers = [*pair.lowest, pair.deepest, pair.nearest, pair.most_informative]
    cuis = list(dict.fromkeys(cui for cui in (pair.a.cui, pair.b.cui, *(each.cui for each in subsumers)) if cui))
    named = names_of(graph, cuis)
    if json:
        fields = {**similarity_fields(pair, facts, measures), "names": named}
        print_json(with_release(graph.release, fields, pair.merged))
        return
    note_merged(pair.merged)
    _print_values(measures, pair.values)
    _print_places(pair, named)
    _print_subsumers(pair, named)
    _print_account(facts, content, graph.release)


def _of_sets(
    graph: ConceptGraph, a: str, b: str, measures: Sequence[SimilarityMeasure], content: Content, *, json: bool
) -> None:
    hierarchy, sets = graph.hierarchy, (concept_set(a), concept_set(b))
    upper = {cui: in_upper_case(cui) for cui in sorted(sets[0] | sets[1]) if cui != in_upper_case(cui)}
    first, second = ({upper.get(cui, cui) for cui in concepts} for concepts in sets)
    found = {m: _set_similarity(graph, first, second, m, content) for m in measures}
    values, facts = {m: value for m, (value, _) in found.items()}, hierarchy.facts()
    merged = next(iter(found.values()))[1]
    if json:
        print_json(with_release(graph.release, set_similarity_fields(first, second, values, content.ic, facts), merged))
        return
    note_upper_case(upper)
    note_merged(merged)
    _print_values(measures, values)
    console().print(
        f"{len(first)} and {len(second)} concepts; simUI and simGIC of the united ancestors, the others as best-match "
        "average"
    )
    _print_account(facts, content, graph.release)


def _set_similarity(
    graph: ConceptGraph, a: Collection[str], b: Collection[str], measure: SimilarityMeasure, content: Content
) -> tuple[float | None, Mapping[str, str]]:
    found = graph.hierarchy.set_similarities([(a, b)], SimilarityOptions(measure, content.ic, content.counts))
    return found[0], found.merged


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _print_values(measures: Sequence[SimilarityMeasure], values: Mapping[SimilarityMeasure, float | None]) -> None:
    rows = [(f"{m} (distance)" if m in DISTANCES else m, _number(values[m]), SIMILARITY_MEASURES[m]) for m in measures]
    print_table(Table(("measure", "value", "formula"), rows), numbers=[1])


def _print_places(pair: PairSimilarity, named: Mapping[str, str | None]) -> None:
    def row(place: Placement) -> tuple[str, ...]:
        numbers = (place.depth, place.shortest_depth, place.height, place.ancestors, place.descendants, place.leaves)
        cycle = f", in a cycle of {len(place.cycle)}" if place.cycle else ""
        name = f"{place.cui} {named.get(place.cui) or ''}".rstrip() + cycle
        return (name, *(f"{number:,}" for number in numbers), _number(place.ic))

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


def _print_account(facts: HierarchyFacts, content: Content, release: Release, *, error: bool = False) -> None:
    screen = console(error=error)
    screen.print(content.account)
    screen.print(f"hierarchy: {facts.account}")
    screen.print(f"release {release.name}, digest {release.digest[:12]}")
