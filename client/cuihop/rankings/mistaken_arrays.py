"""Recognition of arrays given by mistake: distances of a search, row numbers from 1 or as floating point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.array_file import Rows

_ROWS_A_BLOCK = 256
_FEWEST_COLUMNS = 3  # two numbers ascend or descend in every row
_NEARLY_ALL = 0.9
_ONE_BY_ONE = "Row numbers count from 0, as those of FAISS and NumPy: subtract 1."


def check_embeddings(path: Path | str, table: Rows, images: int) -> None:
    """Refuse the results of a search as embeddings: sorted distances or similarities, or row numbers.

    Reads no farther than the first rows of true embeddings. For arrays that the caller did not declare as embeddings.

    Args:
        path: name for messages.
        table: floating point, shape (images, dimensions).
        images: of the corpus.

    Raises:
        InputError: every row ascends, or every row descends; or every row holds different row numbers.
    """
    if len(table.shape) != 2 or table.shape[1] < _FEWEST_COLUMNS or not len(table):
        return
    up = down = numbers = True
    for first in range(0, len(table), _ROWS_A_BLOCK):
        block: npt.NDArray[Any] = np.asarray(table[first : first + _ROWS_A_BLOCK])
        up = up and bool((block[:, 1:] >= block[:, :-1]).all())
        down = down and bool((block[:, 1:] <= block[:, :-1]).all())
        numbers = numbers and _are_row_numbers(block, images)
        if not (up or down or numbers):
            return
    if up and down:
        return  # every number of a row is the same
    if numbers:
        raise InputError(
            "row numbers as floating point", file=path, found=f"whole numbers below {images:,}, dtype {table.dtype}",
            expected="row numbers as whole numbers, or embeddings",
            advice="array.astype(numpy.int64) makes row numbers of them; a similarity (--similarity cosine) takes them "
            "for embeddings.",
        )  # fmt: skip
    raise InputError(
        "the distances of a search in place of its row numbers", file=path,
        found=f"numbers that {'ascend' if up else 'descend'} in every row",
        expected="row numbers, or embeddings",
        advice="Of D, I = index.search(…), give I; a similarity (--similarity cosine) takes them for embeddings.",
    )  # fmt: skip


def _are_row_numbers(block: npt.NDArray[Any], images: int) -> bool:
    if not (np.isfinite(block).all() and (block == np.floor(block)).all() and block.max() < images >= block.shape[1]):
        return False
    ascending = np.sort(block, axis=1)
    again = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
    return bool((block >= -1).all() and not again.any())


def check_from_zero(
    path: Path | str, table: Rows, rows: npt.NDArray[np.int32], own: npt.NDArray[np.int32], images: int
) -> None:
    """Refuse row numbers that count from 1, of which none that counts is beyond the corpus.

    They hold no 0, and either the number of images stands in a column that does not count, or the first hit of nearly
    every query is the row behind its own.

    Args:
        path: name for messages.
        table: the row numbers. rows: the columns that count, shape (queries, columns).
        own: of each query, its row in the corpus; -1 for one that is not in it. images: of the corpus.
    """
    if not rows.size or (rows == 0).any():
        return
    if rows.shape[1] < table.shape[1] and (cause := counted_from_one(table, images)) is not None:
        raise InputError(
            "row numbers that count from 1", file=path, found=f"{images:,}, and no 0", expected=f"0 to {images - 1:,}",
            advice=cause,
        )  # fmt: skip
    inside = own >= 0
    if inside.sum() < _FEWEST_COLUMNS:
        return
    behind = int((rows[inside, 0] == own[inside] + 1).sum())
    if behind >= _NEARLY_ALL * int(inside.sum()):
        raise InputError(
            "row numbers that count from 1", file=path,
            found=f"the row behind its own as the first hit of {behind:,} of {int(inside.sum()):,} queries, and no 0",
            expected="row numbers from 0", advice=_ONE_BY_ONE,
        )  # fmt: skip


def counted_from_one(table: Rows, images: int) -> str | None:
    """Advice for row numbers of which the largest is the number of images, and none is 0."""
    least, most = images, 0
    for first in range(0, len(table), _ROWS_A_BLOCK):
        block = np.asarray(table[first : first + _ROWS_A_BLOCK])
        filled = block[block != -1] if table.dtype.kind == "i" else block
        if filled.size:
            least, most = min(least, int(filled.min())), max(most, int(filled.max()))
    return f"They look counted from 1. {_ONE_BY_ONE}" if least >= 1 and most == images else None
