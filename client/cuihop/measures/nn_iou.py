"""Concept overlap that counts near misses: nn-IoU (Wei, Kurtz, Cloppet 2025, equation 2 and Algorithm 1)."""
# ruff: noqa: N803, N806 - A, B, a and b are the paper's symbols

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError, checked_choice
from cuihop.graph import ConceptGraph, Direction, Neighbour, checked_direction, checked_hops
from cuihop.identifiers import concept_set
from cuihop.measures.family import Family, Option, fraction, whole
from cuihop.measures.resolution import ResolvedConcepts, Unknown, resolved_concepts

__all__ = [
    "FAMILY",
    "HOPS",
    "LAMBDA",
    "LARGEST_WEIGHTED_N",
    "WEIGHT",
    "ConceptOverlap",
    "RelatedConcept",
    "Weight",
    "arithmetic_text",
    "checked_lam",
    "checked_n",
    "checked_weight",
    "concept_overlap",
    "counts_by_hops",
    "credit_of_near",
    "earned_text",
    "nearness_text",
    "nn_iou",
    "nn_iou_of_counts",
    "power_text",
    "related",
    "weight_at",
]

Weight: TypeAlias = Literal["constant", "hops"]
"""Weight of a near concept: λ (``constant``, the paper's), or λ^d for a nearest concept d hops away (``hops``)."""

LARGEST_WEIGHTED_N = 32
"""The largest n with the weight ``hops``: near concepts are counted apart for each number of hops."""


def nn_iou_of_counts(shared: int, near: float, union: int, lam: float) -> float:
    """Equation 2: (|A ∩ B| + λ |rel(A, B)|) / |A ∪ B|; 0 for an empty union.

    ``near`` may be a `credit_of_near`, with λ = 1.

    The one place of the formula: the evaluation kernel compiles this function. Numba does not notice that compiled
    code on disk was made from an older one: a change here must come with one of `cuihop._kernels.best_images` and
    `cuihop._kernels.relevance`.
    """
    if union == 0:
        return 0.0
    return (shared + lam * near) / union


def counts_by_hops(nearest: Sequence[int]) -> tuple[int, ...]:
    """Counts of 1, 2, … among the distances of near concepts to their nearest concept, for `credit_of_near`.

    >>> counts_by_hops([3, 1, 1])
    (2, 0, 1)
    """
    return tuple(map(nearest.count, range(1, max(nearest, default=0) + 1)))


def credit_of_near(near: Sequence[int], lam: float, weight: Weight) -> float:
    """The sum of the weights of near concepts: λ · Σ counts, or Σ λ^d · count of d, d ascending from 1.

    λ^d is computed by d − 1 multiplications, and the sum in this order, so that equal counts give equal bits
    everywhere. The compiled evaluation does the same.

    Args:
        near: number of near concepts whose nearest concept is 1, 2, … hops away.
        lam: λ. weight: of one concept.

    >>> credit_of_near([2, 1], 0.5, "constant"), credit_of_near([2, 1], 0.5, "hops")
    (1.5, 1.25)
    """
    if weight == "constant":
        return lam * sum(near)
    credit, power = 0.0, 1.0
    for count in near:
        power *= lam
        credit += power * count
    return credit


def weight_at(hops: int, lam: float, weight: Weight) -> float:
    """The weight of one near concept whose nearest concept is this many hops away, at least 1."""
    return credit_of_near([*[0] * (hops - 1), 1], lam, weight)


def arithmetic_text(shared: int, near: Sequence[int], union: int, lam: float, weight: Weight) -> str:
    """The fraction behind an nn-IoU; arguments as `nn_iou_of_counts` and `credit_of_near`.

    >>> arithmetic_text(1, [2, 1], 5, 0.5, "constant"), arithmetic_text(1, [2, 1], 5, 0.5, "hops")
    ('(1 + 0.5 · 3) / 5', '(1 + 0.5 · 2 + 0.5² · 1) / 5')
    """
    if weight == "constant":
        return f"({shared} + {lam:g} · {sum(near)}) / {union}"
    counted = [(hops, count) for hops, count in enumerate(near, start=1) if count] or [(1, 0)]
    terms = [f"{power_text(format(lam, 'g'), hops)} · {count}" for hops, count in counted]
    return f"({' + '.join([str(shared), *terms])}) / {union}"


def power_text(base: str, exponent: int) -> str:
    """A power, as in ``0.5²``; without the exponent 1."""
    return base if exponent == 1 else base + str(exponent).translate(_RAISED)


def earned_text(hops: int, lam: float, weight: Weight) -> str:
    """The weight of one near concept, with its power, as in ``0.25 = 0.5²``."""
    earned = f"{weight_at(hops, lam, weight):g}"
    return earned if weight == "constant" or hops == 1 else f"{earned} = {power_text(format(lam, 'g'), hops)}"


