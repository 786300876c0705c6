"""Concepts of a query and an image, each with its match in colour and as a sign."""

from __future__ import annotations

from html import escape

from cuihop.explanation.values import ExplainedConcept, ExplainedPair, Match
from cuihop.files.text_lines import counted

__all__ = ["LEGEND", "concepts_of_pair"]

_SIGNS: dict[Match, str] = {"exact": "=", "near": "≈", "none": "–"}
_OUTSIDE = {"unknown": "not in the graph", "retired": "retired without a successor"}

LEGEND = (
    '<ul class="legend"><li class="exact">= 1: in both</li><li class="near">≈ a concept of the other is near: earns '
    'its weight</li><li class="none">– 0: no concept of the other is near</li></ul>'
)
"""The meaning of colours and signs."""


def concepts_of_pair(pair: ExplainedPair, heading: str) -> str:
    """The concepts of both, of A only and of B only, under a heading with the nn-IoU and its arithmetic."""
    sides = (("both", "in both"), ("A", f"only in {pair.titles[0]}"), ("B", f"only in {pair.titles[1]}"))
    columns = []
    for side, title in sides:
        concepts = [concept for concept in pair.concepts if concept.side == side]
        listed = "".join(f'<li class="{each.match}">{_concept(each, pair)}</li>' for each in concepts)
        content = f'<ul class="concepts">{listed}</ul>' if listed else '<p class="faint">no concept</p>'
        columns.append(f'<div><p class="side">{escape(title)}</p>{content}</div>')
    return (
        f"<h4>{escape(heading)}: nn-IoU {pair.nn_iou:.4f} = {escape(pair.arithmetic)}</h4>\n"
        f'<div class="sides">{"".join(columns)}</div>'
    )


def _concept(concept: ExplainedConcept, pair: ExplainedPair) -> str:
    mark = f'<span class="mark">{_SIGNS[concept.match]} {concept.earned:.4g}</span>'
    named = (
        f"{escape(concept.name)} <code>{escape(concept.cui)}</code>"
        if concept.name
        else f"<code>{escape(concept.cui)}</code>"
    )
    return f"{mark} {named}{_reason(concept, pair)}"


def _reason(concept: ExplainedConcept, pair: ExplainedPair) -> str:
    """The partner of a concept, or why it has none."""
    texts = [f"given as {', '.join(concept.given)}, retired"] if concept.given else []
    if concept.outside is not None:
        texts.append(_OUTSIDE[concept.outside])
    elif concept.match != "exact" and not concept.partners:
        texts.append(f"none within {counted(pair.n + pair.look, 'hop')}")
    elif concept.match != "exact":
        partner = concept.partners[0]
        nearest = "" if concept.match == "near" else "nearest: "
        texts.append(f"{nearest}{partner.name or partner.cui}, {counted(partner.hops, 'hop')}")
    return f"<small>{escape('; '.join(texts))}</small>" if texts else ""
