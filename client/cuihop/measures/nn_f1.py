"""Precision, recall and F1 of predicted concepts that count near misses: nn-F1.

The credit of a near concept is that of nn-IoU (Wei, Kurtz, Cloppet 2025, equation 2); the definition is cuihop's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.family import Family
from cuihop.measures.match_counts import MatchCounts
from cuihop.measures.near_weight import checked_lam
from cuihop.measures.nn_iou import HOPS, LAMBDA, concept_overlap
from cuihop.measures.resolution import Unknown


def match_counts(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> MatchCounts:
    """The counts behind `nn_f1`. Arguments and errors as there."""
    overlap = concept_overlap(true, predicted, graph, n, direction=direction, unknown=unknown)
    near, shared = Counter(concept.side for concept in overlap.related), len(overlap.shared)
    return MatchCounts(len(overlap.A), len(overlap.B), shared, shared, near["A"], near["B"])


def nn_precision(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """Share of the predicted concepts that are true, a near one counting λ. Arguments, empty sets, errors: `nn_f1`."""
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).precision(lam)


def nn_recall(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """Share of the true concepts that were predicted, a near one counting λ. Arguments, empty sets, errors: `nn_f1`."""
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).recall(lam)


def nn_f1(
    true: str | Iterable[str],
    predicted: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
) -> float:
    """The harmonic mean of nn-precision and nn-recall, between 0 and 1; 0 where both are 0.

    near(P, T) are the predicted concepts that are not true, but have a true one within n hops; near(T, P) the true
    ones that were not predicted, but have a predicted one within n hops. Each counts λ. Where both sets are empty,
    all three values are 1; where one of them is, they are 0.

    Args:
        true, predicted: concepts of one text, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        n: the most hops to a near concept, 0 or more. 0 gives F1.
        lam: λ, the weight of a near concept, from 0 to 1. 0 gives F1.
        direction: direction of the hops from a true concept to a predicted one: ``up`` credits only predictions
            that are more general than the truth.
        unknown: as in `cuihop.measures.nn_iou`.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> nn_f1("C0042449", "C0005847;C0018670", graph)  # precision 0.5 / 2, recall 0.5 / 1
    0.3333333333333333
    """
    lam = checked_lam(lam)
    return match_counts(true, predicted, graph, n, direction, unknown=unknown).f1(lam)


FAMILY = Family("nn-F1", "F1 of the concepts of each text or image that counts near misses", "annotation",
                options=(HOPS, LAMBDA), spellings=("nnF1",))  # fmt: skip
DOCUMENT_F1 = Family("document-F1", "F1 of the concepts of each text", "annotation")
