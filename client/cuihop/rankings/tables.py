"""Rankings from the rows of tables, with the checks of their text forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.text_lines import shown
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.rankings.rows import RankedRows

__all__ = ["ranking_of_table"]


def ranking_of_table(
    table: ArrowTable, queries: Sequence[str], corpus: Sequence[str] | None, depth: int | None, ties: Ties
) -> Ranking:
    """The ranking in the columns query, document, and score or rank. As `cuihop.rankings.text`.

    Raises:
        InputError: names the row and the column.
    """
    ranked = "rank" in {name.strip().lower() for name in table.names}
    by_query, by_document = table.column("query"), table.column("document")
    by_key = table.column("rank" if ranked else "score")
    if ranked and "score" in {name.strip().lower() for name in table.names}:
        raise InputError(
            "not the columns of a ranking", file=table.source, found=shown(", ".join(table.names)),
            expected="the columns query, document and either score or rank",
        )  # fmt: skip
    entries = RankedRows(table.file or table.source, queries, corpus, unit="row")
    for first, batch in table.batches():
        keys = table.numbers(first, batch, by_key)
        if ranked:
            wrong = np.flatnonzero((keys < 0) | (keys != np.floor(keys)))
            if len(wrong):
                row = int(wrong[0])
                told = f"{keys[row]:g}"
                raise table.problem("not a rank", first + row, by_key, told, "a whole number, 0 or more")
        else:
            keys = -keys
        asked, held = (table.texts(first, batch, place) for place in (by_query, by_document))
        owners = _places(entries.query, *asked, first)
        rows = _places(entries.document, *held, first)
        entries.add(owners, rows, keys, np.arange(first, first + len(keys)))
    return entries.ranking(depth, ties, f"table by {'rank' if ranked else 'score'}")


def _places(
    place_of: Callable[[bytes, int], int], names: list[str], codes: npt.NDArray[np.int64], first: int
) -> npt.NDArray[np.int64]:
    """The place of the name in each row; each different name is looked up once, in the row that has it first."""
    places = np.full(len(names), -1, dtype=np.int64)
    used, rows = np.unique(codes, return_index=True)
    for code, row in sorted(zip(used.tolist(), rows.tolist(), strict=True), key=lambda pair: pair[1]):
        places[code] = place_of(names[code].strip().encode(), first + row)
    return places[codes]
