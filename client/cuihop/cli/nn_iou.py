"""``cuihop nn-iou``: the overlap of two concept sets, and their near concepts."""

from __future__ import annotations

from collections import Counter

from cuihop.answer_fields import fields_of
from cuihop.cli.graph_option import (
    NamedGraphOptions,
    NearnessOptions,
    advised_on_unknown,
    note_dropped,
    note_upper_case,
    printed_as_json,
)
from cuihop.cli.option_groups import JsonOptions, argument, option_group
from cuihop.cli.output import console, hops_text, note, print_table
from cuihop.files.text_lines import direction_text
from cuihop.graph_wrapper import names_of
from cuihop.identifiers import concept_set
from cuihop.measures import ConceptOverlap, concept_overlap
from cuihop.measures.nearness import arithmetic_text, earned_text, nearness_text
from cuihop.measures.resolution import check_some_known
from cuihop.notebooks.table import Table
from cuihop.operations.answers import RelevanceAnswer


@option_group
class _Options(JsonOptions, NearnessOptions, NamedGraphOptions):
    a: str = argument("Concepts of one image: 'C1;C2'.")
    b: str = argument("Concepts of the other image.")


def nn_iou(options: _Options) -> None:
    """Compute IoU and nn-IoU of two concept sets, and list the near concepts."""
    a, b = options.a, options.b
    with options.opened() as opened, advised_on_unknown():
        overlap = concept_overlap(
            a, b, opened, options.hops, options.lam, options.direction, unknown=options.unknown,
            weight=options.weight, ic=options.ic,
        )  # fmt: skip
        resolved = overlap.resolved
        check_some_known(resolved, Counter((*concept_set(a), *concept_set(b))), opened)
        held = sorted((overlap.A | overlap.B) - resolved.isolated)
        named = names_of(opened, held, resolved.isolated)
        fields = {
            **fields_of(RelevanceAnswer.of(overlap)), "A": sorted(overlap.A), "B": sorted(overlap.B), "names": named,
            "unknown": resolved.unknown, "retired": resolved.retired, "upper_case": dict(resolved.upper_case),
        }  # fmt: skip
        if not options.json:
            note_upper_case(resolved.upper_case)
        if printed_as_json(options, opened, fields, resolved.merged):
            return
    if resolved.isolated:
        note(f"not in the graph, so each matches only itself: {', '.join(sorted(resolved.isolated))}")
    note_dropped(resolved.dropped)
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
            because = ", ".join(f"{hops_text(w.hops)} {_PREPOSITION[side]} {named(w.cui)}" for w in near[cui].witnesses)
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


_PREPOSITION = {"A": "to", "B": "from"}
