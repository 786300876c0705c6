"""``cuihop nn-iou``: the overlap of two concept sets, and their near concepts."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from cuihop.added_names import names_of
from cuihop.answer_fields import relevance_fields, with_release
from cuihop.cli.graph_option import (
    GraphOptions,
    NamesOption,
    NearnessOptions,
    advised_on_unknown,
    note_dropped,
    note_merged,
    note_upper_case,
)
from cuihop.cli.output import JsonOption, console, hops_text, note, print_json, print_table
from cuihop.files.text_lines import direction_text
from cuihop.identifiers import concept_set
from cuihop.measures import ConceptOverlap, concept_overlap
from cuihop.measures.near_weight import arithmetic_text, earned_text, nearness_text
from cuihop.measures.resolution import check_some_known
from cuihop.notebooks.table import Table


def nn_iou(
    a: Annotated[str, typer.Argument(help="Concepts of one image: 'C1;C2'.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Concepts of the other image.", show_default=False)],
    graph: GraphOptions,
    near: NearnessOptions,
    names: NamesOption = None,
    json: JsonOption = False,
) -> None:
    """Compute IoU and nn-IoU of two concept sets, and list the near concepts."""
    with graph.opened(names) as opened, advised_on_unknown():
        overlap = concept_overlap(
            a, b, opened, near.hops, near.lam, near.direction, unknown=near.unknown, weight=near.weight, ic=near.ic
        )
        check_some_known(overlap.resolved, Counter((*concept_set(a), *concept_set(b))), opened)
        held = sorted((overlap.A | overlap.B) - overlap.resolved.isolated)
        named = names_of(opened, held, overlap.resolved.isolated)
        release = opened.release
    if json:
        sets = {"A": sorted(overlap.A), "B": sorted(overlap.B), "names": named}
        resolved = overlap.resolved
        outside = {"unknown": resolved.unknown, "retired": resolved.retired, "upper_case": dict(resolved.upper_case)}
        print_json(with_release(release, {**relevance_fields(overlap), **sets, **outside}, resolved.merged))
        return
    note_upper_case(overlap.resolved.upper_case)
    note_merged(overlap.resolved.merged)
    if overlap.resolved.isolated:
        note(f"not in the graph, so each matches only itself: {', '.join(sorted(overlap.resolved.isolated))}")
    note_dropped(overlap.resolved.dropped)
    _show(overlap, named)


def _show(overlap: ConceptOverlap, names: dict[str, str | None]) -> None:
    def named(cui: str) -> str:
        return f"{cui} {names.get(cui) or ''}".rstrip()

    near = {r.cui: r for r in overlap.related}
    rows = []
    for cui in sorted(overlap.A | overlap.B, key=lambda cui: (cui not in overlap.shared, cui not in overlap.A, cui)):
        side = "A and B" if cui in overlap.shared else "A" if cui in overlap.A else "B"
        if cui in overlap.shared:
            rows.append((named(cui), side, "1", "in both"))
        elif cui in near:
            # The distance always goes from A to B, also for a concept of B.
            because = ", ".join(f"{hops_text(w.hops)} {_WAY[side]} {named(w.cui)}" for w in near[cui].witnesses)
            earned = earned_text(near[cui].strength, overlap.lam, overlap.weight)
            rows.append((named(cui), side, earned, because))
        else:
            rows.append((named(cui), side, "0", f"no concept of the other set within {hops_text(overlap.n)}"))
    print_table(Table(("concept", "of", "counts", "because"), rows))
    union = len(overlap.A | overlap.B)
    screen = console()
    screen.print(f"IoU     {overlap.iou:.4f}  = {len(overlap.shared)} / {union}")
    arithmetic = arithmetic_text(len(overlap.shared), overlap.near, union, overlap.lam, overlap.weight)
    parameters = nearness_text(
        overlap.n, f"{overlap.lam:g}", overlap.weight, overlap.ic, direction_text(overlap.direction)
    )
    screen.print(f"nn-IoU  {overlap.nn_iou:.4f}  = {arithmetic}   ({parameters})")


_WAY = {"A": "to", "B": "from"}
