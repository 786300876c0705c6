"""A measure of ranking quality as a value: what a relevant image gains, and where the ranking is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.measures.dcg import checked_k

__all__ = ["FAMILIES", "Family", "Measure", "measures_named"]

Family: TypeAlias = Literal["nn-CUI", "CUI"]
"""``nn-CUI``: the gain is nn-IoU. ``CUI``: the gain is IoU. Both are mean NDCG@K."""

FAMILIES: tuple[Family, ...] = ("nn-CUI", "CUI")

_NAMED = re.compile(r"(nn-CUI|CUI)@([1-9][0-9]{0,8}(?:\s*,\s*[1-9][0-9]{0,8})*)")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """nn-CUI@K or CUI@K for one K of at least 1. Its text is its name: ``nn-CUI@10``."""

    family: Family
    k: int

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InputError("not a measure", found=repr(self.family), expected=" or ".join(FAMILIES))
        checked_k(self.k)

    def __str__(self) -> str:
        return f"{self.family}@{self.k}"


def measures_named(names: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """The measures with these names, in the order given, each once.

    >>> [str(measure) for measure in measures_named(["nn-CUI@5,10", "CUI@10"])]
    ['nn-CUI@5', 'nn-CUI@10', 'CUI@10']

    Raises:
        InputError: a text names no measure, or there is none at all.
    """
    found: dict[Measure, None] = {}
    for name in [names] if isinstance(names, str | Measure) else names:
        if isinstance(name, Measure):
            found[name] = None
            continue
        match = _NAMED.fullmatch(name.strip())
        if match is None:
            raise InputError(
                "not a measure",
                column="measures",
                found=repr(name),
                expected="nn-CUI@K or CUI@K with K of 1 or more, several separated by commas: nn-CUI@5,10,30",
            )
        family: Family = "nn-CUI" if match[1] == "nn-CUI" else "CUI"
        found.update(dict.fromkeys(Measure(family, int(k)) for k in match[2].split(",")))
    if not found:
        raise InputError("no measure", column="measures", expected="at least one, such as nn-CUI@10")
    return tuple(found)
