"""The paper's algorithms as they stand there, in plain Python sets, timed beside the compiled ones."""
# ruff: noqa: N803, N806 - A, B and K are the paper's symbols

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

__all__ = ["gain", "ndcg", "rel"]

Near = Callable[[str, str], bool]
Gain = Callable[[AbstractSet[str], AbstractSet[str]], float]


def rel(A: AbstractSet[str], B: AbstractSet[str], near: Near) -> set[str]:
    """Algorithm 1: the concepts of only one set that have one of the other within n hops."""
    shared = A & B
    found: set[str] = set()
    for a in A:
        for b in B:
            if near(a, b):
                if a not in shared:
                    found.add(a)
                if b not in shared:
                    found.add(b)
    return found


def gain(A: AbstractSet[str], B: AbstractSet[str], near: Near | None, lam: float) -> float:
    """Equation 2; IoU without ``near``."""
    union = A | B
    related = 0 if near is None else len(rel(A, B, near))
    return (len(A & B) + lam * related) / len(union) if union else 0.0


def ndcg(query: str, images: Mapping[str, AbstractSet[str]], ranking: Sequence[str], K: int, gain_of: Gain) -> float:
    """Algorithm 2 for one query, the query itself left out of its corpus; 0 where nothing gains anything."""
    A = images[query]
    gains = {image: gain_of(A, B) for image, B in images.items() if image != query}
    best = sorted(gains.values(), reverse=True)[:K]
    idcg = math.fsum(value / math.log2(j + 1) for j, value in enumerate(best, start=1))
    dcg = math.fsum(gains[image] / math.log2(j + 1) for j, image in enumerate(ranking[:K], start=1))
    return dcg / idcg if idcg > 0 else 0.0
