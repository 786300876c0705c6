"""BM: overlap of two images by the best one-to-one matching of their concepts."""
# ruff: noqa: N803, N806 - A and B are the paper's symbols

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from cuihop.errors import checked_choice
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.identifiers import concept_set
from cuihop.measures.family import Family, Option
from cuihop.measures.resolution import Unknown, resolved_concepts

DividedBy: TypeAlias = Literal["min", "max", "mean"]
"""Divisor of the matching's weight: the smaller, the larger, or the mean of \\|A\\| and \\|B\\|."""


def bipartite_matching(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    *,
    by: DividedBy = "min",
    direction: Direction = "any",
    unknown: Unknown = "error",
) -> float:
    """BM(A, B): the largest total weight of a one-to-one matching of A with B, over ``by``; 0 where a set is empty.

    A concept of A and one of B weigh 1 / (1 + distance): 1 where they are the same, 0 without a path. Divided by
    min(|A|, |B|), a set and any part of it score 1, which is what Wei, Kurtz and Cloppet (2025, section 3) criticise
    in the comparison measure of their reference [10]. That reference was not available: weight and divisor are our
    reading of it.

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.
        graph: the source of distances.
        by: the divisor.
        direction: direction of the hops from a concept of A to one of B.
        unknown: as in `cuihop.measures.nn_iou`.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter has none of its permitted values.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> bipartite_matching("C0042449", "C0005847", graph)
    0.5
    >>> bipartite_matching("C0042449;C0005847", "C0005847", graph)
    1.0
    >>> bipartite_matching("C0042449;C0005847", "C0005847", graph, by="max")
    0.5
    """
    checked_choice("by", by, DividedBy, "not a divisor")
    direction = checked_direction(direction)
    A, B = concept_set(A), concept_set(B)
    resolution = resolved_concepts(A | B, graph, unknown)
    A, B = resolution.concepts(A), resolution.concepts(B)
    if not A or not B:
        return 0.0
    pairs = [(a, b) for a in sorted(A) for b in sorted(B)]
    usable = [pair for pair in pairs if not resolution.isolated.intersection(pair)]
    distances = zip(usable, graph.distances(usable, direction=direction, max_hops=None), strict=True)
    weights = {pair: 1.0 / (1.0 + hops) for pair, hops in distances if hops is not None}
    weights |= {(concept, concept): 1.0 for concept in A & B}
    table = [[weights.get((a, b), 0.0) for b in sorted(B)] for a in sorted(A)]
    divisor = {"min": min(len(A), len(B)), "max": max(len(A), len(B)), "mean": (len(A) + len(B)) / 2}[by]
    return math.fsum(table[row][column] for row, column in best_matching(table)) / divisor


def best_matching(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Rows and columns of a one-to-one matching of the largest total weight; the smaller side is matched wholly.

    The Hungarian method with shortest augmenting paths (Jonker and Volgenant 1987), O(rows² · columns).

    >>> best_matching([[0.5, 1.0], [0.2, 0.9]])
    [(0, 0), (1, 1)]
    """
    if len(weights) > len(weights[0]):
        turned = best_matching([list(column) for column in zip(*weights, strict=True)])
        return sorted((row, column) for column, row in turned)
    columns = len(weights[0])
    row_price, column_price = [0.0] * len(weights), [0.0] * columns
    row_of: list[int | None] = [None] * columns
    for first in range(len(weights)):
        shortest = [math.inf] * columns
        came_from: list[int | None] = [None] * columns
        done: set[int] = set()
        row, column, reached = first, None, 0.0
        while True:
            for other in range(columns):
                length = reached - weights[row][other] - row_price[row] - column_price[other]
                if other not in done and length < shortest[other]:
                    shortest[other], came_from[other] = length, column
            column = min((other for other in range(columns) if other not in done), key=shortest.__getitem__)
            reached = shortest[column]
            done.add(column)
            owner = row_of[column]
            if owner is None:
                break
            row = owner
        row_price[first] += reached
        for other in done:
            owner = row_of[other]
            if owner is not None:
                row_price[owner] += reached - shortest[other]
            column_price[other] += shortest[other] - reached
        while column is not None:
            before = came_from[column]
            row_of[column] = first if before is None else row_of[before]
            column = before
    return sorted((row, column) for column, row in enumerate(row_of) if row is not None)


MATCHING = Family(
    "BM", "best one-to-one matching of two concept sets", "pair", options=(Option.of_words("by", *get_args(DividedBy)),)
)
