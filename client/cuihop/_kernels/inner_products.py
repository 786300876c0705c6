"""Inner products in double precision, added in one fixed order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


@compiled
def inner_product(a: Float64, b: Float64) -> float:
    """The sum of the products, added in eight lanes in one fixed order: the same on every processor."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = len(a) // 8 * 8
    for at in range(0, whole, 8):
        s0 += a[at] * b[at]
        s1 += a[at + 1] * b[at + 1]
        s2 += a[at + 2] * b[at + 2]
        s3 += a[at + 3] * b[at + 3]
        s4 += a[at + 4] * b[at + 4]
        s5 += a[at + 5] * b[at + 5]
        s6 += a[at + 6] * b[at + 6]
        s7 += a[at + 7] * b[at + 7]
    rest = 0.0
    for at in range(whole, len(a)):
        rest += a[at] * b[at]
    return float(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + rest)


@compiled
def inner_products(ours: Float64, theirs: Float64, which: Int64, where: Int64, pairs: Int64, found: Float64) -> None:
    """The inner products of some pairs, each computed alone.

    Args:
        ours, theirs: vectors of one length.
        which, where: the places of the pairs' vectors in ``ours`` and ``theirs``.
        pairs: where each answer goes in ``found``.
    """
    for number in range(len(pairs)):
        found[pairs[number]] = inner_product(ours[which[number]], theirs[where[number]])