def nearness_text(n: int, lam: str, weight: Weight, direction: str) -> str:
    """The parameters of near concepts in words; ``direction`` as in a sentence."""
    return f"n = {n}, λ = {lam}, {'weight λ^hops, ' if weight == 'hops' else ''}hops {direction}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class RelatedConcept:
    """A near concept, which contributes its weight.

    Attributes:
        cui: a concept of one set only.
        side: its set, ``A`` or ``B``.
        witnesses: the concepts of the other set within n hops, nearest first, then by identifier.
    """

    cui: str
    side: Literal["A", "B"]
    witnesses: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class ConceptOverlap:
    """Overlap of two concept sets, with the witnesses of near concepts.

    Attributes:
        A, B: the sets, retired identifiers replaced by their successors.
        related: rel_n(A, B), first the concepts of A, then those of B, each by identifier.
        n, lam, direction, weight: the parameters.
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

    @property
    def shared(self) -> frozenset[str]:
        """A ∩ B."""
        return self.A & self.B

    @property
    def iou(self) -> float:
        """|A ∩ B| / |A ∪ B|: no near concept counts."""
        return nn_iou_of_counts(len(self.shared), 0, len(self.A | self.B), 0.0)

    @property
    def near(self) -> tuple[int, ...]:
        """Number of related concepts whose nearest witness is 1, 2, … hops away."""
        return counts_by_hops([concept.witnesses[0].hops for concept in self.related])

    @property
    def nn_iou(self) -> float:
        """(|A ∩ B| + the weights of rel_n(A, B)) / |A ∪ B|."""
        credit = credit_of_near(self.near, self.lam, self.weight)
        return nn_iou_of_counts(len(self.shared), credit, len(self.A | self.B), 1.0)


def concept_overlap(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
    weight: Weight = "constant",
) -> ConceptOverlap:
    """The overlap of two concept sets with each near concept and its witnesses. Arguments and errors as `nn_iou`."""
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    checked_weight(weight, n)
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
    return ConceptOverlap(
        A,
        B,
        related=tuple(
            RelatedConcept(cui, side, tuple(sorted(found, key=lambda w: (w.hops, w.cui))))
            for (side, cui), found in sorted(witnesses.items())
        ),
        n=n,
        lam=lam,
        direction=direction,
        resolved=resolution,
        weight=weight,
    )


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
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
    weight: Weight = "constant",
) -> float:
    """nn-IoU(A, B) = (|A ∩ B| + λ |rel_n(A, B)|) / |A ∪ B|, between 0 and 1; 0 where both sets are empty.

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        n: the most hops to a near concept, 0 or more. 0 gives IoU.
        lam: λ, the weight of a near concept, from 0 to 1. 0 gives IoU.
        direction: direction of the hops from a concept of A to one of B.
        unknown: ``error``; ``isolated`` to keep an identifier that the graph cannot use as a concept that matches
            only itself; or ``drop`` to leave it out of its set.
        weight: of a near concept: ``constant``, λ; or ``hops``, λ^d where its nearest concept of the other set is d
            hops away, for n of at most `LARGEST_WEIGHTED_N`. Both are the same for n = 1.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847"), ("C0005847", "C0018670")])
    >>> nn_iou("C0042449", "C0005847", graph)
    0.5
    >>> nn_iou("C0042449", "C0018670", graph, n=2), nn_iou("C0042449", "C0018670", graph, n=2, weight="hops")
    (0.5, 0.25)
    """
    return concept_overlap(A, B, graph, n, lam, direction, unknown=unknown, weight=weight).nn_iou


def checked_n(n: int, name: str = "n") -> int:
    """The hop threshold, or another number of hops; an `InputError` where it is not a whole number of at least 0."""
    checked = checked_hops(n, name)
    if checked is None:
        raise InputError("not a number of hops", column=name, found="None", expected="a whole number, 0 or more")
    return checked


def checked_lam(lam: float) -> float:
    """λ, or an `InputError` where it is not a number from 0 to 1."""
    try:
        value = float(lam)
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise InputError("λ is out of its range", column="lam", found=repr(lam), expected="a number from 0 to 1")
    return value


def checked_weight(weight: Weight, n: int) -> Weight:
    """The weight of a near concept within n hops, or an `InputError` where it has no such value, or n is too large."""
    checked_choice("weight", weight, Weight)
    if weight == "hops" and n > LARGEST_WEIGHTED_N:
        raise InputError(
            "n is too large for the weight hops", column="n", found=str(n), expected=f"{LARGEST_WEIGHTED_N} at most"
        )
    return weight


HOPS = Option("n", "a whole number, 0 or more", whole(0))
LAMBDA = Option("λ", "a number from 0 to 1", fraction, spellings=("lambda", "lam"))
WEIGHT = Option("weight", " or ".join(get_args(Weight)), lambda text: text if text in get_args(Weight) else None)

FAMILY = Family(
    "nn-IoU", "overlap of two concept sets that counts near misses", "pair", options=(HOPS, LAMBDA, WEIGHT),
    spellings=("nnIoU",),
)  # fmt: skip
