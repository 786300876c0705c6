"""What ``cuihop explain`` prints for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cuihop.cli.graph_option import tell_merged, tell_upper_case
from cuihop.cli.output import console, direction_told, hops_told, note, table
from cuihop.files.text_lines import counted

if TYPE_CHECKING:
    from rich.console import Console

    from cuihop.explanation.pair import Explanation
    from cuihop.explanation.query import QueryExplanation, RankedPair, Standing
    from cuihop.explanation.sensitivity import PairSensitivity, PairSetting, QuerySensitivity, QuerySetting
    from cuihop.explanation.values import ExplainedConcept

__all__ = ["show_inputs", "show_pair", "show_pair_sensitivity", "show_query", "show_query_sensitivity"]

_ARROWS = {"parent": "↑", "child": "↓", None: ""}
_OUTSIDE = {
    "unknown": "not in the graph: matches only itself",
    "retired": "retired without a successor: matches only itself",
}
_TIES_TOLD = 3
_WHOLE_LINES = 100_000


def show_inputs(inputs: Mapping[str, str]) -> None:
    """Print one line for each input: its form and its size."""
    for account in inputs.values():
        console().print(account)


def show_pair(told: Explanation) -> None:
    """The concepts as a tree: those of both, of A, of B; under each what it earned and why."""
    from rich.tree import Tree

    tell_upper_case(told.resolved.upper_case)
    tell_merged(told.resolved.merged)
    screen = console()
    title_a, title_b = told.titles
    tree = Tree(f"nn-IoU {told.nn_iou:.4f}  = {told.arithmetic}", guide_style="dim")
    sides = (("both", "in both"), ("A", "only in " + title_a), ("B", "only in " + title_b))
    for side, heading in sides:
        concepts = [concept for concept in told.concepts if concept.side == side]
        if concepts:
            branch = tree.add(f"{heading}: {counted(len(concepts), 'concept')}")
            for concept in concepts:
                leaf = branch.add(_told(told, concept), style=None if concept.earned else "dim")
                if concept.path:
                    leaf.add(_path_told(concept))
    # A tree would be cut at the width of the screen: its lines are wrapped there, and whole in a file.
    whole = console()
    if not whole.is_terminal:
        whole.width = _WHOLE_LINES
    whole.print(tree, soft_wrap=False)
    screen.print(
        f"({told.shared} shared + λ · {told.near} near) / {told.union} in the union; n = {told.n}, λ = {told.lam:g}, "
        f"hops {direction_told(told.direction)}"
    )
    screen.print(f"paths run from {title_a} to {title_b}: ↑ to a parent, ↓ to a child")
    screen.print(f"IoU    {told.iou:.4f}  = {told.shared} / {told.union}")
    _show_release(screen, told)


def _told(told: Explanation, concept: ExplainedConcept) -> str:
    """A concept, what it earned, and why."""
    line = f"{concept.earned:g}  {concept.cui} {concept.name or ''}".rstrip()
    if concept.given:
        line += f" (given as {', '.join(concept.given)}, retired)"
    if concept.outside is not None:
        return f"{line}: {_OUTSIDE[concept.outside]}"
    if concept.match == "exact":
        return line
    if not concept.partners:
        return f"{line}: nothing of the other within {hops_told(told.n + told.look)}"
    nearest = concept.nearest
    partner = f"{nearest[0].cui} {nearest[0].name or ''}".rstrip()
    line += f": {hops_told(nearest[0].hops)} {'from' if concept.side == 'B' else 'to'} {partner}"
    if concept.match == "none":
        line += ", too far"
    if len(nearest) > 1:
        more = [partner.cui for partner in nearest[1 : _TIES_TOLD + 1]]
        left = len(nearest) - 1 - len(more)
        line += f"; as near: {', '.join(more)}{f' and {left} more' if left else ''}"
    return line


def _path_told(concept: ExplainedConcept) -> str:
    steps = (f"{_ARROWS[step.relation]} {step.name or step.cui}" for step in concept.path)
    return " ".join(steps).strip()


def _show_release(screen: Console, told: Explanation) -> None:
    screen.print(f"release {told.release.name}, digest {told.release.digest[:12]}")


def show_pair_sensitivity(found: PairSensitivity, told: Explanation) -> None:
    """nn-IoU for each n and λ, with and without hubs; the setting that was asked for is marked."""
    screen = console()

    def cell(setting: PairSetting) -> str:
        mark = " *" if (setting.hubs, setting.n, setting.lam) == (None, told.n, told.lam) else ""
        return f"{setting.nn_iou:.4f}{mark}"

    _show_grid(screen, "nn-IoU", found.settings, cell, lambda s: str(s.near))
    for hubs in dict.fromkeys(setting.hubs for setting in found.settings if setting.hubs is not None):
        for n in dict.fromkeys(setting.n for setting in found.settings):
            lost = [f"{x.cui} {x.name or ''}".rstrip() for x in found.lost if (x.hubs, x.n) == (hubs, n)]
            if lost:
                screen.print(
                    f"without hubs (> {hubs:,} children) no longer near within {hops_told(n)}: {'; '.join(lost)}"
                )
    if found.hubs:
        hubs_told = [f"{hub.cui} {hub.name or ''} ({hub.children:,} children)" for hub in found.hubs]
        screen.print(f"hubs among the concepts: {'; '.join(hubs_told)}")


def _show_grid(
    screen: Console,
    what: str,
    settings: Sequence[PairSetting] | Sequence[QuerySetting],
    cell: Callable[..., str],
    near: Callable[..., str] | None,
) -> None:
    """One row for each H and n, one column for each λ."""
    lams = list(dict.fromkeys(setting.lam for setting in settings))
    rows = table("graph", "n", *(["near"] if near else []), *(f"λ = {lam:g}" for lam in lams), title=what)
    for first in range(0, len(settings), len(lams)):
        here = settings[first : first + len(lams)]
        hubs = here[0].hubs
        graph = "whole" if hubs is None else f"without hubs (> {hubs:,} children)"
        rows.add_row(graph, str(here[0].n), *([near(here[0])] if near else []), *map(cell, here))
    screen.print(rows)


def show_query(told: QueryExplanation) -> None:
    """Both images side by side, where they stand, and what the ranking did."""
    tell_merged({**told.pair_above.resolved.merged, **told.pair_below.resolved.merged})
    screen = console()
    screen.print(_verdict(told))
    rows = table("image", "nn-IoU", "", "rank", "IoU", "rank", *(["rank in the ranking"] if told.ranked else []))
    sides = (
        (told.above, told.pair_above, told.nn_iou_above, told.iou_above, told.ranked and told.ranked.rank_above),
        (told.below, told.pair_below, told.nn_iou_below, told.iou_below, told.ranked and told.ranked.rank_below),
    )
    for image, pair, nn_iou, iou, rank in sides:
        listed = [] if told.ranked is None else ["not listed" if rank is None else f"{rank:,}"]
        rows.add_row(
            image, f"{nn_iou.gain:.4f}", f"= {pair.arithmetic}", _rank_told(nn_iou), f"{iou.gain:.4f}",
            _rank_told(iou), *listed,
        )  # fmt: skip
    screen.print(rows)
    screen.print(f"ranks in the ideal rankings of {counted(told.corpus, 'image')}, the query left out")
    rows = table("concept", "query", "above", "below", "earns above", "earns below", "difference of gains")
    through = [{c.cui: c for c in pair.concepts if c.match == "near"} for pair in (told.pair_above, told.pair_below)]
    for concept in told.concepts:
        held = ("✓" if held else "" for held in (concept.in_query, concept.in_above, concept.in_below))
        earned = (
            "" if amount is None else f"{amount:g}" + _through_told(near.get(concept.cui))
            for amount, near in zip((concept.earned_above, concept.earned_below), through, strict=True)
        )
        rows.add_row(f"{concept.cui} {concept.name or ''}".rstrip(), *held, *earned, f"{concept.difference:+.4f}")
    rows.add_section()
    rows.add_row(
        "in all", "", "", "", told.pair_above.arithmetic, told.pair_below.arithmetic, f"{told.difference:+.4f}"
    )
    screen.print(rows)
    screen.print("A concept adds what it earns, divided by the concepts of query and image together.")
    if told.ranked is not None:
        _show_ranked(screen, told, told.ranked)
    pair = told.pair_above
    screen.print(f"n = {pair.n}, λ = {pair.lam:g}, hops {direction_told(pair.direction)}")
    _show_release(screen, pair)


def _through_told(near: ExplainedConcept | None) -> str:
    """Through whom a concept earned λ."""
    if near is None:
        return ""
    partner = near.partners[0]
    return f" through {partner.name or partner.cui}, {hops_told(partner.hops)}"


def _verdict(told: QueryExplanation) -> str:
    """Whether the question's premise holds."""
    above, below = told.nn_iou_above, told.nn_iou_below
    if told.difference > 0:
        return f"{told.above} ranks above {told.below} for {told.query}: it gains {told.difference:.4f} more"
    if told.difference < 0:
        return f"{told.above} does not rank above {told.below} for {told.query}: it gains {-told.difference:.4f} less"
    first = told.above if above.rank < below.rank else told.below
    return f"{told.above} and {told.below} gain the same for {told.query}; {first} stands first by its name"


