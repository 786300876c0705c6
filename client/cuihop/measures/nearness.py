"""Nearness of concepts: the parameters of nn-IoU, and the weights of near concepts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from cuihop.errors import InputError, checked_choice
from cuihop.graph import ConceptGraph, Direction, checked_direction, checked_hops
from cuihop.measures.resolution import Unknown, checked_unknown
from cuihop.resources.arrays import Float64
from cuihop.similarity.options import SimilarityOptions

__all__ = ["Nearness"]

Weight: TypeAlias = Literal["constant", "hops", "Lin", "Wu-Palmer"]
"""Weight of a near concept.

``constant``: λ, the paper's. ``hops``: λ^d for a nearest concept d hops away. ``Lin``, ``Wu-Palmer``: λ times the
largest similarity to a concept of the other set within n hops, see `cuihop.similarity.options.SIMILARITY_MEASURES`.
"""

BY_SIMILARITY: frozenset[Weight] = frozenset({"Lin", "Wu-Palmer"})
"""Weights by a similarity, which is from 0 to 1."""

IntrinsicContent: TypeAlias = Literal["Sanchez", "Seco"]
"""Information content of the weight ``Lin``: see `cuihop.similarity.options.INFORMATION_CONTENTS`."""

LARGEST_WEIGHTED_N = 32
"""The largest n with the weight ``hops``: near concepts are counted apart for each number of hops."""

_PAIRS_A_BATCH = 1 << 16
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def checked_n(n: int, name: str = "n") -> int:
    """The hop threshold, or another number of hops; an `InputError` where it is not a whole number of at least 0."""
    checked = checked_hops(n, name)
    if checked is None:
        raise InputError("not a number of hops", column=name, found="None", expected="a whole number, 0 or more")
    return checked


def checked_lam(lam: float | None, weight: Weight = "constant") -> float:
    """λ, or an `InputError` where it is not a number from 0 to 1.

    ``None`` is 1 for a weight by similarity, and 0.5, the paper's, for another.
    """
    if lam is None:
        return 1.0 if weight in BY_SIMILARITY else 0.5
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


def checked_ic(ic: IntrinsicContent, weight: Weight) -> IntrinsicContent:
    """The information content, or an `InputError` where there is no such one, or the weight has none."""
    checked_choice("ic", ic, IntrinsicContent, "not an intrinsic information content")
    if ic != "Sanchez" and weight != "Lin":
        raise InputError("the weight has no information content", column="ic", found=ic, expected="the weight Lin")
    return ic


def used_ic(ic: IntrinsicContent, weight: Weight) -> IntrinsicContent | None:
    """The information content that the weight uses; ``None`` where it uses none."""
    return ic if weight == "Lin" else None


def credit_of_near(of_a: Sequence[float], of_b: Sequence[float], lam: float, weight: Weight) -> float:
    """The sum of the weights of near concepts.

    Equal concepts give equal bits everywhere, and the compiled evaluation does the same: λ^d is computed by d - 1
    multiplications and added by ascending d; similarities are added in the order given, those of each set apart.

    Args:
        of_a, of_b: of each near concept of A and of B, by identifier: the hops to its nearest concept of the other
            set; or, for a weight by similarity, the largest similarity.

    >>> credit_of_near([1, 2], [1], 0.5, "constant"), credit_of_near([1, 2], [1], 0.5, "hops")
    (1.5, 1.25)
    >>> credit_of_near([0.75], [0.5], 1.0, "Lin")
    1.25
    """
    if weight == "constant":
        return lam * (len(of_a) + len(of_b))
    if weight in BY_SIMILARITY:
        return lam * (_sum(of_a) + _sum(of_b))
    hops = [*of_a, *of_b]
    credit, power = 0.0, 1.0
    for d in range(1, int(max(hops, default=0)) + 1):
        power *= lam
        credit += power * hops.count(d)
    return credit


def _sum(values: Sequence[float]) -> float:
    """The sum in this order: Python's own has another rounding since 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def weight_of(strength: float, lam: float, weight: Weight) -> float:
    """The weight of one near concept by its hops, at least 1, or by its similarity."""
    return credit_of_near([strength], [], lam, weight)


