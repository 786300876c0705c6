"""``cuihop nn-iou``: how two concept sets overlap, and which near concepts count."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Annotated

import typer

from cuihop.cli.graph_option import (
    DirectionOption,
    GraphOption,
    LambdaOption,
    advised_on_unknown,
    opened_graph,
    release_json,
    tell_merged,
    tell_upper_case,
)
from cuihop.cli.output import JsonOption, console, direction_told, hops_told, note, print_json, table
from cuihop.identifiers import concept_set
from cuihop.measures import ConceptOverlap, concept_overlap
from cuihop.measures.resolution import Unknown, check_some_known

__all__ = ["nn_iou"]


def nn_iou(
    a: Annotated[str, typer.Argument(help="Concepts of one image: 'C1;C2'.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Concepts of the other.", show_default=False)],
    graph: GraphOption,
    hops: Annotated[int, typer.Option("--hops", "-n", min=0, help="Concepts so near count.")] = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: Annotated[
        Unknown,
        typer.Option(
            "--unknown", help="Identifiers that the graph cannot use: refuse, or keep as near nothing but themselves."
        ),
    ] = "error",
    json: JsonOption = False,
) -> None:
    """Compare two concept sets, and show which near concepts count and why."""
    with opened_graph(graph) as opened, advised_on_unknown():
        overlap = concept_overlap(a, b, opened, hops, lam, direction, unknown=unknown)
        check_some_known(overlap.resolved, Counter((*concept_set(a), *concept_set(b))), opened)
        held = sorted((overlap.A | overlap.B) - overlap.resolved.isolated)
        names = dict(zip(held, opened.names(held), strict=True))
        release = release_json(opened)
    if json:
        print_json({"release": release, **_as_json(overlap, names)})
        return
    tell_upper_case(overlap.resolved.upper_case)
    tell_merged(overlap.resolved.merged)
    if overlap.resolved.isolated:
        note(f"not in the graph, near nothing but themselves: {', '.join(sorted(overlap.resolved.isolated))}")
    _show(overlap, names)


def _as_json(overlap: ConceptOverlap, names: dict[str, str | None]) -> dict[str, object]:
    return {
        "A": sorted(overlap.A),
        "B": sorted(overlap.B),
        "n": overlap.n,
        "lambda": overlap.lam,
        "direction": overlap.direction,
        "iou": overlap.iou,
        "nn_iou": overlap.nn_iou,
        "shared": [{"cui": cui, "name": names.get(cui)} for cui in sorted(overlap.shared)],
        "related": [
            {
                "cui": r.cui,
                "name": names.get(r.cui),
                "of": r.side,
                "witnesses": [{**dataclasses.asdict(w), "name": names.get(w.cui)} for w in r.witnesses],
            }
            for r in overlap.related
        ],
        "merged": dict(overlap.resolved.merged),
        "unknown": list(overlap.resolved.unknown),
        "retired": list(overlap.resolved.retired),
        "upper_case": dict(overlap.resolved.upper_case),
    }


def _show(overlap: ConceptOverlap, names: dict[str, str | None]) -> None:
    def told(cui: str) -> str:
        return f"{cui} {names.get(cui) or ''}".rstrip()

    near = {r.cui: r for r in overlap.related}
    rows = table("concept", "of", "counts", "because")
    for cui in sorted(overlap.A | overlap.B, key=lambda cui: (cui not in overlap.shared, cui not in overlap.A, cui)):
        side = "A and B" if cui in overlap.shared else "A" if cui in overlap.A else "B"
        if cui in overlap.shared:
            rows.add_row(told(cui), side, "1", "in both")
        elif cui in near:
            # The distance always goes from A to B, whichever of the two the concept is of.
            because = ", ".join(f"{hops_told(w.hops)} {_WAY[side]} {told(w.cui)}" for w in near[cui].witnesses)
            rows.add_row(told(cui), side, f"{overlap.lam:g}", because)
        else:
            rows.add_row(told(cui), side, "0", f"nothing of the other within {hops_told(overlap.n)}")
    union = len(overlap.A | overlap.B)
    screen = console()
    screen.print(rows)
    screen.print(f"IoU     {overlap.iou:.4f}  = {len(overlap.shared)} / {union}")
    screen.print(
        f"nn-IoU  {overlap.nn_iou:.4f}  = ({len(overlap.shared)} + {overlap.lam:g} · {len(overlap.related)}) / {union}"
        f"   (n = {overlap.n}, λ = {overlap.lam:g}, hops {direction_told(overlap.direction)})"
    )


_WAY = {"A": "to", "B": "from"}
