"""The smallest of many small whole numbers, in order, by counting them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@compiled
def smallest(table: npt.NDArray[Any], begins: Int64, found: Int32) -> None:
    """The places of the smallest numbers of each row, ascending; of equal ones, the first place first.

    Args:
        table: unsigned, shape (rows, places).
        begins: int64, shape (largest number + 2,). Scratch.
        found: receives the places, shape (rows, as many as wanted); there must be as many.
    """
    wanted = found.shape[1]
    for row in range(table.shape[0]):
        begins.fill(0)
        for place in range(table.shape[1]):
            begins[int(table[row, place]) + 1] += 1
        last = 0
        while last + 1 < begins.size and begins[last] < wanted:
            last += 1
            begins[last] += begins[last - 1]
        # Numbers up to ``last`` may be among the wanted; begins[x] is where those equal to x begin.
        for place in range(table.shape[1]):
            number = int(table[row, place])
            if number < last:
                rank = begins[number]
                if rank < wanted:
                    found[row, rank] = place
                    begins[number] = rank + 1