def pair_similarities(
    graph: ConceptGraph, pairs: Iterable[tuple[str, str]], weight: Weight, ic: IntrinsicContent
) -> Float64:
    """The similarity of each pair for a weight by similarity, from 0 to 1, 0 without a value: float64, shape (pairs,).

    Raises:
        InputError: the graph has no hierarchy, as a neighbour dictionary.
    """
    options = SimilarityOptions("Lin" if weight == "Lin" else "Wu-Palmer", ic)
    rest, values = iter(pairs), [np.empty(0, dtype=np.float64)]
    while batch := list(islice(rest, _PAIRS_A_BATCH)):
        answer = graph.hierarchy.similarities(batch, options)
        values.append(np.clip(np.where(answer.defined, answer.values, 0.0), 0.0, 1.0))
    return np.concatenate(values)


def strengths_of_near(
    A: Set[str],  # noqa: N803 - A and B are the paper's symbols
    B: Set[str],  # noqa: N803
    strengths: Mapping[tuple[str, str], float],
    weight: Weight,
) -> tuple[list[float], list[float]]:
    """The strengths of near concepts of A and of B, by identifier, for `credit_of_near`.

    ``strengths``: (concept of A, concept of B) → hops or, for a weight by similarity, the similarity; of pairs within n
    hops.
    """
    best = max if weight in BY_SIMILARITY else min
    of_a = ([strengths[a, b] for b in B if (a, b) in strengths] for a in sorted(A - B))
    of_b = ([strengths[a, b] for a in A if (a, b) in strengths] for b in sorted(B - A))
    return [best(of_concept) for of_concept in of_a if of_concept], [
        best(of_concept) for of_concept in of_b if of_concept
    ]


def arithmetic_text(
    shared: int, near: tuple[Sequence[float], Sequence[float]], union: int, lam: float, weight: Weight
) -> str:
    """The fraction behind an nn-IoU; ``near`` as ``of_a`` and ``of_b`` of `credit_of_near`.

    >>> arithmetic_text(1, ([1, 2], [1]), 5, 0.5, "constant"), arithmetic_text(1, ([1, 2], [1]), 5, 0.5, "hops")
    ('(1 + 0.5 · 3) / 5', '(1 + 0.5 · 2 + 0.5² · 1) / 5')
    >>> arithmetic_text(1, ([0.75], [0.5]), 5, 1.0, "Lin")
    '(1 + 1 · 1.2500) / 5'
    """
    if weight == "constant":
        return f"({shared} + {lam:g} · {len(near[0]) + len(near[1])}) / {union}"
    if weight in BY_SIMILARITY:
        return f"({shared} + {lam:g} · {credit_of_near(*near, 1.0, weight):.4f}) / {union}"
    hops = [*near[0], *near[1]]
    counted = [(int(d), hops.count(d)) for d in sorted(set(hops))] or [(1, 0)]
    terms = [f"{power_text(format(lam, 'g'), d)} · {count}" for d, count in counted]
    return f"({' + '.join([str(shared), *terms])}) / {union}"


def power_text(base: str, exponent: int) -> str:
    """A power, as in ``0.5²``; without the exponent 1."""
    return base if exponent == 1 else base + str(exponent).translate(_RAISED)


def earned_text(strength: float, lam: float, weight: Weight) -> str:
    """The weight of one near concept with its origin, as in ``0.25 = 0.5²`` or ``0.4068 = 0.5 · 0.8136``."""
    earned = weight_of(strength, lam, weight)
    if weight in BY_SIMILARITY:
        return f"{earned:.4f}" if lam == 1.0 else f"{earned:.4f} = {lam:g} · {strength:.4f}"
    if weight == "constant" or strength == 1:
        return f"{earned:g}"
    return f"{earned:g} = {power_text(format(lam, 'g'), int(strength))}"


