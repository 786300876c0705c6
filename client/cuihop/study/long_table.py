"""The numbers of a study in long form: one row each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from cuihop.notebooks.table import Table

_COLUMNS = ("part", "ranking", "measure", "n", "lambda", "subset", "value", "queries", "nothing_relevant",
           "unjudged", "low", "high")  # fmt: skip


@dataclass(frozen=True, slots=True)
class LongRow:
    """One number of a study.

    Attributes:
        part: of the study.
        ranking: by its name.
        measure: by its name.
        n, lam: of the nn-IoU that ranked or measured; ``None`` where none did.
        subset: the queries that count.
        value: the mean over them; ``None`` where there are none.
        queries: number of these.
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
        """Column → value, in the order of `_COLUMNS`."""
        return dict(zip(_COLUMNS, dataclasses.astuple(self), strict=True))


def long_table(rows: Iterable[LongRow]) -> Table:
    """A table of numbers, for CSV."""
    return Table(_COLUMNS, [dataclasses.astuple(row) for row in rows])
