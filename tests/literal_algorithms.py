"""Algorithms 1 and 2 of Wei, Kurtz and Cloppet (2025), line by line and slow: what the fast code is held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Distance = Callable[[str, str], int | None]
Relevance = Callable[[frozenset[str], frozenset[str]], float]


def rel(A: frozenset[str], B: frozenset[str], dist: Distance, n: int) -> set[str]:
    """Algorithm 1: identifying related concepts."""
    found: set[str] = set()
    for a in A:
        for b in B:
            hops = dist(a, b)
            if hops is not None and hops <= n:
                if a not in A & B and a not in found:
                    found.add(a)
                if b not in A & B and b not in found:
                    found.add(b)
    return found


def nn_iou(A: frozenset[str], B: frozenset[str], dist: Distance, n: int, lam: float) -> float:
    """Equation 2; nothing in common with nothing is 0."""
    if not A | B:
        return 0.0
    return (len(A & B) + lam * len(rel(A, B, dist, n))) / len(A | B)


def weighted_nn_iou(A: frozenset[str], B: frozenset[str], dist: Distance, n: int, lam: float) -> float:
    """Each concept of one set only earns the largest λ^d of a concept of the other set d hops away, d ≤ n.

    The concepts are summed by ascending d, and λ^d by d - 1 multiplications.
    """
    if not A | B:
        return 0.0
    nearest: list[int] = []
    for a in A - B:
        hops = [d for b in B if (d := dist(a, b)) is not None and d <= n]
        nearest += [min(hops)] if hops else []
    for b in B - A:
        hops = [d for a in A if (d := dist(a, b)) is not None and d <= n]
        nearest += [min(hops)] if hops else []
    earned, power = 0.0, 1.0
    for d in range(1, n + 1):
        power = power * lam
        earned = earned + power * nearest.count(d)
    return (len(A & B) + earned) / len(A | B)


def nn_iou_by_similarity(
    A: frozenset[str], B: frozenset[str], dist: Distance, similarity: Callable[[str, str], float], n: int, lam: float
) -> float:
    """A concept of one set only earns λ times the largest similarity · [d ≤ n] over the other set."""
    if not A | B:
        return 0.0

    def weight(a: str, b: str) -> float:
        hops = dist(a, b)
        return similarity(a, b) if hops is not None and hops <= n else 0.0

    earned = [max((weight(a, b) for b in B), default=0.0) for a in A - B]
    earned += [max((weight(a, b) for a in A), default=0.0) for b in B - A]
    return (len(A & B) + lam * math.fsum(earned)) / len(A | B)


def bipartite_matching(A: frozenset[str], B: frozenset[str], dist: Distance) -> float:
    """The largest sum of 1 / (1 + d) of a one-to-one matching, divided by the size of the smaller set."""
    few, many = (A, B) if len(A) <= len(B) else (B, A)
    if not few:
        return 0.0
    weight = {
        (one, other): Fraction(0) if (d := dist(*((one, other) if few is A else (other, one)))) is None
        else Fraction(1, 1 + d)
        for one in few for other in many
    }  # fmt: skip
    best = max(
        sum(weight[pair] for pair in zip(sorted(few), order, strict=True))
        for order in itertools.permutations(sorted(many), len(few))
    )
    return float(best / len(few))


def nn_f1(G: frozenset[str], P: frozenset[str], dist: Distance, n: int, lam: float) -> tuple[float, float, float]:
    """nn-precision, nn-recall and nn-F1 of predicted concepts P against the true ones G."""
    if not G or not P:
        return (1.0, 1.0, 1.0) if G == P else (0.0, 0.0, 0.0)
    near_predicted, near_true = 0, 0
    for p in P - G:
        near_predicted += any((hops := dist(g, p)) is not None and hops <= n for g in G)
    for g in G - P:
        near_true += any((hops := dist(g, p)) is not None and hops <= n for p in P)
    precision = (len(P & G) + lam * near_predicted) / len(P)
    recall = (len(P & G) + lam * near_true) / len(G)
    return precision, recall, 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def ndcg_of_each_query(
    queries: Mapping[str, frozenset[str]],
    corpus: Mapping[str, frozenset[str]],
    ranking: Mapping[str, Sequence[str]],
    K: int,
    relevance: Relevance,
) -> dict[str, float | None]:
    """Algorithm 2 up to its last line, which takes the mean; ``None`` where IDCG is 0.

    The query takes no part in its own ranking and ideal.
    """
    values: dict[str, float | None] = {}
    for query, A in queries.items():
        dcg = idcg = 0.0
        retrieved = [image for image in ranking.get(query, ()) if image != query]
        for j, image in enumerate(retrieved[:K], start=1):
            dcg = dcg + relevance(A, corpus[image]) / math.log2(j + 1)
        best = sorted((relevance(A, B) for image, B in corpus.items() if image != query), reverse=True)
        for j, gain in enumerate(best[:K], start=1):
            idcg = idcg + gain / math.log2(j + 1)
        values[query] = dcg / idcg if idcg > 0 else None
    return values
