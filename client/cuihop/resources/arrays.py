"""Rows of different lengths in compressed form: the values one after the other, and the bounds of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import LimitExceeded


def bounds_of(lengths: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Bounds of rows in compressed form, shape (rows + 1,): row i lies from ``bounds[i]`` up to ``bounds[i + 1]``.

    >>> bounds_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]

    Raises:
        LimitExceeded: the sum is beyond the type.
    """
    lengths = np.asarray(lengths)
    most = np.iinfo(dtype).max
    if (total := int(lengths.sum(dtype=np.int64))) > most:
        raise LimitExceeded(f"a table of {total:,} values, and it holds at most {most:,}. Load fewer vocabularies")
    bounds = np.zeros(len(lengths) + 1, dtype=dtype)
    np.cumsum(lengths, out=bounds[1:])
    return bounds
