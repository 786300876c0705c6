"""Concept overlap: IoU, and nn-IoU, which counts near misses (Wei, Kurtz, Cloppet 2025, equation 2, Algorithm 1)."""
# ruff: noqa: N803, N806 - A, B, a and b are the paper's symbols

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.graph import ConceptGraph, Direction, Neighbour, checked_direction
from cuihop.identifiers import concept_set
from cuihop.measures.family import Family, Option, fraction, whole
from cuihop.measures.nearness import (
    BY_SIMILARITY,
    IntrinsicContent,
    Weight,
    checked_ic,
    checked_lam,
    checked_n,
    checked_weight,
    credit_of_near,
    pair_similarities,
    used_ic,
)
from cuihop.measures.resolution import ResolvedConcepts, Unknown, resolved_concepts


@dataclass(frozen=True, slots=True)
class RelatedConcept:
    """A near concept, which contributes its weight.

    Attributes:
        cui: a concept of one set only.
        side: its set, ``A`` or ``B``.
        witnesses: the concepts of the other set within n hops, nearest first, then by identifier; for a weight by
            similarity, most similar first. The first determines the weight.
        similarity: to the first witness; ``None`` for a weight by hops.
    """

    cui: str
    side: Literal["A", "B"]
    witnesses: tuple[Neighbour, ...]
    similarity: float | None = None

    @property
    def strength(self) -> float:
        """The hops of the first witness or, for a weight by similarity, the similarity; see `credit_of_near`."""
        return self.witnesses[0].hops if self.similarity is None else self.similarity


@dataclass(frozen=True, slots=True)
class ConceptOverlap:
    """Overlap of two concept sets, with the witnesses of near concepts.

    Attributes:
        A, B: the sets, retired identifiers replaced by their successors.
        related: rel_n(A, B), first the concepts of A, then those of B, each by identifier.
        n, lam, direction, weight: the parameters.
        ic: information content of the weight; ``None`` where it has none.
        resolved: resolution of the identifiers.
    """

    A: frozenset[str]
    B: frozenset[str]
    related: tuple[RelatedConcept, ...]
    n: int
    lam: float
    direction: Direction
    resolved: ResolvedConcepts
    weight: Weight = "constant"
    ic: IntrinsicContent | None = None

    @property
    def shared(self) -> frozenset[str]:
        """A ∩ B."""
        return self.A & self.B

    @property
    def iou(self) -> float:
        """|A ∩ B| / |A ∪ B|: no near concept counts."""
        return nn_iou_of_counts(len(self.shared), 0, len(self.A | self.B), 0.0)

    @property
    def near(self) -> tuple[list[float], list[float]]:
        """The strengths of the related concepts of A and of B, for `credit_of_near`."""
        of_a, of_b = ([r.strength for r in self.related if r.side == side] for side in ("A", "B"))
        return of_a, of_b

    @property
    def nn_iou(self) -> float:
        """(|A ∩ B| + the weights of rel_n(A, B)) / |A ∪ B|."""
        credit = credit_of_near(*self.near, self.lam, self.weight)
        return nn_iou_of_counts(len(self.shared), credit, len(self.A | self.B), 1.0)


def concept_overlap(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float | None = None,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
    weight: Weight = "constant",
    ic: IntrinsicContent = "Sanchez",
) -> ConceptOverlap:
    """The overlap of two concept sets with each near concept and its witnesses. Arguments and errors as `nn_iou`."""
    n, direction = checked_n(n), checked_direction(direction)
    lam = checked_lam(lam, checked_weight(weight, n))
    checked_ic(ic, weight)
    A, B = concept_set(A), concept_set(B)
    resolution = resolved_concepts(A | B, graph, unknown)
    A, B = resolution.concepts(A), resolution.concepts(B)
    shared, isolated = A & B, resolution.isolated
    pairs = [
        (a, b)
        for a in sorted(A - isolated)
        for b in sorted(B - isolated)
        if a not in shared or b not in shared  # neither of two shared concepts can be added to rel
    ]
    witnesses: dict[tuple[Literal["A", "B"], str], list[Neighbour]] = {}
    for (a, b), hops in zip(pairs, graph.distances(pairs, direction=direction, max_hops=n), strict=True):
        if hops is None:
            continue
        if a not in shared:
            witnesses.setdefault(("A", a), []).append(Neighbour(b, hops))
        if b not in shared:
            witnesses.setdefault(("B", b), []).append(Neighbour(a, hops))
    near = tuple(
        RelatedConcept(cui, side, tuple(sorted(nearest, key=lambda w: (w.hops, w.cui))))
        for (side, cui), nearest in sorted(witnesses.items())
    )
    return ConceptOverlap(
        A,
        B,
        related=related_by_similarity(near, graph, n, weight, ic) if weight in BY_SIMILARITY else near,
        n=n,
        lam=lam,
        direction=direction,
        resolved=resolution,
        weight=weight,
        ic=used_ic(ic, weight),
    )