def _rank_told(standing: Standing) -> str:
    return f"{standing.rank:,}" + (f" ({standing.tied:,} tied)" if standing.tied else "")


def _show_ranked(screen: Console, told: QueryExplanation, ranked: RankedPair) -> None:
    rows = table("rank", "weight", "retrieved", "gain", "ideal", "gain", title=ranked.source)
    marks = {told.above: " (above)", told.below: " (below)"}
    for rank in ranked.ranks:
        rows.add_row(
            str(rank.rank), f"{rank.weight:.4f}",
            "" if rank.image is None else rank.image + marks.get(rank.image, ""), f"{rank.gain:.4f}",
            "" if rank.ideal_image is None else rank.ideal_image + marks.get(rank.ideal_image, ""),
            f"{rank.ideal_gain:.4f}",
        )  # fmt: skip
    screen.print(rows)
    screen.print(
        f"DCG@{ranked.k} {ranked.dcg:.4f}, IDCG@{ranked.k} {ranked.idcg:.4f}: nn-CUI@{ranked.k} {ranked.ndcg:.4f}"
    )
    if ranked.cost:
        screen.print(
            f"the two in the wrong order cost {ranked.cost:.4f} of DCG@{ranked.k}, {ranked.cost_ndcg:.4f} of "
            f"nn-CUI@{ranked.k}"
        )
    else:
        screen.print(f"the order of the two costs nothing of DCG@{ranked.k}")
    if ranked.rank_above is None or ranked.rank_below is None:
        note(f"the ranking lists {counted(ranked.length, 'image')} for the query")


def show_query_sensitivity(found: QuerySensitivity, told: QueryExplanation) -> None:
    """Gains and ideal ranks of both images for each n and λ, and nn-CUI@K where there is a ranking."""
    screen = console()

    def marked(setting: QuerySetting, text: str) -> str:
        here = (setting.hubs, setting.n, setting.lam) == (None, told.pair_above.n, told.pair_above.lam)
        return text + (" *" if here else "")

    def gains(setting: QuerySetting) -> str:
        sign = (
            ">" if setting.gain_above > setting.gain_below else "<" if setting.gain_above < setting.gain_below else "="
        )
        return marked(setting, f"{setting.gain_above:.4f} {sign} {setting.gain_below:.4f}")

    def ranks(setting: QuerySetting) -> str:
        return marked(setting, f"{setting.rank_above:,} / {setting.rank_below:,}")

    _show_grid(screen, f"nn-IoU of {told.above} and of {told.below}", found.settings, gains, None)
    _show_grid(screen, "their ranks in the ideal ranking", found.settings, ranks, None)
    if told.ranked is not None:
        _show_grid(
            screen, f"nn-CUI@{found.k}", found.settings, lambda s: marked(s, f"{s.ndcg or 0.0:.4f}"), None
        )  # fmt: skip
