"""Explanation of the nn-IoU of two concept sets, concept by concept."""
# ruff: noqa: N803 - A and B are the paper's symbols

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from cuihop.explanation.picture import figure_of_pairs
from cuihop.explanation.values import MATCHES, ExplainedConcept, ExplainedPair, Match, Partner, PathStep, Side
from cuihop.graph import ConceptGraph
from cuihop.graph_wrapper import names_of
from cuihop.measures.nearness import BY_SIMILARITY, Nearness, NearnessValues, checked_n, used_ic, weight_of
from cuihop.measures.nn_iou import ConceptOverlap, RelatedConcept, concept_overlap, related_by_similarity
from cuihop.notebooks.figures import notebook_svg, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Explanation", "explain_pair"]


@dataclass(frozen=True, eq=False)
class Explanation(ExplainedPair):
    """Two concept sets, the share that each concept earns, and the sum; as text, JSON and a picture."""

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def figure(self) -> Figure:
        """The picture as a matplotlib figure; needs the extra ``plots``.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; the message names the extra.
        """
        return figure_of_pairs([self])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture, atomically, as the suffix says: ``.svg``, ``.png`` or ``.pdf``.

        Raises:
            InputError: another suffix.
            OutputError: the file cannot be written.
            ModuleNotFoundError: matplotlib is not installed; the message names the extra.
        """
        save_picture(self.figure, path)

    def _repr_svg_(self) -> str | None:
        """The picture in a notebook; the notebook shows the `repr` where matplotlib is not installed."""
        return notebook_svg(self.figure)

    def __repr__(self) -> str:
        return f"<Explanation of {self.titles[0]} and {self.titles[1]}: nn-IoU {self.nn_iou:.4f} = {self.arithmetic}>"


def explain_pair(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    nearness: Nearness = Nearness(),
    *,
    look: int = 3,
    paths: bool = True,
    titles: tuple[str, str] = ("A", "B"),
    **near: Unpack[NearnessValues],
) -> Explanation:
    """Explain the nn-IoU of two concept sets: the share that each concept earns, with partner and path.

    The graph is queried once for identifiers, once for all distances, once for all names, and once for the path of
    each concept with its first partner.

    Args:
        A, B, graph: as in `cuihop.nn_iou`. nearness: its other arguments, or near: by their names.
        look: hops beyond n within which to seek the nearest partner of a concept that earned nothing.
        paths: seek the path of each near concept, too; a neighbour dictionary has none.
        titles: names of A and B.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.
        LimitExceeded: n + look is beyond a service's limit.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> explanation = explain_pair("C0042449", "C0005847", graph)
    >>> explanation.nn_iou, explanation.arithmetic
    (0.5, '(0 + 0.5 · 2) / 2')
    >>> [(c.cui, c.match, c.partners[0].cui, c.path[-1].relation) for c in explanation.concepts]
    [('C0042449', 'near', 'C0005847', 'parent'), ('C0005847', 'near', 'C0042449', 'parent')]
    """
    nearness = nearness.having(near)
    n, look = nearness.n, checked_n(look, "look")
    overlap = concept_overlap(A, B, graph, n + look, direction=nearness.direction, unknown=nearness.unknown)
    if nearness.weight in BY_SIMILARITY:
        related = related_by_similarity(overlap.related, graph, n, nearness.weight, nearness.ic)
        overlap = replace(overlap, related=related)
    path_of = {
        ends: [(path.start, None, ()), *((step.cui, step.relation, step.sabs) for step in path.steps)]
        for ends in sorted({_ends(r) for r in overlap.related if paths and r.witnesses[0].hops <= n})
        if (path := graph.path(*ends, direction=overlap.direction, max_hops=n)) is not None
    }
    isolated = overlap.resolved.isolated
    held = sorted(
        ((overlap.A | overlap.B) - isolated).union(*({cui for cui, _, _ in path} for path in path_of.values()))
    )
    names = names_of(graph, held, isolated)
    return Explanation(
        concepts=_concepts(overlap, nearness, path_of, names),
        titles=titles,
        n=n,
        lam=nearness.lam,
        direction=overlap.direction,
        look=look,
        resolved=overlap.resolved,
        release=graph.release,
        weight=nearness.weight,
        ic=used_ic(nearness.ic, nearness.weight),
    )


_Ends: TypeAlias = tuple[str, str]
_Steps: TypeAlias = list[tuple[str, Literal["parent", "child"] | None, tuple[str, ...]]]


def _ends(related: RelatedConcept) -> _Ends:
    """A concept and its first partner, the one of A first."""
    partner = related.witnesses[0].cui
    return (related.cui, partner) if related.side == "A" else (partner, related.cui)


def _concepts(
    overlap: ConceptOverlap, nearness: Nearness, paths: Mapping[_Ends, _Steps], names: Mapping[str, str | None]
) -> tuple[ExplainedConcept, ...]:
    """Every concept of the union, in the order of `ExplainedPair.concepts`. ``overlap`` has distances beyond n."""
    resolved, n = overlap.resolved, nearness.n
    outside: dict[str, Literal["unknown", "retired"]] = {}
    outside.update(dict.fromkeys(resolved.unknown, "unknown"))
    outside.update(dict.fromkeys(resolved.retired, "retired"))
    merged_from: dict[str, list[str]] = defaultdict(list)
    for old, successor in sorted(resolved.merged.items()):
        merged_from[successor].append(old)
    related = {r.cui: r for r in overlap.related}

    def explained(cui: str, side: Side) -> ExplainedConcept:
        witnesses = related[cui].witnesses if cui in related else ()
        nearest = witnesses[0].hops if witnesses else None
        match: Match = "exact" if side == "both" else "near" if nearest is not None and nearest <= n else "none"
        steps = paths.get(_ends(related[cui]), ()) if match == "near" else ()
        earned = 1.0 if match == "exact" else 0.0
        similarity = related[cui].similarity if match == "near" else None
        if match == "near":
            earned = weight_of(related[cui].strength, nearness.lam, nearness.weight)
        return ExplainedConcept(
            cui=cui,
            name=names.get(cui),
            side=side,
            match=match,
            earned=earned,
            partners=tuple(
                Partner(w.cui, names.get(w.cui), w.hops)
                for w in witnesses
                if w.hops <= n or (match == "none" and w.hops == nearest)
            ),
            path=tuple(PathStep(at, names.get(at), relation, sabs) for at, relation, sabs in steps),
            outside=outside.get(cui),
            given=tuple(merged_from.get(cui, ())),
            similarity=similarity,
        )

    sides: tuple[tuple[Side, frozenset[str]], ...] = (
        ("both", overlap.shared), ("A", overlap.A - overlap.B), ("B", overlap.B - overlap.A),
    )  # fmt: skip
    concepts: list[ExplainedConcept] = []
    for side, cuis in sides:
        here = [explained(cui, side) for cui in sorted(cuis)]
        concepts += sorted(here, key=lambda concept: MATCHES.index(concept.match))
    return tuple(concepts)