def related_by_similarity(
    near: Sequence[RelatedConcept], graph: ConceptGraph, n: int, weight: Weight, ic: IntrinsicContent
) -> tuple[RelatedConcept, ...]:
    """Near concepts with the witnesses within n hops first, most similar first, then nearest, then by identifier."""
    pairs = [
        (r.cui, witness.cui) if r.side == "A" else (witness.cui, r.cui)
        for r in near for witness in r.witnesses if witness.hops <= n
    ]  # fmt: skip
    similarity = dict(zip(pairs, pair_similarities(graph, pairs, weight, ic).tolist(), strict=True))
    ranked = []
    for r in near:
        own = {w.cui: similarity.get((r.cui, w.cui) if r.side == "A" else (w.cui, r.cui)) for w in r.witnesses}
        order = sorted(r.witnesses, key=lambda w: (w.hops > n, -(own[w.cui] or 0.0), w.hops, w.cui))
        ranked.append(replace(r, witnesses=tuple(order), similarity=own[order[0].cui]))
    return tuple(ranked)


def related(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> frozenset[str]:
    """rel_n(A, B) of Algorithm 1: the concepts of one set only that have a concept of the other within n hops.

    A shared concept is never in it, but may be a witness. Arguments and errors as `nn_iou`.
    """
    return frozenset(r.cui for r in concept_overlap(A, B, graph, n, direction=direction, unknown=unknown).related)


def nn_iou(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float | None = None,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
    weight: Weight = "constant",
    ic: IntrinsicContent = "Sanchez",
) -> float:
    """nn-IoU(A, B) = (|A ∩ B| + λ |rel_n(A, B)|) / |A ∪ B|, between 0 and 1; 0 where both sets are empty.

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        n: the most hops to a near concept, 0 or more. 0 gives IoU.
        lam: λ, the weight of a near concept, from 0 to 1. 0 gives IoU. By default 0.5; 1 for a similarity.
        direction: direction of the hops from a concept of A to one of B.
        unknown: ``error``; ``isolated`` to keep an identifier that the graph cannot use as a concept that matches
            only itself; or ``drop`` to leave it out of its set.
        weight: of a near concept: ``constant``, λ; ``hops``, λ^d where its nearest concept of the other set is d hops
            away, for n of at most 32, which for n = 1 is the same; ``Lin`` or ``Wu-Palmer``, λ times its largest
            similarity to a concept of the other set within n hops.
        ic: information content of ``Lin``.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847"), ("C0005847", "C0018670")])
    >>> nn_iou("C0042449", "C0005847", graph)
    0.5
    >>> nn_iou("C0042449", "C0018670", graph, n=2), nn_iou("C0042449", "C0018670", graph, n=2, weight="hops")
    (0.5, 0.25)
    >>> nn_iou("C0042449", "C0018670", graph, n=2, weight="Wu-Palmer")
    0.5
    """
    return concept_overlap(A, B, graph, n, lam, direction, unknown=unknown, weight=weight, ic=ic).nn_iou


def iou(A: str | Iterable[str], B: str | Iterable[str]) -> float:
    """IoU(A, B) = |A ∩ B| / |A ∪ B|, between 0 and 1; 0 where both sets are empty.

    A CUI in lower case is read in upper case. `nn_iou` with ``lam=0`` is the same value, once retired
    identifiers are replaced by their successors. Source: Serieys et al., as cited by Wei, Kurtz and Cloppet (2025).

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.

    Raises:
        InputError: an identifier is missing between two semicolons. InvalidCui: one is malformed.

    >>> iou("C0042449;C0005847", "C0005847")
    0.5
    """
    A, B = concept_set(A), concept_set(B)
    resolution = resolved_concepts(A | B, None)
    A, B = resolution.concepts(A), resolution.concepts(B)
    union = len(A | B)
    return len(A & B) / union if union else 0.0


HOPS = Option("n", "a whole number, 0 or more", whole(0))
LAMBDA = Option("λ", "a number from 0 to 1", fraction, spellings=("lambda", "lam"))
WEIGHT = replace(Option.of_words("weight", *get_args(Weight)), default=None)
IC = replace(Option.of_words("ic", *get_args(IntrinsicContent)), default=None)

OVERLAP_FAMILIES = (
    Family("nn-IoU", "overlap of two concept sets that counts near misses", "pair",
           options=(HOPS, LAMBDA, WEIGHT, IC), spellings=("nnIoU",)),
    Family("IoU", "intersection over union of two concept sets", "pair"),
)  # fmt: skip
