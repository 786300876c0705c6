"""Nearness of concepts: the parameters of nn-IoU that travel together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cuihop.errors import InputError
from cuihop.graph import Direction, checked_direction
from cuihop.measures.near_weight import IntrinsicContent, Weight, checked_ic, checked_lam, checked_weight, used_ic
from cuihop.measures.nn_iou import checked_n
from cuihop.measures.resolution import Unknown, checked_unknown

__all__ = ["Nearness"]


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

    def lam_of(self, weight: Weight) -> float:
        """λ of a measure with another weight: as given, or its default."""
        return checked_lam(self._given, weight)

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
            "n": self.n, "lambda": self.lam, "weight": self.weight, "ic": used_ic(self.ic, self.weight),
            "direction": self.direction, "unknown": self.unknown,
        }  # fmt: skip
