"""The numbers of a study in long form: one row each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cuihop.files.csv_text import csv_text

__all__ = ["COLUMNS", "Number", "write_numbers"]

COLUMNS = ("part", "ranking", "measure", "n", "lambda", "subset", "value", "queries", "nothing_relevant",
           "unjudged", "low", "high")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """One number.

    Attributes:
        part: of the study.
        ranking: what ranked the images.
        measure: by its name.
        n, lam: of the nn-IoU that ranked or measured; ``None`` where none did.
        subset: which queries count.
        value: the mean over them; ``None`` where there are none.
        queries: how many.
        nothing_relevant, unjudged: as in `cuihop.evaluation.means.MeanQueries`; ``None`` where relevance plays no part.
        low, high: the confidence interval of the mean, where there is one.
    """

    part: str
    ranking: str
    measure: str
    n: int | None
    lam: float | None
    subset: str
    value: float | None
    queries: int
    nothing_relevant: int | None = None
    unjudged: int | None = None
    low: float | None = None
    high: float | None = None

    def plain(self) -> dict[str, str | int | float | None]:
        """Column → value, in the order of `COLUMNS`."""
        return dict(zip(COLUMNS, dataclasses.astuple(self), strict=True))


def write_numbers(path: Path, numbers: Iterable[Number]) -> None:
    """As CSV, one row each, floating point to the last digit."""
    path.write_text(csv_text(COLUMNS, (number.plain().values() for number in numbers)), encoding="utf-8")
