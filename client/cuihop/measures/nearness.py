"""Nearness of concepts: the parameters of nn-IoU that travel together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuihop.errors import InputError
from cuihop.graph import Direction, checked_direction
from cuihop.measures.nn_iou import Weight, checked_lam, checked_n, checked_weight
from cuihop.measures.resolution import Unknown, checked_unknown

__all__ = ["Nearness"]


@dataclass(frozen=True, slots=True)
class Nearness:
    """Hop threshold of near concepts, and their weight (Wei, Kurtz, Cloppet 2025, equation 2).

    Attributes:
        n: hop threshold, 0 or more; 0 gives IoU.
        lam: λ, the weight of a near concept, from 0 to 1; 0 gives IoU.
        direction: direction of the hops, from a concept of the query to one of the image.
        unknown: ``error`` refuses identifiers that the graph does not hold; ``isolated`` lets each match only
            itself; ``drop`` leaves them out of the sets.
        weight: of a near concept: ``constant``, λ; or ``hops``, λ^d where its nearest concept is d hops away.

    Raises:
        InputError: a value is out of its range.

    >>> Nearness(n=2).lam
    0.5
    """

    n: int = 1
    lam: float = 0.5
    direction: Direction = "any"
    unknown: Unknown = "error"
    weight: Weight = "constant"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_n(self.n))
        object.__setattr__(self, "lam", checked_lam(self.lam))
        object.__setattr__(self, "direction", checked_direction(self.direction))
        checked_unknown(self.unknown)
        checked_weight(self.weight, self.n)

    def for_nn_f1(self) -> Nearness:
        """The same, where nn-F1 has such parameters.

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
            "n": self.n, "lambda": self.lam, "weight": self.weight, "direction": self.direction,
            "unknown": self.unknown,
        }  # fmt: skip
