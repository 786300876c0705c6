"""Explanations of ``cuihop explain`` as trees and tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cuihop.cli.graph_option import note_dropped, note_merged, note_upper_case
from cuihop.cli.output import console, hops_text, note, print_table
from cuihop.files.text_lines import counted, direction_text
from cuihop.measures.nearness import earned_text, nearness_text
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from cuihop.explanation.pair import Explanation
    from cuihop.explanation.query import QueryExplanation, RankedPair, Standing
    from cuihop.explanation.sensitivity import PairSensitivity, PairSetting, QuerySensitivity, QuerySetting
    from cuihop.explanation.values import ExplainedConcept

_ARROWS = {"parent": "↑", "child": "↓", None: ""}
_OUTSIDE = {
    "unknown": "not in the graph: matches only itself",
    "retired": "retired without a successor: matches only itself",
}
_TIES_LISTED = 3
_UNBROKEN = 100_000


def print_pair(result: Explanation, verbose: bool = False) -> None:
    """Print the concepts as a tree: shared, only in A, only in B; each with its share of nn-IoU and the reason."""
    from rich.tree import Tree

    note_upper_case(result.resolved.upper_case)
    note_merged(result.resolved.replaced)
    note_dropped(result.resolved.dropped)
    screen = console()
    title_a, title_b = result.titles
    tree = Tree(f"{title_a} ∪ {title_b}: {counted(result.union, 'concept')}", guide_style="dim")
    sides = (("both", "in both"), ("A", "only in " + title_a), ("B", "only in " + title_b))
    for side, heading in sides:
        concepts = [concept for concept in result.concepts if concept.side == side]
        if concepts:
            branch = tree.add(f"{heading}: {counted(len(concepts), 'concept')}")
            for concept in concepts:
                leaf = branch.add(_concept_text(result, concept), style=None if concept.earned else "dim")
                if concept.path:
                    steps = (f"{_ARROWS[step.relation]} {step.name or step.cui}" for step in concept.path)
                    leaf.add(" ".join(steps).strip())
    # A tree would be cut at the width of the screen: its lines are wrapped there, and unbroken in a file.
    unbroken = console()
    if not unbroken.is_terminal:
        unbroken.width = _UNBROKEN
    unbroken.print(tree, soft_wrap=False)
    if any(concept.path for concept in result.concepts):
        screen.print(f"paths run from {title_a} to {title_b}: ↑ to a parent, ↓ to a child")
    screen.print(f"IoU     {result.iou:.4f}  = {result.shared} / {result.union}")
    screen.print(f"nn-IoU  {result.nn_iou:.4f}  = {result.arithmetic}   ({_nearness_text(result)})")
    screen.print(f"release {result.release.name}, digest {result.release.digest[:12]}")


def _concept_text(result: Explanation, concept: ExplainedConcept) -> str:
    """A concept, its share of nn-IoU, and the reason."""
    earned = f"{concept.earned:g}"
    if concept.match == "near":
        earned = earned_text(concept.strength, result.lam, result.weight)
    line = f"{earned}  {concept.cui} {concept.name or ''}".rstrip()
    if concept.given:
        line += f" (given as {', '.join(concept.given)}, retired)"
    if concept.outside is not None:
        return f"{line}: {_OUTSIDE[concept.outside]}"
    if concept.match == "exact":
        return line
    if not concept.partners:
        return f"{line}: no concept of the other set within {hops_text(result.n + result.look)}"
    nearest = concept.nearest
    partner = f"{nearest[0].cui} {nearest[0].name or ''}".rstrip()
    preposition = "from" if concept.side == "B" else "to"
    line += f": {hops_text(nearest[0].hops)} {preposition} {partner}"
    if concept.match == "none":
        line += ", too far"
    if len(nearest) > 1:
        more = [partner.cui for partner in nearest[1 : _TIES_LISTED + 1]]
        left = len(nearest) - 1 - len(more)
        line += f"; as near: {', '.join(more)}{f' and {left} more' if left else ''}"
    farther = concept.partners[len(nearest) :]
    if farther:
        texts = [f"{hops_text(each.hops)} {preposition} {each.cui}" for each in farther[:_TIES_LISTED]]
        left = len(farther) - len(texts)
        line += f"; also {', '.join(texts)}{f' and {left} more' if left else ''}"
    return line


def _nearness_text(result: Explanation) -> str:
    return nearness_text(result.n, f"{result.lam:g}", result.weight, result.ic, direction_text(result.direction))


def print_pair_sensitivity(varied: PairSensitivity, result: Explanation) -> None:
    """Print nn-IoU for each n and λ, with and without hubs; the requested setting is marked."""
    screen = console()

    _show_grid("nn-IoU", varied.settings, result, lambda s: f"{s.nn_iou:.4f}", lambda s: str(s.near))
    for children in dict.fromkeys(setting.hubs for setting in varied.settings if setting.hubs is not None):
        for n in dict.fromkeys(setting.n for setting in varied.settings):
            lost = [f"{x.cui} {x.name or ''}".rstrip() for x in varied.lost if (x.hubs, x.n) == (children, n)]
            if lost:
                screen.print(
                    f"without hubs (> {children:,} children) no longer near within {hops_text(n)}: {'; '.join(lost)}"
                )
    if varied.hubs:
        hubs = [f"{hub.cui} {hub.name or ''} ({hub.children:,} children)" for hub in varied.hubs]
        screen.print(f"hubs among the concepts: {'; '.join(hubs)}")


def _show_grid(
    title: str,
    settings: Sequence[PairSetting] | Sequence[QuerySetting],
    requested: Explanation,
    cell: Callable[..., str],
    near: Callable[..., str] | None = None,
) -> None:
    """Print a grid: a row for each H and n, a column for each λ; the requested setting is marked."""

    def marked(setting: PairSetting | QuerySetting) -> str:
        here = (setting.hubs, setting.n, setting.lam) == (None, requested.n, requested.lam)
        return cell(setting) + (" *" if here else "")

    lams = list(dict.fromkeys(setting.lam for setting in settings))
    columns = ["graph", "n", *(["near"] if near else []), *(f"λ = {lam:g}" for lam in lams)]
    rows = []
    for first in range(0, len(settings), len(lams)):
        here = settings[first : first + len(lams)]
        hubs = here[0].hubs
        graph = "whole" if hubs is None else f"without hubs (> {hubs:,} children)"
        rows.append((graph, str(here[0].n), *([near(here[0])] if near else []), *map(marked, here)))
    print_table(Table(columns, rows), title)


def print_query(result: QueryExplanation, verbose: bool = False) -> None:
    """Print both images side by side, their ranks, and the cost of their order; with ``verbose``, the first K ranks."""
    note_merged({**result.pair_above.resolved.replaced, **result.pair_below.resolved.replaced})
    note_dropped(result.pair_above.resolved.dropped | result.pair_below.resolved.dropped)
    screen = console()
    screen.print(_verdict(result))
    ranked = result.ranked
    pairs = (result.pair_above, result.pair_below)
    sides = (
        (result.above, pairs[0], result.nn_iou_above, result.iou_above, ranked and ranked.rank_above),
        (result.below, pairs[1], result.nn_iou_below, result.iou_below, ranked and ranked.rank_below),
    )
    rows = []
    for image, pair, nn_iou, iou, rank in sides:
        by_nn_iou = f"{nn_iou.gain:.4f}", f"= {pair.arithmetic}", _rank_text(nn_iou)
        listed = [] if ranked is None else ["not listed" if rank is None else f"{rank:,}"]
        rows.append((image, *by_nn_iou, f"{iou.gain:.4f}", _rank_text(iou), *listed))
    columns = ("image", "nn-IoU", "", "rank", "IoU", "rank", *(["rank in the ranking"] if ranked else []))
    print_table(Table(columns, rows))
    screen.print(f"ranks in the ideal rankings of {counted(result.corpus, 'image')}, the query left out")
    rows = []
    through = [{c.cui: c for c in pair.concepts if c.match == "near"} for pair in pairs]
    for concept in result.concepts:
        marks = ("✓" if held else "" for held in (concept.in_query, concept.in_above, concept.in_below))
        earned = (
            "" if amount is None else f"{amount:g}" + _through(near.get(concept.cui))
            for amount, near in zip((concept.earned_above, concept.earned_below), through, strict=True)
        )
        rows.append((f"{concept.cui} {concept.name or ''}".rstrip(), *marks, *earned, f"{concept.difference:+.4f}"))
    rows.append(("in all", "", "", "", *(pair.arithmetic for pair in pairs), f"{result.difference:+.4f}"))
    columns = ("concept", "query", "above", "below", "earns above", "earns below", "difference of gains")
    print_table(Table(columns, rows), total=True)
    screen.print("A concept adds what it earns, divided by the concepts of query and image together.")
    if ranked is not None:
        _show_ranked(screen, result, ranked, verbose)
    release = pairs[0].release
    screen.print(f"{_nearness_text(pairs[0])} · release {release.name} ({release.digest[:12]})")


def _through(near: ExplainedConcept | None) -> str:
    """The concept of the other set through which this one earned λ."""
    if near is None:
        return ""
    partner = near.partners[0]
    return f" through {partner.name or partner.cui}, {hops_text(partner.hops)}"


def _verdict(result: QueryExplanation) -> str:
    """The order of the two images, compared with the order that the request supposes."""
    above, below = result.nn_iou_above, result.nn_iou_below
    if result.difference > 0:
        return f"{result.above} ranks above {result.below} for {result.query}: it gains {result.difference:.4f} more"
    if result.difference < 0:
        return (
            f"{result.above} does not rank above {result.below} for {result.query}: "
            f"it gains {-result.difference:.4f} less"
        )
    first = result.above if above.rank < below.rank else result.below
    return f"{result.above} and {result.below} gain the same for {result.query}; {first} stands first by its name"


def _rank_text(standing: Standing) -> str:
    return f"{standing.rank:,}" + (f" ({standing.tied:,} tied)" if standing.tied else "")


def _show_ranked(screen: Console, result: QueryExplanation, ranked: RankedPair, verbose: bool) -> None:
    marks = {result.above: " (above)", result.below: " (below)"}

    def marked(image: str | None) -> str:
        return "" if image is None else image + marks.get(image, "")

    rows = [
        (str(each.rank), f"{each.weight:.4f}", marked(each.image), f"{each.gain:.4f}", marked(each.ideal_image),
         f"{each.ideal_gain:.4f}")
        for each in ranked.ranks
    ]  # fmt: skip
    if verbose:
        print_table(Table(("rank", "weight", "retrieved", "gain", "ideal", "gain"), rows), ranked.source)
    screen.print(
        f"DCG@{ranked.k} {ranked.dcg:.4f}, IDCG@{ranked.k} {ranked.idcg:.4f}: nn-CUI@{ranked.k} {ranked.ndcg:.4f}"
    )
    if ranked.cost:
        screen.print(
            f"swapping them back would gain {ranked.cost:.4f} DCG@{ranked.k}, {ranked.cost_ndcg:.4f} nn-CUI@{ranked.k}"
        )
    else:
        screen.print(f"swapping the two would gain no DCG@{ranked.k}")
    if ranked.rank_above is None or ranked.rank_below is None:
        note(f"the ranking lists {counted(ranked.length, 'image')} for the query")


def print_query_sensitivity(varied: QuerySensitivity, result: QueryExplanation) -> None:
    """Print gains and ideal ranks of both images for each n and λ, and nn-CUI@K where there is a ranking."""

    def gains(setting: QuerySetting) -> str:
        above, below = setting.gain_above, setting.gain_below
        sign = ">" if above > below else "<" if above < below else "="
        return f"{above:.4f} {sign} {below:.4f}"

    settings, pair = varied.settings, result.pair_above
    _show_grid(f"nn-IoU of {result.above} and of {result.below}", settings, pair, gains)
    _show_grid("their ranks in the ideal ranking", settings, pair, lambda s: f"{s.rank_above:,} / {s.rank_below:,}")
    if result.ranked is not None:
        _show_grid(f"nn-CUI@{varied.k}", settings, pair, lambda s: f"{s.ndcg or 0.0:.4f}")