def weight_text(weight: Weight, ic: IntrinsicContent | None) -> str:
    """The weight of a near concept as a formula, with λ.

    >>> weight_text("hops", None), weight_text("Lin", "Sanchez"), weight_text("Wu-Palmer", None)
    ('λ^hops', 'λ · Lin (IC Sanchez)', 'λ · Wu-Palmer')
    """
    if weight == "hops":
        return "λ^hops"
    if weight == "Lin":
        return f"λ · Lin (IC {ic})"
    return "λ" if weight == "constant" else f"λ · {weight}"


def nearness_text(n: int, lam: str, weight: Weight, ic: IntrinsicContent | None, direction: str) -> str:
    """The parameters of near concepts in words; ``direction`` as in a sentence."""
    weighted = "" if weight == "constant" else f"weight {weight_text(weight, ic)}, "
    return f"n = {n}, λ = {lam}, {weighted}hops {direction}"


class NearnessValues(TypedDict, total=False):
    """Arguments of `Nearness`, each passed by its name to a function that takes a nearness."""

    n: int
    lam: float | None
    direction: Direction
    unknown: Unknown
    weight: Weight
    ic: IntrinsicContent


@dataclass(frozen=True, slots=True, init=False)
class Nearness:
    """Hop threshold of near concepts, and their weight (Wei, Kurtz, Cloppet 2025, equation 2).

    Args:
        lam: ``None`` is 1 for a weight by similarity, and 0.5 for another.

    Attributes:
        n: hop threshold, 0 or more; 0 gives IoU.
        lam: λ, the weight of a near concept, from 0 to 1; 0 gives IoU.
        direction: direction of the hops, from a concept of the query to one of the image.
        unknown: ``error`` refuses identifiers that the graph does not hold; ``isolated`` lets each match only
            itself; ``drop`` leaves them out of the sets.
        weight: of a near concept: ``constant``, λ; ``hops``, λ^d where its nearest concept is d hops away; ``Lin`` or
            ``Wu-Palmer``, λ times its largest similarity to a concept within n hops.
        ic: information content of ``Lin``; other weights have none.

    Raises:
        InputError: a value is out of its range.

    >>> Nearness(n=2).lam, Nearness(n=2, weight="Lin").lam
    (0.5, 1.0)
    """

    n: int
    lam: float
    direction: Direction
    unknown: Unknown
    weight: Weight
    ic: IntrinsicContent
    _given: float | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        n: int = 1,
        lam: float | None = None,
        direction: Direction = "any",
        unknown: Unknown = "error",
        weight: Weight = "constant",
        ic: IntrinsicContent = "Sanchez",
    ) -> None:
        n = checked_n(n)
        values = {
            "n": n, "weight": checked_weight(weight, n), "lam": checked_lam(lam, weight), "_given": lam,
            "direction": checked_direction(direction), "unknown": checked_unknown(unknown),
            "ic": checked_ic(ic, weight),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def having(self, values: NearnessValues) -> Nearness:
        """This nearness with other values. λ that was not given is the default of the weight."""
        own = {name: getattr(self, name) for name in ("n", "direction", "unknown", "weight", "ic")}
        return Nearness(**{**own, "lam": self._given, **values}) if values else self

    def lam_of(self, weight: Weight) -> float:
        """λ of a measure with another weight: as given, or its default."""
        return checked_lam(self._given, weight)

    def for_nn_f1(self) -> Nearness:
        """The same nearness, if nn-F1 has such parameters.

        Raises:
            InputError: another weight than ``constant``, or identifiers to drop.
        """
        if self.weight != "constant":
            raise InputError("nn-F1 has no such weight", column="weight", found=self.weight, expected="constant")
        if self.unknown == "drop":
            raise InputError(
                "nn-F1 of files counts every identifier", column="unknown", found="drop", expected="isolated or error"
            )
        return self

    def fields(self) -> dict[str, Any]:
        """Name → value, as in JSON and checkpoints."""
        return {
            "n": self.n, "lambda": self.lam, "weight": self.weight, "ic": used_ic(self.ic, self.weight),
            "direction": self.direction, "unknown": self.unknown,
        }  # fmt: skip
