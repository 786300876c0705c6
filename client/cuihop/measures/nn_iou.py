"""Concept overlap that counts near misses: nn-IoU (Wei, Kurtz, Cloppet 2025, equation 2 and Algorithm 1)."""
# ruff: noqa: N803, N806 - A, B, a and b are the paper's symbols

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, Direction, Neighbour, checked_direction, checked_hops
from cuihop.identifiers import concept_set
from cuihop.measures.family import Family, Option, fraction, whole
from cuihop.measures.resolution import ResolvedConcepts, Unknown, resolved_concepts

__all__ = [
    "FAMILY",
    "HOPS",
    "LAMBDA",
    "ConceptOverlap",
    "RelatedConcept",
    "checked_lam",
    "checked_n",
    "concept_overlap",
    "nn_iou",
    "nn_iou_of_counts",
    "related",
]


def nn_iou_of_counts(shared: int, near: int, union: int, lam: float) -> float:
    """Equation 2: (|A ∩ B| + λ |rel(A, B)|) / |A ∪ B|; 0 for an empty union.

    The one place of the formula: the evaluation kernel compiles this function. Numba does not notice that compiled
    code on disk was made from an older one: a change here must come with one of `cuihop._kernels.best_images` and
    `cuihop._kernels.relevance`.
    """
    if union == 0:
        return 0.0
    return (shared + lam * near) / union


@dataclass(frozen=True, slots=True)
class RelatedConcept:
    """A near concept, which contributes λ.

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
        n, lam, direction: the parameters.
        resolved: resolution of the identifiers.
    """

    A: frozenset[str]
    B: frozenset[str]
    related: tuple[RelatedConcept, ...]
    n: int
    lam: float
    direction: Direction
    resolved: ResolvedConcepts

    @property
    def shared(self) -> frozenset[str]:
        """A ∩ B."""
        return self.A & self.B

    @property
    def iou(self) -> float:
        """|A ∩ B| / |A ∪ B|: no near concept counts."""
        return nn_iou_of_counts(len(self.shared), 0, len(self.A | self.B), 0.0)

    @property
    def nn_iou(self) -> float:
        """(|A ∩ B| + λ |rel_n(A, B)|) / |A ∪ B|."""
        return nn_iou_of_counts(len(self.shared), len(self.related), len(self.A | self.B), self.lam)


def concept_overlap(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> ConceptOverlap:
    """The overlap of two concept sets with each near concept and its witnesses. Arguments and errors as `nn_iou`."""
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
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
) -> float:
    """nn-IoU(A, B) = (|A ∩ B| + λ |rel_n(A, B)|) / |A ∪ B|, between 0 and 1; 0 where both sets are empty.

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        n: the most hops to a near concept, 0 or more. 0 gives IoU.
        lam: λ, the weight of a near concept, from 0 to 1. 0 gives IoU.
        direction: direction of the hops from a concept of A to one of B.
        unknown: ``error``, or ``isolated`` to keep an identifier that the graph cannot use as a concept that
            matches only itself.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> nn_iou("C0042449", "C0005847", graph)
    0.5
    """
    return concept_overlap(A, B, graph, n, lam, direction, unknown=unknown).nn_iou


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


HOPS = Option("n", "a whole number, 0 or more", whole(0))
LAMBDA = Option("λ", "a number from 0 to 1", fraction, spellings=("lambda", "lam"))

FAMILY = Family(
    "nn-IoU", "overlap of two concept sets that counts near misses", "pair", options=(HOPS, LAMBDA),
    spellings=("nnIoU",),
)  # fmt: skip
